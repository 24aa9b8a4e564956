//go:build !unix

package gitcli

import "os"

const noFollow = 0

// claim always succeeds where files cannot be handed on: nothing outlives this process with them.
func claim(*os.File) bool { return true }

// yield has nothing to give up.
func yield(*os.File) {}
