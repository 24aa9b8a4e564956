package gitcli

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/sandbox"
)

// busyFile is in the clone's .git. It does not end in .lock, which is what git's own do.
const busyFile = "countersign-busy"

// Alone keeps every other caller of it from the clone until release is called. The lock is handed on to each git that is started meanwhile, and to
// what that starts: when this process is killed, they go on for a while, and nobody is to put in order what they are still changing. It fails with
// sandbox.ErrBusy when patience is over.
func (r *Repo) Alone(ctx context.Context, patience time.Duration) (release func(), err error) {
	path := filepath.Join(r.Common, busyFile)
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|noFollow, 0o600)
	if err != nil {
		return nil, Disk(err, path)
	}
	over := time.Now().Add(patience)
	for wait := firstWait; !claim(file); wait = min(2*wait, longWait) {
		if time.Now().After(over) {
			_ = file.Close()
			return nil, sandbox.ErrBusy.WithMessage("git is still running in %s; try again when it has finished", r.Dir)
		}
		select {
		case <-ctx.Done():
			_ = file.Close()
			return nil, fault.From(ctx.Err())
		case <-time.After(wait):
		}
	}
	r.busy = file
	return func() {
		r.busy = nil
		yield(file)
		_ = file.Close()
	}, nil
}
