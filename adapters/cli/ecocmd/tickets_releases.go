package ecocmd

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/domain/tool"
)

// ofTicket returns a command TICKET that changes something; next says how to go on behind it.
func (g *group) ofTicket(use, short string, name tool.Name, complete command.Completer, with func(command.Arguments), next ...string) *cobra.Command {
	c := &cobra.Command{Use: use + " TICKET", Short: short, Args: command.Args(1, 1), ValidArgsFunction: command.Complete(complete)}
	c.RunE = func(cmd *cobra.Command, args []string) error {
		a := g.about(nil)
		if len(args) > 0 {
			a["ticket_id"] = args[0]
		}
		if with != nil {
			with(a)
		}
		return g.do(cmd.Context(), name, a, func(a answer) {
			g.Ticket(a)
			for _, line := range next {
				if !g.dryRun {
					g.Note("next: %s", line)
				}
			}
		})
	}
	return g.dry(c)
}

func (g *group) tickets() []*cobra.Command {
	var repos []string
	var cleanup string
	var force bool
	start := g.ofTicket("start", "Start a ticket: its branch in a worktree of every repository", "amof_ticket_start", nil, func(a command.Arguments) { set(a, "repos", repos) },
		"commit in these worktrees, then countersign eco ticket pr, or countersign eco ticket merge --push")
	start.Flags().StringSliceVar(&repos, "repo", nil, "only this repository (repeatable)")
	g.completed(start, "repo", func(ctx context.Context, begun string) []cobra.Completion { return g.repos(ctx, begun) })
	end := g.ofTicket("end", "End a ticket; keep its branches unless --cleanup is given", "amof_ticket_end", g.ticketIDs, func(a command.Arguments) {
		on(a.Set("cleanup", cleanup), map[string]bool{"force": force})
	})
	end.Use, end.Args = "end [TICKET]", command.Args(0, 1)
	end.Flags().StringVar(&cleanup, "cleanup", "", "also delete: local (worktrees and branches) or all (also branches on the remotes)")
	_ = end.RegisterFlagCompletionFunc("cleanup", cobra.FixedCompletions([]cobra.Completion{"none", "local", "all"}, cobra.ShellCompDirectiveNoFileComp))
	end.Flags().BoolVar(&force, "force", false, "end it even with unsaved work, which is backed up under refs")
	return []*cobra.Command{g.ticketSync(), g.ticketMerge(), g.ticketRequests(), g.ticketStatus(), shown(g.reading("list", "List the tickets", "amof_ticket_list", g.Tickets), "ticket list"), shown(start, "ticket start PROJ-12", "ticket start PROJ-12 --repo api"),
		shown(g.ofTicket("switch", "Switch to another ticket (main: no ticket)", "amof_ticket_switch", g.ticketIDs, nil), "ticket switch PROJ-12", "ticket switch main"),
		shown(end, "ticket end", "ticket end PROJ-12 --cleanup local")}
}

// ofActive returns a command [TICKET], about the active one where none is named.
func (g *group) ofActive(use, short string) *cobra.Command {
	return &cobra.Command{Use: use + " [TICKET]", Short: short, Args: command.Args(0, 1), ValidArgsFunction: command.Complete(g.ticketIDs)}
}

func (g *group) aboutTicket(args []string) command.Arguments {
	a := g.about(nil)
	if len(args) > 0 {
		a["ticket_id"] = args[0]
	}
	return a
}

func (g *group) ticketSync() *cobra.Command {
	c := g.ofActive("sync", "Rebase a ticket's branches on origin's current bases")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		return g.do(cmd.Context(), "ecosystem_ticket_sync", g.aboutTicket(args), g.Finished)
	}
	return shown(g.dry(c), "ticket sync", "ticket sync PROJ-12 --dry-run")
}

func (g *group) ticketMerge() *cobra.Command {
	var squash, push, only bool
	var message string
	c := g.ofActive("merge", "Merge a ticket's branches into their bases, dependencies first")
	c.Long = "Merge a ticket's branches into their bases, in the order of depends_on. Nothing is merged if one conflicts; if a push fails, the " +
		"rest is not merged, and the same command continues."
	c.RunE = func(cmd *cobra.Command, args []string) error {
		a := g.aboutTicket(args).Set("message", message)
		on(a, map[string]bool{"squash": squash, "push": push, "committed_only": only})
		return g.do(cmd.Context(), "ecosystem_ticket_merge", a, g.Finished)
	}
	c.Flags().BoolVar(&squash, "squash", false, "one commit per repository")
	c.Flags().BoolVar(&only, "committed-only", false, "merge only committed changes")
	c.Flags().BoolVar(&push, "push", false, "push each merged base branch")
	c.Flags().StringVarP(&message, "message", "m", "", "message of the commits")
	return shown(g.dry(c), "ticket merge --dry-run", "ticket merge PROJ-12 --squash --push")
}

