package sandboxcmd

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/app/sandboxes"
	"github.com/countersign-dev/countersign/domain/fault"
)

// comparing says what to compare a sandbox with.
type comparing struct {
	base string
	stat bool
	seen bool // only what has changed since a person looked at it
}

// compare adds the flag and the call that diff, log and status of a sandbox share. Paths stand behind "--".
func (g sandboxGroup) compare(c *cobra.Command, how *comparing, draw func(context.Context, sandboxes.SandboxComparison) error) *cobra.Command {
	c.Flags().StringVar(&how.base, "base", "", "branch to compare with (default: the sandbox's base branch)")
	_ = c.RegisterFlagCompletionFunc("base", cobra.NoFileCompletions) // the flag is there, and is registered once
	c.ValidArgsFunction, c.Args = g.CompleteSandbox, beforeDash
	c.RunE = func(cmd *cobra.Command, args []string) error {
		args, paths := parted(cmd, args)
		url, name, err := g.Subject(cmd.Context(), args)
		if err != nil {
			return err
		}
		return g.compared(cmd.Context(), url, name, paths, *how, draw)
	}
	return c
}

func (g sandboxGroup) compared(ctx context.Context, url, name string, paths []string, how comparing, draw func(context.Context, sandboxes.SandboxComparison) error) error {
	call := command.Arguments{"git_url": url, "name": name}.Set("base", how.base)
	if len(paths) > 0 {
		call["paths"] = paths
	}
	if how.stat {
		call["stat"] = true
	}
	if how.seen {
		call["since_review"] = true
	}
	var shown error
	err := command.CallAndShow(ctx, g.Runner, sandboxes.SandboxDiff.Name, call, func(found sandboxes.SandboxComparison) { shown = draw(ctx, found) })
	if err != nil {
		return err
	}
	return shown
}

func (g sandboxGroup) diff() *cobra.Command {
	how := &comparing{}
	c := &cobra.Command{Use: "diff [[URL] NAME] [-- PATH…]", Short: "Show what a sandbox changes against its base branch",
		Long: "Show a sandbox's changes since the last commit that it shares with its base branch: committed, uncommitted and untracked. Later commits of\n" +
			"the base and ignored files are not shown. With --since-review, show the changes since the work was marked as seen (countersign sandbox\n" +
			"review --seen), including merged changes of the base.",
		Example: "  countersign sandbox diff acme-shop fix-login\n  countersign sandbox diff acme-shop fix-login --stat\n  countersign sandbox diff acme-shop fix-login --since-review\n  countersign sandbox diff acme-shop fix-login -- src/login"}
	c.Flags().BoolVar(&how.stat, "stat", false, "files and counts only")
	c.Flags().BoolVar(&how.seen, "since-review", false, "only changes since the work was marked as seen")
	return g.compare(c, how, func(ctx context.Context, d sandboxes.SandboxComparison) error {
		switch {
		case d.FileCount == 0 && how.seen:
			g.Note("no changes since the work was marked as seen")
		case d.FileCount == 0:
			g.Note("no changes against %s", command.Plain(d.Base))
		}
		if how.stat {
			g.drawFiles(d)
			return nil
		}
		if err := g.Page(ctx, g.Terminal.Diff(d.Lines)); err != nil {
			return fault.From(err)
		}
		if d.Cut {
			g.Note("output truncated: %d files in all; give paths after --, or run git diff %.12s in %s", d.FileCount, d.Since, command.Plain(d.Directory))
		}
		return nil
	})
}

func (g sandboxGroup) log() *cobra.Command {
	return g.compare(&cobra.Command{Use: "log [[URL] NAME]", Short: "List the commits that a sandbox has and its base branch does not",
		Long:    "List the commits that a sandbox has and its base branch does not, newest first.",
		Example: "  countersign sandbox log acme-shop fix-login"}, &comparing{stat: true}, func(_ context.Context, d sandboxes.SandboxComparison) error {
		for _, c := range d.Commits {
			g.Line("%.10s  %s  %s  %s", c.Commit, c.At.Local().Format(time.DateTime), command.Plain(c.Author), command.Plain(c.Subject))
		}
		if d.MoreCommits > 0 {
			g.Note("… and %d more", d.MoreCommits)
		}
		if d.Ahead == 0 {
			g.Note("no commits that are not in %s", command.Plain(d.Base))
		}
		return nil
	})
}

