package app

import (
	"context"

	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/owner"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports"
)

// review computes again the plan of an approval, if this process sees the same files as the client that asked, and fails with confirm.ErrMismatch if
// it differs from the pending plan or from the one the user saw. It changes nothing, except that it withdraws a request whose plan changed. If the
// plan cannot be computed here, or may look different from here, the approval is for the recorded plan: the call computes its plan once more before
// it changes anything.
func (a *App) review(ctx context.Context, answer confirm.Decision) error {
	found, err := a.core.Ledger.Pending(ctx, ports.PendingFilter{ID: answer.ID}, a.core.Clock.Now())
	if err != nil || len(found) == 0 {
		return err
	}
	g := found[0]
	if shown := answer.Shown; shown != (canon.Hash{}) && shown != g.Binding.Subject {
		return confirm.ErrMismatch.WithMessage("the pending plan is not the plan that was shown; review it again")
	}
	if len(g.Remotes) > 0 { // the remotes are the whole plan
		if plan, err := newRemotesPlan(g.Remotes, ""); err != nil || plan.hash != g.Binding.Subject {
			return confirm.ErrEdited
		}
		return nil
	}
	if !a.sees(&g) {
		return nil
	}
	now, err := a.replan(ctx, &g)
	if err == nil || now == (canon.Hash{}) {
		return nil
	}
	if withdrawn := a.grants.Withdraw(ctx, g.ID, VerdictChanged); withdrawn != nil {
		a.core.Log.Warn("an outdated approval request could not be cancelled", "confirmation", g.ID, "cause", withdrawn.Error())
	}
	return err
}

// sees reports whether this process sees what the client that asked sees: same place, same files, and the same working directory if the tool depends
// on it.
func (a *App) sees(g *confirm.Request) bool {
	spec, _ := a.Spec(tool.Name(g.Binding.Tool))
	return (!spec.UsesWorkingDir || g.Place == a.opts.Place) && (g.Owner == "" || g.Sight == a.opts.Sight) && owner.SamePlace(g.Owner, a.core.Owner.Self())
}

// replan returns the hash of the current plan of the call behind an approval request; the error says that there is none or that it is another one. A
// call without a plan, or of a tool that is not available here, keeps the hash of the request.
func (a *App) replan(ctx context.Context, g *confirm.Request) (canon.Hash, error) {
	b := g.Binding
	r := a.begin(tool.Call{Session: b.Session, Principal: policy.Principal{ID: b.Principal, Grants: policy.All}, Mode: g.Mode, Tool: tool.Name(b.Tool),
		Args: g.Args, FromUser: true})
	if r.lookUp() != nil {
		return b.Subject, nil
	}
	ctx, cancel := context.WithTimeout(ctx, r.timeout())
	defer cancel()
	plan, err := r.planned(ctx)
	if err != nil {
		return canon.Hash{}, r.mask.Fault(fault.From(err))
	}
	if plan == nil || plan.Hash() == b.Subject {
		return b.Subject, nil
	}
	now, _ := r.shown(plan) // a plan that cannot be shown is reported without differences
	b.Subject = plan.Hash()
	return b.Subject, MismatchError(g, b, now)
}

// planned returns the plan of the call without applying it. A panic is an error.
func (r *run) planned(ctx context.Context) (plan tool.Plan, err error) {
	defer func() {
		if p := recover(); p != nil {
			plan, err = nil, fault.ErrInternal
		}
	}()
	if err := r.takeToken(); err != nil {
		return nil, err
	}
	if r.invocation, err = r.entry.Handler.Decode(r.call.Args); err != nil {
		return nil, err
	}
	if r.app.core.Outreach != nil { // a decision contacts no remote that is not approved
		ctx, _ = r.app.core.Outreach.Guard(ctx, r.app.approvedRemote)
	}
	return r.invocation.Prepare(ctx, r.scope)
}

// ChangeCounter returns a number that changes whenever any process changes stored data. It is fast enough to call many times a second.
func (a *App) ChangeCounter(ctx context.Context) (int64, error) {
	if s, ok := a.core.Settings.(ports.ChangeCounter); ok {
		return s.ChangeCounter(ctx)
	}
	return a.core.Clock.Now().UnixNano(), nil
}
