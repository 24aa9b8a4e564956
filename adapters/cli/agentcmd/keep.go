package agentcmd

import (
	"encoding/json"
	"io"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/app/deployments"
	"github.com/countersign-dev/countersign/domain/tool"
)

// maxEvent bounds an event read from stdin, in bytes.
const maxEvent = 1 << 20

func (g group) rollback() *cobra.Command {
	var to string
	c := g.Command("rollback [TO]", "Roll back to a snapshot (initial: before the first deployment)", func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			if to != "" && to != args[0] {
				return g.Misused(cmd, "%s and --to %s name two snapshots", args[0], to)
			}
			to = args[0]
		}
		if to == "" {
			return g.Misused(cmd, "the snapshot is missing: an ID, or initial; to list the IDs: countersign agents snapshots")
		}
		if chosen := cmd.Flag("target").Value.String(); chosen != "" && chosen != "all" {
			return g.Misused(cmd, "a rollback restores all targets of the snapshot; --target is not supported")
		}
		_, err := g.Alter(cmd, change{Tool: "rollback", Args: command.Arguments{"to": to}, Draw: g.drawRollback, Idle: func(data json.RawMessage) bool {
			p, err := DecodeData[present.Plan](data)
			return err == nil && p.Summary.Empty()
		}})
		return err
	})
	c.Example = `  countersign agents rollback initial
  countersign agents snapshots list`
	c.Flags().StringVar(&to, "to", "", "ID of a snapshot, or initial")
	_ = c.Flags().SetAnnotation("to", required, nil) // the flag is there
	return c
}

func (g group) drawRollback(data json.RawMessage, done bool) error {
	d, err := DecodeData[struct {
		present.Plan
		Event string `json:"event_snapshot_id"`
		To    string `json:"rolled_back_to"`
	}](data)
	switch {
	case err != nil:
		return err
	case d.Summary.Empty():
		g.Line("nothing to change: all files match %s", command.Plain(d.To))
		return nil
	case done:
		g.Line("rolled back to %s: %d created, %d updated, %d deleted; snapshot %s has the former files", command.Plain(d.To), d.Files().Create, d.Files().Update,
			d.Files().Delete, command.Plain(d.Event))
		return nil
	}
	g.Screen().Changes(d.Plan, false)
	g.Screen().Total(d.Plan)
	return nil
}

func (g group) snapshots() *cobra.Command {
	list := g.Command("list", "List snapshots, newest last", func(cmd *cobra.Command, _ []string) error {
		return g.Look(cmd, "agents_snapshots_list", nil, g.Screen().Snapshots)
	})
	one := g.Command("show ID", "Show a snapshot with every file it changed", func(cmd *cobra.Command, args []string) error {
		return g.Look(cmd, "agents_snapshots_show", command.Arguments{"id": args[0]}, g.Screen().Snapshot)
	})
	var keep int
	prune := g.Command("prune [ID]...", "Delete old snapshots and the content that only they use", func(cmd *cobra.Command, args []string) error {
		call := command.Arguments{"ids": args}
		if cmd.Flags().Changed("keep") {
			call["keep"] = keep
		}
		_, err := g.Alter(cmd, change{Tool: "agents_snapshots_prune", Args: call, Draw: g.Screen().Pruned, Idle: func(data json.RawMessage) bool {
			d, err := DecodeData[struct {
				Pruned []string `json:"pruned"`
			}](data)
			return err == nil && len(d.Pruned) == 0
		}})
		return err
	})
	prune.Flags().IntVar(&keep, "keep", 0, "number of newest snapshots to keep")
	return g.Parent("snapshots", "List, show and prune snapshots", list, one, prune)
}

