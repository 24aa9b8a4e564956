package system

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"
)

// WatchOptions is how a tree is watched. The zero WatchOptions is as most want it.
type WatchOptions struct {
	Skip  []string      // names of directories that are not looked into, at any depth
	Quiet time.Duration // nothing may change for so long before a change is told: who writes many files is not interrupted; default 200 ms
	Poll  time.Duration // how often the tree is looked through where the system tells nothing; default 2 s
	Still bool          // the system is not asked to tell
}

// safety is how often the tree is looked through although the system tells of changes: it may lose some, and of a directory that was replaced it tells nothing.
const safety = 30 * time.Second

// WatchTree tells of changes below dir from the moment it returns, until the context ends; then the channel is closed. Changes that nobody has taken yet are
// told once. dir may be missing: that it comes, or goes, is a change.
func WatchTree(ctx context.Context, dir string, o WatchOptions) <-chan struct{} {
	if o.Quiet <= 0 {
		o.Quiet = 200 * time.Millisecond
	}
	if o.Poll <= 0 {
		o.Poll = 2 * time.Second
	}
	w := &tree{dir: dir, WatchOptions: o, changes: make(chan struct{}, 1)}
	if !o.Still {
		w.system, _ = fsnotify.NewWatcher() // without one, the tree is looked through
	}
	w.look()
	go w.run(ctx)
	return w.changes
}

// tree is one that is watched.
type tree struct {
	WatchOptions
	dir     string
	system  *fsnotify.Watcher // nil where the system does not tell
	known   map[string]bool   // the directories that it tells of
	sum     [sha256.Size]byte // of the tree as it was when it was last looked through
	changes chan struct{}
}

func (w *tree) run(ctx context.Context) {
	defer close(w.changes)
	defer w.deaf()
	quiet := time.NewTimer(w.Quiet)
	quiet.Stop()
	var since time.Time // of the first event that was not looked at yet
	for {
		var events chan fsnotify.Event
		var lost chan error
		often := w.Poll
		if w.system != nil {
			events, lost, often = w.system.Events, w.system.Errors, max(safety, w.Poll)
		}
		again := time.NewTimer(often)
		select {
		case <-ctx.Done():
			again.Stop()
			return
		case <-events:
			if since.IsZero() {
				since = time.Now()
			}
			quiet.Reset(min(w.Quiet, max(0, 10*w.Quiet-time.Since(since)))) // who never stops writing is not waited for
		case <-lost:
			quiet.Reset(w.Quiet)
		case <-quiet.C:
			since = time.Time{}
			w.tell()
		case <-again.C:
			w.tell()
		}
		again.Stop()
	}
}

// tell tells of a tree that is not as it was.
func (w *tree) tell() {
	before := w.sum
	if w.look(); w.sum == before {
		return
	}
	select {
	case w.changes <- struct{}{}:
	default: // one is told already
	}
}

// look looks through the tree, and has the system tell of each directory in it. What came into a directory before the system told of it is looked for again.
func (w *tree) look() {
	for {
		sum, dirs := w.survey()
		w.sum = sum
		if !w.listen(dirs) {
			return
		}
	}
}

// listen watches exactly these directories, and reports whether one of them is new. After a failure it stops watching.
func (w *tree) listen(dirs []string) (more bool) {
	if w.system == nil {
		return false
	}
	known := map[string]bool{}
	for _, dir := range dirs {
		known[dir] = true
		if w.known[dir] {
			continue
		}
		if err := w.system.Add(dir); err != nil {
			if _, gone := os.Lstat(dir); gone != nil {
				delete(known, dir)
				continue
			}
			w.deaf() // too many directories, or a file system that tells nothing
			return false
		}
		more = true
	}
	for dir := range w.known {
		if !known[dir] {
			_ = w.system.Remove(dir) // it is gone
		}
	}
	w.known = known
	if len(known) == 0 {
		w.deaf() // there is nothing to tell of yet
	}
	return more
}

// deaf stops watching.
func (w *tree) deaf() {
	if w.system != nil {
		_ = w.system.Close() // nothing was written through it
		w.system = nil
	}
}

// survey returns the tree in a sum, and its directories. What cannot be read counts with its error: that it can be read again is a change.
func (w *tree) survey() (sum [sha256.Size]byte, dirs []string) {
	h := sha256.New()
	_ = filepath.WalkDir(w.dir, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			fmt.Fprintf(h, "%q %q\n", path, err.Error())
			return nil
		case e.IsDir() && path != w.dir && slices.Contains(w.Skip, e.Name()):
			return fs.SkipDir
		case e.IsDir():
			dirs = append(dirs, path)
			fmt.Fprintf(h, "%q\n", path)
			return nil
		}
		info, err := e.Info()
		if err != nil {
			fmt.Fprintf(h, "%q %q\n", path, err.Error())
			return nil
		}
		to := ""
		if info.Mode()&fs.ModeSymlink != 0 {
			to, _ = os.Readlink(path) // what cannot be read leads nowhere
		}
		fmt.Fprintf(h, "%q %d %d %v %q\n", path, info.Size(), info.ModTime().UnixNano(), info.Mode(), to)
		return nil
	})
	copy(sum[:], h.Sum(nil))
	return sum, dirs
}
