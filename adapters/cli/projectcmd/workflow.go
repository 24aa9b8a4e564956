package projectcmd

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/adapters/present"
)

// workflowGroup is the commands at one workdesk.
type workflowGroup struct{ Runner }

// WorkflowCommand returns the command group workflow.
func WorkflowCommand(d Runner) *cobra.Command {
	g := workflowGroup{d}
	c := command.Group("workflow", "Define workflows, run them, and show their executions", g.list(), g.show(), g.create(), g.addStep(), g.addWorkflow(),
		g.changeStep(), g.moveStep(), g.removeStep(), g.setInput(), g.removeInput(), g.run(), g.rename(), g.remove(), g.history(), g.webhook(), g.incoming())
	c.Long = "Define steps, run them in order until one fails, and show the executions. A step can name the steps it needs; independent steps run\n" +
		"in parallel. A workflow can have inputs, which its steps read from their environment.\n\n" +
		"Refer to a workflow by its ID, the beginning of its ID, or its name."
	c.Example = `  countersign workflow create release
  countersign workflow add-step release test -- {pm} test
  countersign workflow add-step release build --command "{pm} run build && du -sh dist"
  countersign workflow set-input release VERSION --description "what to release"
  countersign workflow run release --input VERSION=1.2.0`
	return c
}

// flow is a workflow as get_workflow answers it.
type flow struct {
	ID          string         `json:"id"`
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Project     string         `json:"projectId"`
	Nodes       []present.Step `json:"nodes"`

	Inputs  []present.WorkflowInput `json:"inputs"`
	Webhook *struct {
		Enabled bool              `json:"enabled"`
		URL     string            `json:"url"`
		Trigger string            `json:"trigger"`
		Headers map[string]string `json:"headers"`
	} `json:"webhook"`
	Incoming *struct {
		Enabled bool  `json:"enabled"`
		Signed  bool  `json:"requireSignature"`
		Allowed int64 `json:"approvedRevision"`
	} `json:"incomingWebhook"`
	Updated  time.Time `json:"updatedAt"`
	Ran      time.Time `json:"lastExecutedAt"`
	Revision int64     `json:"revision"`
}

// does returns what a step does, in one line.
func does(s present.Step) string {
	if starts := s.Starts(); starts != "" {
		return "starts workflow " + s.Config.Target + ", " + starts
	}
	return s.Config.Command
}

func (g workflowGroup) list() *cobra.Command {
	var project string
	c := &cobra.Command{Use: "list", Short: "List workflows, most recently changed first", Args: command.Args(0, 0)}
	g.ProjectFlag(c, &project, "only workflows of this project")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		call := command.Arguments{}
		if project != "" {
			p, err := g.Project(cmd.Context(), project)
			if err != nil {
				return err
			}
			call["project_id"] = p.ID
		}
		return command.CallAndShow(cmd.Context(), g.Runner, "list_workflows", call, func(found struct {
			Workflows []struct {
				ID      string    `json:"id"`
				Name    string    `json:"name"`
				Steps   int       `json:"stepCount"`
				Project string    `json:"projectId"`
				Ran     time.Time `json:"lastExecutedAt"`
			} `json:"workflows"`
		}) {
			if len(found.Workflows) == 0 {
				g.Note("no workflows; start one with: countersign workflow create NAME")
				return
			}
			names := g.ProjectNames(cmd.Context())
			var rows [][]string
			for _, w := range found.Workflows {
				rows = append(rows, []string{w.ID, w.Name, strconv.Itoa(w.Steps), names[w.Project], command.Age(w.Ran)})
			}
			g.Table([]string{"id", "name", "steps", "project", "last run"}, rows)
		})
	}
	return c
}

func (g workflowGroup) show() *cobra.Command {
	return &cobra.Command{Use: "show W", Short: "Show a workflow with its steps", Args: command.Args(1, 1), ValidArgsFunction: command.Complete(g.Workflows),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := g.Runner.Workflow(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return command.CallAndShow(cmd.Context(), g.Runner, "get_workflow", command.Arguments{"workflow_id": id}, func(w flow) {
				g.drawFlow(w, g.ProjectNames(cmd.Context())[w.Project])
			})
		}}
}

