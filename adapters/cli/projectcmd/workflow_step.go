package projectcmd

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/adapters/present"
)

// stepSettings is when and how often a step is run, as flags say it.
type stepSettings struct {
	needs  []string
	atOnce bool
	retry  int
	delay  time.Duration
	files  []string

	inOrder, always bool // of a step that is there: what was said before is taken back
}

func (s *stepSettings) flags(c *cobra.Command) {
	c.Flags().StringArrayVar(&s.needs, "needs", nil, "wait for this step instead of all previous steps (repeatable)")
	c.Flags().BoolVar(&s.atOnce, "at-once", false, "do not wait for other steps")
	c.Flags().IntVar(&s.retry, "retry", 0, "number of retries, 0 to 10")
	c.Flags().DurationVar(&s.delay, "retry-delay", 0, "wait time before a retry (default 1s)")
	c.Flags().StringArrayVar(&s.files, "files", nil, "skip it if files of this pattern are unchanged since it last succeeded, for example 'src/**/*.ts' (repeatable)")
}

// into puts what was said among the arguments of a call.
func (s *stepSettings) into(cmd *cobra.Command, call command.Arguments) error {
	if s.atOnce && len(s.needs) > 0 {
		return command.ErrUsage.WithMessage("--at-once and --needs exclude each other")
	}
	set := map[string]any{}
	if s.atOnce {
		set["needs"] = []string{}
	} else if len(s.needs) > 0 {
		set["needs"] = s.needs
	}
	if s.inOrder {
		set["needs_all"] = true
	}
	if cmd.Flags().Changed("retry") {
		set["retry"] = s.retry
	}
	delay, err := command.Milliseconds("retry-delay", s.delay)
	if err != nil {
		return err
	}
	if cmd.Flags().Changed("retry-delay") {
		set["retry_delay_ms"] = delay
	}
	if s.always {
		set["files"] = []string{}
	} else if len(s.files) > 0 {
		set["files"] = s.files
	}
	if len(set) > 0 {
		call["settings"] = set
	}
	return nil
}

// read returns a workflow that a word names.
func (g workflowGroup) read(ctx context.Context, word string) (w flow, err error) {
	id, err := g.Runner.Workflow(ctx, word)
	if err == nil {
		_, err = g.Ask(ctx, "get_workflow", command.Arguments{"workflow_id": id}, &w)
	}
	return w, err
}

