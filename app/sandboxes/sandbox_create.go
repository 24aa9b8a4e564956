package sandboxes

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/process"
	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports/sandboxport"
)

// CreateInput describes a sandbox to create.
type CreateInput struct {
	URL     string `json:"git_url" jsonschema:"minLength=1,description=Git repository URL"`
	Name    string `json:"name" jsonschema:"pattern=^[a-zA-Z0-9_-]+$,description=Worktree name (unique within project)"`
	Branch  string `json:"branch,omitempty" jsonschema:"description=Branch to checkout (default: current branch) or pr:NUMBER"`
	Command string `json:"start_command,omitempty" jsonschema:"description=Command to run after creation"`
	Agent   string `json:"agent,omitempty" jsonschema:"enum=opencode,enum=claude,enum=codex,enum=none"`
	Prompt  string `json:"prompt,omitempty"`
	Isolate string `json:"isolate,omitempty" jsonschema:"description=landlock or container"`
}

// Resources returns the project.
func (in CreateInput) Resources() []string { return []string{in.URL} }

// Worktree is a sandbox in the seed's format.
type Worktree struct {
	Name      string `json:"name"`
	Branch    string `json:"branch"`
	Directory string `json:"directory"`
}

// CommandResult is a command that was run in a new sandbox.
type CommandResult struct {
	Command  string `json:"command"`
	ExitCode int    `json:"exit_code"`
	TimedOut bool   `json:"timed_out"`
	Output   string `json:"output"`
}

// SandboxCreated is a new sandbox.
type SandboxCreated struct {
	Status   string            `json:"status"`
	Project  string            `json:"project"`
	URL      string            `json:"git_url"`
	Worktree Worktree          `json:"worktree"`
	Message  string            `json:"message"`
	Head     string            `json:"head,omitempty"`
	Note     string            `json:"note,omitempty"`
	Warning  string            `json:"warning,omitempty"`
	Copied   []string          `json:"copied,omitempty"` // ignored files that .worktreeinclude lists
	Setup    []CommandResult   `json:"setup,omitempty"`  // commands of .worktreesetup
	Start    *CommandResult    `json:"start_command,omitempty"`
	Agent    *AgentView        `json:"agent,omitempty"`
	Leases   map[string]string `json:"leases,omitempty"`
}

// createPlan is the plan to create a sandbox.
type createPlan struct {
	Plan
	found    FoundProject
	input    CreateInput
	branch   sandboxport.BranchPlan
	dir      string
	setup    []string
	agent    *agentStart // nil for none
	commit   string      // commit with the files that are run; empty if nothing is run
	approves string      // hash of the set-up that is approved with the plan
	replaces string      // owner that died and left the sandbox with this name without its set-up
}

// Fetches returns the remote from which a new sandbox is updated.
func (p createPlan) Fetches() []string {
	return []string{cmp.Or(p.found.Project.CloneURL, p.found.URL.String())}
}

// hasSetup reports whether commands or an agent are to be run in the sandbox.
func (p createPlan) hasSetup() bool {
	return len(p.setup) > 0 || p.agent != nil || strings.TrimSpace(p.input.Command) != ""
}

