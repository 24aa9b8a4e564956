//go:build !linux

package observe

import (
	"os"
	"path/filepath"
)

// ReadDir returns the entries of a directory, unordered.
func ReadDir(dir string) ([]DirEntry, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	if err != nil {
		return nil, err
	}
	out := make([]DirEntry, len(entries))
	for i, e := range entries {
		out[i] = DirEntry{dir + string(filepath.Separator) + e.Name(), e.Type()}
	}
	return out, nil
}
