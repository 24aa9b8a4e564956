package workroom

import "syscall"

// roomy reports whether there are 2 GiB free.
func roomy(dir string) bool {
	var fs syscall.Statfs_t
	return syscall.Statfs(dir, &fs) == nil && fs.Bavail*uint64(fs.Bsize) >= 2<<30
}

// apart reports whether two directories are on different file systems.
func apart(one, other string) bool {
	var a, b syscall.Stat_t
	return syscall.Stat(one, &a) == nil && syscall.Stat(other, &b) == nil && a.Dev != b.Dev
}
