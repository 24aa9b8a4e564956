package homearchive

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/adapters/docfile"
	"github.com/countersign-dev/countersign/adapters/sqlitestore"
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/project/webhook"
	"github.com/countersign-dev/countersign/ports"
)

// The ways a backup is not made.
var (
	ErrExists = fault.New(fault.Conflict, "backup_file_exists", "the file already exists")
	ErrTarget = fault.New(fault.Invalid, "backup_target_invalid", "invalid backup path")
	ErrFailed = fault.New(fault.Unavailable, "backup_failed", "cannot write the backup")
)

// Options are what an Archive is made of. Every field is required.
type Options struct {
	Home    string                         // the directory
	Where   func() (named, machine string) // the same by the one name it always has, and the machine it is on
	Version string                         // of the program
	Clock   ports.Clock
	ID      func() string // of a restore
}

// Archive is a ports.Backups of one home. New makes it, Finish ends it.
type Archive struct {
	Options
	audit   ports.AuditLog  // of the home, see KeepIn
	rules   Rules           // likewise
	pending *pending        // what was staged
	reached func(at string) // told of every step of a restore; nil but in tests
}

// New returns the archive of that home. It opens nothing.
func New(o Options) *Archive { return &Archive{Options: o} }

// Rules reads the rules that users stored for actions.
type Rules func(ctx context.Context) ([]webhook.ActionRule, error)

// KeepIn has the home's audit know the restores that are made ready: without it none is. rules are those of the home, to which a backup's are held.
func (a *Archive) KeepIn(log ports.AuditLog, rules Rules) { a.audit, a.rules = log, rules }

// Holds returns what a backup would hold.
func (a *Archive) Holds(context.Context) (ports.BackupContents, error) {
	l, err := list(a.Home)
	if err != nil {
		return ports.BackupContents{}, ErrFailed.WithMessage("the home %s cannot be read: %v", a.Home, err).WithCause(err)
	}
	var c ports.BackupContents
	c.Secrets, c.Others = secrets(told(l.files))
	c.LeftOut = l.odd
	return c, nil
}

// Target returns the file that a path means, and whether it is there.
func (a *Archive) Target(path string, over bool) (file string, there bool, err error) {
	file, err = filepath.Abs(path)
	if err != nil || path == "" || strings.HasSuffix(path, string(filepath.Separator)) {
		return "", false, ErrTarget.WithMessage("%q is not a file; name a file for the backup", path)
	}
	parent, err := filepath.EvalSymlinks(filepath.Dir(file))
	if err != nil {
		return "", false, ErrTarget.WithMessage("the directory of %s cannot be used: %v", file, err).WithCause(err)
	}
	named, _ := a.Where()
	if rel, err := filepath.Rel(named, parent); err == nil && filepath.IsLocal(rel) {
		return "", false, ErrTarget.WithMessage("%s is inside the home, where it could be lost together with it; use a file on another disk", file)
	}
	file = filepath.Join(parent, filepath.Base(file)) // whoever approves it sees where that is, and nothing else counts for it
	info, err := os.Lstat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return file, false, nil
	case err != nil:
		return "", false, ErrTarget.WithMessage("%s cannot be read", file).WithCause(err)
	case !info.Mode().IsRegular():
		return "", false, ErrTarget.WithMessage("%s is not a regular file; use another path", file)
	case !over:
		return "", false, ErrExists.WithMessage("%s already exists; use another file", file)
	}
	return file, true, nil
}

// Make writes a backup. The file gets its name once it is whole and on the disk.
func (a *Archive) Make(ctx context.Context, file string, over bool, progress func(done, total int64)) (ports.Backup, error) {
	at, _, err := a.Target(file, over)
	if err != nil {
		return ports.Backup{}, err
	}
	if asked, err := filepath.Abs(file); err != nil || at != asked {
		return ports.Backup{}, ErrTarget.WithMessage("%s is now a link to %s; call again", file, at)
	}
	dir := docfile.NewDir(filepath.Dir(at))
	b, err := a.make(ctx, dir, at, over, progress)
	var said *fault.Error
	if err == nil || errors.As(err, &said) || ctx.Err() != nil {
		return b, err
	}
	return b, ErrFailed.WithMessage("the backup %s could not be written and was removed: %v", file, err).WithCause(err)
}