func (s sandboxService) planCreate(ctx context.Context, _ tool.Scope, in CreateInput) (createPlan, error) {
	if err := sandbox.CheckName(in.Name); err != nil {
		return createPlan{}, err
	}
	f, err := s.ready(ctx, in.URL)
	if err != nil {
		return createPlan{}, err
	}
	if in.Isolate == sandbox.IsolationNone {
		in.Isolate = ""
	}
	if err := s.Isolator.Check(in.Isolate); err != nil {
		return createPlan{}, err
	}
	p := createPlan{found: f, input: in, dir: path.Join(f.Layout.Worktrees, in.Name)}
	if box, there := f.Project.Sandboxes[sandbox.SandboxKey(in.Name)]; there {
		if p.replaces = box.Preparing; !s.unprepared(box) {
			return createPlan{}, sandbox.ErrExists.WithMessage("project %s has a sandbox %q already, at %s", f.Project.Name, box.Name, box.Directory)
		}
	}
	if p.branch, err = s.branch(ctx, f, in); err != nil {
		return createPlan{}, err
	}
	text, err := s.Repos.Script(ctx, f.Layout.Repo, p.branch.From)
	if err != nil {
		return createPlan{}, err
	}
	asks := ConfirmOptions{}
	if p.setup = commands(text); len(p.setup) > 0 {
		sum := sha256.Sum256([]byte(text))
		if p.approves = hex.EncodeToString(sum[:]); p.approves != f.Project.Setup {
			asks.Strength = policy.Preview
		}
		asks.Human = policy.Simple // an approved set-up still runs
	}
	if strings.TrimSpace(in.Command) != "" {
		settings, err := s.Homes.Settings(ctx, f.Project.Name)
		if err != nil && !errors.Is(err, sandbox.ErrConfiguration) {
			return createPlan{}, err
		}
		if err == nil && !settings.AllowCommands {
			return createPlan{}, sandbox.ErrArguments.WithMessage("start_command is disabled (OPENCODE_ALLOW_START_COMMAND)")
		}
		asks.Strength = policy.Preview
	}
	shown := map[string]any{"git_url": f.URL.String(), "project": f.Project.Name, "name": in.Name, "directory": p.dir, "branch": p.branch, "start_command": in.Command, "setup": p.setup}
	if len(p.setup) > 0 {
		shown["setup_approved"] = p.approves == f.Project.Setup
	}
	if p.replaces != "" { // its content is backed up, its ignored files are not
		shown["replaces"] = f.Project.Sandboxes[sandbox.SandboxKey(in.Name)].Directory
		asks.Human = max(asks.Human, policy.Simple)
	}
	if in.Isolate != "" {
		if shown["isolation"], err = s.isolationShown(f, sandbox.Sandbox{Isolation: in.Isolate, Directory: p.dir}, nil); err != nil {
			return createPlan{}, err
		}
	}
	var agent map[string]any
	if p.agent, agent, err = s.planAgent(ctx, f, sandbox.Sandbox{Name: in.Name, Isolation: in.Isolate}, in.Agent, in.Prompt); err != nil {
		return createPlan{}, err
	}
	if p.agent != nil {
		shown["agent"] = agent
		asks.Strength, asks.Risk = policy.Preview, policy.RiskHigh // what the agent does is not part of the plan
	}
	if p.hasSetup() { // the plan covers every file of the commit
		if p.commit, err = s.Repos.Commit(ctx, f.Layout.Repo, p.branch.From); err != nil {
			return createPlan{}, err
		}
		shown["commit"] = p.commit
		shown["not_bound"] = []string{"ignored files that .worktreeinclude copies into the sandbox", "what the commands download, install or read outside of the sandbox"}
	}
	if p.agent != nil {
		about, _ := shown["not_bound"].([]string)
		shown["not_bound"] = append(about, unbound(in.Isolate)...)
	}
	p.Plan, err = NewPlan(SandboxCreate.Name, fmt.Sprintf("create sandbox %s of %s on branch %s", in.Name, f.Project.Name, p.branch.Branch), shown, asks)
	return p, err
}

// branch returns the sandbox's branch. One that is not known here may be new at the remote.
func (s sandboxService) branch(ctx context.Context, f FoundProject, in CreateInput) (sandboxport.BranchPlan, error) {
	if number, ok := sandbox.RequestNumber(in.Branch); ok {
		return s.request(ctx, f, in.Name, number)
	}
	plan, err := s.Repos.Plan(ctx, f.Layout.Repo, in.Name, in.Branch)
	if !errors.Is(err, sandbox.ErrBranch) {
		return plan, err
	}
	access, denied := s.access(ctx, f)
	if denied != nil || s.Repos.Fetch(ctx, f.Layout.Repo, access) != nil {
		return plan, err
	}
	return s.Repos.Plan(ctx, f.Layout.Repo, in.Name, in.Branch)
}

// request returns a new branch on the commits of a pull request.
func (s sandboxService) request(ctx context.Context, f FoundProject, name string, number int) (sandboxport.BranchPlan, error) {
	plan, err := s.Repos.Plan(ctx, f.Layout.Repo, name, "")
	if err != nil {
		return plan, err
	}
	access, err := s.access(ctx, f)
	if err != nil {
		return plan, err
	}
	plan.From, err = s.Repos.FetchRequest(ctx, f.Layout.Repo, access, number)
	plan.Note = fmt.Sprintf("it has the commits of pull request %d; what is pushed from it is a branch of its own", number)
	return plan, err
}

