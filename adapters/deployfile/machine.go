package deployfile

import (
	"context"
	"os"
	"strings"

	"github.com/countersign-dev/countersign/adapters/deployfile/observe"
	"github.com/countersign-dev/countersign/ports"
)

// Options are what a Machine works with.
type Options struct {
	Index *observe.Index           // what files were when they were last hashed
	Clock ports.Clock              // tells snapshots' identifiers and times
	Env   func(name string) string // nil: the process's own environment
	Step  func(step, path string)  // nil, or called before and after everything that changes the disk: tests die in it
	// Operations knows the journals that were begun here; nil believes each.
	Operations Operations
}

// Operations keeps, where not every program of the user can write it, which journal a home has: one that stands there without is somebody else's.
type Operations interface {
	// Begin keeps it, durably, before it is written down.
	Begin(ctx context.Context, home string, journal []byte) error
	// Known reports whether it is the one that was begun last, and has not ended.
	Known(ctx context.Context, home string, journal []byte) (bool, error)
	// End keeps that it is over.
	End(ctx context.Context, home string, journal []byte) error
	// Keep keeps the list of the home's records with their sums, as operations leave it.
	Keep(ctx context.Context, home string, sums []byte) error
	// Kept reports whether a list is the one that was kept last, or the one before it.
	Kept(ctx context.Context, home string, sums []byte) (last, before bool, err error)
}

// anybody believes every journal.
type anybody struct{}

func (anybody) Begin(context.Context, string, []byte) error         { return nil }
func (anybody) Known(context.Context, string, []byte) (bool, error) { return true, nil }
func (anybody) End(context.Context, string, []byte) error           { return nil }
func (anybody) Keep(context.Context, string, []byte) error          { return nil }
func (anybody) Kept(context.Context, string, []byte) (last, before bool, err error) {
	return true, true, nil
}

// Machine is the computer this runs on: deployport.Machine, Snapshots and Recovery. Its methods may run concurrently, here and in other
// processes.
type Machine struct {
	*observe.Observer
	options Options
}

// NewMachine is the machine. It looks at nothing yet.
func NewMachine(o Options) *Machine {
	if o.Env == nil {
		o.Env = os.Getenv
	}
	if o.Step == nil {
		o.Step = func(string, string) {}
	}
	observer := observe.NewObserver(o.Index)
	if o.Operations == nil {
		o.Operations = anybody{}
	} else {
		observer.Kept = func(ctx context.Context, home string, sums []byte) (bool, error) {
			last, _, err := o.Operations.Kept(ctx, home, sums)
			return last, err
		}
	}
	return &Machine{observer, o}
}

// proof tells which of a home's records operations on record wrote.
func (m *Machine) proof(ctx context.Context, h *home) (observe.Proof, error) {
	return observe.ReadProof(ctx, h.Path, h.Files, m.Kept)
}

// durable reports whether deployed files are to survive a crash of the machine (agentpack contract §1.2). Records, journal and vault always do.
func (m *Machine) durable() bool {
	switch strings.ToLower(strings.TrimSpace(m.options.Env("AGENTPACK_FSYNC"))) {
	case "1", "true", "yes", "y", "on":
		return true
	}
	return false
}

// work is an operation of this machine's, to be looked at before anything is done.
func (m *Machine) work(h *home, j Journal, to direction) Work {
	return Work{Home: h, Journal: j, To: to, Fsync: m.durable(), Step: m.options.Step}
}
