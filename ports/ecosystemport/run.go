package ecosystemport

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/domain/ecosystem"
)

// RunWatch follows runs that other processes carry out.
type RunWatch interface {
	// Until returns a context that also ends when the run with that ID is to stop, with the cause ecosystem.ErrStopped.
	Until(ctx context.Context, id string) (context.Context, context.CancelFunc)
	// Await waits until the run has ended, its log has events after seen, or that time has passed, and returns the run.
	Await(ctx context.Context, id string, seen int64, most time.Duration) (ecosystem.Run, error)
}

// ControlPlane is the optional HTTP listener of this process (amof contract §20.7).
type ControlPlane interface {
	// Start listens on a loopback address. It fails with ecosystem.ErrServer if it listens already, the address is not loopback, or the port is in use.
	Start(ctx context.Context, host string, port int) error
	// Stop stops listening and reports whether it was listening.
	Stop(ctx context.Context) (bool, error)
	// Status returns the status of the process and the listener.
	Status(ctx context.Context) ServerStatus
}

// ServerStatus is the status of this process and its listener.
type ServerStatus struct {
	PID       int
	Host      string
	Port      int // zero: no listener
	StartedAt time.Time
	Version   string
}
