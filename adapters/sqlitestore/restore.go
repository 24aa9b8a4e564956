package sqlitestore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/enrolled"
	"github.com/countersign-dev/countersign/domain/project/webhook"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports"
)

// RestoreNote is the file beside a database by which a restore that has begun is finished, whatever happens to the process. While it is there, nobody
// opens the database.
const RestoreNote = "restore.json"

// ErrInUse reports a database that other processes have open.
var ErrInUse = ports.ErrHomeInUse

// restoring rejects a database in whose place another one is being put.
func (s *Store) restoring() error {
	if _, err := os.Lstat(filepath.Join(filepath.Dir(s.path), RestoreNote)); err != nil {
		return nil //nolint:nilerr // there is none
	}
	return ErrUnavailable.WithMessage("the home %s is being restored from a backup; call again; if the restore was interrupted, the next start finishes it", filepath.Dir(s.path))
}

// Seized is a database that no other process can open until it is released.
type Seized struct {
	db   *sql.DB
	conn *sql.Conn
	path string
	file fs.FileInfo
	seq  int64
	hash canon.Hash
}

// Seize keeps everybody else out of the database at path, which there has to be, and folds its log into it. It fails with ErrInUse where another process
// has it open.
func Seize(ctx context.Context, path string) (*Seized, error) {
	s := &Store{path: path}
	c, err := connector(path, "mode=rw", turn)
	if err != nil {
		return nil, err
	}
	file, err := os.Stat(path)
	if err != nil {
		return nil, s.explain(ctx, err)
	}
	z := &Seized{db: sql.OpenDB(c), path: path, file: file}
	z.db.SetMaxOpenConns(1)
	if err := z.begin(ctx); err != nil {
		if z.conn != nil {
			z.conn.Close() //nolint:errcheck // what went wrong is said already
		}
		z.db.Close() //nolint:errcheck // likewise
		if locked(err) {
			return nil, ErrInUse.WithMessage("another process has the database %s open: a server, a host's MCP server or another command; end it, and call again", path)
		}
		return nil, s.explain(ctx, err)
	}
	return z, nil
}

// begin turns the log off, which only the one connection that there is can do, and holds the lock.
func (z *Seized) begin(ctx context.Context) (err error) {
	if z.conn, err = z.db.Conn(ctx); err != nil {
		return err
	}
	var mode string
	for until := time.Now().Add(4 * turn); ; {
		err = z.conn.QueryRowContext(ctx, "PRAGMA journal_mode = DELETE").Scan(&mode)
		if !locked(err) || time.Now().After(until) || !pause(ctx, 5*time.Millisecond) { // somebody may just be closing it
			break
		}
	}
	if err != nil {
		return err
	}
	if mode != "delete" {
		return fmt.Errorf("its write-ahead log cannot be switched off: %s", mode)
	}
	if _, err = z.conn.ExecContext(ctx, "BEGIN EXCLUSIVE"); err != nil {
		return err
	}
	var hash []byte
	err = z.conn.QueryRowContext(ctx, "SELECT seq, hash FROM audit_head WHERE one = 1").Scan(&z.seq, &hash)
	copy(z.hash[:], hash)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return err
}

// End returns the end of its audit.
func (z *Seized) End() (int64, canon.Hash) { return z.seq, z.hash }

// Newest returns the records at the end of its audit, newest first, n at most.
func (z *Seized) Newest(ctx context.Context, n int) ([]audit.Record, error) {
	found, err := records(ctx, z.conn, selectTail, n)
	slices.Reverse(found)
	return found, err
}

// Release lets others open it again. Where it still has its name it is as it was, with its log: by that it is known who has it open.
func (z *Seized) Release() error {
	ctx := context.Background()
	_, err := z.conn.ExecContext(ctx, "ROLLBACK")
	if now, stat := os.Stat(z.path); err == nil && stat == nil && os.SameFile(now, z.file) {
		_, err = z.conn.ExecContext(ctx, "PRAGMA journal_mode = WAL")
		if locked(err) { // another process was faster, and does that
			err = nil
		}
	}
	return errors.Join(err, z.conn.Close(), z.db.Close())
}

