package app

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports"
)

// run is the state of one call in the pipeline.
type run struct {
	app        *App
	call       tool.Call
	begun      time.Time
	entry      tool.Entry
	scope      tool.Scope
	invocation tool.Invocation
	claims     policy.Claims
	assessment policy.Assessment
	decision   policy.Result
	plan       tool.Plan
	planHash   canon.Hash
	digest     confirm.Digest // of the approval request to mark used
	grantID    string         // of that approval request
	named      bool           // the call's token names the plan; it is used together with the approval
	human      bool           // users approve
	open       bool           // the user turned questions off
	people     bool           // a tool for users only may be called although the call does not say it is the user's: the user decides what it asks
	waived     bool           // an earlier rule of the user makes an approval unnecessary; the token still names the plan
	answerer   string
	lets       string // id of the grant that lets it run
	moot       string // ID of the approval request that the grant makes unnecessary
	intended   bool
	ranBy      string // ID of the approval request that lets it run, once it is about to
	started    bool   // its call record says that it is being applied
	asks       bool   // it has created an approval request for itself
	mask       Redaction
	survey     PlanInspection // of the plan that was assessed last
	out        tool.Outcome
}

// The errors of the pipeline itself. Argument errors carry the problems as details.
var (
	ErrClaims    = fault.New(fault.Internal, "claims_exceed_tool", "the call claims more than its tool may do")
	ErrPolicy    = ErrPolicyDenied
	ErrMode      = ErrModeForbids
	ErrRequired  = fault.New(fault.Unconfirmed, "confirm_token_required", "this call needs approval first")
	ErrPlanStale = fault.New(fault.Conflict, "plan_stale", "the plan is out of date; call again to get the new plan")
)

func (a *App) begin(c tool.Call) *run {
	if c.ID == "" {
		c.ID = a.core.IDs.NewID("call_", 16)
	}
	progress := c.Progress
	if progress == nil {
		progress = func(tool.Progress) {}
	}
	now := a.core.Clock.Now()
	return &run{app: a, call: c, begun: now, mask: NewRedaction(a.core.Redact), out: tool.Outcome{CallID: c.ID, RequestID: c.RequestID, Session: c.Session, Begun: now, Version: a.opts.Version},
		scope: tool.Scope{CallID: c.ID, Session: c.Session, Client: c.Client, Principal: c.Principal, Progress: progress, Narrow: len(c.Restrictions) > 0, Held: c.Held}}
}

func (r *run) lookUp() error {
	e, ok := r.app.registry.Lookup(r.call.Tool)
	if !ok || !r.app.served[r.call.Tool] || e.Spec.UserOnly && !r.call.FromUser && !r.people || !tool.Covered(r.call.Restrictions, e.Spec) {
		return tool.ErrUnknown.WithMessage("unknown tool %q; list the tools to see the enabled ones", r.call.Tool)
	}
	r.entry, r.out.Spec = e, e.Spec
	r.scope.MaxOutput = r.maxOutput()
	return nil
}

func (r *run) timeout() time.Duration {
	return cmp.Or(max(r.entry.Spec.Timeout, 0), max(r.app.opts.Timeout, 0), DefaultTimeout)
}

// takeToken takes confirm_token and typed_value out of the arguments, so that no tool sees them. Tools that ask by default publish the two; any other
// tool may ask because of the user's settings.
func (r *run) takeToken() error {
	args := bytes.TrimSpace(r.call.Args)
	if len(args) == 0 {
		args = []byte("{}")
	}
	if args[0] != '{' {
		return tool.ErrArguments.WithMessage("the arguments of %s must be a JSON object", r.call.Tool)
	}
	r.call.Args, r.out.Args = args, args
	if !bytes.Contains(args, []byte(`"confirm_token"`)) && !bytes.Contains(args, []byte(`"typed_value"`)) || r.entry.Spec.RunsOtherCalls {
		return nil
	}
	rest, token, typed, err := tool.SplitToken(args)
	if err != nil {
		return err
	}
	r.call.Args, r.out.Args = rest, rest
	if token != "" {
		r.call.Token, r.call.Typed = confirm.NewToken(token), typed
	}
	return nil
}

