package ecosystem

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/fault"
)

// The ways a run's record refuses.
var (
	ErrRunUnknown = fault.New(fault.NotFound, "eco_run_not_found", "run not found; call amof_list_runs to list runs")
	ErrAmbiguous  = fault.New(fault.Invalid, "eco_run_ambiguous", "several runs match this prefix; give more of the ID")
	ErrMove       = fault.New(fault.State, "eco_run_state_invalid", "the run is not in a state that allows this")
	ErrUnasked    = fault.New(fault.Denied, "eco_run_unknown_call", "no call in the audit log queued this run")
	ErrStopped    = fault.New(fault.Canceled, "eco_run_cancelled", "the run was cancelled")
	ErrQueueFull  = fault.New(fault.Unavailable, "eco_queue_full", "the limit of queued runs for this ecosystem is reached; wait for one to end and retry")
)

// The bounds of runs (amof contract §9, §22).
const (
	MinPrefix        = 6 // characters of an id that name a run
	shortID          = 8
	MaxParallel      = 4 // ecosystems worked on at a time
	MaxQueued        = 32
	MaxLine          = 8 << 10
	MaxLines         = 50_000
	MaxLogBytes      = 10 << 20
	MaxKeptRuns      = 200
	RunRetention     = 30 * 24 * time.Hour
	RunTimeout       = 600 * time.Second  // of a run
	LifecycleTimeout = 1200 * time.Second // of install, sync, push, archive, discard
	BuildTimeout     = 1800 * time.Second
	StopGrace        = 5 * time.Second
	deadlineGrace    = 10 * time.Second
	ExitTimeout      = 124
	ExitCancelled    = 130
)

// RunStatus is how far a run is.
type RunStatus string

// The states. Success, Failed and Cancelled are final.
const (
	RunQueued    RunStatus = "queued"
	RunPaused    RunStatus = "paused"
	RunRunning   RunStatus = "running"
	RunSuccess   RunStatus = "success"
	RunFailed    RunStatus = "failed"
	RunCancelled RunStatus = "cancelled"
)

// RunStatuses returns all states.
func RunStatuses() []RunStatus {
	return []RunStatus{RunQueued, RunPaused, RunRunning, RunSuccess, RunFailed, RunCancelled}
}

// Final reports whether a run has ended.
func (s RunStatus) Final() bool { return s == RunSuccess || s == RunFailed || s == RunCancelled }

// Reaches reports whether a run may go from s to that state (amof contract §9).
func (s RunStatus) Reaches(to RunStatus) bool {
	switch s {
	case RunQueued:
		return to == RunQueued || to == RunPaused || to == RunRunning || to == RunCancelled || to == RunFailed
	case RunPaused:
		return to == RunPaused || to == RunQueued || to == RunCancelled
	case RunRunning:
		return to == RunRunning || to.Final()
	default:
		return to == s
	}
}

// Run is the record of one. Its JSON is the run record of the contract, with more after it.
type Run struct {
	ID         string     `json:"run_id"` // UUIDv4
	Ecosystem  string     `json:"ecosystem"`
	Action     string     `json:"action"` // install, sync, push, spin_deploy, …
	Command    []string   `json:"command"`
	Status     RunStatus  `json:"status"`
	CreatedAt  time.Time  `json:"created_at"`
	StartedAt  *time.Time `json:"started_at"`
	FinishedAt *time.Time `json:"finished_at"`
	ExitCode   *int       `json:"exit_code"`
	SessionID  string     `json:"session_id"`

	Root     string          `json:"workspace_root"`
	Tool     string          `json:"tool"`
	Payload  json.RawMessage `json:"payload"`          // what was confirmed, as the action wants it
	Facts    string          `json:"facts_hash"`       // over what the confirmed preview was made from
	Call     string          `json:"call_id"`          // that queued it: the audit says with which plan it was let through
	Preview  canon.Hash      `json:"preview_hash"`     // over what was shown of that plan; with the members that say what is done it makes the plan's hash
	Result   json.RawMessage `json:"result,omitempty"` // what came of it
	Error    string          `json:"error,omitempty"`
	Code     string          `json:"code,omitempty"`
	Owner    string          `json:"owner,omitempty"` // the process that carries it out
	Stopping bool            `json:"stopping,omitempty"`
	Events   int64           `json:"event_count"`
}

