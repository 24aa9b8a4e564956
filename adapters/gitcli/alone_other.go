//go:build !unix

package gitcli

import (
	"os"
	"os/exec"
)

// alone leaves the command unchanged on systems without sessions; ending it ends git itself.
func alone(*exec.Cmd) (release func()) { return func() {} }

// inherit does nothing where files cannot be handed on.
func inherit(*exec.Cmd, *os.File) {}
