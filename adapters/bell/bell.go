// Package bell wakes calls that wait for a decision, in every process of a home: Ring writes a file in a shared directory, which listeners watch. Bell is a
// ports.Bell.
//
// It carries no data: a woken caller checks the approval store. It may signal without a decision; where the directory cannot be watched it works within the
// process only, so callers also check at intervals.
//
// Its API may change at any time.
package bell

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/countersign-dev/countersign/adapters/filewatch"
)

// file is what is touched. Its content means nothing.
const file = "decided"

// Bell is a ports.Bell. It is safe for concurrent use; New makes it. It holds nothing open while nobody listens.
type Bell struct {
	dir string
	log *slog.Logger

	mu        sync.Mutex
	listeners map[chan struct{}]string // each with the id it waits for
	watcher   *filewatch.Directory     // nil while nobody listens, and where there can be none
	rung      byte
}

// New returns the bell of the processes that share the directory; it is made when the first of them listens. Without a directory it is heard in this
// process alone. log may be nil.
func New(dir string, log *slog.Logger) *Bell {
	if log == nil {
		log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	return &Bell{dir: dir, log: log, listeners: map[chan struct{}]string{}}
}

// Ring wakes who waits for the confirmation of that id.
func (b *Bell) Ring(id string) {
	b.wake(func(waitsFor string) bool { return waitsFor == id })
	if b.dir == "" {
		return
	}
	f, err := os.OpenFile(filepath.Join(b.dir, file), os.O_WRONLY|os.O_CREATE, 0o600)
	if os.IsNotExist(err) { // nobody has ever waited here
		return
	}
	if err == nil {
		b.mu.Lock()
		b.rung++
		touch := []byte{b.rung}
		b.mu.Unlock()
		_, err = f.WriteAt(touch, 0)
		if closeErr := f.Close(); err == nil {
			err = closeErr
		}
	}
	if err != nil {
		b.log.Debug("other processes could not be told that a person has decided", "cause", err.Error())
	}
}

// Listen hears when the confirmation of that id may have been decided, until stop is called. A ring that nobody has taken yet is not doubled.
func (b *Bell) Listen(id string) (rings <-chan struct{}, stop func()) {
	mine := make(chan struct{}, 1)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.listeners[mine] = id
	if b.watcher == nil && b.dir != "" {
		b.watch()
	}
	return mine, func() { b.leave(mine) }
}

// watch begins to watch the directory.
func (b *Bell) watch() {
	err := os.MkdirAll(b.dir, 0o700)
	var w *filewatch.Directory
	if err == nil {
		w, err = filewatch.NewDirectory(b.dir)
	}
	if err != nil {
		b.log.Debug("what a person decides in another process is not heard at once", "cause", err.Error())
		return
	}
	b.watcher = w
	go func() {
		for range w.Events() {
			b.wake(func(string) bool { return true })
		}
	}()
}

// leave ends a listener, and the watching with the last one.
func (b *Bell) leave(mine chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.listeners, mine)
	if len(b.listeners) == 0 && b.watcher != nil {
		_ = b.watcher.Close() // nothing was written through it
		b.watcher = nil
	}
}

// wake rings for the listeners that are meant.
func (b *Bell) wake(meant func(waitsFor string) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for mine, waitsFor := range b.listeners {
		if !meant(waitsFor) {
			continue
		}
		select {
		case mine <- struct{}{}:
		default:
		}
	}
}
