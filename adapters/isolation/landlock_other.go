//go:build !linux

package isolation

import "github.com/countersign-dev/countersign/domain/sandbox"

// Available fails with sandbox.ErrIsolation: only Linux has Landlock.
func Available(bool) error {
	return sandbox.ErrIsolation.WithMessage("landlock needs Linux; use a sandbox on a Linux machine, or no isolation")
}

// Launch fails as Available does.
func Launch([]string) error { return Available(false) }
