package projectcmd

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/app/projects"
	"github.com/countersign-dev/countersign/app/projects/workflows"
	"github.com/countersign-dev/countersign/domain/tool"
)

func (g workflowGroup) run() *cobra.Command {
	var project, dir string
	var inputs []string
	var force bool
	c := &cobra.Command{Use: "run W", Short: "Run a workflow's steps in order, after showing every command", Args: command.Args(1, 1), ValidArgsFunction: command.Complete(g.Workflows),
		Example: `  countersign workflow run release --input VERSION=1.2.0
  countersign workflow run checks --dir ~/work/shop`}
	g.ProjectFlag(c, &project, "project for steps without a working directory (default: the workflow's)")
	c.Flags().StringVar(&dir, "dir", "", "directory for steps without a working directory; required for a workflow without a project")
	c.Flags().StringArrayVarP(&inputs, "input", "i", nil, "input value NAME=VALUE (repeatable)")
	c.Flags().BoolVar(&force, "force", false, "also run steps whose input files are unchanged")
	_ = c.MarkFlagDirname("dir") // the flag is there
	c.RunE = func(cmd *cobra.Command, args []string) error {
		ctx := cmd.Context()
		id, err := g.Runner.Workflow(ctx, args[0])
		if err != nil {
			return err
		}
		call := command.Arguments{"workflow_id": id}
		switch {
		case dir != "" && project != "":
			return command.Usage(cmd, "--dir and --project exclude each other")
		case dir != "":
			if call["project_path"], err = filepath.Abs(dir); err != nil {
				return command.ErrUsage.WithMessage("not a directory: %q: %v", dir, err)
			}
		case project != "":
			if call["project_path"], err = g.Dir(ctx, project); err != nil {
				return err
			}
		}
		if force {
			call["force"] = true
		}
		values := map[string]string{}
		for _, pair := range inputs {
			name, value, ok := strings.Cut(pair, "=")
			if !ok {
				return command.Usage(cmd, "invalid --input %q; use NAME=VALUE", pair)
			}
			values[name] = value
		}
		if len(values) > 0 {
			call["inputs"] = values
		}
		return StartWorkflow(ctx, g.Runner, call)
	}
	return c
}

// StartWorkflow runs a workflow: a line a step on the error stream as they begin, and what they printed, on a terminal as they print it, else at the end.
func StartWorkflow(ctx context.Context, d Runner, call command.Arguments) error {
	g := workflowGroup{d}
	l := group{d}.watchBeside(ctx)
	o, err := d.Send(ctx, "run_workflow", call, g.step(l))
	d.Done()
	shown := l.end()
	var out workflows.RunResult
	if err != nil {
		if command.FailureDetails(err, &out) {
			g.drawOutcome(out, shown)
		}
		return d.Failed(o, err)
	}
	if d.JSON {
		return d.Show(o)
	}
	if err := command.DecodeAnswer(o, &out); err != nil {
		return err
	}
	g.drawOutcome(out, shown)
	return nil
}

// step tells of the steps as they begin: a line each, below what the steps before it printed, and on a terminal a bar below them. l shows what they print.
func (g workflowGroup) step(l *live) func(tool.Progress) {
	if g.JSON {
		return nil
	}
	lines := l.progress()
	return func(p tool.Progress) {
		if runsAs().MatchString(p.Message) {
			if lines != nil {
				lines(p)
			}
			return
		}
		l.catchUp()
		g.Done()
		if p.Message != "" && p.Done < p.Total {
			g.Note("%s", command.Plain(p.Message))
		}
		if lines == nil { // a bar and lines would draw over one another
			g.Progress(p.Done, p.Total, p.Message)
		}
	}
}

// drawOutcome shows how a run ended; what its steps printed is left out when it was shown, with the lines that would stand above it.
func (g workflowGroup) drawOutcome(out workflows.RunResult, shown bool) {
	if g.JSON || out.ExecutionID == "" {
		return
	}
	for _, line := range out.Summary {
		if shown && (strings.HasPrefix(line, "  > ") || strings.HasPrefix(line, "[RUN]")) {
			continue
		}
		g.Line("%s", g.tinted(line))
	}
	skipped := ""
	if out.StepsSkipped > 0 {
		skipped = fmt.Sprintf(", %d skipped", out.StepsSkipped)
	}
	g.Line("%s: %s, %d of %s%s (%s)", command.Plain(out.WorkflowName), out.Status, out.StepsExecuted, plural(out.TotalSteps, "step"), skipped, out.ExecutionID)
}

