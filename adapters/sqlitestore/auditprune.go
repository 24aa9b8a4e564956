package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"

	"github.com/countersign-dev/countersign/domain/audit"
)

const (
	selectBetween  = `SELECT seq, event, prev, hash FROM audit WHERE seq > ? AND seq <= ? ORDER BY seq`
	selectRemovals = `SELECT seq, event, prev, hash FROM audit WHERE ` + toolOf + ` = ?1 AND ` + phaseOf + ` = ?2`
	deleteBetween  = `DELETE FROM audit WHERE seq BETWEEN ? AND ?`
	updateKept     = `UPDATE audit_head SET kept = ?, kept_count = ? WHERE one = 1`
	// reclaimed is how many pages are given back at a time: other processes wait for no longer.
	reclaimed = 256
	// spare is how many free pages stay for what is written next.
	spare = 256
)

// Prune removes the reads of one step and puts that on record, in one transaction in which it has found the records to be those of the step, and the
// rest of the log to be as it was when p was planned.
func (s *Store) Prune(ctx context.Context, p audit.Pruning, step audit.PruneStep) (done audit.Removal, err error) {
	err = s.Change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		end, err := ending(ctx, tx)
		if err != nil {
			return err
		}
		key, err := s.signing(end)
		if err != nil {
			return err
		}
		last, _, err := newestRemoval(ctx, tx, key)
		if err != nil {
			return err
		}
		if last.To != step.From.Seq || last.To > 0 && last.Position() != step.From {
			return audit.ErrStale.WithMessage("another process removed records of reads during this call; call again")
		}
		if err := p.Retention.Still(between(ctx, tx, p.Seen, end.Seq)); err != nil {
			return err
		}
		runs, err := step.Pick(p.Before, between(ctx, tx, step.From.Seq, step.To.Seq))
		if err != nil {
			return err
		}
		for _, run := range runs {
			if _, err := tx.ExecContext(ctx, deleteBetween, run[0], run[1]); err != nil {
				return err
			}
		}
		done = audit.Removal{From: step.From.Seq + 1, To: step.To.Seq, Removed: step.Reads, Before: p.Before, Days: p.Retention.Days, Allowed: p.Retention.Allowed,
			Hash: step.To.Hash, Kept: step.To.Kept}
		if done, err = s.signRemoval(key, done); err != nil {
			return err
		}
		if end, err = link(ctx, tx, end, []audit.Event{done.Event(done.Head.At)}); err != nil {
			return err
		}
		h, err := s.signer.Sign(key, audit.Position{Seq: end.Seq, Hash: end.Hash, Kept: end.Kept})
		if err == nil {
			_, err = tx.ExecContext(ctx, updateSigned, h.Line())
		}
		return err
	})
	return done, err
}

// signing returns the key that signs the log now. Without it nothing is removed.
func (s *Store) signing(end audit.End) (audit.Key, error) {
	if s.signer == nil || end.Signed == nil {
		return audit.Key{}, audit.ErrUnsigned.WithMessage("the audit log is not signed, so nothing was removed from it")
	}
	if h := *end.Signed; h.Seq != end.Seq || h.Hash != end.Hash || h.Kept != end.Kept || !h.Signed() {
		return audit.Key{}, audit.ErrUnsigned.WithMessage("the end of the audit log is not signed, so nothing was removed from it; run countersign audit verify")
	}
	return s.signer.Key(end.Signed.Key)
}

// signRemoval signs what a removal says.
func (s *Store) signRemoval(key audit.Key, r audit.Removal) (audit.Removal, error) {
	var err error
	r.Head, err = s.signer.Sign(key, audit.Position{Seq: r.To, Hash: r.Sum()})
	return r, err
}

// removalAgain returns the newest removal that the key had has signed, signed with another one.
func (s *Store) removalAgain(ctx context.Context, tx *sql.Tx, had, key audit.Key) (audit.Removal, bool, error) {
	r, seq, err := newestRemoval(ctx, tx, had)
	if err != nil || r.To == 0 {
		return r, false, err
	}
	r.Again = seq
	r, err = s.signRemoval(key, r)
	return r, err == nil, err
}

