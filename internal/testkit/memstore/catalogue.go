package memstore

import (
	"context"
	"sync"

	"github.com/countersign-dev/countersign/ports/projectport"
)

// NewCatalogue returns an empty catalogue.
func NewCatalogue() projectport.Catalogue {
	d := &catalogueLock{turn: make(chan struct{}, 1)}
	rules := &rules{lock: d}
	workflows, actions := newWorkflows(d), newActions(d, rules)
	projects := newProjects(d, workflows, actions)
	rules.actions, workflows.projects, actions.projects = actions, projects, projects
	return projectport.Catalogue{
		Projects: projects, Workflows: workflows, Actions: actions, Rules: rules, Templates: newTemplates(d), Executions: newExecutions(d),
	}
}

// catalogueLock is where everybody who writes to one catalogue waits. Whoever reads does not wait for a change that is being thought about.
type catalogueLock struct {
	turn chan struct{} // held by the writer
	mu   sync.RWMutex  // guards what is kept
}

// change runs f in its turn, or fails when ctx ends before. What f decides it stores with store.
func (d *catalogueLock) change(ctx context.Context, f func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case d.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-d.turn }()
	return f()
}

// store runs f while there are no readers, unless ctx has ended.
func (d *catalogueLock) store(ctx context.Context, f func()) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	f()
	return nil
}

// read runs f while nothing is stored, unless ctx has ended.
func (d *catalogueLock) read(ctx context.Context, f func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d.mu.RLock()
	defer d.mu.RUnlock()
	return f()
}
