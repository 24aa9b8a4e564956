package sqlitestore

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"

	"modernc.org/sqlite/lib"

	"github.com/countersign-dev/countersign/domain/fault"
)

// copiesKept is how many copies of older schemas stay beside the database.
const copiesKept = 3

// copyTime is how the name of a copy says when it was made.
const copyTime = "20060102T150405.000Z"

// ErrNoCopy reports an upgrade that was not begun, because the copy of the database as it was could not be made.
var ErrNoCopy = fault.New(fault.Unavailable, "store_copy_failed", "the database was not upgraded, because it could not be copied first")

// Upgrade is a database that was brought up to date.
type Upgrade struct {
	Path     string // of the database
	From, To int    // schemas
	Copy     string // where it is as it was
}

// SchemaCopy is a database as it was before it was brought up to date.
type SchemaCopy struct {
	Path   string    `json:"path"`
	Schema int       `json:"schema"`
	At     time.Time `json:"made_at"`
}

// OnUpgrade has told called when this store has brought its database up to date. It is called before the store is used.
func (s *Store) OnUpgrade(told func(Upgrade)) { s.upgraded = told }

// SchemaVersion returns the newest schema that this program knows.
func SchemaVersion() int { return schemaVersion() }

// SchemaCopies returns the copies that upgrades have left beside the database at path, newest first.
func SchemaCopies(path string) []SchemaCopy {
	var all []SchemaCopy
	entries, _ := os.ReadDir(filepath.Dir(path)) // where nothing can be listed there is nothing to tell of
	form := regexp.MustCompile(`^` + regexp.QuoteMeta(filepath.Base(path)) + `\.schema-([0-9]+)-([0-9]{8}T[0-9]{6}\.[0-9]{3}Z)$`)
	for _, e := range entries {
		parts := form.FindStringSubmatch(e.Name())
		if parts == nil || !e.Type().IsRegular() {
			continue
		}
		schema, err := strconv.Atoi(parts[1])
		at, wrong := time.Parse(copyTime, parts[2])
		if err == nil && wrong == nil {
			all = append(all, SchemaCopy{Path: filepath.Join(filepath.Dir(path), e.Name()), Schema: schema, At: at})
		}
	}
	slices.SortStableFunc(all, func(a, b SchemaCopy) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(b.Schema, a.Schema)) })
	return all
}

// keep makes the copy of a database that is about to be brought up to date. It runs while nobody else may write, and before anything is changed.
// A copy from before secrets were sealed has them in clear, as that database had.
func (s *Store) keep(ctx context.Context, version int) (string, error) {
	if left, err := filepath.Glob(escaped(s.path) + ".copy-*"); err == nil { // of processes that died while they did this
		for _, file := range left {
			os.Remove(file) //nolint:errcheck // it is of no use, and in nobody's way
		}
	}
	fresh := s.path + ".copy-" + rand.Text()
	defer os.Remove(fresh) //nolint:errcheck // it has its name by then, or is of no use
	kept := fmt.Sprintf("%s.schema-%d-%s", s.path, version, time.Now().UTC().Format(copyTime))
	err := copyDatabase(ctx, s.path, fresh)
	if err == nil {
		err = os.Rename(fresh, kept)
	}
	if err == nil {
		err = syncDirectory(filepath.Dir(kept))
	}
	if err == nil {
		return kept, nil
	}
	return "", s.uncopied(err)
}

// uncopied says that nothing was upgraded, why, and what helps.
func (s *Store) uncopied(err error) error {
	why := fault.From(s.explain(context.Background(), err)).Message
	if family(err) == sqlite3.SQLITE_FULL {
		why = "the disk is full"
	}
	needs := ""
	if info, stat := os.Stat(s.path); stat == nil {
		needs = fmt.Sprintf(" (about %d MB)", info.Size()>>20+1)
	}
	return ErrNoCopy.WithMessage("the database %s was not upgraded or changed, because it could not be copied first (%s); free space in %s%s, and call again", s.path, why, filepath.Dir(s.path), needs).WithCause(err)
}

// prune removes all but the newest copies.
func (s *Store) prune() {
	all := SchemaCopies(s.path)
	for _, c := range all[min(len(all), copiesKept):] {
		os.Remove(c.Path) //nolint:errcheck // one more does no harm
	}
}

// Copy writes the database at path into a new file, as it is at one moment and whoever writes meanwhile, durably and with the permissions that it has
// itself. There must be one, and nothing at to.
func Copy(ctx context.Context, path, to string) error {
	s := &Store{path: path}
	if err := copyDatabase(ctx, path, to); err != nil {
		if family(err) == sqlite3.SQLITE_FULL {
			return ErrUnavailable.WithMessage("the disk for %s is full; free some space", to).WithCause(err)
		}
		return s.explain(ctx, err)
	}
	return nil
}

func copyDatabase(ctx context.Context, path, to string) (err error) {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if err := empty(to); err != nil { // SQLite itself would let others read it
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(to) //nolint:errcheck // what went wrong is said already
		}
	}()
	c, err := connector(path, "mode=rw", busy)
	if err != nil {
		return err
	}
	db := sql.OpenDB(c)
	_, err = db.ExecContext(ctx, "VACUUM INTO ?", to)
	if err = errors.Join(err, db.Close()); err != nil {
		return err
	}
	return settle(to, info.Mode().Perm())
}

// settle makes a file durable, with those permissions.
func settle(path string, mode fs.FileMode) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Chmod(mode), f.Sync(), f.Close())
}

func syncDirectory(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return nil // one that may be entered but not read cannot be synced
	}
	dir.Sync() //nolint:errcheck // there are file systems that cannot sync a directory
	return dir.Close()
}

// escaped returns a path in which no character chooses others.
func escaped(path string) string {
	return regexp.MustCompile(`[\\*?\[]`).ReplaceAllString(path, `\$0`)
}