func (g *group) ticketRequests() *cobra.Command {
	var title, text string
	c := g.ofActive("pr", "Open linked pull or merge requests for a ticket")
	c.Long = "Open a pull or merge request in each repository of a ticket: with gh on GitHub and glab on GitLab, if they are installed and logged in; otherwise the page that opens " +
		"one is printed. Their texts link to each other, in merge order. Open requests are kept; to see them: countersign eco ticket status"
	c.RunE = func(cmd *cobra.Command, args []string) error {
		said, err := g.File("text", text)
		if err != nil {
			return err
		}
		return g.do(cmd.Context(), "ecosystem_ticket_propose", g.aboutTicket(args).Set("title", title).Set("text", said), g.Proposals)
	}
	c.Flags().StringVarP(&title, "title", "t", "", "title of each request (default: the ticket and its newest commit)")
	c.Flags().StringVar(&text, "text", "", "text of each request, before the links; @FILE: from a file, @-: from stdin")
	return shown(g.dry(c), "ticket pr", `ticket pr PROJ-12 --title "Round prices" --dry-run`)
}

func (g *group) ticketStatus() *cobra.Command {
	c := g.ofActive("status", "Show a ticket's pull or merge requests and unpushed work")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		return g.look(cmd.Context(), "ecosystem_ticket_pr", g.aboutTicket(args), g.Proposals)
	}
	return shown(c, "ticket status", "ticket status PROJ-12 --json")
}

func (g *group) environments() []*cobra.Command {
	environment, ask := "", false
	env := func(c *cobra.Command) *cobra.Command {
		c.Flags().StringVar(&environment, "environment", "", "environment (default: default)")
		return c
	}
	asking := func(cmd *cobra.Command, args []string, action string) error {
		a := g.about(args).Set("environment", environment)
		a["action"], a["mode"] = action, "execute"
		o, err := g.Send(cmd.Context(), "ecosystem_spin_ask", a, nil)
		if err != nil {
			return g.Refused(o, err)
		}
		if err := g.Outcome(o, g.Asked); err != nil || ParseAnswer(o.Value).Word("status") == "success" {
			return err
		}
		return command.Exit(1)
	}
	status := g.named("status", "Show what is deployed")
	status.Flags().BoolVar(&ask, "ask", false, "also run the provisioner's status action")
	status.RunE = func(cmd *cobra.Command, args []string) error {
		if ask {
			return asking(cmd, args, "status")
		}
		return g.look(cmd.Context(), "ecosystem_spin_status", g.about(args).Set("environment", environment), g.Environment)
	}
	plan := g.named("plan", "Run the provisioner's plan action and show its output")
	plan.Long = "Run the provisioner's plan action, which changes nothing, and show its output. For Countersign's plan: spin deploy --dry-run"
	plan.RunE = func(cmd *cobra.Command, args []string) error { return asking(cmd, args, "plan") }
	return []*cobra.Command{env(g.deploy(&environment, asking)),
		shown(env(g.changing("destroy", "Destroy the environment", "amof_spin_destroy", func(a command.Arguments) { a.Set("environment", environment) })), "spin destroy --type shop"),
		shown(env(status), "spin status", "spin status --ask"), shown(env(plan), "spin plan")}
}

func (g *group) deploy(environment *string, asking func(cmd *cobra.Command, args []string, action string) error) *cobra.Command {
	plan := false
	c := g.named("deploy", "Deploy the environment")
	c.Use += " [-- ARG...]"
	c.Args = func(cmd *cobra.Command, args []string) error {
		if at := cmd.ArgsLenAtDash(); at >= 0 {
			args = args[:at]
		}
		return command.Args(0, 1)(cmd, args)
	}
	c.RunE = func(cmd *cobra.Command, args []string) error {
		var rest []string
		if at := cmd.ArgsLenAtDash(); at >= 0 {
			args, rest = args[:at], args[at:]
		}
		if plan {
			if err := asking(cmd, args, "plan"); err != nil {
				return err
			}
		}
		a := g.about(args).Set("environment", *environment)
		set(a, "args", rest)
		return g.do(cmd.Context(), "amof_spin_deploy", a, nil)
	}
	c.Flags().BoolVar(&plan, "plan", false, "run the provisioner's plan first (spin plan), and include its output in the plan that you approve")
	return shown(g.running(c), "spin deploy --dry-run", "spin deploy --plan", "spin deploy shop -- --region eu")
}

