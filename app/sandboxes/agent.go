package sandboxes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/process"
	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/domain/tool"
)

// AgentInput says which agent to start in a sandbox with which prompt, or to stop the present one.
type AgentInput struct {
	URL    string `json:"git_url" jsonschema:"minLength=1,description=Git repository URL"`
	Name   string `json:"name" jsonschema:"minLength=1"`
	Agent  string `json:"agent,omitempty" jsonschema:"enum=opencode,enum=claude,enum=codex,description=default: the one that was started last"`
	Prompt string `json:"prompt,omitempty" jsonschema:"description=what it is to do"`
	Stop   bool   `json:"stop,omitempty" jsonschema:"description=stop the one that runs"`
}

// Resources returns the project.
func (in AgentInput) Resources() []string { return []string{in.URL} }

// AgentView is the status of a sandbox's agent.
type AgentView struct {
	Agent    string `json:"agent"`
	Status   string `json:"status"` // running, stopping, completed, failed, stopped, timed_out, ended (result no longer known); working, idle or off for one in a server
	ExitCode *int   `json:"exit_code,omitempty"`
	LastLine string `json:"last_line,omitempty"`
	PID      int    `json:"pid,omitempty"`
	Log      string `json:"log,omitempty"`
	Session  string `json:"session,omitempty"`
	Server   string `json:"server_url,omitempty"` // server of that session
}

// Running reports whether the agent has not ended.
func (v AgentView) Running() bool {
	return slices.Contains([]string{"starting", "running", "stopping", "working"}, v.Status)
}

// SandboxAgentDone is an agent that was started or stopped.
type SandboxAgentDone struct {
	Status    string     `json:"status"`
	Project   string     `json:"project"`
	URL       string     `json:"git_url"`
	Name      string     `json:"name"`
	Directory string     `json:"directory"`
	Message   string     `json:"message"`
	Agent     *AgentView `json:"agent,omitempty"`
}

// agentStart is an agent about to be started.
type agentStart struct {
	name, prompt string
	spec         process.Spec // of one that is a process of its own
}

// unbound describes what a plan to start an agent does not cover.
func unbound(isolation string) []string {
	if isolation != "" {
		return []string{"what the agent does then: it may change every file of the sandbox, and whatever its isolation does not protect"}
	}
	return []string{"what the agent does then: it may change every file of the sandbox, and without isolation also every other file that you may change"}
}

// isolationShown returns an isolation as a plan shows it.
func (d Deps) isolationShown(f FoundProject, box sandbox.Sandbox, variables []string) (map[string]any, error) {
	holds, not := sandbox.IsolationHolds(box.Isolation)
	out := map[string]any{"with": box.Isolation, "holds": holds, "does_not_hold": not}
	begins, err := d.Isolator.Begins(box.Isolation, f.Layout.Repo, box.Directory, variables)
	if len(begins) > 0 {
		out["command_begins"] = begins
	}
	return out, err
}

// planAgent determines how an agent is started in a sandbox, and what a plan shows of it. It returns nil for no agent.
func (s sandboxService) planAgent(ctx context.Context, f FoundProject, box sandbox.Sandbox, name, prompt string) (*agentStart, map[string]any, error) {
	if name == "" || name == sandbox.AgentNone {
		if strings.TrimSpace(prompt) != "" {
			return nil, nil, sandbox.ErrArguments.WithMessage("a prompt needs an agent to work on it: opencode, claude or codex")
		}
		return nil, nil, nil
	}
	start := &agentStart{name: name, prompt: prompt}
	settings, err := s.Homes.Settings(ctx, f.Project.Name)
	if name == sandbox.AgentOpencode {
		where := "the project's agent server"
		if box.Isolation != "" {
			if err := sandbox.CheckOwnServer(box); err != nil {
				return nil, nil, err
			}
			where = "an agent server of the sandbox's own, isolated as the sandbox is"
		}
		if err == nil {
			err = installed(settings)
		}
		return start, map[string]any{"agent": name, "prompt": prompt, "runs_in": "a session of " + where + ", which is started if needed: " + settings.Bin}, err
	}
	if err != nil && !errors.Is(err, sandbox.ErrConfiguration) {
		return nil, nil, err
	}
	if start.spec, err = s.Launcher.Agent(settings, name, prompt); err != nil {
		return nil, nil, err
	}
	if kind, _, _ := sandbox.ParseIsolation(box.Isolation); kind == sandbox.IsolationContainer {
		start.spec.Argv[0] = name // the image's own program
	}
	start.spec.Log = agentLog(f, box.Name)
	return start, map[string]any{"agent": name, "command": start.spec.Argv, "variables": slices.Sorted(maps.Keys(start.spec.Env)), "log": start.spec.Log}, nil
}

