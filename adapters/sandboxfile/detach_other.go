//go:build !unix

package sandboxfile

import "os/exec"

// detach leaves the command as it is where there are no sessions.
func detach(*exec.Cmd) {}
