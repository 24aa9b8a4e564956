package sqlitestore

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"math"

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
	selectFound  = `SELECT seq, event, prev, hash FROM audit WHERE seq < ?1 AND (length(?2) = 0 OR instr(event, ?2) > 0) AND (length(?3) = 0 OR instr(event, ?3) > 0) AND
		(length(?4) = 0 OR instr(event, ?4) > 0) AND (length(?5) = 0 OR instr(event, ?5) > 0) AND (?6 = '' OR instr(lower(CAST(event AS TEXT)), ?6) > 0) AND
		(NOT ?8 OR instr(event, X'22636c617373223a22') > 0 AND substr(event, instr(event, X'22636c617373223a22') + 9, 5) <> X'7265616422')
		ORDER BY seq DESC LIMIT ?7`
	selectCut = `SELECT seq FROM audit_head WHERE seq > ?1 AND NOT EXISTS (SELECT 1 FROM audit WHERE seq > ?1)`
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

// Search is the newest records that the filter chooses, newest first. What stands before the class of an event holds no bare quote, so that the first
// "class" is its own. The database looks for the members' text in the rows, which finds all of them
// and perhaps more, where an argument reads the same; the filter itself has the last word.
func (s *Store) Search(ctx context.Context, f audit.Filter) ([]audit.Record, error) {
	before, most := f.Before, f.Most()
	if before <= 0 {
		before = math.MaxInt64
	}
	code := written("code", f.Code)
	if f.Failed && f.Code == "" {
		code = []byte(`"code":"`)
	}
	needle := ""
	if f.Text != "" {
		needle = f.Needle()
	}
	var found []audit.Record
	err := s.reading(ctx, func(h *handle) error {
		for found = nil; ; {
			rows, err := records(ctx, h.read, selectFound, before, written("phase", string(f.Phase)), written("call_id", f.Call), written("tool", f.Tool), code, needle, most, f.Unattended)
			if err != nil {
				return err
			}
			for _, r := range rows {
				if before = r.Seq; f.Matches(&r) && len(found) < most {
					found = append(found, r)
				}
			}
			if len(rows) < most || len(found) == most {
				return nil
			}
		}
	})
	return found, err
}

// written is a member of an event as it stands in its row; empty for none.
func written(name, value string) []byte {
	if value == "" {
		return []byte{}
	}
	doc, err := json.Marshal(value)
	if err != nil { // of a text it never is
		return []byte{}
	}
	return append([]byte(`"`+name+`":`), doc...)
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
