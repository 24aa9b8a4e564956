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
	// LockWait is how long Lock waits for another holder if the context has no earlier deadline.
	LockWait = 15 * time.Second

	lockPoll = 2 * time.Millisecond
)

// Lock is an exclusive advisory lock held by this process. It ends with the process.
type Lock struct{ held *flock.Flock }

// Lock acquires the named lock and creates its file and missing directories. It waits while another goroutine or process holds it, until ctx is done
// (its error is returned) or LockWait has passed (ErrLocked).
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
			return nil, ErrLocked.WithMessage("another process has locked %s for %s; check whether one hangs", d.File(name), LockWait)
		case <-time.After(lockPoll):
		}
	}
}

// TryLock acquires the named lock if it is free; nil without an error means that it is held. Anything but a regular file of that name fails with
// ErrNotFile: a link could lead out of the directory, and opening a pipe could block.
func (d *Dir) TryLock(name string) (*Lock, error) {
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return nil, d.in("lock", name, fs.ErrInvalid)
	}
	held := flock.New(d.File(name), flock.SetPermissions(fileMode))
	if info, err := os.Lstat(held.Path()); err == nil && !info.Mode().IsRegular() {
		return nil, ErrNotFile.WithMessage("the lock %s is not a regular file; remove it", held.Path())
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
	// A holder may have retired the file between our opening and locking it: then the lock is on a deleted file.
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

// Release releases the lock and leaves its file for the next holder. Repeating it, or calling it after Retire, does nothing.
func (l *Lock) Release() error { return l.held.Close() }

// Retire removes the lock's file while it is held, and releases the lock: for documents that are deleted for good. A process that waits on the old
// file notices and starts over.
func (l *Lock) Retire() error { return errors.Join(os.Remove(l.held.Path()), l.held.Close()) }
