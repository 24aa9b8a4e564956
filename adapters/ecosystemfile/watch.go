package ecosystemfile

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

// look is how often is looked.
const look = 150 * time.Millisecond

// Watch is an ecosystemport.RunWatch; New makes it.
type Watch struct{ runs ecosystemport.Runs }

var _ ecosystemport.RunWatch = Watch{}

// NewWatch follows the runs of that store.
func NewWatch(runs ecosystemport.Runs) Watch { return Watch{runs} }

// Until returns a context that also ends when the run of that id is to stop; its cause is tracked.ErrStopped then.
func (w Watch) Until(ctx context.Context, id string) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		looking := time.NewTicker(look)
		defer looking.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-looking.C:
			}
			if r, err := w.runs.Load(ctx, id); err == nil && r.Stopping {
				cancel(ecosystem.ErrStopped)
				return
			}
		}
	}()
	return ctx, func() { cancel(context.Canceled) }
}

// Await waits until the run has ended, its log has events after seen, or that time has passed. It returns the current run.
func (w Watch) Await(ctx context.Context, id string, seen int64, most time.Duration) (ecosystem.Run, error) {
	over := time.NewTimer(most)
	defer over.Stop()
	looking := time.NewTicker(min(look, max(most, 1)))
	defer looking.Stop()
	for last := false; ; {
		r, err := w.runs.Load(ctx, id)
		if err != nil || r.Status.Final() || last {
			return r, err
		}
		if said, err := w.runs.Events(ctx, id, seen); err != nil || len(said.Events) > 0 {
			return r, err
		}
		select {
		case <-ctx.Done():
			return r, ctx.Err()
		case <-over.C:
			last = true
		case <-looking.C:
		}
	}
}
