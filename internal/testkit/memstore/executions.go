package memstore

import (
	"context"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/domain/project"
)

// executions is a projectport.Executions; New makes it.
type executions struct {
	collection[string, project.Execution]
}

func newExecutions(d *catalogueLock) *executions {
	return &executions{collection[string, project.Execution]{
		lock: d, kind: "execution", absent: project.ErrExecutionNotFound,
		id:    func(e *project.Execution) *string { return &e.ID },
		aside: func(e *project.Execution) *string { return &e.Owner }, // its JSON never shows it
	}}
}

// List is executions without output and steps, the last started first, and how many match in all. Of those started at once the last
// created comes first.
func (s *executions) List(ctx context.Context, f project.ExecutionFilter) (page []project.Execution, total int, err error) {
	found, err := s.sorted(ctx, f.Matches)
	page = found[:min(len(found), f.Most())]
	for i := range page {
		page[i].Steps, page[i].Output = nil, nil
	}
	return slices.Clip(page), len(found), err
}

// Prune forgets final executions: of the workflow beyond its newest keep (when workflowID is not empty), of all beyond the newest
// execution.MaxRows, and those that ended before the given time. Those that go on count among the newest, and stay.
func (s *executions) Prune(ctx context.Context, workflowID string, keep int, before time.Time) error {
	return s.lock.change(ctx, func() error {
		all, err := s.sorted(ctx, nil)
		if err != nil {
			return err
		}
		gone := map[string]bool{}
		ofWorkflow := 0
		for rank, e := range all {
			old := !e.CompletedAt.IsZero() && e.CompletedAt.Before(before)
			over := rank >= project.MaxRows
			if workflowID != "" && e.WorkflowID == workflowID {
				over = over || ofWorkflow >= keep
				ofWorkflow++
			}
			gone[e.ID] = e.Status.Final() && (old || over)
		}
		return s.lock.store(ctx, func() {
			s.kept = slices.DeleteFunc(s.kept, func(e entry) bool { return gone[e.id] })
		})
	})
}

func (s *executions) sorted(ctx context.Context, wanted func(project.Execution) bool) ([]project.Execution, error) {
	found, err := s.newest(ctx, wanted)
	slices.SortStableFunc(found, func(a, b project.Execution) int { return b.StartedAt.Compare(a.StartedAt) })
	return found, err
}
