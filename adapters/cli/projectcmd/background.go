package projectcmd

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/app/projects"
	"github.com/countersign-dev/countersign/domain/fault"
)

// How often a followed process is asked for more: soon after it printed something, and seldom when it is quiet.
const (
	pollSoon   = 200 * time.Millisecond
	pollSeldom = time.Second
)

// statusRunning is the status of a process that may still print.
const statusRunning = "running"

func (g group) processes() *cobra.Command {
	return &cobra.Command{Use: "ps", Short: "List background processes of all clients", Args: command.Args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return command.CallAndShow(cmd.Context(), g.Runner, "list_background_processes", command.Arguments{}, func(found projects.ProcessList) {
				if len(found.Processes) == 0 {
					g.Note("no background processes; to start one: countersign run SCRIPT --background")
					return
				}
				var rows [][]string
				for _, p := range found.Processes {
					status := p.Status
					if p.ExitCode != nil && *p.ExitCode > 0 { // -1 is of a signal, which the status says
						status += " (" + strconv.Itoa(*p.ExitCode) + ")"
					}
					if p.Reason != "" {
						status += ": " + p.Reason
					}
					rows = append(rows, []string{string(p.ID), p.ScriptName, status, strconv.Itoa(p.PID), command.Age(p.StartedAt), p.ProjectPath})
				}
				g.Table([]string{"id", "script", "status", "pid", "started", "project"}, rows)
			})
		}}
}

func (g group) logs() *cobra.Command {
	var lines int
	var follow bool
	c := &cobra.Command{Use: "logs ID", Short: "Show the output of a background process", Args: command.Args(1, 1), ValidArgsFunction: command.Complete(g.Processes),
		Long: "Show the output of a background process: its stdout on stdout, its stderr on stderr. ID is an ID from countersign ps, the beginning\n" +
			"of one, or the name of a script with one process.",
		Example: `  countersign logs dev -f
  countersign logs bp_3f2a -n 500`}
	c.Flags().IntVarP(&lines, "lines", "n", 100, "number of lines from the end, 1 to 2000")
	c.Flags().BoolVarP(&follow, "follow", "f", false, "follow until it ends")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		ctx := cmd.Context()
		id, err := g.Process(ctx, args[0])
		if err != nil {
			return err
		}
		now, err := g.read(ctx, command.Arguments{"processId": id, "tailLines": lines}, true)
		if err != nil || !follow {
			return err
		}
		return g.follow(ctx, id, now)
	}
	return c
}

// read shows a part of a process's output. An empty one is not shown as JSON unless always is set.
func (g group) read(ctx context.Context, call command.Arguments, always bool) (projects.OutputAnswer, error) {
	var part projects.OutputAnswer
	o, err := g.Ask(ctx, "get_background_process_output", call, &part)
	switch {
	case err != nil:
		return part, err
	case g.JSON && (always || len(part.Lines) > 0):
		return part, g.Show(o)
	case g.JSON:
		return part, nil
	}
	if part.Dropped > 0 {
		g.Note("%d earlier lines were dropped", part.Dropped)
	}
	return part, g.lines(part.Lines)
}

// lines writes lines of a process's output where the process would have.
func (g group) lines(lines []string) error { return g.prefixed("", lines) }

// prefixed is lines, each behind the same words.
func (g group) prefixed(before string, lines []string) error {
	for _, line := range lines {
		to := g.Out
		stderr, text := stream(line)
		if stderr {
			to = g.Err
		}
		if g.Drawn() || stderr {
			text = command.Block(text)
		}
		if _, err := fmt.Fprintln(to, before+text); err != nil {
			return err
		}
	}
	return nil
}

// follow shows what a process prints until it has ended and all of it was shown.
func (g group) follow(ctx context.Context, id string, now projects.OutputAnswer) error {
	wait := pollSoon
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for now.Status == statusRunning || now.HasMore {
		select {
		case <-ctx.Done(): // the way to end following; there is nothing to say about it
			return command.Exit(present.ExitCode(fault.Canceled))
		case <-timer.C:
		}
		last := now.Status
		next, err := g.read(ctx, command.Arguments{"processId": id, "sinceSeq": now.NextSeq, "tailLines": 2000}, false)
		if err != nil {
			return err
		}
		wait = min(wait*2, pollSeldom)
		if now = next; len(now.Lines) > 0 || last != now.Status {
			wait = pollSoon
		}
		if now.HasMore {
			wait = 0
		}
		timer.Reset(wait)
	}
	if g.JSON {
		return nil
	}
	ending := now.Status
	if now.ExitCode != nil {
		ending += fmt.Sprintf(", exit code %d", *now.ExitCode)
	}
	g.Note("%s: %s", id, ending)
	return nil
}

func (g group) stop() *cobra.Command {
	var force bool
	c := &cobra.Command{Use: "stop ID", Short: "Stop a background process and its process tree", Args: command.Args(1, 1), ValidArgsFunction: command.Complete(g.Processes)}
	c.Flags().BoolVarP(&force, "force", "f", false, "kill it without sending SIGTERM first")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		id, err := g.Process(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		call := command.Arguments{"processId": id}
		if force {
			call["force"] = true
		}
		return command.CallAndShow(cmd.Context(), g.Runner, "stop_background_process", call, func(s struct {
			Message  string `json:"message"`
			Escalate bool   `json:"escalated"`
		}) {
			g.Line("%s", command.Plain(s.Message))
			if s.Escalate && !force {
				g.Note("did not stop on SIGTERM, so it was killed")
			}
		})
	}
	return c
}
