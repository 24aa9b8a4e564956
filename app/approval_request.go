package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/notice"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/domain/visible"
	"github.com/countersign-dev/countersign/ports"
)

func (r *run) binding() confirm.Binding {
	return confirm.Binding{Session: r.call.Session, Principal: r.call.Principal.ID, Tool: string(r.call.Tool), Subject: r.planHash}
}

// present checks, before any work is done, that the token or approval the call brings could fit it. A tool whose tokens come from another tool never
// asks by itself.
func (r *run) present(ctx context.Context) error {
	s := r.entry.Spec
	if s.Preview == "" || r.decision.Verdict != policy.Confirm || r.call.Decision != nil {
		return nil
	}
	if r.call.Token.IsZero() {
		if r.decided() {
			return nil
		}
		return ErrRequired.WithMessage("%s needs the confirm_token that %s returns with its plan; call %s, then call again with the token", s.Name, s.Preview, s.Preview)
	}
	return r.app.core.Ledger.Settle(ctx, r.call.Token.Digest(), func(g *confirm.Request) error {
		binding := r.binding()
		binding.Subject = g.Binding.Subject // the plan is not known yet
		if r.human {
			return g.Named(binding, r.presented(g))
		}
		return g.Check(binding, r.call.Typed, r.app.core.Clock.Now())
	})
}

// confirmed returns nil if the plan was approved: by the decision that the call carries or by one recorded since, or, if the caller approves, by the
// call's token. Otherwise it asks. The approval is marked used later, after the intent is recorded.
func (r *run) confirmed(ctx context.Context) error {
	if r.human && !r.call.Token.IsZero() { // a token names the plan; it does not approve it
		if err := r.names(ctx); err != nil {
			return err
		}
	}
	if r.waived {
		r.answerer = r.decision.Rule
		return nil
	}
	if a := r.call.Decision; a != nil {
		g, err := r.app.answer(ctx, *a)
		if err != nil {
			return err
		}
		r.digest, r.grantID, r.answerer = g.Digest, g.ID, a.By
		if r.human && r.decision.Needs > policy.ProvingNone { // the stored request may have been edited, so what it says about that does not count
			if vouched, err := r.app.grants.OnRecord(ctx, g, r.decision.Needs); err != nil || !vouched {
				return cmp.Or(err, error(confirm.ErrProof.WithMessage("approving this needs %s", r.decision.Needs.Words())))
			}
		}
		return r.explain(&g, g.Check(r.binding(), a.Typed, r.app.core.Clock.Now()))
	}
	if r.decided() || !r.human && r.redeems() {
		err := r.brought(ctx)
		if waits := r.grantID; errors.Is(err, confirm.ErrPending) && r.human && r.let(ctx) { // the user gave a dated grant for the same while this request was pending
			r.digest, r.grantID, r.moot = confirm.Digest{}, "", waits
			return nil
		}
		return err
	}
	g, found, err := r.question(ctx, r.binding(), r.call.Args)
	switch {
	case err != nil:
		return err
	case found && g.State == confirm.Approved:
		r.digest, r.grantID, r.answerer = g.Digest, g.ID, g.Answerer
		return nil
	case r.human && r.let(ctx):
		if found {
			r.moot = g.ID
		}
		return nil
	case found && r.human:
		if token, err := r.token(ctx, g); err != nil || !token.IsZero() {
			return cmp.Or(err, r.asked(g, token))
		}
		return r.asked(g, confirm.Token{})
	}
	return r.ask(ctx)
}

// spent returns confirm.ErrUsed instead of err, the reason why no plan could be computed, if the call's token was already used: that is the most
// likely cause.
func (r *run) spent(ctx context.Context, err error) error {
	if r.call.Token.IsZero() || ctx.Err() != nil {
		return err
	}
	used := false
	_ = r.app.core.Ledger.Settle(ctx, r.call.Token.Digest(), func(g *confirm.Request) error {
		used = g.State == confirm.Spent && g.Binding.Tool == string(r.call.Tool) && g.Binding.Session == r.call.Session && g.Binding.Principal == r.call.Principal.ID
		return nil
	})
	if !used {
		return err
	}
	return confirm.ErrUsed.WithCause(err)
}

