//go:build !unix

package observe

import "os"

// writable goes by the directory's mode: this system has no question that could be asked without writing.
func writable(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && info.Mode()&0o200 != 0
}
