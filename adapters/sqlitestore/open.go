package sqlitestore

import (
	"context"
	"crypto/rand"
	"database/sql"
	"database/sql/driver"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"modernc.org/sqlite"
	"modernc.org/sqlite/lib"
)

// A call waits so long for another process that writes, and looks that often whether its context has ended meanwhile.
const (
	busy = 5 * time.Second
	turn = 250 * time.Millisecond
	// patient is how long a process waits for another one to bring the schema up to date, which takes a while where the audit is long.
	patient = 2 * time.Minute
)

// readers bounds the connections that list records and confirmations: each has a page cache of its own.
const readers = 2

// errOutdated reports a database whose schema is older than this program's.
var errOutdated = errors.New("the schema is older than this program")

//go:embed migrations/*.sql
var migrations embed.FS

// The schemas from which on secrets are sealed, and the end of the audit says what is kept.
const (
	sealedSince = 4
	keptSince   = 13
)

// autoVacuum has a database give back space when asked to. It takes effect in one without a page, or with the next VACUUM.
const autoVacuum = "PRAGMA auto_vacuum = INCREMENTAL"

// The two ways to connect. Neither creates a file; SQLite itself falls back to reading where it may not write. What is deleted is
// overwritten.
const (
	readingDSN = "mode=rw&_pragma=query_only(1)"
	writingDSN = "mode=rw&_txlock=immediate&_pragma=synchronous(FULL)&_pragma=foreign_keys(1)&_pragma=secure_delete(1)"
)

// connector connects to the database; a statement waits for a lock as long as wait says.
func (s *Store) connector(options string, wait time.Duration) (driver.Connector, error) {
	return connector(s.path, options, wait)
}

func connector(path, options string, wait time.Duration) (driver.Connector, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	// With the default locks, closing any other descriptor of the database anywhere in this process (a backup, a checksum) would drop
	// SQLite's own. It is refused once a database is open, and where there is nothing better; both leave things as they are.
	sqlite.OFDLocking(true) //nolint:errcheck // see above
	file := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(path)}
	return sqlite.NewConnector(fmt.Sprintf("%s?%s&_pragma=busy_timeout(%d)", &file, options, wait.Milliseconds()))
}

// openExisting opens the database for reading, or returns nil when there is none, or none that anything was stored in.
func (s *Store) openExisting() (*handle, error) {
	if err := s.restoring(); err != nil {
		return nil, err
	}
	file, err := os.Stat(s.path)
	if err != nil {
		if missing(err) {
			return nil, nil
		}
		return nil, err
	}
	if !file.Mode().IsRegular() {
		return nil, ErrUnavailable.WithMessage("the database %s is not a regular file; move it away", s.path)
	}
	if err := s.emptied(file); err != nil {
		return nil, err
	}
	h, err := s.connect(file, readingDSN)
	if frozen(err) && s.settled() {
		// Nothing may be written here, not even the files that readers share with writers. Without a write-ahead log the database file
		// says everything, and it is opened anew for every call, so that no call sees an old one.
		if h, err = s.connect(file, "mode=ro&immutable=1"); h != nil {
			h.passing = true
		}
	}
	return h, err
}

// frozen reports a failure to set up what readers and writers share.
func frozen(err error) bool {
	family := family(err)
	return family == sqlite3.SQLITE_CANTOPEN || family == sqlite3.SQLITE_READONLY
}

// settled reports whether no write-ahead log holds anything.
func (s *Store) settled() bool {
	wal, err := os.Stat(s.path + "-wal")
	return missing(err) || err == nil && wal.Size() == 0
}

// connect opens connections with the given options and checks the schema. It is nil when nothing was ever stored. It runs under mu.
func (s *Store) connect(file fs.FileInfo, options string) (*handle, error) {
	c, err := s.connector(options, busy)
	if err != nil {
		return nil, err
	}
	w, err := newWatch(c)
	if err != nil {
		return nil, err
	}
	s.opened++
	w.opening = s.opened
	version, err := w.schema()
	if err == nil {
		switch known := schemaVersion(); {
		case version == 0:
			return nil, w.close()
		case version < known:
			err = errOutdated
		case version > known:
			err = s.newer(version)
		default:
			err = w.prepare()
		}
	}
	if err != nil {
		return nil, errors.Join(err, w.close())
	}
	read := sql.OpenDB(c)
	read.SetMaxOpenConns(readers)
	read.SetMaxIdleConns(1)
	return &handle{file: file, watch: w, read: read}, nil
}

func (s *Store) newer(version int) error {
	return ErrNewer.WithMessage("the database %s was written by a newer Countersign (schema %d; this one supports %d), so calls cannot be recorded and nothing can run, not even reads; update this program, or name another home with COUNTERSIGN_HOME",
		s.path, version, schemaVersion())
}

// openWritable connects for writing. It creates the directory (0700) and the file (0600) when they are missing, and brings the schema
// up to date.
func (s *Store) openWritable() (*sql.DB, error) {
	if err := s.restoring(); err != nil {
		return nil, err
	}
	if err := s.create(); err != nil {
		return nil, err
	}
	c, err := s.connector(writingDSN, turn)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(c)
	db.SetMaxOpenConns(1) // one transaction at a time: waiting in line here is cheaper than for SQLite's lock
	if err := s.ready(db); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// create makes an empty database that nobody else may read. SQLite gives its companion files the same mode. The file gets its name once it has a first
// page: no database of this program is ever zero bytes long, but for one that something has happened to.
func (s *Store) create() error {
	switch file, err := os.Stat(s.path); {
	case err == nil:
		return s.emptied(file)
	case !missing(err):
		return err
	}
	if _, err := os.Lstat(s.path); err == nil {
		return nil // a link to nothing: SQLite says so
	}
	if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
		return err
	}
	fresh := s.path + ".new-" + rand.Text()
	defer os.Remove(fresh) //nolint:errcheck // it has its name by then, or is of no use
	if err := empty(fresh); err != nil {
		return err
	}
	if err := begun(fresh); err != nil {
		return err
	}
	err := os.Link(fresh, s.path)
	if err == nil || errors.Is(err, fs.ErrExist) { // another process was faster
		return nil
	}
	if err := empty(s.path); err != nil && !errors.Is(err, fs.ErrExist) { // where a file has one name only
		return err
	}
	return nil
}

