package packfile

import (
	"io/fs"
	"syscall"
)

// stampOf returns what the file system says of a file, unless it does not say all of it.
func stampOf(info fs.FileInfo) (s stamp, ok bool) {
	sys, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return stamp{}, false
	}
	return stamp{size: sys.Size, mtime: sys.Mtimespec.Nano(), ctime: sys.Ctimespec.Nano(), inode: sys.Ino, device: uint64(sys.Dev)}, true
}