// takeMode takes the call's mode from its arguments if its tool has one. The mode may not exceed the maximum mode of any policy layer.
func (r *run) takeMode(ctx context.Context) error {
	m, ok := r.invocation.(tool.ModeSelector)
	if !ok || m.CallMode() == "" {
		return nil
	}
	if err := r.call.Mode.UnmarshalText([]byte(m.CallMode())); err != nil {
		return tool.ErrArguments.WithMessage("unknown mode %q; use ask, plan or execute", m.CallMode())
	}
	p, err := r.app.PolicyInForce(ctx)
	if err != nil {
		return nil // decide handles settings that cannot be read
	}
	ceiling := max(p.Ceiling, policy.Ask)
	for _, own := range []policy.Mode{r.entry.Spec.Ceiling, r.call.Principal.Ceiling} {
		if own != policy.ModeUnset {
			ceiling = min(ceiling, own)
		}
	}
	if r.call.Mode > ceiling {
		return policy.ErrCeiling.WithMessage("mode %s is above this server's maximum mode %s; only the server configuration can raise it (--max-mode)", r.call.Mode, ceiling)
	}
	return nil
}

// claim checks that a call claims no more than its tool may do and a mode that it may have.
func (r *run) claim(ctx context.Context) error {
	r.claims = r.invocation.Claims()
	s := r.entry.Spec
	if r.claims.Class > s.Class || r.claims.Effects&^s.Effects != 0 {
		return ErrClaims.WithMessage("%s claims %s (%s), more than its %s (%s)", s.Name, r.claims.Class, r.claims.Effects, s.Class, s.Effects)
	}
	r.assessment = r.assess(s, nil)
	if r.claims.Class > policy.ClassRead {
		r.assessment = r.surveyed(ctx, r.assessment, nil, r.call.Args)
	}
	return r.takeMode(ctx)
}

// assess returns what policy has to know of a plan for that tool: the tool's strength and risk, raised by the plan. A scope is stored and shown, so
// it contains no secret; redacted parts still distinguish scopes.
func (r *run) assess(s tool.Spec, plan tool.Plan) (a policy.Assessment) {
	if p, ok := plan.(tool.Assessed); ok {
		a = p.Assessment()
	}
	a.Scope = r.secretless(a.Scope)
	if p, ok := plan.(tool.Strengthened); ok {
		a.Strength = max(a.Strength, p.Strength())
	}
	return a.Raised(policy.Assessment{Strength: s.Confirm, Risk: s.Risk, Human: s.Human})
}

// admit charges the call to the rate limits of its principal, its toolset and its kind: "execute" if it runs programs or reaches the network,
// otherwise its class. A refused call is not charged; a redemption was charged when it asked for approval.
func (r *run) admit(ctx context.Context) error {
	if r.decision.Verdict == policy.Confirm && r.redeems() {
		return nil
	}
	kind := r.claims.Class.String()
	if tool.Permission(r.claims.Class, r.claims.Effects) == tool.PermissionExecute {
		kind = tool.PermissionExecute
	}
	return r.app.core.Limiter.Take(ctx, r.entry.Spec.Toolset+"/"+kind+"/"+r.call.Principal.ID)
}

// redeems reports whether the call brings a token or a decision.
func (r *run) redeems() bool { return !r.call.Token.IsZero() || r.decided() }

// decide asks policy for a verdict, with the current settings and session. If the settings are unreadable, only reads pass; if a newer version wrote
// them, not even reads, because they would not be recorded.
func (r *run) decide(ctx context.Context) error {
	p, session, err := r.app.rules(ctx, r.call.Principal.ID, r.call.Session)
	if err != nil {
		if r.claims.Class != policy.ClassRead || errors.Is(err, ports.ErrStoreNewer) {
			return err
		}
		p, session = policy.Policy{}, ports.Session{}
	}
	r.open = p.Level == policy.FullAccess
	a := r.assessment
	if r.human = !p.Approval.ByCaller(); r.human {
		a.Strength = max(a.Strength, a.Human)
		if a.Action == policy.ActionAutoApprove { // a rule is not bound to content, and no user decision is behind it
			a.Action = policy.ActionNone
		}
	}
	r.out.Unasked = !r.human && r.claims.Class > policy.ClassScratch
	if r.claims.Class == policy.ClassRead { // a dry run of a call that would need approval has nothing to approve
		a.Strength, a.Risk = policy.None, policy.RiskNone
		if a.Action != policy.ActionDeny {
			a.Action = policy.ActionNone
		}
	}
	q := policy.Request{
		Principal: r.call.Principal, Tool: string(r.call.Tool), Claims: r.claims, Strength: a.Strength, Risk: a.Risk, Action: a.Action, CallMode: r.call.Mode,
		SessionMode: session.Mode, ToolsetMode: r.entry.Spec.Mode, ToolsetCeiling: r.entry.Spec.Ceiling,
	}
	q.Granted = r.granted(ctx, session, a.Scope, p.Needs(q))
	r.decision = p.Evaluate(q)
	switch {
	case r.decision.Verdict == policy.Deny:
		return DenialError(r.decision, r.call.Tool, r.ownScope())
	case r.decision.Verdict == policy.Allow && (r.insists() || r.decided()):
		i, insistent := r.plan.(tool.Insistent)
		r.waived = r.human && !r.decided() && beforehand(r.decision.Rule) && !(insistent && i.Insists())
		r.decision.Verdict, r.decision.Strength = policy.Confirm, max(a.Strength, policy.Preview)
	}
	return nil
}

