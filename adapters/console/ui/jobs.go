package ui

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/enrolled"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// Core is the core that pages call: an *app.App.
type Core interface {
	Call(ctx context.Context, c tool.Call) tool.Outcome
	Spec(n tool.Name) (tool.Spec, bool)
}

// waiter may be implemented by a Core: it reports whether an approval request is undecided, wherever it is shown. The job continues as soon as it is
// decided.
type waiter interface {
	ApprovalPending(ctx context.Context, confirmation string) (bool, error)
	// Decided signals, until stop is called, when that may have changed.
	Decided(confirmation string) (told <-chan struct{}, stop func())
}

// Limits of remembered jobs, how long a page waits for a job that may end at once, and how often an open request is checked without a signal.
const (
	kept     = 200
	keptFor  = time.Hour
	patience = 1200 * time.Millisecond
	pace     = 2 * time.Second
)

// CallRunner calls tools. It is safe for concurrent use. Create it with NewCallRunner.
type CallRunner struct {
	// Patience is how long a page waits for a job that may end at once; NewCallRunner sets a suitable value.
	Patience time.Duration

	core Core
	life context.Context //nolint:containedctx // work goes on when its page is closed, and ends with the server
	ids  func() string
	mu   sync.Mutex
	jobs []*Job // oldest first

	running sync.WaitGroup // the jobs that have not ended
}

// NewCallRunner returns a runner of calls to that core. When life ends, running calls are cancelled. ids makes unguessable identifiers.
func NewCallRunner(life context.Context, core Core, ids func() string) *CallRunner {
	return &CallRunner{Patience: patience, core: core, life: life, ids: ids}
}

// Wait blocks until every job has ended, or until ctx ends: jobs end soon after the life that NewCallRunner was given. No job may begin meanwhile.
func (d *CallRunner) Wait(ctx context.Context) {
	ended := make(chan struct{})
	go func() {
		d.running.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-ctx.Done():
	}
}

// Outcome calls a tool for a page and waits for its outcome; a read leaves no audit record. args marshals to a JSON object; nil is {}.
func (d *CallRunner) Outcome(ctx context.Context, v httpauth.Identity, name tool.Name, args any) tool.Outcome {
	doc, err := tool.Encode(args)
	if err != nil {
		return tool.Outcome{Err: fault.From(err)}
	}
	if args == nil {
		doc = json.RawMessage("{}")
	}
	c := v.Call(name, doc)
	c.View = true
	return d.core.Call(ctx, c)
}

// Read calls a tool that only reads and decodes its value into into, which may be nil. Its errors are *fault.Error.
func (d *CallRunner) Read(ctx context.Context, v httpauth.Identity, name tool.Name, args, into any) error {
	out := d.Outcome(ctx, v, name, args)
	if out.Err != nil {
		return out.Err
	}
	if into == nil || len(out.Value) == 0 {
		return nil
	}
	if err := json.Unmarshal(out.Value, into); err != nil {
		return fault.ErrInternal.WithMessage("the value of %s is not what this page expects", name).WithCause(err)
	}
	return nil
}

// Serves reports whether the visitor has the tool.
func (d *CallRunner) Serves(v httpauth.Identity, name tool.Name) bool {
	spec, ok := d.core.Spec(name)
	return ok && tool.Covered(v.Within, spec)
}

// Decides reports whether the visitor may approve calls of that tool, by any client: approving cannot exceed the visitor's own scope.
func (d *CallRunner) Decides(v httpauth.Identity, name tool.Name) bool {
	spec, served := d.core.Spec(name)
	if !served { // another process may serve it: use the least specific spec
		spec = tool.Spec{Name: name, Class: policy.ClassDangerous, Effects: policy.Mutating}
	}
	return v.Reaches(spec)
}

// Task is a tool call for a page.
type Task struct {
	Title string // for users: "Deploy everything"
	Tool  tool.Name
	Args  any         // marshals to a JSON object; nil is {}
	Mode  policy.Mode // the mode of this call: policy.Plan only shows the plan; unset is the current one
	Back  string      // path of the page to return to
	Done  string      // message on that page; empty is a default one
	// Queued has its approval request decided among those of agents, and not on a page of its own.
	Queued bool
	// Watch shows more of the progress than the task's reports, while it runs; nil shows only those. The page calls it every second.
	Watch func(ctx context.Context, said []tool.Progress) Node
	// Show renders a result that users should see before they go back. If it is nil or returns nil, the result is shown like any outcome.
	Show func(o tool.Outcome) Node
}

// jobState is the state of a job.
type jobState uint8

// The states. Over is final.
const (
	JobRunning jobState = iota
	JobAsking           // the user must approve it
	JobOver
)

