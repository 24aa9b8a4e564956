package deployport

import (
	"context"

	"github.com/countersign-dev/countersign/domain/deployment"
)

// Found is one entry of a directory that was scanned.
type Found struct {
	Name string
	Path string              // absolute, native
	Kind deployment.FileKind // of what is there, links followed: Absent for a link that leads nowhere
	Link bool                // a symbolic link stands there
}

// Scanner looks for modules where coding agents keep them, outside the config repository. It writes nothing.
type Scanner interface {
	// Scan is the immediate entries of an absolute directory, sorted by the bytes of their names; none when there is no such directory.
	Scan(ctx context.Context, dir string) ([]Found, error)
	// Tree is the files of a directory, or of one file, as Sources.Local reads them. A link at path itself is followed, wherever it leads; no
	// other link leads out. It fails with ErrConfig when nothing is there, and with ErrPath.
	Tree(ctx context.Context, path string) (deployment.Tree, error)
}
