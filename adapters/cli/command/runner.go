package command

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// maxOutput is how long an answer to the user may be, in bytes: more than any script's output that is kept.
const maxOutput = 16 << 20

// The ways that a name leads nowhere.
var (
	ErrUnknown   = fault.New(fault.NotFound, "name_unknown", "nothing has this name")
	ErrAmbiguous = fault.New(fault.Conflict, "name_ambiguous", "more than one thing has this name")
)

// Words is how a group of commands says to users what tools say to agents. The zero Words says it as it is.
type Words struct {
	Text    func(string) string       // a text in words of the command line: what agents are told to call, users type
	Hint    func(*fault.Error) Hint   // the way out behind a refusal that says none; empty for none
	Details func(d Runner, err error) // shows what a failure says beside its message
}

// Runner is where the commands of one group work, in one shell.
type Runner struct {
	*Shell
	Words Words
}

// Client is what carries a Runner.
type Client interface{ runner() Runner }

func (d Runner) runner() Runner { return d }

// Arguments of one call of a tool.
type Arguments map[string]any

// Set puts a text in unless it is empty.
func (a Arguments) Set(name, value string) Arguments {
	if value != "" {
		a[name] = value
	}
	return a
}

// Send makes a call and shows nothing of it: not even its failure. progress may be nil, and a bar is drawn then.
func (d Runner) Send(ctx context.Context, name tool.Name, args Arguments, progress func(tool.Progress)) (tool.Outcome, error) {
	raw, err := tool.Encode(args)
	if err != nil {
		return tool.Outcome{}, fault.From(err)
	}
	d.words = d.Words.Text
	return d.Run(ctx, tool.Call{Tool: name, Args: raw, MaxOutput: maxOutput, Progress: progress})
}

// Ask makes a call and reads its answer. A failure is shown as far as a program reads it, and comes back with the way out.
func (d Runner) Ask(ctx context.Context, name tool.Name, args Arguments, into any) (tool.Outcome, error) {
	o, err := d.Send(ctx, name, args, nil)
	if err != nil {
		return o, d.Refused(o, err)
	}
	if o.DryRun { // what would be done is no answer of what was
		d.Note("this is what it would have done:")
		d.Line("%s", Block(Indent(o.Value)))
		return o, app.ErrMode.Sayf("nothing was done: the mode is plan, so %s only showed what it would do; countersign policy show says who decided that, and countersign policy max-mode execute lifts a ceiling of your settings", name)
	}
	return o, DecodeAnswer(o, into)
}

// Quietly makes a call, reads its answer and reports whether there is one: for completions and for what is shown only where it is known.
func (d Runner) Quietly(ctx context.Context, name tool.Name, args Arguments, into any) bool {
	o, err := d.Send(ctx, name, args, func(tool.Progress) {})
	return err == nil && !o.DryRun && DecodeAnswer(o, into) == nil
}

// Refused shows what a failure says beside its message, as JSON or for users, and hands it on with the way out.
func (d Runner) Refused(o tool.Outcome, err error) error {
	if !d.JSON && d.Words.Details != nil {
		d.Words.Details(d, err)
	}
	return d.Fail(o, d.Explain(err))
}

// Explain puts a refusal into words of the command line, with the way out behind those that the user meets often and that say none. A tool that is
// not served keeps its name.
func (d Runner) Explain(err error) error {
	f := fault.From(err)
	if f == nil {
		return err
	}
	text := d.Words.Text
	if text == nil {
		text = func(said string) string { return said }
	}
	if said := text(f.Message); said != f.Message && f.Code != tool.ErrUnknown.Code {
		f = f.Sayf("%s", said)
		err = f
	}
	hint, given := f.Details.(Hint)
	switch {
	case given:
		hint = Hint(text(string(hint)))
	case d.Words.Hint != nil:
		hint = d.Words.Hint(f)
	}
	if hint == "" {
		return err
	}
	return f.With(hint)
}

// verdict is an answer that can be a failure although the call succeeded: nothing is there, or the user has something to do first.
type verdict interface{ Verdict() error }

