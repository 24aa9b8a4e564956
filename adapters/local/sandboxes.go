package local

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/countersign-dev/countersign/adapters/gitcli/worktree"
	"github.com/countersign-dev/countersign/adapters/isolation"
	"github.com/countersign-dev/countersign/adapters/opencode"
	"github.com/countersign-dev/countersign/adapters/osproc"
	"github.com/countersign-dev/countersign/adapters/sandboxfile"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/app/deployments/mcpclients"
	"github.com/countersign-dev/countersign/app/sandboxes"
	"github.com/countersign-dev/countersign/app/sandboxes/gateway"
	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/domain/tool"
)

// Sandboxes is how the gateway of agent servers is started, and what it does where this process is it.
type Sandboxes struct {
	Gateway []string // a program, absolute, with arguments before --port that make it serve the gateway; without it there is none
	Table   string   // path of the table of servers that is routed by; default the one that is kept
	// Isolate is a program, absolute, with arguments that make it call Isolate on the rest: it starts programs with Landlock. Without it there is no Landlock.
	Isolate []string
	// Ensure starts the stopped server with that ID for a routed call. Nil: calls to stopped servers are rejected.
	Ensure func(ctx context.Context, sc tool.Scope, id string) error
}

// maxServers bounds agent servers and gateways: as many as there are ports for.
const maxServers = 101

// sandboxHome returns the home directory that sandboxes' files are in.
func (l *Local) sandboxHome() string {
	if home := first(l.config.Projects.Home, l.config.Env("HOME")); home != "" {
		return home
	}
	home, _ := os.UserHomeDir() // without one, the files' paths are refused when they are needed
	return home
}

// sandboxes returns the toolset of projects keyed by git URL. It opens nothing.
func (l *Local) sandboxes(core app.Dependencies) []toolset {
	l.files = sync.OnceValue(func() *sandboxfile.Store {
		return sandboxfile.New(sandboxfile.Options{Home: l.sandboxHome(), Clock: core.Clock, Env: l.config.Env, Environ: os.Environ,
			Warn: func(text string) { l.config.Log.Warn(text) }})
	})
	l.servers = sync.OnceValue(func() *osproc.Processes {
		return osproc.New(osproc.Options{Dir: filepath.Join(l.config.Dir, "servers"), Clock: core.Clock, Redact: core.Redact, Judge: core.Owner.Judge,
			Supervisor: l.config.Projects.Supervisor, Background: maxServers})
	})
	l.projectManager = sync.OnceValue(func() sandboxes.ProjectManager { return sandboxes.ProjectManager{Deps: l.sandboxDeps(core)} })
	return []toolset{
		{name: sandboxes.Name, build: func() tool.Capability { return sandboxes.Capability(l.projectManager().Deps) }},
		{name: gateway.Name, build: l.routing},
	}
}

// sandboxDeps returns what the tools work with.
func (l *Local) sandboxDeps(core app.Dependencies) sandboxes.Deps {
	files, servers, git := l.files(), l.servers(), worktree.New(worktree.Options{})
	return sandboxes.Deps{
		States: files, Homes: files, Keys: files, Repos: git,
		Launcher: opencode.NewLauncher(opencode.LauncherOptions{Processes: servers}), Sockets: opencode.Sockets{}, Isolator: isolation.New(isolation.Options{Launcher: l.config.Sandboxes.Isolate}),
		Front:  opencode.GatewayProcess{Command: l.config.Sandboxes.Gateway, Table: files.TablePath(), Log: files.GatewayLog(), Env: l.places()},
		Models: sandboxfile.NewModels(l.sandboxHome(), l.config.Env), Processes: servers, Owner: core.Owner, Clock: core.Clock,
		Audit: core.Audit,
	}
}

// places returns where things are, for a process that gets none of this one's own variables.
func (l *Local) places() map[string]string {
	out := map[string]string{"COUNTERSIGN_HOME": l.config.Dir}
	for _, name := range []string{"MEMORY_PATH", "OPENCODE_PROJECTS_DIR", "OPENCODE_CONFIG"} {
		if value := l.config.Env(name); value != "" {
			out[name] = value
		}
	}
	return out
}

// routing returns the toolset of the gateway. What it routes to is in the table of servers.
func (l *Local) routing() tool.Capability {
	router := l.Router()
	return gateway.Capability(gateway.Deps{Router: router, Ensure: l.config.Sandboxes.Ensure, Used: l.serving})
}

// serving records that a server is in use until done is called.
func (l *Local) serving(ctx context.Context, id string) (done func()) {
	over := make(chan struct{})
	go func() {
		tick := time.NewTicker(sandboxes.UsageInterval)
		defer tick.Stop()
		for {
			l.projectManager().RecordUse(context.WithoutCancel(ctx), id) //nolint:errcheck // at worst a server is taken for idle a little early
			select {
			case <-over:
				return
			case <-tick.C:
			}
		}
	}()
	return sync.OnceFunc(func() { close(over) })
}

