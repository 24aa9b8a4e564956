package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/countersign-dev/countersign/adapters/docfile"
	"github.com/countersign-dev/countersign/ports"
)

// Store is a ports.AuditLog and a ports.SettingsStore; Sessions is its ports.Sessions, and the packages below this one keep more in the
// same database. All methods may be called from many goroutines, and many processes may have the same database open. A function handed to
// Change or Update must not write to the same Store: it would wait for itself until its context ends.
type Store struct {
	path     string
	secrets  *docfile.SecretBox
	signer   ports.Signer // nil where nothing is signed
	sessions Sessions
	upgraded func(Upgrade)  // nil where nobody is told
	calls    sync.WaitGroup // calls under way; Close waits for them
	stuck    atomic.Int64   // when a call gave up waiting for another process, in nanoseconds; zero once one has got through
	mu       sync.Mutex
	closed   bool
	open     *handle // nil until a call needs the database
	opened   int64   // how many times it was
}

// handle is one opened database.
type handle struct {
	file    fs.FileInfo // which file was opened: the path may name another one later
	watch   *watch
	read    *sql.DB
	write   *sql.DB // nil when nothing was written yet
	passing bool    // opened for a single call
}

// Open returns a store in the database at path, which need not exist. The key of what it seals is in the directory keys beside the database.
// The caller closes it.
func Open(path string) *Store {
	s := &Store{path: path, secrets: docfile.NewSecretBox(filepath.Join(filepath.Dir(path), "keys"))}
	s.sessions.store = s
	return s
}

// Secrets returns what seals the columns that package sealed names.
func (s *Store) Secrets() *docfile.SecretBox { return s.secrets }

// Sessions returns the store's ports.Sessions.
func (s *Store) Sessions() *Sessions { return &s.sessions }

// Close waits for calls under way and closes the database. Calls after it fail with ErrUnavailable; a second Close does nothing.
func (s *Store) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.calls.Wait()
	s.mu.Lock()
	h := s.open
	s.open = nil
	s.mu.Unlock()
	return s.explain(context.Background(), h.close())
}

// reading runs f on the database, or does not run it when there is none: nothing is stored then.
func (s *Store) reading(ctx context.Context, f func(*handle) error) error {
	h, err := s.begin(ctx, s.forReading)
	if h == nil {
		return err
	}
	defer s.end(h)
	return s.explain(ctx, f(h))
}

// Read runs f on connections that only read, or does not run it when there is no database, in which nothing is stored. It and Change are
// for the packages below this one, each of which keeps tables of its own.
func (s *Store) Read(ctx context.Context, f func(*sql.DB) error) error {
	return s.reading(ctx, func(h *handle) error { return f(h.read) })
}

// Damage returns what SQLite finds damaged in the database file, at most 20 findings; none if there is no database. It reads the whole file. It does not compare
// indexes with their tables: that is what verifying the audit log does.
func (s *Store) Damage(ctx context.Context) (found []string, err error) {
	err = s.Read(ctx, func(db *sql.DB) error {
		rows, err := db.QueryContext(ctx, `PRAGMA quick_check(20)`)
		if err != nil {
			return err
		}
		defer rows.Close() //nolint:errcheck // rows.Err says what went wrong
		found = nil
		for rows.Next() {
			var line string
			if err := rows.Scan(&line); err != nil {
				return err
			}
			if line != "ok" {
				found = append(found, line)
			}
		}
		return rows.Err()
	})
	return found, err
}

