package present

import "strings"

// ours is how our commands begin.
const ours = "countersign agents "

// Command returns a next action as the user types it, without the flags that are for programs. What is no command of the
// contract stays as it is.
func Command(action string) string {
	rest, ok := strings.CutPrefix(action, ours)
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

// Prose returns a sentence with the command that ends it as the user types it.
func Prose(s string) string {
	head, command, ok := strings.Cut(s, ours+"--")
	if !ok {
		return s
	}
	return head + ours + "--" + strings.TrimSuffix(strings.TrimSuffix(command, " --json"), " --yes")
}
