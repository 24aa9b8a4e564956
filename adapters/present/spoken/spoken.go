// Package spoken turns the commands that contracts name, for programs, into those that a person types.
//
// It refuses to make anything of what is no command of a contract.
package spoken

import "strings"

// ours is how our commands begin, and original how seed 000 writes them where it fixes the words.
const (
	ours     = "countersign agents "
	original = "agentpack "
)

// Command is a next action of seed 000 as a person types it: our program, and without the flags that are for programs. What is no command of the
// contract stays as it is.
func Command(action string) string {
	rest, ok := strings.CutPrefix(action, original)
	if !ok {
		rest, ok = strings.CutPrefix(action, ours)
	}
	if !ok {
		return action
	}
	words := strings.Fields(rest)
	kept := words[:0]
	for _, w := range words {
		if w != "--json" && w != "--yes" {
			kept = append(kept, w)
		}
	}
	return ours + strings.Join(kept, " ")
}

// Prose is a sentence with the command that ends it as a person types it.
func Prose(s string) string {
	head, command, ok := strings.Cut(s, ours+"--")
	if !ok {
		return s
	}
	return head + ours + "--" + strings.TrimSuffix(strings.TrimSuffix(command, " --json"), " --yes")
}
