package ecosystemfile

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/countersign-dev/countersign/adapters/docfile"
	"github.com/countersign-dev/countersign/domain/ecosystem"
)

// How long Turn pauses between looking for a place, at first and at most.
const (
	workerFirstPause = 2 * time.Millisecond
	workerMaxPause   = 100 * time.Millisecond
)

// WorkerOptions are all required.
type WorkerOptions struct {
	Dir     func() (string, error) // where the locks of the places are, shared by all processes of the user
	Command []string               // the program that sees to one ecosystem's queue, with its first arguments
	Start   func(ctx context.Context, argv []string, dir string) error
}

// Workers implements ecosystemport.Workers.
type Workers struct{ o WorkerOptions }

// NewWorkers starts nothing yet.
func NewWorkers(o WorkerOptions) *Workers { return &Workers{o} }

// Wake implements ecosystemport.Workers: it starts the program with --root and --ecosystem, in the root.
func (w *Workers) Wake(ctx context.Context, l ecosystem.Layout) error {
	argv := append(slices.Clone(w.o.Command), "--root", l.Root, "--ecosystem", l.Name)
	return w.o.Start(ctx, argv, l.Root)
}

// Turn implements ecosystemport.Workers. A place is a file's lock, which goes with the process that has it.
func (w *Workers) Turn(ctx context.Context, places int) (release func(), err error) {
	if places < 1 {
		places = ecosystem.MaxParallel
	}
	path, err := w.o.Dir()
	if err != nil {
		return nil, err
	}
	dir, pause := docfile.NewDir(path), workerFirstPause
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for i := range places {
			lock, err := dir.TryLock(fmt.Sprintf("place-%d.lock", i))
			if err != nil {
				return nil, ecosystem.ErrStorage.WithMessage("the slots of workers in %s cannot be locked; check the directory's permissions", path).WithCause(err)
			}
			if lock != nil {
				return sync.OnceFunc(func() { _ = lock.Release() }), nil
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
			pause = min(2*pause, workerMaxPause)
		}
	}
}
