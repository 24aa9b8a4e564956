package command

import "strconv"

// Exit ends the process with its code and without a further message: the command has printed everything.
type Exit int

// Error returns the code as text, for callers that do not handle Exit.
func (e Exit) Error() string { return "exit " + strconv.Itoa(int(e)) }
