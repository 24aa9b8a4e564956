package homearchive

import (
	"archive/tar"
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/adapters/sqlitestore"
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/project/webhook"
	"github.com/countersign-dev/countersign/ports"
)

// The ways a backup is not restored.
var (
	ErrBackup = fault.New(fault.Invalid, "backup_invalid", "invalid backup")
	ErrNewer  = fault.New(fault.Unavailable, "backup_newer", "the backup was created by a newer Countersign; update this program")
)

// Bounds of what is believed of a backup before it was read to its end.
const (
	mostFiles    = 100_000
	mostManifest = 64 << 20
	mostConfig   = 1 << 20
)

// Look reads a backup to its end.
func (a *Archive) Look(ctx context.Context, file string, progress func(done, total int64)) (v ports.BackupView, err error) {
	file, err = filepath.Abs(file)
	if err != nil {
		return v, ErrBackup.WithMessage("%s is not a file", file).WithCause(err)
	}
	if err := os.MkdirAll(a.Home, 0o700); err != nil {
		return v, ErrRestore.WithMessage("the home %s cannot be created: %v", a.Home, err).WithCause(err)
	}
	a.sweep()
	peek, err := os.CreateTemp(a.Home, peekPrefix)
	if err != nil {
		return v, ErrRestore.WithMessage("the home %s cannot be written: %v", a.Home, err).WithCause(err)
	}
	defer os.Remove(peek.Name()) //nolint:errcheck // it was of use for a moment
	defer peek.Close()           //nolint:errcheck // likewise
	var written []byte
	v, err = read(ctx, file, progress, func(name string, from io.Reader) error {
		switch name {
		case database:
			_, err := io.Copy(peek, from)
			return err
		case config:
			var err error
			written, err = io.ReadAll(io.LimitReader(from, mostConfig))
			if err == nil {
				_, err = io.Copy(io.Discard, from)
			}
			return err
		}
		_, err := io.Copy(io.Discard, from)
		return err
	})
	if err != nil {
		return v, err
	}
	c, err := sqlitestore.Peek(ctx, peek.Name())
	if err != nil {
		if errors.Is(err, sqlitestore.ErrNewer) {
			return v, ErrNewer
		}
		return v, ErrBackup.WithMessage("the database in %s cannot be read: %s", file, fault.From(err).Message).WithCause(err)
	}
	v.Records, v.Withdrawn, v.Settings, v.Keys = c.Records, c.Withdrawn, c.Settings, c.Keys
	if now, _ := os.ReadFile(filepath.Join(a.Home, config)); string(now) != string(written) {
		v.Config = string(written)
	}
	if a.rules != nil {
		now, err := a.rules(ctx)
		if err != nil {
			return v, err
		}
		v.Opens = webhook.LoosenedRules(now, c.Rules)
	}
	return v, a.compare(&v)
}

// compare says what of the home would be replaced, come and stay.
func (a *Archive) compare(v *ports.BackupView) error {
	l, err := list(a.Home)
	if err != nil {
		return ErrRestore.WithMessage("the home %s cannot be read: %v", a.Home, err).WithCause(err)
	}
	for _, f := range v.Files {
		v.Brings = append(v.Brings, f.Name)
	}
	v.Brings = tops(v.Brings)
	v.Replaces = told(l.files)
	if slices.Contains(v.Replaces, anchorList) { // dropping an anchor loosens what the record is held to
		v.Keeps = []string{anchorList}
		keep := func(n string) bool { return n == anchorList }
		v.Brings, v.Replaces = slices.DeleteFunc(v.Brings, keep), slices.DeleteFunc(v.Replaces, keep)
	}
	slices.Sort(v.Brings)
	slices.Sort(v.Replaces)
	return nil
}

// sweep removes what a process left that died while it looked.
func (a *Archive) sweep() {
	entries, _ := os.ReadDir(a.Home)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && strings.HasPrefix(e.Name(), peekPrefix) && time.Since(info.ModTime()) > time.Hour {
			os.Remove(filepath.Join(a.Home, e.Name())) //nolint:errcheck // it is in nobody's way
		}
	}
}

