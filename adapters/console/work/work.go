// Package work calls tools for the people at the console: reads at once, and everything else as a piece of work of its own, which is shown while it
// runs, asks when it has to be confirmed, and can be cancelled.
//
// It refuses to know what the tools do, and to carry anything out that does not pass the door.
package work

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/countersign-dev/countersign/adapters/httpguard"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// Door is what is called: an *app.App.
type Door interface {
	Call(ctx context.Context, c tool.Call) tool.Outcome
	Spec(n tool.Name) (tool.Spec, bool)
}

// Bounds of what is remembered, and how long a page waits for work that may be over at once.
const (
	kept     = 200
	keptFor  = time.Hour
	patience = 1200 * time.Millisecond
)

// Desk calls tools. It is safe for concurrent use; New makes it.
type Desk struct {
	door Door
	life context.Context //nolint:containedctx // work goes on when its page is closed, and ends with the server
	ids  func() string
	mu   sync.Mutex
	jobs []*Job // oldest first
}

// New is a desk before a door. When life ends, what runs is cancelled. ids makes identifiers that nobody can guess.
func New(life context.Context, door Door, ids func() string) *Desk {
	return &Desk{door: door, life: life, ids: ids}
}

// Outcome calls a tool and waits for what comes of it. args marshals to a JSON object; nil is {}.
func (d *Desk) Outcome(ctx context.Context, v httpguard.Visitor, name tool.Name, args any) tool.Outcome {
	doc, err := tool.Encode(args)
	if err != nil {
		return tool.Outcome{Err: fault.From(err)}
	}
	if args == nil {
		doc = json.RawMessage("{}")
	}
	return d.door.Call(ctx, v.Call(name, doc))
}

// Read calls a tool that only reads and decodes its value into into, which may be nil. Its errors are *fault.Error.
func (d *Desk) Read(ctx context.Context, v httpguard.Visitor, name tool.Name, args, into any) error {
	out := d.Outcome(ctx, v, name, args)
	if out.Err != nil {
		return out.Err
	}
	if into == nil || len(out.Value) == 0 {
		return nil
	}
	if err := json.Unmarshal(out.Value, into); err != nil {
		return fault.ErrInternal.Sayf("the value of %s is not what this page expects", name).Because(err)
	}
	return nil
}

// Serves reports whether the tool is served to the visitor.
func (d *Desk) Serves(v httpguard.Visitor, name tool.Name) bool {
	spec, ok := d.door.Spec(name)
	return ok && tool.Covered(v.Within, spec)
}

// Task is something to be done.
type Task struct {
	Title string // for people: "Deploy everything"
	Tool  tool.Name
	Args  any    // marshals to a JSON object; nil is {}
	Back  string // path of the page to go back to
}

// State is how far a job is.
type State uint8

// The states. Over is final.
const (
	Running State = iota
	Asking        // a person has to confirm it
	Over
)

// Job is a task that was begun.
type Job struct {
	ID    string
	Task  Task
	Begun time.Time

	desk    *Desk
	visitor httpguard.Visitor
	cancel  context.CancelFunc
	answers chan confirm.Answer
	changed chan struct{} // closed when it asks or is over
	mu      sync.Mutex
	state   State
	out     tool.Outcome
	said    []tool.Progress // the last of them
	wrong   error           // why an answer was not taken
}

// View is a job at one moment.
type View struct {
	State    State
	Outcome  tool.Outcome // of the last round; what it asks, while it is Asking
	Progress []tool.Progress
	Wrong    error // why the last answer was not taken, while it is Asking
}

// Now is the job as it is now.
func (j *Job) Now() View {
	j.mu.Lock()
	defer j.mu.Unlock()
	return View{j.state, j.out, append([]tool.Progress(nil), j.said...), j.wrong}
}

// Begin starts a task and waits a moment for it to ask or to be over.
func (d *Desk) Begin(ctx context.Context, v httpguard.Visitor, t Task) *Job {
	life, cancel := context.WithCancel(d.life)
	j := &Job{ID: d.ids(), Task: t, Begun: time.Now(), desk: d, visitor: v, cancel: cancel, answers: make(chan confirm.Answer, 1), changed: make(chan struct{})}
	d.mu.Lock()
	d.jobs = append(d.forgotten(), j)
	d.mu.Unlock()
	go j.run(life)
	j.settle(ctx)
	return j
}

