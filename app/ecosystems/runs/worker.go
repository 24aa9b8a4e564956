package runs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// queueWait is how long a worker waits for the one before it to be done with the ecosystem.
const queueWait = 4 * time.Hour

// Worker carries out queued runs, each once, if Audit has the call that queued it. Because any program of the user can write the records of runs, a run without
// that call, or one recorded as done, is neither carried out nor recovered.
type Worker struct {
	QueueDeps
	Performers []Performer
}

// Drain carries out the queued runs of an ecosystem, oldest first, until none is left. It first recovers what an ended process left. If several processes drain
// one ecosystem, one works and the others wait.
func (w Worker) Drain(ctx context.Context, root, name string) error {
	l, err := w.Places.Layout(ctx, root, name)
	if err != nil {
		return err
	}
	settings, err := w.Places.Settings(ctx)
	if err != nil {
		return err
	}
	ctx, unlock, err := w.States.Lock(ctx, l, queueWait)
	if err != nil {
		return err
	}
	defer unlock()
	places := settings.QueueParallel
	if places < 1 {
		places = ecosystem.MaxParallel
	}
	release, err := w.Workers.Turn(ctx, places)
	if err != nil {
		return err
	}
	defer release()
	for {
		waiting, err := w.Runs.List(ctx, ecosystem.RunFilter{Root: root, Ecosystem: name, Statuses: []ecosystem.RunStatus{ecosystem.RunQueued, ecosystem.RunRunning}})
		if err != nil || len(waiting) == 0 {
			return errors.Join(err, w.Runs.Purge(ctx))
		}
		slices.SortFunc(waiting, ecosystem.CompareAge)
		if err := w.next(ctx, waiting, settings); err != nil {
			return err
		}
	}
}

// next settles the runs that were interrupted, or carries out the oldest.
func (w Worker) next(ctx context.Context, waiting []ecosystem.Run, settings ecosystem.Settings) error {
	for _, r := range waiting {
		if r.Status == ecosystem.RunRunning { // we hold the lock of the ecosystem: whoever carried it out is gone, unless we share no locks
			if where := w.Owner.Elsewhere(r.Owner); where != "" {
				return ecosystem.ErrBusy.WithMessage("run %s of ecosystem %s may be under way: it is %s", r.Short(), r.Ecosystem, where)
			}
			return w.recoverRun(ctx, r)
		}
	}
	return w.perform(ctx, waiting[0], settings)
}

// settleWait is how long a call waits for another process that works on an ecosystem with an interrupted run, and probably recovers it.
const settleWait = 5 * time.Second

// Settle recovers what runs of an ecosystem left whose process ended, and carries out none. If another process works on the ecosystem, that one recovers it.
func (w Worker) Settle(ctx context.Context, l ecosystem.Layout) error {
	ctx, unlock, err := w.States.Lock(ctx, l, settleWait)
	if errors.Is(err, ecosystem.ErrBusy) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unlock()
	running, err := w.Runs.List(ctx, ecosystem.RunFilter{Root: l.Root, Ecosystem: l.Name, Statuses: []ecosystem.RunStatus{ecosystem.RunRunning}})
	for _, r := range running {
		if w.Owner.Elsewhere(r.Owner) != "" {
			continue
		}
		err = errors.Join(err, w.recoverRun(context.WithoutCancel(ctx), r))
	}
	return err
}

// performer returns what carries out runs of that action, or nil.
func (w Worker) performer(action string) *Performer {
	for i := range w.Performers {
		if w.Performers[i].Action == action {
			return &w.Performers[i]
		}
	}
	return nil
}

// recoverRun puts in order what an interrupted run left, and puts its end on record.
func (w Worker) recoverRun(ctx context.Context, r ecosystem.Run) error {
	w.say(ctx, r, ecosystem.RunEvent{Level: "warning", Type: "state", Message: "the process that carried this out is gone; what it left is put in order"})
	p := w.performer(r.Action)
	stage, recovered := w.known(ctx, r)
	if recovered == nil && stage.Ended {
		recovered = ecosystem.ErrUnasked.WithMessage("%s of %s: this run has ended already, by the audit, so nothing was put in order", r.Action, r.Ecosystem)
	}
	if errors.Is(recovered, ecosystem.ErrUnasked) {
		return w.end(ctx, r, outcome{err: recovered, exit: 1})
	}
	if recovered != nil {
		return recovered // the audit cannot be read now: the run stays as it is
	}
	if found, err := w.FindAt(ctx, r.Root, r.Ecosystem); p != nil && p.Recover != nil {
		found.Layout = w.layout(ctx, r, found.Layout)
		if recovered = err; errors.Is(err, ecosystem.ErrUnknown) || err == nil { // what it did may be to take the ecosystem away
			recovered = p.Recover(ctx, w.job(ctx, r, found))
		}
	}
	if recovered != nil {
		w.say(ctx, r, ecosystem.RunEvent{Level: "error", Type: "log", Message: "what it left could not be put in order: " + fault.From(recovered).Message})
	}
	if recovered != nil {
		return w.end(ctx, r, outcome{err: errInterrupted.WithMessage("the process that carried this out is gone; what it left is not in order yet (%s): the next run of ecosystem %s tries again", fault.From(recovered).Message, r.Ecosystem), exit: 1})
	}
	return w.end(ctx, r, outcome{err: errInterrupted, exit: 1})
}