// counted returns a count with its word.
func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// drawStanding shows where a sandbox stands against its base.
func (g sandboxGroup) drawStanding(_ context.Context, d sandboxes.SandboxComparison) error {
	branch := d.Branch
	if branch == "" {
		branch = "none, at " + d.Head[:min(len(d.Head), 12)]
	}
	standing := fmt.Sprintf("%s ahead, %d behind", counted(d.Ahead, "commit"), d.Behind)
	g.Pairs(command.Pair{Name: "sandbox", Value: d.Name + " of " + d.Project}, command.Pair{Name: "branch", Value: branch}, command.Pair{Name: "base", Value: d.Base + " (" + standing + ")"},
		command.Pair{Name: "directory", Value: d.Directory}, command.Pair{Name: "in progress", Value: d.Doing})
	g.drawFiles(d)
	for _, line := range d.Uncommitted {
		g.Line("  not committed  %s", command.Plain(line))
	}
	if d.MoreChanges > 0 {
		g.Note("… and %d more that are not committed", d.MoreChanges)
	}
	if d.Setup > 0 {
		g.Note("%s unchanged since the set-up, not counted as work", counted(d.Setup, "file"))
	}
	switch {
	case len(d.Uncommitted) > 0:
		g.Note("next: commit it in %s", command.Plain(d.Directory))
	case d.Ahead > 0:
		g.Note("next: countersign sandbox merge %s %s", command.Plain(d.Project), command.Plain(d.Name))
	case d.Behind > 0:
		g.Note("next: countersign sandbox update %s %s", command.Plain(d.Project), command.Plain(d.Name))
	}
	return nil
}

func (g sandboxGroup) drawFiles(d sandboxes.SandboxComparison) {
	for _, f := range d.Files {
		mark := ""
		if f.Again {
			mark = "  (changed since the review)"
		}
		g.Line("  %s%s", command.Plain(f.Line()), mark)
	}
	if d.MoreFiles > 0 {
		g.Note("… and %d more files", d.MoreFiles)
	}
	if d.FileCount > 0 {
		g.Line("  %s, %s added, %d deleted", counted(d.FileCount, "file"), counted(d.Added, "line"), d.Deleted)
	}
}

func (g sandboxGroup) merge() *cobra.Command {
	var squash, rebase, committed, archive bool
	var into, message string
	c := &cobra.Command{Use: "merge [[URL] NAME]", Short: "Merge a sandbox's work into its base branch, after you approved commits and files", Args: command.Args(0, 2), ValidArgsFunction: g.CompleteSandbox,
		Long: "Merge a sandbox's commits into its base branch, or into another local branch. The plan lists every commit and file with its lines;\n" +
			"exactly that is merged, or nothing if either side changed since. Conflicts are detected beforehand and denied with their files, and so is a base whose\n" +
			"working tree has changes. No hooks, filters or merge programs of the repository run. The commit is not signed.\n\n" +
			"Without --squash or --rebase the base is fast-forwarded if possible, and otherwise gets a merge commit.",
		Example: "  countersign sandbox merge acme-shop fix-login\n  countersign sandbox merge acme-shop fix-login --squash --message Login --archive"}
	c.Flags().BoolVar(&squash, "squash", false, "merge as one commit")
	c.Flags().BoolVar(&rebase, "rebase", false, "rebase the commits onto the base")
	c.Flags().StringVar(&into, "into", "", "local branch to merge into (default: the sandbox's base branch)")
	c.Flags().StringVarP(&message, "message", "m", "", "of the commit that is made")
	c.Flags().BoolVar(&committed, "committed-only", false, "merge only committed changes")
	c.Flags().BoolVar(&archive, "archive", false, "delete the sandbox afterwards; its commits are backed up")
	c.MarkFlagsMutuallyExclusive("squash", "rebase")
	_ = c.RegisterFlagCompletionFunc("into", cobra.NoFileCompletions) // the flag is there, and is registered once
	c.RunE = func(cmd *cobra.Command, args []string) error {
		url, name, err := g.Subject(cmd.Context(), args)
		if err != nil {
			return err
		}
		method := ""
		switch {
		case squash:
			method = "squash"
		case rebase:
			method = "rebase"
		}
		call := command.Arguments{"git_url": url, "name": name}.Set("method", method).Set("into", into).Set("message", message)
		if committed {
			call["committed_only"] = true
		}
		draw := func(m sandboxes.SandboxMerged) {
			g.drawMerged(m)
			if !archive {
				p, b := command.Plain(m.Project), command.Plain(m.Name)
				g.Note("next: countersign sandbox push %s %s --branch %s, then countersign sandbox archive %s %s", p, b, command.Plain(m.Branch), p, b)
			}
		}
		if err := command.CallAndShow(cmd.Context(), g.Runner, sandboxes.SandboxMerge.Name, call, draw); err != nil || !archive {
			return err
		}
		return g.archived(cmd.Context(), command.Arguments{"git_url": url, "name": name}.Set("base", into))
	}
	return c
}

func (g sandboxGroup) drawMerged(m sandboxes.SandboxMerged) {
	if m.Method == "nothing" {
		g.Line("nothing to merge: %s already contains %s", command.Plain(m.Branch), command.Plain(m.Other))
		return
	}
	g.Line("%s is now at %.12s, with %s and %s of %s", command.Plain(m.Branch), m.Commit, counted(m.Commits, "commit"), counted(m.Files, "file"), command.Plain(m.Other))
	g.drawBackups(m.Backups)
	back := fmt.Sprintf("git branch --force %s %.12s", m.Branch, m.Previous)
	if m.Place != "" {
		back = fmt.Sprintf("git -C %s reset --keep %.12s", m.Place, m.Previous)
	}
	g.Note("to undo: %s", command.Plain(back))
}