// granted reports whether a session grant covers the tool, or that scope of it. If users approve, a grant never covers the whole tool, and its
// decision must be in the audit log, for this session and principal, with a proof as strong as the call needs.
func (r *run) granted(ctx context.Context, session ports.Session, scope string, needs policy.Proving) bool {
	for _, a := range session.Allowing(string(r.call.Tool), scope, r.app.core.Clock.Now()) {
		if !r.human {
			r.lets = a.ID
			return true
		}
		if scope == "" || a.Scope != scope {
			continue
		}
		where := r.binding()
		if _, one := confirm.OwnScope(scope, r.planHash); !one {
			where.Subject = canon.Hash{}
		}
		if vouched, err := r.app.grants.AlwaysOnRecord(ctx, a, where, needs); err == nil && vouched {
			r.lets = a.ID
			return true
		}
	}
	return false
}

// decided reports whether the call brings the user's decision. It counts even if policy would no longer ask.
func (r *run) decided() bool {
	return r.call.Decision != nil || r.call.ApprovalDigest != confirm.Digest{}
}

// insists reports whether the call needs an approval although policy lets it run: its tool accepts only tokens of its preview tool, or its own
// arguments would approve it where only the user may.
func (r *run) insists() bool {
	s := r.entry.Spec
	if i, ok := r.plan.(tool.Insistent); ok && i.Insists() {
		return true
	}
	return r.claims.Class >= policy.ClassWrite && (s.Preview != "" || s.Approved && r.human && !beforehand(r.decision.Rule))
}

// beforehand reports whether the rule is one by which the user made an approval unnecessary in advance.
func beforehand(rule string) bool {
	switch rule {
	case policy.RuleSession, policy.RuleDated, policy.RuleToolAllowed, policy.RuleFullAccess, policy.RuleAuto, policy.RuleAction:
		return true
	}
	return false
}

// subject determines the plan that an approval would be for, and asks policy again if the plan changes the assessment.
func (r *run) subject(ctx context.Context) error {
	if r.plan == nil {
		r.planHash = canon.Hash{}
		if r.decision.Verdict == policy.Confirm || r.decision.Rule == policy.RuleSession {
			args, err := canon.Canonical(r.call.Args)
			if err != nil {
				args = r.call.Args
			}
			r.planHash = canon.SumBytes("call.arguments.v1", append([]byte(r.call.Tool+"\n"), args...))
		}
		if a := r.confined(r.assessment); a != r.assessment {
			r.assessment = a
			return r.decide(ctx)
		}
		return nil
	}
	r.planHash = r.plan.Hash()
	a := r.confined(r.assess(r.entry.Spec, r.plan))
	if r.claims.Class > policy.ClassRead {
		a = r.surveyed(ctx, a, r.plan, r.call.Args)
	}
	if i, ok := r.plan.(tool.Insistent); a != r.assessment || ok && i.Insists() { // whether the plan insists was unknown before there was one
		r.assessment = a
		before := r.decision
		if err := r.decide(ctx); err != nil {
			return err
		}
		if r.scope.Explaining { // its mode may have been set since, but the plan is not one to apply
			r.decision = before
		}
	}
	if p, ok := r.plan.(tool.Proven); ok {
		r.decision.Needs = max(r.decision.Needs, p.Needs())
	}
	if i, ok := r.plan.(tool.Insistent); ok && !i.Insists() && r.decision.Rule == policy.RuleScratch {
		r.decision.Rule = policy.RuleNarrows
	}
	if p, ok := r.plan.(tool.NoOp); ok && p.NoOp() && r.decision.Verdict == policy.Confirm {
		r.allowNoOp()
	}
	return nil
}

// confined returns an assessment whose scope is limited to the current plan if users approve: a session grant covers what the user saw.
func (r *run) confined(a policy.Assessment) policy.Assessment {
	if !r.human || r.planHash == (canon.Hash{}) || r.claims.Class == policy.ClassRead && r.decision.Verdict != policy.Confirm {
		return a
	}
	if p, ok := r.plan.(tool.Confined); !ok || !p.Confined() {
		a.Scope = confirm.PlanScope(a.Scope, r.planHash)
	}
	return a
}

