package osproc

import (
	"syscall"
	"time"
)

const treeKillWait = 10 * time.Second

// End ends kin that are not this process's children: politely first, if there is a grace, and then not. found is how many there were,
// left are the processes that could not be killed: a program that waits for a broken device ignores even SIGKILL.
func (k ProcessTree) End(grace time.Duration) (found int, escalated bool, left []int) {
	if grace > 0 {
		if found = k.Signal(syscall.SIGTERM); found == 0 || len(k.await(grace)) == 0 {
			return found, false, nil
		}
	}
	killed := k.Signal(syscall.SIGKILL)
	if killed == 0 {
		return found, false, nil
	}
	for deadline := time.Now().Add(treeKillWait); time.Now().Before(deadline); k.Signal(syscall.SIGKILL) { // what they started meanwhile
		if left = k.await(100 * time.Millisecond); len(left) == 0 {
			break
		}
	}
	return max(found, killed), grace > 0, left
}

// await waits until all have ended, at most that long, and returns those still running.
func (k ProcessTree) await(most time.Duration) []int {
	deadline := time.Now().Add(most)
	for wait := time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		left := k.Living()
		if len(left) == 0 || time.Now().After(deadline) {
			return left
		}
		time.Sleep(wait) // they are not our children: nobody tells when they end
	}
}
