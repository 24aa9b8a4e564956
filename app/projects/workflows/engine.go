package workflows

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/app/projects/runner"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/process"
	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports"
	"github.com/countersign-dev/countersign/ports/projectport"
)

// How much of a step's output is kept in the history, and of a run's in its answer.
const (
	stepLines    = 200
	summaryLines = 50
	shownLines   = 10
)

// Step is one prepared step: a command with everything that starting it takes, or the steps of a child workflow.
type Step struct {
	Step    project.ExpandedStep
	Command string                      // of a script, as it is shown
	Spec    process.Spec                // of a script
	Steps   []Step                      // of a trigger
	Still   func(context.Context) error // of a script: fails when it would not do any more what was confirmed; nil never does
}

// Engine runs. Every field is required.
type Engine struct {
	Runner     runner.Runner
	Executions projectport.Executions
	Clock      ports.Clock
	Owner      ports.Owner
	Mask       runner.RedactFunc // replaces secrets in what is stored
}

// RunResult is what came of a run (packageflow contract §2.6, row 21).
type RunResult struct {
	Success       bool        `json:"success"`
	ExecutionID   string      `json:"executionId"`
	WorkflowID    string      `json:"workflowId"`
	WorkflowName  string      `json:"workflowName"`
	StepsExecuted int         `json:"stepsExecuted"`
	TotalSteps    int         `json:"totalSteps"`
	Status        string      `json:"status"` // completed, partial, failed, cancelled
	FailedStep    *FailedStep `json:"failedStep,omitempty"`
	Summary       []string    `json:"outputSummary"`
}

// FailedStep is the step a run ended with.
type FailedStep struct {
	NodeID   string `json:"nodeId"`
	NodeName string `json:"nodeName"`
	ExitCode *int   `json:"exitCode,omitempty"`
	Message  string `json:"errorMessage"`
}

// run is one run on its way.
type run struct {
	engine   Engine
	scope    tool.Scope
	id       string
	total    int
	executed int // steps that have begun
	at       int // number of the step in the flat list
	failed   *FailedStep
	later    []deferred
}

// deferred is a child that nobody waits for: it runs when the workflow's own steps have.
type deferred struct {
	steps []Step
	by    int // number of the step that starts it
	at    int // of its own first one
}

// Run runs the steps in order, until one fails or ctx ends, at most workflow.MaxRunTime long. e is the execution to write, running and
// with its steps pending. It fails with project.ErrExecutionFailed, ErrExecutionTimeout or ErrCancelled, whose details are the Outcome;
// the history has it either way.
func (g Engine) Run(ctx context.Context, sc tool.Scope, e project.Execution, steps []Step) (RunResult, error) {
	e.Owner = g.Owner.Self()
	e.Name = g.Mask.Text(e.Name)
	for i := range e.Steps {
		e.Steps[i].Name = g.Mask.Text(e.Steps[i].Name)
	}
	if err := g.Executions.Create(ctx, e); err != nil {
		return RunResult{}, err
	}
	r := &run{engine: g, scope: sc, id: e.ID, total: len(e.Steps)}
	limited, cancel := context.WithTimeout(ctx, project.MaxRunTime)
	defer cancel()
	err := r.steps(limited, steps)
	for err == nil && len(r.later) > 0 {
		next := r.later[0]
		r.later = r.later[1:]
		err = r.unawaited(limited, next)
	}
	return r.end(context.WithoutCancel(ctx), e, err)
}

// unawaited runs a child that nobody waited for. What becomes of it stands at the step that started it, and fails nothing.
func (r *run) unawaited(ctx context.Context, d deferred) error {
	r.at = d.at
	err := r.steps(ctx, d.steps)
	if err == nil || ctx.Err() != nil {
		return err
	}
	r.failed = nil
	return r.change(ctx, func(e *project.Execution) {
		e.Steps[d.by].Error = r.engine.Mask.Text("nobody waited for the workflow it started, which failed: " + fault.From(err).Message)
	})
}

