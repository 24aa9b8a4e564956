package ports

import (
	"context"

	"github.com/countersign-dev/countersign/domain/process"
)

// CodeReader finds the files of a project that commands read as code, so that an approval can be bound to them.
type CodeReader interface {
	// Code returns the files below root, an absolute directory, that the commands would read as code: entry files of interpreters, targets of
	// node_modules/.bin, makefiles and similar files with the local files that they name (one level deep), and configuration that is code. Each is listed
	// once, sorted by path. What cannot be bound is reported in the result, as is a file that is missing, elsewhere or too large; none of it is an error.
	Code(ctx context.Context, root string, commands []process.ShellCommand) (process.Code, error)
}