// Contents is what somebody has to know of a database who would put it in the place of another.
type Contents struct {
	Schema    int
	Records   int64
	Head      canon.Hash
	Withdrawn ports.Withdrawn // what may still let something happen
	Settings  ports.Settings
	Keys      []enrolled.Key
	Rules     []webhook.ActionRule
}

// Peek reads a database that nobody else uses, whatever its schema. It leaves no trace.
func Peek(ctx context.Context, path string) (c Contents, err error) {
	s := &Store{path: path}
	defer func() { err = s.explain(ctx, err) }()
	to, err := connector(path, "mode=ro&immutable=1", turn)
	if err != nil {
		return c, err
	}
	db := sql.OpenDB(to)
	defer db.Close() //nolint:errcheck // nothing was written
	if err = db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&c.Schema); err != nil {
		return c, err
	}
	if c.Schema > schemaVersion() {
		return c, s.newer(c.Schema)
	}
	if c.Schema == 0 {
		return c, ErrUnavailable.WithMessage("the database in the backup does not belong to Countersign")
	}
	var hash, body []byte
	if err = none(db.QueryRowContext(ctx, "SELECT seq, hash FROM audit_head WHERE one = 1").Scan(&c.Records, &hash)); err != nil {
		return c, err
	}
	copy(c.Head[:], hash)
	if err = none(db.QueryRowContext(ctx, "SELECT body FROM settings WHERE one = 1").Scan(&body)); err != nil {
		return c, err
	}
	if len(body) > 0 {
		if err = json.Unmarshal(body, &c.Settings); err != nil {
			return c, err
		}
	}
	if c.Withdrawn, err = open(ctx, db, c.Schema); err != nil {
		return c, err
	}
	if c.Schema >= 3 {
		c.Rules, err = gather(ctx, db, scanRule, selectRules)
	}
	if err != nil || c.Schema < 9 {
		return c, err
	}
	rows, err := db.QueryContext(ctx, selectKeys)
	if err != nil {
		return c, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err tells what went wrong
	for rows.Next() {
		var id string
		var body sql.RawBytes
		var k enrolled.Key
		if err := rows.Scan(&id, &body); err != nil {
			return c, err
		}
		if json.Unmarshal(body, &k) == nil {
			c.Keys = append(c.Keys, k)
		}
	}
	return c, rows.Err()
}

func none(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return err
}

// open counts what may still let something happen in a database of that schema.
func open(ctx context.Context, q querier, schema int) (w ports.Withdrawn, err error) {
	for _, c := range []struct {
		since int
		query string
		to    *int
	}{
		{1, "SELECT count(*) FROM grants WHERE state = 0", &w.Requests},
		{1, "SELECT count(*) FROM grants WHERE state = 1", &w.Approvals},
		{1, "SELECT count(*) FROM sessions", &w.Sessions},
		{5, "SELECT count(*) FROM credentials WHERE ended_at = 0", &w.Credentials},
		{10, "SELECT count(*) FROM dated_grants", &w.Grants},
	} {
		if schema >= c.since && err == nil {
			err = q.QueryRowContext(ctx, c.query).Scan(c.to)
		}
	}
	return w, err
}

// Withdraw ends everything that may still let something happen: requests, approvals that no call has used, grants, sessions, and credentials.
func (s *Store) Withdraw(ctx context.Context, now time.Time) (w ports.Withdrawn, err error) {
	err = s.Change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if w, err = open(ctx, tx, schemaVersion()); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "UPDATE grants SET state = ?, args = NULL, exhibit = NULL WHERE state IN (?, ?)", int(confirm.Canceled), int(confirm.Pending), int(confirm.Approved)); err != nil {
			return err
		}
		for _, table := range []string{"dated_grants", "sessions", "credentials"} {
			if _, err := tx.ExecContext(ctx, "DELETE FROM "+table); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return w, err
	}
	runs := NewRuns(s)
	waiting, err := runs.List(ctx, ports.RunFilter{Status: tool.StatusPendingConfirmation, Limit: ports.RunsAtMost})
	for _, r := range waiting {
		if err == nil {
			err = runs.Change(ctx, r.CallID, func(r *tool.Record) error { return r.Deny(tool.ReasonCancelled, now) })
		}
	}
	return w, err
}
