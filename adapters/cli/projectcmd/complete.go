package projectcmd

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
)

// CompleteProject completes a project by name, and by path where a path was begun.
func (d Runner) CompleteProject(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if strings.HasPrefix(begun, ".") || strings.ContainsRune(begun, filepath.Separator) {
		return nil, cobra.ShellCompDirectiveFilterDirs
	}
	return d.Projects(cmd.Context(), begun), cobra.ShellCompDirectiveNoFileComp
}

// ProjectFlag is a flag --project, completed.
func (d Runner) ProjectFlag(c *cobra.Command, into *string, usage string) {
	c.Flags().StringVarP(into, "project", "P", "", usage)
	_ = c.RegisterFlagCompletionFunc("project", d.CompleteProject) // the flag is there, and is registered once
}

// Projects completes names of projects.
func (d Runner) Projects(ctx context.Context, begun string) []cobra.Completion {
	var v struct {
		Projects []Project `json:"projects"`
	}
	if !d.Quietly(ctx, "list_projects", command.Arguments{}, &v) {
		return nil
	}
	var out []cobra.Completion
	for _, p := range v.Projects {
		out = command.Offer(out, p.Name, p.Path, begun)
	}
	return out
}

// Scripts completes names of the scripts of the project named by word.
func (d Runner) Scripts(ctx context.Context, word, begun string) []cobra.Completion {
	dir, err := d.ScriptDir(ctx, word)
	if err != nil {
		return nil
	}
	var v struct {
		Scripts []struct {
			Name    string `json:"name"`
			Command string `json:"command"`
		} `json:"scripts"`
	}
	if !d.Quietly(ctx, "list_project_scripts", command.Arguments{"project_path": dir}, &v) {
		return nil
	}
	var out []cobra.Completion
	for _, s := range v.Scripts {
		out = command.Offer(out, s.Name, s.Command, begun)
	}
	return out
}

// runnable completes what the project named by word can run: scripts of package.json, and tasks of the directory.
func (d Runner) runnable(ctx context.Context, word, begun string) []cobra.Completion {
	out := d.Scripts(ctx, word, begun)
	dir, err := d.Dir(ctx, word)
	var found taskList
	if err != nil || !d.Quietly(ctx, "list_project_tasks", command.Arguments{"project_path": dir}, &found) {
		return out
	}
	count := map[string]int{}
	for _, t := range found.Tasks {
		count[t.Name]++
	}
	for _, t := range found.Tasks {
		name := t.Name
		if count[name] > 1 {
			name = t.Runner + ":" + name
		}
		if t.Runner != "script" {
			text, _, _ := strings.Cut(t.Command, "\n")
			out = command.Offer(out, name, text, begun)
		}
	}
	return out
}

// Workflows completes workflows by name and id.
func (d Runner) Workflows(ctx context.Context, begun string) []cobra.Completion {
	return d.offers(ctx, workflowListing(), begun)
}

// Actions completes actions by name and id.
func (d Runner) Actions(ctx context.Context, begun string) []cobra.Completion {
	return d.offers(ctx, actions(), begun)
}

// Processes completes background processes by script and id.
func (d Runner) Processes(ctx context.Context, begun string) []cobra.Completion {
	return d.offers(ctx, processes(), begun)
}

// Templates completes step templates of one's own by name and id.
func (d Runner) Templates(ctx context.Context, begun string) []cobra.Completion {
	return d.offers(ctx, templates(), begun)
}

func (d Runner) offers(ctx context.Context, from listing, begun string) []cobra.Completion {
	all, _, err := d.all(ctx, from)
	if err != nil {
		return nil
	}
	var out []cobra.Completion
	for _, n := range all {
		note := n.Note
		if note == "" {
			note = n.Name
		}
		out = command.Offer(command.Offer(out, n.Name, note, begun), n.ID, note, begun)
	}
	return out
}
