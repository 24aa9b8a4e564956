package app

import (
	"context"
	"iter"

	"github.com/countersign-dev/countersign/app/journal"
	"github.com/countersign-dev/countersign/app/preference"
	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/ports"
)

// AuditTrail yields the records after the given sequence number (0 for all of them), oldest first, reading them page by page. An
// error ends it.
func (a *App) AuditTrail(ctx context.Context, after int64) iter.Seq2[audit.Record, error] {
	return journal.Trail(ctx, a.core.Audit, after)
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
	c := a.core
	k := preference.New(preference.Parts{Settings: c.Settings, Audit: c.Audit, Clock: c.Clock, IDs: c.IDs, Operator: a.opts.Policy})
	return k.Change(ctx, by, change)
}
