//go:build !linux

package isolation

import "github.com/countersign-dev/countersign/domain/sandbox"

// Available fails with sandbox.ErrIsolation: only Linux has Landlock.
func Available(bool) error {
	return sandbox.ErrIsolation.Sayf("only Linux has landlock; work in a sandbox on a Linux machine, or without isolation")
}

// Launch fails as Available does.
func Launch([]string) error { return Available(false) }
