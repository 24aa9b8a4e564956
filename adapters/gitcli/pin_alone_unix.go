//go:build unix

package gitcli

import (
	"os"
	"syscall"
)

const noFollow = syscall.O_NOFOLLOW

// claim takes the lock if nobody has it. A file system without locks is no reason to refuse.
func claim(file *os.File) bool {
	err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	return err != syscall.EWOULDBLOCK && err != syscall.EINTR
}

// yield gives the lock up, also for whatever has inherited it and still runs.
func yield(file *os.File) { _ = syscall.Flock(int(file.Fd()), syscall.LOCK_UN) }