// agentLog returns the file for the output of a sandbox's agent.
func agentLog(f FoundProject, box string) string {
	return strings.TrimSuffix(f.Layout.ServerLog, "-opencode.log") + "-sandbox-" + box + "-agent.log"
}

// startAgent starts the planned agent and records it.
func (s sandboxService) startAgent(ctx context.Context, sc tool.Scope, f FoundProject, box sandbox.Sandbox, start *agentStart) (sandbox.Agent, error) {
	sc.Progress(tool.Progress{Message: "starting " + start.name})
	agent := sandbox.Agent{Name: start.name, StartedAt: s.Clock.Now()}
	if start.name == sandbox.AgentOpencode {
		server, err := s.serving(ctx, sc, f, served(box))
		if err != nil {
			return agent, err
		}
		settings, err := s.settingsOf(ctx, f, served(box))
		if err != nil {
			return agent, err
		}
		if err := s.listens(ctx, server); err != nil {
			return agent, err
		}
		if agent.Session, err = s.Launcher.Prompt(ctx, settings, server.Port, box.Directory, "sandbox "+box.Name, start.prompt); err != nil {
			return agent, err
		}
		return agent, s.recordAgent(ctx, f, box.Name, agent)
	}
	spec := start.spec
	var err error
	spec.Dir, spec.Env, spec.Keep = box.Directory, maps.Clone(spec.Env), sandbox.AgentKept
	maps.Copy(spec.Env, box.Leases)
	if spec.Argv, err = s.Isolator.Wrap(box.Isolation, f.Layout.Repo, box.Directory, spec.Env["PATH"], slices.Collect(maps.Keys(spec.Env)), spec.Argv); err != nil {
		return agent, err
	}
	spec.Labels = map[string]string{"kind": "sandbox_agent", "capability": "sandboxes", "project": f.Project.Name, "sandbox": box.Name, "agent": start.name}
	started, err := s.Processes.Start(ctx, spec)
	if err != nil {
		return agent, sandbox.ErrStart.WithMessage("%s did not start: %s", start.name, fault.From(err).Message).WithCause(err)
	}
	agent.ProcessID, agent.PID, agent.Log = string(started.ID), started.PID, spec.Log
	if err := s.recordAgent(context.WithoutCancel(ctx), f, box.Name, agent); err != nil {
		s.Processes.Stop(context.WithoutCancel(ctx), started.ID, sandbox.StopGrace) //nolint:errcheck // an unrecorded agent must not stay
		return agent, err
	}
	return agent, nil
}

// serving returns the project's server, or the sandbox's own, and starts it if needed.
func (s sandboxService) serving(ctx context.Context, sc tool.Scope, f FoundProject, box sandbox.Sandbox) (sandbox.Server, error) {
	release, err := s.manager.LockProject(ctx, f.URL)
	if err != nil {
		return sandbox.Server{}, err
	}
	defer release()
	starter := service{Deps: s.Deps, gateway: GatewayManager{Deps: s.Deps}, manager: s.manager}
	if box.Name != "" {
		if _, err := starter.own(ctx, sc, f, box, false); err != nil {
			return sandbox.Server{}, err
		}
		state, err := s.Current(ctx)
		return state.Projects[f.URL.String()].ServerOf(box.Name), err
	}
	now, err := s.manager.Project(ctx, f)
	if err != nil {
		return sandbox.Server{}, err
	}
	p, known := now.Projects[f.URL.String()]
	switch {
	case !known:
		return p.Server, sandbox.ErrProjectNotFound.WithMessage("the project of %s was destroyed meanwhile", f.URL)
	case p.Server.Status == sandbox.Running:
		return p.Server, nil
	}
	f.Project = p
	settings, err := s.Homes.Settings(ctx, p.Name)
	if err != nil {
		return p.Server, err
	}
	key, err := starter.serverKey(ctx, keyed(f, settings))
	if err != nil {
		return p.Server, err
	}
	if _, err := starter.launched(ctx, sc, f, launch{settings: settings, key: key}); err != nil {
		return p.Server, err
	}
	state, err := s.Current(ctx)
	return state.Projects[f.URL.String()].Server, err
}

