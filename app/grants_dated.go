package app

import (
	"context"
	"strings"

	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// secretless returns a scope without secrets; redacted parts still distinguish scopes.
func (r *run) secretless(scope string) string {
	if masked := r.mask.Text(scope); masked != scope {
		return masked + " " + canon.SumBytes("policy.scope.v1", []byte(scope)).String()
	}
	return scope
}

// reach returns what a dated grant for the current plan is bound to. It is zero if the user must be asked every time: because of a high risk, because
// the plan passes on permissions or opens something, because a proof is needed, because a setting says that this always asks, or because the grants
// may be those of other users.
func (r *run) reach() confirm.Reach {
	d := r.decision
	if r.app.core.Dated == nil || r.app.opts.Strange || !r.human || d.Verdict != policy.Confirm || d.Rule != policy.RuleStrength || d.Needs != policy.ProvingNone ||
		max(d.Strength, r.assessment.Strength, r.assessment.Human) >= policy.Typed || !r.assessment.AllowsSessionGrant() || r.survey.MustReveal || r.opening(r.plan) {
		return confirm.Reach{}
	}
	scope := r.ownScope()
	if s, ok := r.plan.(tool.Scoped); ok {
		_, dated := s.Scopes()
		scope = r.secretless(dated)
	}
	target, _, _ := strings.Cut(scope, "@") // the digest of the content follows it
	reach := confirm.Reach{Scope: scope, Content: r.planHash, Target: target}
	if l, ok := r.plan.(tool.Looser); ok {
		reach.Loose = l.Loose()
	}
	return reach
}

// let reports whether a dated grant covers exactly this call; if so, the call is let through and marked with that grant. Grants that cannot be read
// let nothing through.
func (r *run) let(ctx context.Context) bool {
	reach := r.reach()
	if reach.IsZero() {
		return false
	}
	d, ok, err := r.app.grants.Let(ctx, confirm.Claim{Tool: string(r.call.Tool), Principal: r.call.Principal.ID, Entry: r.call.Entry, Args: confirm.ArgsSum(r.call.Args), Reach: reach})
	if err != nil {
		r.app.core.Log.Warn("dated grants could not be read, so the user is asked", "cause", err.Error())
	}
	if !ok {
		return false
	}
	r.waived, r.lets = true, d.ID
	r.decision.Rule, r.answerer = policy.RuleDated, policy.RuleDated
	return true
}

// datedReach returns what a dated grant for the call of an approval request is bound to. It is computed again: what the stored request says does not
// count.
func (a *App) datedReach(ctx context.Context, g *confirm.Request) (reach confirm.Reach, err error) {
	if !a.sees(g) {
		return reach, confirm.ErrUngrantable.WithMessage("the process that asked sees other files than this one, so it cannot be allowed until a date here; approve it once, or allow it there")
	}
	defer func() {
		if p := recover(); p != nil {
			reach, err = confirm.Reach{}, fault.ErrInternal
		}
	}()
	b := g.Binding
	r := a.begin(tool.Call{Session: b.Session, Principal: policy.Principal{ID: b.Principal, Grants: policy.All}, Entry: g.Entry, Mode: g.Mode, Tool: tool.Name(b.Tool), Args: g.Args, FromUser: true})
	if err := r.lookUp(); err != nil {
		return reach, confirm.ErrUngrantable.WithMessage("%s is not enabled in this process, so it cannot be allowed until a date here; approve it once, or allow it where it was asked", b.Tool)
	}
	ctx, cancel := context.WithTimeout(ctx, r.timeout())
	defer cancel()
	if r.plan, err = r.planned(ctx); err != nil {
		return reach, r.mask.Fault(fault.From(err))
	}
	for _, step := range []func(context.Context) error{r.claim, r.decide, r.subject} {
		if err := step(ctx); err != nil {
			return reach, r.mask.Fault(fault.From(err))
		}
	}
	if r.planHash != b.Subject {
		return reach, MismatchError(g, r.binding(), nil)
	}
	return r.reach(), nil
}

// Earlier returns how often the user approved exactly the plan of that approval request for its principal before.
func (a *App) Earlier(ctx context.Context, id string) (int, error) { return a.grants.Earlier(ctx, id) }
