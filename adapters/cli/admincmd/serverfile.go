package admincmd

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/owner"
	"github.com/countersign-dev/countersign/domain/tool"
)

// ServerFile is the file in Countersign's home with which other commands find the running server.
const ServerFile = "serve.json"

// ServerLockFile is the file in Countersign's home that a server holds locked.
const ServerLockFile = "serve.lock"

// The errors about running servers.
var (
	ErrRunning = fault.New(fault.Conflict, "server_running", "a server is already running")
	ErrStopped = fault.New(fault.State, "server_stopped", "no server is running")
)

// Server describes the server of one home.
type Server struct {
	PID       int       `json:"pid"`
	Process   string    `json:"process"` // identity of the process; pids are reused
	Locked    bool      `json:"locked"`  // it holds ServerLockFile until it ends
	StartedAt time.Time `json:"started_at"`
	Address   string    `json:"address"` // listen address: "127.0.0.1:8317"
	URL       string    `json:"url"`     // URL for programs: "http://127.0.0.1:8317"
	Console   string    `json:"console"` // URL for browsers: "http://localhost:8317"
	Version   string    `json:"version"`
}

// RunningServer returns the server of the core's home unless it is known to have ended. A server that cannot be observed from here counts as running.
func RunningServer(core command.Core, m Machine) (Server, bool) {
	s, ok := recorded(core.Home)
	if !ok {
		return Server{}, false
	}
	switch core.App.Judge(s.Process) {
	case owner.Dead:
		return Server{}, false
	case owner.Unknown: // in another container; its lock ends with it, and is visible on this whole machine
		if s.Locked && sameStart(s.Process, m.Process()) {
			if release, err := m.Hold(core.Home); err == nil && release != nil {
				release()
				return Server{}, false
			}
		}
	}
	return s, true
}

// recorded returns the recorded server, running or not.
func recorded(home string) (s Server, ok bool) {
	text, err := os.ReadFile(filepath.Join(home, ServerFile))
	return s, err == nil && json.Unmarshal(text, &s) == nil
}

// sameStart reports whether two processes belong to the same boot of a machine, and so share locks.
func sameStart(a, b string) bool {
	one, _ := owner.ParseID(a)
	two, _ := owner.ParseID(b)
	return one.Boot != "" && one.Boot == two.Boot
}

// hold prevents every other server of that home from starting until release is called, or fails with ErrRunning.
func hold(core command.Core, m Machine) (release func(), err error) {
	if other, ok := RunningServer(core, m); ok {
		return nil, running(other, core.App.Elsewhere(other.Process))
	}
	release, err = m.Hold(core.Home)
	if err != nil || release != nil {
		return release, err
	}
	if other, ok := recorded(core.Home); ok {
		return nil, running(other, "")
	}
	return nil, ErrRunning.WithMessage("another server for %s is starting; to open it: countersign login", core.Home)
}

// claim records the server, which holds its home.
func claim(home string, s Server) error {
	text, err := tool.Encode(s)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(home, 0o700); err != nil {
		return fault.From(err)
	}
	f, err := os.CreateTemp(home, ServerFile+".") // readable only by its owner
	if err != nil {
		return fault.From(err)
	}
	_, err = f.Write(append(text, '\n'))
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), filepath.Join(home, ServerFile))
	}
	if err != nil {
		os.Remove(f.Name())
		return fault.From(err)
	}
	return nil
}

// release removes the record of this server.
func release(home string, s Server) error {
	if now, ok := recorded(home); !ok || now.Process != s.Process {
		return nil
	}
	if err := os.Remove(filepath.Join(home, ServerFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault.From(err)
	}
	return nil
}

// running returns the error about a running server; where is its location if it cannot be observed from here.
func running(s Server, where string) error {
	if where != "" {
		return ErrRunning.WithMessage("a server for this COUNTERSIGN_HOME is recorded at %s since %s: it is %s", ConsoleURL(s.URL), s.StartedAt.Local().Format(time.DateTime), where)
	}
	return ErrRunning.WithMessage("a server is already running at %s (process %d, since %s); to open it: countersign login",
		ConsoleURL(s.URL), s.PID, s.StartedAt.Local().Format(time.DateTime))
}
