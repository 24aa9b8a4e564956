package deployfile

import (
	"errors"
	"io/fs"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// directory is an open directory in which files are written. Every name is one of its own entries, never a path, and a symbolic link there is never
// followed; os.Root says the same with half a dozen calls of the system for each file.
type directory struct {
	fd   int
	path string // for errors
}

func (d directory) failed(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: filepath.Join(d.path, name), Err: err}
}

// again does something until no signal interrupts it.
func again(do func() error) (err error) {
	for err = unix.EINTR; errors.Is(err, unix.EINTR); {
		err = do()
	}
	return err
}

// openDirectory opens the directory at that path.
func openDirectory(path string) (directory, error) {
	return openDirectoryAt(unix.AT_FDCWD, path, path, 0)
}

func openDirectoryAt(dir int, name, path string, flags int) (directory, error) {
	d := directory{path: path}
	err := again(func() (err error) {
		d.fd, err = unix.Openat(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC|flags, 0)
		return err
	})
	if err != nil {
		return directory{}, d.failed("open", "", err)
	}
	return d, nil
}

// enter opens the directory of that name, and makes it when it is missing. A link in its place is errLink.
func (d directory) enter(name string) (next directory, made bool, err error) {
	path := filepath.Join(d.path, name)
	next, err = openDirectoryAt(d.fd, name, path, unix.O_NOFOLLOW)
	if errors.Is(err, fs.ErrNotExist) {
		err = again(func() error { return unix.Mkdirat(d.fd, name, uint32(fs.ModePerm)) })
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return directory{}, false, d.failed("mkdir", name, err)
		}
		made = err == nil
		next, err = openDirectoryAt(d.fd, name, path, unix.O_NOFOLLOW)
	}
	if err != nil {
		if there, failed := d.lstat(name); failed == nil && there.Mode&unix.S_IFMT == unix.S_IFLNK {
			err = errLink
		}
	}
	return next, made, err
}

func (d directory) lstat(name string) (s unix.Stat_t, err error) {
	return s, again(func() error { return unix.Fstatat(d.fd, name, &s, unix.AT_SYMLINK_NOFOLLOW) })
}

// is reports whether it is the very directory that info describes.
func (d directory) is(info fs.FileInfo) bool {
	var s unix.Stat_t
	there, ok := info.Sys().(*syscall.Stat_t)
	return ok && unix.Fstat(d.fd, &s) == nil && s.Dev == there.Dev && s.Ino == there.Ino
}

// unmoved reports whether the file with that name is still the one that was seen; nil means that there was none.
func (d directory) unmoved(name string, then fs.FileInfo) (bool, error) {
	s, err := d.lstat(name)
	switch {
	case errors.Is(err, unix.ENOENT):
		return then == nil, nil
	case err != nil:
		return false, d.failed("lstat", name, err)
	case then == nil:
		return false, nil
	}
	seen, ok := then.Sys().(*syscall.Stat_t)
	return ok && s.Dev == seen.Dev && s.Ino == seen.Ino && s.Mtim.Nano() == seen.Mtim.Nano() && s.Size == seen.Size && s.Mode == seen.Mode, nil
}

// place renames a file to its final name if the file there is still the one that was seen. If there was none, the system call ensures that nothing is overwritten.
func (d directory) place(temp, name string, then fs.FileInfo) (bool, error) {
	if then == nil {
		err := again(func() error { return unix.Renameat2(d.fd, temp, d.fd, name, unix.RENAME_NOREPLACE) })
		switch {
		case errors.Is(err, unix.EEXIST):
			return false, nil
		case !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOSYS): // not every file system knows how
			return err == nil, d.failed("rename", temp, err)
		}
	}
	same, err := d.unmoved(name, then)
	if !same || err != nil {
		return false, err
	}
	return true, d.failed("rename", temp, again(func() error { return unix.Renameat(d.fd, temp, d.fd, name) }))
}

// remove deletes a file. A missing file is not an error.
func (d directory) remove(name string) error {
	err := again(func() error { return unix.Unlinkat(d.fd, name, 0) })
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	return d.failed("remove", name, err)
}

// link makes a symbolic link.
func (d directory) link(to, name string) error {
	return d.failed("symlink", name, again(func() error { return unix.Symlinkat(to, d.fd, name) }))
}

// write makes a new file of that mode; exact says that the umask would take bits away from it.
func (d directory) write(name string, data []byte, mode fs.FileMode, exact, durable bool) error {
	var fd int
	err := again(func() (err error) {
		fd, err = unix.Openat(d.fd, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, uint32(mode))
		return err
	})
	if err != nil {
		return d.failed("open", name, err)
	}
	for err == nil && len(data) > 0 {
		var n int
		if err = again(func() (err error) { n, err = unix.Write(fd, data); return err }); err == nil {
			data = data[n:]
		}
	}
	if err == nil && exact {
		err = again(func() error { return unix.Fchmod(fd, uint32(mode)) })
	}
	if err == nil && durable {
		err = again(func() error { return unix.Fsync(fd) })
	}
	if closed := unix.Close(fd); err == nil && !errors.Is(closed, unix.EINTR) { // that was interrupted closes all the same
		err = closed
	}
	return d.failed("write", name, err)
}

// sync makes the directory itself durable, where its file system can.
func (d directory) sync() error {
	err := again(func() error { return unix.Fsync(d.fd) })
	if errors.Is(err, unix.EINVAL) {
		return nil
	}
	return d.failed("sync", "", err)
}

// close gives it up: it was only entered.
func (d directory) close() { _ = unix.Close(d.fd) }
