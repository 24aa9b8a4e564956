package ecocmd

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// group is the commands of one shell.
type group struct {
	View
	ecosystem string // --ecosystem
	dryRun    bool
	detach    bool
}

// NewRunner returns the runner of a shell.
func NewRunner(s *command.Shell) command.Runner {
	return command.Runner{Shell: s, Words: command.Words{Text: CommandText, Hint: hint, Details: drawDetails}}
}

// Command is countersign eco.
func Command(s *command.Shell) *cobra.Command {
	g := &group{View: View{Runner: NewRunner(s)}}
	c := command.Group("eco", "Work on several repositories as one: install, tickets, spin, release")
	c.AddGroup(&cobra.Group{ID: "what", Title: "Ecosystems:"}, &cobra.Group{ID: "work", Title: "The workspace:"}, &cobra.Group{ID: "ship", Title: "Deploy and release:"},
		&cobra.Group{ID: "watch", Title: "Monitor:"})
	add := func(group string, commands ...*cobra.Command) {
		for _, below := range commands {
			below.GroupID = group
			c.AddCommand(below)
		}
	}
	add("what", g.create(), g.list(), g.use(), g.describe(), g.validate(), g.journal())
	add("work", g.install(), g.status(), g.sync(), shown(command.Group("ticket", "Work on tickets: a feature branch across the repositories", g.tickets()...), "ticket start PROJ-12", "ticket list"), g.push(),
		g.exec(), g.commands(), g.archive(), g.discard(), g.trash(), g.restore())
	add("ship", shown(command.Group("spin", "Deploy an ecosystem's environment, and take it down", g.environments()...), "spin deploy --dry-run", "spin status"),
		shown(command.Group("release", "Release an ecosystem: the same version in every repository", g.release()...), "release status", "release bump patch --pre alpha --dry-run"))
	add("watch", shown(command.Group("runs", "List, follow and cancel runs", g.runs()...), "runs list", "runs logs 1a2b3c4d --follow"), g.policy())
	c.Aliases = []string{"ecosystem"}
	c.Long = "Work on several repositories as one. An ecosystem is ecosystems/NAME/ecosystem.yaml in a workspace root: the directory in AMOF_WORKSPACE_ROOT, or the " +
		"nearest parent directory that has ecosystems/. Long operations are runs, which continue if this command is interrupted; see countersign eco runs."
	c.Example = `  countersign eco create shop --repo api=git@github.com:acme/api.git --repo web=git@github.com:acme/web.git
  countersign eco install shop
  countersign eco ticket start PROJ-12
  countersign eco release bump patch --pre alpha --dry-run`
	c.PersistentFlags().StringVarP(&g.ecosystem, "ecosystem", "e", "", "ecosystem (default: the one selected with eco use)")
	g.completed(c, "ecosystem", g.names)
	return c
}

// about returns the arguments of a call about the ecosystem that is named: as the argument, or by --ecosystem.
func (g *group) about(args []string) command.Arguments {
	name := g.ecosystem
	if len(args) > 0 && args[0] != "" {
		name = args[0]
	}
	return command.Arguments{}.Set("ecosystem", name)
}

// look makes a call that only reads, and shows its answer.
func (g *group) look(ctx context.Context, name tool.Name, args command.Arguments, draw func(answer)) error {
	o, err := g.Send(ctx, name, args, nil)
	if err != nil {
		return g.failed(o, err)
	}
	return g.Outcome(o, draw)
}

// do makes a call that changes something, in mode execute or plan, and follows its run.
func (g *group) do(ctx context.Context, name tool.Name, args command.Arguments, draw func(answer)) error {
	args["mode"] = "execute"
	if g.dryRun {
		args["mode"] = "plan"
	}
	o, err := g.Send(ctx, name, args, nil)
	if err != nil {
		return g.failed(o, err)
	}
	a := ParseAnswer(o.Value)
	id := a.Word("run_id")
	if a.Word("status") != "queued" || id == "" || g.dryRun || g.JSON && g.detach {
		return g.Outcome(o, draw)
	}
	if g.detach {
		g.Line("%s", command.Plain(brief(id)))
		g.Note("to follow it: countersign eco runs logs %s --follow", brief(id))
		return nil
	}
	g.Note("run %s; it continues if you interrupt this command (to follow it: countersign eco runs logs %s --follow)", brief(id), brief(id))
	return g.follow(ctx, id, mostEvents)
}

