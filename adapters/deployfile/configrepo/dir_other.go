//go:build !linux

package configrepo

import (
	"os"
	"path/filepath"
)

// readDir is what stands in a directory, in no order.
func readDir(dir string) ([]child, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	if err != nil {
		return nil, err
	}
	out := make([]child, len(entries))
	for i, e := range entries {
		out[i] = child{dir + string(filepath.Separator) + e.Name(), e.Type()}
	}
	return out, nil
}
