//go:build !linux

package deployfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/countersign-dev/countersign/adapters/deployfile/observe"
)

// directory is an open directory in which files are written. Every name is one of its own entries, never a path.
type directory struct{ root *os.Root }

// openDirectory opens the directory at that path.
func openDirectory(path string) (directory, error) {
	root, err := os.OpenRoot(path)
	return directory{root}, err
}

// enter opens the directory of that name, and makes it when it is missing. A link in its place is errLink.
func (d directory) enter(name string) (next directory, made bool, err error) {
	there, err := d.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		if err = d.root.Mkdir(name, fs.ModePerm); err != nil && !errors.Is(err, fs.ErrExist) {
			return directory{}, false, err
		}
		made = err == nil
		there, err = d.root.Lstat(name)
	}
	switch {
	case err != nil:
		return directory{}, made, err
	case there.Mode()&fs.ModeSymlink != 0:
		return directory{}, made, errLink
	case !there.IsDir():
		return directory{}, made, &fs.PathError{Op: "open", Path: filepath.Join(d.root.Name(), name), Err: syscall.ENOTDIR}
	}
	if next.root, err = d.root.OpenRoot(name); err != nil {
		return directory{}, made, err
	}
	if !next.is(there) {
		next.close()
		return directory{}, made, errLink
	}
	return next, made, nil
}

// is reports whether it is the very directory that info describes.
func (d directory) is(info fs.FileInfo) bool {
	open, err := d.root.Stat(".")
	return err == nil && os.SameFile(open, info)
}

// unmoved reports whether the file with that name is still the one that was seen; nil means that there was none.
func (d directory) unmoved(name string, then fs.FileInfo) (bool, error) {
	now, err := d.root.Lstat(name)
	if observe.IsAbsent(err) {
		now, err = nil, nil
	}
	return err == nil && observe.SameFile(now, then), err
}

// place renames a file to its final name if the file there is still the one that was seen.
func (d directory) place(temp, name string, then fs.FileInfo) (bool, error) {
	same, err := d.unmoved(name, then)
	if !same || err != nil {
		return false, err
	}
	return true, d.root.Rename(temp, name)
}

// remove deletes a file. A missing file is not an error.
func (d directory) remove(name string) error {
	if err := d.root.Remove(name); err != nil && !observe.IsAbsent(err) {
		return err
	}
	return nil
}

// link makes a symbolic link.
func (d directory) link(to, name string) error { return d.root.Symlink(to, name) }

// write makes a new file of that mode; exact says that the umask would take bits away from it.
func (d directory) write(name string, data []byte, mode fs.FileMode, exact, durable bool) error {
	f, err := d.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil && exact {
		err = f.Chmod(mode)
	}
	if err == nil && durable {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// sync makes the directory itself durable, where its file system can.
func (d directory) sync() error {
	f, err := d.root.Open(".")
	if err != nil {
		return err
	}
	if err = f.Sync(); errors.Is(err, syscall.EINVAL) {
		err = nil
	}
	return errors.Join(err, f.Close())
}

// close gives it up: it was only entered.
func (d directory) close() { _ = d.root.Close() }
