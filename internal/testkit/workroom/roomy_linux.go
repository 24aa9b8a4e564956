package workroom

import "syscall"

// roomy reports whether there are 2 GiB free.
func roomy(dir string) bool {
	var fs syscall.Statfs_t
	return syscall.Statfs(dir, &fs) == nil && fs.Bavail*uint64(fs.Bsize) >= 2<<30
}