func (g workflowGroup) drawFlow(w flow, project string) {
	outgoing, incoming := "", ""
	if w.Webhook != nil && w.Webhook.Enabled {
		outgoing = w.Webhook.Trigger + ": " + w.Webhook.URL
	}
	if w.Incoming != nil && w.Incoming.Enabled {
		incoming = "enabled, with its token"
		if w.Incoming.Signed {
			incoming += " and a signature"
		}
		if w.Incoming.Allowed != w.Revision {
			incoming += "; off because the workflow changed; to enable it again: countersign workflow incoming"
		}
	}
	g.Pairs(command.Pair{Name: "name", Value: w.Name}, command.Pair{Name: "id", Value: w.ID}, command.Pair{Name: "description", Value: w.Description},
		command.Pair{Name: "project", Value: project}, command.Pair{Name: "last run", Value: command.Age(w.Ran)}, command.Pair{Name: "webhook", Value: outgoing},
		command.Pair{Name: "incoming", Value: incoming})
	if len(w.Inputs) > 0 {
		g.Line("")
		var rows [][]string
		for _, in := range w.Inputs {
			preset := "(required)"
			if in.Default != nil {
				preset = *in.Default
			}
			rows = append(rows, []string{in.Name, in.Takes(), preset, in.Description})
		}
		g.Table([]string{"input", "takes", "default", "description"}, rows)
	}
	if len(w.Nodes) == 0 {
		g.Note("no steps; add one with: countersign workflow add-step %s NAME -- COMMAND", command.Plain(present.CommandLine([]string{w.Name})))
		return
	}
	g.Line("")
	var rows [][]string
	names := w.stepNames()
	for i, n := range w.Nodes {
		limit := ""
		if n.Config.Timeout > 0 {
			limit = command.Took(n.Config.Timeout)
		}
		rows = append(rows, []string{strconv.Itoa(i + 1), n.Name, does(n), n.Config.Cwd, limit, n.When(names)})
	}
	g.Table([]string{"#", "step", "command", "in", "time limit", "when"}, rows)
}

// stepNames returns the names of the steps by their ids.
func (w flow) stepNames() map[string]string {
	out := map[string]string{}
	for _, n := range w.Nodes {
		out[n.ID] = n.Name
	}
	return out
}

func (g workflowGroup) create() *cobra.Command {
	var project, description string
	var global bool
	c := &cobra.Command{Use: "create NAME", Short: "Create a workflow without steps", Args: command.Args(1, 1), ValidArgsFunction: cobra.NoFileCompletions}
	g.ProjectFlag(c, &project, "project (default: the project of the working directory)")
	c.Flags().BoolVar(&global, "global", false, "no project; each step sets its working directory")
	c.Flags().StringVar(&description, "description", "", "description, in one sentence")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		of, err := g.Owner(cmd.Context(), project, global)
		if err != nil {
			return err
		}
		call := command.Arguments{"name": args[0]}.Set("description", description).Set("project_id", of.ID)
		return command.CallAndShow(cmd.Context(), g.Runner, "create_workflow", call, func(made struct {
			ID      string `json:"workflowId"`
			Warning string `json:"warning"`
		}) {
			g.Line("%s", made.ID)
			if made.Warning != "" {
				g.Note("warning: %s", command.Plain(made.Warning))
			}
			where := "in project " + command.Plain(of.Name)
			if of.ID == "" {
				where = "in no project"
			}
			g.Note("workflow %s, %s; next: countersign workflow add-step %s NAME -- COMMAND", command.Plain(args[0]), where, command.Plain(present.CommandLine(args[:1])))
		})
	}
	return c
}

