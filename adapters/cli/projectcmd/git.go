package projectcmd

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/adapters/present"
)

func (g group) scripts() *cobra.Command {
	return &cobra.Command{Use: "scripts [PROJECT]", Short: "List the scripts in a project's package.json", Args: command.Args(0, 1), ValidArgsFunction: g.completeOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := g.ScriptDir(cmd.Context(), command.First(args))
			if err != nil {
				return err
			}
			return command.CallAndShow(cmd.Context(), g.Runner, "list_project_scripts", command.Arguments{"project_path": dir}, func(found struct {
				Scripts []struct {
					Name    string `json:"name"`
					Command string `json:"command"`
				} `json:"scripts"`
			}) {
				all := map[string]string{}
				for _, s := range found.Scripts {
					all[s.Name] = s.Command
				}
				if len(all) == 0 {
					g.Note("no scripts in %s", command.Plain(dir))
					return
				}
				g.drawScripts(all)
			})
		}}
}

func (g group) drawScripts(all map[string]string) {
	var rows [][]string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		rows = append(rows, []string{name, all[name]})
	}
	g.Table([]string{"script", "command"}, rows)
}

func (g group) status() *cobra.Command {
	return &cobra.Command{Use: "status [PROJECT]", Short: "Show a project's branch and changed files", Args: command.Args(0, 1), ValidArgsFunction: g.completeOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := g.Dir(cmd.Context(), command.First(args))
			if err != nil {
				return err
			}
			return command.CallAndShow(cmd.Context(), g.Runner, "get_worktree_status", command.Arguments{"worktree_path": dir}, g.drawStatus)
		}}
}

func (g group) drawStatus(s present.GitStatus) {
	branch := "on " + s.Branch
	if s.Detached {
		branch = "detached at " + s.Head[:min(len(s.Head), 12)]
	}
	if s.Upstream != "" {
		branch += fmt.Sprintf(", %d ahead of and %d behind %s", s.Ahead, s.Behind, s.Upstream)
	}
	g.Line("%s", command.Plain(branch))
	if s.Clean {
		g.Line("nothing is changed")
		return
	}
	tints := map[string]command.Tint{present.Conflicted: command.Removed, present.Staged: command.Added, present.Modified: command.Changed, present.Untracked: command.Faded}
	for _, l := range s.Lists() {
		g.Line("%s (%d)", l.What, l.Count)
		for _, name := range l.Names {
			g.Line("  %s", g.Tinted(name, tints[l.What]))
		}
		if more := l.More(); more > 0 {
			g.Line("  … and %d more", more)
		}
	}
}

func (g group) diff() *cobra.Command {
	var noPager bool
	c := &cobra.Command{Use: "diff [PROJECT]", Short: "Show the diff of what is staged in a project", Args: command.Args(0, 1), ValidArgsFunction: g.completeOne}
	c.Flags().BoolVar(&noPager, "no-pager", false, "do not use a pager")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		ctx := cmd.Context()
		dir, err := g.Dir(ctx, command.First(args))
		if err != nil {
			return err
		}
		var d struct {
			Diff      string `json:"diff"`
			Files     int    `json:"files_changed"`
			Added     int    `json:"insertions"`
			Removed   int    `json:"deletions"`
			Truncated bool   `json:"truncated"`
			Total     int64  `json:"totalBytes"`
		}
		o, err := g.Ask(ctx, "get_git_diff", command.Arguments{"worktree_path": dir}, &d)
		switch {
		case err != nil:
			return err
		case g.JSON:
			return g.Show(o)
		case d.Files == 0:
			g.Note("nothing is staged; to stage files: countersign git stage")
			return nil
		}
		text := g.Diff(strings.TrimRight(d.Diff, "\n") + "\n")
		if noPager {
			g.Line("%s", strings.TrimRight(text, "\n"))
		} else if err := g.Page(ctx, text); err != nil {
			return err
		}
		if d.Truncated {
			g.Note("the diff has %d bytes; this is its beginning: git diff --cached shows all of it", d.Total)
		}
		g.Note("%s changed, %s added, %d removed", plural(d.Files, "file"), plural(d.Added, "line"), d.Removed)
		return nil
	}
	return c
}

func (g group) worktrees() *cobra.Command {
	return &cobra.Command{Use: "worktrees [PROJECT]", Short: "List a project's git worktrees", Args: command.Args(0, 1), ValidArgsFunction: g.completeOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := g.Dir(cmd.Context(), command.First(args))
			if err != nil {
				return err
			}
			return command.CallAndShow(cmd.Context(), g.Runner, "list_worktrees", command.Arguments{"project_path": dir}, g.drawWorktrees)
		}}
}

func (g group) drawWorktrees(found present.Worktrees) {
	var rows [][]string
	for _, w := range found.Worktrees {
		rows = append(rows, []string{w.Path, w.Branch, w.Commit(), strings.Join(w.Marks(), ", ")})
	}
	g.Table([]string{"path", "branch", "commit", ""}, rows)
}
