package shell

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/countersign-dev/countersign/adapters/cli/planview"
	"github.com/countersign-dev/countersign/adapters/cli/terminal"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// answer puts the user's decision on an approval request into the call that is repeated. Where people approve, only somebody at a controlling
// terminal decides; --yes and --confirm-name are a caller's word everywhere else. Where the caller approves, they answer with the token.
func (s *Shell) answer(ctx context.Context, ask tool.Issued, c *tool.Call) error {
	c.Answer, c.Typed = nil, ""
	if !ask.Pending {
		c.Token = confirm.Token{}
		given := s.Yes && ask.Strength < policy.Typed || s.Typed != "" && ask.Strength == policy.Typed
		if given {
			c.Token, c.Typed = ask.Token, s.Typed
			return nil
		}
	} else if !ask.Token.IsZero() {
		c.Token = ask.Token
	}
	if !s.Interactive() {
		return unanswered(ask)
	}
	said, err := s.Decide(ctx, View(ask), Deciding{Yes: s.Yes, Typed: s.Typed})
	if err != nil {
		return err
	}
	c.Answer = &said
	return nil
}

// View is an approval request as people see it.
func View(ask tool.Issued) confirm.View {
	return confirm.View{ID: ask.ID, Tool: string(ask.Tool), Strength: ask.Strength, Risk: ask.Risk, Prompt: ask.Prompt, Target: ask.Target,
		PlanHash: ask.PlanHash, Plan: ask.Plan, Exhibit: ask.Exhibit, ExpiresAt: ask.ExpiresAt, Needs: ask.Needs, Veil: ask.Veil}
}

// Deciding is what the command line says beforehand, and what it offers.
type Deciding struct {
	Yes    bool           // --yes: no keystroke for what is below high risk
	Typed  string         // --confirm-name
	Always bool           // "always" may be answered
	Reveal bool           // --reveal: what is masked is shown
	Dated  bool           // "allow this until" may be answered
	Until  *confirm.Until // --for: it is answered so
	Before int            // how often the same was approved before
}

// Proof is how an answer in this terminal is known to be a person's. Without a controlling terminal it proves nothing.
func (s *Shell) Proof() confirm.Proof {
	seat, ok := s.Seat()
	if !ok {
		return confirm.Proof{}
	}
	return confirm.Proof{Surface: confirm.SurfaceTerminal, User: seat.User, TTY: seat.TTY, Host: seat.Host}
}

// Decide shows a plan whole, to its end, and asks: yes or no, or for the name to be typed. Where always is offered, "a" is a yes to whatever is like it
// in the session that asked; where a dated grant is, "u" is a yes to the same in any session until a time. What is not a yes is a no. It fails with ErrUnanswered where nobody can be asked, and where the end of the plan was
// not shown.
func (s *Shell) Decide(ctx context.Context, v confirm.View, d Deciding) (confirm.Answer, error) {
	said := confirm.Answer{ID: v.ID, By: ByTerminal, Proof: s.Proof(), Shown: v.PlanHash}
	if !s.Interactive() {
		return said, ErrUnanswered.Sayf("approving %s needs a terminal, so that a person sees the plan first", v.ID).
			With(Hint("run countersign approve " + v.ID + " yourself, in a terminal"))
	}
	keystroke := v.Risk == policy.RiskHigh.String() || v.Needs > policy.ProvingNone || v.MustReveal || d.Until != nil
	given := !keystroke && (d.Yes && v.Strength < policy.Typed || v.Strength == policy.Typed && d.Typed != "")
	seen, err := s.present(ctx, v, given)
	if err == nil && seen && d.Reveal && Veiled(v) != "" {
		v, seen, err = s.reveal(ctx, v)
	}
	question := "approve? [y/N]"
	named := v.Strength >= policy.Typed && d.Typed == ""
	always, dated := d.Always && v.Lasting(), d.Dated && v.Datable()
	if dated && seen {
		if told := v.Suggestion(d.Before); told != "" {
			s.Say(told + " u allows it until a time that you say, without asking.")
		}
	}
	switch {
	case err != nil:
		return said, err
	case !seen:
		return said, ErrUnanswered.Sayf("the end of the plan was not shown, so nothing was decided").With(Hint("countersign approve " + v.ID + " shows it again"))
	case given:
		said.Approve, said.Typed, said.Revealed = true, d.Typed, v.Revealed
		return said, nil
	case named:
		question = fmt.Sprintf("type %s to approve:", terminal.Plain(v.Target))
	case always:
		question = "approve? [y/N/a: always in this session]"
	}
	if dated && !named {
		question = strings.Replace(question, "]", offered(v)+"]", 1)
	}
	if d.Until != nil {
		return s.until(ctx, v, said, d.Until)
	}
	word, err := s.askRevealing(ctx, &v, question)
	if said.Revealed = v.Revealed; named {
		said.Typed, said.Approve = word, word != ""
		return said, err
	}
	if v.Strength >= policy.Typed {
		said.Typed = d.Typed
	}
	word = strings.ToLower(word)
	if dated && (word == "u" || word == "until") && err == nil {
		return s.until(ctx, v, said, nil)
	}
	said.Always = always && (word == "a" || word == "always")
	said.Approve = said.Always || word == "y" || word == "yes"
	return said, err
}

