package sqlitestore

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/project"
)

// scanner is a row.
type scanner interface{ Scan(...any) error }

// projectQuerier is a database, or a transaction in it.
type projectQuerier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// table is one kind of values with an ID, and the table they are kept in.
type table[K ~string, T any] struct {
	store  *Store
	kind   string       // what a value is called
	absent *fault.Error // what is said when there is none

	// The statements about one value; each takes its ID last. Insert does nothing when the ID is taken.
	find, insert, update, remove string

	columns func(T) ([]any, error)                              // what insert and update take, the ID last; asked inside the transaction
	scan    func(scanner) (T, error)                            // what find and every list select; with project.ErrUnreadable what lists show
	keep    func(was T, next *T)                                // puts back what a change does not decide
	refuse  func(ctx context.Context, tx *sql.Tx, next T) error // what cannot stand beside what is stored; nil refuses nothing
}

// Find returns the value with that ID. That there is none is a fault of the kind's own.
func (t table[K, T]) Find(ctx context.Context, id K) (T, error) {
	v, err := *new(T), t.none(id)
	if failed := t.store.Read(ctx, func(db *sql.DB) error {
		v, err = t.one(ctx, db, id)
		return err
	}); failed != nil {
		err = failed
	}
	return v, err
}

// Create stores a new value. An ID that is taken is project.ErrConflict.
func (t table[K, T]) Create(ctx context.Context, v T) error {
	return t.store.Change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if err := t.refused(ctx, tx, v); err != nil {
			return err
		}
		columns, err := t.columns(v)
		if err != nil {
			return err
		}
		stored, err := affected(tx.ExecContext(ctx, t.insert, columns...))
		if err == nil && !stored {
			err = project.ErrConflict.WithMessage("%s %s already exists; change that one, or use another ID", t.kind, columns[len(columns)-1])
		}
		return err
	})
}

// Update runs change on the value inside one immediate transaction and stores what it leaves, unless it fails; the ID stays. What comes
// back is what is stored.
func (t table[K, T]) Update(ctx context.Context, id K, change func(*T) error) (T, error) {
	var stored T
	var said error // comes back as it is, whatever the store would make of it
	there, err := alter(ctx, t.store, func(ctx context.Context, tx *sql.Tx) error {
		was, err := t.one(ctx, tx, id)
		if err != nil {
			return err
		}
		next := was
		if said = change(&next); said != nil {
			return said
		}
		t.keep(was, &next)
		stored, err = t.replace(ctx, tx, id, next)
		return err
	})
	switch {
	case said != nil:
		return *new(T), said
	case err != nil:
		return *new(T), err
	case !there:
		return *new(T), t.none(id)
	}
	return stored, nil
}

// replace stores next in place of what has that ID, and reads it again: what the caller gets shares nothing with what it gave.
func (t table[K, T]) replace(ctx context.Context, tx *sql.Tx, id K, next T) (T, error) {
	if err := t.refused(ctx, tx, next); err != nil {
		return next, err
	}
	columns, err := t.columns(next)
	if err != nil {
		return next, err
	}
	if _, err := tx.ExecContext(ctx, t.update, columns...); err != nil {
		return next, err
	}
	return t.one(ctx, tx, id)
}

// Delete forgets the value and what depends on it.
func (t table[K, T]) Delete(ctx context.Context, id K) error {
	there, err := alter(ctx, t.store, func(ctx context.Context, tx *sql.Tx) error {
		gone, err := affected(tx.ExecContext(ctx, t.remove, string(id)))
		if err == nil && !gone {
			err = t.none(id)
		}
		return err
	})
	if err == nil && !there {
		err = t.none(id)
	}
	return err
}

// all returns what the query finds.
func (t table[K, T]) all(ctx context.Context, query string, args ...any) ([]T, error) {
	var found []T
	err := t.store.Read(ctx, func(db *sql.DB) (err error) {
		found, err = gather(ctx, db, t.scan, query, args...)
		return err
	})
	return found, err
}

// gather returns what the query finds, each row made a value by scan.
func gather[T any](ctx context.Context, db projectQuerier, scan func(scanner) (T, error), query string, args ...any) ([]T, error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err tells what went wrong
	var found []T
	for rows.Next() {
		v, err := scan(rows)
		if err != nil && !errors.Is(err, project.ErrUnreadable) { // one that is lost takes no others with it
			return nil, err
		}
		found = append(found, v)
	}
	return found, rows.Err()
}

// one returns the value with that ID. It asks for rows, not for a row, because only theirs may be read where they lie (sql.RawBytes).
func (t table[K, T]) one(ctx context.Context, db projectQuerier, id K) (T, error) {
	var none T
	rows, err := db.QueryContext(ctx, t.find, string(id))
	if err != nil {
		return none, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err tells what went wrong
	if !rows.Next() {
		return none, cmp.Or(rows.Err(), t.none(id))
	}
	v, err := t.scan(rows)
	if err != nil {
		return none, err
	}
	return v, nil
}

func (t table[K, T]) none(id K) error { return t.absent.WithMessage("%q: %s", id, t.absent.Message) }

func (t table[K, T]) refused(ctx context.Context, tx *sql.Tx, next T) error {
	if t.refuse == nil {
		return nil
	}
	return t.refuse(ctx, tx, next)
}

// decoded returns the value that was written as body.
func decoded[T any](what string, body []byte) (T, error) {
	var v T
	if err := json.Unmarshal(body, &v); err != nil {
		return v, fmt.Errorf("a stored %s cannot be read: %w", what, err)
	}
	return v, nil
}
