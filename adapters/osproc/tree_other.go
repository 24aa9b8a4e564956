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

// SetProcessGroup does nothing here.
func SetProcessGroup(*exec.Cmd) {}

// SetSession does nothing here.
func SetSession(*exec.Cmd) {}

// Seal does nothing here.
func Seal() {}

// AwaitExit fails here.
func AwaitExit(int) error { return errors.ErrUnsupported }

// ReapChild notices nothing here.
func ReapChild(int) bool { return true }

func mkfifo(string) error { return errors.ErrUnsupported }

// PostToMailbox returns false on this system.
func PostToMailbox(string, string) bool { return false }

// MailboxHasReader returns false on this system.
func MailboxHasReader(string) bool { return false }

// WidenPipe does nothing here.
func WidenPipe(*os.File) {}

// LocalPlace returns the place this process is at, as far as that is told here.
func LocalPlace() owner.Place {
	host, _ := os.Hostname()
	return owner.Place{Space: "host", Machine: runtime.GOOS + "@" + host}
}

// SeesProcesses reports that other processes are not seen here.
func SeesProcesses() bool { return false }

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
