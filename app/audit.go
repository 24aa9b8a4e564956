package app

import (
	"context"
	"encoding/json"
	"errors"
	"iter"

	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports"
)

// AuditTrail yields the records after the given sequence number (0 for all of them), oldest first, reading them page by page. An
// error ends it.
func (a *App) AuditTrail(ctx context.Context, after int64) iter.Seq2[audit.Record, error] {
	return AuditRecords(ctx, a.core.Audit, after)
}

// AuditTail is the last n records, oldest first.
func (a *App) AuditTail(ctx context.Context, n int) ([]audit.Record, error) {
	return a.core.Audit.Tail(ctx, n)
}

// AuditSearch is the newest records that the filter chooses, newest first. Reads are in it a moment after they were made.
func (a *App) AuditSearch(ctx context.Context, f audit.Filter) ([]audit.Record, error) {
	return a.core.Audit.Search(ctx, f)
}

// AuditDropped is how many records of reads this process could not write. Changes are never among them: without a record there is none.
func (a *App) AuditDropped() int64 { return a.journal.Dropped() }

// CheckAudit holds the whole audit against its chain, and against whatever else the log can hold it: its signed end, and its anchors. What is wrong with
// the audit is in the report; the error is that it could not be looked at.
//
// What enrolled keys have signed is verified again as well, from the record alone.
func (a *App) CheckAudit(ctx context.Context) (audit.Report, error) {
	r, err := a.checked(ctx)
	if err != nil {
		return r, err
	}
	forged, err := a.keys.Check(ctx)
	r.Faults = append(r.Faults, forged...)
	return r, err
}

func (a *App) checked(ctx context.Context) (audit.Report, error) {
	if c, ok := a.core.Audit.(ports.Checked); ok {
		return c.Check(ctx)
	}
	r := audit.Report{Keys: []audit.Stretch{}, Anchors: []audit.Vouch{}}
	var err error
	if r.Records, err = audit.Verify(audit.Record{}, a.AuditTrail(ctx, 0)); errors.Is(err, audit.ErrBroken) {
		r.Faults, err = []error{err}, nil
	}
	return r, err
}

// VerifyAudit is CheckAudit for those who want to know no more than how many records hold, and the worst of what is wrong: audit.ErrBroken names the first
// record that does not hold.
func (a *App) VerifyAudit(ctx context.Context) (int64, error) {
	r, err := a.CheckAudit(ctx)
	if err != nil {
		return r.Records, err
	}
	return r.Records, r.Err()
}

// Settings are what a person set, product-wide.
type Settings = ports.Settings

// Settings is what a person set. Revision 0 means nobody set anything and the operator's policy rules alone.
func (a *App) Settings(ctx context.Context) (Settings, error) { return a.core.Settings.Load(ctx) }

// settingsTool changes the settings; it is for people alone.
const settingsTool = "change_settings"

// SettingsCall is the call that stores what change makes of the settings, for people alone: what it would open has to be approved like any other plan.
// It fails as change does.
func (a *App) SettingsCall(ctx context.Context, change func(*Settings) error) (tool.Call, error) {
	s, err := a.core.Settings.Load(ctx)
	if err != nil {
		return tool.Call{}, err
	}
	next := s.Copy()
	if next.Tools == nil {
		next.Tools = map[string]policy.Setting{}
	}
	if err := change(&next); err != nil {
		return tool.Call{}, err
	}
	if next.Revision != s.Revision { // made from others
		return tool.Call{}, ports.ErrSettingsConflict
	}
	if next.Tools == nil {
		next.Tools = map[string]policy.Setting{}
	}
	next.Revision, next.Auto.Tools = s.Revision+1, append([]string{}, next.Auto.Tools...)
	args, err := tool.Encode(next)
	return tool.Call{Tool: settingsTool, Args: args, Person: true}, err
}

// ChangeSettings is SettingsCall and the call itself, on behalf of whom c says, which may be a program: what only narrows is stored, and what opens
// something once a person has approved it. Until then it is an *Unconfirmed, and the same change made again goes on.
func (a *App) ChangeSettings(ctx context.Context, c tool.Call, change func(*Settings) error) (Settings, error) {
	call, err := a.SettingsCall(ctx, change)
	if err != nil {
		return Settings{}, err
	}
	c.Tool, c.Args = call.Tool, call.Args
	r := a.begin(c)
	r.people = true
	o := a.through(ctx, r)
	if o.Err != nil && o.Issued != nil {
		return Settings{}, &Unconfirmed{Issued: *o.Issued, Err: fault.From(o.Err)}
	}
	if o.Err != nil {
		return Settings{}, o.Err
	}
	var saved Settings // as they were approved: the answer is masked, and the names of some tools look like those of secrets
	err = json.Unmarshal(call.Args, &saved)
	return saved, err
}
