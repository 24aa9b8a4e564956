//go:build !linux && !darwin

package kin

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// Supported reports whether processes can be started so that all of them can be ended.
const Supported = false

// Group does nothing here.
func Group(*exec.Cmd) {}

// Session does nothing here.
func Session(*exec.Cmd) {}

// Seal does nothing here.
func Seal() {}

// Await fails here.
func Await(int) error { return errors.ErrUnsupported }

// Reap notices nothing here.
func Reap(int) bool { return true }

func mkfifo(string) error { return errors.ErrUnsupported }

// Post finds nobody here.
func Post(string, string) bool { return false }

// Widen does nothing here.
func Widen(*os.File) {}

func boot() string { return "unknown" }

// find knows this process alone; of all others it says that they are gone.
func find(pid int) (entry, bool) {
	return entry{pid: pid, start: strconv.Itoa(pid)}, pid == os.Getpid()
}

func table([]entry) []entry { return nil }

func before(string, string) bool { return false }

func carries(int, string) bool { return false }

func signalGroup(int, syscall.Signal) {}
