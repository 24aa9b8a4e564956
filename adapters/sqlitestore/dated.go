package sqlitestore

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"

	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/fault"
)

const (
	insertDated = `INSERT INTO dated_grants (id, body) VALUES (?, ?) ON CONFLICT DO NOTHING`
	selectDated = `SELECT body FROM dated_grants WHERE id = ?`
	updateDated = `UPDATE dated_grants SET body = ? WHERE id = ?`
	deleteDated = `DELETE FROM dated_grants WHERE id = ?`
	listDated   = `SELECT id, body FROM dated_grants`
)

// dated is a ports.DatedGrants; NewDated makes it.
type dated struct{ store *Store }

// NewDated keeps what users allowed until a date in that store's database. It opens nothing.
func NewDated(store *Store) *dated { return &dated{store: store} }

// Add stores a new grant.
func (l *dated) Add(ctx context.Context, d confirm.Dated) error {
	body, err := json.Marshal(d)
	if err != nil {
		return err
	}
	return l.store.Change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		return one(fault.ErrInternal.WithMessage("grant %s already exists", d.ID))(tx.ExecContext(ctx, insertDated, d.ID, body))
	})
}

// Change runs change on the grant of that id, inside one immediate transaction, and stores what it leaves, unless it fails.
func (l *dated) Change(ctx context.Context, id string, change func(*confirm.Dated) error) error {
	var said error
	there, err := l.store.Alter(ctx, func(ctx context.Context, tx *sql.Tx) error {
		var body []byte
		var d confirm.Dated
		err := tx.QueryRowContext(ctx, selectDated, id).Scan(&body)
		if errors.Is(err, sql.ErrNoRows) {
			return confirm.ErrNoSessionGrant
		}
		if err != nil {
			return err
		}
		if err := json.Unmarshal(body, &d); err != nil {
			return err
		}
		if said = change(&d); said != nil {
			return nil
		}
		d.ID = id
		if body, err = json.Marshal(d); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, updateDated, body, id)
		return err
	})
	if err == nil && !there {
		err = confirm.ErrNoSessionGrant
	}
	return cmp.Or(err, said)
}

// Remove forgets the grant of that id.
func (l *dated) Remove(ctx context.Context, id string) error {
	there, err := l.store.Alter(ctx, func(ctx context.Context, tx *sql.Tx) error {
		return one(confirm.ErrNoSessionGrant)(tx.ExecContext(ctx, deleteDated, id))
	})
	if err == nil && !there {
		err = confirm.ErrNoSessionGrant
	}
	return err
}

// List returns all of them, oldest first. A row that cannot be read is left out: it lets nothing through.
func (l *dated) List(ctx context.Context) ([]confirm.Dated, error) {
	var all []confirm.Dated
	err := l.store.Read(ctx, func(db *sql.DB) error {
		rows, err := db.QueryContext(ctx, listDated)
		if err != nil {
			return err
		}
		defer rows.Close() //nolint:errcheck // rows.Err tells what went wrong
		for rows.Next() {
			var id string
			var body sql.RawBytes
			var d confirm.Dated
			if err := rows.Scan(&id, &body); err != nil {
				return err
			}
			if json.Unmarshal(body, &d) == nil && d.ID == id {
				all = append(all, d)
			}
		}
		return rows.Err()
	})
	slices.SortStableFunc(all, func(a, b confirm.Dated) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID)) })
	return all, err
}

// one fails with none where no row was changed.
func one(none error) func(sql.Result, error) error {
	return func(done sql.Result, err error) error {
		if err != nil {
			return err
		}
		n, err := done.RowsAffected()
		if err == nil && n == 0 {
			err = none
		}
		return err
	}
}
