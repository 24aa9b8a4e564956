//go:build unix

package sandboxfile

import (
	"os/exec"
	"syscall"
)

// detach gives the command a session of its own, without a terminal that it could ask on.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
