package agentcmd

import (
	"context"
	"encoding/json"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/app/deployments"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// errEditor reports an editor that could not be run, or that failed.
var errEditor = fault.New(fault.State, "editor_failed", "$EDITOR failed")

func (g author) overlay() *cobra.Command {
	return g.Parent("overlay", "Change modules for yourself, a machine or a project", g.overlayEdit(), g.overlayPath(), g.overlayRebase())
}

// edited is the data of overlay edit.
type edited struct {
	ID      string  `json:"module_id"`
	Scope   string  `json:"scope"`
	Dir     string  `json:"overlay_dir"`
	Created bool    `json:"created"`
	Patches *string `json:"patches_dir"`
}

func (g author) overlayEdit() *cobra.Command {
	var scope, kind string
	var sparse, materialize, project bool
	c := g.Command("edit MODULE_ID", "Create an overlay of a module, and open it in $EDITOR", func(cmd *cobra.Command, args []string) error {
		if sparse && materialize {
			return g.Misused(cmd, "--sparse and --materialize exclude each other")
		}
		if project {
			if scope != "" && scope != "global" && scope != "project" {
				g.Note("warning: --project overrides --scope %s", command.Plain(scope))
			}
			scope = "project"
		}
		var at edited
		done, err := g.Alter(cmd, change{Tool: "agents_overlay_edit",
			Args: command.Arguments{"module_id": args[0], "scope": scope, "kind": kind, "sparse": sparse, "materialize": materialize},
			Draw: func(data json.RawMessage, done bool) error {
				d, err := DecodeData[edited](data)
				at = d
				if err == nil {
					g.sayEdited(d, done)
				}
				return err
			}})
		if err != nil || !done {
			return err
		}
		return g.openEditor(cmd, at)
	})
	overlayScope(c, &scope)
	c.Flags().StringVar(&kind, "kind", "", "dir (copies of files) or patch (default: dir)")
	c.Flags().BoolVar(&sparse, "sparse", false, "do not copy files of the module")
	c.Flags().BoolVar(&materialize, "materialize", false, "copy the files of the module that the overlay lacks")
	c.Flags().BoolVar(&project, "project", false, "the same as --scope project")
	return c
}

func overlayScope(c *cobra.Command, scope *string) {
	c.Flags().StringVar(scope, "scope", "", "overlay scope: global, machine or project (default: global)")
}

func (g author) sayEdited(d edited, done bool) {
	word := DoneVerb(done, "kept", "keep")
	if d.Created {
		word = DoneVerb(done, "made", "make")
	}
	g.Line("%s the %s overlay of %s: %s", word, command.Plain(d.Scope), command.Plain(d.ID), command.Plain(d.Dir))
}

// openEditor opens the overlay in the person's editor: one program, with the directory as its only argument (agentpack contract §1.2).
func (g author) openEditor(cmd *cobra.Command, at edited) error {
	editor := strings.TrimSpace(g.Lookup("EDITOR"))
	if in, out := g.Terminals(); editor == "" || g.JSON || !in || !out {
		return nil
	}
	dir := at.Dir
	if at.Patches != nil {
		dir = *at.Patches
	}
	if err := g.attach(cmd.Context(), editor, dir); err != nil {
		return g.Failed(cmd, tool.Outcome{}, errEditor.WithMessage("$EDITOR (%s) failed: %v; the overlay was created", editor, err))
	}
	return nil
}

// attach runs a program on the person's terminal.
func (g author) attach(ctx context.Context, program, argument string) error {
	c := exec.CommandContext(ctx, program, argument)
	c.Stdin, c.Stdout, c.Stderr = g.In, g.Out, g.Err
	return c.Run()
}

func (g author) overlayPath() *cobra.Command {
	var scope string
	c := g.Command("path MODULE_ID", "Print the path of a module's overlay", func(cmd *cobra.Command, args []string) error {
		return g.Look(cmd, "agents_overlay_path", command.Arguments{"module_id": args[0], "scope": scope}, func(data json.RawMessage) error {
			d, err := DecodeData[edited](data)
			if err == nil {
				g.Line("%s", command.Plain(d.Dir))
			}
			return err
		})
	})
	overlayScope(c, &scope)
	return c
}

func (g author) overlayRebase() *cobra.Command {
	var scope string
	var sparsify bool
	c := g.Command("rebase MODULE_ID", "Update an overlay to its module's current version", func(cmd *cobra.Command, args []string) error {
		_, err := g.Alter(cmd, change{Tool: "agents_overlay_rebase", Args: command.Arguments{"module_id": args[0], "scope": scope, "sparsify": sparsify},
			Draw: g.Screen().Rebased})
		return err
	})
	overlayScope(c, &scope)
	c.Flags().BoolVar(&sparsify, "sparsify", false, "remove files that equal the module's")
	return c
}

// proposal shows the data of evolve propose, and the command that takes a branch over.
func (g author) proposal(data json.RawMessage) error {
	if err := g.Screen().Proposal(data); err != nil {
		return err
	}
	d, err := DecodeData[deployments.ProposeData](data)
	repo, none := g.Repo()
	if err == nil && none == nil && d.Created && d.Committed != nil && *d.Committed {
		g.Line("next: git -C %s merge %s", command.Plain(repo), command.Plain(d.Branch))
		g.Screen().Next([]string{g.again("countersign agents deploy --apply")})
	}
	return nil
}

func (g author) evolve() *cobra.Command {
	var module, scope, branch string
	propose := g.Command("propose", "Turn edits of deployed files into overlay changes on a git branch", func(cmd *cobra.Command, _ []string) error {
		_, err := g.Alter(cmd, change{Tool: "evolve_propose", Args: command.Arguments{"module_id": module, "scope": scope, "branch": branch},
			Draw: func(data json.RawMessage, _ bool) error { return g.proposal(data) }, Idle: HasReason("no_drift", "no_proposeable_drift")})
		return err
	})
	propose.Flags().StringVar(&module, "module-id", "", "only this module's files")
	overlayScope(propose, &scope)
	propose.Flags().StringVar(&branch, "branch", "", "branch to create (default: evolve/propose-…)")
	var only string
	restore := g.Command("restore", "Create deployed files that are missing", func(cmd *cobra.Command, _ []string) error {
		_, err := g.Alter(cmd, change{Tool: "evolve_restore", Args: command.Arguments{"module_id": only}, Draw: g.Screen().Restored, Idle: HasReason("no_missing")})
		return err
	})
	restore.Flags().StringVar(&only, "module-id", "", "only this module's files")
	return g.Parent("evolve", "Propose edits of deployed files back to the config repository", propose, restore)
}
