package sqlitestore

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/adapters/docfile"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/ports"
)

const (
	grantColumns = `digest, id, session, principal, tool, subject, args, mode, strength, target, prompt, plan, human_only, issued_at,
		expires_at, state, misses, answerer, scope, risk, exhibit, place, extra`
	insertGrant = `INSERT INTO grants (` + grantColumns + `) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT DO NOTHING`
	selectGrant = `SELECT ` + grantColumns + ` FROM grants WHERE digest = ?`
	updateGrant = `UPDATE grants SET session = ?, principal = ?, tool = ?, subject = ?, args = ?, mode = ?, strength = ?, target = ?,
		prompt = ?, plan = ?, human_only = ?, issued_at = ?, expires_at = ?, state = ?, misses = ?, answerer = ?,
		scope = ?, risk = ?, exhibit = ?, place = ?, extra = ? WHERE digest = ?`
	// The same without what may be large.
	briefColumns = `digest, id, session, principal, tool, subject, args, mode, strength, target, prompt, NULL, human_only, issued_at,
		expires_at, state, misses, answerer, scope, risk, NULL, place, extra`
	selectPending = `SELECT ` + grantColumns + pendingGrants
	pendingGrants = ` FROM grants WHERE expires_at > ?1 AND state < ?2 AND (?3 = '' OR id = ?3)
		AND (?4 = '' OR session = ?4) ORDER BY issued_at, seq`
	briefPending  = `SELECT ` + briefColumns + pendingGrants
	deleteExpired = `DELETE FROM grants WHERE expires_at < ?`
)

// ledger is a ports.ApprovalStore; New makes it. A function handed to Settle must not write to the same store: it would wait for itself.
type ledger struct {
	store *Store
	box   *docfile.SecretBox
}

// NewLedger keeps confirmations in that store's database. It opens nothing.
func NewLedger(store *Store) *ledger { return &ledger{store: store, box: store.Secrets()} }

// Issue stores a new grant. A digest or ID that exists already is an internal error.
func (l *ledger) Issue(ctx context.Context, g confirm.Request) error {
	return l.store.Change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		columns, err := l.mutable(&g)
		if err != nil {
			return err
		}
		done, err := tx.ExecContext(ctx, insertGrant, slices.Concat([]any{g.Digest[:], g.ID}, columns)...)
		if err != nil {
			return err
		}
		n, err := done.RowsAffected()
		if err == nil && n == 0 {
			err = fault.ErrInternal.WithMessage("approval request %s already exists", g.ID)
		}
		return err
	})
}