// presented returns the time at which the call's token is checked for expiry: when the client presented it. A call that waited for the user keeps the
// time before the wait, however long that took.
func (r *run) presented(g *confirm.Request) time.Time {
	if r.human && r.decided() {
		return g.IssuedAt
	}
	return r.app.core.Clock.Now()
}

// names checks that the call's token names the current plan. If the token names another plan, the error says so; if the tool asks again on a change,
// the error contains the current plan.
func (r *run) names(ctx context.Context) error {
	var about confirm.Binding
	err := r.app.core.Ledger.Settle(ctx, r.call.Token.Digest(), func(g *confirm.Request) error {
		about = g.Binding
		return r.explain(g, g.Named(r.binding(), r.presented(g)))
	})
	if errors.Is(err, confirm.ErrMismatch) && r.entry.Spec.ReaskOnChange && IsPlanChanged(err) {
		asked, pendingErr := r.app.core.Ledger.Pending(ctx, ports.PendingFilter{Binding: &about}, r.app.core.Clock.Now())
		if pendingErr != nil {
			return pendingErr
		}
		for _, g := range asked {
			if err := r.app.grants.Withdraw(ctx, g.ID, VerdictChanged); err != nil {
				return err
			}
		}
		if err := r.ask(ctx); !errors.Is(err, ErrRequired) {
			return err
		}
	}
	r.named = err == nil
	return err
}

// question returns the open approval request for a plan: of this session, or of an ended one with the same principal and host entry.
func (r *run) question(ctx context.Context, binding confirm.Binding, args json.RawMessage) (confirm.Request, bool, error) {
	now := r.app.core.Clock.Now()
	pending, err := r.app.core.Ledger.Pending(ctx, ports.PendingFilter{Binding: &binding}, now)
	if err != nil {
		return confirm.Request{}, false, err
	}
	for _, g := range pending {
		if r.human && (g.HumanOnly || g.State == confirm.Approved) {
			if err := r.app.grants.AsAsked(ctx, &g); err != nil {
				if errors.Is(err, confirm.ErrEdited) { // the stored request was edited
					continue
				}
				return confirm.Request{}, false, err
			}
		}
		if r.human && g.HumanOnly && !g.Names && g.Needs < r.decision.Needs { // policy requires a stronger proof since then: a decision on that request would not be enough
			if err := r.app.grants.Withdraw(ctx, g.ID, VerdictChanged); err != nil {
				return confirm.Request{}, false, err
			}
			continue
		}
		if g.State == confirm.Approved && r.human {
			vouched, err := r.app.grants.OnRecord(ctx, g, r.decision.Needs)
			if errors.Is(err, confirm.ErrUsed) { // the audit log says that a call ran with it, whatever the row says
				continue
			}
			if err != nil {
				return confirm.Request{}, false, err
			}
			if !vouched { // no decision is recorded: it is pending as before
				g.State = confirm.Pending
			}
		}
		if !g.GoneAt.IsZero() && r.human { // the client that asked lost its connection and is back
			continue
		}
		if g.State == confirm.Approved || g.HumanOnly && r.human {
			return g, true, nil
		}
	}
	if !r.human {
		return confirm.Request{}, false, nil
	}
	g, found, err := r.app.grants.PickUp(ctx, binding, r.call.Entry, args)
	if err == nil && found {
		if err := r.app.grants.AsAsked(ctx, &g); errors.Is(err, confirm.ErrEdited) {
			return confirm.Request{}, false, nil
		} else if err != nil {
			return confirm.Request{}, false, err
		}
	}
	if err == nil && found && g.State == confirm.Approved {
		vouched, err := r.app.grants.OnRecord(ctx, g, r.decision.Needs)
		if errors.Is(err, confirm.ErrUsed) {
			return confirm.Request{}, false, nil
		}
		if err != nil {
			return confirm.Request{}, false, err
		}
		if !vouched {
			g.State = confirm.Pending
		}
	}
	return g, found, err
}

