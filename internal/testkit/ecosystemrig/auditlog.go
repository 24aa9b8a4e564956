// Package ecosystemrig has what tests of ecosystems put in the place of an audit.
package ecosystemrig

import (
	"context"

	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/ports"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

// Known is an audit that knows of every run a call that was let through to do what the run's record says: for tests in which it does not matter who
// queued a run.
type Known struct {
	ports.AuditLog
	Runs ecosystemport.Runs
}

// Search returns the intent of the call that queued a run.
func (k Known) Search(ctx context.Context, f audit.Filter) ([]audit.Record, error) {
	all, err := k.Runs.List(ctx, ecosystem.RunFilter{})
	var out []audit.Record
	for _, r := range all {
		if r.Call != f.Call {
			continue
		}
		plan, err := r.Plan()
		if err != nil {
			return nil, err
		}
		out = append(out, audit.Record{Event: audit.Event{Phase: audit.Intent, CallID: r.Call, Plan: plan}})
	}
	return out, err
}

// Append takes what is put on record, and forgets it: every run may be carried out.
func (k Known) Append(context.Context, ...audit.Event) error { return nil }