// ownScope returns the scope that the plan itself states.
func (r *run) ownScope() string {
	own, _ := confirm.OwnScope(r.assessment.Scope, r.planHash)
	return own
}

// allowNoOp lets a call run that has nothing to change, without asking. A token that it brings is still checked and used.
func (r *run) allowNoOp() {
	switch {
	case r.decided() || !r.human && !r.call.Token.IsZero():
	case !r.call.Token.IsZero():
		r.waived = true
	default:
		r.decision.Verdict = policy.Allow
	}
	if r.waived || r.decision.Verdict == policy.Allow {
		r.decision.Rule = policy.RuleIdle
	}
}

// gate lets a plan refuse to be applied as it was called; a plan that is only shown is not checked.
func (r *run) gate() error {
	if g, ok := r.plan.(tool.Precondition); ok && r.claims.Class > policy.ClassRead {
		return g.Check()
	}
	return nil
}

// intend durably records the intent of a change, with the approval that lets it run, and then marks that approval used. Without a recorded intent
// nothing is changed.
func (r *run) intend(ctx context.Context) error {
	var also confirm.Digest // an approval of the same call, which ends with it although a session grant lets it run
	switch {
	case r.decision.Verdict == policy.Confirm && !r.waived:
		r.ranBy = r.grantID
	case r.decision.Rule == policy.RuleSession && r.grantID == "":
		also, r.ranBy = r.app.grants.Approved(ctx, r.binding())
	}
	if r.claims.Class > policy.ClassRead && r.claims.Effects&policy.Mutating != 0 {
		if err := r.app.core.Audit.Append(ctx, r.event(audit.Intent)); err != nil {
			return err
		}
		r.intended = true
	}
	var spent confirm.Request
	if also != (confirm.Digest{}) && r.app.grants.Spend(ctx, also, r.binding()) {
		r.grantID = r.ranBy
	}
	if r.moot != "" && r.app.grants.Moot(ctx, r.moot) {
		r.grantID = r.moot // the result of the call is also that of its approval request
	}
	if r.decision.Verdict == policy.Confirm {
		now := r.app.core.Clock.Now()
		if !r.waived {
			err := r.app.core.Ledger.Settle(ctx, r.digest, func(g *confirm.Request) error {
				spent = *g
				return g.Redeem(r.binding(), r.call.Typed, now)
			})
			if err != nil {
				return err
			}
		}
		if r.named { // the token is used together with what it names; if another call used it first, that call has the approval as well
			err := r.app.core.Ledger.Settle(ctx, r.call.Token.Digest(), func(g *confirm.Request) error { return g.Use(r.binding(), r.presented(g)) })
			if err != nil {
				return err
			}
		}
		r.out.Confirmed = true
		if p, ok := r.plan.(tool.Reaching); ok && r.human && !r.waived { // the user saw them
			if err := r.approveRemotes(ctx, p.Remotes()); err != nil {
				return err
			}
		}
	}
	if err := r.start(ctx); err != nil {
		return err
	}
	asked := r.assessment.Raised(policy.Assessment{Strength: r.decision.Strength})
	if r.decision.Verdict == policy.Confirm && r.call.Always && !r.human && asked.AllowsSessionGrant() {
		spent.Scope = r.assessment.Scope
		return r.app.grants.Remember(ctx, spent, r.answerer)
	}
	return nil
}

func (r *run) event(p audit.Phase) audit.Event {
	grant := ""
	if rule := r.decision.Rule; rule == policy.RuleSession || rule == policy.RuleDated {
		grant = r.lets
	}
	args := r.mask.Args(r.call.Args)
	if r.entry.Spec.Unmasked && r.plan != nil {
		args = r.call.Args
	}
	return audit.Event{Grant: grant, Confirmation: r.ranBy,
		Time: r.app.core.Clock.Now(), Phase: p, CallID: r.call.ID, Session: r.call.Session, Principal: r.call.Principal.ID, Client: r.call.Client,
		Tool: r.mask.Name(string(r.call.Tool)), Class: r.claims.Class.String(), Args: args, Plan: r.planHash,
		Verdict: r.decision.Verdict.String(), Rule: r.decision.Rule, ApprovedBy: r.answerer,
	}
}

// EndSession deletes the mode and grants of an ended client instance. Its approval requests stay for an hour, in which the same call picks them up.
func (a *App) EndSession(ctx context.Context, principal, session string) error {
	a.grants.Leave(ctx, principal, session)
	return a.core.Sessions.End(ctx, ports.SessionKey(principal, session))
}
