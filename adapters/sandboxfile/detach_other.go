//go:build !unix

package sandboxfile

import "os/exec"

// detach does nothing on systems without sessions.
func detach(*exec.Cmd) {}