// Router reaches the agent servers of the table.
func (l *Local) Router() *opencode.Router {
	return opencode.NewRouter(opencode.RouterOptions{Table: first(l.config.Sandboxes.Table, l.files().TablePath()), Log: l.config.Log, Listens: l.projectManager().Listens, Secret: func(ctx context.Context, variable string) (string, error) {
		settings, err := l.files().Settings(ctx, "")
		if err != nil || variable != "OPENCODE_PASSWORD" {
			return "", err
		}
		return settings.Password, nil
	}})
}

// EvictServers stops agent servers that exceed the idle or size limits of the settings, and returns their projects.
func (l *Local) EvictServers(ctx context.Context) ([]string, error) {
	return l.projectManager().StopIdle(ctx)
}

// InitSandboxes writes the file of secrets that agent servers need, with random values, unless there is one. Only users do this: the secrets
// never travel through tools.
func (l *Local) InitSandboxes(ctx context.Context) (path string, created bool, err error) {
	return l.files().Init(ctx)
}

// GatewaySession returns the session of the gateway's callers who are let in to the server of that ID alone.
func GatewaySession(id string) string { return gateway.SessionWithin(id) }

// ServerOf returns the project, and the sandbox whose own server it is, that the gateway's table has under an ID.
func ServerOf(id string) (url, box string) { return sandbox.SplitServerID(id) }

// SandboxSecrets returns the password of agent servers and the token of their gateway: for no name those of all, else of the project of that URL, name or sandbox. Only
// users' own commands get them: they never travel through tools.
func (l *Local) SandboxSecrets(ctx context.Context, name string) (password, token string, err error) {
	settings, err := l.files().Settings(ctx, "")
	if err != nil || name == "" {
		return settings.Password, settings.GatewayToken, err
	}
	state, err := l.projectManager().Current(ctx)
	if err != nil {
		return "", "", err
	}
	p, box, err := named(state, name)
	if err != nil {
		return "", "", err
	}
	id, key := p.URL.String(), sandbox.SecretKey(p.CreatedAt)
	if password = settings.Password; box.Isolation != "" {
		id, key = sandbox.ServerID(id, box.Name), sandbox.SecretKey(box.CreatedAt)
		password = sandbox.ServerPassword(password, id, key)
	}
	return password, sandbox.GatewayToken(settings.GatewayToken, id, key), nil
}

// named returns a project by its URL or name, or with one of its sandboxes: by the sandbox name if it is unique, or as PROJECT/NAME.
func named(state sandbox.State, name string) (p sandbox.Project, box sandbox.Sandbox, err error) {
	var found []sandbox.Project
	for _, one := range sandbox.ProjectsByName(state) {
		project, inside, qualified := strings.Cut(name, "/")
		own, has := one.Sandboxes[sandbox.SandboxKey(name)]
		switch {
		case strings.EqualFold(one.Name, name) || one.URL.String() == name:
			return one, sandbox.Sandbox{}, nil
		case qualified && strings.EqualFold(one.Name, project):
			if own, has = one.Sandboxes[sandbox.SandboxKey(inside)]; has {
				return one, own, nil
			}
		case has:
			p, box, found = one, own, append(found, one)
		}
	}
	switch len(found) {
	case 0:
		return p, box, mcpclients.ErrServer.WithMessage("no project or sandbox has the name %q; run countersign sandbox list", name)
	case 1:
		return p, box, nil
	}
	return p, box, mcpclients.ErrServer.WithMessage("several projects have a sandbox %q; use PROJECT/%s", name, name)
}

// GatewayAccess returns how the gateway is reached by which the agent server of a project, or of a sandbox's project, is asked. Only tools for people use it.
func (l *Local) GatewayAccess(ctx context.Context, name string) (mcpclients.GatewayAccess, error) {
	state, err := l.projectManager().Current(ctx)
	if err != nil {
		return mcpclients.GatewayAccess{}, err
	}
	if _, _, err := named(state, name); err != nil {
		return mcpclients.GatewayAccess{}, err
	}
	if state.Gateway.Status != sandbox.Running {
		return mcpclients.GatewayAccess{}, mcpclients.ErrServer.WithMessage("the gateway is not running; run countersign sandbox start PROJECT")
	}
	_, token, err := l.SandboxSecrets(ctx, name)
	return mcpclients.GatewayAccess{URL: fmt.Sprintf("http://127.0.0.1:%d/mcp", state.Gateway.Port), Secret: token}, err
}

// Isolate confines this process as its arguments say, and has a program take its place. It is what Sandboxes.Isolate calls, and only returns with an error.
func Isolate(args []string) error { return isolation.Launch(args) }

// IsolatedCommand returns the command that runs argv in a sandbox, with the sandbox's isolation.
func (l *Local) IsolatedCommand(ctx context.Context, url, name, path string, argv []string) ([]string, error) {
	return l.projectManager().Isolated(ctx, url, name, path, argv)
}

// MigrateSandboxes brings files of an older form up to date; a dry run only says what it would do.
func (l *Local) MigrateSandboxes(ctx context.Context, dryRun bool) (any, error) {
	return l.files().Migrate(ctx, dryRun)
}