func (s sandboxService) recordAgent(ctx context.Context, f FoundProject, name string, agent sandbox.Agent) error {
	return s.manager.Change(ctx, f, func(p *sandbox.Project) {
		if box, is := p.Sandboxes[sandbox.SandboxKey(name)]; is {
			box.Agent = &agent
			p.Sandboxes = maps.Clone(p.Sandboxes)
			p.Sandboxes[sandbox.SandboxKey(name)] = box
		}
	})
}

// recordEnd stores how the sandbox's agent ended, for when the process table has forgotten it.
func (s sandboxService) recordEnd(ctx context.Context, f FoundProject, box sandbox.Sandbox, end sandbox.AgentEnd) error {
	return s.manager.Change(context.WithoutCancel(ctx), f, func(p *sandbox.Project) {
		now, is := p.Sandboxes[sandbox.SandboxKey(box.Name)]
		if !is || now.Agent == nil || now.Agent.ProcessID != box.Agent.ProcessID {
			return
		}
		agent := *now.Agent
		agent.Ended, now.Agent = &end, &agent
		p.Sandboxes = maps.Clone(p.Sandboxes)
		p.Sandboxes[sandbox.SandboxKey(box.Name)] = now
	})
}

// agentView returns the status of a sandbox's agent; nil if none was started.
func (s sandboxService) agentView(ctx context.Context, f FoundProject, box sandbox.Sandbox) *AgentView {
	if box.Agent == nil {
		return nil
	}
	v := &AgentView{Agent: box.Agent.Name, PID: box.Agent.PID, Log: box.Agent.Log, Session: box.Agent.Session}
	if box.Agent.ProcessID == "" {
		v.Status = "off"
		settings, err := s.settingsOf(ctx, f, served(box))
		if server := f.Project.ServerOf(served(box).Name); err == nil && server.Status == sandbox.Running {
			v.Status, v.Server = "idle", serverURL(settings.Host, server.Port)
			if s.busy(ctx, server, settings, []string{box.Directory}) {
				v.Status = "working"
			}
		}
		return v
	}
	if end := box.Agent.Ended; end != nil {
		v.Status, v.ExitCode, v.PID, v.LastLine = end.Status, &end.ExitCode, 0, strings.TrimSpace(s.Tail(ctx, box.Agent.ProcessID, 1))
		return v
	}
	state, err := s.Processes.Inspect(ctx, process.ID(box.Agent.ProcessID))
	if err != nil {
		v.Status, v.PID = "ended", 0
		return v
	}
	v.Status = state.Status.String()
	if v.LastLine = strings.TrimSpace(s.Tail(ctx, box.Agent.ProcessID, 1)); state.Status.Final() {
		v.PID = 0
		if state.Lost {
			v.Status = "ended"
		} else {
			v.ExitCode = &state.Exit.Code
			s.recordEnd(ctx, f, box, sandbox.AgentEnd{Status: v.Status, ExitCode: state.Exit.Code, At: state.EndedAt}) //nolint:errcheck // the next reader records it
		}
	}
	return v
}

// stopAgent stops the agent that is a process of its own, if it runs. For one in a server, it aborts its turn.
func (d Deps) stopAgent(ctx context.Context, box sandbox.Sandbox) (bool, error) {
	if box.Agent == nil || box.Agent.ProcessID == "" {
		return false, nil
	}
	id := process.ID(box.Agent.ProcessID)
	before, err := d.Processes.Inspect(ctx, id)
	if err != nil || before.Status.Final() {
		return false, nil //nolint:nilerr // an unknown process has ended
	}
	if _, err := d.Processes.Stop(ctx, id, sandbox.StopGrace); err != nil && !errors.Is(err, process.ErrNotFound) {
		return false, sandbox.ErrTimeout.WithMessage("the agent of sandbox %s (pid %d) could not be stopped: %s", box.Name, before.PID, fault.From(err).Message).WithCause(err)
	}
	return true, nil
}

