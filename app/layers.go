package app

import (
	"context"
	"reflect"
	"slices"
	"sync/atomic"

	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/ports"
)

// The names of the layers that people store.
const (
	layerAccount = "your settings (account)"
	layerStored  = "your settings"
)

// stored is what a decision was last made from.
type stored struct {
	settings, account ports.Settings
	resolved          policy.Resolved
}

// resolver remembers the policy that the last settings made.
type resolver struct{ last atomic.Pointer[stored] }

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
	now := &stored{settings: s}
	if a.core.Account != nil {
		account, err := a.core.Account.Load(ctx)
		if err != nil {
			return policy.Resolved{}, err
		}
		now.account = account
	}
	if last := a.resolved.last.Load(); last != nil && reflect.DeepEqual(last.settings, now.settings) && reflect.DeepEqual(last.account, now.account) {
		return last.resolved, nil
	}
	layers := slices.Clone(a.opts.Above)
	if now.account.Revision > 0 {
		layers = append(layers, now.account.Layer(layerAccount, true))
	}
	if s.Revision > 0 {
		answered, err := a.vouched(ctx, s)
		if err != nil {
			return policy.Resolved{}, err
		}
		l := s.Layer(layerStored, answered)
		if !answered { // somebody has edited the row: what it opens counts for nothing
			l.Name += " (not on record)"
		}
		layers = append(layers, l)
	}
	now.resolved = policy.Resolve(a.opts.Policy, append(layers, a.opts.Below...)...)
	a.resolved.last.Store(now)
	return now.resolved, nil
}

// vouched reports whether the newest change of settings on record left them as they stand: a row that somebody edited opens nothing.
func (a *App) vouched(ctx context.Context, s ports.Settings) (bool, error) {
	found, err := a.core.Audit.Search(ctx, audit.Filter{Tool: settingsTool, Phase: audit.Outcome, Limit: 20})
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