// brought checks the approval that the call brings: by its token if the caller approves, otherwise by its approval request.
func (r *run) brought(ctx context.Context) error {
	r.digest, r.answerer = r.call.ApprovalDigest, ""
	byToken := !r.human && !r.call.Token.IsZero()
	if byToken {
		r.digest, r.answerer = r.call.Token.Digest(), "token"
	}
	err := r.app.core.Ledger.Settle(ctx, r.digest, func(g *confirm.Request) error {
		if !byToken && (!g.HumanOnly || g.Names) {
			return confirm.ErrUnknown // a request alone approves nothing
		}
		if r.grantID = g.ID; g.Answerer != "" {
			r.answerer = g.Answerer
		}
		return r.explain(g, g.Check(r.binding(), r.call.Typed, r.app.core.Clock.Now()))
	})
	if err == nil && r.human {
		var at confirm.Request
		err = r.app.core.Ledger.Settle(ctx, r.digest, func(g *confirm.Request) error {
			at = *g
			return nil
		})
		if vouched, unread := r.app.grants.OnRecord(ctx, at, r.decision.Needs); err == nil && (unread != nil || !vouched) {
			err = cmp.Or(unread, error(confirm.ErrPending))
		}
	}
	switch {
	case errors.Is(err, confirm.ErrBurnt):
		r.app.runs.Deny(ctx, r.grantID, tool.ReasonMistyped, "", "")
	case errors.Is(err, confirm.ErrDenied), errors.Is(err, confirm.ErrCanceled):
		rec, _ := r.app.runs.Load(ctx, r.grantID)
		return WithRecordedReason(rec, r.answerer, err)
	case errors.Is(err, confirm.ErrMismatch) && r.entry.Spec.ReaskOnChange && IsPlanChanged(err):
		return r.askAnew(ctx, err)
	}
	return err
}

// askAnew cancels an approval request whose plan changed and asks for approval of the current plan; changed is the error of the call.
func (r *run) askAnew(ctx context.Context, changed error) error {
	if err := r.app.grants.Withdraw(ctx, r.grantID, VerdictChanged); err != nil {
		return err
	}
	r.grantID, r.answerer = "", ""
	if err := r.ask(ctx); !errors.Is(err, ErrRequired) {
		return err
	}
	return changed
}

// explain adds to err, for an approval that fits except for its plan, which plan it was for and what changed since.
func (r *run) explain(g *confirm.Request, err error) error {
	if !errors.Is(err, confirm.ErrMismatch) {
		return err
	}
	now, _ := r.shown(r.plan) // a plan that cannot be shown is reported without differences
	return MismatchError(g, r.binding(), now)
}

// shown returns a plan as the user sees it before the decision.
func (r *run) shown(plan any) (json.RawMessage, error) { return ReviewJSON(plan, r.mask.JSON) }

// ask creates an approval request for the current plan and returns it as the outcome.
func (r *run) ask(ctx context.Context) error {
	a := r.assessment
	a.Strength = r.decision.Strength
	g, token, err := r.grant(r.call.Tool, r.call.Args, r.plan, a)
	if err != nil {
		return err
	}
	r.asks = true
	r.pend(ctx, g)
	if err := r.app.grants.Issue(ctx, g, r.call.FromUser); err != nil {
		return err
	}
	if r.entry.Spec.ReaskOnChange {
		r.app.grants.Supersede(ctx, g)
	}
	if g.HumanOnly {
		r.app.core.Notifier.Asked(g.ID, g.ByHand)
	}
	if r.human {
		if token, err = r.token(ctx, g); err != nil {
			return err
		}
	}
	err = r.asked(g, token)
	r.out.Request.AtOnce = r.human && r.entry.Spec.AtOnce && r.call.Token.IsZero()
	return err
}

// token returns a new token that names the plan of g if the contract of the tool includes one in the answer. It returns none for other tools, and
// none if the call brought one.
func (r *run) token(ctx context.Context, g confirm.Request) (confirm.Token, error) {
	if !r.entry.Spec.AtOnce || r.named {
		return confirm.Token{}, nil
	}
	return r.nameIt(ctx, g, ApprovalTTL(r.app.opts.ConfirmTTL, r.plan))
}

