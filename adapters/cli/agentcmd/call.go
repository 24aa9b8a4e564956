package agentcmd

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// maxOutput is how long an answer to a person may be, in bytes: nothing is cut.
const maxOutput = 256 << 20

// pageOutput is how long the answer is that a long plan is shown from, in bytes: it lists more changes than are shown, and counts the others.
const pageOutput = 64 << 10

// call is a call on its way: the tool, with the flags of the group put into its arguments as far as it takes them.
type call struct {
	tool.Call
	args  command.Arguments
	takes map[string]json.RawMessage
}

// Prepare is a call with the flags of the group.
func (d Runner) Prepare(name tool.Name, args command.Arguments) (call, error) {
	c := call{Call: tool.Call{Tool: name, MaxOutput: maxOutput, Held: d.held}, args: command.Arguments{}}
	a, err := d.App()
	if err != nil {
		return c, err
	}
	spec, _ := a.Spec(name)
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if len(spec.Input) > 0 && json.Unmarshal(spec.Input, &schema) != nil {
		return c, fault.ErrInternal.WithMessage("invalid schema of %s", name)
	}
	c.takes = schema.Properties
	for flag, value := range map[string]string{"repo": d.flags.repo, "profile": d.flags.profile, "target": d.flags.target, "machine": d.flags.machine} {
		if _, ok := c.takes[flag]; ok && value != "" {
			c.args[flag] = value
		}
	}
	for argument, value := range args {
		if !absent(value) {
			c.args[argument] = value
		}
	}
	return c, nil
}

// absent reports a value that is as good as none.
func absent(value any) bool {
	switch v := value.(type) {
	case string:
		return v == ""
	case bool:
		return !v
	case []string:
		return len(v) == 0
	}
	return false
}

// Send makes the call.
func (d Runner) Send(ctx context.Context, c call) (tool.Outcome, error) { return d.send(ctx, c, d.Run) }

func (d Runner) send(ctx context.Context, c call, by func(context.Context, tool.Call) (tool.Outcome, error)) (tool.Outcome, error) {
	raw, err := tool.Encode(c.args)
	if err != nil {
		return tool.Outcome{}, fault.From(err)
	}
	c.Args = raw
	return by(ctx, c.Call)
}

// Query calls a tool that reads, or one that changes something with yes.
func (d Runner) Query(ctx context.Context, name tool.Name, args command.Arguments) (tool.Outcome, error) {
	c, err := d.Prepare(name, args)
	if err != nil {
		return tool.Outcome{}, err
	}
	return d.Send(ctx, c)
}

// Glance is Query for an answer of which no more than about a page is shown.
func (d Runner) Glance(ctx context.Context, name tool.Name, args command.Arguments) (tool.Outcome, error) {
	c, err := d.Prepare(name, args)
	if err != nil {
		return tool.Outcome{}, err
	}
	c.MaxOutput = pageOutput
	return d.Send(ctx, c)
}

// Try calls a tool that changes something, so that it only shows what it would change.
func (d Runner) Try(ctx context.Context, name tool.Name, args command.Arguments) (tool.Outcome, error) {
	return d.try(ctx, name, args, maxOutput)
}

// TryGlance is Try for an answer of which no more than about a page is shown.
func (d Runner) TryGlance(ctx context.Context, name tool.Name, args command.Arguments) (tool.Outcome, error) {
	return d.try(ctx, name, args, pageOutput)
}

func (d Runner) try(ctx context.Context, name tool.Name, args command.Arguments, most int) (tool.Outcome, error) {
	c, err := d.Prepare(name, args)
	if err != nil {
		return tool.Outcome{}, err
	}
	c.MaxOutput = most
	if _, ok := c.takes["dry_run"]; ok {
		c.args["dry_run"] = true
	} else {
		c.args["yes"], c.Mode = true, policy.Plan
	}
	return d.send(ctx, c, d.Rehearse)
}

// DrawFunc shows the data of an answer.
type DrawFunc func(data json.RawMessage) error

