package sandboxcmd

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/app/sandboxes"
	"github.com/countersign-dev/countersign/domain/fault"
)

// mostLines is how many lines of a log are shown at once.
const mostLines = 100_000

// printed is the end of a server's log, as JSON.
type printed struct {
	Status  string   `json:"status"`
	Project string   `json:"project"`
	URL     string   `json:"git_url"`
	Log     string   `json:"log"`
	Lines   []string `json:"lines"`
}

func (g group) logs() *cobra.Command {
	var lines int
	var follow bool
	c := &cobra.Command{Use: "logs [URL]", Short: "Show the log of a project's server", Args: command.Args(0, 1), ValidArgsFunction: g.CompleteURL,
		Long:    "Show the log of a project's server, with secrets redacted.\n\nWith --follow it continues until Ctrl-C, with exit code 130.",
		Example: "  countersign sandbox logs acme-shop -n 20\n  countersign sandbox logs acme-shop -f"}
	c.Flags().IntVarP(&lines, "lines", "n", 100, "number of lines from the end")
	c.Flags().BoolVarP(&follow, "follow", "f", false, "follow until interrupted")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if lines < 1 || lines > mostLines {
			return command.Usage(cmd, "invalid -n %d; use 1 to %d", lines, mostLines)
		}
		if follow && g.JSON {
			return command.Usage(cmd, "--follow and --json exclude each other")
		}
		url, err := g.URL(cmd.Context(), command.First(args))
		if err != nil {
			return err
		}
		var v view
		if _, err := g.Ask(cmd.Context(), sandboxes.ProjectStatus.Name, command.Arguments{"git_url": url}, &v); err != nil {
			return err
		}
		if err := v.Verdict(); err != nil {
			return err
		}
		return g.tail(cmd.Context(), v, lines, follow)
	}
	return c
}

func (g group) tail(ctx context.Context, v view, n int, follow bool) error {
	if v.Log == "" {
		return ErrLog.WithMessage("the log file of the server of project %s is unknown", v.Project)
	}
	lines, at, err := LastLines(v.Log, n)
	if err != nil {
		return err
	}
	defer at.Close()
	if g.JSON {
		return g.PrintJSON(printed{"success", v.Project, v.URL, v.Log, append([]string{}, lines...)})
	}
	for _, line := range lines {
		if err := g.printed(line); err != nil {
			return err
		}
	}
	if len(lines) == 0 {
		g.Note("no output from the server of %s yet; its log is %s", command.Plain(v.Project), command.Plain(v.Log))
	}
	if !follow {
		return nil
	}
	err = at.Follow(ctx, g.printed)
	if ctx.Err() != nil { // the way to end following; there is nothing to say about it
		return command.Exit(present.ExitCode(fault.Canceled))
	}
	return err
}

// printed writes a line of a log: on a terminal without what moves its cursor.
func (g group) printed(line string) error {
	if g.Drawn() {
		line = command.Block(line)
	}
	_, err := fmt.Fprintln(g.Out, line)
	return err
}