func empty(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// begun gives an empty file its first page.
func begun(path string) error {
	c, err := connector(path, writingDSN, turn)
	if err != nil {
		return err
	}
	db := sql.OpenDB(c)
	db.SetMaxOpenConns(1)
	var mode string
	_, err = db.Exec(autoVacuum)
	return errors.Join(err, db.QueryRow("PRAGMA journal_mode = WAL").Scan(&mode), db.Close())
}

// emptied rejects a database of zero bytes where there was one before: SQLite would take it for a new one, and drop what its log still holds.
func (s *Store) emptied(file fs.FileInfo) error {
	if file.Size() > 0 || !file.Mode().IsRegular() || !s.lived() {
		return nil
	}
	return ErrEmptied.WithMessage("the database %s is empty (0 bytes) although its keys exist; restore a copy, or move it away to start with a new one, which audit verify will report",
		s.path)
}

// lived reports whether keys or anchors of this home are there: then it had a database.
func (s *Store) lived() bool {
	dir := filepath.Dir(s.path)
	if _, err := os.Stat(filepath.Join(dir, "anchors.json")); err == nil {
		return true
	}
	keys, err := filepath.Glob(filepath.Join(dir, "keys", "*.key"))
	return err == nil && len(keys) > 0
}

// ready turns the write-ahead log on and brings the schema up to date. Processes that do so at once wait for one another.
func (s *Store) ready(db *sql.DB) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*busy)
	defer cancel()
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()                                                  //nolint:errcheck // this only returns it
	version, err := s.version(conn.QueryRowContext(ctx, selectVersion)) // before anything is written: it may not be ours
	if err != nil {
		return err
	}
	for {
		var mode string
		err := conn.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode)
		if err == nil {
			break
		}
		if !locked(err) || !pause(ctx, 5*time.Millisecond) { // SQLite does not wait for this lock by itself
			return err
		}
	}
	if version == schemaVersion() {
		return nil
	}
	return s.migrate(context.WithoutCancel(ctx), conn) // once begun, it is finished, however long it takes
}

const selectVersion = "SELECT user_version, (SELECT count(*) FROM sqlite_schema) FROM pragma_user_version"

// version returns the schema that selectVersion finds; zero for an empty database. It refuses what this program must not write to.
func (s *Store) version(row *sql.Row) (int, error) {
	var version, tables int
	if err := row.Scan(&version, &tables); err != nil {
		return 0, err
	}
	switch {
	case version > schemaVersion():
		return 0, s.newer(version)
	case version == 0 && tables > 0:
		return 0, ErrUnavailable.WithMessage("the database %s belongs to another program; name another file", s.path)
	}
	return version, nil
}

func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// schemaVersion returns the newest schema this program knows: how many migrations there are.
func schemaVersion() int {
	scripts, _ := migrations.ReadDir("migrations") // an embedded directory can be read
	return len(scripts)
}

// migrate runs the migrations that the database has not seen, in one transaction, and keeps a copy of the database as it was before them.
func (s *Store) migrate(ctx context.Context, conn *sql.Conn) error {
	tx, err := s.inTurn(ctx, conn, patient)
	if err != nil {
		return err
	}
	defer tx.Rollback()                                               //nolint:errcheck // does nothing after Commit
	version, err := s.version(tx.QueryRowContext(ctx, selectVersion)) // again, now that nobody else can migrate
	if err != nil {
		return err
	}
	if version == schemaVersion() { // another process was faster
		return nil
	}
	kept := ""
	if version > 0 {
		if kept, err = s.keep(ctx, version); err != nil {
			return err
		}
	}
	if err := s.upgrade(ctx, tx, version); err != nil {
		if kept != "" {
			os.Remove(kept) //nolint:errcheck // the database is as it was, so the copy says nothing that it does not
		}
		return err
	}
	if version > 0 && version < keptSince { // what was stored in clear goes, and from now on the file can get smaller
		scrub(ctx, conn)
	}
	if kept != "" {
		s.prune()
		if s.upgraded != nil {
			s.upgraded(Upgrade{Path: s.path, From: version, To: schemaVersion(), Copy: kept})
		}
	}
	return nil
}

// upgrade runs the migrations behind that version, and commits.
func (s *Store) upgrade(ctx context.Context, tx *sql.Tx, version int) error {
	scripts, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return err
	}
	for _, name := range scripts[version:] {
		script, err := migrations.ReadFile(name)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, string(script)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if version < sealedSince {
		if _, err := ResealAll(ctx, tx, s.secrets); err != nil {
			return err
		}
	}
	if version < keptSince {
		if err := countKept(ctx, tx); err != nil {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", len(scripts))); err != nil {
		return err
	}
	return tx.Commit()
}

// scrub takes what was stored in clear, and is not referred to any more, out of the database and its log. Where others who use the
// database stand in the way, or the disk is full, it stays until its place is written to.
func scrub(ctx context.Context, conn *sql.Conn) {
	for _, statement := range []string{autoVacuum, "VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"} {
		conn.ExecContext(ctx, statement) //nolint:errcheck // see above
	}
}
