package runs

import (
	"cmp"
	"context"
	"path"
	"slices"

	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/ports"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

// AuditedStates is States whose operation logs are verified against the audit log, because any program of the user can write those files. Each is recorded by its
// sum in the audit log before it is written, and has to equal the last recorded one when it is read. The writer holds the ecosystem's lock.
type AuditedStates struct {
	ecosystemport.States
	Audit      ports.AuditLog
	Clock      ports.Clock
	Operations []string // the names of the notes that are operation logs
}

// Note implements ecosystemport.States.
func (s AuditedStates) Note(ctx context.Context, l ecosystem.Layout, name string, doc []byte) error {
	if !slices.Contains(s.Operations, name) {
		return s.States.Note(ctx, l, name, doc)
	}
	event := operation(l, name).Begun(s.Clock.Now(), doc)
	if doc == nil {
		old, err := s.States.Noted(ctx, l, name)
		if err != nil || old == nil {
			return cmp.Or(err, s.States.Note(ctx, l, name, nil))
		}
		event = operation(l, name).Ended(s.Clock.Now(), old)
	}
	if err := s.Audit.Append(ctx, event); err != nil {
		return err
	}
	return s.States.Note(ctx, l, name, doc)
}

// Noted implements ecosystemport.States. An operation log without its audit record is ecosystem.ErrState; one of an ended operation is ignored.
func (s AuditedStates) Noted(ctx context.Context, l ecosystem.Layout, name string) ([]byte, error) {
	doc, err := s.States.Noted(ctx, l, name)
	if err != nil || doc == nil || !slices.Contains(s.Operations, name) {
		return doc, err
	}
	newest, err := s.Audit.Search(ctx, operation(l, name).Filter())
	if err != nil {
		return nil, err
	}
	switch open, over := operation(l, name).Judge(newest, doc); {
	case open:
		return doc, nil
	case over: // its process died before it took the file away
		return nil, nil
	}
	return nil, ecosystem.ErrState.WithMessage("%s says that something was begun with ecosystem %s, and the audit does not know it so: nothing of it is finished or taken back; look at what it names, then move it away", path.Join(l.State, name), l.Name)
}

func operation(l ecosystem.Layout, name string) audit.OperationLog {
	return audit.OperationLog{Tool: "ecosystem_operation", Place: map[string]string{"ecosystem": l.Name, "workspace_root": l.Root, "operation": name}}
}