// nameIt stores a token that names the plan of g.
func (r *run) nameIt(ctx context.Context, g confirm.Request, ttl time.Duration) (confirm.Token, error) {
	token := r.app.core.Tokens.NewToken()
	g.ID, g.Digest, g.HumanOnly = r.app.core.IDs.NewID("ct_", 10), token.Digest(), false
	g.State, g.Answerer, g.Exhibit = confirm.Pending, "", nil
	g.IssuedAt = r.app.core.Clock.Now()
	g.ExpiresAt, g.Extra = g.IssuedAt.Add(ttl), confirm.Extra{Names: true}
	return token, r.app.core.Ledger.Issue(ctx, g)
}

// asked puts the approval request into the outcome.
func (r *run) asked(g confirm.Request, token confirm.Token) error {
	r.out.Request = &tool.ApprovalRequest{
		ID: g.ID, Token: token, Digest: g.Digest, Args: visible.JSON(r.mask.Args(g.Args)), Tool: tool.Name(g.Binding.Tool), Strength: g.Strength, Risk: g.View().Risk, Prompt: g.Prompt, Target: g.Target, Scope: g.Scope, Covers: g.Covers,
		PlanHash: g.Binding.Subject, Plan: g.Plan, Exhibit: g.Exhibit, IssuedAt: g.IssuedAt, ExpiresAt: g.ExpiresAt, Pending: g.HumanOnly, Names: g.Names, Needs: g.Needs, Remotes: g.Remotes, Redacted: g.Redacted, Formable: g.Formable(),
	}
	if g.HumanOnly && !token.IsZero() {
		r.out.Request.ExpiresAt = r.app.core.Clock.Now().Add(ApprovalTTL(r.app.opts.ConfirmTTL, r.plan))
	}
	if g.HumanOnly {
		return ErrRequired.WithMessage("%s; the user approves or denies it in a terminal (countersign approve %s) or in the console; then call again", g.Prompt, g.ID)
	}
	return ErrRequired.WithMessage("%s; show the plan to the user, then repeat the call with confirm_token, or call confirm with it as token", g.Prompt)
}

// grant returns a new approval request for a plan of tool name, bound to this call's session and principal, and its token.
func (r *run) grant(name tool.Name, args json.RawMessage, plan tool.Plan, a policy.Assessment) (confirm.Request, confirm.Token, error) {
	now, token := r.app.core.Clock.Now(), r.app.core.Tokens.NewToken()
	g := confirm.Request{
		ID: r.app.core.IDs.NewID("cf_", 10), Digest: token.Digest(), Args: args, Mode: r.call.Mode,
		Strength: max(a.Strength, policy.Simple), Risk: a.Risk, Scope: a.Scope,
		Binding: confirm.Binding{Session: r.call.Session, Principal: r.call.Principal.ID, Tool: string(name), Subject: r.planHash},
		Prompt:  "run " + string(name), HumanOnly: r.human, IssuedAt: now, ExpiresAt: now.Add(ApprovalTTL(r.app.opts.ConfirmTTL, plan)),
		Extra: confirm.Extra{Owner: r.app.core.Owner.Self(), Sight: r.app.opts.Sight, Entry: r.call.Entry, Client: r.mask.Text(r.call.Client), Needs: r.decision.Needs, NoForm: r.opening(plan), Insists: insists(plan), Reach: r.reach(), ByHand: r.call.FromUser},
	}
	if s, ok := plan.(tool.Subject); ok {
		g.About = notice.PlainName(r.mask.Text(s.About()))
	}
	if r.human {
		g.ExpiresAt = now.Add(confirm.QuestionTTL)
	}
	g.Target, g.Prompt = TargetAndPrompt(plan, g.Prompt)
	g.Prompt, g.Place, g.Redacted = visible.Text(r.mask.Text(g.Prompt))+r.mask.Text(r.survey.RiskReason()), r.app.opts.Place, r.survey.Redacted()
	if plan != nil {
		if r.survey.Err != nil {
			return confirm.Request{}, confirm.Token{}, r.survey.Err
		}
		g.Plan, g.Binding.Subject = r.survey.Plan, plan.Hash()
	}
	if w, ok := plan.(tool.Worded); ok {
		g.Covers = visible.Text(r.mask.Text(w.Covers()))
	}
	if g.HumanOnly || r.call.FromUser { // the user will review it
		g.Exhibit = r.survey.BoundedExhibit(r.app.core.Log)
	}
	if g.HumanOnly {
		return g, confirm.Token{}, nil
	}
	return g, token, nil
}

