package sandboxcmd

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/app/sandboxes"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// ErrNoClone reports a repository that could not be cloned for a sandbox.
var ErrNoClone = fault.New(fault.State, "sandbox_clone_waits", "cannot reach the repository yet")

// statusPartial is the status of what was done in part (opencode contract §13).
const statusPartial = "partial"

// sandboxGroup is the commands over one shell.
type sandboxGroup struct{ Runner }

// commands returns every command about sandboxes.
func commands(d Runner) []*cobra.Command {
	g := sandboxGroup{d}
	return []*cobra.Command{g.create(), g.list(), g.enter(), g.exec(), g.isolate(), g.agent(), g.attach(), g.diff(), g.log(), g.review(), g.update(), g.merge(), g.apply(), g.push(), g.request(), g.archive(), g.reset(), g.remove(), g.restore(), g.clean()}
}

// created is a new sandbox.
type created struct{ sandboxes.SandboxCreated }

// Verdict is exit code 1 of a sandbox that is there and not ready.
func (c created) Verdict() error {
	if c.Status == statusPartial {
		return command.Exit(1)
	}
	return nil
}

func (g sandboxGroup) create() *cobra.Command {
	var branch, run, agent, prompt string
	var issue int
	var isolate string
	c := &cobra.Command{Use: "create [URL] NAME", Short: "Create a sandbox: a worktree with its own branch and ports", ValidArgsFunction: g.CompleteURL,
		Long: "Create a sandbox: a worktree of the project's clone with its own branch, and with unique ports and a database name in environment variables.\n" +
			"Without a URL it belongs to the project of the working directory, to the registered project (countersign project) there,\n" +
			"or to the project that is a clone of the repository there.\n" +
			"A repository that is not a project yet is cloned first. No agent server is needed; countersign sandbox start adds one.\n" +
			"Ignored files in .worktreeinclude are copied, and the commands of .worktreesetup run, after you approve them if they are new.\n" +
			"NAME may be pr:NUMBER: a sandbox pr-NUMBER with the commits of that pull request (or of GitLab's merge request), which --branch takes too. With --issue the\n" +
			"name is built from the issue's number and, if gh is installed and logged in, its title.\n" +
			"--isolate prevents its set-up, --run, agent, and countersign sandbox exec and enter from writing outside it and reading your home (landlock and\n" +
			"bubblewrap on Linux; container needs docker or podman, and container:IMAGE names what is in it, by default docker.io/library/buildpack-deps:scm);\n" +
			"-offline, as in container-offline:IMAGE, also prevents TCP or all network access. The plan lists what is and is not restricted. An isolated sandbox has a separate agent server.\n" +
			"--agent starts an agent in it (countersign sandbox agent), after you approve its command.\n\n" +
			"Exit code 1: the sandbox was created, but its set-up, --run or the start of its agent failed.",
		Example: `  countersign sandbox create acme-shop fix-login
  countersign sandbox create acme-shop release --branch release/2.0 --run "npm ci"
  countersign sandbox create acme-shop pr:42
  countersign sandbox create acme-shop --issue 17
  countersign sandbox create acme-shop fix-login --agent claude --prompt "Fix the login"`}
	c.Flags().StringVarP(&branch, "branch", "b", "", "branch (default: a new one from the clone's branch)")
	c.Flags().StringVar(&run, "run", "", "shell command to run in the new sandbox")
	c.Flags().IntVar(&issue, "issue", 0, "issue number; names the sandbox")
	c.Args = func(cmd *cobra.Command, args []string) error {
		if issue > 0 {
			return command.Args(0, 2)(cmd, args)
		}
		return command.Args(1, 2)(cmd, args)
	}
	c.Flags().StringVar(&isolate, "isolate", "", "isolation: landlock, bubblewrap or container[:IMAGE], any of these with -offline, or none")
	_ = c.RegisterFlagCompletionFunc("isolate", isolations())
	c.Flags().StringVar(&agent, "agent", "", "agent to start: opencode, claude, codex or none")
	c.Flags().StringVarP(&prompt, "prompt", "p", "", "task for the agent")
	_ = c.RegisterFlagCompletionFunc("branch", cobra.NoFileCompletions) // the flag is there, and is registered once
	_ = c.RegisterFlagCompletionFunc("agent", agents("none"))
	_ = c.RegisterFlagCompletionFunc("prompt", cobra.NoFileCompletions)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		url, name, err := g.newSubject(cmd.Context(), args, issue)
		if err != nil {
			return err
		}
		if number, ok := requested(name); ok && branch == "" {
			name, branch = "pr-"+number, name
		}
		call := command.Arguments{"git_url": url, "name": name}.Set("branch", branch).Set("start_command", run).Set("agent", agent).Set("prompt", prompt).Set("isolate", isolate)
		if err := g.known(cmd.Context(), url); err != nil {
			return err
		}
		return misnamed(name, command.CallAndShow(cmd.Context(), g.Runner, sandboxes.SandboxCreate.Name, call, func(c created) { g.drawCreated(cmd.Context(), c) }))
	}
	return c
}

