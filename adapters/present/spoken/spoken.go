// Package spoken turns the commands that contracts name, for programs, into those that a person types.
//
// It refuses to make anything of what is no command of a contract.
package spoken

import "strings"

// Command is a next action of seed 000 as a person types it: our program, and without the flags that are for programs. What is no command of the
// contract stays as it is.
func Command(action string) string {
	rest, ok := strings.CutPrefix(action, "agentpack ")
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
	return "countersign agents " + strings.Join(kept, " ")
}

// Prose is a sentence with the commands of the contract in it as a person types them.
func Prose(s string) string {
	head, command, ok := strings.Cut(s, "agentpack --")
	if !ok {
		return head
	}
	return head + "countersign agents --" + strings.TrimSuffix(strings.TrimSuffix(command, " --json"), " --yes")
}
