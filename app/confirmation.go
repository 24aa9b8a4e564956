package app

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/domain/toolrun"
	"github.com/countersign-dev/countersign/ports"
)

func (r *run) binding() confirm.Binding {
	return confirm.Binding{Session: r.call.Session, Principal: r.call.Principal.ID, Tool: string(r.call.Tool), Subject: r.planHash}
}

// present checks, before any work is done for a call, that what it brings along could confirm it: a tool whose tokens come from another
// one asks for nothing itself.
func (r *run) present(ctx context.Context) error {
	s := r.entry.Spec
	if s.Preview == "" || r.decision.Verdict != policy.Confirm || r.call.Answer != nil || r.app.opts.HumanOnly && r.call.Token.IsZero() {
		return nil
	}
	if r.call.Token.IsZero() {
		return ErrRequired.Sayf("%s needs the confirm_token that %s gives for the plan it shows; call %s, show its plan, then call again with the token", s.Name, s.Preview, s.Preview)
	}
	return r.app.core.Ledger.Settle(ctx, r.call.Token.Digest(), func(g *confirm.Grant) error {
		binding := r.binding()
		binding.Subject = g.Binding.Subject // the plan is not known yet
		return g.Check(binding, r.call.Typed, r.app.core.Clock.Now())
	})
}

// confirmed passes when the plan at hand was confirmed: by the call's token, by a person's answer, or by a grant that a person has
// approved meanwhile. Otherwise it asks. The grant is spent later, after the intent is on record.
func (r *run) confirmed(ctx context.Context) error {
	ledger, now := r.app.core.Ledger, r.app.core.Clock.Now()
	if r.call.Answer == nil && !r.call.Token.IsZero() {
		r.digest, r.answerer = r.call.Token.Digest(), "token"
		err := ledger.Settle(ctx, r.digest, func(g *confirm.Grant) error {
			if r.grantID = g.ID; g.Answerer != "" {
				r.answerer = g.Answerer
			}
			return r.explain(g, g.Check(r.binding(), r.call.Typed, now))
		})
		if errors.Is(err, confirm.ErrBurnt) {
			r.app.runs.Deny(ctx, r.grantID, toolrun.Mistyped)
		}
		return err
	}
	if a := r.call.Answer; a != nil {
		g, err := r.app.answer(ctx, *a)
		if err != nil {
			return err
		}
		r.digest, r.grantID, r.answerer = g.Digest, g.ID, a.By
		return r.explain(&g, g.Check(r.binding(), a.Typed, now))
	}
	binding := r.binding()
	pending, err := ledger.Pending(ctx, ports.PendingFilter{Binding: &binding}, now)
	if err != nil {
		return err
	}
	for _, g := range pending {
		if g.State == confirm.Approved {
			r.digest, r.grantID, r.answerer = g.Digest, g.ID, g.Answerer
			return nil
		}
		if g.HumanOnly && r.app.opts.HumanOnly {
			return r.asked(g, confirm.Token{})
		}
	}
	return r.ask(ctx)
}

// Changed is the details of a confirmation that was given for another plan than there is now: which one, and where the two differ.
type Changed struct {
	Current     canon.Hash           `json:"current_plan_hash"`
	Confirmed   canon.Hash           `json:"confirmed_plan_hash"`
	Differences []confirm.Difference `json:"differences,omitempty"`
}

// explain says, of a confirmation that fits but for its plan, which plan it was for, and what has changed since.
func (r *run) explain(g *confirm.Grant, err error) error {
	binding := r.binding()
	if binding.Subject == g.Binding.Subject || !errors.Is(err, confirm.ErrMismatch) {
		return err
	}
	if binding.Subject = g.Binding.Subject; binding != g.Binding {
		return err
	}
	changed := Changed{Current: r.planHash, Confirmed: g.Binding.Subject}
	if doc, err := tool.Encode(r.plan); err == nil && r.plan != nil && len(g.Plan) > 0 {
		changed.Differences = confirm.Differences(g.Plan, r.mask.JSON(doc))
	}
	return confirm.ErrMismatch.With(changed)
}

// ask issues a grant for the plan at hand and answers with it.
func (r *run) ask(ctx context.Context) error {
	a := r.assessment
	a.Strength = r.decision.Strength
	g, token, err := r.grant(r.call.Tool, r.call.Args, r.plan, a)
	if err != nil {
		return err
	}
	if err := r.issue(ctx, g); err != nil {
		return err
	}
	r.asks = true
	return r.asked(g, token)
}

// keepGrants is how long a grant that has expired is remembered, so that its token is told from one that never was.
const keepGrants = 24 * time.Hour

// issue stores a grant and forgets those nobody will ask about any more.
func (r *run) issue(ctx context.Context, g confirm.Grant) error {
	if err := r.app.core.Ledger.Issue(ctx, g); err != nil {
		return err
	}
	if _, err := r.app.core.Ledger.Purge(ctx, r.app.core.Clock.Now().Add(-keepGrants)); err != nil {
		r.app.core.Log.Warn("old confirmations could not be forgotten", "cause", err.Error())
	}
	return nil
}

// asked puts the question into the outcome.
func (r *run) asked(g confirm.Grant, token confirm.Token) error {
	r.out.Issued = &tool.Issued{
		ID: g.ID, Token: token, Tool: tool.Name(g.Binding.Tool), Strength: g.Strength, Risk: g.View().Risk, Prompt: g.Prompt, Target: g.Target,
		PlanHash: g.Binding.Subject, Plan: g.Plan, ExpiresAt: g.ExpiresAt,
	}
	if token.IsZero() {
		return ErrRequired.Sayf("%s; a person answers it in the client's form, with countersign approve %s, or in the console; then call again", g.Prompt, g.ID)
	}
	return ErrRequired.Sayf("%s; show the plan to a person, then repeat the call with confirm_token, or call confirm with it as token", g.Prompt)
}

