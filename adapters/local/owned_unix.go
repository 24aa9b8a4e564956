//go:build unix

package local

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// rootsAlone reports whether only root can change the file: it and every directory above it belong to root and are not writable by others.
func rootsAlone(path string, info fs.FileInfo) bool {
	if !info.Mode().IsRegular() {
		return false
	}
	for {
		owner, ok := info.Sys().(*syscall.Stat_t)
		if !ok || owner.Uid != 0 || info.Mode().Perm()&0o022 != 0 && info.Mode()&fs.ModeSticky == 0 {
			return false
		}
		above := filepath.Dir(path)
		if above == path {
			return true
		}
		path = above
		var err error
		if info, err = os.Lstat(path); err != nil {
			return false
		}
	}
}
