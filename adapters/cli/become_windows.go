package cli

import (
	"errors"
	"os"
	"os/exec"

	"github.com/countersign-dev/countersign/adapters/cli/command"
)

// become runs a program on this process's own streams, and ends as it does: here no program can take the place of another one.
func become(program string, argv, set []string) error {
	c := exec.Command(program, argv[1:]...)
	c.Stdin, c.Stdout, c.Stderr, c.Env = os.Stdin, os.Stdout, os.Stderr, merged(os.Environ(), set)
	var ended *exec.ExitError
	switch err := c.Run(); {
	case errors.As(err, &ended):
		return command.Exit(ended.ExitCode())
	case err != nil:
		return errNoServer.WithMessage("%s did not start: %v", program, err).WithCause(err)
	}
	return nil
}
