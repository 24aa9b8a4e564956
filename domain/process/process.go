// Package process holds the rules of child processes: how one is started (an argument vector, never a shell line), its statuses, and its output.
// Package ports has the interface that starts and stops them.
//
// Its API may change at any time.
package process

import (
	"maps"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/relpath"
)

// The bounds of a Spec (packageflow-security contract §4.1 and §4.8; the argument vector's is ours, half of what Linux takes).
const (
	MaxArgvBytes = 1 << 20
	MaxDirBytes  = 4096
	MaxEnvBytes  = 32 << 10 // one value
)

// The ways this package refuses, and those in which whoever starts processes does.
var (
	ErrSpec       = fault.New(fault.Invalid, "process_spec_invalid", "the process cannot be started as described")
	ErrEnv        = fault.New(fault.Denied, "process_env_refused", "the environment has variables that would change what programs are")
	ErrTransition = fault.New(fault.State, "process_state_invalid", "the process is not in a state that allows this")
	ErrNotFound   = fault.New(fault.NotFound, "process_not_found", "there is no such process; list_background_processes shows those there are, and ended ones are forgotten after an hour")
	ErrStart      = fault.New(fault.Unavailable, "process_not_started", "the process could not be started")
	ErrElsewhere  = fault.New(fault.Conflict, "process_elsewhere", "the process is owned by another machine or container, and does not hear from here")
	ErrLimit      = fault.New(fault.Unavailable, "process_limit", "as many processes run as may; wait for one to end, or stop one")
)

// ID names a process that was started; the pid is the operating system's and comes again.
type ID string

// Spec is how to start a process. Env is the whole environment the program sees, but for the mark its starter adds: nothing is
// inherited behind the caller's back (Environment makes one).
type Spec struct {
	Argv    []string          `json:"argv"` // the program and its arguments, passed on as they are; no shell reads them
	Dir     string            `json:"dir"`  // absolute, or a relpath under the directory the starter was opened for; empty is that directory
	Env     map[string]string `json:"env,omitempty"`
	Timeout time.Duration     `json:"timeout_ns,omitempty"` // zero means no limit of its own
	Labels  map[string]string `json:"labels,omitempty"`     // the capability's own words (script, project, …), copied into the State
	Secrets []string          `json:"-"`                    // exact values masked in what it prints; stored nowhere
	Log     string            `json:"log,omitempty"`        // absolute path of a file that what it prints is appended to as well; empty is none
	Keep    time.Duration     `json:"keep_ns,omitempty"`    // how long it is remembered after it has ended; zero is an hour
	Leaves  bool              `json:"leaves,omitempty"`     // what it started goes on when it ends by itself, and nobody looks after that any more
}

// Validate fails with ErrSpec when no system could start s, or when what would start is not what it says.
func (s Spec) Validate() error {
	size := 0
	for _, arg := range s.Argv {
		size += len(arg) + 1
	}
	switch {
	case len(s.Argv) == 0 || s.Argv[0] == "":
		return ErrSpec.Sayf("the process has no program: argv is empty")
	case s.Argv[0][0] == '-':
		return ErrSpec.Sayf("the program's name %q starts with a dash", s.Argv[0])
	case size > MaxArgvBytes:
		return ErrSpec.Sayf("the arguments have %d bytes; at most %d are allowed", size, MaxArgvBytes)
	case slices.ContainsFunc(s.Argv, hasNUL):
		return ErrSpec.Sayf("an argument contains a NUL character")
	case s.Timeout < 0:
		return ErrSpec.Sayf("the timeout %v is negative", s.Timeout)
	}
	for name, value := range s.Env {
		if err := checkVariable(name, value); err != nil {
			return err
		}
	}
	if s.Log != "" && (!path.IsAbs(s.Log) || checkDir(s.Log) != nil) {
		return ErrSpec.Sayf("the log %.80q is no absolute path that can be written to", s.Log)
	}
	return checkDir(s.Dir)
}

func hasNUL(s string) bool { return strings.ContainsRune(s, 0) }

func checkDir(dir string) error {
	switch {
	case dir == "":
		return nil
	case !path.IsAbs(dir):
		if _, err := relpath.Parse(dir); err != nil {
			return ErrSpec.Sayf("the directory: %v", err)
		}
		return nil
	case len(dir) > MaxDirBytes || !utf8.ValidString(dir) || hasNUL(dir):
		return ErrSpec.Sayf("the directory has more than %d bytes, is not UTF-8 or contains NUL", MaxDirBytes)
	case slices.Contains(strings.Split(dir, "/"), ".."):
		return ErrSpec.Sayf("the directory %q has a \"..\" component", dir)
	}
	return nil
}

