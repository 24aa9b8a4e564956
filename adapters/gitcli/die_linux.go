package gitcli

import (
	"os/exec"
	"syscall"
)

// dieWithUs has git told to end when the thread that started it does, which is when this process is killed.
func dieWithUs(cmd *exec.Cmd) { cmd.SysProcAttr.Pdeathsig = syscall.SIGTERM }
