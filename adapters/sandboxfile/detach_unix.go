//go:build unix

package sandboxfile

import (
	"os/exec"
	"syscall"
)

// detach starts the command in a new session without a terminal, so it cannot prompt.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
