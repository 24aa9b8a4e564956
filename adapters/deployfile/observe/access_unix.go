//go:build unix

package observe

import "syscall"

// What access(2) is asked for.
const (
	mayEnter = 1
	mayWrite = 2
)

// writable reports whether files can be made in the directory. It asks by the process's real identity, which is the effective one but
// for set-user-id programs; the superuser may write wherever the file system is not read-only.
func writable(dir string) bool { return syscall.Access(dir, mayWrite|mayEnter) == nil }
