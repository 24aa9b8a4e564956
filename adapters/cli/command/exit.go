package command

import "strconv"

// Exit ends the process with its code and without another word: the command has said all there is to say.
type Exit int

// Error is for those who do not know what it is.
func (e Exit) Error() string { return "exit " + strconv.Itoa(int(e)) }
