package sandboxes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/domain/process"
	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports/sandboxport"
)

// startPlan is the plan to start a project.
type startPlan struct {
	Plan
	found FoundProject
	key   string
	box   sandbox.Sandbox // whose own server is to start; zero for the project's
	runs  bool            // already, and the gateway with it: nobody was asked
}

// Remotes returns the URLs of the repository that the plan shows: its identity first.
func (p startPlan) Remotes() []string {
	if p.box.Name != "" {
		return nil // nothing is fetched
	}
	out := []string{p.found.URL.String()}
	for _, url := range []string{p.found.CloneURL, p.found.Project.CloneURL} {
		if u, err := git.ParseURL(url); err == nil && u.Host() == p.found.URL.Host() && u.Path() == p.found.URL.Path() { // another spelling of it
			out = append(out, url)
		}
	}
	return slices.Compact(out)
}

// planStart examines the present state; what must be fetched is found out later. It fails as the start would if settings are missing, or if the
// server's program is missing and everything else is done.
func (s service) planStart(ctx context.Context, _ tool.Scope, in StartInput) (startPlan, error) {
	if in.Sandbox != "" {
		return s.planOwn(ctx, ProjectStart.Name, in.URL, in.Sandbox)
	}
	f, err := s.Find(ctx, in.URL)
	if err != nil {
		return startPlan{}, err
	}
	if !f.Known {
		f = s.anew(f)
	}
	p := startPlan{found: f, key: strings.TrimSpace(in.Key), runs: f.Project.Doing == nil && f.Project.Server.Status == sandbox.Running && f.State.Gateway.Status == sandbox.Running}
	shown := map[string]any{"git_url": f.URL.String(), "project": f.Project.Name, "base_dir": f.Layout.Base,
		"known": f.Known, "running": f.Project.Server.Status == sandbox.Running, "user_ssh_key": p.key, "not_bound": serves(f.Project)}
	if others := p.Remotes()[1:]; len(others) > 0 && !f.URL.IsLocal() {
		shown["fetch_from"] = others
	}
	what := "start project " + f.Project.Name
	if !f.Known {
		what = "clone " + f.URL.String() + " and start project " + f.Project.Name
	}
	if !p.runs {
		settings, err := s.Homes.Settings(ctx, f.Project.Name)
		if err != nil {
			return startPlan{}, err
		}
		missing := installed(settings)
		switch {
		case missing == nil:
		case f.Known && f.Project.Doing == nil:
			return startPlan{}, missing
		default:
			what += ", whose server cannot run"
			shown["without_server"] = missing.Error()
		}
	}
	p.Plan, err = NewPlan(ProjectStart.Name, what, shown, ConfirmOptions{Nothing: p.runs})
	return p, err
}

// loads is what no plan to start a server can hold.
const loads = "what the server loads from the repository (opencode.json, plugins, MCP servers), and what its agent does when it is asked to"

// serves returns what no plan to start a project's server can hold: it works in the clone and in all sandboxes without isolation.
func serves(p sandbox.Project) []string {
	where := "the server is not isolated: what it starts has all your permissions"
	if boxes := isolatedIn(p); len(boxes) > 0 {
		where += ". Sandboxes that are isolated (" + strings.Join(boxes, ", ") + ") are not worked in by it, but by servers of their own"
	}
	return []string{loads, where}
}

// isolatedIn returns the names of a project's sandboxes that are isolated, sorted.
func isolatedIn(p sandbox.Project) (names []string) {
	for _, box := range p.Sandboxes {
		if box.Isolation != "" {
			names = append(names, box.Name)
		}
	}
	slices.Sort(names)
	return names
}

// anew returns a project without a record.
func (s service) anew(f FoundProject) FoundProject {
	f.Known = false
	f.Project = sandbox.Project{URL: f.URL, CloneURL: f.CloneURL, Name: sandbox.UniqueProjectName(f.URL, f.State), Sandboxes: map[string]sandbox.Sandbox{}}
	f.Layout = s.Homes.Layout(f.Project.Name, "")
	return f
}

