package ecosystemport

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/domain/ecosystem"
)

// RunWatch follows runs that other processes carry out.
type RunWatch interface {
	// Until is a context that also ends when the run of that id is to stop (tracked.Run.Stopping); its cause is tracked.ErrStopped then.
	Until(ctx context.Context, id string) (context.Context, context.CancelFunc)
	// Await waits until the run has ended, its log has events after seen, or that long has passed, and returns the run as it is then.
	Await(ctx context.Context, id string, seen int64, most time.Duration) (ecosystem.Run, error)
}

// ControlPlane is the optional HTTP listener of this very process (amof contract §20.7).
type ControlPlane interface {
	// Start has it listen on a loopback address. It fails with ecosystem.ErrServer when it listens already, the address is not loopback, or the
	// port is taken.
	Start(ctx context.Context, host string, port int) error
	// Stop has it listen no more; it reports whether it did.
	Stop(ctx context.Context) (bool, error)
	// Status is what there is.
	Status(ctx context.Context) ServerStatus
}

// ServerStatus is this process, and its listener.
type ServerStatus struct {
	PID       int
	Host      string
	Port      int // zero: no listener
	StartedAt time.Time
	Version   string
}
