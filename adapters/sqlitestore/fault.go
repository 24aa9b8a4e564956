package sqlitestore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"modernc.org/sqlite"
	"modernc.org/sqlite/lib"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/ports"
)

// The ways the database refuses.
var (
	ErrUnavailable = fault.New(fault.Unavailable, "store_unavailable", "the database is unavailable")
	ErrEmptied     = fault.New(fault.State, "store_emptied", "the database is empty (0 bytes), which is an error and not a new database")
	ErrNewer       = ports.ErrStoreNewer
)

// explain turns what SQLite and the operating system say into faults. Faults stay themselves. A context that has ended is the reason of
// whatever else failed: SQLite only knows that it was interrupted.
func (s *Store) explain(ctx context.Context, err error) error {
	var f *fault.Error
	if err == nil || errors.As(err, &f) {
		return err
	}
	if ended := ctx.Err(); ended != nil {
		return ended
	}
	if why := s.why(err); why != "" {
		return ErrUnavailable.WithMessage("%s", why).WithCause(err)
	}
	var p *fs.PathError
	if errors.As(err, &p) {
		return ErrUnavailable.WithMessage("the database %s cannot be used: cannot %s %s: %v", s.path, p.Op, p.Path, p.Err).WithCause(err)
	}
	if errors.Is(err, sql.ErrConnDone) || errors.Is(err, driver.ErrBadConn) || errors.Is(err, errRetired) {
		return ErrUnavailable.WithMessage("database %s was closed during this call; call again", s.path).WithCause(err)
	}
	return fmt.Errorf("database %s: %w", s.path, err)
}

// family returns the kind of SQLite's error: the low byte of its result code; zero when err is none.
func family(err error) int {
	var low *sqlite.Error
	if !errors.As(err, &low) {
		return 0
	}
	return low.Code() & 0xff
}

// locked reports that another connection holds a lock that is needed.
func locked(err error) bool {
	family := family(err)
	return family == sqlite3.SQLITE_BUSY || family == sqlite3.SQLITE_LOCKED
}

// lockTimeoutError is a lock that was waited for in vain, for that long.
type lockTimeoutError struct {
	waited time.Duration
	error
}

func (e *lockTimeoutError) Unwrap() error { return e.error }

// why returns a sentence for the failures that something outside the program causes.
func (s *Store) why(err error) string {
	switch family(err) {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		waited := ""
		if vain := (&lockTimeoutError{}); errors.As(err, &vain) {
			waited = fmt.Sprintf(" for more than %v", vain.waited)
		}
		return fmt.Sprintf("another process kept the database %s locked%s; try again when it is done", s.path, waited)
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH:
		return fmt.Sprintf("the database %s cannot be written; make the file and its directory writable", s.path)
	case sqlite3.SQLITE_CANTOPEN:
		return fmt.Sprintf("the database %s cannot be opened; check that its directory exists and is readable and writable", s.path)
	case sqlite3.SQLITE_FULL:
		return fmt.Sprintf("the disk that holds the database %s is full; free some space", s.path)
	case sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT:
		return fmt.Sprintf("the file %s is not an SQLite database, or it is damaged; restore a copy, or move it away to start with an empty one", s.path)
	case sqlite3.SQLITE_IOERR, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_NOLFS, sqlite3.SQLITE_PROTOCOL:
		return fmt.Sprintf("reading or writing the database %s failed; check the disk it is on", s.path)
	}
	return ""
}
