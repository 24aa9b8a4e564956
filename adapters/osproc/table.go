package osproc

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/adapters/docfile"
	"github.com/countersign-dev/countersign/domain/process"
)

// Inspect is ports.Processes.
func (p *Processes) Inspect(ctx context.Context, id process.ID) (process.State, error) {
	if err := ctx.Err(); err != nil {
		return process.State{}, err
	}
	p.reap()
	return p.state(id)
}

// state returns the current status of a process, which its record may not have yet.
func (p *Processes) state(id process.ID) (process.State, error) {
	rec, lost, err := p.settled(id)
	if err != nil {
		return process.State{}, err
	}
	if lost {
		if err := rec.State.Lose(ownerDied(rec)+"; its remaining processes are stopped at the next start of Countersign", p.lastSign(id)); err != nil {
			return process.State{}, err
		}
	}
	if !rec.State.Status.Final() {
		rec.State.Elsewhere = p.elsewhere(rec)
	}
	return rec.State, nil
}

// List is ports.Processes.
func (p *Processes) List(ctx context.Context) ([]process.State, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p.reap()
	ids, err := p.all()
	if err != nil {
		return nil, err
	}
	states := make([]process.State, 0, len(ids))
	for _, id := range ids {
		s, err := p.state(id)
		if errors.Is(err, process.ErrNotFound) { // it was forgotten meanwhile, or is being made
			continue
		}
		if err != nil {
			return nil, err
		}
		states = append(states, s)
	}
	slices.SortFunc(states, func(a, b process.State) int {
		return cmp.Or(b.StartedAt.Compare(a.StartedAt), cmp.Compare(a.ID, b.ID))
	})
	return states, nil
}

// Output is ports.Processes.
func (p *Processes) Output(ctx context.Context, id process.ID, from process.Cursor) (process.Chunk, error) {
	if err := ctx.Err(); err != nil {
		return process.Chunk{}, err
	}
	p.reap()
	return p.output(id, from)
}

// output asks for the state first: when that is final, all output is there.
func (p *Processes) output(id process.ID, from process.Cursor) (process.Chunk, error) {
	s, err := p.state(id)
	if err != nil {
		return process.Chunk{}, err
	}
	chunk, err := ReadOutput(p.path(id, ""), from)
	chunk.Ended = s.Status.Final()
	return chunk, err
}

// Watch is ports.Processes. The process may be another Countersign process's, so it looks again and again.
func (p *Processes) Watch(ctx context.Context, id process.ID, from process.Cursor) (process.Chunk, error) {
	p.reap()
	const first, last = 10 * time.Millisecond, 100 * time.Millisecond
	timer := time.NewTimer(first)
	defer timer.Stop()
	for wait := first; ; wait = min(wait*5/4, last) {
		chunk, err := p.output(id, from)
		if err != nil || len(chunk.Lines) > 0 || chunk.Dropped > 0 || chunk.Ended || ctx.Err() != nil {
			return chunk, err
		}
		from = chunk.Next // of a place before or behind the end
		timer.Reset(wait)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
	}
}

// unheard is the number of attempts after which an owner in another PID namespace whose mailbox has no reader counts as unreachable.
const unheard = 12

// Stop is ports.Processes. An owner in another container hears it, where the directory is shared, and ends its process itself.
func (p *Processes) Stop(ctx context.Context, id process.ID, grace time.Duration) (process.State, error) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	asked, tries := false, 0
	for wait := 2 * time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		p.reap()
		rec, lost, err := p.settled(id)
		if err != nil || rec.State.Status.Final() {
			return rec.State, err
		}
		if err := ctx.Err(); err != nil {
			return rec.State, err
		}
		if lost {
			return p.settle(ctx, id, settlement{grace: grace, asked: true})
		}
		if !asked { // nobody reads yet when it is just starting, and nobody any more when it is just ending
			asked = PostToMailbox(p.path(id, boxName), stopLine(grace))
		}
		if tries++; tries > unheard && !MailboxHasReader(p.path(id, boxName)) { // whoever cannot be seen and does not hear is left alone
			if where := p.elsewhere(rec); where != "" {
				return rec.State, process.ErrElsewhere.WithMessage("process %s cannot be stopped here: it is %s", id, where)
			}
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
	}
}

// Recover is ports.Processes.
func (p *Processes) Recover(ctx context.Context) ([]process.State, error) {
	p.reap()
	p.saveEnded()
	ids, err := p.active()
	if err != nil {
		return nil, err
	}
	var done []process.State
	var failures error // of one must not keep the others as they are
	for _, id := range ids {
		if err := ctx.Err(); err != nil {
			return done, err
		}
		rec, lost, err := p.settled(id)
		if errors.Is(err, process.ErrNotFound) || err == nil && rec.State.Status.Final() {
			p.setEnded(id)
			continue
		}
		if err != nil || !lost {
			continue
		}
		s, err := p.settle(ctx, id, settlement{})
		if failures = errors.Join(failures, err); err == nil {
			done = append(done, s)
		}
	}
	p.prune()
	return done, failures
}

// settlement is how a process without an owner is brought to its end.
type settlement struct {
	grace time.Duration
	asked bool   // somebody wants it to end; otherwise it is found lost
	never string // why it never started, if that is known; its owner need not be dead then
}

// settle ends what is left of a process and writes its last state. One process does, while others wait and find it done.
func (p *Processes) settle(ctx context.Context, id process.ID, how settlement) (process.State, error) {
	lock, err := docfile.NewDir(p.o.Dir).Lock(ctx, string(id)+"/"+lockName)
	if err != nil {
		return process.State{}, err
	}
	defer lock.Release() //nolint:errcheck // the file stays, the lock goes with the descriptor
	rec, lost, err := p.settled(id)
	if err != nil || !lost && (how.never == "" || rec.State.Status.Final()) {
		return rec.State, err
	}
	last := p.lastSign(id)
	found, escalated, left := treeOf(rec).End(how.grace)
	s := &rec.State
	now := p.o.Clock.Now()
	switch {
	case how.never != "":
		err = s.Move(process.Failed, now)
		s.Reason = how.never
	case found == 0:
		err = s.Lose(ownerDied(rec)+"; none of its known processes was left", last)
	case how.asked:
		s.Escalated, s.Lost, s.Reason = escalated, true, "lost: "+ownerDied(rec)+"; it was stopped anyway"
		if s.Status != process.Stopping {
			err = s.Move(process.Stopping, now)
		}
		err = errors.Join(err, s.Move(process.Stopped, now))
	default:
		err = s.Lose(ownerDied(rec)+"; its remaining processes were killed", now)
	}
	if len(left) > 0 {
		s.Reason += "; " + unkillable(left)
	}
	if err == nil {
		err = p.save(rec)
	}
	if err == nil {
		p.setEnded(id)
	}
	return rec.State, err
}
