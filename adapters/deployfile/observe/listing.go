package observe

import "io/fs"

// DirEntry is an entry of a directory.
type DirEntry struct {
	Path string      // the directory's, a separator and the name: as absolute as the directory's
	Kind fs.FileMode // type bits alone
}
