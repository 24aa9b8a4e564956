package workflows

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/countersign-dev/countersign/app/projects/runner"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/process"
	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports"
	"github.com/countersign-dev/countersign/ports/projectport"
)

// How much of a step's output is kept in the execution, and of the whole output in the result.
const (
	stepLines    = 200 // of the output of a step that its execution keeps
	stepHead     = 50  // of these the first
	summaryLines = 50
	shownLines   = 10
)

// leftOut is the beginning of the line that says how much of a step's output was omitted.
const leftOut = "… "

// maxParallel is how many commands of one execution run at a time: fewer than the limit of a Countersign process, so that other calls can run.
const maxParallel = 3

// Step is one prepared step: a command with everything needed to start it, or the steps of a child workflow.
type Step struct {
	Step    project.ExpandedStep
	Command string                                    // of a script, for display
	Spec    process.Spec                              // of a script
	Steps   []Step                                    // of a trigger
	Still   func(context.Context) error               // of a script: fails if it would no longer do what was approved; nil never does
	Again   func(context.Context) error               // Still for a retry
	Files   func(context.Context) (inputFiles, error) // of a script with input files; nil without
	at      int                                       // its number in the flat list
}

// inputFiles is the state of a step's input files before it runs.
type inputFiles struct {
	unchanged bool                        // since it last succeeded
	keep      func(context.Context) error // records that it succeeded with them
}

// Engine runs workflows. Every field is required.
type Engine struct {
	Runner     runner.Runner
	Executions projectport.Executions
	Clock      ports.Clock
	Owner      ports.ProcessIdentity
	Mask       runner.RedactFunc // replaces secrets in what is stored
}

// RunResult is the result of an execution (packageflow contract §2.6, row 21).
type RunResult struct {
	Success       bool        `json:"success"`
	ExecutionID   string      `json:"executionId"`
	WorkflowID    string      `json:"workflowId"`
	WorkflowName  string      `json:"workflowName"`
	StepsExecuted int         `json:"stepsExecuted"`
	TotalSteps    int         `json:"totalSteps"`
	StepsSkipped  int         `json:"stepsSkipped,omitempty"` // those that did not have to run, and those that were not reached
	Status        string      `json:"status"`                 // completed, partial, failed, cancelled
	FailedStep    *FailedStep `json:"failedStep,omitempty"`
	Summary       []string    `json:"outputSummary"`
}

// FailedStep is the step that ended an execution.
type FailedStep struct {
	NodeID   string `json:"nodeId"`
	NodeName string `json:"nodeName"`
	ExitCode *int   `json:"exitCode,omitempty"`
	Message  string `json:"errorMessage"`
}

// run is one execution in progress.
type run struct {
	engine Engine
	scope  tool.Scope
	id     string
	total  int
	slots  chan struct{} // one for each command that may run

	one      chan struct{} // locks the fields below, because steps may run concurrently
	executed int           // started steps
	later    []Step        // triggers whose children run after the workflow's own steps, because they are not waited for
}

