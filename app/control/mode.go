package control

import (
	"context"
	"fmt"

	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports"
)

// SetModeInput is the mode to set.
type SetModeInput struct {
	Mode string `json:"mode" jsonschema:"enum=ask,enum=plan,enum=execute"`
}

// ModeAnswer is the session's new mode, and the approval requests that lowering it cancelled.
type ModeAnswer struct {
	Mode     policy.Mode `json:"mode"`
	Previous policy.Mode `json:"previous"`
	Ceiling  policy.Mode `json:"ceiling"`
	Canceled int         `json:"canceled_confirmations"`
}

// PolicyAnswer is the effective policy of this session.
type PolicyAnswer struct {
	SessionMode     policy.Mode               `json:"session_mode"`
	OperatorMode    policy.Mode               `json:"operator_mode"`
	Ceiling         policy.Mode               `json:"max_mode"`
	Level           policy.Level              `json:"permission_level"`
	Tools           map[string]policy.Setting `json:"tool_permissions"`
	Auto            policy.AutoApprove        `json:"auto_approve"`
	AlwaysAllowed   []string                  `json:"always_allowed"`
	SettingsVersion int64                     `json:"settings_revision"`
	Approval        policy.Approval           `json:"approval"` // human: the user is asked; caller: the user is not
	Require         map[string]policy.Proving `json:"require"`
	Forms           []string                  `json:"forms"`              // the host entries whose own form may approve calls below high risk
	DecidedBy       map[string]string         `json:"decided_by"`         // the deciding layer, by setting; missing ones are built in
	Warnings        []string                  `json:"warnings,omitempty"` // about stored settings that were removed or edited
}

// modePlan is a change of the session's mode.
type modePlan struct {
	Mode     policy.Mode `json:"mode"`
	Previous policy.Mode `json:"previous"`
	Raises   bool        `json:"raises"` // above what the user set, or above the lowest default of the enabled toolsets
	Session  string      `json:"session"`
	Base     policy.Mode `json:"default"`
	hash     canon.Hash
}

// Hash returns the hash of the change.
func (p modePlan) Hash() canon.Hash { return p.hash }

// Assessment requires an approval for a higher mode.
func (p modePlan) Assessment() policy.Assessment {
	if p.Raises {
		return policy.Assessment{Human: policy.Simple, Risk: policy.RiskHigh}
	}
	return policy.Assessment{}
}

// Prompt explains a raise.
func (p modePlan) Prompt() string {
	if p.Raises {
		return fmt.Sprintf("raise the mode of this session to %s; the default is %s", p.Mode, p.Base)
	}
	return fmt.Sprintf("set the mode of this session to %s", p.Mode)
}

// planMode returns the requested change. An agent may lower its mode; a mode above what the user set, or above the default, needs approval.
func (s service) planMode(ctx context.Context, sc tool.Scope, in SetModeInput) (modePlan, error) {
	var mode policy.Mode
	if err := mode.UnmarshalText([]byte(in.Mode)); err != nil {
		return modePlan{}, err
	}
	ceiling, by, err := s.ceilingOf(ctx, sc.Principal)
	if err != nil {
		return modePlan{}, err
	}
	if mode > ceiling {
		return modePlan{}, policy.ErrCeiling.WithMessage("mode %s is above the maximum mode %s of this server; %s", mode, ceiling, raisedBy(by))
	}
	have, err := s.Sessions.Load(ctx, ports.SessionKey(sc.Principal.ID, sc.Session))
	if err != nil {
		return modePlan{}, err
	}
	base, err := s.base(ctx)
	if err != nil {
		return modePlan{}, err
	}
	p := modePlan{Mode: mode, Previous: have.Mode, Session: sc.Session, Base: base, Raises: mode > base && mode > have.Mode}
	p.hash, err = canon.Sum("control.mode.v1", p)
	return p, err
}

// base returns the default mode of a session: the configuration's, else the lowest default of the enabled toolsets.
func (s service) base(ctx context.Context) (policy.Mode, error) {
	settings, err := s.Settings.Load(ctx)
	if err != nil {
		return policy.Ask, err
	}
	r, err := s.rules(ctx, settings)
	switch {
	case err != nil:
		return policy.Ask, err
	case r.Mode != policy.ModeUnset:
		return r.Mode, nil
	case s.Base != nil:
		return s.Base(), nil
	case s.Default != nil:
		return s.Default(), nil
	}
	return policy.Execute, nil
}

// rules returns the policy in force with these settings.
func (d Deps) rules(ctx context.Context, settings ports.Settings) (policy.Resolved, error) {
	if d.Rules != nil {
		return d.Rules(ctx, settings)
	}
	if settings.Revision == 0 {
		return policy.Resolve(d.Operator), nil
	}
	return policy.Resolve(d.Operator, settings.Layer("your settings", true)), nil
}

// setMode sets the session's mode. Lowering it cancels the session's pending requests, because they were made in the higher mode.
func (s service) setMode(ctx context.Context, sc tool.Scope, p modePlan) (ModeAnswer, error) {
	ceiling, _, err := s.ceilingOf(ctx, sc.Principal)
	if err != nil {
		return ModeAnswer{}, err
	}
	answer := ModeAnswer{Mode: p.Mode, Ceiling: ceiling}
	err = s.Sessions.Update(ctx, ports.SessionKey(sc.Principal.ID, sc.Session), func(have *ports.Session) error {
		answer.Previous, have.Mode = have.Mode, p.Mode
		return nil
	})
	if err != nil {
		return ModeAnswer{}, err
	}
	before := answer.Previous
	if before == policy.ModeUnset {
		before = policy.Execute // not set: pending requests were made in some default mode
	}
	if p.Mode < before {
		answer.Canceled, err = s.cancelAll(ctx, sc)
	}
	return answer, err
}