// layout returns the paths of the run's ecosystem, also if its manifest no longer exists.
func (w Worker) layout(ctx context.Context, r ecosystem.Run, l ecosystem.Layout) ecosystem.Layout {
	if l.Name == "" {
		l, _ = w.Places.Layout(ctx, r.Root, r.Ecosystem) // the name was good when the run was queued
	}
	return l
}

// known returns how far the run's call is. It fails with ecosystem.ErrUnasked unless the audit says that the call was let through with the plan that the run
// carries out, and did not fail.
func (w Worker) known(ctx context.Context, r ecosystem.Run) (audit.Stage, error) {
	plan, err := r.Plan()
	if err != nil || r.Call == "" || w.Audit == nil {
		return audit.Stage{}, ecosystem.ErrUnasked.WithMessage("%s of %s: no call that is in the audit queued this run, so nothing was done; call %s again", r.Action, r.Ecosystem, r.Tool).WithCause(err)
	}
	stage, err := audit.FindStage(ctx, w.Audit.Search, r.Call, plan)
	if err == nil && (!stage.Allowed || stage.Failed) {
		err = ecosystem.ErrUnasked.WithMessage("%s of %s: the audit knows no call that was let through to do what this run's record says, so nothing was done; call %s again", r.Action, r.Ecosystem, r.Tool)
	}
	return stage, err
}

// begin puts on record that the run is carried out now. One whose call had its run already fails with ecosystem.ErrUnasked: its record is a copy.
func (w Worker) begin(ctx context.Context, r ecosystem.Run) error {
	stage, err := w.known(ctx, r)
	if err == nil && (stage.Begun || stage.Ended) {
		err = ecosystem.ErrUnasked.WithMessage("%s of %s: what this run's record says was carried out before, and is not repeated; call %s again", r.Action, r.Ecosystem, r.Tool)
	}
	if err != nil {
		return err
	}
	return w.tell(ctx, r, audit.Begun, "")
}

// tell puts on record that a run was begun, or has ended.
func (d QueueDeps) tell(ctx context.Context, r ecosystem.Run, p audit.Phase, code string) error {
	plan, err := r.Plan()
	if err != nil {
		return err
	}
	args, err := json.Marshal(map[string]string{"run_id": r.ID, "ecosystem": r.Ecosystem, "action": r.Action})
	if err != nil {
		return err
	}
	return d.Audit.Append(ctx, audit.Event{Time: d.Clock.Now(), Phase: p, CallID: r.Call, Session: r.SessionID, Tool: r.Tool, Args: args, Plan: plan, Code: code})
}

// errInterrupted is why a run failed whose process is gone.
var errInterrupted = fault.New(fault.Unavailable, "eco_interrupted", "the process that carried this out is gone; what it left was put in order")

// outcome is what came of a run.
type outcome struct {
	result any
	err    error
	exit   int
}

// perform carries out one run. Whatever it does, its end is on record afterwards.
func (w Worker) perform(ctx context.Context, r ecosystem.Run, settings ecosystem.Settings) error {
	now := w.Clock.Now().UTC()
	begun, err := w.Runs.Change(ctx, r.ID, func(r *ecosystem.Run) error { return r.Begin(w.Owner.Self(), now) })
	if errors.Is(err, ecosystem.ErrMove) {
		return nil // cancelled meanwhile
	}
	if err != nil {
		return err
	}
	w.say(ctx, begun, ecosystem.RunEvent{Level: "info", Type: "lifecycle_action_started", Message: begun.Action + " of " + begun.Ecosystem + " started"})
	limited, cancel := context.WithTimeout(ctx, w.limit(begun, settings))
	defer cancel()
	stoppable, stop := w.Watch.Until(limited, begun.ID)
	defer stop()
	result, err := w.do(stoppable, begun)
	o := outcome{result: result, err: err}
	switch {
	case err == nil:
	case errors.Is(context.Cause(stoppable), ecosystem.ErrStopped):
		o.err, o.exit = ecosystem.ErrStopped, ecosystem.ExitCancelled
	case errors.Is(limited.Err(), context.DeadlineExceeded):
		o.err, o.exit = fault.ErrTimeout.WithMessage("the run took longer than it may (%s)", w.limit(begun, settings)), ecosystem.ExitTimeout
	case errors.Is(err, fault.ErrTimeout):
		o.exit = ecosystem.ExitTimeout
	default:
		o.exit = 1
	}
	return w.end(ctx, begun, o)
}

// limit returns how long a run may take.
func (w Worker) limit(r ecosystem.Run, settings ecosystem.Settings) time.Duration {
	if p := w.performer(r.Action); p != nil && p.Limit > 0 {
		return time.Duration(p.Limit) * time.Second
	}
	if settings.RunTimeoutSeconds > 0 {
		return time.Duration(settings.RunTimeoutSeconds) * time.Second
	}
	return ecosystem.LifecycleTimeout
}

