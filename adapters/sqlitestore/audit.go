package sqlitestore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"iter"
	"math"

	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/ports"
)

// page is how many records Records lists when nobody says.
const page = 100

const (
	selectHead   = `SELECT seq, hash, signed FROM audit_head WHERE one = 1`
	updateSigned = `UPDATE audit_head SET signed = ? WHERE one = 1`
	selectHash   = `SELECT hash FROM audit WHERE seq = ?`
	selectAll    = `SELECT seq, event, prev, hash FROM audit ORDER BY seq`
	upsertHead   = `INSERT INTO audit_head (one, seq, hash) VALUES (1, ?, ?) ON CONFLICT (one) DO UPDATE SET seq = excluded.seq, hash = excluded.hash`
	insertRecord = `INSERT INTO audit (seq, event, prev, hash) VALUES (?, ?, ?, ?)`
	selectAfter  = `SELECT seq, event, prev, hash FROM audit WHERE seq > ? ORDER BY seq LIMIT ?`
	selectTail   = `SELECT seq, event, prev, hash FROM (SELECT * FROM audit ORDER BY seq DESC LIMIT ?) ORDER BY seq`
	selectCut    = `SELECT seq FROM audit_head WHERE seq > ?1 AND NOT EXISTS (SELECT 1 FROM audit WHERE seq > ?1)`
)

// The terms that records are indexed by, as the migration 0011 has them: SQLite uses the index of a term that reads the same, and works the term out for
// every record where somebody dropped the index.
const (
	callOf         = `substr(event, instr(event, X'2263616C6C5F6964223A22') + 11, instr(substr(event, instr(event, X'2263616C6C5F6964223A22') + 11), X'222C22') - 1)`
	toolOf         = `substr(event, instr(event, X'22746F6F6C223A22') + 8, instr(substr(event, instr(event, X'22746F6F6C223A22') + 8), X'222C22') - 1)`
	phaseOf        = `substr(event, instr(event, X'227068617365223A22') + 9, instr(substr(event, instr(event, X'227068617365223A22') + 9), X'222C22') - 1)`
	confirmationOf = `CASE WHEN instr(event, X'2C22636F6E6669726D6174696F6E223A22') > 0 THEN CASE WHEN json_valid(CAST(event AS TEXT)) THEN CAST(event AS TEXT) -> '$.confirmation' ELSE '' END END`
)

// Searches, each with the index that it uses; selectFound itself uses none.
const (
	selectFound = `SELECT seq, event, prev, hash FROM audit WHERE seq < ?1 AND (length(?2) = 0 OR instr(event, ?2) > 0) AND (length(?3) = 0 OR instr(event, ?3) > 0) AND
		(length(?4) = 0 OR instr(event, ?4) > 0) AND (length(?5) = 0 OR instr(event, ?5) > 0) AND (?6 = '' OR instr(lower(CAST(event AS TEXT)), ?6) > 0) AND
		(NOT ?8 OR instr(event, X'22636c617373223a22') > 0 AND substr(event, instr(event, X'22636c617373223a22') + 9, 5) <> X'7265616422')
		AND (length(?9) = 0 OR instr(event, ?9) > 0) AND (length(?10) = 0 OR instr(event, ?10) > 0)`
	checkIndex     = `PRAGMA integrity_check(audit)`
	newestFirst    = ` ORDER BY seq DESC LIMIT ?7`
	behind         = ` AND seq > ?11`
	byCall         = ` AND ` + callOf + ` = ?11`
	byTool         = ` AND ` + toolOf + ` = ?11 AND ` + phaseOf + ` = ?12`
	byConfirmation = ` AND ` + confirmationOf + ` IN (?11, '')`
)

// SignWith has every end of the chain signed from now on. It is called before the store is used.
func (s *Store) SignWith(signer ports.Signer) { s.signer = signer }

