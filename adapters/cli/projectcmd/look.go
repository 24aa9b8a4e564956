package projectcmd

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/projectcmd/workdesk"
	"github.com/countersign-dev/countersign/adapters/cli/shell"
	"github.com/countersign-dev/countersign/adapters/cli/terminal"
)

func (g group) scripts() *cobra.Command {
	return &cobra.Command{Use: "scripts [PROJECT]", Short: "List the scripts in a project's package.json", Args: shell.Args(0, 1), ValidArgsFunction: g.completeOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := g.ScriptDir(cmd.Context(), first(args))
			if err != nil {
				return err
			}
			return workdesk.Look(cmd.Context(), g.Desk, "list_project_scripts", workdesk.Arguments{"project_path": dir}, func(found struct {
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
					g.Note("no scripts in %s", terminal.Plain(dir))
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

// changed is which files of a worktree are not as they were committed.
type changed struct {
	Branch     string   `json:"branch"`
	Head       string   `json:"head"`
	Detached   bool     `json:"detached"`
	Upstream   string   `json:"upstream"`
	Ahead      int      `json:"ahead"`
	Behind     int      `json:"behind"`
	Clean      bool     `json:"clean"`
	Staged     []string `json:"staged"`
	StagedN    int      `json:"staged_count"`
	Modified   []string `json:"modified"`
	ModifiedN  int      `json:"modified_count"`
	Untracked  []string `json:"untracked"`
	UntrackedN int      `json:"untracked_count"`
	Conflicted []string `json:"conflicted"`
	ConflictN  int      `json:"conflicted_count"`
}

func (g group) status() *cobra.Command {
	return &cobra.Command{Use: "status [PROJECT]", Short: "Show a project's branch and changed files", Args: shell.Args(0, 1), ValidArgsFunction: g.completeOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := g.Dir(cmd.Context(), first(args))
			if err != nil {
				return err
			}
			return workdesk.Look(cmd.Context(), g.Desk, "get_worktree_status", workdesk.Arguments{"worktree_path": dir}, g.drawStatus)
		}}
}

func (g group) drawStatus(s changed) {
	branch := "on " + s.Branch
	if s.Detached {
		branch = "detached at " + s.Head[:min(len(s.Head), 12)]
	}
	if s.Upstream != "" {
		branch += fmt.Sprintf(", %d ahead of and %d behind %s", s.Ahead, s.Behind, s.Upstream)
	}
	g.Line("%s", terminal.Plain(branch))
	if s.Clean {
		g.Line("nothing is changed")
		return
	}
	g.drawFiles("conflicted", terminal.Removed, s.Conflicted, s.ConflictN)
	g.drawFiles("staged", terminal.Added, s.Staged, s.StagedN)
	g.drawFiles("modified", terminal.Changed, s.Modified, s.ModifiedN)
	g.drawFiles("untracked", terminal.Faded, s.Untracked, s.UntrackedN)
}

func (g group) drawFiles(what string, as terminal.Tint, names []string, count int) {
	if count == 0 {
		return
	}
	g.Line("%s (%d)", what, count)
	for _, name := range names {
		g.Line("  %s", g.Tinted(name, as))
	}
	if more := count - len(names); more > 0 {
		g.Line("  … and %d more", more)
	}
}

func (g group) diff() *cobra.Command {
	var noPager bool
	c := &cobra.Command{Use: "diff [PROJECT]", Short: "Show the diff of what is staged in a project", Args: shell.Args(0, 1), ValidArgsFunction: g.completeOne}
	c.Flags().BoolVar(&noPager, "no-pager", false, "never page")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		ctx := cmd.Context()
		dir, err := g.Dir(ctx, first(args))
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
		o, err := g.Ask(ctx, "get_git_diff", workdesk.Arguments{"worktree_path": dir}, &d)
		switch {
		case err != nil:
			return err
		case g.JSON:
			return g.Show(o)
		case d.Files == 0:
			g.Note("nothing is staged; git add stages what is changed")
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
		g.Note("%d files changed, %d lines added, %d removed", d.Files, d.Added, d.Removed)
		return nil
	}
	return c
}

func (g group) worktrees() *cobra.Command {
	return &cobra.Command{Use: "worktrees [PROJECT]", Short: "List a project's git worktrees", Args: shell.Args(0, 1), ValidArgsFunction: g.completeOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := g.Dir(cmd.Context(), first(args))
			if err != nil {
				return err
			}
			return workdesk.Look(cmd.Context(), g.Desk, "list_worktrees", workdesk.Arguments{"project_path": dir}, g.drawWorktrees)
		}}
}

func (g group) drawWorktrees(found struct {
	Worktrees []struct {
		Path     string `json:"path"`
		Branch   string `json:"branch"`
		Head     string `json:"head"`
		Main     bool   `json:"is_main"`
		Bare     bool   `json:"is_bare"`
		Detached bool   `json:"is_detached"`
		Locked   bool   `json:"locked"`
		Prunable bool   `json:"prunable"`
	} `json:"worktrees"`
}) {
	var rows [][]string
	for _, w := range found.Worktrees {
		var marks []string
		for _, m := range []struct {
			set  bool
			word string
		}{{w.Main, "main"}, {w.Bare, "bare"}, {w.Detached, "detached"}, {w.Locked, "locked"}, {w.Prunable, "prunable"}} {
			if m.set {
				marks = append(marks, m.word)
			}
		}
		rows = append(rows, []string{w.Path, w.Branch, w.Head[:min(len(w.Head), 12)], strings.Join(marks, ", ")})
	}
	g.Table([]string{"path", "branch", "commit", ""}, rows)
}
