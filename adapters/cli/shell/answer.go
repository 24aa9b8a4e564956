package shell

import (
	"context"
	"fmt"
	"strings"

	"github.com/countersign-dev/countersign/adapters/cli/planview"
	"github.com/countersign-dev/countersign/adapters/cli/terminal"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// answer puts the person's answer to a confirmation into the call that is repeated. In a terminal the person is asked; elsewhere only
// --yes and --type answer, and only where a token was given out (not under approval: human).
func (s *Shell) answer(ctx context.Context, ask tool.Issued, c *tool.Call) error {
	c.Answer, c.Token, c.Typed = nil, confirm.Token{}, ""
	given := s.Yes && ask.Strength < policy.Typed || s.Typed != "" && ask.Strength == policy.Typed
	if !s.Interactive() {
		if !given || ask.Token.IsZero() {
			return unanswered(ask)
		}
		c.Token, c.Typed = ask.Token, s.Typed
		return nil
	}
	said := confirm.Answer{ID: ask.ID, Approve: true, Typed: s.Typed, By: ByTerminal}
	if !given {
		var err error
		if said, err = s.Question(ctx, View(ask), false); err != nil {
			return err
		}
	}
	c.Answer = &said
	return nil
}

// View is a confirmation asked for, as people see it.
func View(ask tool.Issued) confirm.View {
	return confirm.View{ID: ask.ID, Tool: string(ask.Tool), Strength: ask.Strength, Risk: ask.Risk, Prompt: ask.Prompt, Target: ask.Target,
		PlanHash: ask.PlanHash, Plan: ask.Plan, ExpiresAt: ask.ExpiresAt}
}

// Question shows a confirmation with its plan and asks: yes or no, or for the name to be typed. Where it may be allowed for good and always
// offers that, "a" is a yes to whatever is like it in the session that asked. What is not a yes is a no.
func (s *Shell) Question(ctx context.Context, v confirm.View, always bool) (confirm.Answer, error) {
	said := confirm.Answer{ID: v.ID, By: ByTerminal}
	s.Say(terminal.Plain(v.Tool + " wants to: " + v.Prompt))
	if v.Risk != "" {
		s.Say("risk: " + terminal.Plain(v.Risk))
	}
	if len(v.Arguments) > 0 {
		s.Say("arguments: " + terminal.Plain(string(v.Arguments)))
	}
	if laid, ok := planview.Text(v.Plan); ok {
		planview.Tinted(laid, s.Put)
	} else if len(v.Plan) > 0 {
		s.Say(terminal.Block(Indent(v.Plan)))
	}
	switch {
	case v.Strength >= policy.Typed:
	case always && v.Lasting():
		word, err := s.Ask(ctx, "go ahead? [y/N/a: always for this session]")
		word = strings.ToLower(word)
		said.Always = word == "a" || word == "always"
		said.Approve = said.Always || word == "y" || word == "yes"
		return said, err
	default:
		yes, err := s.YesNo(ctx, "go ahead?")
		said.Approve = yes
		return said, err
	}
	typed, err := s.Ask(ctx, fmt.Sprintf("this cannot be waived: type %s to go ahead:", v.Target))
	said.Typed, said.Approve = typed, typed != ""
	return said, err
}

// unanswered says how a confirmation that nobody could be asked about can be answered.
func unanswered(ask tool.Issued) error {
	way := "run it in a terminal, or add --yes"
	switch {
	case ask.Token.IsZero():
		way = fmt.Sprintf("a person runs: countersign approve %s; then repeat this command", ask.ID)
	case ask.Strength == policy.Typed:
		way = fmt.Sprintf("run it in a terminal, or add --type %q", ask.Target)
	}
	return ErrUnanswered.Sayf("%s needs a person's yes to: %s", ask.Tool, ask.Prompt).With(Hint(way))
}