func (g group) record() *cobra.Command {
	return g.Command("record", "Record an event, a JSON object on stdin", func(cmd *cobra.Command, _ []string) error {
		if in, _ := g.Terminals(); in {
			g.Note("reading an event from the terminal: enter JSON, then Ctrl-D")
		}
		event, err := io.ReadAll(io.LimitReader(g.In, maxEvent+1))
		switch {
		case err != nil:
			return g.Failed(cmd, tool.Outcome{}, err)
		case len(event) > maxEvent:
			return g.Misused(cmd, "the event on stdin is longer than %d bytes", maxEvent)
		case !json.Valid(event):
			return g.Misused(cmd, "stdin is not a JSON value")
		}
		return g.Simple(cmd, "agents_record", command.Arguments{"event": json.RawMessage(event)}, func(data fields, done bool) {
			g.Line("%s the event in %s", DoneVerb(done, "recorded", "record"), data.Text("path"))
		})
	})
}

// manifests writes what earlier versions and the original read beside the files.
func (g group) manifests() *cobra.Command {
	var write bool
	c := g.Command("manifests", "Write ownership manifests beside deployed files, for earlier versions and the original tool", func(cmd *cobra.Command, _ []string) error {
		g.flags.dryRun = g.flags.dryRun || !write
		_, err := g.Alter(cmd, change{Tool: "agents_manifests_write", Draw: func(data json.RawMessage, done bool) error {
			d, err := DecodeData[struct {
				Manifests []struct {
					Path string `json:"path"`
				} `json:"manifests"`
			}](data)
			for _, m := range d.Manifests {
				g.Line("%s %s", DoneVerb(done, "wrote", "write"), command.Plain(m.Path))
			}
			return err
		}, Idle: func(data json.RawMessage) bool {
			d, err := DecodeData[struct {
				Manifests []json.RawMessage `json:"manifests"`
			}](data)
			return err == nil && len(d.Manifests) == 0
		}})
		return err
	})
	c.Flags().BoolVar(&write, "write", false, "write the manifests; the next deployment takes the files over again")
	return c
}

// recovery shows what was interrupted, finishes it or takes it back.
func (g group) recovery() *cobra.Command {
	var resume, undo bool
	c := g.Command("recover", "Show, finish or undo an interrupted deployment", func(cmd *cobra.Command, _ []string) error {
		kind := "undo"
		switch {
		case resume && undo:
			return g.Misused(cmd, "--resume and --undo exclude each other")
		case !resume && !undo:
			return g.Look(cmd, "agents_pending", nil, g.drawPending)
		case resume:
			kind = "resume"
		}
		_, err := g.Alter(cmd, change{Tool: "agents_recover", Args: command.Arguments{"kind": kind}, Draw: g.drawRecovered, Idle: func(data json.RawMessage) bool {
			d, err := DecodeData[fields](data)
			return err == nil && d["id"] == nil
		}})
		return err
	})
	c.Flags().BoolVar(&resume, "resume", false, "finish it")
	c.Flags().BoolVar(&undo, "undo", false, "undo it")
	return c
}

func (g group) drawPending(data json.RawMessage) error {
	d, err := DecodeData[deployments.PendingData](data)
	switch {
	case err != nil:
		return err
	case d.Interrupted == nil:
		g.Line("nothing was interrupted")
		return nil
	}
	g.Line("%s %s was interrupted after %d of %d writes", command.Plain(string(d.Interrupted.Kind)), command.Plain(d.Interrupted.ID), d.Interrupted.Done, d.Interrupted.Total)
	g.Screen().Next(d.NextActions)
	return nil
}

func (g group) drawRecovered(data json.RawMessage, done bool) error {
	d, err := DecodeData[deployments.RecoverData](data)
	switch {
	case err != nil:
		return err
	case d.ID == nil || d.Kind == nil:
		g.Line("nothing was interrupted")
		return nil
	}
	words := DoneVerb(done, "finished", "finish")
	if d.Action == "undo" {
		words = DoneVerb(done, "undid", "undo")
	}
	g.Line("%s %s %s", words, command.Plain(string(*d.Kind)), command.Plain(*d.ID))
	for _, path := range d.Left {
		g.Line("skipped: %s", command.Plain(path))
	}
	return nil
}