// isolations completes what --isolate takes.
func isolations() cobra.CompletionFunc {
	return cobra.FixedCompletions([]cobra.Completion{"landlock", "landlock-offline", "bubblewrap", "bubblewrap-offline", "container", "container:", "container-offline", "container-offline:", "none"},
		cobra.ShellCompDirectiveNoFileComp)
}

// known has the repository cloned where no project has it yet: a sandbox needs no agent server. Its answer is no part of the command's.
func (g sandboxGroup) known(ctx context.Context, url string) error {
	var all sandboxes.ProjectListing
	if !g.Quietly(ctx, sandboxes.ProjectList.Name, command.Arguments{}, &all) || slices.ContainsFunc(all.Projects, func(p sandboxes.ProjectItem) bool { return p.URL == url }) {
		return nil
	}
	var v struct {
		Status string `json:"status"`
	}
	if !g.Quietly(ctx, sandboxes.ProjectStatus.Name, command.Arguments{"git_url": url}, &v) || v.Status != statusNotFound {
		return nil
	}
	var s started
	if _, err := g.Ask(ctx, sandboxes.ProjectClone.Name, command.Arguments{"git_url": url}, &s); err != nil {
		return err
	}
	if s.Status == statusWaiting {
		return ErrNoClone.WithMessage("cannot reach %s with its new deploy key yet (%s)", url, s.ErrorDetail).WithDetails(command.Hint("countersign sandbox clone " + url + " to see the key to register"))
	}
	g.Note("cloned %s", command.Plain(s.Project))
	return nil
}

// misnamed is the refusal of a name that no sandbox can have, in words: the schema's is a pattern, and leaves the name out.
func misnamed(name string, err error) error {
	var refused struct {
		Problems []struct {
			Field string `json:"field"`
		} `json:"problems"`
	}
	f := fault.From(err)
	if f == nil || f.Code != tool.ErrArguments.Code || !command.FailureDetails(err, &refused) || len(refused.Problems) != 1 || refused.Problems[0].Field != "name" {
		return err
	}
	return f.WithMessage("invalid sandbox name %.80q: use at most 64 letters, digits, _ and -", name)
}

func (g sandboxGroup) drawCreated(ctx context.Context, c created) {
	g.Line("sandbox %s of %s on branch %s: %s", command.Plain(c.Worktree.Name), command.Plain(c.Project), command.Plain(c.Worktree.Branch), command.Plain(c.Worktree.Directory))
	g.Pairs(command.Pair{Name: "copied", Value: strings.Join(c.Copied, ", ")}, command.Pair{Name: "leased", Value: leased(c.Leases)})
	for _, n := range []string{c.Note, c.Warning} {
		if n != "" {
			g.Note("note: %s", command.Plain(n))
		}
	}
	runs := c.Setup
	if c.Start != nil {
		runs = append(runs, *c.Start)
	}
	for _, r := range runs {
		g.drawRan(r)
	}
	if c.Status == statusPartial {
		g.Terminal.Fail(c.Message, "to open a shell: countersign sandbox enter; to delete it: countersign sandbox rm")
		return
	}
	if c.Agent != nil {
		g.Note("%s; countersign sandbox attach %s %s shows it", command.Plain(doing(c.Agent)), command.Plain(c.Project), command.Plain(c.Worktree.Name))
	}
	var all sandboxes.ProjectListing
	if g.Quietly(ctx, sandboxes.ProjectList.Name, command.Arguments{}, &all) {
		for _, p := range all.Projects {
			if p.Name == c.Project && !p.Running {
				g.Note("no agent server; to start one with the gateway: countersign sandbox start %s", command.Plain(c.Project))
			}
		}
	}
	g.Note("next: countersign sandbox enter %s %s", command.Plain(c.Project), command.Plain(c.Worktree.Name))
}