// commands returns the lines of a set-up to run.
func commands(text string) (out []string) {
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			out = append(out, line)
		}
	}
	return out
}

// create creates the sandbox: the operation is recorded first, then git creates the worktree, then the sandbox is recorded with its leases. The next
// call about the project undoes it after an interruption.
func (s sandboxService) create(ctx context.Context, sc tool.Scope, p createPlan) (SandboxCreated, error) {
	f := p.found
	release, err := s.manager.LockProject(ctx, f.URL)
	if err != nil {
		return SandboxCreated{}, err
	}
	defer release()
	if _, err := s.manager.Project(ctx, f); err != nil {
		return SandboxCreated{}, err
	}
	if err := s.replace(ctx, f, p); err != nil {
		return SandboxCreated{}, err
	}
	if !p.hasSetup() { // no plan was approved, and the branch may be in use by now
		if p.branch, err = s.branch(ctx, f, p.input); err != nil {
			return SandboxCreated{}, err
		}
	}
	warning := ""
	if access, err := s.access(ctx, f); err == nil {
		if err := s.Repos.Fetch(ctx, f.Layout.Repo, access); err != nil {
			warning = "the remote could not be fetched: " + fault.From(err).Message
		}
	}
	if p.hasSetup() {
		now, err := s.Repos.Commit(ctx, f.Layout.Repo, p.branch.From)
		if err == nil && now != p.commit {
			err = moved(p, now)
		}
		if err != nil {
			return SandboxCreated{}, err
		}
	}
	box := sandbox.Sandbox{Name: p.input.Name, Branch: p.branch.Branch, BaseRef: p.branch.From, Directory: p.dir, CreatedBranch: p.branch.Create && !p.branch.Track,
		StartCommand: p.input.Command, Isolation: p.input.Isolate, CreatedAt: s.Clock.Now()}
	if box, err = s.reserve(ctx, sc, f, p.Plan, box, p.approves); err != nil {
		return SandboxCreated{}, err
	}
	head, err := s.Repos.Add(ctx, f.Layout.Repo, p.dir, p.branch)
	if err != nil {
		return SandboxCreated{}, errors.Join(err, s.forget(context.WithoutCancel(ctx), f, box.Name))
	}
	out := SandboxCreated{Status: "success", Project: f.Project.Name, URL: f.URL.String(), Worktree: Worktree{box.Name, box.Branch, box.Directory}, Head: head, Note: p.branch.Note,
		Warning: warning, Message: "the sandbox is ready", Leases: box.Leases}
	if out.Copied, err = s.Repos.Include(ctx, f.Layout.Repo, p.dir); err != nil {
		out.Status, out.Message = "partial", "the sandbox was created; the files that .worktreeinclude lists could not be copied: "+fault.From(err).Message
	}
	if err := s.there(ctx, f, box.Name, p.hasSetup()); err != nil || !p.hasSetup() {
		return out, err
	}
	release() // a set-up may take long, and other calls need the project
	if head == p.commit {
		s.runSetup(ctx, sc, p, box, &out)
	} else {
		out.Status, out.Message = "partial", "the sandbox was created; nothing was run in it: "+fault.From(moved(p, head)).Message
	}
	return out, s.recordSetup(context.WithoutCancel(ctx), f, box.Name)
}

// moved returns the error for a branch that is no longer the approved one.
func moved(p createPlan, now string) error {
	return sandbox.ErrBusy.WithMessage("%s moved from %.12s to %.12s after the plan was made; call again to see what would run", p.branch.From, p.commit, now)
}