// Append links the events behind the newest record, all or none, durably: it returns when they are on the disk. Where there is a signer, the new end is
// signed; a key that cannot be used keeps nothing from being recorded, and the end stays signed as far as it was, which audit verify says.
func (s *Store) Append(ctx context.Context, events ...audit.Event) error {
	if len(events) == 0 {
		return nil
	}
	return s.Change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		end, err := ending(ctx, tx)
		if err != nil {
			return err
		}
		if s.signer == nil {
			_, err := link(ctx, tx, end, events)
			return err
		}
		var had audit.Key
		if end.Signed != nil {
			had = end.Signed.Key
		}
		key, wrong := s.signer.Key(had)
		if end.Signed == nil && end.Seq > 0 && wrong == nil { // what was begun without a key
			events = append([]audit.Event{audit.SelfEvent(events[0].Time, audit.KeyTool, "", "", audit.KeyAdded{Key: key})}, events...)
		}
		if end, err = link(ctx, tx, end, events); err != nil || wrong != nil {
			return err
		}
		return s.sign(ctx, tx, key, end)
	})
}

// NewKey puts on record that another key signs from now on, and signs with it.
func (s *Store) NewKey(ctx context.Context, key audit.Key, told func(follows audit.Key) audit.Event) error {
	return s.Change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		end, err := ending(ctx, tx)
		if err != nil {
			return err
		}
		var had audit.Key
		if end.Signed != nil {
			had = end.Signed.Key
		}
		if end, err = link(ctx, tx, end, []audit.Event{told(had)}); err != nil {
			return err
		}
		return s.sign(ctx, tx, key, end)
	})
}

// link appends the events to the chain and moves its end.
func link(ctx context.Context, tx *sql.Tx, end audit.End, events []audit.Event) (audit.End, error) {
	last := audit.Record{Seq: end.Seq, Hash: end.Hash}
	insert, err := tx.PrepareContext(ctx, insertRecord)
	if err != nil {
		return end, err
	}
	defer insert.Close() //nolint:errcheck // it is only memory
	for _, e := range events {
		if last, err = audit.Link(last, e); err != nil {
			return end, err
		}
		event, err := json.Marshal(last.Event)
		if err != nil {
			return end, err
		}
		if _, err := insert.ExecContext(ctx, last.Seq, event, last.Prev[:], last.Hash[:]); err != nil {
			return end, err
		}
	}
	_, err = tx.ExecContext(ctx, upsertHead, last.Seq, last.Hash[:])
	end.Seq, end.Hash = last.Seq, last.Hash
	return end, err
}

// sign signs the end of the chain, as far as the key can be used.
func (s *Store) sign(ctx context.Context, tx *sql.Tx, key audit.Key, end audit.End) error {
	h, err := s.signer.Sign(key, end.Seq, end.Hash)
	if err != nil {
		return nil //nolint:nilerr // the end stays signed as far as it was, and audit verify says so
	}
	_, err = tx.ExecContext(ctx, updateSigned, h.Line())
	return err
}

// querier is a database or a transaction.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// ending returns the newest link of the chain, zero at its beginning. It is kept apart from the records, so that the record after one that somebody deleted
// continues the one deleted, and the gap shows.
func ending(ctx context.Context, tx querier) (audit.End, error) {
	var (
		end          audit.End
		hash, signed []byte
	)
	err := tx.QueryRowContext(ctx, selectHead).Scan(&end.Seq, &hash, &signed)
	if errors.Is(err, sql.ErrNoRows) {
		return audit.End{}, nil
	}
	copy(end.Hash[:], hash)
	if len(signed) > 0 {
		h, err := audit.ReadHead(signed)
		if err != nil { // what cannot be read was signed by nobody
			h = audit.Head{Seq: end.Seq}
		}
		end.Signed = &h
	}
	return end, err
}

// End returns what the log says of its own end.
func (s *Store) End(ctx context.Context) (end audit.End, err error) {
	err = s.reading(ctx, func(h *handle) (err error) {
		end, err = ending(ctx, h.read)
		return err
	})
	return end, err
}

// HashAt returns the hash of that record, as it stands there; zero for one that there is not.
func (s *Store) HashAt(ctx context.Context, seq int64) (sum canon.Hash, err error) {
	err = s.reading(ctx, func(h *handle) error {
		var hash []byte
		switch err := h.read.QueryRowContext(ctx, selectHash, seq).Scan(&hash); {
		case errors.Is(err, sql.ErrNoRows):
			return nil
		case err != nil:
			return err
		}
		copy(sum[:], hash)
		return nil
	})
	return sum, err
}

