package projectcmd

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/app/projects/gitwork"
	"github.com/countersign-dev/countersign/domain/tool"
)

// gitCommand is git for users: everything that changes something shows its plan first.
func (g group) gitCommand() *cobra.Command {
	var project string
	on := func(c *cobra.Command) *cobra.Command {
		g.ProjectFlag(c, &project, "name, ID or directory of the project (default: the project of the working directory)")
		return c
	}
	c := command.Group("git", "Stage, commit, branch, stash, push and pull in projects, after showing each change", on(g.gitChanges(&project)), on(g.gitStage(&project, false)), on(g.gitStage(&project, true)), on(g.gitCommit(&project)),
		on(g.gitBranch(&project)), on(g.gitSwitch(&project)), on(g.gitStash(&project)), on(g.gitPush(&project)), on(g.gitPull(&project)), gitRebase())
	c.Long = "Work with the git repository of a project. Each command shows its plan (lines, commits, the URL) and asks. Uncommitted changes are never overwritten, and\n" +
		"hooks of the repository run only with --hooks. To enable these as tools for an agent: countersign connect HOST --toolsets packs,deployments,projects,git."
	c.Example = `  countersign git changes
  countersign git stage --hunk 3f9a01c2d4e5
  countersign git commit -m "Log in with a passkey"
  countersign git push`
	return c
}

// changed returns the state of the working tree around the project.
func (g group) changed(ctx context.Context, project string, files ...string) (gitwork.ChangesAnswer, string, error) {
	var found gitwork.ChangesAnswer
	dir, err := g.Dir(ctx, project)
	if err != nil {
		return found, "", err
	}
	call := command.Arguments{"path": dir}
	if len(files) > 0 {
		call["files"] = files
	}
	_, err = g.Ask(ctx, gitwork.Changes.Name, call, &found)
	return found, dir, err
}

// below returns files as they are called from the top of the working tree: those on the command line are seen from the working directory, or from a project that was named.
func below(top, dir, project string, files []string) ([]string, error) {
	from := dir
	if project == "" {
		from = "."
	}
	from, err := filepath.Abs(from)
	if err != nil {
		return nil, command.ErrUsage.WithMessage("cannot read the working directory: %v", err)
	}
	if real, err := filepath.EvalSymlinks(from); err == nil {
		from = real
	}
	var out []string
	for _, name := range files {
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(from, path)
		}
		rel, err := filepath.Rel(top, path)
		if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
			return nil, command.ErrUsage.WithMessage("%s is outside %s", name, top)
		}
		out = append(out, filepath.ToSlash(rel))
	}
	return out, nil
}

func (g group) gitChanges(project *string) *cobra.Command {
	var stat bool
	c := &cobra.Command{Use: "changes [FILE...]", Aliases: []string{"status", "diff"}, Short: "Show changes with the id of every hunk, branches and stashes", Args: command.Args(0, -1)}
	c.Flags().BoolVar(&stat, "stat", false, "files and counts only")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		ctx := cmd.Context()
		dir, err := g.Dir(ctx, *project)
		if err != nil {
			return err
		}
		call := command.Arguments{"path": dir}
		if len(args) > 0 {
			found, dir, err := g.changed(ctx, *project, "-")
			if err != nil {
				return err
			}
			if call["files"], err = below(found.Top, dir, *project, args); err != nil {
				return err
			}
		}
		return command.CallAndShow(ctx, g.Runner, gitwork.Changes.Name, call, func(found gitwork.ChangesAnswer) { g.drawChanges(found, stat) })
	}
	return c
}

