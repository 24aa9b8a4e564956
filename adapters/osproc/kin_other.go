//go:build !linux && !darwin

package osproc

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"github.com/countersign-dev/countersign/domain/owner"
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

// Reads finds nobody here.
func Reads(string) bool { return false }

// Widen does nothing here.
func Widen(*os.File) {}

// Here is the place this process is at, as far as that is told here.
func Here() owner.Place {
	host, _ := os.Hostname()
	return owner.Place{Space: "host", Machine: runtime.GOOS + "@" + host}
}

// Sighted reports that other processes are not seen here.
func Sighted() bool { return false }

func ownStart() string { return "" }

// absent is never known here.
func absent(int) bool { return false }

// find knows this process alone.
func find(pid int) (entry, bool) {
	return entry{pid: pid}, pid == os.Getpid()
}

func table([]entry) []entry { return nil }

func before(string, string) bool { return false }

// marksSeen says that environments cannot be read here.
const marksSeen = false

func carries(int, string) bool { return false }

func signalGroup(int, syscall.Signal) {}