// forgotten is the jobs without those that are over and too old or too many. It runs under mu.
func (d *Desk) forgotten() []*Job {
	left := d.jobs[:0:0]
	for i, j := range d.jobs {
		if j.Now().State == Over && (time.Since(j.Begun) > keptFor || i < len(d.jobs)-kept) {
			continue
		}
		left = append(left, j)
	}
	return left
}

// Find is the job of that id.
func (d *Desk) Find(id string) (*Job, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, j := range d.jobs {
		if j.ID == id {
			return j, true
		}
	}
	return nil, false
}

// Asking is the job that the confirmation of that id belongs to: it is answered where the job is.
func (d *Desk) Asking(confirmation string) (*Job, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, j := range d.jobs {
		if now := j.Now(); now.State == Asking && now.Outcome.Issued.ID == confirmation {
			return j, true
		}
	}
	return nil, false
}

// settle waits a moment for the job to ask or to be over.
func (j *Job) settle(ctx context.Context) {
	j.mu.Lock()
	changed := j.changed
	j.mu.Unlock()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-changed:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// Answer hands a person's answer to the job, which waits for one, and waits a moment for what comes of it.
func (j *Job) Answer(ctx context.Context, a confirm.Answer) {
	select {
	case j.answers <- a:
		j.settle(ctx)
	default: // one is being looked at already
	}
}

// Cancel ends the job as soon as its tool lets it.
func (j *Job) Cancel() { j.cancel() }

// run carries the job out, round by round: each question is a round.
func (j *Job) run(ctx context.Context) {
	defer j.cancel()
	args, err := tool.Encode(j.Task.Args)
	if j.Task.Args == nil {
		args = json.RawMessage("{}")
	}
	if err != nil {
		j.set(Over, tool.Outcome{Err: fault.From(err)}, nil)
		return
	}
	call := j.visitor.Call(j.Task.Tool, args)
	call.Progress = j.report
	for {
		out := j.desk.door.Call(ctx, call)
		asks := out.Issued != nil && out.Err != nil
		if prior := j.Now().Outcome; !asks && call.Answer != nil && retryable(out.Err) && prior.Issued != nil {
			j.set(Asking, prior, out.Err) // the same question again, with what was wrong
			out = prior
		} else if !asks {
			j.set(Over, out, nil)
			return
		} else {
			j.set(Asking, out, nil)
		}
		answer, ok := j.await(ctx, out.Issued)
		if !ok {
			return
		}
		call.ID, call.Answer, call.Always = out.CallID, &answer, answer.Always
		j.set(Running, out, nil)
	}
}

// retryable reports an answer that may be given again.
func retryable(err error) bool { return err != nil && fault.From(err).Code == confirm.ErrTyped.Code }

// await waits for a person's answer to the question, until it runs out.
func (j *Job) await(ctx context.Context, asked *tool.Issued) (confirm.Answer, bool) {
	timer := time.NewTimer(time.Until(asked.ExpiresAt))
	defer timer.Stop()
	select {
	case a := <-j.answers:
		a.ID, a.By, a.Shown = asked.ID, By, asked.PlanHash
		return a, true
	case <-timer.C:
		j.set(Over, tool.Outcome{Err: confirm.ErrExpired}, nil)
	case <-ctx.Done():
		if d, ok := j.desk.door.(Withdrawer); ok {
			_ = d.Withdraw(context.WithoutCancel(ctx), asked.ID) // somebody was faster: then there is nothing to withdraw
		}
		j.set(Over, tool.Outcome{Err: fault.From(ctx.Err())}, nil)
	}
	return confirm.Answer{}, false
}

// By is who answers confirmations here, as the audit has it.
const By = "console"

func (j *Job) set(s State, out tool.Outcome, wrong error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.state, j.out, j.wrong = s, out, wrong
	if s == Running {
		j.changed = make(chan struct{})
		return
	}
	select {
	case <-j.changed:
	default:
		close(j.changed)
	}
}

// lines is how many reports of a job are kept.
const lines = 200

func (j *Job) report(p tool.Progress) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.said = append(j.said, p); len(j.said) > lines {
		j.said = j.said[len(j.said)-lines:]
	}
}
