//go:build !unix

package gitcli

import (
	"os"
	"os/exec"
)

// alone leaves the command as it is where there are no sessions; ending it ends git itself.
func alone(*exec.Cmd) (release func()) { return func() {} }

// inherit does nothing where files cannot be handed on.
func inherit(*exec.Cmd, *os.File) {}
