package sqlitestore

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/countersign-dev/countersign/domain/enrolled"
	"github.com/countersign-dev/countersign/domain/tool"
)

const (
	insertKey  = `INSERT INTO enrolled_keys (id, kind, handle, body) VALUES (?,?,?,?) ON CONFLICT DO NOTHING`
	deleteKey  = `DELETE FROM enrolled_keys WHERE id = ?`
	selectKeys = `SELECT id, body FROM enrolled_keys ORDER BY seq`
)

// keys is a ports.EnrolledKeys; New makes it.
type keys struct{ store *Store }

// NewKeys keeps keys in that store's database. It opens nothing.
func NewKeys(store *Store) *keys { return &keys{store} }

// Add stores a new key, or fails with enrolled.ErrTaken.
func (s *keys) Add(ctx context.Context, k enrolled.Key) error {
	body, err := tool.Encode(k.Copy())
	if err != nil {
		return err
	}
	return s.store.Change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		done, err := tx.ExecContext(ctx, insertKey, k.ID(), string(k.Kind), k.Credential, []byte(body))
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n > 0 {
			return err
		}
		return enrolled.ErrTaken.WithMessage("this %s is already enrolled", k.Kind.Words())
	})
}

// Remove forgets the key of that id, or fails with enrolled.ErrMissing.
func (s *keys) Remove(ctx context.Context, id string) error {
	var n int64
	_, err := s.store.Alter(ctx, func(ctx context.Context, tx *sql.Tx) error {
		done, err := tx.ExecContext(ctx, deleteKey, id)
		if err != nil {
			return err
		}
		n, err = done.RowsAffected()
		return err
	})
	if err == nil && n == 0 {
		err = enrolled.ErrMissing.WithMessage("key %s not found", id)
	}
	return err
}

// List returns every key, oldest first.
func (s *keys) List(ctx context.Context) ([]enrolled.Key, error) {
	var found []enrolled.Key
	err := s.store.Read(ctx, func(db *sql.DB) error {
		rows, err := db.QueryContext(ctx, selectKeys)
		if err != nil {
			return err
		}
		defer rows.Close() //nolint:errcheck // rows.Err tells what went wrong
		for rows.Next() {
			var (
				id   string
				body []byte
				k    enrolled.Key
			)
			if err := rows.Scan(&id, &body); err != nil {
				return err
			}
			if err := json.Unmarshal(body, &k); err != nil {
				return fmt.Errorf("the enrolled key %s: %w", id, err)
			}
			found = append(found, k.Copy())
		}
		return rows.Err()
	})
	return found, err
}
