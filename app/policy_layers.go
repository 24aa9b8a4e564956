package app

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/ports"
)

// The names of the layers that users store.
const (
	layerAccount = "your settings (account)"
	layerStored  = "your settings"
)

// ErrAccountNewer is returned when a newer version wrote the account's home. Its policy applies in every home, so only reads run.
var ErrAccountNewer = fault.New(fault.Unavailable, "account_store_newer",
	"the account's home was written by a newer Countersign, and its policy, which applies in every home, cannot be read; only reads run until you update this program")

// rules returns the effective policy: the built-in one, narrowed by every layer from the system's file down to the flags (consent design, section 5).
func (a *App) rules(ctx context.Context, principal, session string) (policy.Policy, ports.Session, error) {
	s, sess, err := ports.LoadBoth(ctx, a.core.Settings, a.core.Sessions, ports.SessionKey(principal, session))
	if err != nil {
		return policy.Policy{}, ports.Session{}, err
	}
	r, err := a.resolve(ctx, s)
	return r.Policy, sess, err
}

// PolicyInForce returns the effective policy, with the layer that decided each part.
func (a *App) PolicyInForce(ctx context.Context) (policy.Resolved, error) {
	s, err := a.core.Settings.Load(ctx)
	if err != nil {
		return policy.Resolved{}, err
	}
	return a.resolve(ctx, s)
}

// BaseMode returns the lowest default mode of the enabled tools that change something; it applies to sessions without a mode.
func (a *App) BaseMode() policy.Mode {
	base := policy.Execute
	for s := range a.registry.Specs() {
		if a.served[s.Name] && s.Class >= policy.ClassWrite && s.Mode != policy.ModeUnset {
			base = min(base, s.Mode)
		}
	}
	return base
}

// Resolve returns the policy of these settings combined with every other layer.
func (a *App) Resolve(ctx context.Context, s ports.Settings) (policy.Resolved, error) {
	return a.resolve(ctx, s)
}

func (a *App) resolve(ctx context.Context, s ports.Settings) (policy.Resolved, error) {
	var account ports.Settings
	if a.core.Account != nil {
		var err error
		if account, err = a.core.Account.Load(ctx); errors.Is(err, ports.ErrStoreNewer) {
			return policy.Resolved{}, ErrAccountNewer
		} else if err != nil {
			return policy.Resolved{}, err
		}
	}
	newest, err := a.newestChanges(ctx)
	if err != nil {
		return policy.Resolved{}, err
	}
	if last, ok := a.resolved.Get(s, account, newest); ok {
		return last, nil
	}
	layers, sound := slices.Clone(a.opts.Above), true
	var now policy.Resolved
	for _, set := range []struct {
		name, where string
		record      ports.AuditLog
		stored      ports.Settings
		own, skip   bool
	}{
		{layerAccount, "below the account's own directory", a.core.AccountAudit, account, false, a.core.Account == nil},
		{layerStored, "of this home", a.core.Audit, s, true, false},
	} {
		if set.skip {
			continue
		}
		last, err := lastChange(ctx, set.record)
		if err != nil {
			return policy.Resolved{}, err
		}
		answered := last != nil && last.Event.Plan == set.stored.Sum()
		if set.stored.Revision > 0 {
			l := set.stored.Layer(set.name, answered)
			if !answered { // the row was edited: what it widens does not count
				l.Name += " (not on record)"
			}
			layers = append(layers, l)
		}
		if answered || last == nil && set.stored.Revision == 0 {
			continue
		}
		sound, now.OffRecord = false, now.OffRecord || set.own
		if last == nil { // a first change in progress, or a row that was inserted by hand
			continue
		}
		lost := "the settings " + set.where + " differ from their last recorded change: they were deleted or edited outside Countersign"
		if kept, ok := recovered(last, set.name+" as last recorded (deleted or edited since)"); ok {
			layers, lost = append(layers, kept), lost+"; the restrictions of that change still apply"
			if set.own {
				now.Recovered = &kept
			}
		} else {
			lost += ", and the record does not contain its exact restrictions"
		}
		now.Missing = append(now.Missing, lost)
	}
	is := policy.Resolve(a.opts.Policy, append(layers, a.opts.Below...)...)
	is.OffRecord, is.Missing, is.Recovered = now.OffRecord, now.Missing, now.Recovered
	if sound { // the record of a change in progress appears shortly
		a.resolved.Put(s, account, newest, is)
	}
	return is, nil
}

