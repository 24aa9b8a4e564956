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

// The limits of a Spec (packageflow-security contract §4.1 and §4.8; the limit of the argument vector is ours, half of Linux's).
const (
	MaxArgvBytes = 1 << 20
	MaxDirBytes  = 4096
	MaxEnvBytes  = 32 << 10 // one value
)

// The errors of this package, and of the programs that start processes.
var (
	ErrSpec       = fault.New(fault.Invalid, "process_spec_invalid", "the process cannot be started as described")
	ErrEnv        = fault.New(fault.Denied, "process_env_refused", "the environment sets variables that change which programs run")
	ErrTransition = fault.New(fault.State, "process_state_invalid", "the process is not in a state that allows this")
	ErrNotFound   = fault.New(fault.NotFound, "process_not_found", "process not found; call list_background_processes to list processes (ended ones are kept for 1 hour)")
	ErrStart      = fault.New(fault.Unavailable, "process_not_started", "the process could not be started")
	ErrElsewhere  = fault.New(fault.Conflict, "process_elsewhere", "the process belongs to another machine or container and cannot be controlled from here")
	ErrLimit      = fault.New(fault.Unavailable, "process_limit", "the limit of background processes is reached; stop one and retry")
)

// ID names a started process; operating systems reuse pids.
type ID string

// Spec is how to start a process. Env is the whole environment of the program, except for the mark that the starter adds: nothing else is inherited
// (ChildEnvironment makes one).
type Spec struct {
	Argv    []string          `json:"argv"` // the program and its arguments, passed unchanged; no shell reads them
	Dir     string            `json:"dir"`  // absolute, or a relpath under the starter's directory; empty is that directory
	Env     map[string]string `json:"env,omitempty"`
	Timeout time.Duration     `json:"timeout_ns,omitempty"` // zero means no separate limit
	Labels  map[string]string `json:"labels,omitempty"`     // labels of the capability (script, project, …), copied into the State
	Secrets []string          `json:"-"`                    // exact values to redact in its output; never stored
	Log     string            `json:"log,omitempty"`        // absolute path of a file to which its output is also appended; empty is none
	Keep    time.Duration     `json:"keep_ns,omitempty"`    // how long it is remembered after its end; zero is an hour
	Leaves  bool              `json:"leaves,omitempty"`     // its child processes continue, unsupervised, when it exits by itself
}

// Validate fails with ErrSpec if no system could start s, or if something other than s states would start.
func (s Spec) Validate() error {
	size := 0
	for _, arg := range s.Argv {
		size += len(arg) + 1
	}
	switch {
	case len(s.Argv) == 0 || s.Argv[0] == "":
		return ErrSpec.WithMessage("the process has no program: argv is empty")
	case s.Argv[0][0] == '-':
		return ErrSpec.WithMessage("the program's name %q starts with a dash", s.Argv[0])
	case size > MaxArgvBytes:
		return ErrSpec.WithMessage("the arguments have %d bytes; at most %d are allowed", size, MaxArgvBytes)
	case slices.ContainsFunc(s.Argv, hasNUL):
		return ErrSpec.WithMessage("an argument contains a NUL character")
	case s.Timeout < 0:
		return ErrSpec.WithMessage("the timeout %v is negative", s.Timeout)
	}
	for name, value := range s.Env {
		if err := checkVariable(name, value); err != nil {
			return err
		}
	}
	if s.Log != "" && (!path.IsAbs(s.Log) || checkDir(s.Log) != nil) {
		return ErrSpec.WithMessage("invalid log path %.80q: it must be an absolute path", s.Log)
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
			return ErrSpec.WithMessage("the directory: %v", err)
		}
		return nil
	case len(dir) > MaxDirBytes || !utf8.ValidString(dir) || hasNUL(dir):
		return ErrSpec.WithMessage("the directory has more than %d bytes, is not UTF-8 or contains NUL", MaxDirBytes)
	case slices.Contains(strings.Split(dir, "/"), ".."):
		return ErrSpec.WithMessage("the directory %q has a \"..\" component", dir)
	}
	return nil
}

// Status is the status of a process. The zero Status is invalid.
type Status uint8

// The statuses (packageflow contract §1.11, with a separate status between the signal and the end). The last four are final, and are reached only
// when the whole process group has ended.
const (
	Starting  Status = iota + 1
	Running          // it has a pid
	Stopping         // it was signalled: on request, or because it exceeded its time limit
	Completed        // it exited with code 0 by itself
	Failed           // it never started, ended by itself in any other way, or was lost
	Stopped          // it ended on request
	TimedOut         // it ended because of its time limit
)

// transitions returns the statuses that can follow s.
func (s Status) transitions() []Status {
	switch s {
	case Starting:
		return []Status{Running, Stopping, Failed}
	case Running:
		return []Status{Stopping, Completed, Failed}
	case Stopping:
		return []Status{Stopped, TimedOut, Failed} // failed: the process that was stopping it is gone
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

// MarshalText returns the result of String.
func (s Status) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a status's name, or fails with ErrTransition.
func (s *Status) UnmarshalText(text []byte) error {
	i := slices.Index(statusNames[1:], string(text))
	if i < 0 {
		return ErrTransition.WithMessage("unknown process status %.40q", text)
	}
	*s = Status(i + 1)
	return nil
}

// Final reports whether no status can follow.
func (s Status) Final() bool { return s >= Completed && s <= TimedOut }

// May reports whether to can follow s.
func (s Status) May(to Status) bool { return slices.Contains(s.transitions(), to) }

// Unended is part of the Reason of a final state some of whose processes could not be ended, and may still run.
const Unended = "could not be ended"

// State is what is known of a started process. It excludes the environment, which may contain secrets.
type State struct {
	ID         ID                `json:"id"`
	Argv       []string          `json:"argv"`
	Dir        string            `json:"dir"`
	Labels     map[string]string `json:"labels,omitempty"` // from the Spec
	Background bool              `json:"background"`       // no caller waits for it
	Status     Status            `json:"status"`
	PID        int               `json:"pid"`       // of the leader of its process group; zero before it runs
	Owner      int               `json:"owner_pid"` // the Countersign process that supervises it; zero before there is one
	StartedAt  time.Time         `json:"started_at"`
	EndedAt    time.Time         `json:"ended_at"`          // zero until the status is final
	Exit       Exit              `json:"exit"`              // valid once the status is final, unless the process was lost
	Escalated  bool              `json:"escalated"`         // it did not stop on the first signal and was killed
	Lost       bool              `json:"lost,omitempty"`    // its owner died first: how it ended is unknown
	Log        string            `json:"log,omitempty"`     // the file to which its output is also appended
	Keep       time.Duration     `json:"keep_ns,omitempty"` // from the Spec
	Reason     string            `json:"reason,omitempty"`  // why it never started, how it was lost, or what else failed

	Elsewhere string `json:"elsewhere,omitempty"` // location of the owner of a running process that cannot be observed from here
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

// Lose moves a process whose owner died to Failed, with the reason; last is when it was last known to be supervised.
func (s *State) Lose(why string, last time.Time) error {
	if err := s.Move(Failed, last); err != nil {
		return err
	}
	s.Lost, s.Reason = true, "lost: "+why
	return nil
}

// Move changes the status and, if the new one is final, records the time. If the state machine does not allow the change, it fails with ErrTransition
// and changes nothing.
func (s *State) Move(to Status, now time.Time) error {
	if !s.Status.May(to) {
		return ErrTransition.WithMessage("process %s is %s and cannot become %s", s.ID, s.Status, to)
	}
	if s.Status = to; to.Final() {
		s.EndedAt = now
	}
	return nil
}
