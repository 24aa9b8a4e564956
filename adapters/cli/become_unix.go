//go:build !windows

package cli

import (
	"os"
	"syscall"
)

// become has a program take the place of this process.
func become(program string, argv, set []string) error {
	err := syscall.Exec(program, argv, merged(os.Environ(), set))
	return errNoServer.WithMessage("%s did not start: %v", program, err).WithCause(err)
}