// drawRan shows what a command printed, for users: on the error stream, because the output is the sandbox.
func (g sandboxGroup) drawRan(r sandboxes.CommandResult) {
	ending := "done"
	switch {
	case r.TimedOut:
		ending = "timed out and was stopped"
	case r.ExitCode != 0:
		ending = fmt.Sprintf("exit code %d", r.ExitCode)
	}
	g.Step("$ %s: %s", command.Plain(r.Command), ending)
	for line := range strings.SplitSeq(strings.TrimRight(r.Output, "\n"), "\n") {
		if line != "" {
			g.Note("  | %s", command.Block(line))
		}
	}
}

// leased returns what a sandbox has for itself alone, in a few words.
func leased(leases map[string]string) string {
	if leases["SANDBOX_PORT"] == "" {
		return ""
	}
	return strings.TrimSuffix(fmt.Sprintf("ports from %s (SANDBOX_PORT), database name %s", leases["SANDBOX_PORT"], leases["SANDBOX_DB_NAME"]), ", database name ")
}

func (g sandboxGroup) list() *cobra.Command {
	c := &cobra.Command{Use: "ls [URL]", Short: "List the sandboxes of a project", Example: "  countersign sandbox ls acme-shop\n  countersign sandbox ls acme-shop --json",
		Long: "List a project's sandboxes: branch, unsaved work, agent, and whether countersign sandbox clean would delete them. Default: the current project.\n" +
			"countersign sandbox list lists the projects."}
	return ProjectCommand(g.Runner, c, sandboxes.SandboxList.Name, func(all sandboxes.SandboxListing) {
		if len(all.Sandboxes) == 0 {
			g.Note("%s has no sandboxes; to create one: countersign sandbox create %s NAME", command.Plain(all.Project), command.Plain(all.Project))
			return
		}
		var rows [][]string
		heads := []string{"name", "branch", "state", "made", "deletable"}
		at := slices.ContainsFunc(all.Sandboxes, func(b sandboxes.SandboxItem) bool { return b.Agent != nil })
		if at {
			heads = slices.Insert(heads, 3, "agent")
		}
		isolated := slices.ContainsFunc(all.Sandboxes, func(b sandboxes.SandboxItem) bool { return b.Isolation != "" })
		if isolated {
			heads = slices.Insert(heads, 3, "isolation")
		}
		for _, b := range all.Sandboxes {
			removable := "no: " + b.Cleanup
			if b.Removable {
				removable = "yes: " + b.Cleanup
			}
			row := []string{b.Name, b.Branch, holds(b), command.Age(known(b.CreatedAt)), removable}
			if at {
				row = slices.Insert(row, 3, doing(b.Agent))
			}
			if isolated {
				row = slices.Insert(row, 3, within(b))
			}
			rows = append(rows, row)
		}
		g.Table(heads, rows)
	})
}

// within returns what keeps a sandbox's programs inside, and how its own server stands.
func within(b sandboxes.SandboxItem) string {
	if b.Server != nil && b.Server.Running {
		return fmt.Sprintf("%s, server on port %d", b.Isolation, known(b.Server.Port))
	}
	return b.Isolation
}

// holds returns what a sandbox has beside what it was made from, in a few words.
func holds(b sandboxes.SandboxItem) string {
	var words []string
	for _, n := range []struct {
		count int
		what  string
	}{{b.Changes, "changed"}, {b.Ahead, "ahead"}, {b.Behind, "behind"}, {b.Unpushed, "unpushed"}} {
		if n.count > 0 {
			words = append(words, fmt.Sprintf("%d %s", n.count, n.what))
		}
	}
	if b.Dirty && b.Changes == 0 {
		words = append(words, "changed")
	}
	if b.Locked {
		words = append(words, "locked")
	}
	if b.Prunable {
		words = append(words, "directory missing")
	}
	if len(words) == 0 {
		return "clean"
	}
	return strings.Join(words, ", ")
}

