package agentcmd

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/domain/fault"
)

// Screen is where answers are drawn.
type Screen struct{ *command.Terminal }

// DecodeData reads the data of an answer. What is not understood is an internal fault.
func DecodeData[T any](data json.RawMessage) (T, error) {
	var out T
	if err := json.Unmarshal(data, &out); err != nil {
		return out, fault.ErrInternal.WithMessage("invalid answer").WithCause(err)
	}
	return out, nil
}

// Next shows what can be done next.
func (s Screen) Next(actions []string) {
	for _, a := range actions {
		s.Line("next: %s", command.Plain(present.Command(a)))
	}
}

// Warnings shows what there is to mind. That agents lack the files that teach them to operate deployments is no fault: one line offers them.
func (s Screen) Warnings(warnings []string) {
	offered := false
	for _, w := range warnings {
		if strings.HasSuffix(w, " lists all of them") {
			continue // the list says itself where it ends
		}
		if !strings.HasPrefix(w, "operator assets missing ") {
			s.Note("warning: %s", Prose(w))
			continue
		}
		if !offered {
			s.Note("optional: countersign agents bootstrap writes commands and a skill that let Claude Code and Codex operate deployments")
		}
		offered = true
	}
}

// Prose is a sentence for people, in one line, with the commands of the contract in it as a person types them.
func Prose(s string) string { return present.Prose(command.Plain(s)) }

// DoneVerb is the verb of something that was done, or of the same that would be.
func DoneVerb(done bool, past, verb string) string {
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
