package projectcmd

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// wish is how a script is to be run.
type wish struct {
	project    string
	background bool
	timeout    time.Duration
	until      string
	within     time.Duration
	members    []string
	since      string
}

func (g group) run() *cobra.Command {
	var w wish
	c := &cobra.Command{Use: "run TASK [-- ARGS...]", Short: "Run a script or another task of a project, after showing its command", Args: command.Args(0, -1),
		Long: "Run a package.json script with the project's package manager, or another task from countersign project tasks, after showing the command. Arguments after\n" +
			"-- go to the script. If several files have a task with that name, use make:NAME.\n" +
			"With --member or --changed-since it runs in several members of the workspace, dependencies first, and stops at the first failure.\n" +
			"On a terminal its output is shown line by line, otherwise at the end. With --background it continues after this command ends; see countersign logs and countersign stop.\n\n" +
			"Exit code 1: the script failed; its own exit code is in the message.",
		Example: `  countersign run test
  countersign run test -- --watch=false
  countersign run make:test
  countersign run build --member 'packages/*' --member '!docs'
  countersign run test --changed-since main
  countersign run dev --until "ready in"`}
	g.ProjectFlag(c, &w.project, "name, ID or directory of the project (default: the project of the working directory)")
	c.Flags().BoolVarP(&w.background, "background", "b", false, "run in the background, and print its ID")
	c.Flags().DurationVar(&w.timeout, "timeout", 0, "timeout (default 5m; in the background none)")
	c.Flags().StringVar(&w.until, "until", "", "in the background: wait until a line of its output matches this regular expression")
	c.Flags().DurationVar(&w.within, "within", 0, "how long --until waits (default 30s)")
	c.Flags().StringArrayVarP(&w.members, "member", "m", nil, "run in these members of the workspace: a name, directory or pattern; !NAME excludes one, '*' is all (repeatable)")
	c.Flags().StringVar(&w.since, "changed-since", "", "run in the members that changed since this commit, and their dependents")
	c.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName { // as other tools call them
		return pflag.NormalizedName(cmp.Or(map[string]string{"members": "member", "changed": "changed-since"}[name], name))
	})
	_ = c.RegisterFlagCompletionFunc("member", g.completeMember) // the flag is there, and is registered once
	c.ValidArgsFunction = func(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return g.runnable(cmd.Context(), w.project, begun), cobra.ShellCompDirectiveNoFileComp
	}
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return g.unnamed(cmd, w.project)
		}
		w.background = w.background || w.until != ""
		call, err := g.runArguments(cmd.Context(), w, args)
		if err != nil {
			return err
		}
		tool, wait := tool.Name("run_npm_script"), g.wait
		if w.many() {
			dir, err := g.Dir(cmd.Context(), w.project)
			if err != nil {
				return err
			}
			call = taskArguments(call, dir, w)
			tool, wait = "run_task", g.runTask
		} else if dir, ok := g.taskDir(cmd.Context(), w, args[0]); ok {
			call = taskArguments(call, dir, w)
			tool, wait = "run_task", g.runTask
		}
		if w.background {
			return g.begin(cmd.Context(), tool, args[0], call)
		}
		return wait(cmd.Context(), call)
	}
	return c
}

// unnamed rejects a run of no script, and names those there are.
func (g group) unnamed(cmd *cobra.Command, project string) error {
	missing := command.Args(1, -1)(cmd, nil)
	var names []string
	for _, s := range g.runnable(cmd.Context(), project, "") {
		name, _, _ := strings.Cut(string(s), "\t")
		names = append(names, name)
	}
	if len(names) == 0 {
		return missing
	}
	return fault.From(missing).WithDetails(command.Hint("use one of: " + strings.Join(names, ", ")))
}

func (g group) runArguments(ctx context.Context, w wish, args []string) (command.Arguments, error) {
	dir, err := g.ScriptDir(ctx, w.project)
	if err != nil {
		return nil, err
	}
	call := command.Arguments{"projectPath": dir, "scriptName": args[0]}.Set("successPattern", w.until)
	if len(args) > 1 {
		call["args"] = args[1:]
	}
	if w.background {
		call["runInBackground"] = true
	}
	for _, limit := range []struct {
		flag, argument string
		value          time.Duration
	}{{"timeout", "timeoutMs", w.timeout}, {"within", "successTimeoutMs", w.within}} {
		ms, err := command.Milliseconds(limit.flag, limit.value)
		if err != nil {
			return nil, err
		}
		if ms > 0 {
			call[limit.argument] = ms
		}
	}
	if w.within > 0 && w.until == "" {
		return nil, command.ErrUsage.WithMessage("--within needs --until")
	}
	return call, nil
}

// wait runs a script to its end and then prints what it printed.
func (g group) wait(ctx context.Context, call command.Arguments) error {
	l := g.watch(ctx, false)
	o, err := g.Send(ctx, "run_npm_script", call, l.progress())
	shown := l.end()
	var r ProgramResult
	if err != nil {
		if command.FailureDetails(err, &r) && !shown {
			g.Output(r)
		}
		return g.Failed(o, err)
	}
	if g.JSON {
		return g.Show(o)
	}
	if err := command.DecodeAnswer(o, &r); err != nil {
		return err
	}
	if !shown {
		g.Output(r)
	}
	g.Note("%s: done in %s", command.Plain(call["scriptName"].(string)), command.Took(r.Duration))
	return nil
}

// begin starts a script in the background.
func (g group) begin(ctx context.Context, name tool.Name, what string, call command.Arguments) error {
	o, err := g.Send(ctx, name, call, nil)
	var b struct {
		Line    string   `json:"matched_line"`
		ID      string   `json:"process_id"`
		PID     int      `json:"pid"`
		Initial []string `json:"initial_output"`
	}
	switch {
	case err != nil:
		if command.FailureDetails(err, &b) {
			g.printed(b.Initial)
		}
		return g.Failed(o, err)
	case g.JSON:
		return g.Show(o)
	}
	if err := command.DecodeAnswer(o, &b); err != nil {
		return err
	}
	g.printed(b.Initial)
	if b.Line != "" && !slices.Contains(b.Initial, b.Line) {
		g.printed([]string{b.Line})
	}
	g.Line("%s", b.ID)
	g.Note("%s is running in the background (pid %d); to follow it: countersign logs -f %s; to stop it: countersign stop %s", command.Plain(what), b.PID, b.ID, b.ID)
	return nil
}

// printed shows lines that a program printed so far, for users: on the error stream, because the output is its id alone.
func (g group) printed(lines []string) {
	for _, line := range lines {
		_, text := stream(line)
		g.Note("  | %s", command.Block(text))
	}
}

// stream takes a line of output apart: whether it was printed on the error stream, and what.
func stream(line string) (stderr bool, text string) {
	if text, ok := strings.CutPrefix(line, "[stderr] "); ok {
		return true, text
	}
	return false, strings.TrimPrefix(line, "[stdout] ")
}
