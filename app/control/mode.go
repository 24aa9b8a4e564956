package control

import (
	"context"

	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/domain/toolrun"
	"github.com/countersign-dev/countersign/ports"
)

// SetModeInput is the mode to set.
type SetModeInput struct {
	Mode string `json:"mode" jsonschema:"enum=ask,enum=plan,enum=execute"`
}

// ModeAnswer is the session's mode now, and what lowering it cancelled.
type ModeAnswer struct {
	Mode     policy.Mode `json:"mode"`
	Previous policy.Mode `json:"previous"`
	Ceiling  policy.Mode `json:"ceiling"`
	Canceled int         `json:"canceled_confirmations"`
}

// PolicyAnswer is the policy in force for this session.
type PolicyAnswer struct {
	SessionMode     policy.Mode               `json:"session_mode"`
	OperatorMode    policy.Mode               `json:"operator_mode"`
	Ceiling         policy.Mode               `json:"max_mode"`
	Level           policy.Level              `json:"permission_level"`
	Tools           map[string]policy.Setting `json:"tool_permissions"`
	Auto            policy.AutoApprove        `json:"auto_approve"`
	AlwaysAllowed   []string                  `json:"always_allowed"`
	SettingsVersion int64                     `json:"settings_revision"`
}

// setMode sets the session's mode. Lowering it cancels what the session has waiting: it was asked for under the freer mode.
func (s service) setMode(ctx context.Context, sc tool.Scope, in SetModeInput) (ModeAnswer, error) {
	var mode policy.Mode
	if err := mode.UnmarshalText([]byte(in.Mode)); err != nil {
		return ModeAnswer{}, err
	}
	ceiling := s.ceilingOf(sc.Principal)
	if mode > ceiling {
		return ModeAnswer{}, policy.ErrCeiling.Sayf("mode %s is above this server's ceiling %s; only its operator can raise that (--max-mode)", mode, ceiling)
	}
	answer := ModeAnswer{Mode: mode, Ceiling: ceiling}
	err := s.Sessions.Update(ctx, ports.SessionKey(sc.Principal.ID, sc.Session), func(have *ports.Session) error {
		answer.Previous, have.Mode = have.Mode, mode
		return nil
	})
	if err != nil {
		return ModeAnswer{}, err
	}
	before := answer.Previous
	if before == policy.ModeUnset {
		before = policy.Execute // nobody had set one: whatever was asked for was asked for under some default
	}
	if mode < before {
		answer.Canceled, err = s.cancelAll(ctx, sc)
	}
	return answer, err
}

// ceiling is the mode that nobody passes here.
func (d Deps) ceiling() policy.Mode {
	ceiling := max(d.Operator.Ceiling, policy.Ask)
	if d.Ceiling != nil {
		ceiling = min(ceiling, d.Ceiling())
	}
	return ceiling
}

// ceilingOf is the mode that the principal does not pass here.
func (d Deps) ceilingOf(p policy.Principal) policy.Mode {
	if p.Ceiling != policy.ModeUnset {
		return min(d.ceiling(), p.Ceiling)
	}
	return d.ceiling()
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
	p := settings.Over(s.Operator)
	a := PolicyAnswer{SessionMode: session.Mode, OperatorMode: p.Mode, Ceiling: s.ceilingOf(sc.Principal), Level: p.Level,
		Tools: p.Tools, Auto: p.Auto, AlwaysAllowed: []string{}, SettingsVersion: settings.Revision}
	for _, granted := range session.Granted {
		if granted.Holds(s.Clock.Now()) {
			a.AlwaysAllowed = append(a.AlwaysAllowed, granted.String())
		}
	}
	if a.Tools == nil {
		a.Tools = map[string]policy.Setting{}
	}
	if a.Auto.Tools == nil {
		a.Auto.Tools = []string{}
	}
	return a, nil
}

// CancelInput names a confirmation by id or token.
type CancelInput struct {
	ID    string `json:"id,omitempty" jsonschema:"description=the confirmation's id"`
	Token string `json:"token,omitempty" jsonschema:"description=or its token"`
}

// Validate wants exactly one of id and token.
func (in CancelInput) Validate() error {
	if (in.ID == "") == (in.Token == "") {
		return ErrWhich
	}
	return nil
}

// CancelAnswer says that a confirmation was withdrawn.
type CancelAnswer struct {
	Canceled bool         `json:"canceled"`
	View     confirm.View `json:"confirmation"`
}

// ErrWhich reports a confirmation named twice or not at all.
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
			return CancelAnswer{}, confirm.ErrUnknown.Sayf("no confirmation %s of this session is waiting", in.ID)
		}
		digest = found[0].Digest
	}
	var answer CancelAnswer
	err := s.Ledger.Settle(ctx, digest, func(g *confirm.Grant) error {
		if !own(g, sc) {
			return confirm.ErrMismatch
		}
		err := g.Cancel(now)
		answer = CancelAnswer{Canceled: err == nil, View: g.View()}
		return err
	})
	if err == nil {
		s.ended(ctx, answer.View.ID, toolrun.Cancelled)
	}
	return answer, err
}

// own reports whether the grant was issued to this very session and principal.
func own(g *confirm.Grant, sc tool.Scope) bool {
	return g.Binding.Session == sc.Session && g.Binding.Principal == sc.Principal.ID
}
