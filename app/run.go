package app

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports"
)

// run is the state of one call on its way through the steps.
type run struct {
	app        *App
	call       tool.Call
	started    time.Time
	entry      tool.Entry
	scope      tool.Scope
	invocation tool.Invocation
	claims     policy.Claims
	decision   policy.Decision
	plan       tool.Plan
	planHash   canon.Hash
	digest     confirm.Digest // of the grant to spend
	answerer   string
	intended   bool
	out        tool.Outcome
}

// The ways the door itself refuses. Argument faults carry the problems as details.
var (
	ErrClaims    = fault.New(fault.Internal, "claims_exceed_tool", "the call claims more than its tool may do")
	ErrPolicy    = fault.New(fault.Denied, "policy_denied", "policy refuses this call")
	ErrMode      = fault.New(fault.Denied, "mode_forbids", "the mode does not allow this call")
	ErrRequired  = fault.New(fault.Unconfirmed, "confirm_token_required", "a person has to confirm this call first")
	ErrPlanStale = fault.New(fault.Conflict, "plan_stale", "what the plan was made from has changed; call again to see the new plan")
)

func (a *App) begin(c tool.Call) *run {
	if c.ID == "" {
		c.ID = a.core.IDs.NewID("call_", 16)
	}
	progress := c.Progress
	if progress == nil {
		progress = func(tool.Progress) {}
	}
	return &run{app: a, call: c, started: a.core.Clock.Now(), out: tool.Outcome{CallID: c.ID, RequestID: c.RequestID, Version: a.opts.Version},
		scope: tool.Scope{CallID: c.ID, Session: c.Session, Client: c.Client, Principal: c.Principal, Progress: progress}}
}

func (r *run) lookUp() error {
	e, ok := r.app.registry.Lookup(r.call.Tool)
	if !ok || !r.app.served[r.call.Tool] {
		return tool.ErrUnknown.Sayf("there is no tool %q here; list the tools to see those there are", r.call.Tool)
	}
	r.entry, r.out.Spec = e, e.Spec
	r.scope.MaxOutput = r.maxOutput()
	return nil
}

func (r *run) timeout() time.Duration {
	for _, d := range []time.Duration{r.entry.Spec.Timeout, r.app.opts.Timeout} {
		if d > 0 {
			return d
		}
	}
	return DefaultTimeout
}

