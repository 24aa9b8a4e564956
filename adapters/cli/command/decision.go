package command

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// answer puts the user's decision on an approval request into the call that is repeated. Where people approve, only somebody at a controlling
// terminal decides; --yes and --confirm-name are a caller's word everywhere else. Where the caller approves, they answer with the token.
func (s *Shell) answer(ctx context.Context, ask tool.Issued, c *tool.Call) error {
	c.Answer, c.Typed, c.Asked = nil, "", confirm.Digest{}
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
	if s.Patient && ask.Pending && Elsewhere(ApprovalView(ask)) != nil {
		c.Asked = ask.Digest
		return s.await(ctx, ask)
	}
	said, err := s.Decide(ctx, ApprovalView(ask), DecisionOptions{Yes: s.Yes, Typed: s.Typed})
	if err != nil {
		s.withdraw(ctx, ask)
		return err
	}
	c.Answer, s.denied = &said, !said.Approve
	return nil
}

// withdraw cancels the approval request that the user interrupted: nobody waits for its answer.
func (s *Shell) withdraw(ctx context.Context, ask tool.Issued) {
	if ctx.Err() == nil || !ask.Pending {
		return
	}
	if a, err := s.App(); err == nil && a.Withdraw(context.WithoutCancel(ctx), ask.ID) == nil { // else it expires
		s.withdrawn = ask.ID
	}
}

// Cancelled returns what to say where an interrupt ended the command.
func (s *Shell) Cancelled() string {
	switch {
	case s.withdrawn == "":
		return "cancelled"
	case s.changed:
		return "cancelled, and the approval request " + s.withdrawn + " with it; what was approved before stays done"
	}
	return "cancelled, and the approval request " + s.withdrawn + " with it; nothing was changed"
}

// Denied returns what to say where the user at this terminal has denied what the command asked for; false where nobody here did.
func (s *Shell) Denied(f *fault.Error) (string, bool) {
	switch {
	case !s.denied || f.Code != confirm.ErrDenied.Code:
		return "", false
	case s.changed:
		return "denied; what was approved before stays done", true
	}
	return "denied; nothing was changed", true
}

// lookAgain is how often a question is looked at that somebody answers elsewhere, where nothing tells of it.
const lookAgain = time.Second

// await waits until somebody has answered a question elsewhere.
func (s *Shell) await(ctx context.Context, ask tool.Issued) error {
	a, err := s.App()
	if err != nil {
		return err
	}
	s.Say(Plain(string(ask.Tool) + " wants to: " + ask.Prompt))
	s.Say(fmt.Sprintf("approving %s needs %s (countersign up opens it). This waits; Ctrl-C leaves the question there.", ask.ID, ask.Needs.Words()))
	told, stop := a.Decided(ask.ID)
	defer stop()
	look := time.NewTicker(lookAgain)
	defer look.Stop()
	for {
		if waiting, err := a.Waiting(ctx, ask.ID); err != nil || !waiting {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-told:
		case <-look.C:
		}
	}
}

// ApprovalView returns an approval request as users see it.
func ApprovalView(ask tool.Issued) confirm.View {
	return confirm.View{ID: ask.ID, Tool: string(ask.Tool), Strength: ask.Strength, Risk: ask.Risk, Prompt: ask.Prompt, Target: ask.Target,
		PlanHash: ask.PlanHash, Plan: ask.Plan, Exhibit: ask.Exhibit, ExpiresAt: ask.ExpiresAt, Needs: ask.Needs, Redacted: ask.Redacted}
}

// DecisionOptions is what the command line says beforehand, and what it offers.
type DecisionOptions struct {
	Yes    bool           // --yes: no keystroke for what is below high risk
	Typed  string         // --confirm-name
	Always bool           // "always" may be answered
	Reveal bool           // --reveal: what is masked is shown
	Dated  bool           // "allow this until" may be answered
	Until  *confirm.Until // --for: it is answered so
	Before int            // how often the same was approved before
	Leave  bool           // nothing typed leaves the question waiting; what waits is denied with n alone
}