func (g sandboxGroup) reset() *cobra.Command {
	var ignored bool
	c := &cobra.Command{Use: "reset [[URL] NAME]", Short: "Reset a sandbox to the default branch; its work is backed up", Args: command.Args(0, 2), ValidArgsFunction: g.CompleteSandbox,
		Long: "Reset a sandbox to the default branch. It keeps its branch name. Changes and commits that would be lost are backed up, and countersign sandbox restore\n" +
			"restores them; ignored files are kept unless you give --clean-ignored, and are not backed up.",
		Example: "  countersign sandbox reset acme-shop fix-login\n  countersign sandbox reset acme-shop fix-login --clean-ignored"}
	c.Flags().BoolVar(&ignored, "clean-ignored", false, "also delete ignored files (node_modules, .env), without a backup")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		url, name, err := g.Subject(cmd.Context(), args)
		if err != nil {
			return err
		}
		call := command.Arguments{"git_url": url, "name": name}
		if ignored {
			call["clean_ignored"] = true
		}
		return command.CallAndShow(cmd.Context(), g.Runner, sandboxes.SandboxReset.Name, call, func(r struct {
			Branch  string   `json:"branch"`
			Head    string   `json:"head"`
			To      string   `json:"reset_to"`
			Backups []string `json:"backup_refs"`
		}) {
			g.Line("%s is now on %s, at %s (branch %s)", command.Plain(name), command.Plain(r.To), command.Plain(r.Head[:min(len(r.Head), 12)]), command.Plain(r.Branch))
			g.drawBackups(r.Backups)
		})
	}
	return c
}

// drawBackups says where work was kept.
func (g sandboxGroup) drawBackups(refs []string) {
	for _, ref := range refs {
		g.Note("backed up; to restore: countersign sandbox restore %s", command.Plain(ref))
	}
}

// isProject reports whether a word names a project, and no sandbox of the project at url, which is empty if there is none.
func (g sandboxGroup) isProject(ctx context.Context, word, url string) bool {
	all, err := g.Projects(ctx)
	if err != nil || !slices.ContainsFunc(all, func(p sandboxes.ProjectItem) bool { return strings.EqualFold(p.Name, word) }) {
		return false
	}
	if url == "" {
		return true
	}
	here, err := g.Sandboxes(ctx, url)
	return err == nil && !slices.ContainsFunc(here.Sandboxes, func(b sandboxes.SandboxItem) bool { return strings.EqualFold(b.Name, word) })
}

func (g sandboxGroup) remove() *cobra.Command {
	var force bool
	c := &cobra.Command{Use: "rm [[URL] NAME]", Aliases: []string{"remove"}, Short: "Delete a sandbox", Args: command.Args(0, 2), ValidArgsFunction: g.CompleteSandbox,
		Long: "Delete a sandbox, and its branch if it was created for it. Denied while it has unsaved work, with a list of it. With --force\n" +
			"you approve the list, and the work is backed up for countersign sandbox restore.",
		Example: "  countersign sandbox rm acme-shop fix-login\n  countersign sandbox rm acme-shop fix-login --force"}
	c.Flags().BoolVarP(&force, "force", "f", false, "delete even with uncommitted or unpushed work")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		url, name, err := g.Subject(cmd.Context(), args)
		if len(args) == 1 && g.isProject(cmd.Context(), args[0], url) {
			return command.Usage(cmd, "%s is a project, not a sandbox", args[0]).
				WithDetails(command.Hint("countersign sandbox destroy " + args[0] + " deletes the project; countersign sandbox ls " + args[0] + " shows its sandboxes"))
		}
		if err != nil {
			return err
		}
		call := command.Arguments{"git_url": url, "name": name}
		if force {
			call["force"] = true
		}
		return command.CallAndShow(cmd.Context(), g.Runner, sandboxes.SandboxDelete.Name, call, func(s struct {
			Project string   `json:"project"`
			Backups []string `json:"backup_refs"`
		}) {
			g.Line("deleted sandbox %s of %s", command.Plain(name), command.Plain(s.Project))
			g.drawBackups(s.Backups)
		})
	}
	return c
}
