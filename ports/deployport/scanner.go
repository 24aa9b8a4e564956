package deployport

import (
	"context"

	"github.com/countersign-dev/countersign/domain/deployment"
)

// Found is one entry of a directory that was scanned.
type Found struct {
	Name string
	Path string              // absolute, native
	Kind deployment.FileKind // of the existing file, links followed: Absent for a dangling link
	Link bool                // a symbolic link stands there
}

// Scanner finds modules where coding agents keep them, outside the config repository. It writes nothing.
type Scanner interface {
	// Scan returns the immediate entries of an absolute directory, sorted by name; none if there is no such directory.
	Scan(ctx context.Context, dir string) ([]Found, error)
	// Real returns where a path leads, with every link on the way resolved; an error where nothing is.
	Real(ctx context.Context, path string) (string, error)
	// Tree returns the files of a directory or file, as Sources.Local does. A link at path itself is followed anywhere; no other link may leave it. It fails with
	// ErrConfig if nothing exists there, and with ErrPath.
	Tree(ctx context.Context, path string) (deployment.Tree, error)
}
