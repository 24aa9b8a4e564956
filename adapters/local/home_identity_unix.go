//go:build unix

package local

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/countersign-dev/countersign/domain/canon"
)

// homeIdentity distinguishes a home from every copy of it, independent of its path: by the file of its database. It is empty without one.
func homeIdentity(dir string) string {
	info, err := os.Stat(filepath.Join(dir, database))
	if err != nil {
		return ""
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return canon.SumBytes("home.identity.v1", []byte(strconv.FormatUint(uint64(s.Dev), 10)+" "+strconv.FormatUint(s.Ino, 10))).Hex()[:32] //nolint:unconvert // it is signed on other systems
}