// Plan returns the hash of the plan that the run carries out: over what was shown of it, and over all that decides what is done. A run whose plan the audit
// does not know from its call was queued by nobody. It fails with canon.ErrForm where the payload has no canonical form.
func (r Run) Plan() (canon.Hash, error) {
	var payload any = string(r.Payload)
	switch {
	case len(r.Payload) == 0:
		payload = nil // as it is read back
	case json.Valid(r.Payload):
		payload = r.Payload
	}
	return canon.Sum("ecosystem.run.v1", map[string]any{"shown": r.Preview, "action": r.Action, "ecosystem": r.Ecosystem, "root": r.Root, "tool": r.Tool, "payload": payload, "facts": r.Facts})
}

// Short returns the id as users see it.
func (r Run) Short() string { return r.ID[:min(shortID, len(r.ID))] }

// Begin moves a queued run into execution by that process.
func (r *Run) Begin(owner string, now time.Time) error {
	if err := r.move(RunRunning); err != nil {
		return err
	}
	r.Owner, r.StartedAt = owner, &now
	return nil
}

// End ends a run: exit code 0 is Success, ExitCancelled is Cancelled, any other is Failed. It fails with ErrMove for one that has ended.
func (r *Run) End(exit int, now time.Time) error {
	to := RunFailed
	switch {
	case r.Status.Final():
		return ErrMove.WithMessage("the run %s has ended (%s)", r.Short(), r.Status)
	case exit == 0:
		to = RunSuccess
	case exit == ExitCancelled:
		to = RunCancelled
	}
	if err := r.move(to); err != nil {
		return err
	}
	r.ExitCode, r.FinishedAt = &exit, &now
	return nil
}

// Cancel ends a run that waits, and has one that is carried out stop. It reports whether the run ended by it. It fails with ErrMove for one that
// has ended.
func (r *Run) Cancel(now time.Time) (bool, error) {
	switch r.Status {
	case RunQueued, RunPaused:
		return true, r.End(ExitCancelled, now)
	case RunRunning:
		r.Stopping = true
		return false, nil
	}
	return false, ErrMove.WithMessage("the run %s has ended (%s)", r.Short(), r.Status)
}

// Interrupt ends a run whose process is gone.
func (r *Run) Interrupt(now time.Time) error {
	r.Code, r.Error = "eco_interrupted", "interrupted: its process stopped, and its changes are incomplete; the next call about the ecosystem recovers them"
	return r.End(1, now)
}

func (r *Run) move(to RunStatus) error {
	if !r.Status.Reaches(to) {
		return ErrMove.WithMessage("the run %s is %s and cannot become %s", r.Short(), r.Status, to)
	}
	r.Status = to
	return nil
}

// Duration returns how long a run took, or has taken so far.
func (r Run) Duration(now time.Time) time.Duration {
	switch {
	case r.StartedAt == nil:
		return 0
	case r.FinishedAt != nil:
		now = *r.FinishedAt
	}
	return max(now.Sub(*r.StartedAt), 0)
}

// CompareAge orders runs by when they were asked for, the id deciding between equals: the first of those that wait is next.
func CompareAge(a, b Run) int {
	if c := a.CreatedAt.Compare(b.CreatedAt); c != 0 {
		return c
	}
	return strings.Compare(a.ID, b.ID)
}

// QueuePosition returns the place of a run among those of its ecosystem that wait or run, counted from 1; zero when it is none of them.
func QueuePosition(of string, open []Run) int {
	mine := slices.IndexFunc(open, func(r Run) bool { return r.ID == of })
	if mine < 0 {
		return 0
	}
	n := 0
	for _, r := range open {
		if r.Ecosystem == open[mine].Ecosystem && r.Root == open[mine].Root && !r.Status.Final() && CompareAge(r, open[mine]) <= 0 {
			n++
		}
	}
	return n
}

// RunEvent is one thing that happened in a run. The types are log, state, exit and lifecycle_action_queued, …_started, …_completed, …_failed.
type RunEvent struct {
	Number    int64           `json:"seq"` // from 1, rising by one
	Timestamp time.Time       `json:"timestamp"`
	Level     string          `json:"level"` // info, warning or error
	Type      string          `json:"type"`
	Message   string          `json:"message"`
	RunID     string          `json:"run_id"`
	Payload   json.RawMessage `json:"payload,omitempty"`
}

// RunFilter chooses runs, newest first. Zero fields match everything.
type RunFilter struct {
	Root      string // only those of that workspace
	Ecosystem string
	Action    string
	Statuses  []RunStatus
	Limit     int // zero is Kept
}

// Matches reports whether the filter chooses the run, its limit aside.
func (f RunFilter) Matches(r Run) bool {
	return (f.Root == "" || f.Root == r.Root) && (f.Ecosystem == "" || f.Ecosystem == r.Ecosystem) && (f.Action == "" || f.Action == r.Action) &&
		(len(f.Statuses) == 0 || slices.Contains(f.Statuses, r.Status))
}
