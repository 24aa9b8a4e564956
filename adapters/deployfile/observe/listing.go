// Package listing lists directories with thousands of files in little time.
//
// It refuses to look at what it lists, where the file system tells the kinds of things by itself.
package observe

import "io/fs"

// Entry is what stands in a directory.
type Entry struct {
	Path string      // the directory's, a separator and the name: as absolute as the directory's
	Kind fs.FileMode // type bits alone
}
