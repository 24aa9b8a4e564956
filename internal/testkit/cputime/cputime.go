//go:build unix

// Package cputime tells how long this process and its children were on a processor: on a busy machine that tells benchmarks more than a clock.
package cputime

import (
	"syscall"
	"time"
)

// Self returns the processor time of this process, user and system.
func Self() time.Duration { return used(syscall.RUSAGE_SELF) }

// All returns that of this process and of the programs that have ended under it.
func All() time.Duration { return used(syscall.RUSAGE_SELF) + used(syscall.RUSAGE_CHILDREN) }

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
