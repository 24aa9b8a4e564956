package app

import (
	"context"
	"iter"
	"maps"
	"slices"

	"github.com/countersign-dev/countersign/app/journal"
	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports"
)

// settingsTool is the name under which changes of the settings stand in the audit. It is no tool: only people change settings.
const settingsTool = "settings"

// AuditTrail yields the records after the given sequence number (0 for all of them), oldest first, reading them page by page. An
// error ends it.
func (a *App) AuditTrail(ctx context.Context, after int64) iter.Seq2[audit.Record, error] {
	return journal.Trail(ctx, a.core.Audit, after)
}

// AuditTail is the last n records, oldest first.
func (a *App) AuditTail(ctx context.Context, n int) ([]audit.Record, error) {
	return a.core.Audit.Tail(ctx, n)
}

// VerifyAudit walks the whole chain and reports how many records hold. It fails with audit.ErrBroken, naming the first that does not.
func (a *App) VerifyAudit(ctx context.Context) (int64, error) {
	return audit.Verify(audit.Record{}, a.AuditTrail(ctx, 0))
}

// Settings are what a person set, product-wide.
type Settings = ports.Settings

// Settings is what a person set. Revision 0 means nobody set anything and the operator's policy rules alone.
func (a *App) Settings(ctx context.Context) (Settings, error) { return a.core.Settings.Load(ctx) }

// ChangeSettings runs change on the settings and stores what it leaves, unless change fails. The first settings start from the
// operator's, which they replace. The change is on record before it is made, as are those of tools. by is who asks ("terminal").
// Settings that somebody else changes meanwhile are a ports.ErrSettingsConflict.
func (a *App) ChangeSettings(ctx context.Context, by string, change func(*Settings) error) (Settings, error) {
	s, err := a.core.Settings.Load(ctx)
	if err != nil {
		return Settings{}, err
	}
	if s.Revision == 0 {
		s.Tools, s.Auto = a.opts.Policy.Tools, a.opts.Policy.Auto
	}
	s.Tools, s.Auto.Tools = maps.Clone(s.Tools), slices.Clone(s.Auto.Tools)
	if err := change(&s); err != nil {
		return Settings{}, err
	}
	args, err := tool.Encode(s)
	if err != nil {
		return Settings{}, err
	}
	e := audit.Event{Time: a.core.Clock.Now(), Phase: audit.Intent, CallID: a.core.IDs.NewID("call_", 16), Tool: settingsTool, Args: args, ApprovedBy: by}
	if err := a.core.Audit.Append(ctx, e); err != nil {
		return Settings{}, err
	}
	saved, err := a.core.Settings.Save(ctx, s)
	e.Phase, e.Time, e.Args = audit.Outcome, a.core.Clock.Now(), nil
	if err != nil {
		e.Code = string(fault.From(err).Code)
	}
	if auditErr := a.core.Audit.Append(context.WithoutCancel(ctx), e); err == nil {
		err = auditErr
	}
	return saved, err
}