// newestChanges returns the newest audit records of settings changes, including refused ones. It reads them again whenever a store has changed.
func (a *App) newestChanges(ctx context.Context) (NewestChanges, error) {
	var (
		stamps StoreStamps
		newest NewestChanges
	)
	stamped := true
	for _, store := range []struct {
		settings ports.SettingsStore
		stamp    *int64
	}{{a.core.Settings, &stamps.Own}, {a.core.Account, &stamps.Account}} {
		if store.settings == nil {
			continue
		}
		s, ok := store.settings.(ports.ChangeCounter)
		if !ok {
			stamped = false
			continue
		}
		var err error
		if *store.stamp, err = s.ChangeCounter(ctx); err != nil {
			return newest, err
		}
	}
	if last, ok := a.resolved.Changes(stamps); ok && stamped {
		return last, nil
	}
	for _, record := range []struct {
		audit ports.AuditLog
		seq   *int64
	}{{a.core.Audit, &newest.Own}, {a.core.AccountAudit, &newest.Account}} {
		if record.audit == nil {
			continue
		}
		found, err := record.audit.Search(ctx, audit.Filter{Tool: settingsTool, Phase: audit.Outcome, Limit: 1})
		if err != nil {
			return newest, err
		}
		for _, r := range found {
			*record.seq = r.Seq
		}
	}
	if stamped {
		a.resolved.PutChanges(stamps, newest)
	}
	return newest, nil
}

// recovered returns what the settings narrow after a change, according to its audit record; false if the record does not contain them completely.
func recovered(change *audit.Record, name string) (policy.Layer, bool) {
	var had ports.Settings
	if json.Unmarshal(change.Event.Args, &had) != nil {
		return policy.Layer{}, false
	}
	slices.Sort(had.Auto.Tools) // as they are stored
	slices.Sort(had.Forms)
	if had.Sum() != change.Event.Plan {
		return policy.Layer{}, false
	}
	l := had.Layer(name, false)
	l.Auto, l.Tools = policy.AutoApprove{}, maps.Clone(l.Tools)
	maps.DeleteFunc(l.Tools, func(_ string, set policy.Setting) bool { return set == policy.Allowed })
	if l.Approval.ByCaller() {
		l.Approval = policy.ApprovalUnset
	}
	return l, true
}

// FormsOn reports whether the user lets forms of the host entry approve: in the settings of this home, with the change in the audit log, and in the
// account's own settings if those are separate.
func (a *App) FormsOn(ctx context.Context, entry string) (bool, error) {
	if entry == "" || a.opts.Strange {
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

// FormsCounting returns the host entries whose forms can approve, sorted.
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

// KeepReadsDays returns for how many days the audit log of this home keeps records of reads; zero for all time. It is what the user set, as far as the change
// is on record.
func (a *App) KeepReadsDays(ctx context.Context) (int, error) {
	s, err := a.core.Settings.Load(ctx)
	if err != nil || s.KeepReadsDays == 0 {
		return 0, err
	}
	if ok, err := vouched(ctx, a.core.Audit, s); err != nil || !ok {
		return 0, err
	}
	return s.KeepReadsDays, nil
}

// vouched reports whether the newest recorded change of settings left them as they are now: an edited row widens nothing. Without an audit log it
// returns false.
func vouched(ctx context.Context, record ports.AuditLog, s ports.Settings) (bool, error) {
	last, err := lastChange(ctx, record)
	return last != nil && last.Event.Plan == s.Sum(), err
}

// lastChange returns the newest recorded change of settings that was applied; nil if there is none. It reads page by page, so that many refused
// attempts of a program cannot hide what the user did.
func lastChange(ctx context.Context, record ports.AuditLog) (*audit.Record, error) {
	if record == nil {
		return nil, nil
	}
	f := audit.Filter{Tool: settingsTool, Phase: audit.Outcome, Limit: changesPage}
	for {
		found, err := record.Search(ctx, f)
		if err != nil {
			return nil, err
		}
		for i := range found {
			if carriedOut(&found[i]) {
				return latest(ctx, record, &found[i])
			}
		}
		if len(found) < f.Limit {
			return nil, nil
		}
		f.Before = found[len(found)-1].Seq
	}
}

// carriedOut reports whether a change of settings was applied, not refused or only previewed.
func carriedOut(r *audit.Record) bool {
	return r.Event.Code == "" && r.Event.Verdict != policy.DryRun.String()
}

// latest returns that change or a later one. If the change widened something, it does not rely on an index of the audit log to show that nobody
// reverted it.
func latest(ctx context.Context, record ports.AuditLog, change *audit.Record) (*audit.Record, error) {
	var had ports.Settings
	if json.Unmarshal(change.Event.Args, &had) == nil && !opens(had) {
		return change, nil
	}
	f := audit.Filter{After: change.Seq, Tool: settingsTool, Phase: audit.Outcome, Limit: changesPage}
	for {
		since, err := record.Search(ctx, f)
		if err != nil {
			return nil, err
		}
		for i := range since {
			if carriedOut(&since[i]) {
				return &since[i], nil
			}
		}
		if len(since) < f.Limit {
			return change, nil
		}
		f.Before = since[len(since)-1].Seq
	}
}

// opens reports whether the settings let anything run that would ask without them.
func opens(s ports.Settings) bool {
	return s.KeepReadsDays > 0 || s.Approval.ByCaller() || s.Level == policy.FullAccess || s.Auto.Enabled || len(s.Auto.Tools) > 0 || len(s.Forms) > 0 ||
		slices.Contains(slices.Collect(maps.Values(s.Tools)), policy.Allowed)
}

// changesPage is how many settings changes are read at a time. The newest one is usually enough, and the search stops there.
const changesPage = 20
