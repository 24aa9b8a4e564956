//go:build !linux

package gitcli

import "os/exec"

// dieWithUs does nothing where no system call says so; whoever goes on with the work ends git first.
func dieWithUs(*exec.Cmd) {}
