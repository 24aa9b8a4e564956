package sqlitestore

import (
	"database/sql"
	"errors"
	"time"

	"github.com/countersign-dev/countersign/adapters/docfile"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/tool"
)

// unreadable is the name, in lists, of what cannot be read any more.
const unreadable = "(cannot be read)"

// body is how values that hold secrets are kept: sealed as a whole.
type body struct {
	box  *docfile.SecretBox
	in   Column
	kind string // what a value is called
}

// label is what stands beside a sealed body, in clear.
type label struct {
	id, project string
	updated     time.Time
	why         string // the body cannot be read; empty when it can
}

// encode is v as it is stored under that ID. It belongs inside the transaction that stores it.
func (b body) encode(id string, v any) ([]byte, error) {
	plain, err := tool.Encode(v)
	if err != nil {
		return nil, err
	}
	return b.in.Seal(b.box, id, plain)
}

// reveal returns the value in a row of id, project, time and body. With project.ErrUnreadable the row itself is known all the same.
func reveal[T any](b body, from scanner) (v T, at label, err error) {
	var stored sql.RawBytes
	var updated int64
	if err := from.Scan(&at.id, &at.project, &updated, &stored); err != nil {
		return v, at, err
	}
	if updated != 0 {
		at.updated = time.Unix(0, updated).UTC()
	}
	plain, err := b.in.Open(b.box, at.id, stored)
	if errors.Is(err, docfile.ErrSecretLost) {
		at.why = fault.From(err).Message
		return v, at, project.ErrUnreadable.WithMessage("the %s %s cannot be read: %s", b.kind, at.id, at.why).WithCause(err)
	}
	if err != nil {
		return v, at, err
	}
	v, err = decoded[T](b.kind, plain)
	return v, at, err
}
