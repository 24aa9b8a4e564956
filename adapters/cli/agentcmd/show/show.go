// Package show is how the answers about deployments look to a person: short lines, tables, diffs, and colour where there is a terminal.
//
// It refuses to call anything: data goes in, lines come out.
package show

import (
	"encoding/json"
	"fmt"

	"github.com/countersign-dev/countersign/adapters/cli/terminal"
	"github.com/countersign-dev/countersign/adapters/present/spoken"
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
		s.Line("next: %s", terminal.Plain(spoken.Command(a)))
	}
}

// Prose is a sentence for people, in one line, with the commands of the contract in it as a person types them.
func Prose(s string) string { return spoken.Prose(terminal.Plain(s)) }

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
