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

// answer adds the user's decision on an approval request to the repeated call. If users approve, only a user at a controlling terminal decides; --yes
// and --confirm-name are statements of a caller everywhere else. If the caller approves, they answer with the token.
func (s *Shell) answer(ctx context.Context, ask tool.ApprovalRequest, c *tool.Call) error {
	c.Decision, c.Typed, c.ApprovalDigest = nil, "", confirm.Digest{}
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
		c.ApprovalDigest = ask.Digest
		return s.await(ctx, ask)
	}
	said, err := s.Decide(ctx, ApprovalView(ask), DecisionOptions{Yes: s.Yes, Typed: s.Typed})
	if err != nil {
		s.withdraw(ctx, ask)
		return err
	}
	c.Decision, s.denied = &said, !said.Approve
	return nil
}

// withdraw cancels the approval request that the user interrupted.
func (s *Shell) withdraw(ctx context.Context, ask tool.ApprovalRequest) {
	if ctx.Err() == nil || !ask.Pending {
		return
	}
	if a, err := s.App(); err == nil && a.CancelApproval(context.WithoutCancel(ctx), ask.ID) == nil { // otherwise it expires
		s.withdrawn = ask.ID
	}
}

// Cancelled returns the message for a command that was interrupted.
func (s *Shell) Cancelled() string {
	switch {
	case s.withdrawn == "":
		return "cancelled"
	case s.changed:
		return "cancelled, and the approval request " + s.withdrawn + " with it; calls that were approved before are not undone"
	}
	return "cancelled, and the approval request " + s.withdrawn + " with it; nothing was changed"
}

// Denied returns the message for a command that the user denied at this terminal; false if that did not happen here.
func (s *Shell) Denied(f *fault.Error) (string, bool) {
	switch {
	case !s.denied || f.Code != confirm.ErrDenied.Code:
		return "", false
	case s.changed:
		return "denied; calls that were approved before are not undone", true
	}
	return "denied; nothing was changed", true
}

// lookAgain is how often a request that may be decided elsewhere is checked without a signal.
const lookAgain = time.Second

