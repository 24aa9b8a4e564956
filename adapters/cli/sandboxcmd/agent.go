package sandboxcmd

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/app/sandboxes"
	"github.com/countersign-dev/countersign/domain/fault"
)

var (
	errNoAgent   = fault.New(fault.State, "sandbox_agent_none", "no agent was started in this sandbox")
	errNoPane    = fault.New(fault.State, "sandbox_pane_failed", "no pane could be opened")
	errAgentWork = fault.New(fault.Unavailable, "sandbox_agent_failed", "the agent ended with a failure")
)

const (
	attachLines = 200             // of what an agent has printed so far
	endPatience = 5 * time.Second // until the end of a process is on record
)

// agents completes --agent.
func agents(more ...string) func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return cobra.FixedCompletions(append([]cobra.Completion{"opencode", "claude", "codex"}, more...), cobra.ShellCompDirectiveNoFileComp)
}

func (g sandboxGroup) agent() *cobra.Command {
	var name, prompt string
	var stop bool
	c := &cobra.Command{Use: "agent [[URL] NAME]", Short: "Start an agent on a prompt in a sandbox, or stop it", Args: command.Args(0, 2), ValidArgsFunction: g.CompleteSandbox,
		Long: "Start an agent in a sandbox, in the background, after you approve its command: opencode in a session of the project's server, which is started if it\n" +
			"is not running; claude (claude -p) and codex (codex exec) as separate processes, which can change files without asking and end when they are done.\n" +
			"Without --agent, the agent that was started last. For its status: countersign sandbox ls; for its output: countersign sandbox attach.\n" +
			"--stop ends a process; end a session's turn in opencode. Only the isolation of the sandbox keeps the agent inside it.",
		Example: "  countersign sandbox agent acme-shop fix-login --agent claude --prompt \"Read the review and go on\"\n  countersign sandbox agent fix-login --stop"}
	c.Flags().StringVar(&name, "agent", "", "opencode, claude or codex (default: the agent started last)")
	c.Flags().StringVarP(&prompt, "prompt", "p", "", "task for the agent")
	c.Flags().BoolVar(&stop, "stop", false, "stop the running agent")
	c.MarkFlagsMutuallyExclusive("stop", "prompt")
	c.MarkFlagsMutuallyExclusive("stop", "agent")
	_ = c.RegisterFlagCompletionFunc("agent", agents()) // the flag is there, and is registered once
	_ = c.RegisterFlagCompletionFunc("prompt", cobra.NoFileCompletions)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		url, box, err := g.Subject(cmd.Context(), args)
		if err != nil {
			return err
		}
		call := command.Arguments{"git_url": url, "name": box}.Set("agent", name).Set("prompt", prompt)
		if stop {
			call["stop"] = true
		}
		return command.CallAndShow(cmd.Context(), g.Runner, sandboxes.SandboxAgent.Name, call, func(d sandboxes.SandboxAgentDone) {
			g.Line("%s: %s", command.Plain(d.Name), command.Plain(d.Message))
			if !stop {
				g.Note("next: countersign sandbox attach %s %s", command.Plain(d.Project), command.Plain(d.Name))
			}
		})
	}
	return c
}

// doing returns what an agent is doing, in a few words.
func doing(a *sandboxes.AgentView) string {
	if a == nil {
		return ""
	}
	words := a.Agent + " " + map[string]string{"off": "(its server is stopped)", "ended": "has ended", "completed": "is done"}[a.Status]
	if strings.HasSuffix(words, " ") {
		words += a.Status
	}
	if a.ExitCode != nil && *a.ExitCode != 0 {
		words += fmt.Sprintf(", exit code %d", *a.ExitCode)
	}
	if a.LastLine != "" {
		words += ": " + cut(a.LastLine)
	}
	return words
}

// cut returns as much of a line as a table has room for.
func cut(line string) string {
	const most = 60
	if runes := []rune(line); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return line
}

func (g sandboxGroup) attach() *cobra.Command {
	var pane bool
	c := &cobra.Command{Use: "attach [[URL] NAME]", Short: "Follow the output of a sandbox's agent, or open its session", Args: command.Args(0, 2), ValidArgsFunction: g.CompleteSandbox,
		Long: "Show the output of a sandbox's agent, and follow it until it ends; the exit code is 1 if it failed. Ctrl-C does not stop the agent. A session of opencode\n" +
			"is opened with opencode attach. --pane does the same in a new tmux pane.\n\n" +
			"With --json, prints the agent's status.",
		Example: "  countersign sandbox attach acme-shop fix-login\n  countersign sandbox attach fix-login --pane"}
	c.Flags().BoolVar(&pane, "pane", false, "in a new pane of tmux")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		url, name, err := g.Subject(cmd.Context(), args)
		if err != nil {
			return err
		}
		to, err := g.there(cmd.Context(), []string{url, name})
		if err != nil {
			return err
		}
		view, err := g.agentOf(cmd.Context(), to)
		switch {
		case err != nil:
			return err
		case g.JSON:
			return g.PrintJSON(view)
		case pane:
			return g.pane(cmd.Context(), to)
		case view.Session != "":
			return g.session(cmd.Context(), to, view)
		}
		return g.follow(cmd.Context(), to, view)
	}
	return c
}

