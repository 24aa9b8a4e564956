// Package ecocmd is countersign eco: ecosystems of several repositories for people. A command calls one tool in mode execute, or plan with
// --dry-run, and follows the run that carries it out.
//
// It refuses to know what the tools do.
package ecocmd

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/projectcmd/workdesk"
	"github.com/countersign-dev/countersign/adapters/cli/shell"
	"github.com/countersign-dev/countersign/adapters/cli/terminal"
	"github.com/countersign-dev/countersign/domain/tool"
)

// group is the commands of one shell.
type group struct {
	workdesk.Desk
	ecosystem string // --ecosystem
	dryRun    bool
	detach    bool
}

// Commands is countersign eco.
func Commands(s *shell.Shell) *cobra.Command {
	g := &group{Desk: workdesk.Desk{Shell: s}}
	c := workdesk.Group("eco", "Work on several repositories as one: install, tickets, spin, release",
		g.create(), g.simple("list", "List the ecosystems of this workspace", "amof_list_ecosystems", nil), g.use(), g.describe(), g.validate(), g.status(),
		g.install(), g.sync(), g.push(), g.archive(), g.discard(), g.restore(), g.trash(), g.journal(),
		workdesk.Group("ticket", "Work on tickets: a feature branch across the repositories", g.tickets()...),
		workdesk.Group("spin", "Deploy an ecosystem's environment, and take it down", g.spin()...),
		workdesk.Group("release", "Release an ecosystem: the same version in every repository", g.release()...),
		workdesk.Group("runs", "Follow what is carried out", g.runs()...),
		g.simple("policy", "Show how every tool is treated in each mode", "amof_policy", nil))
	c.Aliases = []string{"ecosystem"}
	c.Long = "Work on several repositories as one. An ecosystem is ecosystems/NAME/ecosystem.yaml in a workspace root: the directory that AMOF_WORKSPACE_ROOT names, or the\n" +
		"nearest one from here up that has ecosystems/. Long work is a run that goes on when this command is interrupted; countersign eco runs follows it."
	c.Example = `  countersign eco create shop --repo api=git@github.com:acme/api.git --repo web=git@github.com:acme/web.git
  countersign eco install shop
  countersign eco ticket start PROJ-12
  countersign eco release bump patch --pre alpha --dry-run`
	c.PersistentFlags().StringVarP(&g.ecosystem, "ecosystem", "e", "", "the ecosystem (default: the one that eco use selected)")
	c.PersistentFlags().BoolVar(&g.dryRun, "dry-run", false, "show what would be done, and do nothing")
	c.PersistentFlags().BoolVar(&g.detach, "detach", false, "do not wait for the run; print its id")
	_ = c.RegisterFlagCompletionFunc("ecosystem", func(cmd *cobra.Command, _ []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return g.names(cmd.Context(), begun), cobra.ShellCompDirectiveNoFileComp
	})
	return c
}

// names completes ecosystems.
func (g *group) names(ctx context.Context, begun string) []cobra.Completion {
	var all struct {
		Ecosystems []struct{ Name, Description string } `json:"ecosystems"`
	}
	o, err := g.Send(ctx, "amof_list_ecosystems", workdesk.Arguments{}, nil)
	if err != nil || workdesk.Read(o, &all) != nil {
		return nil
	}
	var out []cobra.Completion
	for _, e := range all.Ecosystems {
		if strings.HasPrefix(e.Name, begun) {
			out = append(out, cobra.CompletionWithDesc(e.Name, e.Description))
		}
	}
	return out
}

// about is the arguments of a call about the ecosystem that is named: as the argument, or by --ecosystem.
func (g *group) about(args []string) workdesk.Arguments {
	name := g.ecosystem
	if len(args) > 0 && args[0] != "" {
		name = args[0]
	}
	return workdesk.Arguments{}.Set("ecosystem", name)
}

// look makes a call that only reads, and shows its answer.
func (g *group) look(ctx context.Context, name tool.Name, args workdesk.Arguments) error {
	o, err := g.Send(ctx, name, args, nil)
	if err != nil {
		return g.failed(o, err)
	}
	return g.Show(o)
}

// do makes a call that changes something, in mode execute or plan, and follows its run.
func (g *group) do(ctx context.Context, name tool.Name, args workdesk.Arguments) error {
	args["mode"] = "execute"
	if g.dryRun {
		args["mode"] = "plan"
	}
	o, err := g.Send(ctx, name, args, nil)
	if err != nil {
		return g.failed(o, err)
	}
	var queued struct {
		Status string `json:"status"`
		RunID  string `json:"run_id"`
	}
	if json.Unmarshal(o.Value, &queued) != nil || queued.Status != "queued" || g.detach || g.dryRun {
		return g.Show(o)
	}
	return g.follow(ctx, queued.RunID)
}

// failed shows what a failure says beside its message: as JSON, or single repositories and problems for people.
func (g *group) failed(o tool.Outcome, err error) error {
	var said struct {
		Errors []struct{ Path, Message, Fix string } `json:"errors"`
		Repos  []struct{ Name, Problem string }      `json:"repos"`
	}
	if !g.JSON && workdesk.Details(err, &said) {
		for _, p := range said.Errors {
			g.Note("  %s: %s (%s)", terminal.Plain(p.Path), terminal.Plain(p.Message), terminal.Plain(p.Fix))
		}
		for _, r := range said.Repos {
			if r.Problem != "" {
				g.Note("  %s: %s", terminal.Plain(r.Name), terminal.Plain(r.Problem))
			}
		}
	}
	return g.Fail(o, explain(err))
}

// simple is a command without arguments of its own that makes one call that only reads.
func (g *group) simple(use, short string, name tool.Name, args workdesk.Arguments) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Args: shell.Args(0, 0), Example: "  countersign eco " + use}
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		if args == nil {
			args = workdesk.Arguments{}
		}
		return g.look(cmd.Context(), name, args)
	}
	return c
}

// reading is a command [ECOSYSTEM] that makes one call that only reads.
func (g *group) reading(use, short string, name tool.Name) *cobra.Command {
	c := g.named(use, short)
	c.RunE = func(cmd *cobra.Command, args []string) error { return g.look(cmd.Context(), name, g.about(args)) }
	return c
}

// changing is a command [ECOSYSTEM] that makes one call that changes something; with fills in the flags.
func (g *group) changing(use, short string, name tool.Name, with func(workdesk.Arguments)) *cobra.Command {
	c := g.named(use, short)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		a := g.about(args)
		if with != nil {
			with(a)
		}
		return g.do(cmd.Context(), name, a)
	}
	return c
}

// named is a command that takes [ECOSYSTEM].
func (g *group) named(use, short string) *cobra.Command {
	return &cobra.Command{Use: use + " [ECOSYSTEM]", Short: short, Args: shell.Args(0, 1), Example: "  countersign eco " + use + " shop",
		ValidArgsFunction: workdesk.Complete(g.names)}
}

// exit is the end of a run for scripts.
func exit(code int) error {
	if code == 0 {
		return nil
	}
	return shell.Exit(code)
}
