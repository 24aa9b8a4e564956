package docfile

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

const (
	// LockWait is how long Lock waits for another holder when the context sets no earlier deadline.
	LockWait = 15 * time.Second

	lockPoll = 2 * time.Millisecond
)

// Lock is an exclusive advisory lock that this process holds. It goes when the process ends, however it ends.
type Lock struct{ held *flock.Flock }

// Lock takes the named lock, making its file and missing directories. It waits while another goroutine or process holds it, at most until ctx is
// done (its error is returned) or LockWait has passed (ErrLocked).
func (d *Dir) Lock(ctx context.Context, name string) (*Lock, error) {
	bounded, cancel := context.WithTimeout(ctx, LockWait)
	defer cancel()
	for {
		lock, err := d.TryLock(name)
		if lock != nil || err != nil {
			return lock, err
		}
		select {
		case <-bounded.Done():
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			return nil, ErrLocked.Sayf("%s has been locked by another process for %s; look for one that hangs", d.File(name), LockWait)
		case <-time.After(lockPoll):
		}
	}
}

// TryLock takes the named lock if nobody holds it; nil without an error means that somebody does. Whatever has that name and is no regular
// file fails with ErrNotFile: a link could lead out of the directory, and opening a pipe could block.
func (d *Dir) TryLock(name string) (*Lock, error) {
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return nil, d.in("lock", name, fs.ErrInvalid)
	}
	held := flock.New(d.File(name), flock.SetPermissions(fileMode))
	if info, err := os.Lstat(held.Path()); err == nil && !info.Mode().IsRegular() {
		return nil, ErrNotFile.Sayf("the lock %s is no regular file; remove it", held.Path())
	}
	ok, err := held.TryLock()
	if errors.Is(err, fs.ErrNotExist) {
		if err := d.makeParent(name); err != nil {
			return nil, d.in("lock", name, err)
		}
		ok, err = held.TryLock()
	}
	if err != nil || !ok {
		return nil, d.in("lock", name, err)
	}
	// A holder may have retired the file between our opening and locking it: then the lock is on a file nobody else will find.
	mine, err := held.Stat()
	if err == nil {
		if there, gone := os.Lstat(held.Path()); gone == nil && os.SameFile(mine, there) {
			return &Lock{held}, nil
		}
	}
	return nil, d.in("lock", name, errors.Join(err, held.Close()))
}

func (d *Dir) makeParent(name string) error {
	root, err := d.openFor(name)
	if err != nil {
		return err
	}
	return root.Close()
}

// Release gives the lock up and leaves its file for the next holder. Doing it again, or after Retire, does nothing.
func (l *Lock) Release() error { return l.held.Close() }

// Retire removes the lock's file while it is held, and gives the lock up: for documents that will not come back. Whoever waits on
// the old file notices and starts over.
func (l *Lock) Retire() error { return errors.Join(os.Remove(l.held.Path()), l.held.Close()) }