// Job is a started task.
type Job struct {
	ID    string
	Task  Task
	Begun time.Time

	runner  *CallRunner
	visitor httpauth.Identity
	cancel  context.CancelFunc
	answers chan confirm.Decision
	over    chan struct{} // closed when it has ended
	changed chan struct{} // closed when it asks or has ended; replaced whenever it continues
	mu      sync.Mutex
	state   jobState
	out     tool.Outcome
	said    []tool.Progress // the last reports
	wrong   error           // why a decision was rejected
	late    error           // another user had decided before
}

// JobSnapshot is the state of a job at one time.
type JobSnapshot struct {
	State    jobState
	Outcome  tool.Outcome // of the last round; the approval request while it is Asking
	Progress []tool.Progress
	Wrong    error // why the last decision was rejected, while it is Asking
	Late     error // the decision made here came after another one, which counts
}

// Now returns the current state of the job.
func (j *Job) Now() JobSnapshot {
	j.mu.Lock()
	defer j.mu.Unlock()
	return JobSnapshot{j.state, j.out, append([]tool.Progress(nil), j.said...), j.wrong, j.late}
}

// Begin starts a task and waits briefly for it to ask or to end.
func (d *CallRunner) Begin(ctx context.Context, v httpauth.Identity, t Task) *Job {
	life, cancel := context.WithCancel(d.life)
	j := &Job{ID: d.ids(), Task: t, Begun: time.Now(), runner: d, visitor: v, cancel: cancel, answers: make(chan confirm.Decision, 1),
		over: make(chan struct{}), changed: make(chan struct{})}
	d.mu.Lock()
	d.jobs = append(d.forgotten(), j)
	d.mu.Unlock()
	d.running.Go(func() { j.run(life) })
	j.settle(ctx)
	return j
}

// forgotten returns the jobs without ended ones that are too old or too many. It runs under mu.
func (d *CallRunner) forgotten() []*Job {
	left := d.jobs[:0:0]
	for i, j := range d.jobs {
		if j.Now().State == JobOver && (time.Since(j.Begun) > keptFor || i < len(d.jobs)-kept) {
			continue
		}
		left = append(left, j)
	}
	return left
}

// Find returns the job with that ID.
func (d *CallRunner) Find(id string) (*Job, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, j := range d.jobs {
		if j.ID == id {
			return j, true
		}
	}
	return nil, false
}

// seen returns the job with that ID if the visitor may see it: it belongs to the same user and to tools that the visitor has.
func (d *CallRunner) seen(v httpauth.Identity, id string) (*Job, bool) {
	j, ok := d.Find(id)
	if !ok || j.visitor.Principal.ID != v.Principal.ID {
		return nil, false
	}
	spec, served := d.core.Spec(j.Task.Tool)
	return j, !served || tool.Covered(v.Within, spec)
}

// Asking returns the job of the approval request with that ID if it is decided at the job.
func (d *CallRunner) Asking(confirmation string) (*Job, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, j := range d.jobs {
		if now := j.Now(); !j.Task.Queued && now.State == JobAsking && now.Outcome.Request.ID == confirmation {
			return j, true
		}
	}
	return nil, false
}

// settle waits briefly for the job to ask or to end.
func (j *Job) settle(ctx context.Context) {
	j.mu.Lock()
	changed := j.changed
	j.mu.Unlock()
	j.runner.pause(ctx, changed)
}