func (g sandboxGroup) update() *cobra.Command {
	var rebase bool
	var from string
	c := &cobra.Command{Use: "update [[URL] NAME]", Short: "Merge new commits of the base branch into a sandbox", Args: command.Args(0, 2), ValidArgsFunction: g.CompleteSandbox,
		Long: "Merge the base branch into a sandbox, or rebase the sandbox onto it. The remote is fetched first; if its branch is ahead of the base, that branch is\n" +
			"used. Conflicts are denied with their files, and nothing is changed. Commits that a rebase replaces are backed up.",
		Example: "  countersign sandbox update acme-shop fix-login\n  countersign sandbox update acme-shop fix-login --rebase"}
	c.Flags().BoolVar(&rebase, "rebase", false, "rebase the sandbox's commits onto the base")
	c.Flags().StringVar(&from, "from", "", "branch to merge from (default: the sandbox's base branch, or its remote)")
	_ = c.RegisterFlagCompletionFunc("from", cobra.NoFileCompletions) // the flag is there, and is registered once
	c.RunE = func(cmd *cobra.Command, args []string) error {
		url, name, err := g.Subject(cmd.Context(), args)
		if err != nil {
			return err
		}
		call := command.Arguments{"git_url": url, "name": name}.Set("from", from)
		if rebase {
			call["method"] = "rebase"
		}
		return command.CallAndShow(cmd.Context(), g.Runner, sandboxes.SandboxUpdate.Name, call, g.drawMerged)
	}
	return c
}

func (g sandboxGroup) archive() *cobra.Command {
	var base string
	c := &cobra.Command{Use: "archive [[URL] NAME]", Short: "Delete a sandbox whose work is merged; its commits are backed up", Args: command.Args(0, 2), ValidArgsFunction: g.CompleteSandbox,
		Long: "Delete a sandbox whose work is in its base branch, in any commits, and the branch that was created for it. Its commits are backed up;\n" +
			"countersign sandbox restore restores them. Denied for a sandbox with other work.",
		Example: "  countersign sandbox archive acme-shop fix-login"}
	c.Flags().StringVar(&base, "base", "", "branch that contains the work (default: the sandbox's base branch)")
	_ = c.RegisterFlagCompletionFunc("base", cobra.NoFileCompletions) // the flag is there, and is registered once
	c.RunE = func(cmd *cobra.Command, args []string) error {
		url, name, err := g.Subject(cmd.Context(), args)
		if err != nil {
			return err
		}
		return g.archived(cmd.Context(), command.Arguments{"git_url": url, "name": name}.Set("base", base))
	}
	return c
}

func (g sandboxGroup) archived(ctx context.Context, call command.Arguments) error {
	return command.CallAndShow(ctx, g.Runner, sandboxes.SandboxArchive.Name, call, func(s struct {
		Project string   `json:"project"`
		Backups []string `json:"backup_refs"`
	}) {
		g.Line("archived sandbox %s of %s", command.Plain(fmt.Sprint(call["name"])), command.Plain(s.Project))
		g.drawBackups(s.Backups)
	})
}

// isolated returns the command that is kept inside as the sandbox says.
func (g sandboxGroup) isolated(ctx context.Context, to place, argv []string) ([]string, error) {
	if to.Isolation == "" {
		return argv, nil
	}
	core, err := g.Opened()
	if err != nil {
		return nil, err
	}
	if core.SandboxIsolated == nil {
		return nil, fault.ErrInternal.WithMessage("isolation is not available here")
	}
	argv, err = core.SandboxIsolated(ctx, to.URL, to.Name, g.Lookup("PATH"), argv)
	if err != nil {
		return nil, g.Explain(err)
	}
	return argv, nil
}

func (g sandboxGroup) exec() *cobra.Command {
	c := &cobra.Command{Use: "exec [[URL] NAME] -- COMMAND [ARGUMENT…]", Short: "Run a command in a sandbox, with its ports and names as variables",
		Long: "Run a command in a sandbox's directory, with its ports and names as variables (see countersign help sandboxes). The exit code is that of\n" +
			"the command. You run it yourself, so it needs no approval; only the isolation of the sandbox restricts it.",
		Example: "  countersign sandbox exec acme-shop fix-login -- npm test"}
	c.ValidArgsFunction = g.CompleteSandbox
	c.Args = func(cmd *cobra.Command, args []string) error {
		at := cmd.ArgsLenAtDash()
		if at < 0 || at == len(args) {
			return command.Usage(cmd, "the command is missing; give it after --")
		}
		return command.Args(0, 2)(cmd, args[:at])
	}
	c.RunE = func(cmd *cobra.Command, args []string) error {
		at := cmd.ArgsLenAtDash()
		to, err := g.there(cmd.Context(), args[:at])
		if err != nil {
			return err
		}
		argv, err := g.isolated(cmd.Context(), to, args[at:])
		if err != nil {
			return err
		}
		return g.become(to, argv, false)
	}
	return c
}