// Proof returns how an answer in this terminal is known to be the user's. Without a controlling terminal it proves nothing.
func (s *Shell) Proof() confirm.Proof {
	seat, ok := s.Seat()
	if !ok {
		return confirm.Proof{}
	}
	return confirm.Proof{Surface: confirm.SurfaceTerminal, User: seat.User, TTY: seat.TTY, Host: seat.Host}
}

// Decide shows a plan whole, to its end, and asks: yes or no, or for the name to be typed. Where always is offered, "a" is a yes to whatever is like it
// in the session that asked; where a dated grant is, "u" is a yes to the same in any session until a time; where an enrolled security key can be asked, "t"
// is a yes with its touch, and where policy wants that every yes is. What is not a yes is a no; with Leave, only "n" is. It fails with ErrUnanswered where nobody can be asked, where
// the end of the plan was not shown, and where the plan needs what cannot be given here; the question then waits as before.
func (s *Shell) Decide(ctx context.Context, v confirm.View, d DecisionOptions) (confirm.Answer, error) {
	said := confirm.Answer{ID: v.ID, By: ByTerminal, Proof: s.Proof(), Shown: v.PlanHash}
	if !s.Interactive() {
		return said, ErrUnanswered.Sayf("approving %s needs a terminal, so that a person sees the plan first", v.ID).
			With(Hint("run countersign approve " + v.ID + " yourself, in a terminal"))
	}
	keystroke := v.Risk == policy.RiskHigh.String() || v.Needs > policy.ProvingNone || v.MustReveal || d.Until != nil
	given := !keystroke && (d.Yes && v.Strength < policy.Typed || v.Strength == policy.Typed && d.Typed != "")
	seen, err := s.present(ctx, v, given)
	if err == nil && seen && d.Reveal && RedactedNote(v) != "" {
		v, seen, err = s.reveal(ctx, v)
	}
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
	}
	if d.Until != nil {
		return s.until(ctx, v, said, d.Until, d.Leave)
	}
	if err := Elsewhere(v); err != nil {
		return said, err
	}
	touch := v.Needs == policy.ProvingTouch
	_, untouchable := s.Touchable(ctx)
	if touch && untouchable != nil {
		f := fault.From(untouchable)
		return said, ErrUnanswered.Sayf("approving %s needs %s, and %s; it waits for an answer", v.ID, v.Needs.Words(), f.Message).With(f.Details)
	}
	if always && !named {
		s.Say(SessionGrantText(v))
	}
	question := asking(v, named, always, untouchable == nil)
	if dated && !named {
		question = strings.Replace(question, "]", offered(v)+"]", 1)
	}
	if d.Leave && named {
		question = strings.TrimSuffix(question, ":") + " (n denies, Enter leaves it waiting):"
	} else if d.Leave {
		question = strings.Replace(question, "[y/N", "[y/n", 1)
		question = strings.TrimSuffix(question, "]") + "; Enter leaves it waiting]"
	}
	word, err := s.askRevealing(ctx, &v, question)
	if said.Revealed = v.Revealed; err != nil {
		return said, err
	}
	if d.Leave && (word == "" || !named && !answers(word)) {
		return said, left(v)
	}
	if named {
		said.Typed, said.Approve = word, word != "" && !(d.Leave && refuses(word) && word != v.Target)
	} else {
		if v.Strength >= policy.Typed {
			said.Typed = d.Typed
		}
		word = strings.ToLower(word)
		if dated && (word == "u" || word == "until") {
			return s.until(ctx, v, said, nil, d.Leave)
		}
		said.Always = always && (word == "a" || word == "always")
		if word == "t" && untouchable == nil {
			touch, word = true, "y"
		}
		said.Approve = said.Always || word == "y" || word == "yes"
	}
	if named && touch && said.Approve && word != v.Target {
		return said, ErrUnanswered.Sayf("the typed name is not %q, so nothing was decided", v.Target)
	}
	if said.Approve && touch {
		said.Proof, err = s.Touch(ctx, v, func(line string) { s.Say(line + " (Ctrl-C gives up) …") })
	}
	return said, err
}

// answers reports a word that is meant as an answer to a question, offered or not.
func answers(word string) bool {
	switch strings.ToLower(word) {
	case "y", "yes", "t", "a", "always", "u", "until":
		return true
	}
	return refuses(word)
}

// refuses reports a word that denies.
func refuses(word string) bool {
	word = strings.ToLower(word)
	return word == "n" || word == "no"
}

