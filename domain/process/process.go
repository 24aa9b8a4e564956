// Package process holds what a child process is: how it is to be started (an argument vector, never a shell line), the states it goes
// through, and what it printed.
//
// It refuses to know operating systems: starting, signalling and reaping are an adapter's.
package process

import (
	"path"
	"regexp"
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

// The ways this package refuses.
var (
	ErrSpec       = fault.New(fault.Invalid, "process_spec_invalid", "the process cannot be started as described")
	ErrTransition = fault.New(fault.State, "process_state_invalid", "the process is not in a state that allows this")
)

// ID names a process that was started; the pid is the operating system's and comes again.
type ID string

// Spec is how to start a process.
type Spec struct {
	Argv    []string          `json:"argv"` // the program and its arguments, passed on as they are; no shell reads them
	Dir     string            `json:"dir"`  // absolute, or a relpath under the directory the starter was opened for; empty is that directory
	Env     map[string]string `json:"env,omitempty"`
	Timeout time.Duration     `json:"timeout_ns,omitempty"` // zero means no limit of its own
}

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

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
		if !envName.MatchString(name) {
			return ErrSpec.Sayf("%q is no name of an environment variable", name)
		}
		if hasNUL(value) || len(value) > MaxEnvBytes { // the message leaves the value out: it may be a secret
			return ErrSpec.Sayf("the environment variable %s contains NUL or has more than %d bytes", name, MaxEnvBytes)
		}
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
	Failed           // it never started, or ended by itself in any other way
	Stopped          // it ended because somebody asked
	TimedOut         // it ended because its time was up
)

// transitions is the state machine.
var transitions = map[Status][]Status{
	Starting: {Running, Stopping, Failed},
	Running:  {Stopping, Completed, Failed},
	Stopping: {Stopped, TimedOut},
}

var statusNames = [...]string{"invalid", "starting", "running", "stopping", "completed", "failed", "stopped", "timed_out"}

// String is the status's stable name.
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
func (s Status) May(to Status) bool { return slices.Contains(transitions[s], to) }

// State is what is known of a process that was started. Its environment is not part of it, because that may hold secrets.
type State struct {
	ID        ID        `json:"id"`
	Argv      []string  `json:"argv"`
	Dir       string    `json:"dir"`
	Status    Status    `json:"status"`
	PID       int       `json:"pid"` // zero before it runs
	StartedAt time.Time `json:"started_at"`
	EndedAt   time.Time `json:"ended_at"`         // zero until the status is final
	Exit      Exit      `json:"exit"`             // of meaning once the status is final
	Escalated bool      `json:"escalated"`        // it did not heed the first signal and was killed
	Reason    string    `json:"reason,omitempty"` // why it never started
}

// Exit is how a process ended: with a code, or by a signal.
type Exit struct {
	Code   int    `json:"code"`
	Signal string `json:"signal,omitempty"` // "killed"; Code is -1 then
}

// New is a process about to be started, or ErrSpec.
func New(id ID, spec Spec, now time.Time) (State, error) {
	if err := spec.Validate(); err != nil {
		return State{}, err
	}
	return State{ID: id, Argv: slices.Clone(spec.Argv), Dir: spec.Dir, Status: Starting, StartedAt: now}, nil
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
