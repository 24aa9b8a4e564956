package projectport

import "github.com/countersign-dev/countersign/domain/project/shellcmd"

// ShellParser takes shell text apart.
type ShellParser interface {
	// Parse never fails: of text that is no script it says why, with the commands that could be made out all the same. Text that is too
	// long to be a command, or has a NUL in it, is no script.
	Parse(text string) shellcmd.ShellScript
}