// opening reports whether the plan opens something or belongs to a tool for users only: no form can approve it.
func (r *run) opening(plan tool.Plan) bool {
	return r.entry.Spec.UserOnly || insists(plan)
}

// insists reports whether the plan needs an approval every time.
func insists(plan tool.Plan) bool {
	i, ok := plan.(tool.Insistent)
	return ok && i.Insists()
}

// offer issues the token that a preview tool requests for the tool that applies the plan. If users approve, the token names the plan and asks no one;
// the call that presents it asks.
func (r *run) offer(ctx context.Context, o tool.TokenRequest) error {
	name, args, plan := o.Offer()
	e, ok := r.app.registry.Lookup(name)
	if !ok || plan == nil {
		return nil
	}
	human := r.human
	r.human = false // this creates a token, not an approval request
	g, token, err := r.grant(name, args, plan, r.surveyed(ctx, r.assess(e.Spec, plan), plan, args))
	if r.human = human; err != nil {
		return err
	}
	g.Names = human
	if err := r.app.grants.Issue(ctx, g, r.call.FromUser); err != nil {
		return err
	}
	r.asked(g, token) //nolint:errcheck // the preview itself succeeded; only the token is wanted
	return nil
}

// Answer records the user's decision on a pending approval request, from a channel that only a user has (a terminal, the console). After an approval the
// repeated call passes; after a denial it fails. If the plan has changed, Answer fails with confirm.ErrMismatch and withdraws the request; if the stored
// request was modified, with confirm.ErrEdited. It also fails with the other errors of package confirm.
func (a *App) Answer(ctx context.Context, answer confirm.Decision) (confirm.View, error) {
	answer.Reach = confirm.Reach{}
	if answer.Approve {
		if err := a.asAsked(ctx, answer.ID); err != nil {
			return confirm.View{}, err
		}
		if err := a.review(ctx, answer); err != nil {
			return confirm.View{}, err
		}
	}
	if answer.Approve && answer.Until != nil {
		found, err := a.core.Ledger.Pending(ctx, ports.PendingFilter{ID: answer.ID}, a.core.Clock.Now())
		if err != nil {
			return confirm.View{}, err
		}
		if len(found) > 0 {
			if answer.Reach, err = a.datedReach(ctx, &found[0]); err != nil {
				return confirm.View{}, err
			}
		}
	}
	g, err := a.answer(ctx, answer)
	if err != nil && g.ID == "" {
		return confirm.View{}, err
	}
	if !answer.Approve && g.State == confirm.Denied {
		err = nil
	}
	return g.View(), err
}

// answer applies a decision to its approval request. Secrets in the user's reason are redacted first.
func (a *App) answer(ctx context.Context, answer confirm.Decision) (confirm.Request, error) {
	if answer.Proof.Surface == confirm.SurfaceForm {
		if on, err := a.FormsOn(ctx, answer.Proof.Entry); err != nil || !on {
			return confirm.Request{}, cmp.Or(err, error(confirm.ErrProof.WithMessage("forms of the host entry %q cannot approve; the user can enable them with countersign connect HOST --forms or in the console's settings", answer.Proof.Entry)))
		}
	}
	if answer.Approve {
		if err := a.asAsked(ctx, answer.ID); err != nil {
			return confirm.Request{}, err
		}
	}
	if err := a.proven(ctx, &answer); err != nil {
		return confirm.Request{}, err
	}
	mask := NewRedaction(a.core.Redact)
	answer.Reason = mask.Text(visible.Text(TruncateRunes(answer.Reason, confirm.MaxReason)))
	return a.grants.Answer(ctx, answer)
}