func (g *group) release() []*cobra.Command {
	return []*cobra.Command{shown(g.reading("status", "Show the current version and the possible next ones", "amof_release_status", g.Release), "release status"),
		g.releaseValidate(), g.bump(), g.promote(), g.releaseLog()}
}

// making returns a command that releases; the arguments of its tool are those of about, and with the flags that both have.
func (g *group) making(c *cobra.Command, name tool.Name, about func(args []string) command.Arguments) *cobra.Command {
	var message string
	var push, strict, skip, independent, github bool
	f := c.Flags()
	f.StringVarP(&message, "message", "m", "", "message of the tag")
	f.BoolVar(&push, "push", false, "push branches and tags")
	f.BoolVar(&strict, "strict", false, "treat warnings as errors")
	f.BoolVar(&skip, "skip-validation", false, "skip validation")
	f.BoolVar(&github, "github", false, "push, and create a GitHub release of every tag with gh, with its changelog")
	f.BoolVar(&g.All, "all", false, "with --dry-run: also list the commits and checks")
	f.BoolVar(&independent, "independent", false, "independent versions, for repositories that changed or depend on a changed one")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		a := about(args).Set("message", message)
		on(a, map[string]bool{"push": push || github, "github": github, "strict": strict, "skip_validation": skip, "independent": independent})
		return g.do(cmd.Context(), name, a, nil)
	}
	return g.running(c)
}

func (g *group) bump() *cobra.Command {
	var pre string
	c := g.making(&cobra.Command{Use: "bump [auto|patch|minor|major]", Short: "Release the next version", Args: command.Args(0, 1), ValidArgs: []cobra.Completion{"auto", "patch", "minor", "major"},
		Long: "Release the next version. auto, the default, depends on the commits: feat: raises minor, a ! after the type or BREAKING CHANGE: raises major (before 1.0.0, minor), " +
			"anything else raises patch. With independent versions each changed repository has its own version, and its dependents get at least a patch."},
		"amof_release_bump", func(args []string) command.Arguments {
			part := "auto"
			if len(args) > 0 {
				part = args[0]
			}
			return g.about(nil).Set("bump_type", part).Set("pre_release", pre)
		})
	c.Flags().StringVar(&pre, "pre", "", "a pre-release: alpha, beta or rc")
	_ = c.RegisterFlagCompletionFunc("pre", cobra.FixedCompletions([]cobra.Completion{"alpha", "beta", "rc"}, cobra.ShellCompDirectiveNoFileComp))
	return shown(c, "release bump patch --pre alpha --dry-run", "release bump minor --github", "release bump --independent --dry-run")
}

func (g *group) promote() *cobra.Command {
	c := g.making(&cobra.Command{Use: "promote [beta|rc|stable]", Short: "Release a pre-release as its next stage, or as stable", Args: command.Args(0, 1), ValidArgs: []cobra.Completion{"beta", "rc", "stable"}},
		"amof_release_promote", func(args []string) command.Arguments {
			a := g.about(nil)
			if len(args) > 0 && args[0] != "stable" { // which is what the tool takes no target for
				a.Set("target", args[0])
			}
			return a
		})
	return shown(c, "release promote rc", "release promote stable --push")
}

func (g *group) releaseValidate() *cobra.Command {
	var target string
	c := shown(g.named("validate", "Check whether the ecosystem can be released"), "release validate --target rc")
	c.Long = "Check whether the ecosystem can be released. The exit code is 4 if it cannot."
	c.Flags().StringVar(&target, "target", "", "the stage to check for: alpha, beta, rc or stable (default)")
	_ = c.RegisterFlagCompletionFunc("target", cobra.FixedCompletions([]cobra.Completion{"alpha", "beta", "rc", "stable"}, cobra.ShellCompDirectiveNoFileComp))
	c.RunE = func(cmd *cobra.Command, args []string) error {
		return g.judge(cmd, "amof_release_validate", g.about(args).Set("target", target), "ok", g.Checks)
	}
	return c
}

func (g *group) releaseLog() *cobra.Command {
	var limit int
	c := shown(g.named("log", "List the releases"), "release log --limit 3")
	c.Flags().IntVar(&limit, "limit", 10, "maximum number of releases, 1 to 30")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		a := g.about(args)
		a["limit"] = limit
		return g.look(cmd.Context(), "amof_release_log", a, g.Releases)
	}
	return c
}