// start runs every step that is not done yet, in the contract's order (opencode contract §13.1); the next call resumes after an interruption.
func (s service) start(ctx context.Context, sc tool.Scope, plan startPlan) (ProjectStarted, error) {
	f := plan.found
	release, err := s.manager.LockProject(ctx, f.URL)
	if err != nil {
		return ProjectStarted{}, err
	}
	defer release()
	if plan.box.Name != "" {
		return s.own(ctx, sc, f, plan.box, plan.runs)
	}
	if f, err = s.recorded(ctx, f, plan.key); err != nil {
		return ProjectStarted{}, err
	}
	if f.Known && f.Project.Server.Status == sandbox.Running {
		return s.alreadyRunning(ctx, f, sandbox.Sandbox{})
	}
	if plan.runs {
		return ProjectStarted{}, sandbox.ErrBusy.WithMessage("the server of %s ended after the plan was made; call again to start it", f.URL)
	}
	if err := s.Homes.Prepare(ctx, f.Project, f.Layout); err != nil {
		return ProjectStarted{}, err
	}
	settings, err := s.Homes.Settings(ctx, f.Project.Name)
	if err != nil {
		return ProjectStarted{}, err
	}
	access, waiting, err := s.access(ctx, f, plan.key != "")
	if err != nil || waiting != nil {
		if waiting != nil {
			return *waiting, nil
		}
		return ProjectStarted{}, err
	}
	if f.Project, err = s.cloned(ctx, sc, f, access); err != nil {
		return ProjectStarted{}, err
	}
	return s.launched(ctx, sc, f, launch{settings: settings, key: access.Key, ensure: true})
}

// recorded returns the project's present record, after finishing or undoing interrupted operations, with the key to use. The caller holds the
// project.
func (s service) recorded(ctx context.Context, f FoundProject, key string) (FoundProject, error) {
	now, err := s.manager.Project(ctx, f)
	if err != nil {
		return f, err
	}
	if p, known := now.Projects[f.URL.String()]; known {
		f.Project, f.Known, f.State = p, true, now
		f.Layout = s.Homes.Layout(p.Name, p.BaseDir)
	} else if f.Known { // an interrupted destruction was just finished, and nothing of the old record may come back
		f.State = now
		f = s.anew(f)
	}
	if key != "" {
		f.Project.SSHKey = key
	} else if written, err := s.Homes.Settings(ctx, f.Project.Name); err == nil {
		f = keyed(f, written)
	}
	return f, nil
}

// keyed returns the project with the key in its settings file, which the user may have edited and which takes precedence (opencode contract §5.3).
func keyed(f FoundProject, written sandboxport.Settings) FoundProject {
	switch written.SSHKey {
	case "":
	case f.Layout.Key:
		f.Project.SSHKey = ""
	default:
		f.Project.SSHKey = written.SSHKey
	}
	return f
}

// answer returns the part of the result that all outcomes of a start have in common.
func (s service) answer(f FoundProject, status, message string) ProjectStarted {
	return ProjectStarted{Status: status, Project: f.Project.Name, URL: f.URL.String(), BaseDir: f.Layout.Base, SandboxDir: f.Layout.Base, Message: message, Warnings: f.Warnings}
}

func (s service) alreadyRunning(ctx context.Context, f FoundProject, box sandbox.Sandbox) (ProjectStarted, error) {
	out := s.answer(f, "already_running", "the project's server is already running")
	if out.Sandbox, out.Isolation = box.Name, box.Isolation; box.Name != "" {
		out.Message = "the sandbox's own server is already running"
	}
	settings, err := s.settingsOf(ctx, f, box)
	if err != nil {
		return out, err
	}
	state, gateway := s.gateway.Ensure(ctx, true)
	server := f.Project.ServerOf(box.Name)
	out.Port, out.PID, out.Version, out.GatewayPort = server.Port, server.PID, server.Version, state.Gateway.Port
	out.ServerURL, out.Exposed = serverURL(settings.Host, out.Port), exposed(settings.Host)
	if gateway != nil {
		out.Status, out.GatewayError = "partial", fault.From(gateway).Message
	}
	return out, nil
}

