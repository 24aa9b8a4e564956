package events

import (
	"context"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// How often the pump checks for changes, and how often it polls without any: expiries, and processes that ended, change no database.
const (
	asking  = 50 * time.Millisecond
	looking = 2 * time.Second
)

const (
	seeded   = 200  // records read at first
	finished = 4096 // ended calls that are remembered, so that none is reported twice
	patience = 100  // attempts to find the record of a call whose intent is in the audit log
)

// After a batch of audit records the pump pauses, so that a reading listener keeps up however many are stored at once.
const (
	batch  = MaxQueued / 4
	breath = 10 * time.Millisecond
)

// waiting is a reported approval request.
type waiting struct {
	event Event
	view  confirm.View
	state string
}

// call is a reported call that has not ended.
type call struct {
	status tool.Status
	event  Event
}

// pump polls the records and reports changes. It belongs to one goroutine, except for listeners, which belongs to the hub.
type pump struct {
	hub       *Hub
	life      context.Context //nolint:containedctx // ends with the last listener
	end       context.CancelFunc
	wake      chan struct{}
	listeners map[*listener]bool // whether it has yet to join; guarded by the hub's lock

	begun     bool
	trouble   bool // the last poll failed
	stamp     int64
	next      time.Time // of a poll without changes
	seq       int64     // of the last reported audit record
	questions map[string]waiting
	calls     map[string]call
	over      map[string]bool
	ends      []string       // the same, oldest first
	awaited   map[string]int // calls whose record is missing so far: number of attempts
}

func newPump(h *Hub) *pump {
	p := &pump{hub: h, wake: make(chan struct{}, 1), listeners: map[*listener]bool{}, questions: map[string]waiting{}, calls: map[string]call{},
		over: map[string]bool{}, awaited: map[string]int{}}
	p.life, p.end = context.WithCancel(h.life)
	return p
}

// wakeUp makes the pump poll at once.
func (p *pump) wakeUp() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

func (p *pump) run() {
	defer p.end()
	ticking := time.NewTicker(asking)
	defer ticking.Stop()
	for p.life.Err() == nil {
		p.round(p.life)
		select {
		case <-p.life.Done():
		case <-ticking.C:
		case <-p.wake:
		}
	}
}

// round polls if there is a reason to. Data that cannot be read is reported by the next poll.
func (p *pump) round(ctx context.Context) {
	now := time.Now()
	if p.trouble && now.Before(p.next) {
		return
	}
	stamp, err := p.hub.source.ChangeCounter(ctx)
	if err == nil && !p.begun {
		err = p.begin(ctx)
	}
	quiet := stamp == p.stamp && now.Before(p.next)
	if err == nil && !quiet {
		err = p.look(ctx)
	}
	if p.trouble = err != nil; p.trouble {
		if ctx.Err() == nil {
			p.hub.log.Debug("events cannot be read now", "cause", err.Error())
		}
		p.next = now.Add(again)
		return
	}
	p.hub.join(p, p.joint)
	if !quiet {
		p.stamp, p.next = stamp, p.deadline(now) // the stamp from before the poll: what was stored since is polled again
	}
}

// deadline returns when to poll without changes.
func (p *pump) deadline(now time.Time) time.Time {
	at := now.Add(looking)
	for _, q := range p.questions {
		if q.view.ExpiresAt.Before(at) {
			at = q.view.ExpiresAt
		}
	}
	if at.Before(now.Add(asking)) {
		return now.Add(asking)
	}
	return at
}

// begin reads what is open, so that only changes are reported later.
func (p *pump) begin(ctx context.Context) error {
	tail, err := p.hub.source.AuditTail(ctx, 1)
	if err != nil {
		return err
	}
	for _, status := range []tool.Status{tool.StatusNone, tool.StatusPendingConfirmation, tool.StatusExecuting} { // open ones may be older than the newest
		found, err := p.hub.source.Calls(ctx, app.RunFilter{Status: status, Limit: seeded})
		if err != nil {
			return err
		}
		for _, r := range found {
			if r.Status.Final() {
				p.remember(r.CallID)
			} else {
				p.calls[r.CallID] = call{r.Status, moved(r)}
			}
		}
	}
	if err := p.ask(ctx); err != nil {
		clear(p.questions)
		return err
	}
	if len(tail) > 0 {
		p.seq = tail[len(tail)-1].Seq
	}
	p.begun = true
	return nil
}

// joint returns the current position of the pump.
func (p *pump) joint() joint {
	var questions []waiting
	for _, q := range p.questions {
		if q.state == confirm.Pending.String() {
			questions = append(questions, q)
		}
	}
	slices.SortFunc(questions, func(a, b waiting) int { return a.view.IssuedAt.Compare(b.view.IssuedAt) })
	at := joint{seq: p.seq}
	for _, q := range questions {
		at.open = append(at.open, q.event)
	}
	for _, c := range p.calls {
		at.open = append(at.open, c.event)
	}
	return at
}

func (p *pump) look(ctx context.Context) error {
	if err := p.ask(ctx); err != nil {
		return err
	}
	if err := p.read(ctx); err != nil {
		return err
	}
	return p.follow(ctx)
}

// ask reports new and closed approval requests. Before the pump has begun it only reads them.
func (p *pump) ask(ctx context.Context) error {
	views, err := p.hub.source.Confirmations(ctx, "")
	if err != nil {
		return err
	}
	there := make(map[string]bool, len(views))
	for _, v := range views {
		there[v.ID] = true
		known, seen := p.questions[v.ID]
		switch {
		case !seen:
			if err := p.question(ctx, v); err != nil {
				return err
			}
		case known.state != v.State:
			known.state = v.State
			p.questions[v.ID] = known
			p.tell(closed(known.event, v.ID, wasApproved))
		}
	}
	for id, q := range p.questions {
		if there[id] {
			continue
		}
		delete(p.questions, id)
		if q.state == confirm.Pending.String() {
			p.tell(closed(q.event, id, hasEnded))
		}
	}
	return nil
}

// question reports a new approval request.
func (p *pump) question(ctx context.Context, v confirm.View) error {
	rec, err := p.hub.source.CallRecord(ctx, v.ID)
	if err != nil && !unknown(err) {
		return err
	}
	spec, _ := p.hub.source.Spec(tool.Name(v.Tool))
	q := waiting{event: asked(v, rec, spec), view: v, state: v.State}
	p.questions[v.ID] = q
	if v.State == confirm.Pending.String() {
		p.tell(q.event)
	}
	if err == nil {
		p.note(rec)
	}
	return nil
}

// read reports new audit records, each after the result of its call.
func (p *pump) read(ctx context.Context) error {
	told := 0
	for r, err := range p.hub.source.AuditTrail(ctx, p.seq) {
		if err != nil {
			return err
		}
		if changes(r.Event) {
			if err := p.inspect(ctx, r.Event.CallID); unknown(err) && r.Event.Phase == audit.Intent {
				p.awaited[r.Event.CallID] = 0 // its record is written after its intent
			} else if err != nil && !unknown(err) {
				return err
			}
		}
		p.tell(recorded(r))
		p.seq = r.Seq
		if told++; told%batch == 0 {
			pause(ctx, breath)
		}
	}
	return nil
}

// pause waits for that time, or until ctx ends.
func pause(ctx context.Context, while time.Duration) {
	over := time.NewTimer(while)
	defer over.Stop()
	select {
	case <-over.C:
	case <-ctx.Done():
	}
}

// changes reports an audit record about a call with a call record: one that asks to change something, or a decision on it.
func changes(e audit.Event) bool {
	return e.CallID != "" && (e.Phase == audit.Answer || e.Class != policy.ClassRead.String() && e.Class != policy.ClassScratch.String())
}

// follow checks the calls that have not ended.
func (p *pump) follow(ctx context.Context) error {
	for id := range p.calls {
		if err := p.inspect(ctx, id); err != nil && !unknown(err) {
			return err
		}
	}
	for id, looks := range p.awaited {
		err := p.inspect(ctx, id)
		if err != nil && !unknown(err) {
			return err
		}
		if p.awaited[id] = looks + 1; err == nil || looks >= patience {
			delete(p.awaited, id)
		}
	}
	return nil
}

// inspect reports the current status of the call with that ID, or of that approval request.
func (p *pump) inspect(ctx context.Context, id string) error {
	rec, err := p.hub.source.CallRecord(ctx, id)
	if err == nil {
		p.note(rec)
	}
	return err
}

// note reports the status of a call, unless it is already reported.
func (p *pump) note(r tool.Record) {
	if p.over[r.CallID] || p.calls[r.CallID].status == r.Status {
		return
	}
	e := moved(r)
	p.tell(e)
	if !r.Status.Final() {
		p.calls[r.CallID] = call{r.Status, e}
		return
	}
	p.tell(ended(r))
	p.remember(r.CallID)
}

// remember records that the end of a call was reported, or preceded all listeners.
func (p *pump) remember(id string) {
	delete(p.calls, id)
	if p.over[id] {
		return
	}
	p.over[id] = true
	if p.ends = append(p.ends, id); len(p.ends) > finished {
		delete(p.over, p.ends[0])
		p.ends = p.ends[1:]
	}
}

// tell sends an event to the joined listeners. There are none before the pump has begun.
func (p *pump) tell(e Event) { p.hub.tell(p, e) }

// unknown reports a call without a readable record: trying again would not help.
func unknown(err error) bool {
	if err == nil {
		return false
	}
	switch fault.From(err).Kind {
	case fault.Unavailable, fault.Timeout, fault.Canceled:
		return false
	}
	return true
}
