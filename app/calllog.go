package app

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"

	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports"
)

// tidied is the number of new records after which old ones are deleted; the first record of a process does so too.
const tidied = 64

// Calls keeps call records. It is safe for concurrent use. NewCalls makes one.
type Calls struct {
	store ports.Runs
	owner ports.ProcessIdentity
	clock ports.Clock
	log   *slog.Logger
	added atomic.Int64
}

// NewCalls returns Calls over that store, for calls of the process that owner names.
func NewCalls(store ports.Runs, owner ports.ProcessIdentity, clock ports.Clock, log *slog.Logger) *Calls {
	return &Calls{store: store, owner: owner, clock: clock, log: log}
}

// Note stores a record of a call that does not run, or not yet. A failure is only logged.
func (k *Calls) Note(ctx context.Context, r tool.Record) {
	if r.Status.Final() {
		r.EndedAt = k.clock.Now()
	}
	if err := k.store.Add(ctx, r); err != nil {
		k.log.Warn("a call could not be recorded", "call", r.CallID, "tool", r.Tool, "status", r.Status.String(), "cause", err.Error())
		return
	}
	k.tidy(ctx)
}

// Start records that the call is being applied: in the record that waited for its approval, or in a new one. If it fails, the call must not be applied.
func (k *Calls) Start(ctx context.Context, r tool.Record) error {
	now := k.clock.Now()
	if r.ConfirmationID != "" {
		err := k.store.Change(ctx, r.ConfirmationID, func(waiting *tool.Record) error {
			return waiting.Start(r.CallID, r.Decision, k.owner.Self(), now)
		})
		if !errors.Is(err, tool.ErrRecordUnknown) {
			return err
		}
	}
	r.Status, r.Owner, r.StartedAt = tool.StatusExecuting, k.owner.Self(), now
	return k.store.Add(ctx, r)
}

// Finish records the result of a call that was started.
func (k *Calls) Finish(ctx context.Context, call string, result tool.Result, reason tool.Reason) error {
	now := k.clock.Now()
	err := k.store.Change(ctx, call, func(r *tool.Record) error { return r.Finish(result, reason, now) })
	if err == nil {
		k.tidy(ctx)
	}
	return err
}

// Deny ends the record that waits for this approval, if there is one, with who denied it and the reason, both empty if no user did. A failure is only
// logged.
func (k *Calls) Deny(ctx context.Context, confirmation string, reason tool.Reason, by, said string) {
	now := k.clock.Now()
	err := k.store.Change(ctx, confirmation, func(r *tool.Record) error {
		r.Decision, r.Said = by, said
		return r.Deny(reason, now)
	})
	if err != nil && !errors.Is(err, tool.ErrRecordUnknown) && !errors.Is(err, tool.ErrMove) {
		k.log.Warn("a denial could not be recorded", "confirmation", confirmation, "cause", err.Error())
	}
}

// Refuse ends the record of a call for which no approval request could be made. A failure is only logged.
func (k *Calls) Refuse(ctx context.Context, call string, result tool.Result) {
	now := k.clock.Now()
	err := k.store.Change(ctx, call, func(r *tool.Record) error {
		r.Result = &result
		return r.Deny(tool.ReasonRejected, now)
	})
	if err != nil {
		k.log.Warn("a rejected call could not be recorded", "call", call, "cause", err.Error())
	}
}

// List returns the current records that the filter selects, newest first.
func (k *Calls) List(ctx context.Context, f ports.RunFilter) ([]tool.Record, error) {
	k.settle(ctx)
	found, err := k.store.List(ctx, f)
	if err != nil {
		return nil, err
	}
	for i := range found {
		found[i] = k.settled(ctx, found[i]) // the settled record, also if it could not be stored
	}
	return slices.DeleteFunc(found, func(r tool.Record) bool { return !f.Matches(&r) }), nil
}

// Load returns the current record of that call or approval request. It fails with tool.ErrRecordUnknown.
func (k *Calls) Load(ctx context.Context, id string) (tool.Record, error) {
	r, err := k.store.Load(ctx, id)
	if err == nil {
		r = k.settled(ctx, r)
	}
	return r, err
}

// settled returns the record in its current status. A process stores the end of a call before it exits, so once the process has ended the stored
// status is final.
func (k *Calls) settled(ctx context.Context, r tool.Record) tool.Record {
	now := k.clock.Now()
	if open := r; r.Settle(now, k.gone) {
		if last, err := k.store.Load(ctx, open.CallID); err == nil {
			last.Settle(now, k.gone)
			return last
		}
	}
	return r
}

// gone reports whether a process is known to have ended; false for one that cannot be observed from here.
func (k *Calls) gone(name string) bool { return k.owner.Judge(name).Dead() }

// settle stores the end of the newest records that look open but have ended.
func (k *Calls) settle(ctx context.Context) {
	now := k.clock.Now()
	for _, status := range []tool.Status{tool.StatusPendingConfirmation, tool.StatusExecuting} {
		open, err := k.store.List(ctx, ports.RunFilter{Status: status, Limit: ports.RunsAtMost})
		for _, r := range open {
			of := r.Owner
			if err != nil || !r.Settle(now, k.gone) {
				continue
			}
			err = k.store.Change(ctx, r.CallID, func(have *tool.Record) error { // a process that has ended stays ended
				if !have.Settle(now, func(owner string) bool { return owner == of }) {
					return tool.ErrMove
				}
				return nil
			})
			if errors.Is(err, tool.ErrMove) || errors.Is(err, tool.ErrRecordUnknown) {
				err = nil // another process stored it first
			}
		}
		if err != nil {
			k.log.Warn("open call records could not be closed", "cause", err.Error())
			return
		}
	}
}

// tidy settles open records and deletes old ones, once in a while.
func (k *Calls) tidy(ctx context.Context) {
	if k.added.Add(1)%tidied != 1 {
		return
	}
	k.settle(ctx)
	if _, err := k.store.Purge(ctx, tool.MaxKeptRecords, k.clock.Now().Add(-tool.RecordRetention)); err != nil {
		k.log.Warn("old call records could not be deleted", "cause", err.Error())
	}
}
