package ecocmd

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/projectcmd/workdesk"
	"github.com/countersign-dev/countersign/adapters/cli/shell"
	"github.com/countersign-dev/countersign/adapters/cli/terminal"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

func toolName(s string) tool.Name { return tool.Name(s) }

// status is how far a run is (amof contract §13, tool 21).
type status struct {
	ID       string          `json:"run_id"`
	Action   string          `json:"action"`
	Status   string          `json:"status"`
	ExitCode *int            `json:"exit_code"`
	Terminal bool            `json:"terminal"`
	Error    string          `json:"error"`
	Position *int            `json:"position"`
	Result   json.RawMessage `json:"result"`
}

// said is what a run said after a while.
type said struct {
	Events []struct {
		Level, Type, Message string
		Seq                  int64
	}
	Next int64
}

// follow shows what a run says until it ends. Its exit code is the command's. Interrupting the command leaves the run alone.
func (g *group) follow(ctx context.Context, id string) error {
	g.Note("run %s; it goes on when this is interrupted (countersign eco runs logs %s --follow)", id[:min(8, len(id))], id[:min(8, len(id))])
	var next int64
	for {
		var news said
		o, err := g.Send(ctx, "amof_get_run_logs", workdesk.Arguments{"run_id": id, "since": strconv.FormatInt(next, 10), "tail": 1000}, quiet)
		if err != nil {
			return g.failed(o, err)
		}
		if err := workdesk.Read(o, &news); err != nil {
			return err
		}
		g.tell(news)
		next = news.Next
		var now status
		if o, err = g.Send(ctx, "amof_get_run_status", workdesk.Arguments{"run_id": id}, quiet); err != nil {
			return g.failed(o, err)
		}
		if err := workdesk.Read(o, &now); err != nil {
			return err
		}
		if now.Terminal && len(news.Events) == 0 {
			return g.ended(o, now)
		}
		if !now.Terminal && len(news.Events) == 0 {
			if _, err := g.Send(ctx, "amof_get_run_status", workdesk.Arguments{"run_id": id, "wait_seconds": 1}, quiet); err != nil {
				return err
			}
		}
	}
}

func quiet(tool.Progress) {}

// tell shows what was said. Under --json the output is the answer's alone.
func (g *group) tell(news said) {
	for _, e := range news.Events {
		line := terminal.Plain(e.Message)
		switch {
		case e.Type == "exit":
		case e.Level == "error":
			g.Note("%s", g.Tinted("✗ "+line, terminal.Removed))
		case e.Level == "warning":
			g.Note("%s", g.Tinted("! "+line, terminal.Changed))
		default:
			g.Note("  %s", line)
		}
	}
}

// ended shows what came of a run: the answer as JSON, or its repositories as a table.
func (g *group) ended(o tool.Outcome, now status) error {
	g.Done()
	if g.JSON {
		if err := g.Show(o); err != nil {
			return err
		}
	} else {
		g.table(now)
	}
	code := 1
	if now.ExitCode != nil {
		code = *now.ExitCode
	}
	if code == 0 && !g.JSON {
		g.Step("%s of run %s: success", terminal.Plain(now.Action), now.ID[:min(8, len(now.ID))])
	} else if code != 0 && !g.JSON {
		g.broken(now)
	}
	return exit(code)
}

// broken says how a run failed.
func (g *group) broken(now status) {
	g.Terminal.Fail(fmt.Sprintf("the %s %s", terminal.Plain(now.Action), now.Status), "countersign eco runs logs "+now.ID[:min(8, len(now.ID))]+" shows all it said")
}

// table shows the repositories of a result, one a line, with whatever each of them says in single words.
func (g *group) table(now status) {
	var result struct {
		Repos []map[string]any `json:"repos"`
	}
	if json.Unmarshal(now.Result, &result) != nil || len(result.Repos) == 0 {
		return
	}
	headings := []string{"REPOSITORY"}
	columns := []string{"result", "status", "action", "branch", "commit", "reason", "problem", "error"}
	var used []string
	for _, c := range columns {
		for _, r := range result.Repos {
			if word(r[c]) != "" {
				used, headings = append(used, c), append(headings, strings.ToUpper(c))
				break
			}
		}
	}
	var rows [][]string
	for _, r := range result.Repos {
		row := []string{terminal.Plain(word(r["name"]) + word(r["repo"]))}
		for _, c := range used {
			row = append(row, terminal.Plain(word(r[c])))
		}
		rows = append(rows, row)
	}
	g.Table(headings, rows)
}

func word(v any) string {
	s, _ := v.(string)
	return s
}

