package observe

import (
	"errors"
	"io"
	"io/fs"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Lstat is what the file system says of path itself, links not followed. It is os.Lstat without what that allocates; errors are the
// same.
func Lstat(path string) (stat, error) { return lstatAt(unix.AT_FDCWD, path, path) }

// lstatAt is Lstat of path, which has that name in an open directory.
func lstatAt(dir int, name, path string) (stat, error) {
	var s unix.Stat_t
	err := unix.Fstatat(dir, name, &s, unix.AT_SYMLINK_NOFOLLOW)
	for errors.Is(err, unix.EINTR) {
		err = unix.Fstatat(dir, name, &s, unix.AT_SYMLINK_NOFOLLOW)
	}
	if err != nil {
		return stat{}, &fs.PathError{Op: "lstat", Path: path, Err: err}
	}
	return statFrom(&s), nil
}

// worthOpening is how many files of a directory are looked at before it is opened: opening it costs as much as it saves on so many.
const worthOpening = 4

// directory is the one that the last path stood in. Once it is open, the system need not find it again for every file.
type directory struct {
	path string
	uses int // files of it that were looked at
	fd   int // from worthOpening on
}

// at is by what open directory, and by which name in it, path is found.
func (d *directory) at(path string) (dir int, name string) {
	i := strings.LastIndexByte(path, '/')
	if i <= 0 || i == len(path)-1 {
		return unix.AT_FDCWD, path
	}
	if path[:i] != d.path {
		d.close()
		d.path = path[:i]
	}
	if d.uses++; d.uses < worthOpening {
		return unix.AT_FDCWD, path
	}
	if d.uses == worthOpening {
		var err error
		if d.fd, err = unix.Open(d.path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
			d.fd = unix.AT_FDCWD
		}
	}
	if d.fd == unix.AT_FDCWD { // looking at the files themselves will say why
		return d.fd, path
	}
	return d.fd, path[i+1:]
}

func (d *directory) close() {
	if d.uses >= worthOpening && d.fd != unix.AT_FDCWD {
		_ = unix.Close(d.fd) // nothing was written
	}
	*d = directory{}
}

func (d *directory) lstat(path string) (stat, error) {
	dir, name := d.at(path)
	return lstatAt(dir, name, path)
}

// open opens a file for reading, a symbolic link followed. A pipe does not block.
func (d *directory) open(path string) (file, error) {
	dir, name := d.at(path)
	for {
		fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		switch {
		case err == nil:
			return file{fd, path}, nil
		case !errors.Is(err, unix.EINTR):
			return file{}, &fs.PathError{Op: "open", Path: path, Err: err}
		}
	}
}

// file is an open file without what os.File does for those that can be waited for.
type file struct {
	fd   int
	path string
}

func (f file) stat() (stat, error) {
	var s unix.Stat_t
	if err := unix.Fstat(f.fd, &s); err != nil {
		return stat{}, &fs.PathError{Op: "stat", Path: f.path, Err: err}
	}
	return statFrom(&s), nil
}

// Read implements io.Reader.
func (f file) Read(p []byte) (int, error) {
	for {
		n, err := unix.Read(f.fd, p)
		switch {
		case n > 0:
			return n, nil
		case err == nil:
			return 0, io.EOF
		case !errors.Is(err, unix.EINTR):
			return 0, &fs.PathError{Op: "read", Path: f.path, Err: err}
		}
	}
}

// Close closes it. Nothing was written, so nothing can have been lost.
func (f file) Close() { _ = unix.Close(f.fd) }

func statFrom(s *unix.Stat_t) stat {
	return stat{Mode: modeOf(s.Mode), Size: s.Size, stamp: stamp{size: s.Size, mtime: s.Mtim.Nano(), ctime: s.Ctim.Nano(), inode: s.Ino, device: uint64(s.Dev)}}
}

func modeOf(m uint32) fs.FileMode {
	mode := fs.FileMode(m & 0o777)
	switch m & syscall.S_IFMT {
	case syscall.S_IFREG:
	case syscall.S_IFDIR:
		mode |= fs.ModeDir
	case syscall.S_IFLNK:
		mode |= fs.ModeSymlink
	case syscall.S_IFIFO:
		mode |= fs.ModeNamedPipe
	case syscall.S_IFSOCK:
		mode |= fs.ModeSocket
	case syscall.S_IFCHR:
		mode |= fs.ModeDevice | fs.ModeCharDevice
	case syscall.S_IFBLK:
		mode |= fs.ModeDevice
	default:
		mode |= fs.ModeIrregular
	}
	if m&syscall.S_ISUID != 0 {
		mode |= fs.ModeSetuid
	}
	if m&syscall.S_ISGID != 0 {
		mode |= fs.ModeSetgid
	}
	if m&syscall.S_ISVTX != 0 {
		mode |= fs.ModeSticky
	}
	return mode
}

func stampOf(info fs.FileInfo) stamp {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return stamp{}
	}
	return stamp{size: s.Size, mtime: s.Mtim.Nano(), ctime: s.Ctim.Nano(), inode: s.Ino, device: uint64(s.Dev)}
}
