// Package cputime tells how long this process and its children were on a processor: benchmarks on a machine that others use compare that, and not what a clock
// says.
package cputime

import (
	"syscall"
	"time"
)

// Self returns the processor time of this process, user and system.
func Self() time.Duration { return used(syscall.RUSAGE_SELF) }

// Children returns the processor time of the child processes that were waited for, and of theirs.
func Children() time.Duration { return used(syscall.RUSAGE_CHILDREN) }

// Of returns how long this process was on a processor while f ran.
func Of(f func()) time.Duration {
	began := Self()
	f()
	return Self() - began
}

func used(who int) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(who, &u); err != nil {
		panic(err) // the numbers are constants that every kernel knows
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
