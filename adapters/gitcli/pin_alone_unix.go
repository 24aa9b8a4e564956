//go:build unix

package gitcli

import (
	"os"
	"syscall"
)

const noFollow = syscall.O_NOFOLLOW

// claim takes the lock if it is free. On a file system without locks it succeeds.
func claim(file *os.File) bool {
	err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	return err != syscall.EWOULDBLOCK && err != syscall.EINTR
}

// yield gives the lock up, also for whatever has inherited it and still runs.
func yield(file *os.File) { _ = syscall.Flock(int(file.Fd()), syscall.LOCK_UN) }