// left says that a question was left as it is.
func left(v confirm.View) error {
	return ErrUnanswered.Sayf("nothing was decided; %s still waits for an answer", v.ID).
		With(Hint("countersign approve " + v.ID + " shows it again, and n denies there, as countersign deny " + v.ID + " does"))
}

// SessionGrantText returns what "always" would allow, in one line.
func SessionGrantText(v confirm.View) string {
	return Plain("always allow in this session: " + v.AlwaysTerms())
}

// asking returns the question at the end of a plan.
func asking(v confirm.View, named, always, touchable bool) string {
	touch := v.Needs == policy.ProvingTouch
	switch {
	case named && touch:
		return fmt.Sprintf("type %s to approve; then touch your security key:", Plain(v.Target))
	case named:
		return fmt.Sprintf("type %s to approve:", Plain(v.Target))
	case touch && always:
		return "approve with a touch of your security key? [y/N/a: always in this session]"
	case touch:
		return "approve with a touch of your security key? [y/N]"
	}
	offers := ""
	if touchable {
		offers += "/t: with a touch of your security key"
	}
	if always {
		offers += "/a: always in this session"
	}
	return "approve? [y/N" + offers + "]"
}

// present shows an approval request: what would happen in a sentence, who asks, the risk, the plan with its diffs, the arguments. It reports whether its
// end was shown.
func (s *Shell) present(ctx context.Context, v confirm.View, all bool) (bool, error) {
	if s.Shown {
		s.Say(Plain(v.Prompt))
		return true, nil
	}
	type tinted struct {
		text string
		tint Tint
	}
	var lines []tinted
	add := func(text string, tint Tint) { lines = append(lines, tinted{text, tint}) }
	who := v.Tool
	if s.words != nil && v.Client == "" { // the user's own command
		who = s.words(who)
	}
	add(Plain(who+" wants to: "+v.Prompt), Heading)
	if v.Client != "" {
		add("asked by: "+Plain(v.Client), 0)
	}
	if v.Risk != "" {
		add("risk: "+Plain(v.Risk), 0)
	}
	if redacted := RedactedNote(v); redacted != "" {
		add(redacted, Changed)
	}
	if len(v.Plan) > 0 {
		Tinted(planText(v.Plan, s.words), add)
	}
	for l := range strings.Lines(ExhibitText(v.Exhibit)) {
		add("    | "+strings.TrimSuffix(l, "\n"), tintOf(l))
	}
	if args := string(v.Arguments); args != "" && args != "{}" {
		add("arguments, as they were sent:", 0)
		for _, l := range ArgumentLines(v.Arguments) {
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

// ArgumentLines returns a call's arguments for users: a "name: value" line each where all of them are simple, else the JSON. What looks like something else
// in such a line than it is, a text of digits or one with several lines, stands in it as in the JSON.
func ArgumentLines(args json.RawMessage) []string {
	asJSON := strings.Split(Block(Indent(args)), "\n")
	v, err := present.Parse(args)
	fields, ok := v.([]present.Field)
	if err != nil || !ok || len(fields) == 0 {
		return asJSON
	}
	out := make([]string, 0, len(fields))
	for _, f := range fields {
		value, ok := f.Value.(string)
		switch f.Value.(type) {
		case []any, []present.Field:
			return asJSON
		}
		if !ok || value == "" || strings.TrimSpace(value) != value || strings.Contains(value, "\n") || strings.HasPrefix(value, `"`) || json.Valid([]byte(value)) {
			doc, err := tool.Encode(f.Value)
			if err != nil {
				return asJSON
			}
			value = string(doc)
		}
		if !plainName(f.Name) {
			return asJSON
		}
		out = append(out, f.Name+": "+Plain(value))
	}
	return out
}

// plainName reports a member's name that cannot pass for a name with a value.
func plainName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-')
	})
}

// tintOf returns the colour of a line of a diff.
func tintOf(line string) Tint {
	switch {
	case strings.HasPrefix(line, "+"):
		return Added
	case strings.HasPrefix(line, "-"):
		return Removed
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
	return ErrUnanswered.Sayf("%s needs a person's approval: %s", ask.Tool, ask.Prompt).With(Hint(way))
}
