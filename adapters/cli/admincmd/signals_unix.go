//go:build unix

package admincmd

import (
	"os"
	"syscall"
)

// watched are the signals that the view hears: the terminal has another size, or is gone.
func watched() []os.Signal { return []os.Signal{syscall.SIGWINCH, syscall.SIGHUP} }

func resized(s os.Signal) bool { return s == syscall.SIGWINCH }

// stopProcess stops this process and those it stands with, until the shell has them go on.
func stopProcess() { _ = syscall.Kill(0, syscall.SIGTSTP) } // without a shell nothing stops, and nothing is lost
