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
var ErrNoClone = fault.New(fault.State, "sandbox_clone_waits", "the repository cannot be reached yet")

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
		Long: "Make a sandbox: a worktree of the project's clone with a branch of its own, and ports and a database name that no other sandbox has, as variables.\n" +
			"Without a URL it is of the project that the working directory lies in, of the registered project (countersign project) there,\n" +
			"or of the repository there, where a project is a clone of it.\n" +
			"A repository that is no project yet is cloned first. No agent server is needed; countersign sandbox start adds one.\n" +
			"Ignored files that .worktreeinclude lists are copied, and the commands of .worktreesetup are run, after they were shown when they are new.\n" +
			"NAME may be pr:NUMBER: a sandbox pr-NUMBER with the commits of that pull request (or of GitLab's merge request), which --branch takes too. With --issue the\n" +
			"name is made of the issue's number and, where gh is installed and logged in, its title, and need not be given.\n" +
			"--isolate keeps its set-up, --run, agent and what countersign sandbox exec and enter run from writing outside of it and reading your home (landlock and\n" +
			"bubblewrap on Linux; container needs docker or podman, and container:IMAGE names what is in it, by default docker.io/library/buildpack-deps:scm);\n" +
			"-offline, like container-offline:IMAGE, from TCP or all networks, too. The plan says what it holds and what it does not. An isolated sandbox has an agent server of its own.\n" +
			"--agent starts an agent in it (countersign sandbox agent), after you approved the very command.\n\n" +
			"Exit code 1: the sandbox is there, and its set-up, --run or the start of its agent failed.",
		Example: `  countersign sandbox create acme-shop fix-login
  countersign sandbox create acme-shop release --branch release/2.0 --run "npm ci"
  countersign sandbox create acme-shop pr:42
  countersign sandbox create acme-shop --issue 17
  countersign sandbox create acme-shop fix-login --agent claude --prompt "Fix the login"`}
	c.Flags().StringVarP(&branch, "branch", "b", "", "branch to stand on (default: a new one from the clone's own)")
	c.Flags().StringVar(&run, "run", "", "shell command to run in it once it is there")
	c.Flags().IntVar(&issue, "issue", 0, "number of the issue that it is for: names the sandbox")
	c.Args = func(cmd *cobra.Command, args []string) error {
		if issue > 0 {
			return command.Args(0, 2)(cmd, args)
		}
		return command.Args(1, 2)(cmd, args)
	}
	c.Flags().StringVar(&isolate, "isolate", "", "what keeps its commands and agent inside: landlock, bubblewrap or container[:IMAGE], or these with -offline; or none")
	_ = c.RegisterFlagCompletionFunc("isolate", isolations())
	c.Flags().StringVar(&agent, "agent", "", "agent to start in it: opencode, claude, codex or none")
	c.Flags().StringVarP(&prompt, "prompt", "p", "", "what the agent is to do")
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
		return ErrNoClone.WithMessage("%s cannot be reached with the key that was made for it yet (%s)", url, s.ErrorDetail).WithDetails(command.Hint("countersign sandbox clone " + url + " shows the key to register"))
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
	return f.WithMessage("%.80q cannot name a sandbox: letters, digits, _ and - are allowed, at most 64 of them", name)
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
		g.Terminal.Fail(c.Message, "countersign sandbox enter goes there; countersign sandbox rm takes it away")
		return
	}
	if c.Agent != nil {
		g.Note("%s; countersign sandbox attach %s %s shows it", command.Plain(doing(c.Agent)), command.Plain(c.Project), command.Plain(c.Worktree.Name))
	}
	var all sandboxes.ProjectListing
	if g.Quietly(ctx, sandboxes.ProjectList.Name, command.Arguments{}, &all) {
		for _, p := range all.Projects {
			if p.Name == c.Project && !p.Running {
				g.Note("no agent server runs: countersign sandbox start %s adds one, with the gateway in front of it", command.Plain(c.Project))
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
		ending = "took too long and was ended"
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
	return strings.TrimSuffix(fmt.Sprintf("ports from %s on (SANDBOX_PORT), database name %s", leases["SANDBOX_PORT"], leases["SANDBOX_DB_NAME"]), ", database name ")
}

func (g sandboxGroup) list() *cobra.Command {
	c := &cobra.Command{Use: "ls [URL]", Short: "List the sandboxes of a project, by default the one you are in", Example: "  countersign sandbox ls acme-shop\n  countersign sandbox ls acme-shop --json",
		Long: "List a project's sandboxes: branch, what they hold that is nowhere else, what their agents are doing, and whether countersign sandbox clean would delete them.\n" +
			"countersign sandbox list lists the projects."}
	return ProjectCommand(g.Runner, c, sandboxes.SandboxList.Name, func(all sandboxes.SandboxListing) {
		if len(all.Sandboxes) == 0 {
			g.Note("%s has no sandboxes; countersign sandbox create %s NAME makes one", command.Plain(all.Project), command.Plain(all.Project))
			return
		}
		var rows [][]string
		heads := []string{"name", "branch", "state", "made", "clean-up takes it"}
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
		return fmt.Sprintf("%s, server at port %d", b.Isolation, known(b.Server.Port))
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
		words = append(words, "directory gone")
	}
	if len(words) == 0 {
		return "clean"
	}
	return strings.Join(words, ", ")
}

func (g sandboxGroup) reset() *cobra.Command {
	var ignored bool
	c := &cobra.Command{Use: "reset [[URL] NAME]", Short: "Reset a sandbox to the default branch; its work is backed up", Args: command.Args(0, 2), ValidArgsFunction: g.CompleteSandbox,
		Long: "Bring a sandbox to the default branch. It keeps its branch's name. Changes and commits that would be lost are kept, and countersign sandbox restore\n" +
			"brings them back; ignored files stay unless --clean-ignored is given, and these are not kept.",
		Example: "  countersign sandbox reset acme-shop fix-login\n  countersign sandbox reset acme-shop fix-login --clean-ignored"}
	c.Flags().BoolVar(&ignored, "clean-ignored", false, "delete ignored files too (node_modules, .env); they are kept nowhere")
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
		g.Note("kept: countersign sandbox restore brings back %s", command.Plain(ref))
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
		Long: "Delete a sandbox, and its branch if that was made for it. While it holds work that is nowhere else, this is refused with the list of it. --force says\n" +
			"that it may go: it is shown again and confirmed, and still kept, so that countersign sandbox restore can bring it back.",
		Example: "  countersign sandbox rm acme-shop fix-login\n  countersign sandbox rm acme-shop fix-login --force"}
	c.Flags().BoolVarP(&force, "force", "f", false, "delete even with uncommitted or unpushed work")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		url, name, err := g.Subject(cmd.Context(), args)
		if len(args) == 1 && g.isProject(cmd.Context(), args[0], url) {
			return command.Usage(cmd, "%s is a project, and this deletes sandboxes", args[0]).
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
