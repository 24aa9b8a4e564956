//go:build unix

package system

import "golang.org/x/sys/unix"

// FreeSpace returns how many bytes this user may still write to the file system of a directory.
func FreeSpace(dir string) (uint64, error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return 0, err
	}
	return uint64(fs.Bavail) * uint64(fs.Bsize), nil //nolint:unconvert // the types differ between systems
}
