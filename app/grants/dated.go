package grants

import (
	"context"
	"errors"
	"time"

	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/ports"
)

// keep stores what an answer on record allowed until a date, and forgets what ran out long ago.
func (k *Keeper) keep(ctx context.Context, d confirm.Dated) error {
	all, err := k.Dated.List(ctx)
	if err != nil {
		return err
	}
	now := k.Clock.Now()
	for _, old := range all {
		if now.After(old.Until.Add(kept)) {
			if err := k.Dated.Remove(ctx, old.ID); err != nil && !errors.Is(err, confirm.ErrNoAllowance) {
				return err
			}
		}
	}
	return k.Dated.Add(ctx, d)
}

// datedNow is the dated grants that hold, and have their answers on record: a row that somebody edited, put there or brought back is none.
func (k *Keeper) datedNow(ctx context.Context, now time.Time) (out []confirm.Dated, err error) {
	if k.Dated == nil {
		return nil, nil
	}
	all, err := k.Dated.List(ctx)
	for _, d := range all {
		if err != nil || !d.Holds(now) {
			continue
		}
		var vouched bool
		if vouched, err = k.DatedOnRecord(ctx, d); vouched {
			out = append(out, d)
		}
	}
	return out, err
}

// DatedOnRecord reports whether the audit has the answer that gave d, as d says, and nobody who revoked it.
func (k *Keeper) DatedOnRecord(ctx context.Context, d confirm.Dated) (bool, error) {
	rule := d.Rule()
	if rule == "" {
		return false, nil
	}
	return k.ruled(ctx, d.ID, d.Tool, rule, policy.ProvingNone)
}

// Let uses a dated grant that covers the call, and reports whether there is one. Of all that revoke it and use it at the same time, the store has one first.
func (k *Keeper) Let(ctx context.Context, c confirm.Claim) (confirm.Dated, bool, error) {
	if k.Dated == nil || c.IsZero() {
		return confirm.Dated{}, false, nil
	}
	all, err := k.Dated.List(ctx)
	if err != nil {
		return confirm.Dated{}, false, err
	}
	now := k.Clock.Now()
	for _, d := range all {
		if !d.Covers(c) || !d.Holds(now) {
			continue
		}
		if vouched, err := k.DatedOnRecord(ctx, d); err != nil || !vouched {
			if err != nil {
				return confirm.Dated{}, false, err
			}
			continue
		}
		rule := d.Rule()
		err := k.Dated.Change(ctx, d.ID, func(have *confirm.Dated) error {
			if have.Rule() != rule || !have.Holds(now) {
				return confirm.ErrNoAllowance
			}
			have.Uses++
			if now := now.UTC().Round(0); now.After(have.UsedAt) {
				have.UsedAt = now
			}
			d = *have
			return nil
		})
		switch {
		case err == nil:
			return d, true, nil
		case !errors.Is(err, confirm.ErrNoAllowance):
			return confirm.Dated{}, false, err
		}
	}
	return confirm.Dated{}, false, nil
}

// Earlier is how often people approved that plan of that tool for that principal before, as far as the newest answers on record tell.
func (k *Keeper) Earlier(ctx context.Context, id string) (int, error) {
	found, err := k.Ledger.Pending(ctx, ports.PendingFilter{ID: id}, k.Clock.Now())
	if err != nil || len(found) == 0 {
		return 0, err
	}
	b := found[0].Binding
	said, err := k.Audit.Search(ctx, audit.Filter{Phase: audit.Answer, Tool: b.Tool, Limit: audit.AtMost})
	n := 0
	for _, r := range said {
		e := r.Event
		if e.Verdict == wordApprove && e.Code == "" && e.Plan == b.Subject && e.Principal == b.Principal && e.CallID != id {
			n++
		}
	}
	return n, err
}
