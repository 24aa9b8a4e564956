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

// maxOutput is how long an answer to a person may be, in bytes: more than any script's output that is kept.
const maxOutput = 16 << 20

// Runner is where the commands of one shell work.
type Runner struct{ *Shell }

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
	return d.Run(ctx, tool.Call{Tool: name, Args: raw, MaxOutput: maxOutput, Progress: progress})
}

// Ask makes a call and reads its answer. A failure is shown as far as a program reads it, and comes back with the way out.
func (d Runner) Ask(ctx context.Context, name tool.Name, args Arguments, into any) (tool.Outcome, error) {
	o, err := d.Send(ctx, name, args, nil)
	if err != nil {
		return o, d.Fail(o, ExplainError(err))
	}
	if o.DryRun { // what would be done is no answer of what was
		d.Note("this is what it would have done:")
		d.Line("%s", Block(Indent(o.Value)))
		return o, app.ErrMode.Sayf("nothing was done: the mode is plan, so %s only showed what it would do; countersign policy show says who decided that, and countersign policy max-mode execute lifts a ceiling of your settings", name)
	}
	return o, DecodeAnswer(o, into)
}

// CallAndShow is a call whose answer is shown: as JSON, or as draw makes of it for people.
func CallAndShow[T any](ctx context.Context, d Runner, name tool.Name, args Arguments, draw func(T)) error {
	var answer T
	o, err := d.Ask(ctx, name, args, &answer)
	switch {
	case err != nil:
		return err
	case d.JSON:
		return d.Show(o)
	}
	draw(answer)
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

// ExplainError puts the way out in words of the command line behind refusals that a person meets often.
func ExplainError(err error) error {
	f := fault.From(err)
	if f == nil {
		return err
	}
	if _, said := f.Details.(Hint); said {
		return err
	}
	hint := map[fault.Code]Hint{
		"path_not_allowed":             "countersign project list shows the registered projects; countersign project add DIR registers one",
		"project_not_found":            "countersign project list shows the registered projects; countersign project add DIR registers one",
		"script_not_found":             "countersign project scripts shows those there are",
		"project_script_never_ends":    "countersign run --background SCRIPT, then countersign logs -f and countersign stop",
		"workflow_not_found":           "countersign workflow list shows those there are",
		"action_not_found":             "countersign action list shows those there are",
		"action_disabled":              "countersign action enable switches it on",
		"template_not_found":           "countersign template list shows those there are",
		"execution_not_found":          "countersign workflow history shows those there are",
		"process_not_found":            "countersign ps shows those there are",
		"url_blocked":                  "countersign project set PROJECT --webhook-host HOST:PORT (and --webhook-loopback) opens an address for a project's webhooks",
		"project_registration_refused": "name the directory of one project: countersign project add DIR",
	}[f.Code]
	if said := spoken(f.Message); said != f.Message {
		f = f.Sayf("%s", said)
		err = f
	}
	if hint == "" {
		return err
	}
	return f.With(hint)
}

// spoken is a message in words of the command line: what agents are told to call, people type.
func spoken(message string) string {
	return strings.NewReplacer("call run_npm_script with runInBackground: true, and read it with get_background_process_output", "countersign run --background runs it there, and countersign logs reads it",
		"read it with get_background_process_output or end it with stop_background_process", "countersign logs reads it, countersign stop ends it", "stop_background_process ends it", "countersign stop ends it",
		"add_workflow_step", "countersign workflow add-step", "list_project_scripts", "countersign project scripts", "list_projects", "countersign project list", "list_workflows", "countersign workflow list", "list_actions", "countersign action list",
		"list_step_templates", "countersign template list", "list_action_executions", "countersign workflow history", "list_background_processes", "countersign ps", "timeoutMs", "the time limit in milliseconds",
	).Replace(message)
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

// Age is how long ago something was, for people; empty for never.
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

// Took is a duration in milliseconds for people.
func Took(ms int64) string {
	d := time.Duration(ms) * time.Millisecond
	if d > time.Second {
		d = d.Round(100 * time.Millisecond)
	}
	return d.String()
}

// Milliseconds is a duration given as a flag; zero when it was not given.
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

// File is a flag's text, or for @FILE what is in that file, and for @- what comes on the input.
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

// Group is a command that only has others.
func Group(use, short string, below ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Args: Subcommand, RunE: Alone}
	c.AddCommand(below...)
	return c
}
