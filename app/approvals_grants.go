package app

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/ports"
)

// keep stores the grant of a recorded decision until its date and deletes grants that expired long ago.
func (k *Approvals) keep(ctx context.Context, d confirm.Dated) error {
	all, err := k.Dated.List(ctx)
	if err != nil {
		return err
	}
	now := k.Clock.Now()
	for _, old := range all {
		if now.After(old.Until.Add(approvalsKept)) {
			if err := k.Dated.Remove(ctx, old.ID); err != nil && !errors.Is(err, confirm.ErrNoSessionGrant) {
				return err
			}
		}
	}
	if err := k.Dated.Add(ctx, d); err != nil {
		return err
	}
	k.wake(ctx, d)
	return nil
}

// wake signals the calls that wait for decisions which d makes unnecessary.
func (k *Approvals) wake(ctx context.Context, d confirm.Dated) {
	waiting, err := k.Ledger.Pending(ctx, ports.PendingFilter{Brief: true}, k.Clock.Now())
	if err != nil {
		k.Log.Warn("calls that the new grant allows could not be looked up", "grant", d.ID, "cause", err.Error())
	}
	for _, g := range waiting {
		if g.ID != d.ID && g.State == confirm.Pending && d.Covers(claim(&g)) {
			k.Bell.Ring(g.ID)
		}
	}
}

// claim returns the call of a request as the stored request describes it: enough to wake the call, not to let it run.
func claim(g *confirm.Request) confirm.Claim {
	if !g.Datable() {
		return confirm.Claim{}
	}
	return confirm.Claim{Tool: g.Binding.Tool, Principal: g.Binding.Principal, Entry: g.Entry, Args: confirm.ArgsSum(g.Args), Reach: g.Reach}
}

// needless reports whether a dated grant covers the request. The call that asked verifies this itself.
func (k *Approvals) needless(ctx context.Context, g *confirm.Request) (bool, error) {
	c := claim(g)
	if c.IsZero() {
		return false, nil
	}
	dated, err := k.datedNow(ctx, k.Clock.Now())
	return slices.ContainsFunc(dated, func(d confirm.Dated) bool { return d.Covers(c) }), err
}

// Moot ends the pending request of a call that a dated grant now lets run, and reports whether it did. The call record is the caller's.
func (k *Approvals) Moot(ctx context.Context, id string) bool {
	now := k.Clock.Now()
	defer k.Bell.Ring(id)
	g, err := k.settle(ctx, id, "cancel", VerdictGranted, func(g *confirm.Request) error {
		if g.State != confirm.Pending {
			return confirm.ErrAnswered
		}
		return g.Cancel(now)
	})
	return err == nil && g.State == confirm.Canceled
}

// datedNow returns the active dated grants whose decisions are in the audit log: a row that was edited, inserted or restored does not count.
func (k *Approvals) datedNow(ctx context.Context, now time.Time) (out []confirm.Dated, err error) {
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

// DatedOnRecord reports whether the audit log has the decision that gave exactly d, and no revocation.
func (k *Approvals) DatedOnRecord(ctx context.Context, d confirm.Dated) (bool, error) {
	rule := d.Rule()
	if rule == "" {
		return false, nil
	}
	return k.ruled(ctx, d.ID, d.Tool, rule, policy.ProvingNone, func(e *audit.Event) bool { return e.Principal == d.Principal })
}

// Let uses a dated grant that covers the call, and reports whether there is one. The store orders concurrent uses and revocations.
func (k *Approvals) Let(ctx context.Context, c confirm.Claim) (confirm.Dated, bool, error) {
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
				return confirm.ErrNoSessionGrant
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
		case !errors.Is(err, confirm.ErrNoSessionGrant):
			return confirm.Dated{}, false, err
		}
	}
	return confirm.Dated{}, false, nil
}

// Earlier returns how often the user approved that plan of that tool for that principal before, counted over the newest recorded decisions.
func (k *Approvals) Earlier(ctx context.Context, id string) (int, error) {
	found, err := k.Ledger.Pending(ctx, ports.PendingFilter{ID: id}, k.Clock.Now())
	if err != nil || len(found) == 0 {
		return 0, err
	}
	b := found[0].Binding
	said, err := k.Audit.Search(ctx, audit.Filter{Phase: audit.Answer, Tool: b.Tool, Limit: audit.MaxListed})
	n := 0
	for _, r := range said {
		e := r.Event
		if e.Verdict == wordApprove && e.Code == "" && e.Plan == b.Subject && e.Principal == b.Principal && e.CallID != id {
			n++
		}
	}
	return n, err
}
