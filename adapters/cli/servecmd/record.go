package servecmd

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// RecordName is the file in Countersign's home by which other commands find the server that runs.
const RecordName = "serve.json"

// The ways a server is there, or not.
var (
	ErrRunning = fault.New(fault.Conflict, "server_running", "a server runs already")
	ErrStopped = fault.New(fault.State, "server_stopped", "no server runs")
)

// Server is the server of one home, as others find it.
type Server struct {
	PID       int       `json:"pid"`
	Process   string    `json:"process"` // which process it is: a pid comes again
	StartedAt time.Time `json:"started_at"`
	Address   string    `json:"address"` // where it listens: "127.0.0.1:8317"
	URL       string    `json:"url"`     // how a browser reaches it: "http://127.0.0.1:8317"
	Version   string    `json:"version"`
}

// Running is the server of that home that runs now, if one does. alive tells of processes; a record that a killed server left is none.
func Running(home string, alive func(process string) bool) (Server, bool) {
	var s Server
	text, err := os.ReadFile(filepath.Join(home, RecordName))
	if err != nil || json.Unmarshal(text, &s) != nil || !alive(s.Process) {
		return Server{}, false
	}
	return s, true
}

// claim records the server, unless another one of that home runs: then it fails with ErrRunning.
func claim(home string, s Server, alive func(process string) bool) error {
	if other, ok := Running(home, alive); ok && other.Process != s.Process {
		return running(other)
	}
	text, err := tool.Encode(s)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(home, 0o700); err != nil {
		return fault.From(err)
	}
	f, err := os.CreateTemp(home, RecordName+".") // its owner's alone
	if err != nil {
		return fault.From(err)
	}
	_, err = f.Write(append(text, '\n'))
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), filepath.Join(home, RecordName))
	}
	if err != nil {
		os.Remove(f.Name())
		return fault.From(err)
	}
	return nil
}

// release takes the record of this server away.
func release(home string, s Server) error {
	if now, ok := Running(home, func(process string) bool { return process == s.Process }); !ok || now.Process != s.Process {
		return nil
	}
	if err := os.Remove(filepath.Join(home, RecordName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault.From(err)
	}
	return nil
}

func running(s Server) error {
	return ErrRunning.Sayf("a server runs already at %s (process %d, since %s); countersign login opens it, and a server of another COUNTERSIGN_HOME can run beside it",
		s.URL, s.PID, s.StartedAt.Local().Format(time.DateTime))
}
