package sqlitestore

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"sync"

	"github.com/countersign-dev/countersign/ports"
)

// sessionsKept bounds the cache of sessions; a process rarely serves more at once.
const sessionsKept = 1024

var errRetired = errors.New("the connection is closed")

// watch answers what is asked before every decision: the settings and the session as they are now. It keeps what it read until the
// database says that anybody, this process included, has committed something since. It speaks to the driver directly, because
// package sql would cost more than the question.
type watch struct {
	mu       sync.Mutex
	conn     driver.Conn // of its own: data_version tells of the commits of other connections only
	version  driver.Stmt
	settings driver.Stmt
	session  driver.Stmt
	opening  int64 // how many were there before this one: a new connection counts commits anew
	seen     int64
	set      *ports.Settings
	sessions map[string]ports.Session
}

func newWatch(c driver.Connector) (*watch, error) {
	conn, err := c.Connect(context.Background())
	if err != nil {
		return nil, err
	}
	return &watch{conn: conn}, nil
}

// schema returns the version of the database's schema; zero when there is none.
func (w *watch) schema() (int, error) {
	stmt, err := w.conn.Prepare("PRAGMA user_version")
	if err != nil {
		return 0, err
	}
	row := make([]driver.Value, 1)
	_, err = first(stmt, row)
	version, _ := row[0].(int64)
	return int(version), errors.Join(err, stmt.Close())
}

func (w *watch) prepare() error {
	for query, to := range map[string]*driver.Stmt{
		"PRAGMA data_version":                     &w.version,
		"SELECT body FROM settings WHERE one = 1": &w.settings,
		"SELECT body FROM sessions WHERE key = ?": &w.session,
	} {
		stmt, err := w.conn.Prepare(query)
		if err != nil {
			return err
		}
		*to = stmt
	}
	return nil
}

// close ends the watch; what is asked afterwards fails.
func (w *watch) close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.conn == nil {
		return nil
	}
	var errs []error
	for _, stmt := range []driver.Stmt{w.version, w.settings, w.session} {
		if stmt != nil {
			errs = append(errs, stmt.Close())
		}
	}
	errs = append(errs, w.conn.Close())
	w.conn = nil
	return errors.Join(errs...)
}

// loadSettings returns a copy of the settings as they are now.
func (w *watch) loadSettings() (ports.Settings, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.refresh(); err != nil {
		return ports.Settings{}, err
	}
	return w.settingsNow()
}

// loadBoth is loadSettings and loadSession with one refresh.
func (w *watch) loadBoth(key string) (ports.Settings, ports.Session, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.refresh(); err != nil {
		return ports.Settings{}, ports.Session{}, err
	}
	settings, err := w.settingsNow()
	if err != nil {
		return ports.Settings{}, ports.Session{}, err
	}
	session, err := w.sessionNow(key)
	return settings, session, err
}

// stamp returns a number that is another one after every commit, of this process too, and whenever the database was opened anew.
func (w *watch) stamp() (int64, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	err := w.refresh()
	return w.opening<<32 | w.seen&(1<<32-1), err
}

// settingsNow returns a copy of the settings as of the last refresh or later.
func (w *watch) settingsNow() (ports.Settings, error) {
	if w.set == nil {
		s, err := read[ports.Settings](w.settings)
		if err != nil {
			return ports.Settings{}, err
		}
		w.set = &s
	}
	s := *w.set
	s.Tools, s.Auto.Tools = maps.Clone(s.Tools), slices.Clone(s.Auto.Tools)
	return s, nil
}

// loadSession returns a copy of the session as it is now.
func (w *watch) loadSession(key string) (ports.Session, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.refresh(); err != nil {
		return ports.Session{}, err
	}
	return w.sessionNow(key)
}

// sessionNow returns a copy of the session as of the last refresh or later.
func (w *watch) sessionNow(key string) (ports.Session, error) {
	s, known := w.sessions[key]
	if !known {
		var err error
		if s, err = read[ports.Session](w.session, []byte(key)); err != nil {
			return ports.Session{}, err
		}
		if len(w.sessions) >= sessionsKept {
			clear(w.sessions)
		}
		w.sessions[key] = s
	}
	return s.Copy(), nil
}

// refresh forgets what was read when something was committed since. What is read next may be newer than the version seen here, never
// older; then the next refresh forgets it once more than needed.
func (w *watch) refresh() error {
	if w.conn == nil {
		return errRetired
	}
	row := make([]driver.Value, 1)
	if _, err := first(w.version, row); err != nil {
		return err
	}
	if version, _ := row[0].(int64); version != w.seen || w.sessions == nil {
		w.seen, w.set, w.sessions = version, nil, map[string]ports.Session{}
	}
	return nil
}

// read decodes the JSON in the first column of the first row; it is zero when there is no row.
func read[T any](stmt driver.Stmt, args ...driver.Value) (T, error) {
	var v T
	row := make([]driver.Value, 1)
	found, err := first(stmt, row, args...)
	if err != nil || !found {
		return v, err
	}
	body, _ := row[0].([]byte)
	err = json.Unmarshal(body, &v)
	return v, err
}

// first puts the first row that stmt finds into row and reports whether there is one.
func first(stmt driver.Stmt, row []driver.Value, args ...driver.Value) (bool, error) {
	named := make([]driver.NamedValue, len(args))
	for i, a := range args {
		named[i] = driver.NamedValue{Ordinal: i + 1, Value: a}
	}
	rows, err := stmt.(driver.StmtQueryContext).QueryContext(context.Background(), named)
	if err != nil {
		return false, err
	}
	err = rows.Next(row)
	found := err == nil
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return found, errors.Join(err, rows.Close())
}