// Tell shows a successful answer: its envelope, or its warnings, without those that were shown already, and what draw makes of its data.
func (d Runner) Tell(cmd *cobra.Command, o tool.Outcome, draw DrawFunc, shown ...string) error {
	if d.JSON {
		return d.PrintDocument(present.For(present.Agentpack)(o).Body)
	}
	report, err := DecodeData[struct {
		Data     json.RawMessage `json:"data"`
		Warnings []string        `json:"warnings"`
	}](o.Value)
	if err == nil {
		d.Screen().Warnings(slices.DeleteFunc(report.Warnings, func(w string) bool { return slices.Contains(shown, w) }))
		err = draw(report.Data)
	}
	if err != nil {
		return d.Failed(cmd, tool.Outcome{}, err)
	}
	return nil
}

// Look is a command that calls a tool and shows what it says.
func (d Runner) Look(cmd *cobra.Command, name tool.Name, args command.Arguments, draw DrawFunc) error {
	o, err := d.Query(cmd.Context(), name, args)
	if err != nil {
		return d.Failed(cmd, o, err)
	}
	return d.Tell(cmd, o, draw)
}

// change is a command that changes something.
type change struct {
	Tool tool.Name
	Args command.Arguments // empty texts, nil lists and false are left out
	Draw func(data json.RawMessage, done bool) error
	Idle func(data json.RawMessage) bool // nothing to change: nobody is asked; nil is never
}

// question is what a person is asked before something changes.
const question = "Approve?"

// Alter carries out a change: shown and asked about first, unless --yes answers or nobody can be asked. Where people approve, the question is the approval
// of the whole plan, and there is no other. It reports whether it was done.
func (d Runner) Alter(cmd *cobra.Command, c change) (done bool, err error) {
	ctx := cmd.Context()
	if !d.flags.dryRun && (d.JSON || d.Yes || !d.Interactive()) {
		return d.carryOut(cmd, c)
	}
	o, err := d.Try(ctx, c.Tool, c.Args)
	if err != nil {
		return false, d.Failed(cmd, o, err)
	}
	idle := c.Idle != nil && c.Idle(dataOf(o))
	if !idle && !d.flags.dryRun && d.PeopleApprove(ctx) { // who shows the whole plan before asking about it
		return d.carryOut(cmd, c)
	}
	if err := d.Tell(cmd, o, func(data json.RawMessage) error { return c.Draw(data, idle) }); err != nil || idle {
		return false, err
	}
	if d.flags.dryRun {
		d.Unchanged()
		return false, nil
	}
	yes, err := d.YesNo(ctx, question)
	switch {
	case err != nil:
		return false, d.Failed(cmd, tool.Outcome{}, err)
	case !yes:
		d.Line("nothing was changed")
		return false, nil
	}
	d.Yes = true // the person has answered: a confirmation on the way is answered, too
	return d.carryOut(cmd, c)
}

func (d Runner) carryOut(cmd *cobra.Command, c change) (bool, error) {
	args := maps.Clone(c.Args)
	if args == nil {
		args = command.Arguments{}
	}
	args["yes"] = d.Yes || d.PeopleApprove(cmd.Context())
	o, err := d.Query(cmd.Context(), c.Tool, args)
	if err != nil {
		return false, d.Failed(cmd, o, err)
	}
	return true, d.Tell(cmd, o, func(data json.RawMessage) error { return c.Draw(data, true) })
}

// PeopleApprove reports whether people approve: a tool's own yes says no more than that the change is wanted then, and the question is asked at the door,
// where it waits when nobody can be asked here.
func (d Runner) PeopleApprove(ctx context.Context) bool {
	_, unasked := d.ByCaller(ctx)
	return !unasked
}

// Unchanged says that nothing was changed because nothing was to be.
func (d Runner) Unchanged() {
	if !d.JSON {
		d.Note("dry run: nothing was changed")
	}
}

// dataOf is the data of a successful answer.
func dataOf(o tool.Outcome) json.RawMessage {
	var report struct {
		Data json.RawMessage `json:"data"`
	}
	_ = json.Unmarshal(o.Value, &report) // what shows the answer says so when it is not understood
	return report.Data
}

// HasReason reports whether the data gives one of these reasons for doing nothing.
func HasReason(reasons ...string) func(json.RawMessage) bool {
	return func(data json.RawMessage) bool {
		var d struct {
			Reason string `json:"reason"`
		}
		_ = json.Unmarshal(data, &d)
		return slices.Contains(reasons, d.Reason)
	}
}
