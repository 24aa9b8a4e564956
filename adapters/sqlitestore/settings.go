package sqlitestore

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"github.com/countersign-dev/countersign/ports"
)

const (
	selectRevision = `SELECT revision FROM settings WHERE one = 1`
	upsertSettings = `INSERT INTO settings (one, revision, body) VALUES (1, ?, ?)
		ON CONFLICT (one) DO UPDATE SET revision = excluded.revision, body = excluded.body`
	selectSession  = `SELECT body FROM sessions WHERE key = ?`
	upsertSession  = `INSERT INTO sessions (key, body) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET body = excluded.body`
	selectSessions = `SELECT key, body FROM sessions`
	deleteSession  = `DELETE FROM sessions WHERE key = ?`
)

// Load returns the settings as they are now. It costs a few microseconds while nothing is committed to the database.
func (s *Store) Load(ctx context.Context) (ports.Settings, error) {
	var now ports.Settings
	err := s.watching(ctx, func(w *watch) (err error) {
		now, err = w.loadSettings()
		return err
	})
	return now, err
}

// Keeps implements ports.CombinedLoader.
func (s *Store) Keeps(sessions ports.Sessions) bool { return sessions == ports.Sessions(&s.sessions) }

// LoadBoth implements ports.CombinedLoader, with one look at the database.
func (s *Store) LoadBoth(ctx context.Context, key string) (ports.Settings, ports.Session, error) {
	var settings ports.Settings
	var session ports.Session
	err := s.watching(ctx, func(w *watch) (err error) {
		settings, session, err = w.loadBoth(key)
		return err
	})
	return settings, session, err
}

// ChangeCounter implements ports.ChangeCounter, with one look at the database; zero while there is none.
func (s *Store) ChangeCounter(ctx context.Context) (int64, error) {
	var now int64
	err := s.watching(ctx, func(w *watch) (err error) {
		now, err = w.stamp()
		return err
	})
	return now, err
}

// Save stores next as the next revision and returns it, or fails with ports.ErrSettingsConflict. Settings that have no written form (a
// level or setting that does not exist) are refused with policy.ErrWord.
func (s *Store) Save(ctx context.Context, next ports.Settings) (ports.Settings, error) {
	had := next.Revision
	next.Revision++
	body, err := encoded(next)
	if err != nil {
		return ports.Settings{}, err
	}
	err = s.Change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		var now int64
		if err := tx.QueryRowContext(ctx, selectRevision).Scan(&now); err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if now != had {
			return ports.ErrSettingsConflict
		}
		_, err := tx.ExecContext(ctx, upsertSettings, next.Revision, body)
		return err
	})
	if err != nil {
		return ports.Settings{}, err
	}
	return next, nil
}

// Sessions is a ports.Sessions; Store.Sessions makes it.
type Sessions struct{ store *Store }

// Load returns a copy of the session, zero when nothing was stored. It costs a few microseconds while nothing is committed to the database.
func (s *Sessions) Load(ctx context.Context, key string) (ports.Session, error) {
	var now ports.Session
	err := s.store.watching(ctx, func(w *watch) (err error) {
		now, err = w.loadSession(key)
		return err
	})
	return now, err
}

// Update runs change on the session and stores it unless change fails, or leaves a mode that does not exist (policy.ErrWord).
func (s *Sessions) Update(ctx context.Context, key string, change func(*ports.Session) error) error {
	var said error
	err := s.store.Change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		var (
			session ports.Session
			had     []byte
		)
		err := tx.QueryRowContext(ctx, selectSession, []byte(key)).Scan(&had)
		if err == nil {
			err = json.Unmarshal(had, &session)
		}
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if said = change(&session); said != nil {
			return nil
		}
		body, err := encoded(session)
		if err != nil || bytes.Equal(body, had) {
			return err
		}
		_, err = tx.ExecContext(ctx, upsertSession, []byte(key), body)
		return err
	})
	if err != nil {
		return err
	}
	return said
}

// End forgets the session.
func (s *Sessions) End(ctx context.Context, key string) error {
	_, err := s.store.Alter(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, deleteSession, []byte(key))
		return err
	})
	return err
}

// List returns all that is remembered, by key.
func (s *Sessions) List(ctx context.Context) (map[string]ports.Session, error) {
	all := map[string]ports.Session{}
	err := s.store.Read(ctx, func(db *sql.DB) error {
		rows, err := db.QueryContext(ctx, selectSessions)
		if err != nil {
			return err
		}
		defer rows.Close() //nolint:errcheck // rows.Err tells what went wrong
		for rows.Next() {
			key, body, session := sql.RawBytes{}, sql.RawBytes{}, ports.Session{}
			if err := rows.Scan(&key, &body); err != nil {
				return err
			}
			if err := json.Unmarshal(body, &session); err != nil {
				return err
			}
			all[string(key)] = session
		}
		return rows.Err()
	})
	return all, err
}

// watching runs f on the watch, or not at all when there is no database.
func (s *Store) watching(ctx context.Context, f func(*watch) error) error {
	return s.reading(ctx, func(h *handle) error {
		err := f(h.watch)
		if err != nil && !h.passing {
			s.retire(h)
		}
		return err
	})
}

// encoded is v as JSON that decodes again. What does not would make every later read fail.
func encoded[T any](v T) ([]byte, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return body, json.Unmarshal(body, new(T))
}