// access returns how to reach the repository: without a key if possible, else with the user's or the deploy key. A key that the host does not know
// yet is not an error: waiting says what the user must do. A project with a clone needs no access, and no network, to start, unless a key was given
// to try.
func (s service) access(ctx context.Context, f FoundProject, try bool) (sandboxport.Access, *ProjectStarted, error) {
	if f.Known && !try {
		if _, err := s.Repos.Root(ctx, f.Layout.Repo); err == nil {
			key, err := s.serverKey(ctx, f)
			return sandboxport.Access{URL: f.URL.String(), Key: key}, nil, err
		}
	}
	if f.Project.SSHKey == "" && (f.URL.IsLocal() || strings.HasPrefix(f.CloneURL, "http")) {
		open := sandboxport.Access{URL: cmp.Or(f.CloneURL, f.URL.String())}
		err := s.Repos.Reach(ctx, open)
		if err == nil || f.URL.IsLocal() {
			return open, nil, err
		}
	}
	var key sandboxport.Key
	var err error
	if f.Project.SSHKey != "" {
		key, err = s.Keys.Check(ctx, f.Project.SSHKey)
	} else {
		key, err = s.Keys.Ensure(ctx, f.Project.Name)
	}
	if err != nil {
		return sandboxport.Access{}, nil, err
	}
	a := sandboxport.Access{URL: cmp.Or(f.CloneURL, f.Project.CloneURL, f.URL.String()), Key: key.Path}
	if err := s.Repos.Reach(ctx, a); err != nil {
		if ctx.Err() != nil {
			return a, nil, err
		}
		waiting := s.answer(f, "waiting_for_key", "the repository cannot be reached with this key yet; add the public key to the repository's host and call again")
		waiting.PublicKey, waiting.PublicKeyPath, waiting.ErrorDetail, waiting.RegisterURL = key.Public, key.PublicPath, fault.From(err).Message, sandbox.DeployKeysURL(f.URL)
		return a, &waiting, nil
	}
	return a, nil, nil
}

// cloned returns the project after cloning and recording it.
func (s service) cloned(ctx context.Context, sc tool.Scope, f FoundProject, a sandboxport.Access) (sandbox.Project, error) {
	err := s.Repos.Clone(ctx, a, f.Layout.Repo, func(percent int, what string) {
		sc.Progress(tool.Progress{Done: int64(percent), Total: 100, Message: what})
	})
	if err != nil {
		return f.Project, err
	}
	root, err := s.Repos.Root(ctx, f.Layout.Repo)
	if err != nil {
		return f.Project, err
	}
	p := f.Project
	state, err := s.States.Update(ctx, func(st *sandbox.State) error {
		now, known := st.Projects[f.URL.String()]
		if !known {
			now = p
			now.CreatedAt, now.BaseDir = s.Clock.Now(), f.Layout.Base
			now.Name = sandbox.UniqueProjectName(f.URL, *st)
			if now.Name != p.Name {
				return sandbox.ErrBusy.WithMessage("another project took the name %s meanwhile; call again", p.Name)
			}
			now.Server.Status = sandbox.Stopped
		}
		now.ProjectID, now.SSHKey = root.RootCommit, p.SSHKey
		if !known || strings.HasPrefix(f.CloneURL, "http") { // a public repository is not reached by its canonical URL
			now.CloneURL = f.CloneURL
		}
		st.Projects[f.URL.String()] = now
		return nil
	})
	return state.Projects[f.URL.String()], err
}

// launch says how to start a server.
type launch struct {
	settings sandboxport.Settings
	key      string
	box      sandbox.Sandbox // whose own server it is; zero for the project's
	ensure   bool            // the gateway too, although the user stopped it
	tries    int             // ports that another program took between the look and the start
}

const projectMaxTries = 3