// newestRemoval returns the removal of the most records that the key has signed, and the record that tells of it; zero for none.
func newestRemoval(ctx context.Context, tx *sql.Tx, key audit.Key) (newest audit.Removal, at int64, err error) {
	all, err := removals(ctx, tx)
	for _, raw := range all {
		if r, ok := audit.ReadRemoval(raw.Event); ok && r.SignedBy(key) && (r.To > newest.To || r.To == newest.To && raw.Seq > at) {
			newest, at = r, raw.Seq
		}
	}
	return newest, at, err
}

// removals returns the records of removals.
func removals(ctx context.Context, tx *sql.Tx) (all []audit.Raw, err error) {
	rows, err := tx.QueryContext(ctx, selectRemovals, text(audit.PruneTool), text(string(audit.Answer)))
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err tells what went wrong
	for rows.Next() {
		var r audit.Raw
		if err := rows.Scan(&r.Seq, &r.Event, &r.Prev, &r.Hash); err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, rows.Err()
}

// between yields the records behind one up to another.
func between(ctx context.Context, tx *sql.Tx, after, to int64) iter.Seq2[audit.Raw, error] {
	return func(yield func(audit.Raw, error) bool) {
		rows, err := tx.QueryContext(ctx, selectBetween, after, to)
		if err != nil {
			yield(audit.Raw{}, err)
			return
		}
		defer rows.Close() //nolint:errcheck // rows.Err tells what went wrong
		var event, prev, hash sql.RawBytes
		for rows.Next() {
			var r audit.Raw
			if err := rows.Scan(&r.Seq, &event, &prev, &hash); err != nil {
				yield(audit.Raw{}, err)
				return
			}
			if r.Event, r.Prev, r.Hash = event, prev, hash; !yield(r, nil) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(audit.Raw{}, err)
		}
	}
}

// countKept works out what is kept of the records of a log that an earlier version wrote.
func countKept(ctx context.Context, tx *sql.Tx) error {
	end, err := ending(ctx, tx)
	if err != nil || end.Seq == 0 {
		return err
	}
	kept := audit.NoneKept()
	for r, err := range between(ctx, tx, 0, end.Seq) {
		if err != nil {
			return err
		}
		kept = kept.OfRaw(r)
	}
	_, err = tx.ExecContext(ctx, updateKept, kept.Hash[:], kept.Count)
	return err
}

// vacuum gives back some pages.
func vacuum(ctx context.Context, tx *sql.Tx) error {
	rows, err := tx.QueryContext(ctx, fmt.Sprintf("PRAGMA incremental_vacuum(%d)", reclaimed))
	if err != nil {
		return err
	}
	defer rows.Close() //nolint:errcheck // rows.Err tells what went wrong
	for rows.Next() {  // a page each time
	}
	return rows.Err()
}

// Reclaim gives space that nothing is stored in back to the file system, a little at a time, so that no writer waits for it. A database that an earlier
// version made and that could not be rearranged when it was upgraded keeps its size; what is written next goes there.
func (s *Store) Reclaim(ctx context.Context) error {
	for {
		free := 0
		h, err := s.begin(ctx, s.forWriting)
		if err != nil {
			return err
		}
		err = func() error {
			defer s.end(h)
			conn, err := h.write.Conn(ctx)
			if err != nil {
				return err
			}
			defer conn.Close() //nolint:errcheck // this only returns it
			var mode int
			if err := errors.Join(conn.QueryRowContext(ctx, "PRAGMA auto_vacuum").Scan(&mode), conn.QueryRowContext(ctx, "PRAGMA freelist_count").Scan(&free)); err != nil {
				return err
			}
			if free <= spare || mode == 0 {
				free = 0
				return nil
			}
			tx, err := s.immediate(ctx, conn)
			if err != nil {
				return err
			}
			defer tx.Rollback() //nolint:errcheck // after Commit it does nothing
			if err := vacuum(context.WithoutCancel(ctx), tx); err != nil {
				return err
			}
			return tx.Commit()
		}()
		if err != nil || free == 0 {
			return s.explain(ctx, err)
		}
	}
}
