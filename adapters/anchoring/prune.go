package anchoring

import (
	"context"
	"errors"
	"time"

	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/ports"
)

// step is how many reads are removed at a time: writers wait for no longer.
const step = 2000

// ErrNotPruned is returned when nothing may be removed from the audit log.
var ErrNotPruned = fault.New(fault.State, "audit_not_pruned", "nothing was removed from the audit log")

// Prune removes the reads that are older than days, which the log itself must allow, if there are at least some of them. It verifies the whole log first, and
// removes nothing from one that is not in order, or of which an anchor cannot be read. Steps that were carried out before an error stay removed.
func (k *AnchoredLog) Prune(ctx context.Context, days int, least int64) (audit.Pruned, error) {
	store, ok := k.parts.Log.(ports.Prunable)
	done := audit.Pruned{Days: days, Before: k.parts.Clock.Now().Add(-time.Duration(days) * 24 * time.Hour).UTC().Truncate(time.Second)}
	if !ok || days < 1 {
		return done, ErrNotPruned.WithMessage("records of reads are kept without a time limit")
	}
	k.put(ctx, false)
	beside, err := k.parts.Signer.Head()
	if err != nil || beside == nil {
		return done, errors.Join(err, ErrNotPruned.WithMessage("nothing was removed from the audit log, because its end is not signed yet"))
	}
	var check *audit.Check
	report, err := k.check(ctx, audit.Checkpoint{}, func(c *audit.Check) {
		c.SeekPrune(done.Before, beside.Seq, step)
		check = c
	})
	if err != nil {
		return done, err
	}
	if err := report.Err(); err != nil {
		return done, ErrNotPruned.WithMessage("nothing was removed from the audit log, because its verification failed: %s; run countersign audit verify", fault.From(err).Message).WithCause(err)
	}
	p := check.Pruning()
	if p.Retention.Days != days || p.Retention.Allowed == 0 {
		return done, ErrNotPruned.WithMessage("nothing was removed from the audit log, because keeping reads for %d days was not approved; run countersign policy keep-reads %d", days, days)
	}
	for _, s := range p.Steps {
		if s.Reads < least {
			break
		}
		if err := ctx.Err(); err != nil {
			return done, err
		}
		removal, err := store.Prune(ctx, p, s)
		if err != nil {
			return done, err
		}
		done.Removed, done.To = done.Removed+removal.Removed, removal.To
		k.grew(1, false)
	}
	if done.Removed > 0 {
		k.grew(1, true)
		return done, store.Reclaim(ctx)
	}
	return done, nil
}