type agentPlan struct {
	Plan
	found FoundProject
	box   sandbox.Sandbox
	start *agentStart // nil: stop it
}

func (s sandboxService) planSandboxAgent(ctx context.Context, _ tool.Scope, in AgentInput) (agentPlan, error) {
	f, box, err := s.readySandbox(ctx, in.URL, in.Name)
	if err != nil {
		return agentPlan{}, err
	}
	p := agentPlan{found: f, box: box}
	shown := map[string]any{"git_url": f.URL.String(), "project": f.Project.Name, "name": box.Name, "directory": box.Directory}
	view := s.agentView(ctx, f, box)
	if in.Stop {
		switch {
		case in.Agent != "" || in.Prompt != "":
			return p, sandbox.ErrArguments.WithMessage("stop takes no agent and no prompt")
		case view == nil:
			return p, sandbox.ErrArguments.WithMessage("no agent was started in sandbox %s", box.Name)
		case box.Agent.ProcessID == "":
			return p, sandbox.ErrArguments.WithMessage("the agent of sandbox %s is a session of an agent server; opencode_session_abort ends its turn, opencode_project_stop the server", box.Name)
		}
		p.Plan, err = NewPlan(SandboxAgent.Name, fmt.Sprintf("stop %s in sandbox %s of %s", view.Agent, box.Name, f.Project.Name), shown, ConfirmOptions{Nothing: !view.Running()})
		return p, err
	}
	if view != nil && view.Running() {
		return p, sandbox.ErrAgentRuns.WithMessage("%s works in sandbox %s already; wait until it has ended, or stop it", view.Agent, box.Name)
	}
	name := in.Agent
	if name == "" && box.Agent != nil {
		name = box.Agent.Name
	}
	if name == "" {
		return p, sandbox.ErrArguments.WithMessage("no agent was started in sandbox %s yet; name one: opencode, claude or codex", box.Name)
	}
	var more map[string]any
	if p.start, more, err = s.planAgent(ctx, f, box, name, in.Prompt); err != nil {
		return p, err
	}
	maps.Copy(shown, more)
	shown["not_bound"] = unbound(box.Isolation)
	if box.Isolation != "" {
		var variables []string
		if p.start != nil {
			variables = slices.Collect(maps.Keys(p.start.spec.Env))
		}
		if shown["isolation"], err = s.isolationShown(f, box, slices.Concat(variables, slices.Collect(maps.Keys(box.Leases)))); err != nil {
			return p, err
		}
	}
	p.Plan, err = NewPlan(SandboxAgent.Name, fmt.Sprintf("start %s in sandbox %s of %s", name, box.Name, f.Project.Name), shown, ConfirmOptions{Strength: policy.Preview, Risk: policy.RiskHigh})
	return p, err
}

func (s sandboxService) agent(ctx context.Context, sc tool.Scope, p agentPlan) (SandboxAgentDone, error) {
	f := p.found
	out := SandboxAgentDone{Status: "success", Project: f.Project.Name, URL: f.URL.String(), Name: p.box.Name, Directory: p.box.Directory}
	if p.start == nil {
		was, err := s.stopAgent(ctx, p.box)
		if out.Message = "the agent was stopped"; !was {
			out.Message = "no agent ran"
		}
		out.Agent = s.agentView(ctx, f, p.box)
		return out, err
	}
	agent, err := s.startAgent(ctx, sc, f, p.box, p.start)
	if err != nil {
		return SandboxAgentDone{}, err
	}
	if f, err = s.Must(ctx, p.found.URL.String()); err != nil {
		return SandboxAgentDone{}, err
	}
	p.box.Agent = &agent
	out.Message, out.Agent = agent.Name+" works in the sandbox", s.agentView(ctx, f, p.box)
	return out, nil
}