func (g workflowGroup) addStep() *cobra.Command {
	var line, cwd string
	var order int
	var timeout time.Duration
	var set stepSettings
	c := &cobra.Command{Use: "add-step W NAME -- COMMAND...", Short: "Add a command as a step of a workflow", ValidArgsFunction: command.Complete(g.Workflows, nil),
		Long: "Add a command as a step of a workflow: words after --, run without a shell, or with --command a shell line with pipes and &&.\n" +
			"{pm} is replaced with the project's package manager.",
		Example: `  countersign workflow add-step release test -- {pm} test
  countersign workflow add-step release build --command "{pm} run build && du -sh dist"
  countersign workflow add-step release lint --order 1 -- {pm} run lint
  countersign workflow add-step release docs --needs test --retry 2 -- {pm} run docs
  countersign workflow add-step release bundle --files 'src/**' -- {pm} run bundle`}
	c.Flags().StringVar(&line, "command", "", "command line for /bin/sh, instead of words after --")
	c.Flags().StringVar(&cwd, "cwd", "", "working directory inside the project (default: the project)")
	c.Flags().IntVar(&order, "order", 0, "position among the steps, from 1 (default: last)")
	c.Flags().DurationVar(&timeout, "timeout", 0, "timeout (default 5m)")
	set.flags(c)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		args, words := behindDash(cmd, args)
		switch {
		case len(args) != 2:
			return command.Usage(cmd, "give a workflow and a step name before --")
		case (line == "") == (len(words) == 0):
			return command.Usage(cmd, "give the command after --, or with --command")
		case line == "":
			line = spoken(words)
		}
		call, err := placed(cmd, command.Arguments{"name": args[1], "command": line}.Set("cwd", cwd), order)
		if err != nil {
			return err
		}
		if call["timeout"], err = command.Milliseconds("timeout", timeout); err != nil {
			return err
		}
		if timeout == 0 {
			delete(call, "timeout")
		}
		if err := set.into(cmd, call); err != nil {
			return err
		}
		if call["workflow_id"], err = g.Runner.Workflow(cmd.Context(), args[0]); err != nil {
			return err
		}
		return command.CallAndShow(cmd.Context(), g.Runner, "add_workflow_step", call, func(added struct {
			Name  string `json:"name"`
			Order int    `json:"order"`
		}) {
			g.Line("step %d: %s", added.Order+1, command.Plain(added.Name))
		})
	}
	return c
}

// spoken is words as a command line; {pm} and <placeholders> stay as they are.
func spoken(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = w
		if !strings.Contains(w, "{pm}") {
			out[i] = present.CommandLine([]string{w})
		}
	}
	return strings.Join(out, " ")
}

// behindDash takes arguments apart at --.
func behindDash(cmd *cobra.Command, args []string) (before, after []string) {
	if at := cmd.ArgsLenAtDash(); at >= 0 {
		return args[:at], args[at:]
	}
	return args, nil
}

// placed puts a step's place among the arguments, as tools count: from 0.
func placed(cmd *cobra.Command, call command.Arguments, order int) (command.Arguments, error) {
	if !cmd.Flags().Changed("order") {
		return call, nil
	}
	if order < 1 {
		return nil, command.ErrUsage.WithMessage("invalid --order %d; the first is 1", order)
	}
	call["order"] = order - 1
	return call, nil
}

// changed is a workflow after a change.
type changed struct {
	Name  string `json:"name"`
	Steps int    `json:"stepCount"`
}

func (g workflowGroup) addWorkflow() *cobra.Command {
	var order int
	var noWait, goOn bool
	c := &cobra.Command{Use: "add-workflow W NAME TARGET", Short: "Add another workflow as a step", Args: command.Args(3, 3),
		ValidArgsFunction: command.Complete(g.Workflows, nil, g.Workflows)}
	c.Flags().IntVar(&order, "order", 0, "position among the steps, from 1 (default: last)")
	c.Flags().BoolVar(&noWait, "no-wait", false, "run it last, and ignore its result")
	c.Flags().BoolVar(&goOn, "continue-on-failure", false, "continue if it fails")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		call, err := placed(cmd, command.Arguments{"name": args[1]}, order)
		if err != nil {
			return err
		}
		for flag, set := range map[string]bool{"no_wait": noWait, "continue_on_failure": goOn} {
			if set {
				call[flag] = true
			}
		}
		if call["workflow_id"], err = g.Runner.Workflow(cmd.Context(), args[0]); err != nil {
			return err
		}
		if call["target_workflow_id"], err = g.Runner.Workflow(cmd.Context(), args[2]); err != nil {
			return err
		}
		return command.CallAndShow(cmd.Context(), g.Runner, "workflow_trigger_add", call, func(w changed) {
			g.Line("%s has %d steps", command.Plain(w.Name), w.Steps)
		})
	}
	return c
}