// takeToken takes confirm_token and typed_value out of the arguments, so that no tool sees them. Tools that are confirmed by default
// publish the two; any other may be confirmed because a person's settings say so.
func (r *run) takeToken() error {
	args := bytes.TrimSpace(r.call.Args)
	if len(args) == 0 {
		args = []byte("{}")
	}
	if args[0] != '{' {
		return tool.ErrArguments.Sayf("the arguments of %s must be a JSON object", r.call.Tool)
	}
	r.call.Args, r.out.Args = args, args
	if !bytes.Contains(args, []byte(`"confirm_token"`)) && !bytes.Contains(args, []byte(`"typed_value"`)) || r.entry.Spec.CarriesOut {
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

// claim holds a call to what its tool may do at most.
func (r *run) claim() error {
	r.claims = r.invocation.Claims()
	s := r.entry.Spec
	if r.claims.Class > s.Class || r.claims.Effects&^s.Effects != 0 {
		return ErrClaims.Sayf("%s claims %s (%s), more than its %s (%s)", s.Name, r.claims.Class, r.claims.Effects, s.Class, s.Effects)
	}
	return nil
}

// admit charges the call to the rate of its principal and toolset. A redemption was charged when its confirmation was asked for.
func (r *run) admit(ctx context.Context) error {
	if !r.call.Token.IsZero() || r.call.Answer != nil {
		return nil
	}
	return r.app.core.Limiter.Take(ctx, r.entry.Spec.Toolset+"/"+r.claims.Class.String()+"/"+r.call.Principal.ID)
}

// decide asks policy, with the settings and the session as they are now. Unreadable settings let reads through and nothing else.
func (r *run) decide(ctx context.Context, strength policy.Strength) error {
	p, session, err := r.app.rules(ctx, r.call.Principal.ID, r.call.Session)
	if err != nil {
		if r.claims.Class != policy.ClassRead {
			return err
		}
		p, session = policy.Policy{}, ports.Session{}
	}
	if r.claims.Class == policy.ClassRead {
		strength = policy.None // a dry run of what would have to be confirmed has nothing to confirm
	}
	r.decision = p.Decide(policy.Request{
		Principal: r.call.Principal, Tool: string(r.call.Tool), Claims: r.claims, Strength: strength, CallMode: r.call.Mode,
		SessionMode: session.Mode, ToolsetMode: r.entry.Spec.Mode, Granted: slices.Contains(session.Granted, string(r.call.Tool)),
	})
	switch {
	case r.decision.Verdict == policy.Deny:
		return r.refusal()
	case r.decision.Verdict == policy.Allow && r.insists():
		r.decision.Verdict, r.decision.Strength = policy.Confirm, max(strength, policy.Preview)
	}
	return nil
}

// insists reports a call that needs a confirmation although policy lets it run: its tool takes only tokens of its preview tool, or its
// own arguments would approve it where only a person may.
func (r *run) insists() bool {
	s := r.entry.Spec
	return r.claims.Class >= policy.ClassWrite && (s.Preview != "" || s.Approved && r.app.opts.HumanOnly)
}

// refusal says which rule refused and what would open it.
func (r *run) refusal() *fault.Error {
	d, name := r.decision, r.call.Tool
	switch d.Rule {
	case policy.RuleMode:
		return ErrMode.Sayf("%s changes things, and the mode is %s; set_mode plan shows what it would do, set_mode execute lets it run", name, d.Mode)
	case policy.RuleBlocked:
		return ErrPolicy.Sayf("%s is blocked in the settings; countersign policy allow %s lifts that", name, name)
	case policy.RuleGrants:
		return ErrPolicy.Sayf("%s needs %s, which this caller was not granted (is the server read-only?)", name, d.Missing)
	case policy.RuleLevel:
		return ErrPolicy.Sayf("the permission level allows no changes; countersign policy set changes it, countersign policy allow %s opens this tool alone", name)
	}
	return ErrPolicy
}

// subject fixes what a confirmation would be for, and lets a plan raise its own strength.
func (r *run) subject(ctx context.Context) error {
	if r.plan == nil {
		r.planHash = canon.Hash{}
		if r.decision.Verdict == policy.Confirm {
			args, err := canon.Canonical(r.call.Args)
			if err != nil {
				args = r.call.Args
			}
			r.planHash = canon.Bytes("call.arguments.v1", append([]byte(r.call.Tool+"\n"), args...))
		}
		return nil
	}
	r.planHash = r.plan.Hash()
	if s, ok := r.plan.(tool.Strengthened); ok && s.Strength() > r.entry.Spec.Confirm {
		return r.decide(ctx, s.Strength())
	}
	return nil
}

// gate lets a plan refuse to be carried out as it was called; one that is only shown is not.
func (r *run) gate() error {
	if g, ok := r.plan.(tool.Gated); ok && r.claims.Class > policy.ClassRead {
		return g.Gate()
	}
	return nil
}

// intend records the intent of a mutation durably and then spends its confirmation. Without an intent nothing is changed.
func (r *run) intend(ctx context.Context) error {
	if r.claims.Class > policy.ClassRead && r.claims.Effects&policy.Mutating != 0 {
		if err := r.app.core.Audit.Append(ctx, r.event(audit.Intent)); err != nil {
			return err
		}
		r.intended = true
	}
	if r.decision.Verdict != policy.Confirm {
		return nil
	}
	now := r.app.core.Clock.Now()
	err := r.app.core.Ledger.Settle(ctx, r.digest, func(g *confirm.Grant) error {
		return g.Redeem(r.binding(), r.call.Typed, now)
	})
	if err == nil && r.call.Always && r.decision.Strength < policy.Typed {
		err = r.app.remember(ctx, r.binding())
	}
	return err
}

func (r *run) event(p audit.Phase) audit.Event {
	return audit.Event{
		Time: r.app.core.Clock.Now(), Phase: p, CallID: r.call.ID, Session: r.call.Session, Principal: r.call.Principal.ID, Client: r.call.Client,
		Tool: string(r.call.Tool), Class: r.claims.Class.String(), Args: r.maskArgs(), Plan: r.planHash,
		Verdict: r.decision.Verdict.String(), Rule: r.decision.Rule, ApprovedBy: r.answerer,
	}
}

// rules is the policy in force: the operator's, with what a person stored in place of Level, Tools and Auto.
func (a *App) rules(ctx context.Context, principal, session string) (policy.Policy, ports.Session, error) {
	s, sess, err := ports.LoadBoth(ctx, a.core.Settings, a.core.Sessions, ports.SessionKey(principal, session))
	if err != nil {
		return policy.Policy{}, ports.Session{}, err
	}
	return s.Over(a.opts.Policy), sess, nil
}

// EndSession forgets the mode and grants of a client instance that is gone. What it left waiting stays listed, for people to answer.
func (a *App) EndSession(ctx context.Context, principal, session string) error {
	return a.core.Sessions.End(ctx, ports.SessionKey(principal, session))
}
