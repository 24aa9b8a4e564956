package ecosystemfile

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/redact"
	"github.com/countersign-dev/countersign/ports"
)

// Options say where the files are and what surrounds them. Only Home and Clock are needed.
type Options struct {
	Env    func(name string) string                      // variables of this process; nil for none
	Home   string                                        // the user's home directory, absolute
	Dir    string                                        // the working directory; empty asks the system
	Clock  ports.Clock                                   // times what is recorded
	Redact func() *redact.Redactor                       // masks the logs of runs; nil is the rules alone
	Init   func(ctx context.Context, dir string) error   // makes the workspace root a git repository; nil leaves it as it is
	Carry  func(context.Context, string) context.Context // marks the programs that are started for a work; nil marks none
	End    func(work string) (left []int)                // ends the programs of a work; nil ends none
}

// Store is the files. Any number of Stores, in any number of processes, may share them. It implements ecosystemport.Places and Manifests;
// States and Runs have the rest.
type Store struct {
	*PathFinder
	o      Options
	states *StateStore
	runs   *RunStore
}

// New returns the files that o leads to. Nothing is opened or made yet.
func New(o Options) *Store {
	s := &Store{PathFinder: NewPathFinder(pathOptions{Env: o.Env, Home: o.Home, Dir: o.Dir}), o: o}
	s.states = NewStateStore(stateOptions{Clock: o.Clock, State: s.StateDir, Config: s.ConfigDir, Carry: o.Carry, End: o.End})
	s.runs = NewRunStore(RunOptions{Dir: s.RunsDir, Clock: o.Clock, Redact: o.Redact})
	return s
}

// States returns what is recorded of installed workspaces. It implements ecosystemport.States.
func (s *Store) States() *StateStore { return s.states }

// Runs returns the records and logs of runs. It implements ecosystemport.Runs.
func (s *Store) Runs() *RunStore { return s.runs }

// WorkerDir returns where workers keep their places, for package worker.
func (s *Store) WorkerDir() (string, error) {
	dir, err := s.StateDir()
	return filepath.Join(dir, "workers"), err
}

// stored words what the file system refused when something was to be written.
func stored(err error, what, path string) error {
	var at *fs.PathError
	if !errors.As(err, &at) {
		return err
	}
	return ecosystem.ErrStorage.WithMessage("%s could not be written in %s; check the directory's permissions and the free disk space", what, path).WithCause(err)
}