// Change runs f in one immediate transaction, which is undone when f fails or panics. The database is created when it is missing. Its
// faults are ErrUnavailable, ErrNewer and whatever f returns.
//
// The caller's context is heeded while waiting in line and once more before the commit, and not in between: a transaction is short, it
// must end one way or the other, and SQLite would have to be watched by a goroutine a statement.
func (s *Store) Change(ctx context.Context, f func(context.Context, *sql.Tx) error) error {
	h, err := s.begin(ctx, s.forWriting)
	if err != nil {
		return err
	}
	defer s.end(h)
	conn, err := h.write.Conn(ctx)
	if err != nil {
		return s.explain(ctx, err)
	}
	defer conn.Close() //nolint:errcheck // this only returns it
	tx, err := s.immediate(ctx, conn)
	if err != nil {
		return s.explain(ctx, err)
	}
	defer tx.Rollback() //nolint:errcheck // after Commit it does nothing, and before it the first failure is the one to tell
	if err := f(context.WithoutCancel(ctx), tx); err != nil {
		return s.explain(ctx, err)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.explain(context.WithoutCancel(ctx), tx.Commit())
}

// immediate begins a transaction, waiting for other processes as long as busy says and ctx lasts. Where a call has waited in vain just now, the next
// ones do so for one turn only: a change is several calls, and who asked for it is told once, not after each.
func (s *Store) immediate(ctx context.Context, conn *sql.Conn) (*sql.Tx, error) {
	patience := busy
	if time.Now().UnixNano()-s.stuck.Load() < int64(busy) {
		patience = turn
	}
	return s.inTurn(ctx, conn, patience)
}

// inTurn begins a transaction once other processes let it, within that time and as long as ctx lasts.
func (s *Store) inTurn(ctx context.Context, conn *sql.Conn, patience time.Duration) (*sql.Tx, error) {
	for began := time.Now(); ; {
		tx, err := conn.BeginTx(context.WithoutCancel(ctx), nil)
		switch vain := locked(err) && ctx.Err() == nil; {
		case err == nil:
			s.stuck.Store(0)
		case vain && time.Since(began) < patience:
			continue
		case vain:
			s.stuck.Store(time.Now().UnixNano())
			err = &lockTimeoutError{waited: patience, error: err}
		}
		return tx, err
	}
}

// Alter is Change for calls that have nothing to do without a database: it reports whether there is one, and creates none.
func (s *Store) Alter(ctx context.Context, f func(context.Context, *sql.Tx) error) (bool, error) {
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	if _, err := os.Stat(s.path); missing(err) && !closed {
		return false, ctx.Err()
	}
	return true, s.Change(ctx, f)
}

// begin counts a call in and hands it the database that choose comes up with.
func (s *Store) begin(ctx context.Context, choose func() (*handle, error)) (*handle, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrUnavailable.WithMessage("the database %s is closed", s.path)
	}
	h, err := choose()
	if err != nil {
		return nil, s.explain(ctx, err)
	}
	if h != nil {
		s.calls.Add(1)
	}
	return h, nil
}

func (s *Store) end(h *handle) {
	if h.passing {
		h.close() //nolint:errcheck // nothing was written
	}
	s.calls.Done()
}

// forReading returns the open database, or the one on disk, or nil when there is none. It runs under mu.
func (s *Store) forReading() (*handle, error) {
	if s.open != nil {
		return s.open, nil
	}
	h, err := s.openExisting()
	if errors.Is(err, errOutdated) {
		return s.forWriting()
	}
	if err == nil && h != nil && !h.passing {
		s.open = h
	}
	return h, err
}

// forWriting returns the database opened for writing, created when it is missing. A file that was removed or replaced since it was opened
// is let go: what is written into it would be lost. It runs under mu.
func (s *Store) forWriting() (*handle, error) {
	if s.open != nil {
		if now, err := os.Stat(s.path); err != nil || !os.SameFile(now, s.open.file) {
			s.open.close() //nolint:errcheck // nobody can read what it could not write
			s.open = nil
		}
	}
	if s.open != nil && s.open.write != nil {
		return s.open, nil
	}
	write, err := s.openWritable()
	if err != nil {
		return nil, err
	}
	h := s.open
	if h == nil {
		if h, err = s.openExisting(); err != nil || h == nil {
			return nil, errors.Join(err, write.Close())
		}
	}
	h.write, s.open = write, h
	return h, nil
}

// retire lets go of a database that fails to be read, so that the next call opens it anew.
func (s *Store) retire(h *handle) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == h {
		s.open = nil
		h.close() //nolint:errcheck // it has failed already
	}
}

func (h *handle) close() error {
	if h == nil {
		return nil
	}
	err := errors.Join(h.watch.close(), h.read.Close())
	if h.write != nil {
		// The writer goes last: the last connection to close folds the write-ahead log into the database.
		err = errors.Join(err, h.write.Close())
	}
	return err
}

// missing reports whether err says that there is no such file, nor can be one.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}