// steps completes the steps of the workflow that stands before.
func (g workflowGroup) steps(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return command.Complete(g.Workflows)(cmd, args, begun)
	}
	var out []cobra.Completion
	if len(args) == 1 {
		if id, err := g.Runner.Workflow(cmd.Context(), args[0]); err == nil {
			var w flow
			if g.Quietly(cmd.Context(), "get_workflow", command.Arguments{"workflow_id": id}, &w) {
				for _, n := range w.Nodes {
					out = command.Offer(out, n.Name, does(n), begun)
				}
			}
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

func (g workflowGroup) changeStep() *cobra.Command {
	var name, line, cwd string
	var order int
	var timeout time.Duration
	var set stepSettings
	c := &cobra.Command{Use: "change-step W STEP [-- COMMAND...]", Short: "Change a step, named by its number, name or id", ValidArgsFunction: g.steps,
		Example: `  countersign workflow change-step release test --timeout 20m
  countersign workflow change-step release build -- {pm} run build
  countersign workflow change-step release docs --at-once`}
	c.Flags().StringVar(&name, "name", "", "new name")
	c.Flags().StringVar(&line, "command", "", "command line for /bin/sh, instead of words after --")
	c.Flags().StringVar(&cwd, "cwd", "", "working directory inside the project; empty: the project")
	c.Flags().IntVar(&order, "order", 0, "new position among the steps, from 1")
	c.Flags().DurationVar(&timeout, "timeout", 0, "timeout")
	c.Flags().BoolVar(&set.inOrder, "in-order", false, "wait for all previous steps again")
	c.Flags().BoolVar(&set.always, "always", false, "run it even if its files are unchanged")
	set.flags(c)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		args, words := behindDash(cmd, args)
		switch {
		case len(args) != 2:
			return command.Usage(cmd, "give a workflow and a step")
		case line != "" && len(words) > 0:
			return command.Usage(cmd, "give the command after --, or with --command")
		case set.always && len(set.files) > 0:
			return command.Usage(cmd, "--always and --files exclude each other")
		case line == "":
			line = spoken(words)
		}
		call, err := placed(cmd, command.Arguments{}.Set("name", name).Set("command", line), order)
		if err != nil {
			return err
		}
		if err := set.into(cmd, call); err != nil {
			return err
		}
		if cmd.Flags().Changed("cwd") {
			call["cwd"] = cwd
		}
		if timeout != 0 {
			if call["timeout"], err = command.Milliseconds("timeout", timeout); err != nil {
				return err
			}
		}
		if len(call) == 0 {
			return command.Usage(cmd, "nothing to change; give a command or a flag")
		}
		return g.sendStep(cmd.Context(), args, call)
	}
	return c
}

func (g workflowGroup) moveStep() *cobra.Command {
	return &cobra.Command{Use: "move-step W STEP PLACE", Short: "Move a step to another position (1: first)", Args: command.Args(3, 3), ValidArgsFunction: g.steps,
		RunE: func(cmd *cobra.Command, args []string) error {
			place, err := strconv.Atoi(args[2])
			if err != nil || place < 1 {
				return command.Usage(cmd, "invalid position %q; the first is 1", args[2])
			}
			return g.sendStep(cmd.Context(), args, command.Arguments{"order": place - 1})
		}}
}

// sendStep changes the step that the words name.
func (g workflowGroup) sendStep(ctx context.Context, words []string, call command.Arguments) error {
	w, err := g.read(ctx, words[0])
	if err != nil {
		return err
	}
	call["workflow_id"] = w.ID
	if call["node_id"], err = w.step(words[1]); err != nil {
		return err
	}
	if set, said := call["settings"].(map[string]any); said {
		needs, _ := set["needs"].([]string)
		for i, word := range needs {
			if needs[i], err = w.step(word); err != nil {
				return err
			}
		}
	}
	return command.CallAndShow(ctx, g.Runner, "change_workflow_step", call, func(changed struct {
		Name  string `json:"name"`
		Order int    `json:"order"`
	}) {
		g.Line("step %d: %s", changed.Order+1, command.Plain(changed.Name))
	})
}

func (g workflowGroup) setInput() *cobra.Command {
	in := present.WorkflowInput{}
	var preset string
	c := &cobra.Command{Use: "set-input W NAME", Short: "Add or change an input; steps read it from the environment variable NAME", Args: command.Args(2, 2),
		ValidArgsFunction: command.Complete(g.Workflows, nil),
		Example: `  countersign workflow set-input release VERSION
  countersign workflow set-input release TARGET --type choice --choice staging --choice production --default staging`}
	c.Flags().StringVar(&in.Type, "type", "", "string, number, boolean or choice (default string)")
	c.Flags().StringVar(&preset, "default", "", "default value (without it, each execution must set one)")
	c.Flags().StringArrayVar(&in.Choices, "choice", nil, "value of a choice (repeatable)")
	c.Flags().StringVar(&in.Description, "description", "", "description, in one sentence")
	_ = c.RegisterFlagCompletionFunc("type", cobra.FixedCompletions([]cobra.Completion{"string", "number", "boolean", "choice"}, cobra.ShellCompDirectiveNoFileComp)) // the flag is there, and is registered once
	c.RunE = func(cmd *cobra.Command, args []string) error {
		w, err := g.read(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		if in.Name = args[1]; cmd.Flags().Changed("default") {
			in.Default = &preset
		}
		at := slices.IndexFunc(w.Inputs, func(have present.WorkflowInput) bool { return have.Name == in.Name })
		if at < 0 {
			w.Inputs = append(w.Inputs, in)
		} else {
			w.Inputs[at] = in
		}
		return g.sendInputs(cmd.Context(), w)
	}
	return c
}

func (g workflowGroup) removeInput() *cobra.Command {
	return &cobra.Command{Use: "remove-input W NAME", Short: "Remove an input from a workflow", Args: command.Args(2, 2), ValidArgsFunction: command.Complete(g.Workflows, nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			w, err := g.read(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			left := slices.DeleteFunc(slices.Clone(w.Inputs), func(in present.WorkflowInput) bool { return in.Name == args[1] })
			if len(left) == len(w.Inputs) {
				return command.ErrUnknown.WithMessage("workflow %q has no input %q", w.Name, args[1]).WithDetails(command.Hint("countersign workflow show lists its inputs"))
			}
			w.Inputs = left
			return g.sendInputs(cmd.Context(), w)
		}}
}

// sendInputs puts inputs in place of those that the workflow has.
func (g workflowGroup) sendInputs(ctx context.Context, w flow) error {
	if w.Inputs == nil {
		w.Inputs = []present.WorkflowInput{}
	}
	return command.CallAndShow(ctx, g.Runner, "workflow_change", command.Arguments{"workflow_id": w.ID, "inputs": w.Inputs}, func(c changed) {
		g.Line("%s has %s", command.Plain(c.Name), plural(len(w.Inputs), "input"))
	})
}