// grant is a new confirmation for a plan of tool name, bound to this call's session and principal.
func (r *run) grant(name tool.Name, args json.RawMessage, plan tool.Plan, a policy.Assessment) (confirm.Grant, confirm.Token, error) {
	now, token := r.app.core.Clock.Now(), r.app.core.Tokens.NewToken()
	g := confirm.Grant{
		ID: r.app.core.IDs.NewID("cf_", 10), Digest: token.Digest(), Args: args, Mode: r.call.Mode,
		Strength: max(a.Strength, policy.Simple), Risk: a.Risk, Scope: a.Scope,
		Binding: confirm.Binding{Session: r.call.Session, Principal: r.call.Principal.ID, Tool: string(name), Subject: r.planHash},
		Prompt:  "run " + string(name), HumanOnly: r.app.opts.HumanOnly, IssuedAt: now, ExpiresAt: now.Add(r.app.confirmTTL(plan)),
	}
	if t, ok := plan.(tool.Targeter); ok {
		g.Target = t.Target()
	}
	if p, ok := plan.(tool.Prompter); ok {
		g.Prompt = p.Prompt()
	}
	g.Prompt = r.mask.Text(g.Prompt)
	if plan != nil {
		doc, err := tool.Encode(plan)
		if err != nil {
			return confirm.Grant{}, confirm.Token{}, err
		}
		g.Plan, g.Binding.Subject = r.mask.JSON(doc), plan.Hash()
	}
	if g.HumanOnly {
		return g, confirm.Token{}, nil
	}
	return g, token, nil
}

// offer issues the token a preview tool asks for, for the tool that will carry the plan out.
func (r *run) offer(ctx context.Context, o tool.Offer) error {
	name, args, plan := o.Offer()
	e, ok := r.app.registry.Lookup(name)
	if !ok || plan == nil {
		return nil
	}
	g, token, err := r.grant(name, args, plan, r.assess(e.Spec, plan))
	if err != nil {
		return err
	}
	if err := r.issue(ctx, g); err != nil {
		return err
	}
	r.asked(g, token) //nolint:errcheck // the preview itself succeeded; only the question is wanted
	return nil
}

// confirmTTL is how long a confirmation of the plan may be answered: as the operator says, else as the plan does.
func (a *App) confirmTTL(plan tool.Plan) time.Duration {
	ttl := a.opts.ConfirmTTL
	if p, ok := plan.(tool.Lasting); ok && ttl == 0 {
		ttl = p.TTL()
	}
	if ttl == 0 {
		return confirm.DefaultTTL
	}
	return min(max(ttl, confirm.MinTTL), confirm.MaxTTL)
}

// Answer records what a person said to a pending confirmation, on a channel only a person has (a terminal, the console). An approval
// lets the same call pass when it is repeated; a denial refuses it. It fails with the faults of package confirm.
func (a *App) Answer(ctx context.Context, answer confirm.Answer) (confirm.View, error) {
	g, err := a.answer(ctx, answer)
	if err != nil && g.ID == "" {
		return confirm.View{}, err
	}
	if !answer.Approve && g.State == confirm.Denied {
		err = nil
	}
	return g.View(), err
}

// answer settles the grant an answer names, records who said what, and remembers an "always".
func (a *App) answer(ctx context.Context, answer confirm.Answer) (confirm.Grant, error) {
	now := a.core.Clock.Now()
	found, err := a.core.Ledger.Pending(ctx, ports.PendingFilter{ID: answer.ID}, now)
	if err != nil {
		return confirm.Grant{}, err
	}
	if len(found) == 0 {
		return confirm.Grant{}, confirm.ErrUnknown.Sayf("no confirmation %s is waiting for an answer; it may have expired or been answered", answer.ID)
	}
	var settled confirm.Grant
	err = a.core.Ledger.Settle(ctx, found[0].Digest, func(g *confirm.Grant) error {
		err := answer.Settle(g, now)
		settled = *g
		return err
	})
	word := "approve"
	if !answer.Approve {
		word = "deny"
	}
	event := audit.Event{Time: now, Phase: audit.Answer, Session: settled.Binding.Session, Principal: settled.Binding.Principal,
		Tool: settled.Binding.Tool, Plan: settled.Binding.Subject, Verdict: word, ApprovedBy: answer.By, CallID: answer.ID}
	switch {
	case errors.Is(err, confirm.ErrBurnt):
		a.runs.Deny(ctx, settled.ID, toolrun.Mistyped)
	case settled.State == confirm.Denied:
		a.runs.Deny(ctx, settled.ID, toolrun.UserDenied)
	}
	if auditErr := a.core.Audit.Append(ctx, event); auditErr != nil && err == nil {
		return settled, auditErr
	}
	if err == nil && answer.Always && settled.Lasting() {
		err = a.remember(ctx, settled.Binding, settled.Scope)
	}
	return settled, err
}

// remember keeps "always allow" for that scope of the tool in the session the confirmation came from.
func (a *App) remember(ctx context.Context, b confirm.Binding, scope string) error {
	return a.core.Sessions.Update(ctx, ports.SessionKey(b.Principal, b.Session), func(s *ports.Session) error {
		s.Grant(ports.GrantOf(b.Tool, scope))
		return nil
	})
}

// Confirmations lists what is waiting for an answer, oldest first; session empty lists all of them, for the machine's owner.
func (a *App) Confirmations(ctx context.Context, session string) ([]confirm.View, error) {
	pending, err := a.core.Ledger.Pending(ctx, ports.PendingFilter{Session: session}, a.core.Clock.Now())
	return confirm.Views(pending), err
}
