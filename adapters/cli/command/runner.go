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

// maxOutput is the maximum size of an answer to the user, in bytes: more than the kept output of any script.
const maxOutput = 16 << 20

// The errors of names that match nothing.
var (
	ErrUnknown   = fault.New(fault.NotFound, "name_unknown", "name not found")
	ErrAmbiguous = fault.New(fault.Conflict, "name_ambiguous", "the name is ambiguous")
)

// Words adapts the texts that tools write for agents to users of a group of commands. The zero Words changes nothing.
type Words struct {
	Text    func(string) string       // replaces tools to call by commands to type
	Hint    func(*fault.Error) Hint   // hint for an error without one; empty for none
	Details func(d Runner, err error) // shows the details of a failure
}

// Runner calls tools for the commands of one group, in one shell.
type Runner struct {
	*Shell
	Words Words
}

// Client is a value that contains a Runner.
type Client interface{ runner() Runner }

func (d Runner) runner() Runner { return d }

// Arguments is the arguments of one tool call.
type Arguments map[string]any

// Set adds a text unless it is empty.
func (a Arguments) Set(name, value string) Arguments {
	if value != "" {
		a[name] = value
	}
	return a
}

// Send makes a call and shows nothing of it, not even its failure. If progress is nil, a bar is drawn.
func (d Runner) Send(ctx context.Context, name tool.Name, args Arguments, progress func(tool.Progress)) (tool.Outcome, error) {
	raw, err := tool.Encode(args)
	if err != nil {
		return tool.Outcome{}, fault.From(err)
	}
	d.words = d.Words.Text
	return d.Run(ctx, tool.Call{Tool: name, Args: raw, MaxOutput: maxOutput, Progress: progress})
}

// Ask makes a call and decodes its answer. It shows the details of a failure, and returns it with a hint.
func (d Runner) Ask(ctx context.Context, name tool.Name, args Arguments, into any) (tool.Outcome, error) {
	o, err := d.Send(ctx, name, args, nil)
	if err != nil {
		return o, d.Refused(o, err)
	}
	if o.DryRun { // a plan is not an answer
		d.Note("plan:")
		d.Line("%s", Block(Indent(o.Value)))
		return o, app.ErrMode.WithMessage("dry run (mode: plan): %s changed nothing; to see which setting does this: countersign policy show; to raise the maximum mode: countersign policy max-mode execute", name)
	}
	return o, DecodeAnswer(o, into)
}

// Quietly makes a call, decodes its answer and reports whether there is one: for completions and optional output.
func (d Runner) Quietly(ctx context.Context, name tool.Name, args Arguments, into any) bool {
	o, err := d.Send(ctx, name, args, func(tool.Progress) {})
	return err == nil && !o.DryRun && DecodeAnswer(o, into) == nil
}

// Refused shows the details of a failure, as JSON or for users, and returns it with a hint.
func (d Runner) Refused(o tool.Outcome, err error) error {
	if !d.JSON && d.Words.Details != nil {
		d.Words.Details(d, err)
	}
	return d.Fail(o, d.Explain(err))
}

// Explain rewrites an error for the command line, with a hint for frequent errors that have none. The name of a tool that is not enabled stays.
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
		f = f.WithMessage("%s", said)
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
	return f.WithDetails(hint)
}

// verdict is an answer that can be a failure although the call succeeded: nothing was found, or the user must act first.
type verdict interface{ Verdict() error }

// CallAndShow makes a call and shows its answer: as JSON, or with draw for users. It returns the answer's verdict if it has one.
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

// DecodeAnswer decodes an answer.
func DecodeAnswer(o tool.Outcome, into any) error {
	if err := json.Unmarshal(o.Value, into); err != nil {
		return fault.ErrInternal.WithMessage("invalid answer of %s", o.Spec.Name).WithCause(err)
	}
	return nil
}

// FailureDetails decodes the details of a failure, and reports whether there are any.
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

// Pairs writes names and values in two columns, without empty values.
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

// Age returns how long ago a time was, for users; empty for the zero time.
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

// Milliseconds returns a duration given as a flag; zero if it was not given.
func Milliseconds(flag string, d time.Duration) (int64, error) {
	if d < 0 || d > 0 && d < time.Millisecond {
		return 0, ErrUsage.WithMessage("invalid --%s %v", flag, d).WithDetails(Hint("for example 30s, 5m or 1h"))
	}
	return d.Milliseconds(), nil
}

// Assignments reads K=V flags.
func Assignments(flag string, given []string) (map[string]string, error) {
	out := map[string]string{}
	for _, g := range given {
		name, value, ok := strings.Cut(g, "=")
		if !ok || strings.TrimSpace(name) == "" {
			return nil, ErrUsage.WithMessage("invalid --%s %q; use NAME=VALUE", flag, g)
		}
		out[strings.TrimSpace(name)] = value
	}
	return out, nil
}

// maxFile is the maximum size of a text read from a file or the input, in bytes; tools accept less.
const maxFile = 1 << 20

// File returns a flag's text: @FILE is the content of that file, and @- that of the input.
func (d Runner) File(flag, given string) (string, error) {
	name, named := strings.CutPrefix(given, "@")
	if !named {
		return given, nil
	}
	from := d.In
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return "", ErrUsage.WithMessage("--%s: %v", flag, err)
		}
		defer f.Close()
		from = f
	}
	text, err := io.ReadAll(io.LimitReader(from, maxFile+1))
	switch {
	case err != nil:
		return "", ErrUsage.WithMessage("--%s: %v", flag, err)
	case len(text) > maxFile:
		return "", ErrUsage.WithMessage("--%s: %s is larger than %d bytes", flag, name, maxFile)
	}
	return string(text), nil
}

// Group returns a command that only has subcommands.
func Group(use, short string, below ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Args: Subcommand, RunE: Alone}
	c.AddCommand(below...)
	return c
}

// First returns the first argument, or "".
func First(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}
