// Package show is how the answers about deployments look to a person: short lines, tables, diffs, and colour where there is a terminal.
//
// It refuses to call anything: data goes in, lines come out.
package show

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/countersign-dev/countersign/adapters/cli/terminal"
	"github.com/countersign-dev/countersign/domain/fault"
)

// Screen is where answers are drawn.
type Screen struct{ *terminal.Terminal }

// Read reads the data of an answer. What is not understood is an internal fault.
func Read[T any](data json.RawMessage) (T, error) {
	var out T
	if err := json.Unmarshal(data, &out); err != nil {
		return out, fault.ErrInternal.Sayf("the answer is not understood").Because(err)
	}
	return out, nil
}

// Next shows what can be done next.
func (s Screen) Next(actions []string) {
	for _, a := range actions {
		s.Line("next: %s", terminal.Plain(Command(a)))
	}
}

// Command is a next action of the contract as a person types it: our program, and without the flags that are for programs. What is no
// command of the contract stays as it is.
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

// Prose is a sentence for people, in one line, with the commands of the contract in it as a person types them.
func Prose(s string) string {
	head, command, ok := strings.Cut(terminal.Plain(s), "agentpack --")
	if !ok {
		return head
	}
	return head + "countersign agents --" + strings.TrimSuffix(strings.TrimSuffix(command, " --json"), " --yes")
}

// Done is the verb of something that was done, or of the same that would be.
func Done(done bool, past, verb string) string {
	if done {
		return past
	}
	return "would " + verb
}

// count is a number of things in words.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func or(s *string, otherwise string) string {
	if s == nil || *s == "" {
		return otherwise
	}
	return *s
}