// present shows an approval request: what would happen in a sentence, who asks, the risk, the plan with its diffs, the arguments. It reports whether its
// end was shown.
func (s *Shell) present(ctx context.Context, v confirm.View, all bool) (bool, error) {
	if s.Shown {
		s.Say(terminal.Plain(v.Prompt))
		return true, nil
	}
	type tinted struct {
		text string
		tint terminal.Tint
	}
	var lines []tinted
	add := func(text string, tint terminal.Tint) { lines = append(lines, tinted{text, tint}) }
	add(terminal.Plain(v.Tool+" wants to: "+v.Prompt), terminal.Heading)
	if v.Client != "" {
		add("asked by: "+terminal.Plain(v.Client), 0)
	}
	if v.Risk != "" {
		add("risk: "+terminal.Plain(v.Risk), 0)
	}
	if veiled := Veiled(v); veiled != "" {
		add(veiled, terminal.Changed)
	}
	if len(v.Plan) > 0 {
		planview.Tinted(planview.Whole(v.Plan), add)
	}
	for l := range strings.Lines(planview.Exhibit(v.Exhibit)) {
		add("    | "+strings.TrimSuffix(l, "\n"), tintOf(l))
	}
	if args := string(v.Arguments); args != "" && args != "{}" {
		add("arguments, as they were sent:", 0)
		for l := range strings.SplitSeq(Indent(json.RawMessage(args)), "\n") {
			add("  | "+l, 0)
		}
	}
	texts := make([]string, len(lines))
	for i, l := range lines {
		texts[i] = l.text
	}
	at := 0
	return s.Read(ctx, texts, func(line string) {
		s.Put(line, lines[at].tint)
		at++
	}, all)
}

// tintOf is the colour of a line of a diff.
func tintOf(line string) terminal.Tint {
	switch {
	case strings.HasPrefix(line, "+"):
		return terminal.Added
	case strings.HasPrefix(line, "-"):
		return terminal.Removed
	}
	return 0
}

// unanswered says how an approval request can be answered that nobody was there for.
func unanswered(ask tool.Issued) error {
	way := "run it in a terminal, or add --yes"
	switch {
	case ask.Pending:
		way = fmt.Sprintf("a person runs: countersign approve %s; then repeat this command", ask.ID)
	case ask.Strength == policy.Typed:
		way = fmt.Sprintf("run it in a terminal, or add --confirm-name %q", ask.Target)
	}
	return ErrUnanswered.Sayf("%s needs a person's approval to: %s", ask.Tool, ask.Prompt).With(Hint(way))
}
