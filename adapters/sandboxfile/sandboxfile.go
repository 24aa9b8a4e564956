package sandboxfile

import (
	"context"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/countersign-dev/countersign/adapters/docfile"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/ports"
)

// The files in the memory root (opencode contract §4.2), and where our own locks are.
const (
	stateName   = "opencode-state.json"
	tableName   = "opencode-mcp-tool-servers.json"
	nextName    = tableName + ".next"     // a table whose state may or may not have been written
	sumName     = tableName + ".next-sum" // SHA-256 of that state
	settingName = "opencode-manager.env"
	gatewayLog  = "global-mcp-tool.log"
	lockName    = "opencode.lock"
	locksDir    = "opencode-locks"

	fileLimit = 32 << 20
	lockPoll  = 5 * time.Millisecond
)

// ErrRecord reports a change of the state that would make it contradict itself: a defect of the caller.
var ErrRecord = fault.New(fault.Internal, "sandbox_record_contradiction", "the change would make the record inconsistent")

// Options say where the files are and what surrounds them. Only Home and Clock are needed.
type Options struct {
	Home     string                   // the user's home directory, absolute
	Clock    ports.Clock              // for names of backups and times in the table of servers
	Env      func(name string) string // variables of this process; nil for none
	Environ  func() []string          // all of them, for Settings.Environ; nil for none
	Patience time.Duration            // how long to wait for a lock; 0 is sandbox.BusyTimeout
	Warn     func(text string)        // told what a migration could not take over; nil for nobody
	KeyGen   string                   // the program ssh-keygen; empty looks on the PATH
}

// Store is the files. Any number of Stores, in any number of processes, may share them. It implements sandboxport.States, Homes and Keys.
type Store struct {
	*DeployKeys
	o      Options
	dirs   sandbox.RootDirs
	memory *docfile.Dir

	mu    sync.Mutex
	gates map[string]chan struct{} // one a lock: whoever is in this process waits here, and only one of them at the file
}

// New returns the files below o.Home, or where MEMORY_PATH and OPENCODE_PROJECTS_DIR say. Nothing is opened or made yet.
func New(o Options) *Store {
	if o.Env == nil {
		o.Env = func(string) string { return "" }
	}
	if o.Environ == nil {
		o.Environ = func() []string { return nil }
	}
	if o.Patience == 0 {
		o.Patience = sandbox.BusyTimeout
	}
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	s := &Store{o: o, gates: map[string]chan struct{}{}}
	s.dirs = sandbox.RootDirs{
		Projects: s.place("OPENCODE_PROJECTS_DIR", ".opencode-projects"),
		Memory:   s.place("MEMORY_PATH", ".memory"),
	}
	s.memory = docfile.NewDir(s.dirs.Memory)
	s.DeployKeys = NewDeployKeys(keyOptions{
		Path: func(name string) string { return s.Layout(name, "").Key }, Home: o.Home, KeyGen: o.KeyGen,
		Exclude: func(ctx context.Context, name string) (func(), error) {
			return s.exclude(ctx, locksDir+"/key-"+name+".lock", "the deploy key of "+name)
		},
	})
	return s
}

func (s *Store) place(variable, standard string) string {
	if dir := strings.TrimSpace(s.o.Env(variable)); dir != "" {
		return s.absolute(dir)
	}
	return filepath.Join(s.o.Home, standard)
}

// absolute returns a path with ~ expanded; a relative one counts from the home directory, which is the same for every process.
func (s *Store) absolute(path string) string {
	if path == "~" {
		return s.o.Home
	}
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		path = rest
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.o.Home, path)
	}
	return filepath.Clean(path)
}

// TablePath returns where the gateway's table of servers is.
func (s *Store) TablePath() string { return s.memory.File(tableName) }

// GatewayLog returns where the gateway's output goes.
func (s *Store) GatewayLog() string { return s.memory.File(sandbox.LogsDir + "/" + gatewayLog) }

// checkHome fails if the directories are not configured: the working directory is never used instead.
func (s *Store) checkHome() error {
	if filepath.IsAbs(s.dirs.Memory) && filepath.IsAbs(s.dirs.Projects) {
		return nil
	}
	return sandbox.ErrConfiguration.WithMessage("the home directory is unknown; set HOME, or MEMORY_PATH and OPENCODE_PROJECTS_DIR, to absolute paths")
}

// Hold implements sandboxport.States.
func (s *Store) Hold(ctx context.Context, url git.URL) (release func(), err error) {
	if url.IsZero() {
		return s.exclude(ctx, locksDir+"/gateway.lock", "the gateway")
	}
	return s.exclude(ctx, locksDir+"/"+sandbox.ShortHash(url)+".lock", "the project "+url.String())
}

// exclude takes the named lock, against everybody in this process and in others.
func (s *Store) exclude(ctx context.Context, name, what string) (release func(), err error) {
	if err := s.checkHome(); err != nil {
		return nil, err
	}
	deadline := time.NewTimer(s.o.Patience)
	defer deadline.Stop()
	busy := sandbox.ErrBusy.WithMessage("another call has locked %s for %s; try again later", what, s.o.Patience)
	gate := s.gate(name)
	select {
	case gate <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-deadline.C:
		return nil, busy
	}
	for {
		lock, err := s.memory.TryLock(name)
		if lock != nil {
			return sync.OnceFunc(func() {
				_ = lock.Release() // closing is all there is to it
				<-gate
			}), nil
		}
		if err == nil {
			err = s.pause(ctx, deadline.C, busy)
		}
		if err != nil {
			<-gate
			return nil, err
		}
	}
}

func (s *Store) pause(ctx context.Context, deadline <-chan time.Time, busy error) error {
	select {
	case <-time.After(lockPoll):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-deadline:
		return busy
	}
}

func (s *Store) gate(name string) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gates[name] == nil {
		s.gates[name] = make(chan struct{}, 1)
	}
	return s.gates[name]
}