// launched starts the project's server, or the one of a sandbox's own, and waits until it answers.
func (s service) launched(ctx context.Context, sc tool.Scope, f FoundProject, l launch) (ProjectStarted, error) {
	if err := installed(l.settings); err != nil {
		return ProjectStarted{}, err
	}
	if _, err := s.manager.StopServer(ctx, f, l.box.Name); err != nil { // one that runs, or that an interrupted call has left
		return ProjectStarted{}, err
	}
	port, err := s.port(ctx, f, l.box.Name, l.settings)
	if err != nil {
		return ProjectStarted{}, err
	}
	spec := s.Launcher.Spec(l.settings, f.Layout, port, l.key)
	if l.box.Name != "" {
		if spec, err = s.inside(spec, f, l.box); err != nil {
			return ProjectStarted{}, err
		}
	}
	sc.Progress(tool.Progress{Message: fmt.Sprintf("starting the server at port %d", port)})
	started, err := s.Processes.Start(ctx, spec)
	if err != nil {
		return ProjectStarted{}, sandbox.ErrStart.WithMessage("the server did not start: %s", fault.From(err).Message).WithCause(err)
	}
	now := s.Clock.Now()
	record := sandbox.Server{ProcessID: string(started.ID), PID: started.PID, Port: port, Status: sandbox.Starting, StartedAt: now, Exe: l.settings.Bin}
	if err := s.manager.Record(ctx, f, l.box.Name, record); err != nil {
		s.Processes.Stop(context.WithoutCancel(ctx), started.ID, sandbox.StopGrace) //nolint:errcheck // a server that nobody knows of must not stay
		return ProjectStarted{}, err
	}
	version, err := s.await(ctx, record, l.settings)
	if err != nil {
		s.Processes.Stop(context.WithoutCancel(ctx), started.ID, sandbox.StopGrace) //nolint:errcheck // the reason for the failed start is what matters
		quicker := ctx.Err() == nil && !s.Sockets.Free(port)                        // another program was faster
		switch {
		case quicker && l.settings.Port != 0:
			err = configuredPort(port).WithCause(err)
		case quicker && l.tries < projectMaxTries:
			l.tries++
			return s.launched(ctx, sc, f, l)
		}
		record.PID, record.ProcessID, record.Status, record.LastError = 0, "", sandbox.Failed, fault.From(err).Message
		return ProjectStarted{}, errors.Join(err, s.manager.Record(context.WithoutCancel(ctx), f, l.box.Name, record))
	}
	record.Status, record.Version = sandbox.Running, version
	if err := s.manager.Record(ctx, f, l.box.Name, record); err != nil {
		return ProjectStarted{}, err
	}
	out := s.answer(f, "success", "the project runs")
	if out.Sandbox, out.Isolation = l.box.Name, l.box.Isolation; l.box.Name != "" {
		out.Message = "the sandbox's own server runs, isolated by " + l.box.Isolation
	}
	out.Port, out.PID, out.Version, out.ServerURL, out.Exposed = port, started.PID, version, serverURL(l.settings.Host, port), exposed(l.settings.Host)
	state, err := s.gateway.Ensure(ctx, l.ensure)
	if out.GatewayPort = state.Gateway.Port; err != nil {
		out.Status, out.Message, out.GatewayError = "partial", out.Message+"; the gateway does not run", fault.From(err).Message
	}
	return out, nil
}

// port returns where the server listens: where it did before when that is free, the port that is configured, or the first free one from the
// deterministic one on. Nothing that uses a port already is ever ended (opencode contract §7).
func (s service) port(ctx context.Context, f FoundProject, box string, settings sandboxport.Settings) (int, error) {
	if settings.Port != 0 {
		if !s.Sockets.Free(settings.Port) {
			return 0, configuredPort(settings.Port)
		}
		return settings.Port, nil
	}
	port := 0
	// It is written down before anybody listens there: servers of projects that start at the same time have the same password, and could be taken for one another.
	_, err := s.States.Update(ctx, func(st *sandbox.State) (err error) {
		p, known := st.Projects[f.URL.String()]
		if !known {
			return sandbox.ErrProjectNotFound.WithMessage("the project of %s was destroyed meanwhile", f.URL)
		}
		taken := map[int]bool{}
		for key, other := range st.Projects {
			for name, server := range other.Servers() {
				taken[server.Port] = taken[server.Port] || key != f.URL.String() || name != box
			}
		}
		server := p.ServerOf(box)
		if port = server.Port; port == 0 || taken[port] || !s.Sockets.Free(port) {
			port, err = sandbox.ChoosePort(f.URL, func(port int) bool { return taken[port] }, s.Sockets.Free)
		}
		server.Port = port
		p.SetServer(box, server)
		st.Projects[f.URL.String()] = p
		return err
	})
	return port, err
}

