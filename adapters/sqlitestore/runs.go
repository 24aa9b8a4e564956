package sqlitestore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports"
)

const (
	insertRun = `INSERT INTO runs (call_id, redeemed, confirmation, tool, session, status, at, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (call_id) DO NOTHING`
	// Each id is looked up in an index of its own.
	selectRun = `SELECT seq, body FROM (
		SELECT 1 AS rank, seq, body FROM runs WHERE call_id = ?1
		UNION ALL SELECT 2, seq, body FROM runs WHERE redeemed = ?1 AND redeemed <> ''
		UNION ALL SELECT 3, seq, body FROM runs WHERE confirmation = ?1 AND confirmation <> '') ORDER BY rank, seq LIMIT 1`
	updateRun  = `UPDATE runs SET redeemed = ?, confirmation = ?, tool = ?, session = ?, status = ?, at = ?, body = ? WHERE seq = ?`
	selectRuns = `SELECT body FROM runs WHERE (?1 = '' OR status = ?1) AND (?2 = '' OR tool = ?2) AND (?3 = '' OR session = ?3)
		AND at < ?4 ORDER BY at DESC, seq DESC LIMIT ?5`
	deleteRuns = `DELETE FROM runs WHERE status NOT IN ('pending_confirmation', 'executing')
		AND (at < ?1 OR seq NOT IN (SELECT seq FROM runs ORDER BY at DESC, seq DESC LIMIT ?2))`
)

// runs is a ports.Runs; New makes it. A function handed to Change must not write to the same store: it would wait for itself.
type runs struct{ store *Store }

// NewRuns keeps runs in that store's database. It opens nothing.
func NewRuns(store *Store) *runs { return &runs{store: store} }

// Add stores a new record, or fails with tool.ErrTaken or tool.ErrMove.
func (s *runs) Add(ctx context.Context, r tool.Record) error {
	if err := r.Begins(); err != nil {
		return err
	}
	columns, err := callRow(r.Copy())
	if err != nil {
		return err
	}
	return s.store.Change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		done, err := tx.ExecContext(ctx, insertRun, append([]any{r.CallID}, columns...)...)
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n > 0 {
			return err
		}
		return tool.DuplicateRecordError(r.CallID)
	})
}

// Change runs change on the record that goes by id, inside one immediate transaction, and stores what it leaves, unless it fails.
func (s *runs) Change(ctx context.Context, id string, change func(*tool.Record) error) error {
	there := false
	if err := s.store.Read(ctx, func(*sql.DB) error { there = true; return nil }); err != nil {
		return err
	}
	if !there {
		return tool.UnknownRecordError(id) // and there is no reason to make a database
	}
	return s.store.Change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		seq, r, err := find(tx.QueryRowContext(ctx, selectRun, id), id)
		if err != nil {
			return err
		}
		if r, err = r.Changed(change); err != nil {
			return err
		}
		columns, err := callRow(r)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, updateRun, append(columns, seq)...)
		return err
	})
}

// Load returns the record that goes by id.
func (s *runs) Load(ctx context.Context, id string) (tool.Record, error) {
	r, err := tool.Record{}, tool.UnknownRecordError(id)
	if failed := s.store.Read(ctx, func(db *sql.DB) error {
		_, r, err = find(db.QueryRowContext(ctx, selectRun, id), id)
		return err
	}); failed != nil {
		err = failed
	}
	return r, err
}

// List returns the records that the filter chooses, newest first.
func (s *runs) List(ctx context.Context, f ports.RunFilter) ([]tool.Record, error) {
	before := int64(1<<63 - 1)
	if !f.Before.IsZero() {
		before = f.Before.UnixNano()
	}
	var found []tool.Record
	err := s.store.Read(ctx, func(db *sql.DB) error {
		rows, err := db.QueryContext(ctx, selectRuns, f.Status.String(), f.Tool, f.Session, before, f.Most())
		if err != nil {
			return err
		}
		defer rows.Close() //nolint:errcheck // rows.Err tells what went wrong
		for rows.Next() {
			var body []byte
			var r tool.Record
			if err := rows.Scan(&body); err != nil {
				return err
			}
			if err := json.Unmarshal(body, &r); err != nil {
				return fmt.Errorf("a call record: %w", err)
			}
			found = append(found, r)
		}
		return rows.Err()
	})
	return found, err
}

// Purge forgets records that have ended: those that are not among the newest keep, and those from before the given time.
func (s *runs) Purge(ctx context.Context, keep int, before time.Time) (int, error) {
	there := false
	if err := s.store.Read(ctx, func(*sql.DB) error { there = true; return nil }); err != nil || !there {
		return 0, err
	}
	var n int64
	err := s.store.Change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		done, err := tx.ExecContext(ctx, deleteRuns, before.UnixNano(), max(keep, 0))
		if err != nil {
			return err
		}
		n, err = done.RowsAffected()
		return err
	})
	return int(n), err
}

// callRow returns everything of a record but its call, in the order of the columns.
func callRow(r tool.Record) ([]any, error) {
	body, err := tool.Encode(r)
	if err != nil {
		return nil, err
	}
	return []any{r.Redeemed, r.ConfirmationID, r.Tool, r.Session, r.Status.String(), r.At.UnixNano(), []byte(body)}, nil
}

func find(found *sql.Row, id string) (seq int64, r tool.Record, err error) {
	var body []byte
	err = found.Scan(&seq, &body)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, r, tool.UnknownRecordError(id)
	}
	if err != nil {
		return 0, r, err
	}
	if err = json.Unmarshal(body, &r); err != nil {
		err = fmt.Errorf("call record %s: %w", id, err)
	}
	return seq, r, err
}
