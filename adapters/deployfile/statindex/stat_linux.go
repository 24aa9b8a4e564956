package statindex

import (
	"errors"
	"io/fs"
	"syscall"
)

// Lstat is what the file system says of path itself, links not followed. It is os.Lstat without what that allocates; errors are the
// same.
func Lstat(path string) (Stat, error) {
	var s syscall.Stat_t
	err := syscall.Lstat(path, &s)
	for errors.Is(err, syscall.EINTR) {
		err = syscall.Lstat(path, &s)
	}
	if err != nil {
		return Stat{}, &fs.PathError{Op: "lstat", Path: path, Err: err}
	}
	return Stat{Mode: modeOf(s.Mode), Size: s.Size, stamp: stampFrom(&s)}, nil
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
	return stampFrom(s)
}

func stampFrom(s *syscall.Stat_t) stamp {
	return stamp{size: s.Size, mtime: s.Mtim.Nano(), ctime: s.Ctim.Nano(), inode: s.Ino, device: uint64(s.Dev)}
}
