package projectport

import "github.com/countersign-dev/countersign/domain/project/shellcmd"

// ShellParser parses shell text.
type ShellParser interface {
	// Parse never fails: for invalid text the result has the reason and the commands that could be recognised. Text that is too long for a command or contains
	// a NUL is invalid.
	Parse(text string) shellcmd.ShellScript
}