// Run runs the steps, each after its dependencies have succeeded, until one fails or ctx ends, for at most project.MaxRunTime. e is the execution to
// write, running and with its steps pending. It fails with project.ErrExecutionFailed, ErrExecutionTimeout or ErrCancelled, whose details are the
// RunResult; the execution is stored either way.
func (g Engine) Run(ctx context.Context, sc tool.Scope, e project.Execution, steps []Step) (RunResult, error) {
	e.Owner = g.Owner.Self()
	e.Name = g.Mask.Text(e.Name)
	for i := range e.Steps {
		e.Steps[i].Name = g.Mask.Text(e.Steps[i].Name)
	}
	if err := g.Executions.Create(ctx, e); err != nil {
		return RunResult{}, err
	}
	number(steps, 0)
	r := &run{engine: g, scope: sc, id: e.ID, total: len(e.Steps), slots: make(chan struct{}, maxParallel), one: make(chan struct{}, 1)}
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

// number numbers the steps in the order of the flat list, and returns the number after the last.
func number(steps []Step, next int) int {
	for i := range steps {
		steps[i].at = next
		next = number(steps[i].Steps, next+1)
	}
	return next
}

// unawaited runs a child that is not waited for. Its result is noted at the step that started it, and fails nothing.
func (r *run) unawaited(ctx context.Context, s Step) error {
	err := r.steps(ctx, s.Steps)
	if err == nil || ctx.Err() != nil {
		return err
	}
	return r.change(ctx, func(e *project.Execution) {
		e.Steps[s.at].Error = r.engine.Mask.Text("the workflow that it started without waiting failed: " + fault.From(err).Message)
	})
}

// steps runs one workflow's steps: one after the other, or concurrently if they name their dependencies. The error is that of the first that failed.
func (r *run) steps(ctx context.Context, steps []Step) error {
	if slices.ContainsFunc(steps, func(s Step) bool { return s.Step.Node.Config.Needs != nil }) {
		return r.beside(ctx, steps)
	}
	for _, s := range steps {
		if err := r.step(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// errBeside is the reason for stopping a step that ran with one that failed.
var errBeside = errors.New("it was stopped because a step beside it failed")

// beside runs each step as soon as its dependencies have succeeded. When one fails, the running ones are stopped.
func (r *run) beside(ctx context.Context, steps []Step) error {
	inner, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var all errgroup.Group
	failed := make(chan error, 1)                                                // the first
	ended, done := map[string]chan struct{}{}, make([]chan struct{}, len(steps)) // closed once a step has succeeded
	for i, s := range steps {
		done[i] = make(chan struct{})
		needs := slices.Clone(done[:i])
		if names := s.Step.Node.Config.Needs; names != nil {
			needs = nil
			for _, id := range names {
				needs = append(needs, ended[id])
			}
		}
		ended[s.Step.Node.ID] = done[i]
		all.Go(func() error {
			for _, need := range needs {
				select {
				case <-need:
				case <-inner.Done():
					return nil
				}
			}
			if inner.Err() != nil {
				return nil
			}
			if err := r.step(inner, s); err != nil {
				select {
				case failed <- err:
				default:
				}
				stop(errBeside)
				return nil
			}
			close(done[i])
			return nil
		})
	}
	_ = all.Wait() // the first failure is the one that was recorded first
	select {
	case err := <-failed:
		return err
	default:
		return over(ctx)
	}
}

func (r *run) step(ctx context.Context, s Step) error {
	if err := over(ctx); err != nil {
		return err
	}
	if s.Step.Child != nil {
		return r.child(ctx, s)
	}
	select {
	case r.slots <- struct{}{}:
	case <-ctx.Done():
		return over(ctx)
	}
	defer func() { <-r.slots }()
	return r.script(ctx, s)
}

// tell reports that a step has begun.
func (r *run) tell(s Step, what string) {
	r.one <- struct{}{}
	defer func() { <-r.one }()
	r.scope.Progress(tool.Progress{Done: int64(r.executed), Total: int64(r.total), Message: fmt.Sprintf("step %d of %d: %s", s.at+1, r.total, s.Step.Node.Name) + what})
	r.executed++
}

// over returns why no further step may start, if so.
func over(ctx context.Context) error {
	switch err := ctx.Err(); {
	case errors.Is(err, context.DeadlineExceeded):
		return project.ErrExecutionTimeout.WithMessage("it ran longer than the %v a workflow may", project.MaxRunTime)
	case err != nil:
		return project.ErrCancelled.WithMessage("it was cancelled").WithCause(err)
	}
	return nil
}

// child runs the workflow that a step starts.
func (r *run) child(ctx context.Context, s Step) error {
	r.tell(s, "")
	started := r.engine.Clock.Now()
	if !s.Step.Node.Config.Waits() {
		r.one <- struct{}{}
		r.later = append(r.later, s)
		<-r.one
		return r.note(ctx, s.at, project.StepCompleted, "")
	}
	if err := r.note(ctx, s.at, project.StepRunning, ""); err != nil {
		return err
	}
	err := r.steps(ctx, s.Steps)
	writing := r.change(ctx, func(e *project.Execution) {
		step := &e.Steps[s.at]
		step.Status, step.DurationMS = project.StepCompleted, r.engine.Clock.Now().Sub(started).Milliseconds()
		if err != nil {
			step.Status, step.Error = project.StepFailed, r.engine.Mask.Text(fault.From(err).Message)
		}
	})
	switch {
	case writing != nil:
		return writing
	case err != nil && s.Step.Node.Config.OnChildFailure == "continue" && ctx.Err() == nil:
		return nil
	}
	return err
}

// script runs one command and waits for it, and retries it after a failure if configured.
func (r *run) script(ctx context.Context, s Step) error {
	node, config := s.Step.Node, s.Step.Node.Config
	node.Name = r.engine.Mask.Text(node.Name)
	var files inputFiles
	if s.Files != nil {
		var err error
		if files, err = s.Files(ctx); err != nil {
			return r.failed(ctx, s, node, try{err: err}, 1, 0)
		}
		if files.unchanged {
			r.tell(s, " is skipped: its input files are unchanged")
			return r.skip(ctx, s.at, node)
		}
	}
	r.tell(s, "")
	started := r.engine.Clock.Now()
	line := fmt.Sprintf("[RUN] %s: %s (timeout: %ds)", node.Name, s.Command, int(s.Spec.Timeout.Seconds()))
	if err := r.begin(ctx, s.at, node, line, started); err != nil {
		return err
	}
	still := s.Still // a step before it may have replaced it
	for n := 1; ; n++ {
		once := r.try(ctx, s, node, still)
		switch {
		case once.ok():
			end := ending{node: node, took: r.engine.Clock.Now().Sub(started), tries: n, code: new(int), lines: once.lines, dropped: once.dropped}
			if err := r.finish(ctx, s.at, end); err != nil || files.keep == nil {
				return err
			}
			return files.keep(context.WithoutCancel(ctx))
		case once.err != nil || n > config.Retry || ctx.Err() != nil:
			return r.failed(ctx, s, node, once, n, r.engine.Clock.Now().Sub(started))
		}
		if err := r.again(ctx, s, node, once, n); err != nil {
			return err
		}
		still = s.Again
	}
}

// try is the result of one start of a command.
type try struct {
	result  process.Result
	err     error // it was not started
	lines   []project.OutputLine
	dropped int64 // lines before those
}

func (t try) ok() bool { return t.err == nil && t.result.OK() }

func (r *run) try(ctx context.Context, s Step, node project.Node, still func(context.Context) error) (t try) {
	if still != nil {
		if t.err = still(ctx); t.err != nil {
			return t
		}
	}
	var id process.ID
	t.result, t.err = r.engine.Runner.Processes.Run(ctx, s.Spec, func(st process.State) {
		id = st.ID
		r.change(ctx, func(e *project.Execution) { e.Steps[s.at].ProcessID = string(st.ID) }) //nolint:errcheck // only for readers during the execution
		r.one <- struct{}{}
		defer func() { <-r.one }()
		r.scope.Progress(tool.Progress{Done: int64(r.executed - 1), Total: int64(r.total), Message: fmt.Sprintf("step %s runs as %s (pid %d)", node.Name, st.ID, st.PID)})
	})
	t.lines, t.dropped = r.lines(ctx, id, node)
	return t
}

// again records a failed try, and waits before the next one.
func (r *run) again(ctx context.Context, s Step, node project.Node, t try, n int) error {
	config := s.Step.Node.Config
	line := fmt.Sprintf("[RETRY] %s: %s; try %d of %d in %v", node.Name, describe(t.result, s.Spec.Timeout), n+1, config.Retry+1, config.RetryDelay())
	now := r.engine.Clock.Now()
	if err := r.change(ctx, func(e *project.Execution) {
		e.Dropped += t.dropped
		for _, l := range t.lines {
			l.At = now
			e.Add(l)
		}
		e.Steps[s.at].ProcessID = ""
		e.Add(project.OutputLine{NodeID: node.ID, Node: node.Name, Stream: "system", Content: r.engine.Mask.Text(line), At: now})
	}); err != nil {
		return err
	}
	pause, end := context.WithTimeout(ctx, config.RetryDelay())
	defer end()
	<-pause.Done() // if ctx ended, too, the next try reports it
	return nil
}

// failed records a failed step, and returns the reason.
func (r *run) failed(ctx context.Context, s Step, node project.Node, t try, n int, took time.Duration) error {
	end := ending{node: node, took: took, tries: n, lines: t.lines, dropped: t.dropped}
	if t.err != nil {
		end.message = fault.From(t.err).Message
	} else {
		end.code, end.message = &t.result.Exit.Code, describe(t.result, s.Spec.Timeout)
	}
	if errors.Is(context.Cause(ctx), errBeside) {
		end.message = errBeside.Error()
	}
	if writing := r.finish(ctx, s.at, end); writing != nil {
		return writing
	}
	why := project.ErrExecutionFailed
	switch over := over(ctx); {
	case t.result.Status == process.TimedOut, errors.Is(over, project.ErrExecutionTimeout):
		why = project.ErrExecutionTimeout
	case over != nil:
		why = project.ErrCancelled
	}
	return why.WithMessage("step %s: %s", node.Name, end.message).WithDetails(FailedStep{NodeID: node.ID, NodeName: node.Name, ExitCode: end.code, Message: end.message})
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

// lines returns the output of a step, masked when it was stored: of a long one the beginning and the end, with a line between that says how much was
// omitted.
func (r *run) lines(ctx context.Context, id process.ID, node project.Node) (kept []project.OutputLine, dropped int64) {
	if id == "" {
		return nil, 0
	}
	ctx = context.WithoutCancel(ctx)
	tail, err := r.engine.Runner.Processes.Output(ctx, id, process.TailCursor(stepLines))
	if err != nil {
		return nil, 0
	}
	add := func(lines []process.Line) {
		for _, l := range lines {
			stream := "stdout"
			if l.Stream == process.Stderr {
				stream = "stderr"
			}
			kept = append(kept, project.OutputLine{NodeID: node.ID, Node: node.Name, Stream: stream, Content: l.Text})
		}
	}
	if dropped = tail.Total - int64(len(tail.Lines)); dropped <= 0 {
		add(tail.Lines)
		return kept, 0
	}
	rest := tail.Lines
	if head, err := r.engine.Runner.Processes.Output(ctx, id, 0); err == nil && head.Dropped == 0 { // otherwise the first lines are no longer kept
		first := head.Lines[:min(len(head.Lines), stepHead)]
		add(first)
		if dropped > 0 && len(rest) > len(first) { // together they are no more than before
			rest = rest[len(first):]
		}
		dropped = tail.Total - int64(len(first)+len(rest))
	}
	kept = append(kept, project.OutputLine{NodeID: node.ID, Node: node.Name, Stream: "system", Content: fmt.Sprintf(leftOut+"%s left out here", project.Counted(int(dropped), "line"))})
	add(rest)
	return kept, dropped
}

// ending is the end of a step.
type ending struct {
	node    project.Node
	code    *int
	message string
	tries   int
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
		if end.tries > 1 {
			s.Tries = end.tries
		}
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

// skip records a step that has nothing to do.
func (r *run) skip(ctx context.Context, at int, node project.Node) error {
	r.one <- struct{}{}
	r.executed-- // it was only examined
	<-r.one
	return r.change(ctx, func(e *project.Execution) {
		e.Steps[at].Status, e.Steps[at].Reason = project.StepSkipped, "unchanged"
		e.Add(project.OutputLine{NodeID: node.ID, Node: node.Name, Stream: "system", Content: "[SKIP] " + node.Name + ": its input files are unchanged since it last succeeded", At: r.engine.Clock.Now()})
	})
}

func (r *run) note(ctx context.Context, at int, to project.StepStatus, message string) error {
	return r.change(ctx, func(e *project.Execution) { e.Steps[at].Status, e.Steps[at].Error = to, message })
}

// change writes to the execution, even if it is cancelled.
func (r *run) change(ctx context.Context, f func(*project.Execution)) error {
	_, err := r.engine.Executions.Update(context.WithoutCancel(ctx), r.id, func(e *project.Execution) error {
		f(e)
		return nil
	})
	return err
}

// end sets the final status and returns the result.
func (r *run) end(ctx context.Context, e project.Execution, err error) (RunResult, error) {
	now := r.engine.Clock.Now()
	status, reason, message := project.Completed, "", ""
	var failed *FailedStep
	if err != nil {
		if step, told := fault.From(err).Details.(FailedStep); told {
			failed = &step
		}
		status, reason, message = project.Failed, "error", r.engine.Mask.Text(fault.From(err).Message)
		switch {
		case errors.Is(err, project.ErrExecutionTimeout):
			status, reason = project.TimedOut, "timeout"
		case errors.Is(err, project.ErrCancelled):
			status, reason = project.Cancelled, "cancelled"
		case failed != nil && failed.ExitCode != nil:
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
		Status: string(status), FailedStep: failed, Summary: summary(saved)}
	for _, step := range saved.Steps {
		if step.Status == project.StepSkipped {
			o.StepsSkipped++
		}
	}
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
	return o, base.WithMessage("workflow %s: %s", e.Name, message).WithDetails(o)
}

// summary returns the last lines of an execution, with only the last few of each step.
func summary(e project.Execution) []string {
	var out []string
	shown := 0
	for _, l := range slices.Backward(e.Output) {
		if l.Stream == "system" && strings.HasPrefix(l.Content, leftOut) {
			shown = shownLines // the beginning is in the execution
			continue
		}
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