// agentOf returns what the agent of a sandbox is doing.
func (g sandboxGroup) agentOf(ctx context.Context, to place) (*sandboxes.AgentView, error) {
	all, err := g.Sandboxes(ctx, to.URL)
	if err != nil {
		return nil, err
	}
	for _, b := range all.Sandboxes {
		if b.Name == to.Name && b.Agent != nil {
			return b.Agent, nil
		}
	}
	return nil, errNoAgent.WithMessage("no agent was started in sandbox %s", to.Name).WithDetails(command.Hint(fmt.Sprintf("countersign sandbox agent %s %s --agent claude --prompt TEXT starts one", to.Project, to.Name)))
}

// pane has tmux open a pane that attaches.
func (g sandboxGroup) pane(ctx context.Context, to place) error {
	if g.Lookup("TMUX") == "" {
		return errNoPane.WithMessage("this terminal is not in tmux").WithDetails(command.Hint("start tmux first, or omit --pane"))
	}
	self, err := os.Executable()
	if err == nil {
		err = exec.CommandContext(ctx, "tmux", "split-window", "-d", "-c", to.Directory, "--", self, "sandbox", "attach", to.URL, to.Name).Run()
	}
	if err != nil {
		return errNoPane.WithMessage("tmux opened no pane: %v", err).WithDetails(command.Hint("omit --pane")).WithCause(err)
	}
	g.Line("a pane of tmux shows %s", command.Plain(to.Name))
	return nil
}

// session opens the session of a server, with the program that it belongs to.
func (g sandboxGroup) session(ctx context.Context, to place, view *sandboxes.AgentView) error {
	if view.Server == "" {
		start := "countersign sandbox start " + to.Project
		if to.Isolation != "" {
			start += " " + to.Name
		}
		return errNoAgent.WithMessage("the agent of sandbox %s is a session of an agent server, which does not run", to.Name).WithDetails(command.Hint(start))
	}
	core, err := g.Opened()
	if err != nil {
		return err
	}
	if core.SandboxAccess != nil {
		access, err := core.SandboxAccess(ctx, to.Project+"/"+to.Name)
		if err != nil {
			return g.Explain(err)
		}
		to.Environment["OPENCODE_SERVER_PASSWORD"] = access.Password
	}
	return g.become(to, []string{cmp.Or(g.Lookup("OPENCODE_BIN"), "opencode"), "attach", view.Server, "--dir", to.Directory, "--session", view.Session}, false)
}

// follow shows what an agent prints until it ends.
func (g sandboxGroup) follow(ctx context.Context, to place, view *sandboxes.AgentView) error {
	lines, at, err := LastLines(view.Log, attachLines)
	if err != nil {
		return err
	}
	defer at.Close()
	printed := group(g).printed
	for _, line := range lines {
		if err := printed(line); err != nil {
			return err
		}
	}
	if view.Running() {
		g.Note("%s is working in sandbox %s; Ctrl-C does not stop it", command.Plain(view.Agent), command.Plain(to.Name))
		ended, stop := context.WithCancel(ctx)
		go func() {
			defer stop()
			untilGone(ended, view.PID)
		}()
		err := at.Follow(ended, printed)
		stop()
		if ctx.Err() != nil { // the way to leave; there is nothing to say about it
			return command.Exit(present.ExitCode(fault.Canceled))
		}
		if ended.Err() == nil {
			return err
		}
		if err := at.turn(printed); err != nil {
			return err
		}
		if view, err = g.settled(ctx, to); err != nil {
			return err
		}
	}
	g.Note("%s", command.Plain(doing(&sandboxes.AgentView{Agent: view.Agent, Status: view.Status, ExitCode: view.ExitCode})))
	if view.ExitCode != nil && *view.ExitCode != 0 {
		return errAgentWork.WithMessage("%s in sandbox %s ended with exit code %d", view.Agent, to.Name, *view.ExitCode).WithDetails(command.Hint("its log: " + view.Log))
	}
	return nil
}

// untilGone returns when the process is not there any more.
func untilGone(ctx context.Context, pid int) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		if p, err := os.FindProcess(pid); err != nil || pid <= 0 || p.Signal(syscall.Signal(0)) != nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// settled returns what an agent whose process is gone came to.
func (g sandboxGroup) settled(ctx context.Context, to place) (*sandboxes.AgentView, error) {
	limited, cancel := context.WithTimeout(ctx, endPatience)
	defer cancel()
	for {
		view, err := g.agentOf(ctx, to)
		if err != nil || !view.Running() {
			return view, err
		}
		select {
		case <-limited.Done():
			return view, nil
		case <-time.After(every):
		}
	}
}
