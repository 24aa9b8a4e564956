package system

import "github.com/fsnotify/fsnotify"

// WatchedDirectory watches one directory until it is closed.
type WatchedDirectory struct {
	system *fsnotify.Watcher
	events chan struct{}
}

// WatchDirectory watches a directory. It fails where the system cannot tell of what happens there.
func WatchDirectory(dir string) (*WatchedDirectory, error) {
	system, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	if err := system.Add(dir); err != nil {
		_ = system.Close() // nothing was written through it
		return nil, err
	}
	d := &WatchedDirectory{system, make(chan struct{}, 1)}
	go d.run()
	return d, nil
}

func (d *WatchedDirectory) run() {
	defer close(d.events)
	for { // an error is an event lost: better to look once too often
		select {
		case _, ok := <-d.system.Events:
			if !ok {
				return
			}
		case _, ok := <-d.system.Errors:
			if !ok {
				return
			}
		}
		select {
		case d.events <- struct{}{}:
		default: // one is told already
		}
	}
}

// Events reports changes until the directory is closed. Pending events are merged.
func (d *WatchedDirectory) Events() <-chan struct{} { return d.events }

// Close ends the watching.
func (d *WatchedDirectory) Close() error { return d.system.Close() }
