package gitcli

import (
	"os/exec"
	"syscall"
)

// dieWithUs makes the kernel signal git when the thread that started it ends, which includes the death of this process.
func dieWithUs(cmd *exec.Cmd) { cmd.SysProcAttr.Pdeathsig = syscall.SIGTERM }
