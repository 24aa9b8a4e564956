package app

import (
	"context"

	"github.com/countersign-dev/countersign/app/grants"
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports"
)

// review works out anew the plan that an approval is about, and fails with confirm.ErrMismatch where it is another one than waits, or than the
// person saw. It changes nothing but that such a question is withdrawn. The call itself is checked once more when it is carried out; what cannot
// be worked out here, because of a tool that is not served, a place that does not answer, or a process that stands elsewhere, is left to that.
func (a *App) review(ctx context.Context, answer confirm.Answer) error {
	found, err := a.core.Ledger.Pending(ctx, ports.PendingFilter{ID: answer.ID}, a.core.Clock.Now())
	if err != nil || len(found) == 0 {
		return err
	}
	g := found[0]
	if shown := answer.Shown; shown != (canon.Hash{}) && shown != g.Binding.Subject {
		return confirm.ErrMismatch.Sayf("what waits for an answer is not the plan that was shown; look at it again")
	}
	if spec, _ := a.Spec(tool.Name(g.Binding.Tool)); spec.Placed && g.Place != a.opts.Place {
		return nil
	}
	now, err := a.replan(ctx, &g)
	if err == nil {
		return nil
	}
	if f := fault.From(err); now == (canon.Hash{}) && (f.Kind == fault.Internal || f.Kind == fault.Unavailable || f.Kind == fault.Timeout || f.Kind == fault.Canceled) {
		return nil
	} else if now == (canon.Hash{}) {
		err = confirm.ErrMismatch.Sayf("what was to be confirmed cannot be done any more: %s", f.Message)
	}
	if withdrawn := a.grants.Withdraw(ctx, g.ID, grants.Outdated); withdrawn != nil {
		a.core.Log.Warn("a confirmation that is out of date could not be withdrawn", "confirmation", g.ID, "cause", withdrawn.Error())
	}
	return err
}

// replan is the hash of the plan that the call behind a grant has now, with an error when there is none or it is not the grant's. A call
// without a plan, and one of a tool that is not here, has that of the grant.
func (a *App) replan(ctx context.Context, g *confirm.Grant) (canon.Hash, error) {
	b := g.Binding
	r := a.begin(tool.Call{Session: b.Session, Principal: policy.Principal{ID: b.Principal, Grants: policy.All}, Mode: g.Mode, Tool: tool.Name(b.Tool),
		Args: g.Args, Person: true})
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
	now, _ := r.shown(plan) // what cannot be shown is told of without differences
	b.Subject = plan.Hash()
	return b.Subject, grants.Explain(g, b, now)
}

// planned is the plan of the call, worked out and not carried out. A panic is an error.
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
	return r.invocation.Prepare(ctx, r.scope)
}

// Stamp is a number that is another one once anything this door shows may have changed, in whatever process. It is cheap enough to ask
// many times a second.
func (a *App) Stamp(ctx context.Context) (int64, error) {
	if s, ok := a.core.Settings.(ports.Stamped); ok {
		return s.Stamp(ctx)
	}
	return a.core.Clock.Now().UnixNano(), nil
}