// asAsked fails with confirm.ErrEdited if the stored request with that ID differs from its audit record. If the caller approves, there are no such
// records.
func (a *App) asAsked(ctx context.Context, id string) error {
	found, err := a.core.Ledger.Pending(ctx, ports.PendingFilter{ID: id}, a.core.Clock.Now())
	if err != nil || len(found) == 0 {
		return err
	}
	rules, err := a.PolicyInForce(ctx)
	if err != nil || rules.Approval.ByCaller() && !found[0].HumanOnly {
		return err
	}
	return a.grants.AsAsked(ctx, &found[0])
}

// proven verifies the proof of a decision that claims an enrolled key; it trusts no channel that says a key has signed. A signature for another plan
// or another request proves nothing.
func (a *App) proven(ctx context.Context, answer *confirm.Decision) error {
	if _, keyed := KeyKindOf(answer.Proof.Surface); !keyed {
		answer.Proof.Evidence = nil
		return nil
	}
	found, err := a.core.Ledger.Pending(ctx, ports.PendingFilter{ID: answer.ID}, a.core.Clock.Now())
	if err != nil || len(found) == 0 { // a request that is not pending fails later, whatever the proof
		return err
	}
	answer.Proof, err = a.keys.Prove(ctx, answer.Proof, found[0].Binding.Subject, answer.ID)
	return err
}

// Keys returns every enrolled key, oldest first, and whether it counts.
func (a *App) Keys(ctx context.Context) ([]Key, error) { return a.keys.List(ctx) }

// nopBell is the Bell used if Core has none.
type nopBell struct{}

func (nopBell) Ring(string) {}

func (nopBell) Listen(string) (<-chan struct{}, func()) { return nil, func() {} }

// nopNotifier is the Notifier used if Core has none.
type nopNotifier struct{}

func (nopNotifier) Asked(string, bool) {}

func (nopNotifier) Announce(string) {}

// Decided signals, until stop is called, when Waiting should be checked for that approval request: as soon as a decision is made in any process. It may
// signal without a decision. Without Core.Bell it never signals, so callers also have to check at intervals.
func (a *App) Decided(id string) (told <-chan struct{}, stop func()) { return a.core.Bell.Listen(id) }

// ApprovalPending reports whether the approval request with that ID is undecided.
func (a *App) ApprovalPending(ctx context.Context, id string) (bool, error) {
	return a.grants.ApprovalPending(ctx, id)
}

// CancelApproval cancels the approval request of a call that its client cancelled.
func (a *App) CancelApproval(ctx context.Context, id string) error {
	return a.grants.Withdraw(ctx, id, "client")
}

// Left marks an approval request whose client no longer waits. It stays for an hour, in which the same call of the same principal, in any session, picks it
// up.
func (a *App) Left(ctx context.Context, id string) error { return a.grants.Left(ctx, id) }

// SessionGrants returns the session grants of all sessions and the dated grants, oldest first.
func (a *App) SessionGrants(ctx context.Context) ([]confirm.ListedGrant, error) {
	return a.grants.Allowed(ctx)
}

// RevokeSessionGrant ends the session grant or dated grant with that ID, from the next call on; by is who revokes it. It fails with confirm.ErrNoSessionGrant.
func (a *App) RevokeSessionGrant(ctx context.Context, id, by string) (confirm.ListedGrant, error) {
	return a.grants.Revoke(ctx, id, by)
}

// Confirmations returns the pending approval requests with their arguments, oldest first; an empty session returns those of all sessions, for the user of
// the machine. A request that differs from its audit record is withdrawn and left out.
func (a *App) Confirmations(ctx context.Context, session string) ([]confirm.View, error) {
	pending, err := a.core.Ledger.Pending(ctx, ports.PendingFilter{Session: session}, a.core.Clock.Now())
	if err != nil {
		return confirm.Views(nil), err
	}
	views, mask := confirm.Views(nil), NewRedaction(a.core.Redact)
	for i := range pending {
		g := &pending[i]
		if g.HumanOnly {
			if err := a.grants.AsAsked(ctx, g); errors.Is(err, confirm.ErrEdited) {
				continue
			} else if err != nil {
				return views, err
			}
		}
		v := g.View()
		v.Arguments = visible.JSON(mask.Args(g.Args))
		views = append(views, v)
	}
	return views, nil
}