// runSetup runs the set-up. If a command fails, the sandbox stays, and the result says so. Files that the set-up leaves are not unsaved work.
func (s sandboxService) runSetup(ctx context.Context, sc tool.Scope, p createPlan, box sandbox.Sandbox, out *SandboxCreated) {
	ok := s.prepare(ctx, sc, p, box, out)
	if len(p.setup) > 0 {
		if err := s.Repos.RecordSetup(context.WithoutCancel(ctx), p.found.Layout.Repo, box.Directory); err != nil {
			out.Warning = strings.TrimPrefix(out.Warning+"; files that the set-up made count as unsaved work: "+fault.From(err).Message, "; ")
		}
	}
	if ok && strings.TrimSpace(p.input.Command) != "" {
		sc.Progress(tool.Progress{Message: "running the start command"})
		var ran CommandResult
		ran, ok = s.command(ctx, p.found, box, p.input.Command)
		if out.Start = &ran; !ok {
			out.Status, out.Message = "partial", "the sandbox was created; its start command failed"
		}
	}
	switch {
	case p.agent == nil:
	case !ok:
		out.Message += "; the agent was not started"
	default:
		agent, err := s.startAgent(ctx, sc, p.found, box, p.agent)
		if err != nil {
			out.Status, out.Message = "partial", "the sandbox was created; its agent was not started: "+fault.From(err).Message
			return
		}
		box.Agent = &agent
		f := p.found
		if now, err := s.Must(context.WithoutCancel(ctx), f.URL.String()); err == nil {
			f = now
		}
		out.Agent = s.agentView(ctx, f, box)
	}
}

// prepare runs the set-up until a command fails.
func (s sandboxService) prepare(ctx context.Context, sc tool.Scope, p createPlan, box sandbox.Sandbox, out *SandboxCreated) bool {
	for i, command := range p.setup {
		sc.Progress(tool.Progress{Done: int64(i), Total: int64(len(p.setup)), Message: "set-up: " + command})
		ran, ok := s.command(ctx, p.found, box, command)
		out.Setup = append(out.Setup, ran)
		if !ok {
			out.Status, out.Message = "partial", "the sandbox was created; its set-up failed at: "+command
			return false
		}
	}
	return true
}

// command runs a shell line in the sandbox, with its leases in the environment and none of Countersign's secrets.
func (s sandboxService) command(ctx context.Context, f FoundProject, box sandbox.Sandbox, line string) (CommandResult, bool) {
	ran := CommandResult{Command: line}
	settings, err := s.Homes.Settings(ctx, f.Project.Name)
	if err != nil && !errors.Is(err, sandbox.ErrConfiguration) {
		ran.ExitCode, ran.Output = -1, fault.From(err).Message
		return ran, false
	}
	env, secrets := process.ChildEnvironment(settings.Environ, nil, box.Leases, nil)
	maps.Copy(env, box.Leases)
	argv, err := s.Isolator.Wrap(box.Isolation, f.Layout.Repo, box.Directory, env["PATH"], slices.Collect(maps.Keys(env)), []string{"/bin/sh", "-c", line})
	if err != nil {
		ran.ExitCode, ran.Output = -1, fault.From(err).Message
		return ran, false
	}
	result, err := s.Processes.Run(ctx, process.Spec{Argv: argv, Dir: box.Directory, Env: env, Secrets: secrets, Timeout: sandbox.CommandTimeout,
		Labels: map[string]string{"capability": "sandboxes", "project": f.Project.Name, "sandbox": box.Name},
		Log:    strings.TrimSuffix(f.Layout.ServerLog, "-opencode.log") + "-sandbox-" + box.Name + ".log"}, nil)
	if err != nil {
		ran.ExitCode, ran.Output = -1, fault.From(err).Message
		return ran, false
	}
	ran.ExitCode, ran.TimedOut = result.Exit.Code, result.Status == process.TimedOut
	text := strings.ToValidUTF8(string(result.Stdout)+string(result.Stderr), "\uFFFD")
	if len(text) > sandbox.CommandOutput {
		text = strings.ToValidUTF8(text[len(text)-sandbox.CommandOutput:], "")
	}
	ran.Output = text
	return ran, result.OK()
}

// access returns how to reach the remote, as when the project was started.
func (s sandboxService) access(ctx context.Context, f FoundProject) (sandboxport.Access, error) {
	a := sandboxport.Access{URL: cmp.Or(f.Project.CloneURL, f.URL.String()), Key: f.Project.SSHKey}
	if a.Key != "" || f.URL.IsLocal() || strings.HasPrefix(a.URL, "http") {
		return a, nil
	}
	key, there, err := s.Keys.Peek(ctx, f.Project.Name)
	if err == nil && !there {
		err = sandbox.ErrKeyNotFound
	}
	a.Key = key.Path
	return a, err
}