// Settle runs f on the grant with that digest, inside one immediate transaction, and stores what f leaves if f left it changed, except
// for another ID or digest: a grant keeps its identity. When storing fails, that is the error, whatever f said: nothing was settled. What
// the grant was asked for is not stored any more once it is final.
func (l *ledger) Settle(ctx context.Context, d confirm.Digest, f func(*confirm.Request) error) error {
	var said error
	there, err := l.store.Alter(ctx, func(ctx context.Context, tx *sql.Tx) error {
		g, err := l.find(ctx, tx, d)
		if err != nil {
			return err
		}
		before := g
		before.Args, before.Plan, before.Exhibit = slices.Clone(g.Args), slices.Clone(g.Plan), slices.Clone(g.Exhibit)
		said = f(&g)
		if reflect.DeepEqual(before, g) {
			return nil
		}
		g.ID = before.ID // what is sealed is bound to it
		columns, err := l.mutable(&g)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, updateGrant, append(columns, d[:])...)
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

// Pending lists the grants that still wait at now, oldest first. One whose arguments cannot be read any more cannot be carried out, and
// is left out, unless it is the one asked for.
func (l *ledger) Pending(ctx context.Context, f ports.PendingFilter, now time.Time) ([]confirm.Request, error) {
	var found []confirm.Request
	err := l.store.Read(ctx, func(db *sql.DB) error {
		query := selectPending
		if f.Brief {
			query = briefPending
		}
		rows, err := db.QueryContext(ctx, query, nanos(now), int(confirm.Spent), f.ID, f.Session)
		if err != nil {
			return err
		}
		defer rows.Close() //nolint:errcheck // rows.Err tells what went wrong
		for rows.Next() {
			g, err := l.scan(rows)
			if f.ID == "" && errors.Is(err, docfile.ErrSecretLost) {
				continue
			}
			if err != nil {
				return err
			}
			if (f.Binding == nil || *f.Binding == g.Binding) && f.Names == g.Names {
				found = append(found, g)
			}
		}
		return rows.Err()
	})
	return found, err
}

// Purge forgets the grants that expired before the given time.
func (l *ledger) Purge(ctx context.Context, before time.Time) (int, error) {
	var n int64
	_, err := l.store.Alter(ctx, func(ctx context.Context, tx *sql.Tx) error {
		done, err := tx.ExecContext(ctx, deleteExpired, nanos(before))
		if err != nil {
			return err
		}
		n, err = done.RowsAffected()
		return err
	})
	return int(n), err
}

// mutable returns everything of a grant but its identity, in the order of grantColumns.
func (l *ledger) mutable(g *confirm.Request) ([]any, error) {
	var args, exhibit []byte
	if !g.Final() {
		var err error
		exhibit = g.Exhibit
		if args, err = SealedArguments().Seal(l.box, g.ID, g.Args); err != nil {
			return nil, err
		}
	}
	extra, err := json.Marshal(g.Extra)
	if err != nil {
		return nil, err
	}
	return []any{
		g.Binding.Session, g.Binding.Principal, g.Binding.Tool, g.Binding.Subject[:], args, int(g.Mode), int(g.Strength), g.Target,
		g.Prompt, []byte(g.Plan), g.HumanOnly, nanos(g.IssuedAt), nanos(g.ExpiresAt), int(g.State), g.Misses, g.Answerer,
		g.Scope, int(g.Risk), exhibit, g.Place, extra,
	}, nil
}

// find returns the grant with that digest, or confirm.ErrUnknown.
func (l *ledger) find(ctx context.Context, tx *sql.Tx, d confirm.Digest) (confirm.Request, error) {
	rows, err := tx.QueryContext(ctx, selectGrant, d[:])
	if err != nil {
		return confirm.Request{}, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err tells what went wrong
	if rows.Next() {
		return l.scan(rows)
	}
	return confirm.Request{}, cmp.Or(rows.Err(), error(confirm.ErrUnknown))
}

// scan returns the grant that the rows stand at.
func (l *ledger) scan(rows *sql.Rows) (confirm.Request, error) {
	var (
		g                            confirm.Request
		digest, subject, args, extra sql.RawBytes // read where they lie
		issued, expires              int64
	)
	err := rows.Scan(&digest, &g.ID, &g.Binding.Session, &g.Binding.Principal, &g.Binding.Tool, &subject, &args, &g.Mode, &g.Strength,
		&g.Target, &g.Prompt, (*[]byte)(&g.Plan), &g.HumanOnly, &issued, &expires, &g.State, &g.Misses, &g.Answerer,
		&g.Scope, &g.Risk, (*[]byte)(&g.Exhibit), &g.Place, &extra)
	if err != nil {
		return confirm.Request{}, err
	}
	if copy(g.Digest[:], digest) != len(g.Digest) || copy(g.Binding.Subject[:], subject) != len(g.Binding.Subject) {
		return confirm.Request{}, fmt.Errorf("approval request %s has a digest of %d and a subject of %d bytes", g.ID, len(digest), len(subject))
	}
	if g.Args, err = SealedArguments().Open(l.box, g.ID, args); err != nil {
		return confirm.Request{}, err
	}
	if len(extra) > 0 {
		if err := json.Unmarshal(extra, &g.Extra); err != nil {
			return confirm.Request{}, fmt.Errorf("approval request %s: %w", g.ID, err)
		}
	}
	g.IssuedAt, g.ExpiresAt = instant(issued), instant(expires)
	return g, nil
}

func instant(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns).UTC()
}
