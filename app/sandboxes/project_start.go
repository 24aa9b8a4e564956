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

// startPlan is a project about to be started.
type startPlan struct {
	Plan
	found FoundProject
	key   string
	runs  bool // already, and the gateway with it: nobody was asked
}

// Remotes returns the URLs that the repository is known by, which the plan shows: its identity first.
func (p startPlan) Remotes() []string {
	out := []string{p.found.URL.String()}
	for _, url := range []string{p.found.CloneURL, p.found.Project.CloneURL} {
		if u, err := git.ParseURL(url); err == nil && u.Host() == p.found.URL.Host() && u.Path() == p.found.URL.Path() { // another spelling of it
			out = append(out, url)
		}
	}
	return slices.Compact(out)
}

// planStart looks at what is there; what has to be fetched is seen on the way. It fails as the start would for want of settings, or of the server's program
// where nothing is left to do without it.
func (s service) planStart(ctx context.Context, _ tool.Scope, in StartInput) (startPlan, error) {
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

// serves returns what no plan to start a server can hold: there is one server for the clone and all sandboxes, which no isolation of one of them keeps inside.
func serves(p sandbox.Project) []string {
	where := "the server is not isolated: what it starts has all your permissions"
	if boxes := isolatedIn(p); len(boxes) > 0 {
		where += ", also in sandboxes that are isolated (" + strings.Join(boxes, ", ") + ")"
	}
	return []string{"what the server loads of the repository (opencode.json, plugins, MCP servers), and what its agent does when it is asked to", where}
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

// anew returns a project of which nothing is recorded.
func (s service) anew(f FoundProject) FoundProject {
	f.Known = false
	f.Project = sandbox.Project{URL: f.URL, CloneURL: f.CloneURL, Name: sandbox.UniqueProjectName(f.URL, f.State), Sandboxes: map[string]sandbox.Sandbox{}}
	f.Layout = s.Homes.Layout(f.Project.Name, "")
	return f
}

// start does every step that is not done yet, in the contract's order (opencode contract §13.1); a call that was killed in between is
// resumed by the next.
func (s service) start(ctx context.Context, sc tool.Scope, plan startPlan) (ProjectStarted, error) {
	f := plan.found
	release, err := s.manager.LockProject(ctx, f.URL)
	if err != nil {
		return ProjectStarted{}, err
	}
	defer release()
	if f, err = s.recorded(ctx, f, plan.key); err != nil {
		return ProjectStarted{}, err
	}
	if f.Known && f.Project.Server.Status == sandbox.Running {
		return s.alreadyRunning(ctx, f)
	}
	if plan.runs {
		return ProjectStarted{}, sandbox.ErrBusy.Sayf("the server of %s ran when it was looked at and has ended since; call again to start it", f.URL)
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

// recorded returns the project as it is recorded now, after what was interrupted in it was finished or undone, with the key that it is to be reached with. It is
// called by who holds the project.
func (s service) recorded(ctx context.Context, f FoundProject, key string) (FoundProject, error) {
	now, err := s.manager.Project(ctx, f)
	if err != nil {
		return f, err
	}
	if p, known := now.Projects[f.URL.String()]; known {
		f.Project, f.Known, f.State = p, true, now
		f.Layout = s.Homes.Layout(p.Name, p.BaseDir)
	} else if f.Known { // an interrupted destroy was finished just now, and nothing of what was recorded may come back
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

// keyed returns the project with the key that its settings file names: the user may have edited it, and what stands there wins (opencode contract §5.3).
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

// answer returns what is common to every way a start can go.
func (s service) answer(f FoundProject, status, message string) ProjectStarted {
	return ProjectStarted{Status: status, Project: f.Project.Name, URL: f.URL.String(), BaseDir: f.Layout.Base, SandboxDir: f.Layout.Base, Message: message, Warnings: f.Warnings}
}

func (s service) alreadyRunning(ctx context.Context, f FoundProject) (ProjectStarted, error) {
	out := s.answer(f, "already_running", "the project's server runs already")
	settings, err := s.Homes.Settings(ctx, f.Project.Name)
	if err != nil {
		return out, err
	}
	state, gateway := s.gateway.Ensure(ctx, true)
	out.Port, out.PID, out.Version, out.GatewayPort = f.Project.Server.Port, f.Project.Server.PID, f.Project.Server.Version, state.Gateway.Port
	out.ServerURL, out.Exposed = serverURL(settings.Host, out.Port), exposed(settings.Host)
	if gateway != nil {
		out.Status, out.GatewayError = "partial", fault.From(gateway).Message
	}
	return out, nil
}

// access returns how the repository can be reached: without a key where that works, else with the user's or the deploy key. A key that the host does
// not know yet is not an error: waiting says what the user has to do. A project that has its clone already needs nobody's permission to start, nor a network,
// unless a key was given to be tried.
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

// cloned returns the project with its clone there and recorded.
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
				return sandbox.ErrBusy.Sayf("another project took the name %s meanwhile; call again", p.Name)
			}
			now.Server.Status = sandbox.Stopped
		}
		now.ProjectID, now.SSHKey = root.RootCommit, p.SSHKey
		if !known || strings.HasPrefix(f.CloneURL, "http") { // the canonical URL is not how a public repository is reached
			now.CloneURL = f.CloneURL
		}
		st.Projects[f.URL.String()] = now
		return nil
	})
	return state.Projects[f.URL.String()], err
}

// launch is how a server is to be started.
type launch struct {
	settings sandboxport.Settings
	key      string
	ensure   bool // the gateway too, although the user stopped it
	tries    int  // ports that another program took between the look and the start
}

const projectMaxTries = 3

// launched starts the project's server and waits until it answers.
func (s service) launched(ctx context.Context, sc tool.Scope, f FoundProject, l launch) (ProjectStarted, error) {
	if err := installed(l.settings); err != nil {
		return ProjectStarted{}, err
	}
	if _, err := s.manager.StopServer(ctx, f); err != nil { // one that runs, or that an interrupted call has left
		return ProjectStarted{}, err
	}
	port, err := s.port(ctx, f, l.settings)
	if err != nil {
		return ProjectStarted{}, err
	}
	sc.Progress(tool.Progress{Message: fmt.Sprintf("starting the server at port %d", port)})
	started, err := s.Processes.Start(ctx, s.Launcher.Spec(l.settings, f.Layout, port, l.key))
	if err != nil {
		return ProjectStarted{}, sandbox.ErrStart.Sayf("the server did not start: %s", fault.From(err).Message).Because(err)
	}
	now := s.Clock.Now()
	record := sandbox.Server{ProcessID: string(started.ID), PID: started.PID, Port: port, Status: sandbox.Starting, StartedAt: now, Exe: l.settings.Bin}
	if err := s.manager.Record(ctx, f, record); err != nil {
		s.Processes.Stop(context.WithoutCancel(ctx), started.ID, sandbox.StopGrace) //nolint:errcheck // a server that nobody knows of must not stay
		return ProjectStarted{}, err
	}
	version, err := s.await(ctx, record, l.settings)
	if err != nil {
		s.Processes.Stop(context.WithoutCancel(ctx), started.ID, sandbox.StopGrace) //nolint:errcheck // why it did not come up is what matters
		quicker := ctx.Err() == nil && !s.Sockets.Free(port)                        // another program was
		switch {
		case quicker && l.settings.Port != 0:
			err = configuredPort(port).Because(err)
		case quicker && l.tries < projectMaxTries:
			l.tries++
			return s.launched(ctx, sc, f, l)
		}
		record.PID, record.ProcessID, record.Status, record.LastError = 0, "", sandbox.Failed, fault.From(err).Message
		return ProjectStarted{}, errors.Join(err, s.manager.Record(context.WithoutCancel(ctx), f, record))
	}
	record.Status, record.Version = sandbox.Running, version
	if err := s.manager.Record(ctx, f, record); err != nil {
		return ProjectStarted{}, err
	}
	out := s.answer(f, "success", "the project runs")
	out.Port, out.PID, out.Version, out.ServerURL, out.Exposed = port, started.PID, version, serverURL(l.settings.Host, port), exposed(l.settings.Host)
	state, err := s.gateway.Ensure(ctx, l.ensure)
	if out.GatewayPort = state.Gateway.Port; err != nil {
		out.Status, out.Message, out.GatewayError = "partial", "the project runs; the gateway does not", fault.From(err).Message
	}
	return out, nil
}

// port returns where the server listens: where it did before when that is free, the port that is configured, or the first free one from the
// deterministic one on. Nothing that uses a port already is ever ended (opencode contract §7).
func (s service) port(ctx context.Context, f FoundProject, settings sandboxport.Settings) (int, error) {
	if settings.Port != 0 {
		if !s.Sockets.Free(settings.Port) {
			return 0, configuredPort(settings.Port)
		}
		return settings.Port, nil
	}
	port := 0
	// It is written down before anybody listens there: servers that start at the same time have the same password, and could be taken for one another.
	_, err := s.States.Update(ctx, func(st *sandbox.State) (err error) {
		p, known := st.Projects[f.URL.String()]
		if !known {
			return sandbox.ErrProjectNotFound.Sayf("the project of %s was destroyed meanwhile", f.URL)
		}
		taken := map[int]bool{}
		for key, other := range st.Projects {
			taken[other.Server.Port] = taken[other.Server.Port] || key != f.URL.String()
		}
		if port = p.Server.Port; port == 0 || taken[port] || !s.Sockets.Free(port) {
			port, err = sandbox.ChoosePort(f.URL, func(port int) bool { return taken[port] }, s.Sockets.Free)
		}
		p.Server.Port = port
		st.Projects[f.URL.String()] = p
		return err
	})
	return port, err
}

func configuredPort(port int) *fault.Error {
	return sandbox.ErrPort.Sayf("OPENCODE_PORT says %d, which another program uses; change it in the project's .env, or end that program", port).With(map[string]int{"port": port})
}

// installed fails when there is no program to start.
func installed(s sandboxport.Settings) error {
	if s.Bin != "" {
		return nil
	}
	return sandbox.ErrNotInstalled.Sayf("the agent server's program is not installed (%s); npm install -g opencode-ai installs it, OPENCODE_BIN names another place. Sandboxes work without it", s.Missing)
}

// The server is asked so often.
const (
	eager          = 250 * time.Millisecond
	projectPatient = time.Second
	atFirst        = 5 * time.Second
	doubt          = 10 * time.Second
)

// await asks the server until it answers, ends, or the time is up. What answers may be another program, which was quicker at the port, and says that it
// is well to whoever asks: unless the server is seen to listen there, it is given the time to find the port taken.
func (s service) await(ctx context.Context, server sandbox.Server, settings sandboxport.Settings) (string, error) {
	limited, cancel := context.WithTimeout(ctx, sandbox.HealthTimeout)
	defer cancel()
	var at process.Cursor
	var answered time.Time
	for {
		version, err := s.Launcher.Healthy(limited, settings.Host, server.Port, settings.Password)
		if errors.Is(err, sandbox.ErrAuth) {
			return "", err
		}
		if err == nil {
			now := s.Clock.Now()
			if answered.IsZero() {
				answered = now
			}
			if s.Sockets.Serves(limited, server.PID, server.Port) || now.Sub(answered) > doubt {
				return version, nil
			}
			err = sandbox.ErrUnhealthy.Sayf("another program answers at port %d", server.Port)
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
			return "", sandbox.ErrStart.Sayf("the server ended before it answered; its last lines say why").With(map[string]string{"stderr": s.Tail(context.WithoutCancel(ctx), server.ProcessID, 20)})
		case ctx.Err() != nil:
			return "", ctx.Err()
		case limited.Err() != nil:
			return "", sandbox.ErrUnhealthy.Sayf("the server did not answer within %v: %s", sandbox.HealthTimeout, fault.From(err).Message).With(map[string]string{"stderr": s.Tail(context.WithoutCancel(ctx), server.ProcessID, 20)})
		}
	}
}