// do checks that the run is still what was confirmed, and does it. A panic is an error of this run alone.
func (w Worker) do(ctx context.Context, r ecosystem.Run) (result any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fault.ErrInternal.WithMessage("%s failed in an unforeseen way", r.Action).WithCause(fmt.Errorf("panic: %v", p))
		}
	}()
	p := w.performer(r.Action)
	if p == nil {
		return nil, ecosystem.ErrFailed.WithMessage("this version of Countersign knows no action %q", r.Action)
	}
	if err := w.begin(ctx, r); err != nil {
		return nil, err
	}
	found, err := w.FindAt(ctx, r.Root, r.Ecosystem)
	if err != nil {
		return nil, err
	}
	j := w.job(ctx, r, found)
	if err := p.Fresh(ctx, j); err != nil {
		return nil, err
	}
	return p.Do(ctx, j)
}

func (w Worker) job(ctx context.Context, r ecosystem.Run, found Ecosystem) Job {
	kept := context.WithoutCancel(ctx) // what happens while it stops is reported, too
	return Job{Found: found, Run: r,
		Log: func(level, message string) {
			w.say(kept, r, ecosystem.RunEvent{Level: level, Type: "log", Message: message})
		},
		Percent: func(done, total int) {
			w.say(kept, r, ecosystem.RunEvent{Level: "info", Type: "state", Message: fmt.Sprintf("%d of %d done", done, total), Payload: json.RawMessage(fmt.Sprintf(`{"done":%d,"total":%d}`, done, total))})
		}}
}

// say puts an event on record. Nothing depends on it: the record of the run says how it ended.
func (w Worker) say(ctx context.Context, r ecosystem.Run, e ecosystem.RunEvent) {
	e.RunID = r.ID
	_ = w.QueueDeps.Deps.Runs.Append(ctx, r.ID, e)
}

// end puts on record how a run ended.
func (w Worker) end(ctx context.Context, r ecosystem.Run, o outcome) error {
	ctx = context.WithoutCancel(ctx)
	events := []ecosystem.RunEvent{}
	now := w.Clock.Now().UTC()
	var doc json.RawMessage
	if o.result != nil {
		var err error
		if doc, err = tool.Encode(o.result); err != nil {
			o.err, o.exit = errors.Join(o.err, err), max(o.exit, 1)
		}
	}
	kind, level, message := "lifecycle_action_completed", "info", r.Action+" of "+r.Ecosystem+" completed"
	var f *fault.Error
	if o.err != nil {
		f = fault.From(o.err)
		kind, level, message = "lifecycle_action_failed", "error", r.Action+" of "+r.Ecosystem+" failed"
		if o.exit == ecosystem.ExitCancelled {
			level = "warning" // it was cancelled
		}
		events = append(events, ecosystem.RunEvent{Level: level, Type: "log", Message: f.Message})
	}
	events = append(events, ecosystem.RunEvent{Level: level, Type: kind, Message: message},
		ecosystem.RunEvent{Level: level, Type: "exit", Message: fmt.Sprintf("exit code %d", o.exit), Payload: json.RawMessage(fmt.Sprintf(`{"exit_code":%d}`, o.exit))})
	for _, e := range events {
		w.say(ctx, r, e)
	}
	_, err := w.Runs.Change(ctx, r.ID, func(r *ecosystem.Run) error {
		if r.Result = doc; f != nil {
			r.Error, r.Code = f.Message, string(f.Code)
		}
		return r.End(o.exit, now)
	})
	if err != nil || errors.Is(o.err, ecosystem.ErrUnasked) {
		return err // of what nobody asked for nothing is to be said in another call's name
	}
	code := ""
	if f != nil {
		code = string(f.Code)
	}
	return w.tell(ctx, r, audit.Ended, code)
}

// Unattended returns the ecosystems that have queued or interrupted runs and no worker.
func (w Worker) Unattended(ctx context.Context) ([]ecosystem.Layout, error) {
	open, err := w.Runs.List(ctx, ecosystem.RunFilter{Statuses: []ecosystem.RunStatus{ecosystem.RunQueued, ecosystem.RunRunning}})
	if err != nil {
		return nil, err
	}
	var out []ecosystem.Layout
	for _, r := range open {
		if r.Status == ecosystem.RunRunning && !w.Owner.Judge(r.Owner).Dead() {
			continue
		}
		l, err := w.Places.Layout(ctx, r.Root, r.Ecosystem)
		if err == nil && !slices.ContainsFunc(out, func(o ecosystem.Layout) bool { return o.State == l.State }) {
			out = append(out, l)
		}
	}
	return out, nil
}

// Recover wakes a worker for every unattended ecosystem. It is cheap if there is none.
func (w Worker) Recover(ctx context.Context) error {
	left, err := w.Unattended(ctx)
	for _, l := range left {
		err = errors.Join(err, w.Workers.Wake(ctx, l))
	}
	return err
}