func (g group) drawChanges(found gitwork.ChangesAnswer, stat bool) {
	branch := found.Branch
	if branch == "" {
		branch = "none, at " + found.Head[:min(len(found.Head), 12)]
	}
	upstream := ""
	if found.Upstream != "" {
		upstream = fmt.Sprintf("%s (%d ahead, %d behind)", found.Upstream, found.Ahead, found.Behind)
	}
	g.Pairs(command.Pair{Name: "directory", Value: found.Top}, command.Pair{Name: "branch", Value: branch}, command.Pair{Name: "follows", Value: upstream}, command.Pair{Name: "in progress", Value: found.Doing})
	for _, list := range []struct {
		title string
		files []gitwork.ChangedFile
	}{{"staged", found.Staged}, {"not staged", found.Unstaged}} {
		for _, f := range list.files {
			what := f.Status
			if f.Untracked {
				what = "new"
			}
			g.Line("%-10s  %s %s (+%d -%d)", list.title, what, command.Plain(f.Path), f.Added, f.Deleted)
			for _, h := range f.Hunks {
				if !stat {
					g.Line("  hunk %s  %s", h.ID, command.Plain(h.Head))
					for line := range strings.Lines(h.Text) {
						g.Line("    %s", command.Block(strings.TrimSuffix(line, "\n"))) // with its indentation
					}
				}
			}
		}
	}
	for _, name := range found.Conflicted {
		g.Line("conflict    %s", command.Plain(name))
	}
	for _, s := range found.Stashes {
		g.Line("stash       %s  %s", s.Name, command.Plain(s.Subject))
	}
	for _, b := range found.Branches {
		if !b.Current && !stat {
			g.Line("branch      %s  %.10s", command.Plain(b.Name), b.Commit)
		}
	}
	if found.Cut {
		g.Note("some lines are left out; name files to see theirs")
	}
	if found.MoreUntracked > 0 {
		g.Note("%d more untracked files are not shown", found.MoreUntracked)
	}
	switch {
	case len(found.Staged) > 0:
		g.Note("next: countersign git commit -m MESSAGE")
	case len(found.Unstaged) > 0:
		g.Note("next: countersign git stage FILE, or --hunk ID")
	default:
		g.Note("no changes since the last commit")
	}
}

func (g group) gitStage(project *string, back bool) *cobra.Command {
	var hunks []string
	c := &cobra.Command{Use: "stage [FILE...]", Short: "Stage files, directories or single hunks", Args: command.Args(0, -1),
		Example: "  countersign git stage src/login.go\n  countersign git stage --hunk 3f9a01c2d4e5 --hunk 61236b60985f"}
	name, done := gitwork.Stage.Name, "staged"
	if back {
		c.Example = "  countersign git unstage src/login.go\n  countersign git unstage --hunk 3f9a01c2d4e5"
		c.Use, c.Short, name, done = "unstage [FILE...]", "Unstage files or hunks; the files are not changed", gitwork.Unstage.Name, "unstaged"
	}
	c.Flags().StringArrayVar(&hunks, "hunk", nil, "ID of a hunk from git changes, instead of FILE (repeatable)")
	_ = c.RegisterFlagCompletionFunc("hunk", func(cmd *cobra.Command, _ []string, begun string) (out []cobra.Completion, _ cobra.ShellCompDirective) {
		found, _, err := g.changed(cmd.Context(), *project)
		files := found.Unstaged
		if back {
			files = found.Staged
		}
		for _, f := range files {
			for _, h := range f.Hunks {
				out = command.Offer(out, h.ID, f.Path+" "+h.Head, begun)
			}
		}
		_ = err // then there is nothing to offer
		return out, cobra.ShellCompDirectiveNoFileComp
	})
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args)+len(hunks) == 0 {
			return command.Usage(cmd, "give files, a directory (. for all), or --hunk")
		}
		found, dir, err := g.changed(cmd.Context(), *project, "-")
		if err != nil {
			return err
		}
		call := command.Arguments{"path": dir}
		if files, err := below(found.Top, dir, *project, args); err != nil {
			return err
		} else if len(files) > 0 {
			call["files"] = files
		}
		if len(hunks) > 0 {
			call["hunks"] = hunks
		}
		return command.CallAndShow(cmd.Context(), g.Runner, name, call, func(a gitwork.StageAnswer) {
			g.Line("%s %s", done, command.Plain(strings.Join(a.Files, ", ")))
		})
	}
	return c
}

// gitCall adds what a command does that is one call about the project.
func gitCall[A any](g group, c *cobra.Command, project *string, name string, fill func(call command.Arguments, args []string) error, draw func(A)) *cobra.Command {
	c.RunE = func(cmd *cobra.Command, args []string) error {
		dir, err := g.Dir(cmd.Context(), *project)
		if err != nil {
			return err
		}
		call := command.Arguments{"path": dir}
		if err := fill(call, args); err != nil {
			return err
		}
		return command.CallAndShow(cmd.Context(), g.Runner, tool.Name(name), call, draw)
	}
	return c
}

