package sqlitestore

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"github.com/countersign-dev/countersign/domain/audit"
)

// page is how many records Records lists when nobody says.
const page = 100

const (
	selectHead   = `SELECT seq, hash FROM audit_head WHERE one = 1`
	upsertHead   = `INSERT INTO audit_head (one, seq, hash) VALUES (1, ?, ?) ON CONFLICT (one) DO UPDATE SET seq = excluded.seq, hash = excluded.hash`
	insertRecord = `INSERT INTO audit (seq, event, prev, hash) VALUES (?, ?, ?, ?)`
	selectAfter  = `SELECT seq, event, prev, hash FROM audit WHERE seq > ? ORDER BY seq LIMIT ?`
	selectTail   = `SELECT seq, event, prev, hash FROM (SELECT * FROM audit ORDER BY seq DESC LIMIT ?) ORDER BY seq`
	selectCut    = `SELECT seq FROM audit_head WHERE seq > ?1 AND NOT EXISTS (SELECT 1 FROM audit WHERE seq > ?1)`
)

// Append links the events behind the newest record, all or none, durably: it returns when they are on the disk.
func (s *Store) Append(ctx context.Context, events ...audit.Event) error {
	if len(events) == 0 {
		return nil
	}
	return s.Change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		last, err := head(ctx, tx)
		if err != nil {
			return err
		}
		insert, err := tx.PrepareContext(ctx, insertRecord)
		if err != nil {
			return err
		}
		defer insert.Close() //nolint:errcheck // it is only memory
		for _, e := range events {
			if last, err = audit.Link(last, e); err != nil {
				return err
			}
			event, err := json.Marshal(last.Event)
			if err != nil {
				return err
			}
			if _, err := insert.ExecContext(ctx, last.Seq, event, last.Prev[:], last.Hash[:]); err != nil {
				return err
			}
		}
		_, err = tx.ExecContext(ctx, upsertHead, last.Seq, last.Hash[:])
		return err
	})
}

// head is the newest link of the chain, the zero Record at its beginning. It is kept apart from the records, so that the record after
// one that somebody deleted continues the one deleted, and the gap shows.
func head(ctx context.Context, tx *sql.Tx) (audit.Record, error) {
	var (
		last audit.Record
		hash []byte
	)
	err := tx.QueryRowContext(ctx, selectHead).Scan(&last.Seq, &hash)
	if errors.Is(err, sql.ErrNoRows) {
		return audit.Record{}, nil
	}
	copy(last.Hash[:], hash)
	return last, err
}

// Records lists up to limit records with Seq > after in rising order; limit ≤ 0 means 100. When there are none although more were
// written, it fails with audit.ErrBroken: the end of the chain was cut off, which the records that are left cannot show.
//
// A record whose row does not hold an event exactly as it was written has a zero Event, so that audit.Verify names it.
func (s *Store) Records(ctx context.Context, after int64, limit int) ([]audit.Record, error) {
	if limit <= 0 {
		limit = page
	}
	var found []audit.Record
	err := s.reading(ctx, func(h *handle) (err error) {
		if found, err = records(ctx, h.read, selectAfter, after, limit); err != nil || len(found) > 0 {
			return err
		}
		var seq int64
		switch err := h.read.QueryRowContext(ctx, selectCut, after).Scan(&seq); {
		case errors.Is(err, sql.ErrNoRows):
			return nil
		case err != nil:
			return err
		}
		return audit.ErrBroken.Sayf("audit record %d is missing: the chain was cut off, it went on to record %d", max(after, 0)+1, seq)
	})
	return found, err
}

// Tail lists the last n records in rising order.
func (s *Store) Tail(ctx context.Context, n int) ([]audit.Record, error) {
	var found []audit.Record
	err := s.reading(ctx, func(h *handle) (err error) {
		found, err = records(ctx, h.read, selectTail, max(n, 0))
		return err
	})
	return found, err
}

func records(ctx context.Context, db *sql.DB, query string, args ...any) ([]audit.Record, error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err tells what went wrong
	var found []audit.Record
	for rows.Next() {
		var (
			r                 audit.Record
			event, prev, hash sql.RawBytes
		)
		if err := rows.Scan(&r.Seq, &event, &prev, &hash); err != nil {
			return nil, err
		}
		r.Event = decoded(event)
		if len(prev) == len(r.Prev) && len(hash) == len(r.Hash) { // else both stay zero, which is the hash of nothing
			copy(r.Prev[:], prev)
			copy(r.Hash[:], hash)
		}
		found = append(found, r)
	}
	return found, rows.Err()
}

// decoded is the event that was written as raw, or the zero Event when raw is not what writing it gives.
func decoded(raw []byte) audit.Event {
	var e audit.Event
	if json.Unmarshal(raw, &e) != nil {
		return audit.Event{}
	}
	if again, err := json.Marshal(e); err != nil || !bytes.Equal(again, raw) {
		return audit.Event{}
	}
	return e
}
