package sandboxcmd

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// group is the commands over one shell.
type group struct{ Runner }

// Command returns the command group sandbox.
func Command(s *command.Shell) *cobra.Command {
	d := NewRunner(s)
	g := group{d}
	c := command.Group("sandbox", "Clone repositories, run agent servers, and use sandboxes")
	c.Long = "Clone repositories, run an agent server for each, and work in parallel in sandboxes: git worktrees, each with its own branch and ports.\n" +
		"Sandboxes do not need an agent server.\n\n" +
		"Where a command takes [URL], it is a git URL in any spelling, the path of a repository, or a project's name. Inside a project's directory it can\n" +
		"be omitted, and NAME in a sandbox's directory. PROJECT/SANDBOX stands for both."
	c.Example = `  countersign sandbox create ~/src/shop fix-login               clones it first; no agent server needed
  countersign sandbox init                                      once: create the settings file of agent servers
  countersign sandbox start git@github.com:acme/shop.git
  countersign sandbox create acme-shop fix-login --run "npm ci"
  countersign sandbox enter acme-shop fix-login`
	c.Annotations = map[string]string{command.InsteadOf + "commit": "countersign sandbox exec PROJECT NAME -- git commit -am MESSAGE commits in a sandbox; countersign sandbox enter PROJECT NAME opens a shell there"}
	c.AddGroup(&cobra.Group{ID: "projects", Title: "Projects:"}, &cobra.Group{ID: "boxes", Title: "Sandboxes:"}, &cobra.Group{ID: "upkeep", Title: "Settings and upkeep:"})
	add := func(group string, commands ...*cobra.Command) {
		for _, below := range commands {
			below.GroupID = group
			c.AddCommand(below)
		}
	}
	add("projects", g.clone(), g.start(), g.status(), g.list(), g.stop(), g.restart(), g.destroy(), g.key(), g.logs())
	add("boxes", commands(d)...)
	add("upkeep", g.secrets(), g.gateway(), g.llm(), g.duplicates(), g.orphans(), g.migrate())
	return c
}

// known returns what a pointer points to, or nothing.
func known[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

// made is what init prints as JSON.
type made struct {
	Status  string `json:"status"`
	Path    string `json:"path"`
	Created bool   `json:"created"`
}

func (g group) secrets() *cobra.Command {
	return &cobra.Command{Use: "init", Short: "Create the settings file with random secrets, if there is none", Args: command.Args(0, 0),
		Long: "Create the settings file for agent servers, with a random password and token, readable by you only, and print its path. An existing\n" +
			"file is not changed. Tools cannot do this, because secrets never pass through tools.",
		Example: "  countersign sandbox init",
		RunE: func(cmd *cobra.Command, _ []string) error {
			core, err := g.Opened()
			if err != nil {
				return err
			}
			if core.SandboxInit == nil {
				return fault.ErrInternal.WithMessage("cannot create the settings file")
			}
			path, created, err := core.SandboxInit(cmd.Context())
			if err != nil {
				return g.Explain(err)
			}
			if g.JSON {
				return g.PrintJSON(made{"success", path, created})
			}
			g.Line("%s", command.Plain(path))
			if !created {
				g.Note("already exists, not changed")
				return nil
			}
			g.Note("created with random secrets, readable by you only; next: countersign sandbox start URL")
			return nil
		}}
}

// migrationResult is what a migration did, or would do.
type migrationResult struct {
	Changes  []string `json:"changes"`
	Warnings []string `json:"warnings"`
	Backups  []string `json:"backups"`
}

func (g group) migrate() *cobra.Command {
	var dry bool
	c := &cobra.Command{Use: "migrate", Short: "Upgrade files of an older format; copies are kept", Args: command.Args(0, 0),
		Long: "Upgrade the state file and the table of servers, and keep a copy of each. The first command that reads them does the same; this\n" +
			"one shows it.",
		Example: "  countersign sandbox migrate --dry-run\n  countersign sandbox migrate"}
	c.Flags().BoolVar(&dry, "dry-run", false, "show the plan without applying it")
	c.RunE = func(cmd *cobra.Command, _ []string) error { return g.doMigrate(cmd.Context(), dry) }
	return c
}

func (g group) doMigrate(ctx context.Context, dry bool) error {
	core, err := g.Opened()
	if err != nil {
		return err
	}
	if core.SandboxMigrate == nil {
		return fault.ErrInternal.WithMessage("cannot upgrade the files")
	}
	report, err := core.SandboxMigrate(ctx, dry)
	if err != nil {
		return g.Explain(err)
	}
	if g.JSON {
		return g.PrintJSON(report)
	}
	doc, err := tool.Encode(report)
	if err != nil {
		return fault.From(err)
	}
	var done migrationResult
	if err := command.DecodeAnswer(tool.Outcome{Value: doc}, &done); err != nil {
		return err
	}
	for _, change := range done.Changes {
		g.Line("%s", command.Plain(change))
	}
	for _, warning := range done.Warnings {
		g.Note("warning: %s", command.Plain(warning))
	}
	for _, backup := range done.Backups {
		g.Note("copy of the former file: %s", command.Plain(backup))
	}
	switch {
	case len(done.Changes) == 0:
		g.Note("all files are up to date")
	case dry:
		g.Note("dry run: nothing was changed")
	}
	return nil
}