func (g group) gitCommit(project *string) *cobra.Command {
	var message string
	var hooks, amend bool
	c := &cobra.Command{Use: "commit -m MESSAGE", Short: "Commit the staged changes, or replace the last commit", Args: command.Args(0, 0), ValidArgsFunction: cobra.NoFileCompletions,
		Long: "Commit the staged changes. --amend replaces the last commit with one that also contains them; the plan shows all its changes, and whether a remote has the commit."}
	c.Flags().BoolVar(&amend, "amend", false, "replace the last commit; without --message it keeps its message")
	c.Flags().StringVarP(&message, "message", "m", "", "commit message")
	c.Flags().BoolVar(&hooks, "hooks", false, "run the repository's hooks (pre-commit and others)")
	return gitCall(g, c, project, "git_commit", func(call command.Arguments, _ []string) error {
		if message == "" && !amend {
			return command.Usage(c, "say with --message commit message")
		}
		call.Set("message", message)
		flag(call, "amend", amend)
		flag(call, "hooks", hooks)
		return nil
	}, func(a gitwork.CommitAnswer) {
		g.Line("%.12s on %s: %s", a.Commit, command.Plain(a.Branch), command.Plain(strings.SplitN(a.Message, "\n", 2)[0]))
	})
}

func flag(call command.Arguments, name string, set bool) {
	if set {
		call[name] = true
	}
}

