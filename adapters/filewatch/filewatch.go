// Package filewatch tells when files change. Directory tells of everything that happens in one directory, at once, where the system tells of it; Tree tells that
// something below a directory is not as it was, and looks through it at intervals where the system tells nothing. Neither says which file it was: that is for
// whoever looks.
//
// Its API may change at any time.
package filewatch

import "github.com/fsnotify/fsnotify"

// Directory watches one directory until it is closed.
type Directory struct {
	system *fsnotify.Watcher
	events chan struct{}
}

// NewDirectory watches a directory. It fails where the system cannot tell of what happens there.
func NewDirectory(dir string) (*Directory, error) {
	system, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	if err := system.Add(dir); err != nil {
		_ = system.Close() // nothing was written through it
		return nil, err
	}
	d := &Directory{system, make(chan struct{}, 1)}
	go d.run()
	return d, nil
}

func (d *Directory) run() {
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

// Events tells that something happened, until the directory is closed. What nobody has taken yet is told once.
func (d *Directory) Events() <-chan struct{} { return d.events }

// Close ends the watching.
func (d *Directory) Close() error { return d.system.Close() }
