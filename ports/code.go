package ports

import (
	"context"

	"github.com/countersign-dev/countersign/domain/process"
)

// CodeReader finds out which files of a project commands would read as code (consent: what runs is what was seen).
type CodeReader interface {
	// Code is the files below root, an absolute directory, that the commands would read as code: entry files of interpreters, targets
	// of node_modules/.bin, makefiles and their like with the local files that they name, one level deep, configuration that is code. Each is there
	// once, by path. What cannot be bound is said. A file that is not there, that lies elsewhere or is too large is no error, and is said as well.
	Code(ctx context.Context, root string, commands []process.ShellCommand) (process.Code, error)
}