// pause waits for a channel to be closed, at most Patience.
func (d *CallRunner) pause(ctx context.Context, closed <-chan struct{}) {
	timer := time.NewTimer(d.Patience)
	defer timer.Stop()
	select {
	case <-closed:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// Answer passes the user's decision to the job, and waits briefly for the result. A decision counts once, only while the job asks, and only for the
// plan that it names as shown.
func (j *Job) Answer(ctx context.Context, a confirm.Decision) {
	j.mu.Lock()
	switch asked := j.out.Request; {
	case j.state != JobAsking || asked == nil:
	case a.Shown != asked.PlanHash:
		j.wrong = confirm.ErrMismatch.WithMessage("the plan changed since this page was loaded; review the new plan")
	default:
		j.answers <- a // the channel has room: nothing was sent since the job asks
		j.state, j.changed = JobRunning, make(chan struct{})
	}
	j.mu.Unlock()
	j.settle(ctx)
}

// Cancel ends the job as soon as its tool allows, and waits briefly for that.
func (j *Job) Cancel(ctx context.Context) {
	j.cancel()
	j.runner.pause(ctx, j.over)
}

// run runs the job in rounds: each approval request starts a new one.
func (j *Job) run(ctx context.Context) {
	defer j.cancel()
	args, err := tool.Encode(j.Task.Args)
	if j.Task.Args == nil {
		args = json.RawMessage("{}")
	}
	if err != nil {
		j.set(JobOver, tool.Outcome{Err: fault.From(err)}, nil)
		return
	}
	call := j.visitor.Call(j.Task.Tool, args)
	call.Mode, call.Progress = j.Task.Mode, j.report
	for {
		out := j.runner.core.Call(ctx, call)
		asks := out.Request != nil && out.Err != nil
		if prior := j.Now().Outcome; call.Decision != nil && prior.Request != nil && answered(out.Err) {
			call.Decision, call.Token, call.ApprovalDigest = nil, prior.Request.Token, prior.Request.Digest // the first decision counts: the call reads it
			j.tooLate(out.Err)
			continue
		}
		if prior := j.Now().Outcome; !asks && call.Decision != nil && retryable(out.Err) && prior.Request != nil {
			j.set(JobAsking, prior, out.Err) // the same request again, with the error
			out = prior
		} else if !asks {
			j.set(JobOver, out, nil)
			return
		} else {
			j.set(JobAsking, out, nil)
		}
		answer, ok := j.await(ctx, out.Request)
		if !ok {
			return
		}
		call.ID, call.Decision, call.Token, call.ApprovalDigest = out.CallID, answer, confirm.Token{}, confirm.Digest{}
		if answer == nil { // it was decided elsewhere: the call reads the decision
			call.Token, call.ApprovalDigest = out.Request.Token, out.Request.Digest
		}
		j.set(JobRunning, out, nil)
	}
}

// retryable reports whether a rejected decision can be repeated.
func retryable(err error) bool {
	if err == nil {
		return false
	}
	code := fault.From(err).Code
	return code == confirm.ErrTyped.Code || code == confirm.ErrProof.Code || code == enrolled.ErrUnproven.Code
}

// answered reports whether a decision came after another one.
func answered(err error) bool { return err != nil && fault.From(err).Code == confirm.ErrAnswered.Code }

// tooLate records that the decision made here was not the first.
func (j *Job) tooLate(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.late = err
}

// await waits for the user's decision on the request, until it expires; nil is a decision made elsewhere. It reports false if there will be none.
func (j *Job) await(ctx context.Context, asked *tool.ApprovalRequest) (*confirm.Decision, bool) {
	timer, ticks := time.NewTimer(time.Until(asked.ExpiresAt)), time.NewTicker(pace)
	defer timer.Stop()
	defer ticks.Stop()
	var told <-chan struct{}
	waiter, waits := j.runner.core.(waiter)
	if waits {
		var deaf func()
		told, deaf = waiter.Decided(asked.ID)
		defer deaf()
	}
	for {
		select {
		case a := <-j.answers:
			a.ID, a.Always = asked.ID, false // the user's own actions ask every time
			return &a, true
		case <-timer.C:
			j.set(JobOver, tool.Outcome{Err: confirm.ErrExpired}, nil)
			return nil, false
		case <-ctx.Done():
			if d, ok := j.runner.core.(withdrawer); ok {
				_ = d.CancelApproval(context.WithoutCancel(ctx), asked.ID) // another process decided first: there is nothing to withdraw
			}
			j.set(JobOver, tool.Outcome{Err: fault.From(ctx.Err())}, nil)
			return nil, false
		case <-told:
		case <-ticks.C:
		}
		if !waits {
			continue
		}
		if waiting, err := waiter.ApprovalPending(ctx, asked.ID); err == nil && !waiting && j.leave() {
			return nil, true
		}
	}
}

// leave makes the job continue without a decision from here. It reports false if one was just made here.
func (j *Job) leave() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.state != JobAsking {
		return false
	}
	j.state, j.changed = JobRunning, make(chan struct{})
	return true
}

// ByConsole is the author of decisions made here, in the audit log.
const ByConsole = "console"

// AnswererOf returns ByConsole with the credential of the visitor's browser, so that the audit log distinguishes browsers.
func AnswererOf(v httpauth.Identity) string {
	if v.Credential == "" {
		return ByConsole
	}
	return ByConsole + " " + v.Credential
}

// set changes the state of the job and signals those that wait for it to ask or to end.
func (j *Job) set(s jobState, out tool.Outcome, wrong error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	was := j.state
	j.state, j.out, j.wrong = s, out, wrong
	switch {
	case s == JobRunning && was != JobRunning:
		j.changed = make(chan struct{})
	case s != JobRunning && was == JobRunning:
		close(j.changed)
	}
	if s == JobOver && was != JobOver {
		close(j.over)
	}
}

// jobLines is the maximum number of kept reports of a job.
const jobLines = 200

func (j *Job) report(p tool.Progress) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.said = append(j.said, p); len(j.said) > jobLines {
		j.said = j.said[len(j.said)-jobLines:]
	}
}
