package system

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
)

// file is what is touched. Its content means nothing.
const file = "decided"

// Bell is a ports.Bell, created by NewBell. It is safe for concurrent use, and holds no files open without listeners.
type Bell struct {
	dir string
	log *slog.Logger

	mu        sync.Mutex
	listeners map[chan struct{}]string // each with the id it waits for
	watcher   *WatchedDirectory        // nil while nobody listens, and where there can be none
	rung      byte
}

// NewBell returns the bell of the processes that share the directory; it is made when the first of them listens. Without a directory it is heard in this
// process alone. log may be nil.
func NewBell(dir string, log *slog.Logger) *Bell {
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
		b.log.Debug("other processes could not be notified of a decision", "cause", err.Error())
	}
}

// Listen reports on rings when the approval request with that id may have been decided, until stop is called. Pending rings are merged.
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
	var w *WatchedDirectory
	if err == nil {
		w, err = WatchDirectory(b.dir)
	}
	if err != nil {
		b.log.Debug("decisions in other processes are noticed with a delay", "cause", err.Error())
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
