//go:build !linux

package observe

import (
	"os"
	"path/filepath"
)

// Of is what stands in a directory, in no order.
func Of(dir string) ([]Entry, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	if err != nil {
		return nil, err
	}
	out := make([]Entry, len(entries))
	for i, e := range entries {
		out[i] = Entry{dir + string(filepath.Separator) + e.Name(), e.Type()}
	}
	return out, nil
}
