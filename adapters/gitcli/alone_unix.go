//go:build unix

package gitcli

import (
	"os"
	"os/exec"
	"syscall"
	"time"
)

// alone gives the command a session of its own: no terminal that ssh or a helper could ask on, and one process group to end. Ending is
// polite first, so that git takes its lock files away. The function that comes back is called once the command has ended.
func alone(cmd *exec.Cmd) (release func()) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	var last *time.Timer
	cmd.Cancel = func() error {
		group := -cmd.Process.Pid
		last = time.AfterFunc(grace, func() { _ = syscall.Kill(group, syscall.SIGKILL) })
		return syscall.Kill(group, syscall.SIGTERM)
	}
	return func() {
		if last != nil && last.Stop() {
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // whatever outlived git
		}
	}
}

// inherit keeps the file open in the command.
func inherit(cmd *exec.Cmd, file *os.File) { cmd.ExtraFiles = []*os.File{file} }