// steps runs one workflow's steps. The error is that of the first that failed.
func (r *run) steps(ctx context.Context, steps []Step) error {
	for _, s := range steps {
		at := r.at
		r.at++
		if err := over(ctx); err != nil {
			return err
		}
		r.scope.Progress(tool.Progress{Done: int64(r.executed), Total: int64(r.total), Message: fmt.Sprintf("step %d of %d: %s", at+1, r.total, s.Step.Node.Name)})
		r.executed++
		var err error
		if s.Step.Child == nil {
			err = r.script(ctx, at, s)
		} else {
			err = r.child(ctx, at, s)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// over is why nothing more is begun, if so.
func over(ctx context.Context) error {
	switch err := ctx.Err(); {
	case errors.Is(err, context.DeadlineExceeded):
		return project.ErrExecutionTimeout.Sayf("it ran longer than the %v a workflow may", project.MaxRunTime)
	case err != nil:
		return project.ErrCancelled.Sayf("it was cancelled").Because(err)
	}
	return nil
}

// child runs the workflow that a step starts.
func (r *run) child(ctx context.Context, at int, s Step) error {
	size, started := flatSize(s.Steps), r.engine.Clock.Now()
	if !s.Step.Node.Config.Waits() {
		r.later = append(r.later, deferred{steps: s.Steps, by: at, at: r.at})
		r.at += size
		return r.note(ctx, at, project.StepCompleted, "")
	}
	if err := r.note(ctx, at, project.StepRunning, ""); err != nil {
		return err
	}
	after := r.at + size
	err := r.steps(ctx, s.Steps)
	r.at = after
	writing := r.change(ctx, func(e *project.Execution) {
		step := &e.Steps[at]
		step.Status, step.DurationMS = project.StepCompleted, r.engine.Clock.Now().Sub(started).Milliseconds()
		if err != nil {
			step.Status, step.Error = project.StepFailed, r.engine.Mask.Text(fault.From(err).Message)
		}
	})
	switch {
	case writing != nil:
		return writing
	case err != nil && s.Step.Node.Config.OnChildFailure == "continue" && ctx.Err() == nil:
		r.failed = nil
		return nil
	}
	return err
}

// script runs one command and waits for it.
func (r *run) script(ctx context.Context, at int, s Step) error {
	node := s.Step.Node
	node.Name = r.engine.Mask.Text(node.Name)
	started := r.engine.Clock.Now()
	line := fmt.Sprintf("[RUN] %s: %s (timeout: %ds)", node.Name, s.Command, int(s.Spec.Timeout.Seconds()))
	if err := r.begin(ctx, at, node, line, started); err != nil {
		return err
	}
	var id process.ID
	var result process.Result
	var err error
	if s.Still != nil { // a step before it may have put something else in its place
		err = s.Still(ctx)
	}
	if err == nil {
		result, err = r.engine.Runner.Processes.Run(ctx, s.Spec, func(st process.State) {
			id = st.ID
			r.change(ctx, func(e *project.Execution) { e.Steps[at].ProcessID = string(st.ID) }) //nolint:errcheck // it only helps those who look on
		})
	}
	end := ending{node: node, took: r.engine.Clock.Now().Sub(started)}
	switch {
	case err != nil:
		end.message = fault.From(err).Message
	case result.OK():
		code := 0
		end.code = &code
	default:
		end.code, end.message = &result.Exit.Code, describe(result, s.Spec.Timeout)
	}
	end.lines, end.dropped = r.lines(ctx, id, node)
	if writing := r.finish(ctx, at, end); writing != nil {
		return writing
	}
	if end.message == "" {
		return nil
	}
	r.failed = &FailedStep{NodeID: node.ID, NodeName: node.Name, ExitCode: end.code, Message: end.message}
	why := project.ErrExecutionFailed
	switch over := over(ctx); {
	case result.Status == process.TimedOut, errors.Is(over, project.ErrExecutionTimeout):
		why = project.ErrExecutionTimeout
	case over != nil:
		why = project.ErrCancelled
	}
	return why.Sayf("step %s: %s", node.Name, end.message)
}

func describe(r process.Result, timeout time.Duration) string {
	switch {
	case r.Status == process.TimedOut:
		return fmt.Sprintf("it ran longer than its %v and was stopped", timeout)
	case r.Status == process.Stopped:
		return "it was cancelled and stopped"
	case r.Exit.Signal != "":
		return "it was ended by signal " + r.Exit.Signal
	}
	return fmt.Sprintf("exit code %d", r.Exit.Code)
}

// lines returns the newest output of a step, masked as it was stored, and how many lines there were before it.
func (r *run) lines(ctx context.Context, id process.ID, node project.Node) (newest []project.OutputLine, dropped int64) {
	if id == "" {
		return nil, 0
	}
	chunk, err := r.engine.Runner.Processes.Output(context.WithoutCancel(ctx), id, process.TailCursor(stepLines))
	if err != nil {
		return nil, 0
	}
	out := make([]project.OutputLine, 0, len(chunk.Lines))
	for _, l := range chunk.Lines {
		stream := "stdout"
		if l.Stream == process.Stderr {
			stream = "stderr"
		}
		out = append(out, project.OutputLine{NodeID: node.ID, Node: node.Name, Stream: stream, Content: l.Text})
	}
	return out, chunk.Total - int64(len(out))
}

// ending is how a step ended.
type ending struct {
	node    project.Node
	code    *int
	message string
	took    time.Duration
	lines   []project.OutputLine
	dropped int64 // lines before those
}

func (r *run) begin(ctx context.Context, at int, node project.Node, line string, now time.Time) error {
	return r.change(ctx, func(e *project.Execution) {
		e.Steps[at].Status = project.StepRunning
		e.Add(project.OutputLine{NodeID: node.ID, Node: node.Name, Stream: "system", Content: r.engine.Mask.Text(line), At: now})
	})
}

func (r *run) finish(ctx context.Context, at int, end ending) error {
	now, message := r.engine.Clock.Now(), r.engine.Mask.Text(end.message)
	return r.change(ctx, func(e *project.Execution) {
		s := &e.Steps[at]
		s.Status, s.ExitCode, s.Error, s.DurationMS = project.StepCompleted, end.code, message, end.took.Milliseconds()
		word := "[OK] " + end.node.Name
		if end.message != "" {
			s.Status, word = project.StepFailed, "[FAIL] "+end.node.Name+": "+message
		}
		e.Dropped += end.dropped
		for _, l := range end.lines {
			l.At = now
			e.Add(l)
		}
		e.Add(project.OutputLine{NodeID: end.node.ID, Node: end.node.Name, Stream: "system", Content: word, At: now})
	})
}

func (r *run) note(ctx context.Context, at int, to project.StepStatus, message string) error {
	return r.change(ctx, func(e *project.Execution) { e.Steps[at].Status, e.Steps[at].Error = to, message })
}

// change writes to the history, whether or not the run is cancelled: how far it came is told either way.
func (r *run) change(ctx context.Context, f func(*project.Execution)) error {
	_, err := r.engine.Executions.Update(context.WithoutCancel(ctx), r.id, func(e *project.Execution) error {
		f(e)
		return nil
	})
	return err
}

// end settles the history and answers.
func (r *run) end(ctx context.Context, e project.Execution, err error) (RunResult, error) {
	now := r.engine.Clock.Now()
	status, reason, message := project.Completed, "", ""
	if err != nil {
		status, reason, message = project.Failed, "error", r.engine.Mask.Text(fault.From(err).Message)
		switch {
		case errors.Is(err, project.ErrExecutionTimeout):
			status, reason = project.TimedOut, "timeout"
		case errors.Is(err, project.ErrCancelled):
			status, reason = project.Cancelled, "cancelled"
		case r.failed != nil && r.failed.ExitCode != nil:
			reason = "non_zero_exit"
		}
	}
	saved, writing := r.engine.Executions.Update(ctx, e.ID, func(x *project.Execution) error {
		for i := range x.Steps {
			if x.Steps[i].Status == project.StepPending {
				x.Steps[i].Status = project.StepSkipped
			}
		}
		return x.End(status, reason, message, now)
	})
	if writing != nil {
		return RunResult{}, errors.Join(writing, err)
	}
	o := RunResult{Success: err == nil, ExecutionID: e.ID, WorkflowID: e.WorkflowID, WorkflowName: e.Name, StepsExecuted: r.executed, TotalSteps: r.total,
		Status: string(status), FailedStep: r.failed, Summary: summary(saved)}
	if err == nil {
		r.scope.Progress(tool.Progress{Done: int64(r.total), Total: int64(r.total), Message: "workflow " + e.Name + " is done"})
		return o, nil
	}
	if status == project.Failed && r.executed > 1 {
		o.Status = "partial"
	}
	base := project.ErrExecutionFailed
	switch status {
	case project.TimedOut:
		base = project.ErrExecutionTimeout
	case project.Cancelled:
		base = project.ErrCancelled
	}
	return o, base.Sayf("workflow %s: %s", e.Name, message).With(o)
}

// summary returns the last lines of a run, of each step's output only the last few.
func summary(e project.Execution) []string {
	var out []string
	shown := 0
	for _, l := range slices.Backward(e.Output) {
		if l.Stream == "system" {
			shown = 0
			out = append(out, l.Content)
		} else if shown++; shown <= shownLines {
			out = append(out, "  > "+strings.TrimRight(l.Content, " \t"))
		}
		if len(out) == summaryLines {
			break
		}
	}
	slices.Reverse(out)
	return out
}

// flatSize returns how many steps there are, those of children counted.
func flatSize(steps []Step) int {
	n := 0
	for _, s := range steps {
		n += 1 + flatSize(s.Steps)
	}
	return n
}
