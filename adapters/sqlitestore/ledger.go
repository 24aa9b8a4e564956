package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"modernc.org/sqlite/lib"

	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/ports"
)

const (
	grantColumns = `digest, id, session, principal, tool, subject, args, mode, strength, target, prompt, plan, human_only, issued_at,
		expires_at, state, misses, answerer, scope, risk`
	insertGrant = `INSERT INTO grants (` + grantColumns + `) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`
	selectGrant = `SELECT ` + grantColumns + ` FROM grants WHERE digest = ?`
	updateGrant = `UPDATE grants SET session = ?, principal = ?, tool = ?, subject = ?, args = ?, mode = ?, strength = ?, target = ?,
		prompt = ?, plan = ?, human_only = ?, issued_at = ?, expires_at = ?, state = ?, misses = ?, answerer = ?,
		scope = ?, risk = ? WHERE digest = ?`
	selectPending = `SELECT ` + grantColumns + ` FROM grants WHERE expires_at > ?1 AND state < ?2 AND (?3 = '' OR id = ?3)
		AND (?4 = '' OR session = ?4) ORDER BY issued_at, seq`
	deleteExpired = `DELETE FROM grants WHERE expires_at < ?`
)

// Issue stores a new grant. A digest or ID that exists already is an internal error.
func (s *Store) Issue(ctx context.Context, g confirm.Grant) error {
	return s.Change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, insertGrant, slices.Concat([]any{g.Digest[:], g.ID}, mutable(&g))...)
		if family(err) == sqlite3.SQLITE_CONSTRAINT {
			return fault.ErrInternal.Sayf("a confirmation %s exists already", g.ID).Because(err)
		}
		return err
	})
}

// Settle runs f on the grant with that digest, inside one immediate transaction, and stores what f leaves if f left it changed, except
// for another ID or digest: a grant keeps its identity. When storing fails, that is the error, whatever f said: nothing was settled.
func (s *Store) Settle(ctx context.Context, d confirm.Digest, f func(*confirm.Grant) error) error {
	var said error
	there, err := s.altering(ctx, func(ctx context.Context, tx *sql.Tx) error {
		g, err := scanGrant(tx.QueryRowContext(ctx, selectGrant, d[:]))
		if errors.Is(err, sql.ErrNoRows) {
			return confirm.ErrUnknown
		}
		if err != nil {
			return err
		}
		before := g
		before.Args, before.Plan = slices.Clone(g.Args), slices.Clone(g.Plan)
		said = f(&g)
		if reflect.DeepEqual(before, g) {
			return nil
		}
		_, err = tx.ExecContext(ctx, updateGrant, append(mutable(&g), d[:])...)
		return err
	})
	switch {
	case err != nil:
		return err
	case !there:
		return confirm.ErrUnknown
	}
	return said
}

// Pending lists the grants that still wait at now, oldest first.
func (s *Store) Pending(ctx context.Context, f ports.PendingFilter, now time.Time) ([]confirm.Grant, error) {
	var found []confirm.Grant
	err := s.reading(ctx, func(h *handle) error {
		rows, err := h.read.QueryContext(ctx, selectPending, nanos(now), int(confirm.Spent), f.ID, f.Session)
		if err != nil {
			return err
		}
		defer rows.Close() //nolint:errcheck // rows.Err tells what went wrong
		for rows.Next() {
			g, err := scanGrant(rows)
			if err != nil {
				return err
			}
			if f.Binding == nil || *f.Binding == g.Binding {
				found = append(found, g)
			}
		}
		return rows.Err()
	})
	return found, err
}

// Purge forgets the grants that expired before the given time.
func (s *Store) Purge(ctx context.Context, before time.Time) (int, error) {
	var n int64
	_, err := s.altering(ctx, func(ctx context.Context, tx *sql.Tx) error {
		done, err := tx.ExecContext(ctx, deleteExpired, nanos(before))
		if err != nil {
			return err
		}
		n, err = done.RowsAffected()
		return err
	})
	return int(n), err
}

// mutable is everything of a grant but its identity, in the order of grantColumns.
func mutable(g *confirm.Grant) []any {
	return []any{
		g.Binding.Session, g.Binding.Principal, g.Binding.Tool, g.Binding.Subject[:], []byte(g.Args), int(g.Mode), int(g.Strength), g.Target,
		g.Prompt, []byte(g.Plan), g.HumanOnly, nanos(g.IssuedAt), nanos(g.ExpiresAt), int(g.State), g.Misses, g.Answerer,
		g.Scope, int(g.Risk),
	}
}

func scanGrant(row interface{ Scan(...any) error }) (confirm.Grant, error) {
	var (
		g               confirm.Grant
		digest, subject []byte
		issued, expires int64
	)
	err := row.Scan(&digest, &g.ID, &g.Binding.Session, &g.Binding.Principal, &g.Binding.Tool, &subject, (*[]byte)(&g.Args), &g.Mode, &g.Strength,
		&g.Target, &g.Prompt, (*[]byte)(&g.Plan), &g.HumanOnly, &issued, &expires, &g.State, &g.Misses, &g.Answerer,
		&g.Scope, &g.Risk)
	if err != nil {
		return confirm.Grant{}, err
	}
	if copy(g.Digest[:], digest) != len(g.Digest) || copy(g.Binding.Subject[:], subject) != len(g.Binding.Subject) {
		return confirm.Grant{}, fmt.Errorf("confirmation %s has a digest of %d and a subject of %d bytes", g.ID, len(digest), len(subject))
	}
	g.IssuedAt, g.ExpiresAt = instant(issued), instant(expires)
	return g, nil
}

// nanos is how a time is stored. The zero time has no nanoseconds since 1970 that fit, so 0 stands for it.
func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func instant(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns).UTC()
}