// Chain hands f what the log says of its own end, and every record in rising order, all of one moment.
func (s *Store) Chain(ctx context.Context, f func(audit.End, iter.Seq2[audit.Raw, error]) error) error {
	none := true
	err := s.reading(ctx, func(h *handle) error {
		none = false
		tx, err := h.read.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback() //nolint:errcheck // nothing was written
		end, err := ending(ctx, tx)
		if err != nil {
			return err
		}
		return f(end, func(yield func(audit.Raw, error) bool) { each(ctx, tx, yield) })
	})
	if err == nil && none {
		return f(audit.End{}, func(func(audit.Raw, error) bool) {})
	}
	return err
}

// each yields the rows of the chain, undecoded.
func each(ctx context.Context, tx *sql.Tx, yield func(audit.Raw, error) bool) {
	rows, err := tx.QueryContext(ctx, selectAll)
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

// Search returns the newest records that the filter chooses, newest first. What stands before the class of an event holds no bare quote, so that the first
// "class" is its own. The database looks for the members' text in the rows, which finds all of them
// and perhaps more, where an argument reads the same; the filter itself has the last word.
//
// One with a call, a confirmation, or a tool and a phase costs as much as there is to find, however long the audit is.
func (s *Store) Search(ctx context.Context, f audit.Filter) ([]audit.Record, error) {
	most := f.Most()
	var found []audit.Record
	err := s.reading(ctx, func(h *handle) error {
		found = nil
		for rest := f; ; {
			query, args := search(rest)
			rows, err := records(ctx, h.read, query, args...)
			if err != nil {
				return err
			}
			for _, r := range rows {
				if rest.Before = r.Seq; f.Matches(&r) && len(found) < most {
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

// search returns what finds the records that the filter may choose.
func search(f audit.Filter) (query string, args []any) {
	before := f.Before
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
	by, keys := indexed(f)
	args = []any{before, written("phase", string(f.Phase)), written("call_id", f.Call), written("tool", f.Tool), code, needle, f.Most(), f.Unattended,
		written("grant", f.Grant), written("confirmation", f.Confirmation)}
	return selectFound + by + newestFirst, append(args, keys...)
}

// indexed returns the term by which an index finds what the filter chooses, with what it is compared to; empty where no index does. What is looked for behind a
// record is looked for in the rows themselves.
func indexed(f audit.Filter) (by string, keys []any) {
	switch {
	case f.After > 0:
		return behind, []any{f.After}
	case f.Call != "":
		return byCall, []any{text(f.Call)}
	case f.Confirmation != "":
		return byConfirmation, []any{`"` + string(text(f.Confirmation)) + `"`}
	case f.Tool != "" && f.Phase != "":
		return byTool, []any{text(f.Tool), text(string(f.Phase))}
	}
	return "", nil
}

// CheckIndex fails with audit.ErrBroken where an index does not have the records that it should have, so that a search could miss one. What an index is made
// of is worked out anew from every event.
func (s *Store) CheckIndex(ctx context.Context) error {
	wrong := ""
	err := s.reading(ctx, func(h *handle) error { return h.read.QueryRowContext(ctx, checkIndex).Scan(&wrong) })
	if err == nil && wrong != "" && wrong != "ok" {
		err = audit.ErrBroken.Sayf("the audit cannot be searched reliably, somebody has changed its index or the file is damaged (%s); restore a copy of the database", wrong)
	}
	return err
}

// written returns a member of an event as it stands in its row; empty for none.
func written(name, value string) []byte {
	if value == "" {
		return []byte{}
	}
	return []byte(`"` + name + `":"` + string(text(value)) + `"`)
}

// text returns a text as it stands between the quotes of JSON.
func text(value string) []byte {
	doc, err := json.Marshal(value)
	if err != nil { // of a text it never is
		return []byte(value)
	}
	return doc[1 : len(doc)-1]
}

func records(ctx context.Context, db querier, query string, args ...any) ([]audit.Record, error) {
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
		r.Event, _ = audit.Decode(event)
		if len(prev) == len(r.Prev) && len(hash) == len(r.Hash) { // else both stay zero, which is the hash of nothing
			copy(r.Prev[:], prev)
			copy(r.Hash[:], hash)
		}
		found = append(found, r)
	}
	return found, rows.Err()
}