// CallAndShow is a call whose answer is shown: as JSON, or as draw makes of it for users. It ends with the answer's verdict if it has one.
func CallAndShow[T any](ctx context.Context, c Client, name tool.Name, args Arguments, draw func(T)) error {
	d := c.runner()
	var answer T
	o, err := d.Ask(ctx, name, args, &answer)
	if err != nil {
		return err
	}
	if !d.JSON {
		draw(answer)
	} else if err := d.Show(o); err != nil {
		return err
	}
	if v, ok := any(answer).(verdict); ok {
		return v.Verdict()
	}
	return nil
}

// DecodeAnswer reads an answer.
func DecodeAnswer(o tool.Outcome, into any) error {
	if err := json.Unmarshal(o.Value, into); err != nil {
		return fault.ErrInternal.Sayf("the answer of %s is not understood", o.Spec.Name).Because(err)
	}
	return nil
}

// FailureDetails reads what a failure says beside its message, and reports whether there is such.
func FailureDetails(err error, into any) bool {
	f := fault.From(err)
	if f == nil || f.Details == nil {
		return false
	}
	doc, encoding := tool.Encode(f.Details)
	return encoding == nil && json.Unmarshal(doc, into) == nil
}

// Pair is a name and a value.
type Pair struct{ Name, Value string }

// Pairs writes names and values in two columns, without those that have no value.
func (d Runner) Pairs(pairs ...Pair) {
	width := 0
	for _, p := range pairs {
		if p.Value != "" {
			width = max(width, len(p.Name))
		}
	}
	for _, p := range pairs {
		if p.Value != "" {
			d.Line("%s  %s", d.Tinted(fmt.Sprintf("%-*s", width, p.Name), Faded), Plain(p.Value))
		}
	}
}

// Age returns how long ago something was, for users; empty for never.
func Age(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	switch d := time.Since(at); {
	case d < time.Minute:
		return fmt.Sprintf("%ds ago", max(int(d.Seconds()), 0))
	case d < time.Hour:
		return fmt.Sprintf("%dm ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh ago", int(d.Hours()))
	}
	return at.Local().Format(time.DateOnly)
}

// Took returns a duration in milliseconds for users.
func Took(ms int64) string {
	d := time.Duration(ms) * time.Millisecond
	if d > time.Second {
		d = d.Round(100 * time.Millisecond)
	}
	return d.String()
}

// Milliseconds returns a duration given as a flag; zero when it was not given.
func Milliseconds(flag string, d time.Duration) (int64, error) {
	if d < 0 || d > 0 && d < time.Millisecond {
		return 0, ErrUsage.Sayf("--%s %v is no time to wait", flag, d).With(Hint("write 30s, 5m or 1h"))
	}
	return d.Milliseconds(), nil
}

// Assignments reads K=V flags.
func Assignments(flag string, given []string) (map[string]string, error) {
	out := map[string]string{}
	for _, g := range given {
		name, value, ok := strings.Cut(g, "=")
		if !ok || strings.TrimSpace(name) == "" {
			return nil, ErrUsage.Sayf("--%s %q is no NAME=VALUE", flag, g)
		}
		out[strings.TrimSpace(name)] = value
	}
	return out, nil
}

// maxFile bounds a text read from a file or the input, in bytes; what tools accept is less.
const maxFile = 1 << 20

// File returns a flag's text, or for @FILE what is in that file, and for @- what comes on the input.
func (d Runner) File(flag, given string) (string, error) {
	name, named := strings.CutPrefix(given, "@")
	if !named {
		return given, nil
	}
	from := d.In
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return "", ErrUsage.Sayf("--%s: %v", flag, err)
		}
		defer f.Close()
		from = f
	}
	text, err := io.ReadAll(io.LimitReader(from, maxFile+1))
	switch {
	case err != nil:
		return "", ErrUsage.Sayf("--%s: %v", flag, err)
	case len(text) > maxFile:
		return "", ErrUsage.Sayf("--%s: %s has more than %d bytes", flag, name, maxFile)
	}
	return string(text), nil
}

// Group returns a command that only has others.
func Group(use, short string, below ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Args: Subcommand, RunE: Alone}
	c.AddCommand(below...)
	return c
}

// First returns the first argument, or nothing.
func First(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}
