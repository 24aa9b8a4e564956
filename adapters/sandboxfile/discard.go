package sandboxfile

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/countersign-dev/countersign/domain/sandbox"
)

// Discard implements sandboxport.ProjectDirs.
func (s *Store) Discard(ctx context.Context, l sandbox.Layout) (deleted []string, err error) {
	if err := s.checkHome(); err != nil {
		return nil, err
	}
	secrets := filepath.Dir(l.Secrets)
	name := filepath.Base(secrets)
	if sandbox.CheckProjectName(name) != nil || filepath.Dir(secrets) != filepath.Join(s.dirs.Memory, sandbox.SecretsDir) {
		return nil, sandbox.ErrBaseDir.WithMessage("%s is not the settings directory of a project; nothing was deleted", secrets)
	}
	if err := s.ours(name, l.Base); err != nil {
		return nil, err
	}
	for _, dir := range []string{l.Base, secrets} {
		if err := ctx.Err(); err != nil {
			return deleted, err
		}
		gone, err := remove(dir)
		if err != nil {
			return deleted, err
		}
		if gone {
			deleted = append(deleted, dir)
		}
	}
	return deleted, nil
}

// ours refuses to delete a base directory that is not this project's by its place or its mark.
func (s *Store) ours(name, base string) error {
	info, err := os.Lstat(base)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.IsDir():
		return sandbox.ErrBaseDir.WithMessage("%s is not a directory, so Countersign did not create it; delete it by hand, then call again", base)
	}
	found, err := marked(base)
	switch {
	case err != nil:
		return err
	case found != nil && found.Project != name:
		return sandbox.ErrBaseDir.WithMessage("%s is marked as a directory of the project %s; nothing was deleted", base, found.URL)
	case found == nil && !s.managed(base):
		return sandbox.ErrBaseDir.WithMessage("%s is outside %s and has no %s; delete it by hand, then call again", base, s.dirs.Projects, sandbox.MarkerFile)
	}
	return nil
}

// remove deletes dir with everything below it. No link is followed: what a link names stays. The mark goes last, so that a deletion that was cut off
// can go on.
func remove(dir string) (gone bool, err error) {
	parent, err := os.OpenRoot(filepath.Dir(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer parent.Close()
	name := filepath.Base(dir)
	info, err := parent.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if !info.IsDir() {
		return true, parent.Remove(name)
	}
	if err := empty(parent, info); err != nil {
		return false, &fs.PathError{Op: "delete", Path: dir, Err: err}
	}
	return true, parent.RemoveAll(name)
}

// empty deletes what is in the directory, but for the mark.
func empty(parent *os.Root, dir fs.FileInfo) error {
	root, err := parent.OpenRoot(dir.Name())
	if err != nil {
		return err
	}
	defer root.Close()
	if now, err := root.Stat("."); err != nil || !os.SameFile(dir, now) {
		return errors.Join(fs.ErrInvalid, err) // somebody put a link in its place just now
	}
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.Name() == sandbox.MarkerFile {
			continue
		}
		err := root.RemoveAll(entry.Name())
		if errors.Is(err, fs.ErrPermission) {
			unlock(root, entry.Name()) // caches of modules and packages are read-only directories
			err = root.RemoveAll(entry.Name())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// unlock lets the directories below name be emptied, as far as they are ours.
func unlock(root *os.Root, name string) {
	_ = fs.WalkDir(root.FS(), filepath.ToSlash(name), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			_ = root.Chmod(path, 0o700)
		}
		return nil
	})
}