// await waits until a request is decided elsewhere.
func (s *Shell) await(ctx context.Context, ask tool.ApprovalRequest) error {
	a, err := s.App()
	if err != nil {
		return err
	}
	s.Say(Plain(string(ask.Tool) + " wants to: " + ask.Prompt))
	s.Say(fmt.Sprintf("approving %s needs %s (open it with countersign up). Waiting; Ctrl-C leaves the request pending.", ask.ID, ask.Needs.Words()))
	told, stop := a.Decided(ask.ID)
	defer stop()
	look := time.NewTicker(lookAgain)
	defer look.Stop()
	for {
		if waiting, err := a.ApprovalPending(ctx, ask.ID); err != nil || !waiting {
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

// ApprovalView returns the displayed form of an approval request.
func ApprovalView(ask tool.ApprovalRequest) confirm.View {
	return confirm.View{ID: ask.ID, Tool: string(ask.Tool), Strength: ask.Strength, Risk: ask.Risk, Prompt: ask.Prompt, Target: ask.Target,
		PlanHash: ask.PlanHash, Plan: ask.Plan, Exhibit: ask.Exhibit, ExpiresAt: ask.ExpiresAt, Needs: ask.Needs, Redacted: ask.Redacted}
}

// DecisionOptions is the decision given on the command line, and the options to offer.
type DecisionOptions struct {
	Yes    bool           // --yes: no key press below high risk
	Typed  string         // --confirm-name
	Always bool           // offer a session grant
	Reveal bool           // --reveal: show redacted parts
	Dated  bool           // offer a dated grant
	Until  *confirm.Until // --for: give a dated grant
	Before int            // how often the same was approved before
	Leave  bool           // empty input leaves the request pending; only n denies a pending request
}

// Proof returns the proof that a decision in this terminal is the user's. Without a controlling terminal it proves nothing.
func (s *Shell) Proof() confirm.Proof {
	seat, ok := s.Seat()
	if !ok {
		return confirm.Proof{}
	}
	return confirm.Proof{Surface: confirm.SurfaceTerminal, User: seat.User, TTY: seat.TTY, Host: seat.Host}
}

// Decide shows a complete plan and asks: yes or no, or for the name to type. If offered, "a" also gives a session grant, "u" a dated grant, and "t"
// approves with the touch of an enrolled security key; if policy requires a touch, every yes needs one. Anything else denies; with Leave, only "n"
// does. It fails with ErrUnanswered if no user can be asked, if the end of the plan was not shown, and if the plan needs a proof that cannot be given
// here; the request then stays pending.
func (s *Shell) Decide(ctx context.Context, v confirm.View, d DecisionOptions) (confirm.Decision, error) {
	said := confirm.Decision{ID: v.ID, By: ByTerminal, Proof: s.Proof(), Shown: v.PlanHash}
	if !s.Interactive() {
		return said, ErrUnanswered.WithMessage("approving %s needs a terminal that shows the plan first", v.ID).
			WithDetails(Hint("run countersign approve " + v.ID + " in a terminal"))
	}
	keystroke := v.Risk == policy.RiskHigh.String() || v.Needs > policy.ProvingNone || v.MustReveal || d.Until != nil
	given := !keystroke && (d.Yes && v.Strength < policy.Typed || v.Strength == policy.Typed && d.Typed != "")
	seen, err := s.present(ctx, v, given)
	if err == nil && seen && d.Reveal && RedactedNote(v) != "" {
		v, seen, err = s.reveal(ctx, v)
	}
	named := v.Strength >= policy.Typed && d.Typed == ""
	always, dated := d.Always && v.AllowsSessionGrant(), d.Dated && v.Datable()
	if dated && seen {
		if told := v.Suggestion(d.Before); told != "" {
			s.Say(told + " u allows it until a time that you set, without asking.")
		}
	}
	switch {
	case err != nil:
		return said, err
	case !seen:
		return said, ErrUnanswered.WithMessage("nothing was decided: the plan was not shown to the end").WithDetails(Hint("countersign approve " + v.ID + " to see it again"))
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
		return said, ErrUnanswered.WithMessage("approving %s needs %s, and %s; the request is pending", v.ID, v.Needs.Words(), f.Message).WithDetails(f.Details)
	}
	if always && !named {
		s.Say(SessionGrantText(v))
	}
	question := asking(v, named, always, untouchable == nil)
	if dated && !named {
		question = strings.Replace(question, "]", offered(v)+"]", 1)
	}
	if d.Leave && named {
		question = strings.TrimSuffix(question, ":") + " (n: deny, Enter: decide later):"
	} else if d.Leave {
		question = strings.Replace(question, "[y/N", "[y/n", 1)
		question = strings.TrimSuffix(question, "]") + "; Enter: decide later]"
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
		return said, ErrUnanswered.WithMessage("nothing was decided: the typed name is not %q", v.Target)
	}
	if said.Approve && touch {
		said.Proof, err = s.Touch(ctx, v, func(line string) { s.Say(line + " (Ctrl-C: cancel) …") })
	}
	return said, err
}

// answers reports a word that is meant as a decision, offered or not.
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

// left returns the error for a request that was left pending.
func left(v confirm.View) error {
	return ErrUnanswered.WithMessage("nothing was decided; %s is still pending", v.ID).
		WithDetails(Hint("countersign approve " + v.ID + " shows it again, and n denies there, as countersign deny " + v.ID + " does"))
}

// SessionGrantText returns what a session grant would allow, in one line.
func SessionGrantText(v confirm.View) string {
	return Plain("always allow in this session: " + v.AlwaysTerms())
}

// asking returns the prompt at the end of a plan.
func asking(v confirm.View, named, always, touchable bool) string {
	touch := v.Needs == policy.ProvingTouch
	switch {
	case named && touch:
		return fmt.Sprintf("Type %s to approve; then touch your security key:", Plain(v.Target))
	case named:
		return fmt.Sprintf("Type %s to approve:", Plain(v.Target))
	case touch && always:
		return "Approve with a touch of your security key? [y/N/a: always in this session]"
	case touch:
		return "Approve with a touch of your security key? [y/N]"
	}
	offers := ""
	if touchable {
		offers += "/t: with a touch of your security key"
	}
	if always {
		offers += "/a: always in this session"
	}
	return "Approve? [y/N" + offers + "]"
}

// tintedLine is one line of a displayed approval request.
type tintedLine struct {
	text string
	tint Tint
}

// present shows an approval request: a sentence about the change, the client, the risk, the plan with its diffs, the arguments. It reports whether
// its end was shown.
func (s *Shell) present(ctx context.Context, v confirm.View, all bool) (bool, error) {
	if s.Shown {
		s.Say(Plain(v.Prompt))
		return true, nil
	}
	lines := s.requestLines(v)
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

// Preview prints an approval request to the error stream as Decide shows it, and asks nothing.
func (s *Shell) Preview(v confirm.View) {
	for _, l := range s.requestLines(v) {
		fmt.Fprintln(s.Err, s.paint(s.Err, l.text, l.tint.colours()...))
	}
}

// requestLines returns the lines of a displayed approval request.
func (s *Shell) requestLines(v confirm.View) (lines []tintedLine) {
	add := func(text string, tint Tint) { lines = append(lines, tintedLine{text, tint}) }
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
		add("arguments, as sent:", 0)
		for _, l := range ArgumentLines(v.Arguments) {
			add("  | "+l, 0)
		}
	}
	return lines
}

// DifferenceLines calls put with the lines that say what changed since a plan was shown.
func DifferenceLines(differences []confirm.Difference, put func(line string, tint Tint)) {
	for _, d := range differences {
		put(Plain(d.Path), Heading)
		if len(d.Before) > 0 {
			put("  - "+Plain(string(d.Before)), Removed)
		}
		if len(d.After) > 0 {
			put("  + "+Plain(string(d.After)), Added)
		}
	}
}

// ArgumentLines returns a call's arguments for users: one "name: value" line each if all of them are simple, else the JSON. A value that could be
// mistaken for another type or line, such as digits in a string or several lines, is written as in JSON.
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

// plainName reports whether a member's name cannot be mistaken for a name with a value.
func plainName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-')
	})
}

// tintOf returns the colour of a diff line.
func tintOf(line string) Tint {
	switch {
	case strings.HasPrefix(line, "+"):
		return Added
	case strings.HasPrefix(line, "-"):
		return Removed
	}
	return 0
}

// unanswered returns the error that explains how a request can be decided elsewhere.
func unanswered(ask tool.ApprovalRequest) error {
	way := "run it in a terminal, or add --yes"
	switch {
	case ask.Pending:
		way = fmt.Sprintf("run countersign approve %s in a terminal, then repeat this command", ask.ID)
	case ask.Strength == policy.Typed:
		way = fmt.Sprintf("run it in a terminal, or add --confirm-name %q", ask.Target)
	}
	return ErrUnanswered.WithMessage("%s needs approval: %s", ask.Tool, ask.Prompt).WithDetails(Hint(way))
}
