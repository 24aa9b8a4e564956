package agentcmd

import (
	"context"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// completions gives every argument and flag below a command what can be completed of it.
func (g group) completions(root *cobra.Command) {
	values := func(c *cobra.Command, id string) cobra.CompletionFunc {
		return func(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if g.Enter() != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return g.candidates(cmd.Context(), c.Name(), id), cobra.ShellCompDirectiveNoFileComp
		}
	}
	flags := func(c *cobra.Command, set *pflag.FlagSet) {
		set.VisitAll(func(f *pflag.Flag) {
			if !slices.Contains([]string{"repo", "project-root", "home-root"}, f.Name) && f.Value.Type() != "bool" {
				_ = c.RegisterFlagCompletionFunc(f.Name, values(c, f.Name)) // the flag is there, and is registered once
			}
		})
	}
	flags(root, root.PersistentFlags())
	walk(root, func(c *cobra.Command) {
		flags(c, c.Flags())
		takes := positionals(c.Use)
		c.ValidArgsFunction = func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(takes) == 0 || len(args) >= len(takes) && !takes[len(takes)-1].Many {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return values(c, takes[min(len(args), len(takes)-1)].ID)(cmd, args, word)
		}
	})
}

// candidates are what an argument of a command can be, as far as that is known cheaply.
func (g group) candidates(ctx context.Context, command, id string) []cobra.Completion {
	switch id {
	case "target":
		return append([]string{"all"}, Targets()...)
	case "targets":
		return Targets()
	case "profile":
		return []string{"default"}
	case "only":
		return []string{"missing", "modified", "extra"}
	case "kind":
		return []string{"dir", "patch"}
	case "module_type":
		return moduleTypes()
	case "scope":
		if command == "init" || command == "bootstrap" {
			return []string{"user", "project", "both"}
		}
		return []string{"global", "machine", "project"}
	case "module_id", "module-id":
		return g.modules(ctx)
	case "to":
		return append(g.snapshotIDs(ctx), "initial")
	case "id":
		if command != "add" {
			return g.snapshotIDs(ctx)
		}
	}
	return nil
}

// moduleTypes are the types of modules.
func moduleTypes() []string {
	return []string{"instructions", "skill", "prompt", "command", "mcp", "settings", "agent", "hooks", "permissions", "output_style", "plugins"}
}

// modules are the ids of the modules in the manifest, as score lists them.
func (g group) modules(ctx context.Context) []cobra.Completion {
	o, err := g.Query(ctx, "agents_score", nil)
	if err != nil {
		return nil
	}
	d, _ := DecodeData[struct {
		Modules []struct {
			ID string `json:"module_id"`
		} `json:"modules"`
	}](dataOf(o))
	var ids []cobra.Completion
	for _, m := range d.Modules {
		ids = append(ids, m.ID)
	}
	return ids
}

// snapshotIDs are the snapshots there are, the newest first.
func (g group) snapshotIDs(ctx context.Context) []cobra.Completion {
	o, err := g.Query(ctx, "agents_snapshots_list", nil)
	if err != nil {
		return nil
	}
	d, _ := DecodeData[struct {
		Snapshots []struct {
			ID      string `json:"id"`
			Kind    string `json:"kind"`
			Created string `json:"created_at"`
		} `json:"snapshots"`
	}](dataOf(o))
	var ids []cobra.Completion
	for _, s := range slices.Backward(d.Snapshots) {
		ids = append(ids, cobra.CompletionWithDesc(s.ID, s.Kind+" of "+s.Created))
	}
	return ids
}
