package sandboxcmd

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/app/sandboxes"
	"github.com/countersign-dev/countersign/domain/fault"
)

// backupsTool lists work that was kept.
const backupsTool = "sandbox_backups"

// refs is how the full name of everything in git begins.
const refs = "refs/"

// kept is work of sandboxes that was kept, newest first.
type kept struct {
	Project string `json:"project"`
	Backups []struct {
		Ref     string    `json:"ref"`
		Sandbox string    `json:"sandbox"`
		Commit  string    `json:"commit"`
		Stash   bool      `json:"stash"`
		At      time.Time `json:"at"`
	} `json:"backups"`
}

func (g sandboxGroup) restore() *cobra.Command {
	var name, isolate string
	c := &cobra.Command{Use: "restore [URL] [REF]", Short: "Create a sandbox from a backup, or list backups", Args: command.Args(0, 2), ValidArgsFunction: g.completeKept,
		Long: "Create a sandbox from a backup that was made when another was reset or deleted. Without REF, list the backups. REF is a listed ref, or the end\n" +
			"of one if it is unique. It has the isolation of the old sandbox, unless you give --isolate.",
		Example: `  countersign sandbox restore acme-shop
  countersign sandbox restore acme-shop refs/opencode-backup/fix-login/1790000000 --name fix-again`}
	c.Flags().StringVar(&name, "name", "", "name of the new sandbox (default: the old name)")
	c.Flags().StringVar(&isolate, "isolate", "", "isolation, as for create (default: that of the old sandbox)")
	_ = c.RegisterFlagCompletionFunc("name", cobra.NoFileCompletions) // the flag is there, and is registered once
	_ = c.RegisterFlagCompletionFunc("isolate", isolations())
	c.RunE = func(cmd *cobra.Command, args []string) error {
		ctx := cmd.Context()
		word, ref := command.First(args), ""
		if len(args) == 2 {
			ref = args[1]
		} else if strings.HasPrefix(word, refs) {
			word, ref = "", word
		}
		url, err := g.URL(ctx, word)
		if err != nil {
			return err
		}
		if ref == "" {
			return command.CallAndShow(ctx, g.Runner, backupsTool, command.Arguments{"git_url": url}, g.drawBackupList)
		}
		if ref, err = g.resolveBackup(ctx, url, ref); err != nil {
			return err
		}
		return command.CallAndShow(ctx, g.Runner, sandboxes.SandboxRestore.Name, command.Arguments{"git_url": url, "ref": ref}.Set("name", name).Set("isolate", isolate), func(c created) { g.drawCreated(cmd.Context(), c) })
	}
	return c
}

func (g sandboxGroup) drawBackupList(all kept) {
	if len(all.Backups) == 0 {
		g.Note("no backups of %s", command.Plain(all.Project))
		return
	}
	var rows [][]string
	for _, b := range all.Backups {
		what := "commits"
		if b.Stash {
			what = "changes"
		}
		rows = append(rows, []string{b.Ref, b.Sandbox, what, b.Commit[:min(len(b.Commit), 12)], command.Age(b.At)})
	}
	g.Table([]string{"ref", "sandbox", "holds", "commit", "kept"}, rows)
	g.Note("to create a sandbox from one: countersign sandbox restore %s REF", command.Plain(all.Project))
}

// resolveBackup returns the whole ref that a word names. What names none is left to the tool to refuse.
func (g sandboxGroup) resolveBackup(ctx context.Context, url, word string) (string, error) {
	var all kept
	if _, err := g.Ask(ctx, backupsTool, command.Arguments{"git_url": url}, &all); err != nil {
		return "", err
	}
	var fits []string
	for _, b := range all.Backups {
		if b.Ref == word {
			return word, nil
		}
		if strings.HasSuffix(b.Ref, "/"+word) {
			fits = append(fits, b.Ref)
		}
	}
	switch len(fits) {
	case 0:
		return word, nil
	case 1:
		return fits[0], nil
	}
	return "", command.ErrAmbiguous.WithMessage("%q matches more than one ref", word).WithDetails(command.Hint("use one of: " + strings.Join(fits, ", ")))
}

