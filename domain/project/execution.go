package project

import (
	"encoding/json"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/countersign-dev/countersign/domain/fault"
)

// What is kept (packageflow contract §1.4 and §1.8).
const (
	MaxOutputLines  = 500  // lines per execution
	MaxLineBytes    = 2048 // bytes per kept line
	maxPerWorkflow  = 50   // executions per workflow, unless the workflow says otherwise
	MaxRows         = 1000 // executions in all
	RetentionDays   = 30
	DefaultListSize = 20
	MaxListSize     = 200
)

// Kind is what was executed.
type Kind string

// The kinds; they are the action types of the contract.
const (
	KindScript   Kind = "script"
	KindWebhook  Kind = "webhook"
	KindWorkflow Kind = "workflow"
)

// Known reports whether k is one of the three.
func (k Kind) Known() bool { return k == KindScript || k == KindWebhook || k == KindWorkflow }

// Status is the status of an execution.
type Status string

// The statuses. All but Queued and Running are final.
const (
	Queued    Status = "queued"
	Running   Status = "running"
	Completed Status = "completed"
	Failed    Status = "failed"
	Cancelled Status = "cancelled"
	TimedOut  Status = "timed_out"
)

// Known reports whether s is one of the six.
func (s Status) Known() bool {
	return slices.Contains([]Status{Queued, Running, Completed, Failed, Cancelled, TimedOut}, s)
}

// Final reports whether the status cannot change any more.
func (s Status) Final() bool { return s.Known() && s != Queued && s != Running }

// ErrTransition is returned for a status change that the state machine does not allow.
var ErrTransition = fault.New(fault.State, "execution_state_invalid", "the execution is not in a state that allows this")

// Execution is one row of the history. Arguments, results and output are stored masked.
type Execution struct {
	ID           string          `json:"id"` // "exec-<uuid4>"
	Kind         Kind            `json:"actionType"`
	ActionID     string          `json:"actionId,omitempty"`
	WorkflowID   string          `json:"workflowId,omitempty"`
	ProjectID    string          `json:"projectId,omitempty"`
	Name         string          `json:"actionName"`
	SourceClient string          `json:"sourceClient,omitempty"`
	TriggeredBy  string          `json:"triggeredBy,omitempty"` // "mcp", "cli", "webhook", …
	CallID       string          `json:"callId,omitempty"`
	Parameters   json.RawMessage `json:"parameters,omitempty"`
	Status       Status          `json:"status"`
	Reason       string          `json:"reason,omitempty"` // "timeout", "cancelled", "interrupted", "non_zero_exit", "error"
	Result       json.RawMessage `json:"result,omitempty"`
	Error        string          `json:"errorMessage,omitempty"`
	Owner        string          `json:"-"` // identity of the process that runs it
	Steps        []ExecutionStep `json:"steps,omitempty"`
	Output       []OutputLine    `json:"output,omitempty"`
	Dropped      int64           `json:"outputDropped,omitempty"` // number of lines that were dropped
	StartedAt    time.Time       `json:"startedAt"`
	CompletedAt  time.Time       `json:"completedAt,omitzero"`
	DurationMS   int64           `json:"durationMs"`
}

// ExecutionStep is the progress of one node of a workflow.
type ExecutionStep struct {
	NodeID     string     `json:"nodeId"`
	Name       string     `json:"nodeName"`
	Depth      int        `json:"depth"` // 0 for the workflow's own nodes
	Status     StepStatus `json:"status"`
	ExitCode   *int       `json:"exitCode,omitempty"`
	Error      string     `json:"errorMessage,omitempty"`
	Reason     string     `json:"reason,omitempty"` // of one that was skipped without a failure: "unchanged"
	Tries      int        `json:"tries,omitempty"`  // number of starts, if more than one
	ProcessID  string     `json:"processId,omitempty"`
	DurationMS int64      `json:"durationMs"`
}

// StepStatus is the status of a step.
type StepStatus string

// The statuses of a step.
const (
	StepPending   StepStatus = "pending"
	StepRunning   StepStatus = "running"
	StepCompleted StepStatus = "completed"
	StepFailed    StepStatus = "failed"
	StepSkipped   StepStatus = "skipped"
)

// OutputLine is a line of kept output.
type OutputLine struct {
	NodeID  string    `json:"nodeId,omitempty"`
	Node    string    `json:"nodeName,omitempty"`
	Stream  string    `json:"stream"` // stdout, stderr or system
	Content string    `json:"content"`
	At      time.Time `json:"timestamp"`
}

// Add keeps lines, dropping the oldest beyond MaxOutputLines and the part of a line beyond MaxLineBytes.
func (e *Execution) Add(lines ...OutputLine) {
	if over := len(lines) - MaxOutputLines; over > 0 {
		lines, e.Dropped = lines[over:], e.Dropped+int64(over)
	}
	for _, l := range lines {
		l.Content = short(l.Content)
		e.Output = append(e.Output, l)
	}
	if over := len(e.Output) - MaxOutputLines; over > 0 { // cut, not copied: a script may print a million lines, one by one
		e.Output, e.Dropped = e.Output[over:], e.Dropped+int64(over)
	}
}

// short cuts a line where a character begins. In text that is not UTF-8 there may be no such position nearby.
func short(line string) string {
	if len(line) <= MaxLineBytes {
		return line
	}
	cut := MaxLineBytes
	for cut > MaxLineBytes-utf8.UTFMax && !utf8.RuneStart(line[cut]) {
		cut--
	}
	return line[:cut] + "…"
}

// End sets the final status of the execution. A final one stays unchanged, with ErrTransition.
func (e *Execution) End(to Status, reason, message string, now time.Time) error {
	if !e.Status.Known() || e.Status.Final() || !to.Final() {
		return ErrTransition.WithMessage("execution %s is %s and cannot become %s", e.ID, e.Status, to)
	}
	e.Status, e.Reason, e.Error, e.CompletedAt, e.DurationMS = to, reason, message, now, max(now.Sub(e.StartedAt).Milliseconds(), 0)
	return nil
}

// Interrupt ends an execution whose owner is gone: failed, naming the step that was running. It reports whether that changed it.
func (e *Execution) Interrupt(now time.Time) bool {
	if e.Status != Queued && e.Status != Running {
		return false
	}
	message := "the process that ran it ended first"
	for i := range e.Steps {
		switch s := &e.Steps[i]; s.Status {
		case StepRunning:
			s.Status, s.Error = StepFailed, "interrupted"
			message += "; step " + s.Name + " was running"
		case StepPending:
			s.Status = StepSkipped
		}
	}
	return e.End(Failed, "interrupted", message, now) == nil
}

// ExecutionFilter selects executions. Zero fields match everything.
type ExecutionFilter struct {
	ActionID   string
	WorkflowID string
	Kind       Kind
	Status     Status
	Limit      int // 1 to MaxListSize; 0 is DefaultListSize
}

// Most returns the limit within its bounds.
func (f ExecutionFilter) Most() int {
	if f.Limit < 1 {
		return DefaultListSize
	}
	return min(f.Limit, MaxListSize)
}

// Matches reports whether the filter selects the execution, ignoring its limit.
func (f ExecutionFilter) Matches(e Execution) bool {
	return (f.ActionID == "" || f.ActionID == e.ActionID) && (f.WorkflowID == "" || f.WorkflowID == e.WorkflowID) &&
		(f.Kind == "" || f.Kind == e.Kind) && (f.Status == "" || f.Status == e.Status)
}
