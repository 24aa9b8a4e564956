package sqlitestore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/countersign-dev/countersign/domain/access"
	"github.com/countersign-dev/countersign/domain/tool"
)

const (
	insertCredential = `INSERT INTO credentials (id, kind, digest, name, created_at, expires_at, ended_at, body) VALUES (?,?,?,?,?,?,?,?)
		ON CONFLICT DO NOTHING`
	selectByDigest    = `SELECT digest, body FROM credentials WHERE digest = ?`
	selectByID        = `SELECT digest, body FROM credentials WHERE id = ?`
	selectCredentials = `SELECT digest, body FROM credentials ORDER BY created_at, seq`
	updateCredential  = `UPDATE OR IGNORE credentials SET name = ?, created_at = ?, expires_at = ?, ended_at = ?, body = ? WHERE id = ?`
	deleteGone        = `DELETE FROM credentials WHERE ended_at <> 0 AND ended_at < ?1 OR expires_at <> 0 AND expires_at < ?1`
)

// remembered bounds what Find keeps; nobody has as many credentials in use.
const remembered = 1024

// Credentials is a ports.Credentials; New makes it. A function handed to Change must not write to the same store: it would wait for itself.
type Credentials struct {
	store *Store
	mu    sync.Mutex
	seen  int64 // the store's stamp when known was true
	known map[access.Digest]access.Credential
}

// NewCredentials keeps credentials in that store's database. It opens nothing.
func NewCredentials(store *Store) *Credentials {
	return &Credentials{store: store, known: map[access.Digest]access.Credential{}}
}

// Add stores a new credential. It fails with access.ErrTaken, and with policy.ErrWord when its scope has no written form.
func (s *Credentials) Add(ctx context.Context, c access.Credential) error {
	columns, err := row(c)
	if err != nil {
		return err
	}
	return s.store.Change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		done, err := tx.ExecContext(ctx, insertCredential, append([]any{c.ID, c.Kind.String(), c.Digest[:]}, columns...)...)
		return taken(done, err, c.Name)
	})
}

// taken is access.ErrTaken where nothing was stored.
func taken(done sql.Result, err error, name string) error {
	if err != nil {
		return err
	}
	n, err := done.RowsAffected()
	if err == nil && n == 0 {
		err = access.ErrTaken.WithMessage("a credential named %q already exists", name)
	}
	return err
}

// Find returns the credential with that digest. What it has read once it remembers until anything in the database changes, by whatever process; what
// there is not it looks for every time.
func (s *Credentials) Find(ctx context.Context, d access.Digest) (access.Credential, error) {
	now, err := s.store.ChangeCounter(ctx)
	if err != nil {
		return access.Credential{}, err
	}
	if c, ok := s.recall(now, d); ok {
		return c, nil
	}
	c, err := access.Credential{}, error(access.ErrUnknown)
	if failed := s.store.Read(ctx, func(db *sql.DB) error {
		c, err = scan(db.QueryRowContext(ctx, selectByDigest, d[:]))
		return nil
	}); failed != nil {
		return access.Credential{}, failed
	}
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return access.Credential{}, access.ErrUnknown
	case err == nil:
		s.remember(now, c)
	}
	return c, err
}

// recall returns the credential as it was read when the database was the one it is now.
func (s *Credentials) recall(now int64, d access.Digest) (access.Credential, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.known[d]
	if !ok || s.seen != now {
		return access.Credential{}, false
	}
	return c.Copy(), true
}

// remember keeps what was read after the database was stamped: it may be newer than that, never older.
func (s *Credentials) remember(stamp int64, c access.Credential) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen != stamp || len(s.known) >= remembered {
		clear(s.known)
		s.seen = stamp
	}
	s.known[c.Digest] = c.Copy()
}

// Change runs change on the credential of that id, inside one immediate transaction, and stores what it leaves, unless it fails or leaves it as it
// is; another id, kind or digest is not stored: a credential keeps its identity.
func (s *Credentials) Change(ctx context.Context, id string, change func(*access.Credential) error) (access.Credential, error) {
	var next access.Credential
	there, err := s.store.Alter(ctx, func(ctx context.Context, tx *sql.Tx) error {
		have, err := scan(tx.QueryRowContext(ctx, selectByID, id))
		if errors.Is(err, sql.ErrNoRows) {
			return credentialNotFound(id)
		}
		if err != nil {
			return err
		}
		next = have.Copy()
		if err := change(&next); err != nil {
			return err
		}
		next = next.Copy()
		if next.ID, next.Kind, next.Digest = have.ID, have.Kind, have.Digest; reflect.DeepEqual(have, next) {
			return nil
		}
		columns, err := row(next)
		if err != nil {
			return err
		}
		done, err := tx.ExecContext(ctx, updateCredential, append(columns, id)...)
		return taken(done, err, next.Name)
	})
	switch {
	case err != nil:
		return access.Credential{}, err
	case !there:
		return access.Credential{}, credentialNotFound(id)
	}
	return next, nil
}

func credentialNotFound(id string) error {
	return access.ErrMissing.WithMessage("credential %s not found", id)
}

// List returns every credential, oldest first.
func (s *Credentials) List(ctx context.Context) ([]access.Credential, error) {
	var found []access.Credential
	err := s.store.Read(ctx, func(db *sql.DB) error {
		rows, err := db.QueryContext(ctx, selectCredentials)
		if err != nil {
			return err
		}
		defer rows.Close() //nolint:errcheck // rows.Err tells what went wrong
		for rows.Next() {
			c, err := scan(rows)
			if err != nil {
				return err
			}
			found = append(found, c)
		}
		return rows.Err()
	})
	return found, err
}

// Purge forgets the credentials that are gone before the given time.
func (s *Credentials) Purge(ctx context.Context, before time.Time) (int, error) {
	var n int64
	_, err := s.store.Alter(ctx, func(ctx context.Context, tx *sql.Tx) error {
		done, err := tx.ExecContext(ctx, deleteGone, nanos(before))
		if err != nil {
			return err
		}
		n, err = done.RowsAffected()
		return err
	})
	return int(n), err
}

// row returns everything of a credential but its identity, in the order of the columns.
func row(c access.Credential) ([]any, error) {
	body, err := tool.Encode(c.Copy())
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(body, new(access.Credential)); err != nil {
		return nil, err // what cannot be read back would be in the way of every list
	}
	return []any{c.Name, nanos(c.CreatedAt), nanos(c.ExpiresAt), nanos(c.EndedAt), []byte(body)}, nil
}

// scan returns the credential that a row holds.
func scan(from interface{ Scan(...any) error }) (access.Credential, error) {
	var digest, body []byte
	if err := from.Scan(&digest, &body); err != nil {
		return access.Credential{}, err
	}
	var c access.Credential
	if err := json.Unmarshal(body, &c); err != nil {
		return access.Credential{}, fmt.Errorf("a credential: %w", err)
	}
	if copy(c.Digest[:], digest) != len(c.Digest) {
		return access.Credential{}, fmt.Errorf("the credential %s has a digest of %d bytes", c.ID, len(digest))
	}
	return c.Copy(), nil
}

// nanos returns how a time is stored to be searched and sorted by. The zero time has no nanoseconds since 1970 that fit, so 0 stands for it.
func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}