// Status is where a process stands. The zero Status is no status.
type Status uint8

// The statuses (packageflow contract §1.11, with the time between the signal and the end told apart). The last four are final, and are
// reached only when the whole process group is gone.
const (
	Starting  Status = iota + 1
	Running          // it has a pid
	Stopping         // it was signalled: somebody asked, or its time was up
	Completed        // it exited with 0 by itself
	Failed           // it never started, ended by itself in any other way, or was lost
	Stopped          // it ended because somebody asked
	TimedOut         // it ended because its time was up
)

// transitions returns the state machine.
func (s Status) transitions() []Status {
	switch s {
	case Starting:
		return []Status{Running, Stopping, Failed}
	case Running:
		return []Status{Stopping, Completed, Failed}
	case Stopping:
		return []Status{Stopped, TimedOut, Failed} // failed: whoever was stopping it is gone
	}
	return nil
}

var statusNames = [...]string{"invalid", "starting", "running", "stopping", "completed", "failed", "stopped", "timed_out"}

// String returns the status's stable name.
func (s Status) String() string {
	if int(s) < len(statusNames) {
		return statusNames[s]
	}
	return statusNames[0]
}

// MarshalText is String.
func (s Status) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a status's name, or fails with ErrTransition.
func (s *Status) UnmarshalText(text []byte) error {
	i := slices.Index(statusNames[1:], string(text))
	if i < 0 {
		return ErrTransition.Sayf("%.40q is no status of a process", text)
	}
	*s = Status(i + 1)
	return nil
}

// Final reports whether nothing follows.
func (s Status) Final() bool { return s >= Completed && s <= TimedOut }

// May reports whether to can follow s.
func (s Status) May(to Status) bool { return slices.Contains(s.transitions(), to) }

// State is what is known of a process that was started. Its environment is not part of it, because that may hold secrets.
type State struct {
	ID         ID                `json:"id"`
	Argv       []string          `json:"argv"`
	Dir        string            `json:"dir"`
	Labels     map[string]string `json:"labels,omitempty"` // as the Spec had them
	Background bool              `json:"background"`       // nobody waits for it
	Status     Status            `json:"status"`
	PID        int               `json:"pid"`       // of the leader of its process group; zero before it runs
	Owner      int               `json:"owner_pid"` // the Countersign process that looks after it; zero before one does
	StartedAt  time.Time         `json:"started_at"`
	EndedAt    time.Time         `json:"ended_at"`          // zero until the status is final
	Exit       Exit              `json:"exit"`              // of meaning once the status is final, unless it was lost
	Escalated  bool              `json:"escalated"`         // it did not heed the first signal and was killed
	Lost       bool              `json:"lost,omitempty"`    // its owner died before it: how it ended is not known
	Log        string            `json:"log,omitempty"`     // where what it prints is appended to besides
	Keep       time.Duration     `json:"keep_ns,omitempty"` // as the Spec had it
	Reason     string            `json:"reason,omitempty"`  // why it never started, how it was lost, or what went wrong around it

	Elsewhere string `json:"elsewhere,omitempty"` // of one that has not ended, and whose owner cannot be seen from here: where that is
}

// Exit is how a process ended: with a code, or by a signal.
type Exit struct {
	Code   int    `json:"code"`
	Signal string `json:"signal,omitempty"` // "killed"; Code is -1 then
}

// NewState returns a process about to be started, or ErrSpec.
func NewState(id ID, spec Spec, now time.Time) (State, error) {
	if err := spec.Validate(); err != nil {
		return State{}, err
	}
	return State{ID: id, Argv: slices.Clone(spec.Argv), Dir: spec.Dir, Labels: maps.Clone(spec.Labels), Log: spec.Log, Keep: spec.Keep, Status: Starting, StartedAt: now}, nil
}

// Lose moves a process whose owner died to Failed, and says so. The time is when it was last known to be looked after.
func (s *State) Lose(why string, last time.Time) error {
	if err := s.Move(Failed, last); err != nil {
		return err
	}
	s.Lost, s.Reason = true, "lost: "+why
	return nil
}

// Move goes to another status and, when that is final, notes the time. It fails with ErrTransition and changes nothing when the state
// machine has no such arrow.
func (s *State) Move(to Status, now time.Time) error {
	if !s.Status.May(to) {
		return ErrTransition.Sayf("process %s is %s and cannot become %s", s.ID, s.Status, to)
	}
	if s.Status = to; to.Final() {
		s.EndedAt = now
	}
	return nil
}