func (g workflowGroup) rename() *cobra.Command {
	var description string
	var keep int
	c := &cobra.Command{Use: "rename W [NAME]", Short: "Change a workflow's name, description or number of kept executions", Args: command.Args(1, 2), ValidArgsFunction: command.Complete(g.Workflows, nil)}
	c.Flags().StringVar(&description, "description", "", "description, in one sentence")
	c.Flags().IntVar(&keep, "keep", 0, "executions to keep, 1 to 500 (default 50)")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		call := command.Arguments{}.Set("description", description)
		if len(args) > 1 {
			call["name"] = args[1]
		}
		if cmd.Flags().Changed("keep") {
			call["max_history"] = keep
		}
		if len(call) == 0 {
			return command.Usage(cmd, "nothing to change; give a name, --description or --keep")
		}
		var err error
		if call["workflow_id"], err = g.Runner.Workflow(cmd.Context(), args[0]); err != nil {
			return err
		}
		return command.CallAndShow(cmd.Context(), g.Runner, "workflow_change", call, func(w changed) { g.Line("changed %s", command.Plain(w.Name)) })
	}
	return c
}

func (g workflowGroup) remove() *cobra.Command {
	return &cobra.Command{Use: "remove W", Short: "Delete a workflow; keep its executions", Args: command.Args(1, 1), ValidArgsFunction: command.Complete(g.Workflows),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := g.Runner.Workflow(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return command.CallAndShow(cmd.Context(), g.Runner, "workflow_remove", command.Arguments{"workflow_id": id}, func(w changed) { g.Line("deleted %s", command.Plain(w.Name)) })
		}}
}

func (g workflowGroup) removeStep() *cobra.Command {
	return &cobra.Command{Use: "remove-step W STEP", Short: "Remove a step, by its number, name or id", Args: command.Args(2, 2), ValidArgsFunction: command.Complete(g.Workflows, nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			id, err := g.Runner.Workflow(ctx, args[0])
			if err != nil {
				return err
			}
			var w flow
			if _, err := g.Ask(ctx, "get_workflow", command.Arguments{"workflow_id": id}, &w); err != nil {
				return err
			}
			step, err := w.step(args[1])
			if err != nil {
				return err
			}
			return command.CallAndShow(ctx, g.Runner, "workflow_step_remove", command.Arguments{"workflow_id": id, "node_id": step}, func(w changed) {
				g.Line("%s has %d steps left", command.Plain(w.Name), w.Steps)
			})
		}}
}

// step returns the id of the step that a word names: its id, its name, or its number from 1.
func (w flow) step(word string) (string, error) {
	var fits []string
	for i, n := range w.Nodes {
		switch {
		case n.ID == word:
			return n.ID, nil
		case strings.EqualFold(n.Name, word), word == strconv.Itoa(i+1):
			fits = append(fits, n.ID)
		}
	}
	switch len(fits) {
	case 1:
		return fits[0], nil
	case 0:
		return "", command.ErrUnknown.WithMessage("workflow %q has no step %q", w.Name, word).WithDetails(command.Hint("countersign workflow show lists its steps"))
	}
	return "", command.ErrAmbiguous.WithMessage("%q names more than one step of workflow %q", word, w.Name).WithDetails(command.Hint("use its ID: " + strings.Join(fits, ", ")))
}

// plural returns a count with its word.
func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}