// ceiling returns the maximum mode.
func (d Deps) ceiling() policy.Mode {
	ceiling := max(d.Operator.Ceiling, policy.Ask)
	if d.Ceiling != nil {
		ceiling = min(ceiling, d.Ceiling())
	}
	return ceiling
}

// ceilingOf returns the principal's maximum mode, from all layers of policy, and the layer that decides it; "" for none.
func (s service) ceilingOf(ctx context.Context, p policy.Principal) (ceiling policy.Mode, by string, err error) {
	settings, err := s.Settings.Load(ctx)
	if err != nil {
		return policy.Ask, "", err
	}
	r, err := s.rules(ctx, settings)
	if err != nil {
		return policy.Ask, "", err
	}
	ceiling, by = s.under(p, r)
	return ceiling, by, nil
}

// under is ceilingOf for the policy r.
func (d Deps) under(p policy.Principal, r policy.Resolved) (policy.Mode, string) {
	ceiling, by := d.ceiling(), ""
	if own := max(r.Ceiling, policy.Ask); own < ceiling {
		ceiling, by = own, r.By["max_mode"]
	}
	if p.Ceiling != policy.ModeUnset && p.Ceiling < ceiling {
		ceiling, by = p.Ceiling, ""
	}
	return ceiling, by
}

// raisedBy says who can raise the maximum mode that the layer with that name decides.
func raisedBy(layer string) string {
	if layer == "" {
		return "only its configuration can raise that (--max-mode)"
	}
	return "it is decided by " + layer + ", and only a person can raise it (countersign policy show; countersign policy max-mode)"
}

func (s service) cancelAll(ctx context.Context, sc tool.Scope) (int, error) {
	waiting, err := s.list(ctx, sc, NoInput{})
	if err != nil {
		return 0, err
	}
	n := 0
	for _, v := range waiting.Confirmations {
		if _, err := s.cancel(ctx, sc, CancelInput{ID: v.ID}); err == nil {
			n++
		}
	}
	return n, nil
}

func (s service) policy(ctx context.Context, sc tool.Scope, _ NoInput) (PolicyAnswer, error) {
	settings, session, err := ports.LoadBoth(ctx, s.Settings, s.Sessions, ports.SessionKey(sc.Principal.ID, sc.Session))
	if err != nil {
		return PolicyAnswer{}, err
	}
	p, err := s.rules(ctx, settings)
	if err != nil {
		return PolicyAnswer{}, err
	}
	ceiling, _ := s.under(sc.Principal, p)
	a := PolicyAnswer{Approval: max(p.Approval, policy.ApprovalHuman), DecidedBy: p.By, Require: p.Require, SessionMode: session.Mode, OperatorMode: p.Mode, Ceiling: ceiling, Level: p.Level, Warnings: p.Missing,
		Tools: p.Tools, Auto: p.Auto, AlwaysAllowed: []string{}, SettingsVersion: settings.Revision}
	for _, granted := range session.Granted {
		if granted.Holds(s.Clock.Now()) {
			a.AlwaysAllowed = append(a.AlwaysAllowed, granted.String())
		}
	}
	if a.Require == nil {
		a.Require = map[string]policy.Proving{}
	}
	a.Forms = []string{}
	if s.Forms != nil {
		counting, err := s.Forms(ctx)
		if err != nil {
			return PolicyAnswer{}, err
		}
		a.Forms = append(a.Forms, counting...)
	}
	if a.Tools == nil {
		a.Tools = map[string]policy.Setting{}
	}
	if a.Auto.Tools == nil {
		a.Auto.Tools = []string{}
	}
	return a, nil
}

// CancelInput names an approval request by ID or token.
type CancelInput struct {
	ID    string `json:"id,omitempty" jsonschema:"description=the confirmation's id"`
	Token string `json:"token,omitempty" jsonschema:"description=or its token"`
}

// Validate requires exactly one of id and token.
func (in CancelInput) Validate() error {
	if (in.ID == "") == (in.Token == "") {
		return ErrWhich
	}
	return nil
}

// CancelAnswer says that an approval request was cancelled.
type CancelAnswer struct {
	Canceled bool         `json:"canceled"`
	View     confirm.View `json:"confirmation"`
}

// ErrWhich is returned for an approval request named twice or not at all.
var ErrWhich = fault.New(fault.Invalid, "confirmation_unnamed", "name the confirmation by exactly one of id and token")

func (s service) cancel(ctx context.Context, sc tool.Scope, in CancelInput) (CancelAnswer, error) {
	digest := confirm.NewToken(in.Token).Digest()
	now := s.Clock.Now()
	if in.ID != "" {
		found, err := s.Ledger.Pending(ctx, ports.PendingFilter{ID: in.ID, Session: sc.Session}, now)
		if err != nil {
			return CancelAnswer{}, err
		}
		if len(found) == 0 {
			return CancelAnswer{}, confirm.ErrUnknown.WithMessage("no confirmation %s of this session is waiting", in.ID)
		}
		digest = found[0].Digest
	}
	var (
		answer CancelAnswer
		grant  confirm.Request
	)
	err := s.Ledger.Settle(ctx, digest, func(g *confirm.Request) error {
		if !own(g, sc) {
			return confirm.ErrMismatch
		}
		err := g.Cancel(now)
		answer, grant = CancelAnswer{Canceled: err == nil, View: g.View()}, *g
		return err
	})
	if err == nil {
		s.withdrawn(ctx, grant, "")
	}
	return answer, err
}

// own reports whether the request was made by this very session and principal.
func own(g *confirm.Request, sc tool.Scope) bool {
	return g.Binding.Session == sc.Session && g.Binding.Principal == sc.Principal.ID
}