// tinted returns a line of a run's summary, in the colour of how it went.
func (g workflowGroup) tinted(line string) string {
	line = strings.TrimRight(command.Block(line), " ")
	switch {
	case strings.HasPrefix(line, "[OK]"):
		return g.Tinted(line, command.Added)
	case strings.HasPrefix(line, "[FAIL]"):
		return g.Tinted(line, command.Removed)
	case strings.HasPrefix(line, "[RUN]"):
		return g.Tinted(line, command.Heading)
	}
	return line
}

// executionMark begins the id of every execution.
const executionMark = "exec-"

func (g workflowGroup) history() *cobra.Command {
	var limit int
	var status string
	c := &cobra.Command{Use: "history [W | EXECUTION]", Short: "List executions, or show one with its steps and output", Args: command.Args(0, 1), ValidArgsFunction: command.Complete(g.Workflows)}
	c.Flags().IntVarP(&limit, "limit", "n", 20, "maximum number of rows, 1 to 200")
	c.Flags().StringVar(&status, "status", "", "only this status: queued, running, completed, failed, cancelled or timed_out")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		ctx := cmd.Context()
		call := command.Arguments{"actionType": "workflow", "limit": limit}.Set("status", status)
		if len(args) > 0 {
			if strings.HasPrefix(args[0], executionMark) {
				return command.CallAndShow(ctx, g.Runner, "get_execution_status", command.Arguments{"executionId": args[0]}, g.drawExecution)
			}
			id, err := g.Runner.Workflow(ctx, args[0])
			if err != nil {
				return err
			}
			call["actionId"] = id
		}
		return command.CallAndShow(ctx, g.Runner, "list_action_executions", call, func(found projects.ExecutionList) {
			g.drawHistory(found.Executions, found.Total)
		})
	}
	return c
}

func (g workflowGroup) drawHistory(found []projects.Execution, total int) {
	if len(found) == 0 {
		g.Note("no executions")
		return
	}
	var rows [][]string
	for _, e := range found {
		rows = append(rows, []string{e.ID, e.Name, string(e.Status), command.Age(e.StartedAt), command.Took(e.DurationMS), e.TriggeredBy, e.Error})
	}
	g.Table([]string{"id", "workflow", "status", "started", "took", "by", "error"}, rows, "by", "took")
	if more := total - len(found); more > 0 {
		g.Note("and %d more; --limit shows them", more)
	}
}

func (g workflowGroup) drawExecution(e projects.Execution) {
	g.Pairs(command.Pair{Name: "id", Value: e.ID}, command.Pair{Name: "workflow", Value: e.Name}, command.Pair{Name: "status", Value: string(e.Status)}, command.Pair{Name: "error", Value: e.Error},
		command.Pair{Name: "started", Value: command.Age(e.StartedAt)}, command.Pair{Name: "took", Value: command.Took(e.DurationMS)}, command.Pair{Name: "by", Value: e.TriggeredBy})
	if len(e.Steps) > 0 {
		g.Line("")
		var rows [][]string
		for i, s := range e.Steps {
			code := ""
			if s.ExitCode != nil {
				code = strconv.Itoa(*s.ExitCode)
			}
			status := string(s.Status)
			if s.Reason != "" {
				status += " (" + s.Reason + ")"
			}
			if s.Tries > 1 {
				status += fmt.Sprintf(" (try %d)", s.Tries)
			}
			rows = append(rows, []string{strconv.Itoa(i + 1), strings.Repeat("· ", s.Depth) + s.Name, status, code, command.Took(s.DurationMS), s.Error})
		}
		g.Table([]string{"#", "step", "status", "exit code", "took", "error"}, rows)
	}
	if len(e.Output) > 0 {
		g.Line("")
	}
	for _, l := range e.Output {
		line := l.Content
		if l.Stream != "system" {
			line = "  > " + line
		}
		g.Line("%s", g.tinted(line))
	}
}