// read hands every file of a backup to each, and holds all of it against the list at its end. Nothing that it hands out counts before it returns nil.
func read(ctx context.Context, file string, progress func(done, total int64), each func(name string, from io.Reader) error) (v ports.BackupView, err error) {
	bad := func(format string, args ...any) (ports.BackupView, error) {
		return v, ErrBackup.WithMessage("%s is not a valid backup: %s", file, fmt.Sprintf(format, args...))
	}
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() { // opening a pipe would wait for whoever writes to it
		return bad("it is not a regular file")
	}
	f, err := os.Open(file)
	if err != nil {
		return bad("it cannot be opened (%v)", errors.Unwrap(err))
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return bad("it is not a regular file")
	}
	whole := sha256.New()
	count := &counter{total: info.Size(), told: progress}
	from := bufio.NewReaderSize(io.TeeReader(&heeding{ctx, f}, io.MultiWriter(whole, count)), 1<<16)
	entries := tar.NewReader(from)
	found := map[string]ports.BackupFile{}
	low := map[string]bool{}
	var doc []byte
	said := int64(0)
	for {
		h, err := entries.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return bad("it is damaged, truncated or not a tar file (%v)", err)
		}
		if doc != nil {
			return bad("it has data after its list of files")
		}
		if h.Size > info.Size()-said { // holes, which a tar file can have, become as large as they say
			return bad("%q is larger than the whole file", h.Name)
		}
		said += h.Size
		if h.Name == manifest && h.Typeflag == tar.TypeReg && h.Size <= mostManifest {
			if doc, err = io.ReadAll(entries); err != nil {
				return bad("its list of files is damaged (%v)", err)
			}
			continue
		}
		switch {
		case h.Typeflag != tar.TypeReg:
			return bad("%q is not a regular file", h.Name)
		case !within(h.Name):
			return bad("%q is not a file of a home", h.Name)
		case low[strings.ToLower(h.Name)]:
			return bad("it has %q twice", h.Name)
		case len(found) >= mostFiles:
			return bad("it has more than %d files", mostFiles)
		}
		low[strings.ToLower(h.Name)] = true
		sum := sha256.New()
		body := &source{Reader: io.TeeReader(entries, sum)}
		if err := each(h.Name, body); err != nil {
			if body.err != nil && ctx.Err() == nil {
				return bad("it is damaged or truncated (%v)", body.err)
			}
			var said *fault.Error
			if ctx.Err() != nil || errors.As(err, &said) {
				return v, err
			}
			return v, ErrRestore.WithMessage("%s of %s could not be read or written: %v", h.Name, file, err).WithCause(err)
		}
		found[h.Name] = ports.BackupFile{Name: h.Name, Size: h.Size, Sum: sumOf(sum)}
	}
	if doc == nil {
		return bad("it has no list of files, so it is truncated")
	}
	if _, err := io.Copy(io.Discard, from); err != nil { // what pads it
		return bad("it is damaged (%v)", err)
	}
	if err := json.Unmarshal(doc, &v.Backup); err != nil {
		return bad("its list of files is invalid")
	}
	if v.Format > backupFormat || v.Schema > sqlitestore.SchemaVersion() {
		return v, ErrNewer.WithMessage("%s was created by a newer Countersign (%s, schema %d; this one supports %d); update this program", file, v.Version, v.Schema, sqlitestore.SchemaVersion())
	}
	if v.Format < 1 {
		return bad("its list of files is invalid")
	}
	for _, want := range v.Files {
		have, there := found[want.Name]
		switch {
		case !there:
			return bad("%q is listed but missing", want.Name)
		case have != want:
			return bad("%q differs from its list of files", want.Name)
		}
		delete(found, want.Name)
	}
	for name := range found {
		return bad("%q is not listed", name)
	}
	if !slices.ContainsFunc(v.Files, func(f ports.BackupFile) bool { return f.Name == database }) {
		return bad("it has no database")
	}
	v.File, v.Sum = file, canon.Hash(whole.Sum(nil))
	return v, nil
}

// within reports a name that a backup of a home can have.
func within(name string) bool {
	if name == "" || len(name) > 1024 || strings.ContainsAny(name, "\\\x00:") || path.Clean(name) != name || !filepath.IsLocal(filepath.FromSlash(name)) || name == "." {
		return false
	}
	if name == database {
		return true
	}
	name = strings.ToLower(name) // there are file systems to which that is the same
	top, _, deep := strings.Cut(name, "/")
	return top != database && !passing(top) && name != anchorState && !fleeting(path.Base(name)) && !(deep && top == config) && !(name == keys)
}

// source remembers what was wrong with what it reads, which is not what is wrong with where that goes.
type source struct {
	io.Reader
	err error
}

// Read reads.
func (s *source) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// counter tells how far reading is.
type counter struct {
	done, total int64
	told        func(done, total int64)
}

// Write counts.
func (c *counter) Write(p []byte) (int, error) {
	c.done += int64(len(p))
	c.told(c.done, c.total)
	return len(p), nil
}