func (g sandboxGroup) completeKept(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) == 0 && !strings.HasPrefix(begun, refs) {
		return g.CompleteURL(cmd, args, begun)
	}
	if len(args) > 1 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	url, err := g.URL(cmd.Context(), command.First(args))
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	o, err := g.Send(cmd.Context(), backupsTool, command.Arguments{"git_url": url}, nil)
	var all kept
	if err != nil || command.DecodeAnswer(o, &all) != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var out []cobra.Completion
	for _, b := range all.Backups {
		if strings.HasPrefix(b.Ref, begun) {
			out = append(out, cobra.CompletionWithDesc(command.Plain(b.Ref), command.Plain(b.Sandbox)))
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// judged is a sandbox that a clean-up takes or leaves, and why.
type judged struct {
	Name      string `json:"name"`
	Branch    string `json:"branch"`
	Directory string `json:"directory"`
	Reason    string `json:"reason"`
	Deleted   bool   `json:"deleted"`
	Error     string `json:"error,omitempty"`
}

// cleaning is a clean-up, as JSON.
type cleaning struct {
	Status  string   `json:"status"`
	Project string   `json:"project"`
	URL     string   `json:"git_url"`
	Applied bool     `json:"applied"`
	Remove  []judged `json:"remove"`
	Keep    []judged `json:"keep"`
}

func (g sandboxGroup) clean() *cobra.Command {
	var apply bool
	c := &cobra.Command{Use: "clean [URL]", Short: "Show which sandboxes can be deleted and why; --apply deletes them", Args: command.Args(0, 1), ValidArgsFunction: g.CompleteURL,
		Long: "Show which sandboxes can be deleted, and why the others cannot. --apply deletes them, but never one with unsaved work,\n" +
			"which is checked again before each delete.",
		Example: "  countersign sandbox clean acme-shop\n  countersign sandbox clean acme-shop --apply"}
	c.Flags().BoolVar(&apply, "apply", false, "delete these sandboxes")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		ctx := cmd.Context()
		url, err := g.URL(ctx, command.First(args))
		if err != nil {
			return err
		}
		all, err := g.Sandboxes(ctx, url)
		if err != nil {
			return err
		}
		plan := planned(all)
		if !g.JSON {
			g.drawPlan(plan)
		}
		var failed error
		if apply {
			plan.Applied = true
			failed = g.take(ctx, &plan)
		}
		if g.JSON {
			return errors.Join(g.PrintJSON(plan), failed)
		}
		if !apply && len(plan.Remove) > 0 {
			g.Note("nothing was deleted; to delete these: countersign sandbox clean %s --apply", command.Plain(plan.Project))
		}
		return failed
	}
	return c
}

// planned returns what a clean-up would do.
func planned(all sandboxes.SandboxListing) cleaning {
	plan := cleaning{Status: "success", Project: all.Project, URL: all.URL, Remove: []judged{}, Keep: []judged{}}
	for _, b := range all.Sandboxes {
		j := judged{Name: b.Name, Branch: b.Branch, Directory: b.Directory, Reason: b.Cleanup}
		if b.Removable {
			plan.Remove = append(plan.Remove, j)
		} else {
			plan.Keep = append(plan.Keep, j)
		}
	}
	return plan
}

func (g sandboxGroup) drawPlan(plan cleaning) {
	if len(plan.Remove)+len(plan.Keep) == 0 {
		g.Note("%s has no sandboxes", command.Plain(plan.Project))
		return
	}
	var rows [][]string
	for _, j := range plan.Remove {
		rows = append(rows, []string{j.Name, "goes", j.Reason})
	}
	for _, j := range plan.Keep {
		rows = append(rows, []string{j.Name, "stays", j.Reason})
	}
	g.Table([]string{"sandbox", "", "why"}, rows)
}

// take deletes those that can go, each by itself; the first failure is the one of all.
func (g sandboxGroup) take(ctx context.Context, plan *cleaning) error {
	var failed error
	for i := range plan.Remove {
		j := &plan.Remove[i]
		_, err := g.Send(ctx, sandboxes.SandboxDelete.Name, command.Arguments{"git_url": plan.URL, "name": j.Name}, nil)
		if err == nil {
			j.Deleted = true
			if !g.JSON {
				g.Line("deleted %s", command.Plain(j.Name))
			}
			continue
		}
		plan.Status, j.Error = statusPartial, fault.From(err).Message
		if failed == nil {
			failed = g.Explain(err)
		} else if !g.JSON {
			g.Note("kept %s: %s", command.Plain(j.Name), command.Plain(j.Error))
		}
		if ctx.Err() != nil {
			break
		}
	}
	return failed
}