func (g *group) runs() []*cobra.Command {
	var state, action string
	var limit, tail int
	var follow bool
	list := &cobra.Command{Use: "list", Short: "List runs, newest first", Args: shell.Args(0, 0), Example: "  countersign eco runs list --status failed"}
	list.Flags().StringVar(&state, "status", "", "only those that are queued, running, success, failed or cancelled")
	list.Flags().StringVar(&action, "action", "", "only those that did this")
	list.Flags().IntVar(&limit, "limit", 0, "how many (default 20)")
	list.RunE = func(cmd *cobra.Command, _ []string) error {
		a := g.about(nil).Set("status", state).Set("action", action)
		if limit > 0 {
			a["limit"] = limit
		}
		return g.look(cmd.Context(), "amof_list_runs", a)
	}
	one := func(use, short string, do func(ctx context.Context, id string) error) *cobra.Command {
		c := &cobra.Command{Use: use + " RUN", Short: short, Args: shell.Args(1, 1), ValidArgsFunction: workdesk.Complete(g.ids), Example: "  countersign eco runs " + use + " 1a2b3c4d"}
		c.RunE = func(cmd *cobra.Command, args []string) error { return do(cmd.Context(), args[0]) }
		return c
	}
	logs := one("logs", "Show what a run said", func(ctx context.Context, id string) error {
		if follow {
			return g.follow(ctx, id)
		}
		return g.logs(ctx, id, tail)
	})
	logs.Flags().BoolVarP(&follow, "follow", "f", false, "go on until it ends; its exit code is the command's")
	logs.Flags().IntVarP(&tail, "tail", "n", 50, "how many of the last lines")
	return []*cobra.Command{list, logs,
		one("status", "Show how far a run is", func(ctx context.Context, id string) error {
			return g.look(ctx, "amof_get_run_status", workdesk.Arguments{"run_id": id})
		}),
		one("summary", "Show how a run went, in short", func(ctx context.Context, id string) error {
			return g.look(ctx, "amof_summarize_run", workdesk.Arguments{"run_id": id})
		}),
		one("cancel", "Cancel a run", func(ctx context.Context, id string) error {
			return g.do(ctx, "amof_cancel_run", workdesk.Arguments{"run_id": id})
		})}
}

// logs shows the end of a run's log, a line an event.
func (g *group) logs(ctx context.Context, id string, tail int) error {
	var news said
	o, err := g.Send(ctx, "amof_get_run_logs", workdesk.Arguments{"run_id": id, "tail": tail}, nil)
	if err != nil {
		return g.failed(o, err)
	}
	if g.JSON {
		return g.Show(o)
	}
	if err := workdesk.Read(o, &news); err != nil {
		return err
	}
	for _, e := range news.Events {
		g.Line("%s", terminal.Plain(e.Message))
	}
	return nil
}

// ids completes runs.
func (g *group) ids(ctx context.Context, begun string) []cobra.Completion {
	var all struct {
		Runs []struct {
			ID        string `json:"run_id"`
			Action    string `json:"action"`
			Ecosystem string `json:"ecosystem"`
			Status    string `json:"status"`
		} `json:"runs"`
	}
	o, err := g.Send(ctx, "amof_list_runs", workdesk.Arguments{}, nil)
	if err != nil || workdesk.Read(o, &all) != nil {
		return nil
	}
	var out []cobra.Completion
	for _, r := range all.Runs {
		if strings.HasPrefix(r.ID, begun) {
			out = append(out, cobra.CompletionWithDesc(r.ID[:8], r.Action+" of "+r.Ecosystem+", "+r.Status))
		}
	}
	return out
}

// explain puts the way out in words of the command line behind refusals that a person meets often.
func explain(err error) error {
	f := fault.From(err)
	if f == nil {
		return err
	}
	hints := map[fault.Code]shell.Hint{
		"eco_no_ecosystem":           "countersign eco list shows those there are; countersign eco use NAME selects one",
		"eco_ecosystem_not_found":    "countersign eco list shows those there are; countersign eco create NAME makes one",
		"eco_not_installed":          "countersign eco install installs it",
		"eco_already_installed":      "countersign eco sync brings it up to date; countersign eco discard removes it",
		"eco_manifest_invalid":       "countersign eco validate says where",
		"eco_workspace_root_invalid": "go to the workspace, or name it in AMOF_WORKSPACE_ROOT",
		"eco_ticket_not_found":       "countersign eco ticket list shows those there are",
		"eco_unsaved_work":           "countersign eco status shows it; countersign eco push pushes it",
		"eco_run_not_found":          "countersign eco runs list shows those there are",
	}
	if hint := hints[f.Code]; hint != "" {
		return f.With(hint)
	}
	return err
}
