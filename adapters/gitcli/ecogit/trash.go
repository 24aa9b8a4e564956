package ecogit

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/countersign-dev/countersign/adapters/docfile"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

const (
	stampForm    = "20060102T150405Z"
	record       = "record.json"
	maxRecord    = 16 << 20
	trashDirMode = 0o700
	maxTries     = 1000 // entries of one second
)

// Trash is ecosystemport.Trash. It fails with ecosystem.ErrStorage where no other error is named. The caller has the ecosystem's lock.
type Trash struct{ rename func(from, to string) error }

// NewTrash makes one. rename is os.Rename where it is nil.
func NewTrash(rename func(from, to string) error) *Trash {
	if rename == nil {
		rename = os.Rename
	}
	return &Trash{rename}
}

func trash(l ecosystem.Layout) string    { return filepath.Join(l.Data, "trash") }
func archives(l ecosystem.Layout) string { return filepath.Join(l.Data, "archives") }
func entry(l ecosystem.Layout, s ecosystemport.TrashEntry) string {
	return filepath.Join(trash(l), filepath.Base(s.ID))
}

// TrashPath returns where the workspace of an entry is.
func TrashPath(l ecosystem.Layout, s ecosystemport.TrashEntry) string {
	return filepath.Join(entry(l, s), "workspace")
}

// Keep implements ecosystemport.Trash. A clock that went back gives a name that there is already, which is numbered.
func (a *Trash) Keep(_ context.Context, l ecosystem.Layout, s ecosystemport.TrashEntry) (ecosystemport.TrashEntry, error) {
	if s.ID == "" {
		id, err := unique(l, s)
		if err != nil {
			return s, err
		}
		s.ID = id
	}
	doc, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return s, failed("the record of "+s.ID+" cannot be written", err)
	}
	if err := docfile.NewDir(entry(l, s)).Write(record, append(doc, '\n')); err != nil {
		return s, failed("the record of "+s.ID+" cannot be written", err)
	}
	return s, nil
}

func unique(l ecosystem.Layout, s ecosystemport.TrashEntry) (string, error) {
	if err := os.MkdirAll(trash(l), trashDirMode); err != nil {
		return "", failed("the trash cannot be created", err)
	}
	stem := s.Ecosystem + "-" + s.At.UTC().Format(stampForm)
	for n := 1; n <= maxTries; n++ {
		id := stem
		if n > 1 {
			id += "-" + strconv.Itoa(n)
		}
		if there(filepath.Join(archives(l), id)) || there(filepath.Join(l.Dir, "archives", id+".json")) {
			continue
		}
		err := os.Mkdir(filepath.Join(trash(l), id), trashDirMode)
		if !errors.Is(err, fs.ErrExist) {
			return id, failed("the trash cannot be written", err)
		}
	}
	return "", ecosystem.ErrStorage.WithMessage("%s already has %d entries named %s; check the system clock", trash(l), maxTries, stem)
}

func there(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// failed names what could not be done; nil stays nil.
func failed(what string, err error) error {
	if err == nil {
		return nil
	}
	return ecosystem.ErrStorage.WithMessage("%s: %v", what, err).WithCause(err)
}

// Take implements ecosystemport.Trash.
func (a *Trash) Take(ctx context.Context, l ecosystem.Layout, s ecosystemport.TrashEntry) error {
	to, marker := TrashPath(l, s), filepath.Join(entry(l, s), "taken")
	if there(to) && !there(marker) {
		return nil // what is at home now is another
	}
	return a.move(ctx, s.Workspace, to, marker)
}

// Bring implements ecosystemport.Trash.
func (a *Trash) Bring(ctx context.Context, l ecosystem.Layout, s ecosystemport.TrashEntry) error {
	from, marker := TrashPath(l, s), filepath.Join(entry(l, s), "brought")
	if there(from) && there(s.Workspace) && !there(marker) && os.Remove(s.Workspace) != nil { // an empty directory is nothing
		return ecosystem.ErrConflict.WithMessage("%s already exists; move it away and restore again", s.Workspace)
	}
	if err := os.MkdirAll(filepath.Dir(s.Workspace), trashDirMode); err != nil {
		return failed("the workspace cannot be restored", err)
	}
	return a.move(ctx, from, s.Workspace, marker)
}

// move moves a directory: by its name, or over a copy where it goes to another file system. The marker says that the copy is whole, so that an
// interrupted move is gone on with.
func (a *Trash) move(ctx context.Context, from, to, marker string) error {
	if !there(from) || there(to) {
		return clear(from, marker)
	}
	err := errors.Join(os.RemoveAll(marker), a.rename(from, to))
	if err == nil {
		return failed("the move of "+from+" cannot be synced to disk", errors.Join(syncDir(filepath.Dir(to)), syncDir(filepath.Dir(from))))
	}
	if !errors.Is(err, syscall.EXDEV) {
		return failed(from+" cannot be moved to "+to+"; it was not changed", err)
	}
	partial := to + ".partial"
	if err := RemoveTree(partial); err != nil {
		return err
	}
	err = duplicate(ctx, from, partial)
	if err == nil {
		err = failed("the copy of "+from+" cannot be finished", errors.Join(os.WriteFile(marker, nil, 0o600), SyncToDisk(marker), os.Rename(partial, to), syncDir(filepath.Dir(to))))
	}
	if err != nil {
		_ = RemoveTree(partial)
		return err
	}
	return clear(from, marker)
}

// clear removes what was copied.
func clear(from, marker string) error {
	if err := RemoveTree(from); err != nil {
		return err
	}
	return failed("the moved files cannot be removed", os.RemoveAll(marker))
}

// List implements ecosystemport.Trash.
func (a *Trash) List(_ context.Context, l ecosystem.Layout) (entries []ecosystemport.TrashEntry, kept []ecosystemport.Archived, err error) {
	for _, name := range listed(trash(l), l.Name+"-", "") {
		doc, _, err := docfile.NewDir(filepath.Join(trash(l), name)).Read(record, maxRecord)
		var s ecosystemport.TrashEntry
		if err == nil && json.Unmarshal(doc, &s) == nil && s.ID == name && s.Ecosystem == l.Name && s.Root == l.Root {
			entries = append(entries, s)
		}
	}
	slices.SortStableFunc(entries, func(x, y ecosystemport.TrashEntry) int { return y.At.Compare(x.At) })
	for _, name := range slices.Backward(listed(filepath.Join(l.Dir, "archives"), l.Name+"-", ".json")) {
		one := ecosystemport.Archived{ID: strings.TrimSuffix(name, ".json"), File: filepath.Join(l.Dir, "archives", name)}
		for _, bundle := range listed(filepath.Join(archives(l), one.ID), "", ".bundle") {
			one.Bundles = append(one.Bundles, filepath.Join(archives(l), one.ID, bundle))
		}
		kept = append(kept, one)
	}
	return entries, kept, nil
}

// listed returns the names in a directory that begin and end so, sorted.
func listed(dir, prefix, suffix string) (names []string) {
	found, _ := os.ReadDir(dir)
	for _, f := range found {
		if strings.HasPrefix(f.Name(), prefix) && strings.HasSuffix(f.Name(), suffix) {
			names = append(names, f.Name())
		}
	}
	return names
}

// Forget implements ecosystemport.Trash.
func (a *Trash) Forget(_ context.Context, l ecosystem.Layout, s ecosystemport.TrashEntry) error {
	return RemoveTree(entry(l, s))
}
