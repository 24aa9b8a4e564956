package app

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/visible"
	"github.com/countersign-dev/countersign/ports"
)

// Remember stores a session grant for what g asked, in its session; by is the channel of the decision.
func (k *Approvals) Remember(ctx context.Context, g confirm.Request, by string) error {
	a := g.SessionGrant(by, k.Clock.Now().UTC())
	return k.Sessions.Update(ctx, ports.SessionKey(g.Binding.Principal, g.Binding.Session), func(s *ports.Session) error {
		s.Grant(a)
		return nil
	})
}

// Approved returns the approved request of a call that a session grant now lets run; the zero digest and an empty ID if there is none.
func (k *Approvals) Approved(ctx context.Context, b confirm.Binding) (confirm.Digest, string) {
	now := k.Clock.Now()
	asked, err := k.Ledger.Pending(ctx, ports.PendingFilter{Binding: &b, Brief: true}, now)
	for i := range asked {
		if g := &asked[i]; err == nil && g.State == confirm.Approved && g.Check(b, "", now) == nil {
			return g.Digest, g.ID
		}
	}
	return confirm.Digest{}, ""
}

// Spend uses that approved request, and reports whether it did: another call may have been faster.
func (k *Approvals) Spend(ctx context.Context, d confirm.Digest, b confirm.Binding) bool {
	return k.Ledger.Settle(ctx, d, func(g *confirm.Request) error { return g.Redeem(b, "", k.Clock.Now()) }) == nil
}

// Allowed returns the session grants of all sessions and the dated grants, oldest first.
func (k *Approvals) Allowed(ctx context.Context) ([]confirm.ListedGrant, error) {
	sessions, err := k.Sessions.List(ctx)
	if err != nil {
		return nil, err
	}
	all, now := []confirm.ListedGrant{}, k.Clock.Now()
	for key, s := range sessions {
		principal, instance := ports.SessionOf(key)
		for _, a := range s.Granted {
			if a.Holds(now) {
				a.Scope, a.What = visible.Text(a.Scope), visible.Text(a.What)
				all = append(all, confirm.ListedGrant{SessionGrant: a, Session: instance, Principal: principal, ExpiresAt: a.ExpiresAt()})
			}
		}
	}
	dated, err := k.datedNow(ctx, now)
	if err != nil {
		return nil, err
	}
	for _, d := range dated {
		d.Scope = visible.Text(d.Scope)
		all = append(all, d.Always())
	}
	slices.SortStableFunc(all, func(a, b confirm.ListedGrant) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID)) })
	return all, nil
}

// Revoke ends the grant with that ID from the next call on, and records who revoked it. It fails with confirm.ErrNoSessionGrant.
func (k *Approvals) Revoke(ctx context.Context, id, by string) (confirm.ListedGrant, error) {
	all, err := k.Allowed(ctx)
	if err != nil {
		return confirm.ListedGrant{}, err
	}
	i := slices.IndexFunc(all, func(a confirm.ListedGrant) bool { return a.ID == id })
	if i < 0 {
		return confirm.ListedGrant{}, confirm.ErrNoSessionGrant.WithMessage("session grant %s not found; it may have ended with its session or expired", visible.Text(id))
	}
	ended := all[i]
	err = k.Audit.Append(ctx, audit.Event{Time: k.Clock.Now(), Phase: audit.Answer, Session: ended.Session, Principal: ended.Principal, Tool: ended.Tool,
		Verdict: wordRevoke, ApprovedBy: by, CallID: id})
	if err != nil {
		return confirm.ListedGrant{}, err
	}
	if ended.Dated != nil {
		err := k.Dated.Remove(ctx, id)
		if errors.Is(err, confirm.ErrNoSessionGrant) { // another process was faster
			err = confirm.ErrNoSessionGrant.WithMessage("session grant %s is no longer active", visible.Text(id))
		}
		return ended, err
	}
	return ended, k.Sessions.Update(ctx, ports.SessionKey(ended.Principal, ended.Session), func(s *ports.Session) error {
		i := slices.IndexFunc(s.Granted, func(a confirm.SessionGrant) bool { return a.ID == id })
		if i < 0 { // another process was faster, or the session has ended since
			return confirm.ErrNoSessionGrant.WithMessage("session grant %s is no longer active", visible.Text(id))
		}
		s.Granted = slices.Delete(s.Granted, i, i+1)
		return nil
	})
}
