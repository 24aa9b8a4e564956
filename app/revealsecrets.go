package app

import (
	"context"
	"encoding/json"

	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/domain/visible"
	"github.com/countersign-dev/countersign/ports"
)

// ErrUnrevealed is returned for an approval request whose redacted parts cannot be recomputed here.
var ErrUnrevealed = fault.New(fault.Unavailable, "reveal_unavailable", "the redacted parts of this plan cannot be revealed here")

// Reveal returns an approval request, as Confirmations does, without redaction. Because only the redacted plan is stored, it computes the plan again. The result
// is for the user, at a terminal or in the console; never pass it to a client or store it. It fails with confirm.ErrMismatch if the plan has changed, and
// with ErrUnrevealed.
func (a *App) Reveal(ctx context.Context, id string) (confirm.View, error) {
	found, err := a.core.Ledger.Pending(ctx, ports.PendingFilter{ID: id}, a.core.Clock.Now())
	if err != nil {
		return confirm.View{}, err
	}
	if len(found) == 0 {
		return confirm.View{}, confirm.ErrNotFound.WithMessage("approval request %s is not pending: it expired or was already decided", visible.Text(id))
	}
	g := found[0]
	if err := a.asAsked(ctx, id); err != nil {
		return confirm.View{}, err
	}
	v := g.View()
	v.Revealed, v.Arguments = true, visible.JSON(g.Args)
	r := a.begin(tool.Call{Session: g.Binding.Session, Principal: policy.Principal{ID: g.Binding.Principal, Grants: policy.All}, Mode: g.Mode, Tool: tool.Name(g.Binding.Tool),
		Args: g.Args, FromUser: true})
	if r.lookUp() != nil {
		return confirm.View{}, ErrUnrevealed.WithMessage("the redacted parts cannot be revealed here: %s is not enabled in this process; reveal them where the call was made", g.Binding.Tool)
	}
	if r.entry.Spec.UsesWorkingDir && g.Place != a.opts.Place {
		return confirm.View{}, ErrUnrevealed.WithMessage("the redacted parts depend on the directory of the call; reveal them in %s (cd there first)", visible.Text(g.Place))
	}
	ctx, cancel := context.WithTimeout(ctx, r.timeout())
	defer cancel()
	plan, err := r.planned(ctx)
	if err != nil {
		return confirm.View{}, r.mask.Fault(fault.From(err))
	}
	if plan == nil {
		return v, nil
	}
	b := g.Binding
	if b.Subject = plan.Hash(); b != g.Binding {
		now, _ := r.shown(plan) // a plan that cannot be shown is reported without differences
		return confirm.View{}, MismatchError(&g, b, now)
	}
	bare := InspectPlan(ctx, plan, nil, func(doc json.RawMessage) json.RawMessage { return doc })
	if bare.Err != nil {
		return confirm.View{}, bare.Err
	}
	v.Plan = bare.Plan
	if len(g.Exhibit) > 0 {
		if v.Exhibit = bare.BoundedExhibit(a.core.Log); v.Exhibit == nil {
			return confirm.View{}, ErrUnrevealed.WithMessage("the redacted parts beside the plan cannot be computed now; try again")
		}
	}
	return v, nil
}