// there records that the sandbox exists, and whether its set-up is still to be run.
func (s sandboxService) there(ctx context.Context, f FoundProject, name string, runSetup bool) error {
	return s.manager.Change(ctx, f, func(p *sandbox.Project) {
		p.Doing = nil
		if box := p.Sandboxes[sandbox.SandboxKey(name)]; runSetup {
			box.Preparing = s.Owner.Self()
			p.Sandboxes[sandbox.SandboxKey(name)] = box
		}
	})
}

// recordSetup records that the sandbox's set-up has been run, if the sandbox still exists.
func (s sandboxService) recordSetup(ctx context.Context, f FoundProject, name string) error {
	return s.manager.Change(ctx, f, func(p *sandbox.Project) {
		if box, is := p.Sandboxes[sandbox.SandboxKey(name)]; is && box.Preparing == s.Owner.Self() {
			box.Preparing = ""
			p.Sandboxes[sandbox.SandboxKey(name)] = box
		}
	})
}

// unprepared reports whether the sandbox's set-up was interrupted by the death of its process.
func (s sandboxService) unprepared(box sandbox.Sandbox) bool {
	return box.Preparing != "" && s.Owner.Judge(box.Preparing).Dead()
}

// replace removes the sandbox that an interrupted call left without its set-up. Its work is backed up.
func (s sandboxService) replace(ctx context.Context, f FoundProject, p createPlan) error {
	if p.replaces == "" {
		return nil
	}
	now, err := s.Current(ctx)
	if err != nil {
		return err
	}
	box, is := now.Projects[f.URL.String()].Sandboxes[sandbox.SandboxKey(p.input.Name)]
	if !is || box.Preparing != p.replaces { // another process was faster; if a sandbox exists, it will be found
		return nil
	}
	if _, err := s.Repos.Remove(ctx, f.Layout.Repo, box.Directory, sandboxport.Removal{Name: box.Name, Branch: box.Branch, DeleteBranch: box.CreatedBranch, Force: true, At: s.Clock.Now()}); err != nil {
		return err
	}
	return s.forget(ctx, f, box.Name)
}

// reserve records a sandbox that is being created, with unique leases.
func (s sandboxService) reserve(ctx context.Context, sc tool.Scope, f FoundProject, plan Plan, box sandbox.Sandbox, approves string) (sandbox.Sandbox, error) {
	doing, err := s.Begin(sc, plan, "create", box.Name)
	if err != nil {
		return box, err
	}
	_, err = s.States.Update(ctx, func(st *sandbox.State) error {
		p, known := st.Projects[f.URL.String()]
		if !known {
			return sandbox.ErrProjectNotFound
		}
		if _, there := p.Sandboxes[strings.ToLower(box.Name)]; there {
			return sandbox.ErrExists.WithMessage("project %s has a sandbox %q already", p.Name, box.Name)
		}
		leases, err := sandbox.LeaseEnv(*st, p, box.Name, s.Sockets.Free)
		if err != nil {
			return err
		}
		box.Leases = leases
		p.Sandboxes = maps.Clone(p.Sandboxes)
		if p.Sandboxes == nil {
			p.Sandboxes = map[string]sandbox.Sandbox{}
		}
		p.Sandboxes[strings.ToLower(box.Name)] = box
		p.Doing = doing
		if approves != "" {
			p.Setup = approves
		}
		st.Projects[f.URL.String()] = p
		return nil
	})
	return box, err
}

// forget removes a sandbox from the record and frees its leases.
func (s sandboxService) forget(ctx context.Context, f FoundProject, name string) error {
	return s.manager.Change(ctx, f, func(p *sandbox.Project) {
		forgetSandbox(p, name)
		p.Doing = nil
	})
}

// settled records that no operation is in progress.
func (s sandboxService) settled(ctx context.Context, f FoundProject) error {
	return s.manager.Change(ctx, f, func(p *sandbox.Project) { p.Doing = nil })
}
