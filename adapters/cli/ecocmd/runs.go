package ecocmd

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
)

func (g *group) runs() []*cobra.Command {
	return []*cobra.Command{g.runList(), g.runLogs(),
		g.ofRun("status", "Show the status of a run", func(ctx context.Context, id string) error {
			return g.look(ctx, "amof_get_run_status", command.Arguments{"run_id": id}, func(a answer) {
				g.Run(a)
				g.Results(a.Object("result"))
			})
		}),
		g.ofRun("summary", "Show a summary of a run", func(ctx context.Context, id string) error {
			return g.look(ctx, "amof_summarize_run", command.Arguments{"run_id": id}, g.Run)
		}),
		g.dry(g.ofRun("cancel", "Cancel a run; its changes are finished or undone", func(ctx context.Context, id string) error {
			return g.do(ctx, "amof_cancel_run", command.Arguments{"run_id": id}, nil)
		}))}
}

func (g *group) runList() *cobra.Command {
	var state, action string
	var limit int
	c := &cobra.Command{Use: "list", Short: "List runs, newest first", Args: command.Args(0, 0), Example: "  countersign eco runs list --status failed"}
	c.Flags().StringVar(&state, "status", "", "only this status: queued, paused, running, success, failed or cancelled")
	c.Flags().StringVar(&action, "action", "", "only this action: install, sync, push, …")
	c.Flags().IntVar(&limit, "limit", 20, "maximum number of runs, 1 to 200")
	_ = c.RegisterFlagCompletionFunc("status", cobra.FixedCompletions([]cobra.Completion{"queued", "paused", "running", "success", "failed", "cancelled"}, cobra.ShellCompDirectiveNoFileComp))
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		a := g.about(nil).Set("status", state).Set("action", action)
		a["limit"] = limit
		return g.look(cmd.Context(), "amof_list_runs", a, g.Runs)
	}
	return c
}

func (g *group) ofRun(use, short string, do func(ctx context.Context, id string) error) *cobra.Command {
	c := &cobra.Command{Use: use + " RUN", Short: short, Args: command.Args(1, 1), ValidArgsFunction: command.Complete(g.ids), Example: "  countersign eco runs " + use + " 1a2b3c4d"}
	c.RunE = func(cmd *cobra.Command, args []string) error { return do(cmd.Context(), args[0]) }
	return c
}

func (g *group) runLogs() *cobra.Command {
	var tail int
	var follow bool
	var level string
	c := g.ofRun("logs", "Show the log of a run", nil)
	c.Long = "Show the log of a run.\n\nWith --follow it continues until the run ends; the exit code is that of the run: 0, 1 if it failed, 124 if it timed out,\n" +
		"130 if it was cancelled. Ctrl-C stops following, not the run; the exit code is then 130."
	c.Flags().BoolVarP(&follow, "follow", "f", false, "follow until it ends, and exit with its status")
	c.Flags().IntVarP(&tail, "tail", "n", 50, "number of lines from the end, 1 to 1000")
	c.Flags().StringVar(&level, "level", "", "only this level: info, warning or error")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case tail < 1 || tail > mostEvents:
			return command.Usage(cmd, "invalid -n %d; use 1 to %d", tail, mostEvents)
		case follow && level != "":
			return command.Usage(cmd, "--level and --follow exclude each other")
		case follow:
			return g.follow(cmd.Context(), args[0], tail)
		}
		return g.look(cmd.Context(), "amof_get_run_logs", command.Arguments{"run_id": args[0], "tail": tail}.Set("level", level), func(a answer) {
			for _, e := range a.List("events") {
				g.Line("%s", g.Tinted(command.Plain(e.Word("message")), tints(e.Word("level"))))
			}
		})
	}
	return c
}

// tints returns how a line of a log looks, where colour can show it.
func tints(level string) command.Tint {
	switch level {
	case "error":
		return command.Removed
	case "warning":
		return command.Changed
	}
	return command.Faded
}