// drawDetails shows single repositories and problems.
func drawDetails(d command.Runner, err error) {
	var details map[string]any
	if !command.FailureDetails(err, &details) {
		return
	}
	a := answer(details)
	problems(a, d.Note)
	for _, r := range a.List("repos") {
		if p := r.Word("problem"); p != "" {
			d.Note("  %s: %s", command.Plain(r.Word("name")), command.Plain(CommandText(p)))
		}
	}
}

// failed is Refused, with the ecosystems that could have been selected.
func (g *group) failed(o tool.Outcome, err error) error { return g.Refused(o, g.unselected(o, err)) }

// unselected names the ecosystems that there are to somebody who named and selected none.
func (g *group) unselected(o tool.Outcome, err error) error {
	f := fault.From(err)
	if f == nil || f.Code != "eco_no_ecosystem" || g.JSON || o.Spec.Name == "amof_list_ecosystems" {
		return err
	}
	looked, failed := g.Send(context.Background(), "amof_list_ecosystems", command.Arguments{}, quiet)
	if failed != nil {
		return err
	}
	var names []string
	for _, e := range ParseAnswer(looked.Value).List("ecosystems") {
		names = append(names, e.Word("name"))
	}
	switch len(names) {
	case 0:
		return f.WithMessage("no ecosystems in %s", ParseAnswer(looked.Value).Word("workspace_root")).WithDetails(command.Hint("to create one: countersign eco create NAME --repo NAME=URL"))
	case 1:
		return f.WithDetails(command.Hint("countersign eco use " + names[0] + " to select the only one"))
	}
	return f.WithDetails(command.Hint("select one with countersign eco use NAME: " + strings.Join(names, ", ")))
}

// reading returns a command [ECOSYSTEM] that makes one call that only reads.
func (g *group) reading(use, short string, name tool.Name, draw func(answer)) *cobra.Command {
	c := g.named(use, short)
	c.RunE = func(cmd *cobra.Command, args []string) error { return g.look(cmd.Context(), name, g.about(args), draw) }
	return c
}

// changing returns a command [ECOSYSTEM] that makes one call that changes something; with fills in the flags.
func (g *group) changing(use, short string, name tool.Name, with func(command.Arguments)) *cobra.Command {
	c := g.named(use, short)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		a := g.about(args)
		if with != nil {
			with(a)
		}
		return g.do(cmd.Context(), name, a, nil)
	}
	return g.running(c)
}

// dry gives a command that changes something --dry-run.
func (g *group) dry(c *cobra.Command) *cobra.Command {
	c.Flags().BoolVar(&g.dryRun, "dry-run", false, "show the plan without applying it")
	return c
}

// running gives a command whose work is a run --dry-run and --detach.
func (g *group) running(c *cobra.Command) *cobra.Command {
	c.Flags().BoolVar(&g.detach, "detach", false, "do not wait for the run; print its ID")
	return g.dry(c)
}

// named returns a command that takes [ECOSYSTEM].
func (g *group) named(use, short string) *cobra.Command {
	return &cobra.Command{Use: use + " [ECOSYSTEM]", Short: short, Args: command.Args(0, 1), ValidArgsFunction: command.Complete(g.names)}
}

// shown gives a command its examples.
func shown(c *cobra.Command, examples ...string) *cobra.Command {
	for i, e := range examples {
		if i > 0 {
			c.Example += "\n"
		}
		c.Example += "  countersign eco " + e
	}
	return c
}

// on puts those flags in that were given.
func on(a command.Arguments, flags map[string]bool) {
	for name, given := range flags {
		if given {
			a[name] = true
		}
	}
}

func set(a command.Arguments, name string, values []string) {
	if len(values) > 0 {
		a[name] = values
	}
}
