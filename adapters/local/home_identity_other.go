//go:build !unix

package local

import (
	"path/filepath"

	"github.com/countersign-dev/countersign/domain/canon"
)

// homeIdentity distinguishes a home from copies of it by its path.
func homeIdentity(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	return canon.SumBytes("home.identity.v1", []byte(filepath.Join(dir, database))).Hex()[:32]
}