// completeBranch completes the branches of the working tree.
func (g group) completeBranch(project *string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) (out []cobra.Completion, _ cobra.ShellCompDirective) {
		if len(args) == 0 {
			found, _, err := g.changed(cmd.Context(), *project, "-")
			_ = err // then there is nothing to offer
			for _, b := range found.Branches {
				out = command.Offer(out, b.Name, "", begun)
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}

func (g group) gitBranch(project *string) *cobra.Command {
	var from string
	var remove bool
	c := &cobra.Command{Use: "branch NAME", Short: "Create a branch, or delete one that another contains", Args: command.Args(1, 1), ValidArgsFunction: g.completeBranch(project)}
	c.Flags().StringVar(&from, "from", "", "start point: branch or commit (default: the current one)")
	c.Flags().BoolVarP(&remove, "delete", "d", false, "delete it")
	return gitCall(g, c, project, "git_branch", func(call command.Arguments, args []string) error {
		call.Set("name", args[0]).Set("from", from)
		flag(call, "delete", remove)
		return nil
	}, func(a gitwork.BranchAnswer) {
		verb := "made"
		if a.Deleted {
			verb = "deleted"
		}
		g.Line("%s %s at %.12s", verb, command.Plain(a.Name), a.Commit)
	})
}

func (g group) gitSwitch(project *string) *cobra.Command {
	var from string
	var create bool
	c := &cobra.Command{Use: "switch BRANCH", Short: "Check out a branch", Args: command.Args(1, 1), ValidArgsFunction: g.completeBranch(project),
		Long: "Check out a branch. Uncommitted changes are kept; if they conflict, the switch is denied. A branch that only the remote has is created and tracks it."}
	c.Flags().BoolVarP(&create, "create", "c", false, "create the branch")
	c.Flags().StringVar(&from, "from", "", "with --create: start point, a branch or commit")
	return gitCall(g, c, project, "git_switch", func(call command.Arguments, args []string) error {
		call.Set("name", args[0]).Set("from", from)
		flag(call, "create", create)
		return nil
	}, func(a gitwork.SwitchAnswer) { g.Line("on %s at %.12s", command.Plain(a.Branch), a.Commit) })
}

func (g group) gitStash(project *string) *cobra.Command {
	var message string
	push := &cobra.Command{Use: "push", Short: "Stash uncommitted changes, new files too", Args: command.Args(0, 0), ValidArgsFunction: cobra.NoFileCompletions}
	push.Flags().StringVarP(&message, "message", "m", "", "what it is")
	draw := func(a gitwork.StashAnswer) {
		verb := map[string]string{"push": "stashed as", "pop": "applied and dropped", "apply": "applied and kept", "drop": "dropped"}[a.Action]
		g.Line("%s %s (%s)", verb, a.Stash.Name, counted(len(a.Files), "file"))
		if a.Action == "push" {
			g.Note("to restore it: countersign git stash pop")
		}
	}
	gitCall(g, push, project, "git_stash", func(call command.Arguments, _ []string) error {
		call.Set("action", "push").Set("message", message)
		return nil
	}, draw)
	out := []*cobra.Command{push}
	for _, action := range []struct{ name, short string }{{"pop", "Apply a stash and drop it"}, {"apply", "Apply a stash and keep it"}, {"drop", "Drop a stash, after showing what it holds"}} {
		c := &cobra.Command{Use: action.name + " [STASH]", Short: action.short, Args: command.Args(0, 1),
			ValidArgsFunction: func(cmd *cobra.Command, args []string, begun string) (out []cobra.Completion, _ cobra.ShellCompDirective) {
				found, _, err := g.changed(cmd.Context(), *project, "-")
				_ = err // then there is nothing to offer
				for _, s := range found.Stashes {
					out = command.Offer(out, s.Name, s.Subject, begun)
				}
				return out, cobra.ShellCompDirectiveNoFileComp
			}}
		out = append(out, gitCall(g, c, project, "git_stash", func(call command.Arguments, args []string) error {
			call.Set("action", action.name).Set("stash", command.First(args))
			return nil
		}, draw))
	}
	c := command.Group("stash", "Stash changes, and apply them later", out...)
	c.Use, c.RunE = "stash", push.RunE // as git does
	c.Long = "Stash changes, and apply them later. Without a subcommand: stash push."
	c.Flags().StringVarP(&message, "message", "m", "", "what it is")
	for _, sub := range out {
		g.ProjectFlag(sub, project, "name, ID or directory of the project (default: the project of the working directory)")
	}
	return c
}

// gitRebase says what there is in place of a rebase.
func gitRebase() *cobra.Command {
	return &cobra.Command{Use: "rebase", Hidden: true, DisableFlagParsing: true, RunE: func(*cobra.Command, []string) error {
		return command.ErrUsage.WithMessage("rebase is not supported: no plan can show the rewritten commits beforehand").
			WithDetails(command.Hint("countersign git pull --merge brings in what the upstream has, countersign git commit --amend replaces the last commit, countersign sandbox update --rebase rebases a sandbox; git rebase does it by hand"))
	}}
}

func (g group) gitPush(project *string) *cobra.Command {
	var remote string
	var force, hooks bool
	c := &cobra.Command{Use: "push [BRANCH]", Short: "Push a branch, after showing its commits and the URL", Args: command.Args(0, 1), ValidArgsFunction: g.completeBranch(project),
		Long: "Push a branch to its remote. The plan lists every commit and the URL. Commits that only the remote has are replaced only with --force-with-lease,\n" +
			"and only those that the plan lists."}
	c.Flags().StringVar(&remote, "remote", "", "remote to push to (default: as git is configured)")
	c.Flags().BoolVar(&force, "force-with-lease", false, "replace commits on the remote's branch that were fetched here")
	c.Flags().BoolVar(&hooks, "hooks", false, "run the repository's pre-push hook")
	return gitCall(g, c, project, "git_push", func(call command.Arguments, args []string) error {
		call.Set("branch", command.First(args)).Set("remote", remote)
		flag(call, "force_with_lease", force)
		flag(call, "hooks", hooks)
		return nil
	}, func(a gitwork.PushAnswer) {
		g.Line("%s has %s at %.12s (%s)", command.Plain(a.URL), command.Plain(a.Target), a.Commit, counted(a.Commits, "new commit"))
	})
}

func (g group) gitPull(project *string) *cobra.Command {
	var merge bool
	c := &cobra.Command{Use: "pull", Short: "Pull the branch's upstream, after showing its commits", Args: command.Args(0, 0), ValidArgsFunction: cobra.NoFileCompletions,
		Long: "Fetch the upstream of the current branch, show its commits and lines, and merge them. Denied if uncommitted files would change, or if\n" +
			"both sides change the same lines."}
	c.Flags().BoolVar(&merge, "merge", false, "create a merge commit if both sides have commits")
	return gitCall(g, c, project, "git_pull", func(call command.Arguments, _ []string) error {
		flag(call, "merge", merge)
		return nil
	}, func(a gitwork.PullAnswer) {
		if a.Commits == 0 {
			g.Line("%s is up to date", command.Plain(a.Branch))
			return
		}
		g.Line("%s is now at %.12s, with %s and %s", command.Plain(a.Branch), a.Commit, counted(a.Commits, "commit"), counted(len(a.Files), "file"))
	})
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
