package runs

import (
	"cmp"
	"context"
	"encoding/json"
	"path"
	"slices"

	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/ports"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

// AuditedStates are States whose operation logs count only as far as the audit has them: notes that say what is being done, and that whoever comes next
// finishes or takes back, are files, which any program of the user can write. Every one is put into the audit before it is written down, by its sum, and one
// that is read has to be what the audit knows last. Whoever notes an operation has the ecosystem's lock.
type AuditedStates struct {
	ecosystemport.States
	Audit      ports.AuditLog
	Clock      ports.Clock
	Operations []string // the names of the notes that are operation logs
}

// operationEvent is the tool's name in the audit's records of operations.
const operationEvent = "ecosystem_operation"

// Note implements ecosystemport.States.
func (s AuditedStates) Note(ctx context.Context, l ecosystem.Layout, name string, doc []byte) error {
	if !slices.Contains(s.Operations, name) {
		return s.States.Note(ctx, l, name, doc)
	}
	phase, about := audit.Begun, doc
	if doc == nil {
		old, err := s.States.Noted(ctx, l, name)
		if err != nil || old == nil {
			return cmp.Or(err, s.States.Note(ctx, l, name, nil))
		}
		phase, about = audit.Ended, old
	}
	args, err := json.Marshal(map[string]string{"ecosystem": l.Name, "workspace_root": l.Root, "operation": name})
	if err == nil {
		err = s.Audit.Append(ctx, audit.Event{Time: s.Clock.Now(), Phase: phase, CallID: operationKey(l, name), Tool: operationEvent, Args: args, Plan: operationSum(about)})
	}
	if err != nil {
		return err
	}
	return s.States.Note(ctx, l, name, doc)
}

// Noted implements ecosystemport.States. An operation log that the audit does not have fails with ecosystem.ErrState; one that has ended is none.
func (s AuditedStates) Noted(ctx context.Context, l ecosystem.Layout, name string) ([]byte, error) {
	doc, err := s.States.Noted(ctx, l, name)
	if err != nil || doc == nil || !slices.Contains(s.Operations, name) {
		return doc, err
	}
	known, err := s.Audit.Search(ctx, audit.Filter{Call: operationKey(l, name), Limit: 2}) // newest first
	if err != nil {
		return nil, err
	}
	sum := operationSum(doc)
	for i := range known {
		e := &known[i].Event
		if e.Phase == audit.Ended && i == 0 && e.Plan == sum {
			return nil, nil // its process died before it took the file away
		}
		if e.Phase != audit.Begun {
			break
		}
		if e.Plan == sum { // the last, or the one before, whose process died before it wrote the next one down
			return doc, nil
		}
	}
	return nil, ecosystem.ErrState.Sayf("%s says that something was begun with ecosystem %s, and the audit does not know it so: nothing of it is finished or taken back; look at what it names, then move it away", path.Join(l.State, name), l.Name)
}

// operationKey is what the audit's records of one operation log have for a call's id.
func operationKey(l ecosystem.Layout, name string) string {
	return "operation_" + canon.SumBytes("ecosystem.operation.key.v1", []byte(l.Root+"\x00"+l.Name+"\x00"+name)).Hex()[:32]
}

func operationSum(doc []byte) canon.Hash { return canon.SumBytes("ecosystem.operation.v1", doc) }