func configuredPort(port int) *fault.Error {
	return sandbox.ErrPort.WithMessage("OPENCODE_PORT says %d, which another program uses; change it in the project's .env, or stop that program", port).WithDetails(map[string]int{"port": port})
}

// installed fails if the program is not installed.
func installed(s sandboxport.Settings) error {
	if s.Bin != "" {
		return nil
	}
	return sandbox.ErrNotInstalled.WithMessage("the agent server's program is not installed (%s); npm install -g opencode-ai installs it, OPENCODE_BIN names another place. Sandboxes work without it", s.Missing)
}

// The interval and timeout of the server's probes.
const (
	eager          = 250 * time.Millisecond
	projectPatient = time.Second
	atFirst        = 5 * time.Second
)

// await probes the server until it answers, ends, or the time is up.
func (s service) await(ctx context.Context, server sandbox.Server, settings sandboxport.Settings) (string, error) {
	limited, cancel := context.WithTimeout(ctx, sandbox.HealthTimeout)
	defer cancel()
	var at process.Cursor
	for {
		version, err := s.healthy(limited, server, settings)
		if err == nil || errors.Is(err, sandbox.ErrAuth) {
			return version, err
		}
		every := eager
		if s.Clock.Now().Sub(server.StartedAt) > atFirst {
			every = projectPatient
		}
		turn, done := context.WithTimeout(limited, every)
		chunk, watching := s.Processes.Watch(turn, process.ID(server.ProcessID), at)
		done()
		at = chunk.Next
		switch {
		case watching != nil:
			return "", watching
		case chunk.Ended:
			return "", sandbox.ErrStart.WithMessage("the server ended before it answered; its last lines say why").WithDetails(map[string]string{"stderr": s.Tail(context.WithoutCancel(ctx), server.ProcessID, 20)})
		case ctx.Err() != nil:
			return "", ctx.Err()
		case limited.Err() != nil:
			return "", sandbox.ErrUnhealthy.WithMessage("the server did not answer within %v: %s", sandbox.HealthTimeout, fault.From(err).Message).WithDetails(map[string]string{"stderr": s.Tail(context.WithoutCancel(ctx), server.ProcessID, 20)})
		}
	}
}

// healthy queries a server once and returns its version. Only the server itself is told its password: another program that has taken the port, which
// any program in a sandbox may do, is not asked.
func (d Deps) healthy(ctx context.Context, server sandbox.Server, settings sandboxport.Settings) (string, error) {
	if err := d.listens(ctx, server); err != nil {
		return "", err
	}
	return d.Launcher.Healthy(ctx, settings.Host, server.Port, settings.Password)
}

// busy reports whether an agent of the server works in one of the directories. As with healthy, nobody else is asked.
func (d Deps) busy(ctx context.Context, server sandbox.Server, settings sandboxport.Settings, dirs []string) bool {
	return d.listens(ctx, server) == nil && d.Launcher.Busy(ctx, settings, server.Port, dirs)
}

// listens fails unless the server's own process listens on its port.
func (d Deps) listens(ctx context.Context, server sandbox.Server) error {
	if d.Sockets.Serves(ctx, server.PID, server.Port) {
		return nil
	}
	return sandbox.ErrUnhealthy.WithMessage("the server does not listen at port %d", server.Port)
}

// Listens fails unless the server with that ID (sandbox.ServerID) listens on its port. One that is not recorded as running, or that runs where it cannot
// be observed from here, passes.
func (m ProjectManager) Listens(ctx context.Context, id string) error {
	state, err := m.States.Load(ctx)
	if err != nil {
		return err
	}
	url, box := sandbox.SplitServerID(id)
	server := state.Projects[url].ServerOf(box)
	if server.Status != sandbox.Running {
		return nil
	}
	if at, err := m.Processes.Inspect(ctx, process.ID(server.ProcessID)); err == nil && at.Elsewhere != "" {
		return nil
	}
	return m.listens(ctx, server)
}