func (a *Archive) make(ctx context.Context, dir *docfile.Dir, file string, over bool, progress func(done, total int64)) (b ports.Backup, err error) {
	scratch := "." + filepath.Base(file) + "." + rand.Text()
	copied, fresh := dir.File(scratch+".db.tmp"), dir.File(scratch+".tmp")
	defer os.Remove(copied) //nolint:errcheck // it is of no use any more
	defer os.Remove(fresh)  //nolint:errcheck // it has its name by then, or is of no use
	b = ports.Backup{Format: backupFormat, Version: a.Version, MadeAt: a.Clock.Now().UTC().Truncate(time.Second), Files: []ports.BackupFile{}}
	b.Home, b.Machine = a.Where()
	l, kept, err := a.snapshot(ctx, copied, &b)
	if err != nil {
		return b, err
	}
	f, err := os.OpenFile(fresh, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return b, err
	}
	defer f.Close() //nolint:errcheck // it was closed where that matters
	w := writer{ctx: ctx, tar: tar.NewWriter(f), backup: &b, total: l.size, told: progress}
	if b.Schema > 0 {
		if info, err := os.Stat(copied); err == nil {
			w.total += info.Size()
		}
		if err := w.file(database, copied); err != nil {
			return b, err
		}
	}
	for _, name := range l.kept() {
		if data, yes := kept[name]; yes {
			err = w.entry(name, int64(len(data)), bytes.NewReader(data))
		} else {
			err = w.file(name, filepath.Join(a.Home, filepath.FromSlash(name)))
		}
		if err != nil {
			return b, err
		}
	}
	doc, err := json.MarshalIndent(b, "", "  ")
	if err != nil {
		return b, err
	}
	if err := errors.Join(w.head(manifest, int64(len(doc)+1)), w.write(append(doc, '\n')), w.tar.Close(), f.Sync(), f.Close()); err != nil {
		return b, err
	}
	return b, place(fresh, file, over)
}

// place gives a file that is whole its name.
func place(fresh, file string, over bool) error {
	if !over {
		err := os.Link(fresh, file)
		if errors.Is(err, fs.ErrExist) {
			return ErrExists.WithMessage("%s already exists; use another file", file)
		}
		if err == nil {
			return syncDir(filepath.Dir(file))
		}
		if _, there := os.Lstat(file); !errors.Is(there, fs.ErrNotExist) { // where a file has one name only
			return err
		}
	}
	if err := os.Rename(fresh, file); err != nil {
		return err
	}
	return syncDir(filepath.Dir(file))
}

// snapshot copies the database, and reads the keys that belong to it: those that were there before and after. What the head beside the key knows is not
// newer than the copy, because it is read first.
func (a *Archive) snapshot(ctx context.Context, to string, b *ports.Backup) (l listing, kept map[string][]byte, err error) {
	for range 3 {
		if l, err = list(a.Home); err != nil {
			return l, nil, err
		}
		if kept, err = a.keyFiles(l.files); err != nil {
			return l, nil, err
		}
		path := filepath.Join(a.Home, database)
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return l, kept, nil
		}
		os.Remove(to) //nolint:errcheck // of the try before
		if err := sqlitestore.Copy(ctx, path, to); err != nil {
			return l, nil, err
		}
		contents, err := sqlitestore.Peek(ctx, to)
		if err != nil {
			return l, nil, err
		}
		b.Schema = contents.Schema
		now, err := a.keyFiles(l.files)
		if err != nil {
			return l, nil, err
		}
		if same(kept, now, keys+"/"+docfile.SecretKeyFile) && same(kept, now, keys+"/"+docfile.SigningKeyFile) {
			return l, kept, nil
		}
	}
	return l, nil, ErrFailed.WithMessage("the keys of %s are being replaced; call again", a.Home)
}

func same(a, b map[string][]byte, name string) bool { return bytes.Equal(a[name], b[name]) }

// keyFiles returns the files below keys.
func (a *Archive) keyFiles(files []string) (map[string][]byte, error) {
	all := map[string][]byte{}
	for _, name := range files {
		if !strings.HasPrefix(name, keys+"/") {
			continue
		}
		data, err := os.ReadFile(filepath.Join(a.Home, filepath.FromSlash(name)))
		if err != nil {
			return nil, err
		}
		all[name] = data
	}
	return all, nil
}

// writer writes the entries of a backup, and their list.
type writer struct {
	ctx         context.Context //nolint:containedctx // it is one call's
	tar         *tar.Writer
	backup      *ports.Backup
	done, total int64
	told        func(done, total int64)
}

func (w *writer) head(name string, size int64) error {
	return w.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o600, ModTime: w.backup.MadeAt, Format: tar.FormatPAX})
}

func (w *writer) write(data []byte) error {
	_, err := w.tar.Write(data)
	return err
}

// file writes a file as it is now.
func (w *writer) file(name, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return ErrFailed.WithMessage("%s is no longer a regular file; call again", path)
	}
	return w.entry(name, info.Size(), f)
}

func (w *writer) entry(name string, size int64, from io.Reader) error {
	if err := w.head(name, size); err != nil {
		return err
	}
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(w.tar, sum, w), io.LimitReader(&heeding{w.ctx, from}, size))
	if err == nil && n < size {
		err = ErrFailed.WithMessage("%s shrank while it was copied; call again", name)
	}
	if err != nil {
		return err
	}
	w.backup.Files = append(w.backup.Files, ports.BackupFile{Name: name, Size: size, Sum: sumOf(sum)})
	return nil
}

// Write counts.
func (w *writer) Write(p []byte) (int, error) {
	w.done += int64(len(p))
	w.told(w.done, w.total)
	return len(p), nil
}

func sumOf(h hash.Hash) canon.Hash { return canon.Hash(h.Sum(nil)) }

// heeding is a reader that ends with a context.
type heeding struct {
	ctx context.Context //nolint:containedctx // it is one call's
	io.Reader
}

// Read reads, unless the context has ended.
func (r *heeding) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}

func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return nil //nolint:nilerr // one that may be entered but not read cannot be synced
	}
	d.Sync() //nolint:errcheck // there are file systems that cannot sync a directory
	return d.Close()
}
