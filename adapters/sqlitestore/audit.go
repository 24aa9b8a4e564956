package sqlitestore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/ports"
)

// page is how many records Records lists when nobody says.
const page = 100

const (
	selectHead   = `SELECT seq, hash, signed, kept, kept_count FROM audit_head WHERE one = 1`
	updateSigned = `UPDATE audit_head SET signed = ? WHERE one = 1`
	selectHash   = `SELECT hash FROM audit WHERE seq = ?`
	selectAll    = `SELECT seq, event, prev, hash FROM audit WHERE seq > ? ORDER BY seq`
	upsertHead   = `INSERT INTO audit_head (one, seq, hash, kept, kept_count) VALUES (1, ?, ?, ?, ?) ON CONFLICT (one) DO UPDATE SET seq = excluded.seq, hash = excluded.hash,
		kept = excluded.kept, kept_count = excluded.kept_count`
	insertRecord = `INSERT INTO audit (seq, event, prev, hash) VALUES (?, ?, ?, ?)`
	selectAfter  = `SELECT seq, event, prev, hash FROM audit WHERE seq > ? ORDER BY seq LIMIT ?`
	selectTail   = `SELECT seq, event, prev, hash FROM (SELECT * FROM audit ORDER BY seq DESC LIMIT ?) ORDER BY seq`
	selectCut    = `SELECT seq FROM audit_head WHERE seq > ?1 AND NOT EXISTS (SELECT 1 FROM audit WHERE seq > ?1)`
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

// NewKey puts on record that another key signs from now on, and signs with it; the newest removal of reads, too.
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
		events := []audit.Event{told(had)}
		if again, ok, err := s.removalAgain(ctx, tx, had, key); err != nil {
			return err
		} else if ok {
			events = append(events, again.Event(events[0].Time))
		}
		if end, err = link(ctx, tx, end, events); err != nil {
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
		end.Kept = end.Kept.Of(&last)
	}
	_, err = tx.ExecContext(ctx, upsertHead, last.Seq, last.Hash[:], end.Kept.Hash[:], end.Kept.Count)
	end.Seq, end.Hash = last.Seq, last.Hash
	return end, err
}

// sign signs the end of the chain, as far as the key can be used.
func (s *Store) sign(ctx context.Context, tx *sql.Tx, key audit.Key, end audit.End) error {
	h, err := s.signer.Sign(key, audit.Position{Seq: end.Seq, Hash: end.Hash, Kept: end.Kept})
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
		end                audit.End
		hash, signed, kept []byte
		count              sql.NullInt64
	)
	err := tx.QueryRowContext(ctx, selectHead).Scan(&end.Seq, &hash, &signed, &kept, &count)
	if errors.Is(err, sql.ErrNoRows) {
		return audit.End{Kept: audit.NoneKept()}, nil
	}
	copy(end.Hash[:], hash)
	copy(end.Kept.Hash[:], kept)
	end.Kept.Count = count.Int64
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
	err = s.reading(ctx, func(h *handle) (err error) {
		sum, err = hashAt(ctx, h.read, seq)
		return err
	})
	return sum, err
}

func hashAt(ctx context.Context, db querier, seq int64) (sum canon.Hash, err error) {
	var hash []byte
	if err = db.QueryRowContext(ctx, selectHash, seq).Scan(&hash); errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	copy(sum[:], hash)
	return sum, err
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
		return audit.ErrBroken.WithMessage("audit record %d is missing: the chain was cut off; it continued to record %d", max(after, 0)+1, seq)
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
