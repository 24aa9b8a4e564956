package app

import (
	"context"
	"slices"

	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/ports"
)

// The names of the layers that people store.
const (
	layerAccount = "your settings (account)"
	layerStored  = "your settings"
)

// rules is the policy in force: what is built in, narrowed by every layer from the system's file down to the flags (consent design, section 5).
func (a *App) rules(ctx context.Context, principal, session string) (policy.Policy, ports.Session, error) {
	s, sess, err := ports.LoadBoth(ctx, a.core.Settings, a.core.Sessions, ports.SessionKey(principal, session))
	if err != nil {
		return policy.Policy{}, ports.Session{}, err
	}
	r, err := a.resolve(ctx, s)
	return r.Policy, sess, err
}

// PolicyInForce is the policy that decides now, with the layer that decided each part of it.
func (a *App) PolicyInForce(ctx context.Context) (policy.Resolved, error) {
	s, err := a.core.Settings.Load(ctx)
	if err != nil {
		return policy.Resolved{}, err
	}
	return a.resolve(ctx, s)
}

// BaseMode is the lowest default mode of the served tools that change something: of a session that nobody set a mode for.
func (a *App) BaseMode() policy.Mode {
	base := policy.Execute
	for s := range a.registry.Specs() {
		if a.served[s.Name] && s.Class >= policy.ClassWrite && s.Mode != policy.ModeUnset {
			base = min(base, s.Mode)
		}
	}
	return base
}

// Resolve is the policy that these settings make with every other layer.
func (a *App) Resolve(ctx context.Context, s ports.Settings) (policy.Resolved, error) {
	return a.resolve(ctx, s)
}

func (a *App) resolve(ctx context.Context, s ports.Settings) (policy.Resolved, error) {
	var account ports.Settings
	if a.core.Account != nil {
		var err error
		if account, err = a.core.Account.Load(ctx); err != nil {
			return policy.Resolved{}, err
		}
	}
	if last, ok := a.resolved.Recall(s, account); ok {
		return last, nil
	}
	layers, offRecord, unvouched := slices.Clone(a.opts.Above), false, false
	if account.Revision > 0 {
		answered, err := vouched(ctx, a.core.AccountAudit, account)
		if err != nil {
			return policy.Resolved{}, err
		}
		l := account.Layer(layerAccount, answered)
		if unvouched = !answered; unvouched {
			l.Name += " (not on record)"
		}
		layers = append(layers, l)
	}
	if s.Revision > 0 {
		answered, err := vouched(ctx, a.core.Audit, s)
		if err != nil {
			return policy.Resolved{}, err
		}
		l := s.Layer(layerStored, answered)
		if offRecord = !answered; offRecord { // somebody has edited the row: what it opens counts for nothing
			l.Name += " (not on record)"
		}
		layers = append(layers, l)
	}
	now := policy.Resolve(a.opts.Policy, append(layers, a.opts.Below...)...)
	now.OffRecord = offRecord
	if !offRecord && !unvouched { // a change that is being made is on record in a moment
		a.resolved.Keep(s, account, now)
	}
	return now, nil
}

// FormsOn reports whether a person switched on that forms of the host entry answer: in the settings of this home, with the change on record, and in those
// below the account's own directory where they are others.
func (a *App) FormsOn(ctx context.Context, entry string) (bool, error) {
	if entry == "" {
		return false, nil
	}
	s, err := a.core.Settings.Load(ctx)
	if err != nil || !slices.Contains(s.Forms, entry) {
		return false, err
	}
	if a.core.Account != nil {
		account, err := a.core.Account.Load(ctx)
		if err != nil || !slices.Contains(account.Forms, entry) {
			return false, err
		}
	}
	return vouched(ctx, a.core.Audit, s)
}

// FormsCounting are the host entries whose forms answer, sorted.
func (a *App) FormsCounting(ctx context.Context) ([]string, error) {
	s, err := a.core.Settings.Load(ctx)
	out := []string{}
	for _, entry := range s.Forms {
		on, err := a.FormsOn(ctx, entry)
		if err != nil {
			return nil, err
		}
		if on {
			out = append(out, entry)
		}
	}
	return out, err
}

// vouched reports whether the newest change of settings in an audit left them as they stand: a row that somebody edited opens nothing. Without an audit
// nothing is vouched for.
func vouched(ctx context.Context, record ports.AuditLog, s ports.Settings) (bool, error) {
	if record == nil {
		return false, nil
	}
	found, err := record.Search(ctx, audit.Filter{Tool: settingsTool, Phase: audit.Outcome, Limit: 20})
	if err != nil {
		return false, err
	}
	for _, r := range found {
		if r.Event.Code == "" && r.Event.Verdict != policy.DryRun.String() {
			return r.Event.Plan == s.Sum(), nil
		}
	}
	return false, nil
}
