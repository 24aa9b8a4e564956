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

// AuditTrail yields the records after the given sequence number (0 for all), oldest first, page by page. It stops at an error.
func (a *App) AuditTrail(ctx context.Context, after int64) iter.Seq2[audit.Record, error] {
	return AuditRecords(ctx, a.core.Audit, after)
}

// AuditTail returns the last n records, oldest first.
func (a *App) AuditTail(ctx context.Context, n int) ([]audit.Record, error) {
	return a.core.Audit.Tail(ctx, n)
}

// AuditSearch returns the newest records that the filter selects, newest first. Records of reads appear with a short delay.
func (a *App) AuditSearch(ctx context.Context, f audit.Filter) ([]audit.Record, error) {
	return a.core.Audit.Search(ctx, f)
}

// AuditRemoved returns the record that says that retention has removed the reads up to that record; zero if none does.
func (a *App) AuditRemoved(ctx context.Context, seq int64) (by int64, err error) {
	found, err := a.core.Audit.Search(ctx, audit.Filter{Tool: audit.PruneTool, Phase: audit.Answer, Limit: audit.MaxListed})
	for i := range found {
		if r, ok := found[i].Removal(); ok && r.To >= seq {
			by = found[i].Seq
		}
	}
	return by, err
}

// AuditDropped returns how many records of reads this process could not write. Records of changes are never dropped: without one, the change does not run.
func (a *App) AuditDropped() int64 { return a.journal.Dropped() }

// CheckAudit verifies the whole audit log: its chain, its signed end, its anchors, and the signatures of enrolled keys. Problems of the log are in the
// report; the error means that the check could not run.
func (a *App) CheckAudit(ctx context.Context) (audit.Report, error) {
	return a.checkAudit(ctx, ports.Checked.Check)
}

// CheckNewAudit is CheckAudit without reading again the records that an earlier check found in order: what was done to those since, CheckAudit alone finds.
func (a *App) CheckNewAudit(ctx context.Context) (audit.Report, error) {
	return a.checkAudit(ctx, ports.Checked.CheckNew)
}

func (a *App) checkAudit(ctx context.Context, check func(ports.Checked, context.Context) (audit.Report, error)) (audit.Report, error) {
	r, err := a.checked(ctx, check)
	if err != nil {
		return r, err
	}
	forged, err := a.keys.Check(ctx)
	r.Faults = append(r.Faults, forged...)
	return r, err
}

func (a *App) checked(ctx context.Context, check func(ports.Checked, context.Context) (audit.Report, error)) (audit.Report, error) {
	if c, ok := a.core.Audit.(ports.Checked); ok {
		return check(c, ctx)
	}
	r := audit.Report{Keys: []audit.Stretch{}, Anchors: []audit.Vouch{}}
	var err error
	if r.Records, err = audit.Verify(audit.Record{}, a.AuditTrail(ctx, 0)); errors.Is(err, audit.ErrBroken) {
		r.Faults, err = []error{err}, nil
	}
	return r, err
}

// VerifyAudit is CheckAudit reduced to the number of valid records and the most serious problem; audit.ErrBroken names the first invalid record.
func (a *App) VerifyAudit(ctx context.Context) (int64, error) {
	r, err := a.CheckAudit(ctx)
	if err != nil {
		return r.Records, err
	}
	return r.Records, r.Err()
}

// Settings is the user's settings.
type Settings = ports.Settings

// Settings returns the user's settings. Revision 0 means that nothing is set and only the server configuration applies.
func (a *App) Settings(ctx context.Context) (Settings, error) { return a.core.Settings.Load(ctx) }

// settingsTool is the tool that changes the settings; it is for users only.
const settingsTool = "change_settings"

// SettingsCall returns the call that stores what change makes of the settings; only users may make it. What it widens has to be approved like any other
// plan. It fails with the error of change.
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
	if next.Revision != s.Revision { // computed from other settings
		return tool.Call{}, ports.ErrSettingsConflict
	}
	if next.Tools == nil {
		next.Tools = map[string]policy.Setting{}
	}
	next.Revision, next.Auto.Tools = s.Revision+1, append([]string{}, next.Auto.Tools...)
	args, err := tool.Encode(next)
	return tool.Call{Tool: settingsTool, Args: args, FromUser: true}, err
}

// ChangeSettings makes the call of SettingsCall for the caller c, which may be a program. A change that only narrows is stored at once; one that widens
// permissions is an *ApprovalRequiredError until the user approves it and the same change is made again.
func (a *App) ChangeSettings(ctx context.Context, c tool.Call, change func(*Settings) error) (Settings, error) {
	call, err := a.SettingsCall(ctx, change)
	if err != nil {
		return Settings{}, err
	}
	c.Tool, c.Args = call.Tool, call.Args
	r := a.begin(c)
	r.people = true
	o := a.through(ctx, r)
	if o.Err != nil && o.Request != nil {
		return Settings{}, &ApprovalRequiredError{Request: *o.Request, Err: fault.From(o.Err)}
	}
	if o.Err != nil {
		return Settings{}, o.Err
	}
	var saved Settings // the change as approved: the answer is redacted, and some tool names look like secrets
	err = json.Unmarshal(call.Args, &saved)
	return saved, err
}
