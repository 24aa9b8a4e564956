package observe

import "io/fs"

// Entry is what stands in a directory.
type Entry struct {
	Path string      // the directory's, a separator and the name: as absolute as the directory's
	Kind fs.FileMode // type bits alone
}
