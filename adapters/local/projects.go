package local

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/adapters/gitcli/workgit"
	"github.com/countersign-dev/countersign/adapters/osproc"
	"github.com/countersign-dev/countersign/adapters/projectfile"
	"github.com/countersign-dev/countersign/adapters/sqlitestore"
	"github.com/countersign-dev/countersign/adapters/system"
	"github.com/countersign-dev/countersign/adapters/webhookhttp"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/app/projects"
	"github.com/countersign-dev/countersign/app/projects/gitwork"
	"github.com/countersign-dev/countersign/app/projects/runner"
	"github.com/countersign-dev/countersign/app/projects/workflows"
	"github.com/countersign-dev/countersign/domain/process"
	"github.com/countersign-dev/countersign/domain/tool"
)

// Projects is where projects' programs are kept track of, and how they are started.
type Projects struct {
	Home string // the home directory; default the operating system's
	// Supervisor is a program, absolute, with arguments that make it call Supervise: it runs what goes on in the background. Without
	// one nothing can be started in the background.
	Supervisor []string
}

// Supervise runs the supervisor of a background process, with the input that it was started with: it starts the process and stays with it to its end,
// even if the process that started it ends first. An error has already been reported to the process that started it.
func Supervise() error { return osproc.Supervise(os.Stdin, osproc.Options{}) }

// projects returns the toolsets about projects. It opens nothing.
func (l *Local) projects(core app.Dependencies) []toolset {
	l.processes = sync.OnceValue(func() *osproc.Processes {
		return osproc.New(osproc.Options{Dir: filepath.Join(l.config.Dir, "processes"), Clock: core.Clock, Redact: core.Redact, Judge: core.Owner.Judge,
			Supervisor: l.config.Projects.Supervisor})
	})
	tools := sync.OnceValue(func() projectTools { return l.projectTools(core) })
	return []toolset{
		{name: projects.Name, build: func() tool.Capability { return projects.Capability(tools().agents) }},
		{name: gitwork.Name, build: func() tool.Capability { return gitwork.Capability(tools().git, l.named(gitwork.Name)) }},
		{name: projects.WorkbenchName, way: "the command line, only for the user", build: func() tool.Capability { return projects.WorkbenchCapability(tools().people) }},
	}
}

// projectTools is what the tools about projects work with: those of agents, and those of users.
type projectTools struct {
	agents projects.Deps
	people projects.AdminDeps
	git    gitwork.Deps
}

// named reports whether the server configuration names a toolset or one of its tools: some toolsets are enabled for agents only then, but always for
// users.
func (l *Local) named(toolset string) bool {
	return slices.Contains(l.config.Options.Serve.Toolsets, toolset) || slices.ContainsFunc(l.config.Options.Serve.Tools, func(name string) bool { return strings.HasPrefix(name, toolset+"_") })
}

func (l *Local) projectTools(core app.Dependencies) projectTools {
	catalogue := sqlitestore.NewCatalogue(l.store)
	home := first(l.config.Projects.Home, l.config.Env("HOME"))
	dirs := projectfile.New(projectfile.Options{Home: home, Own: []string{l.config.Dir}, Env: os.Environ})
	git := gitcli.New(gitcli.Options{})
	finder := runner.SiteFinder{Projects: catalogue.Projects, Dirs: dirs, Git: git}
	ids := system.IDs{}
	hooks := webhookhttp.NewClient(webhookhttp.ClientOptions{})
	mask := func(doc json.RawMessage) json.RawMessage {
		masked, _, err := core.Redact().JSON(doc)
		if err != nil {
			return json.RawMessage(`null`)
		}
		return masked
	}
	runner := runner.Runner{Dirs: dirs, Parser: projectfile.Parser{}, Processes: l.processes(), Mask: mask,
		Code: projectfile.Reader{Parser: projectfile.Parser{}, Home: home}}
	steps := workflows.Engine{Runner: runner, Executions: catalogue.Executions, Clock: core.Clock, Owner: core.Owner, Mask: mask}
	return projectTools{
		agents: projects.Deps{
			Browsing:  projects.InfoDeps{Sites: finder, Workflows: catalogue.Workflows},
			Scripting: projects.ScriptDeps{Sites: finder, Runner: runner, Probes: webhookhttp.Probe{}},
			Flows: workflows.Deps{Sites: finder, Workflows: catalogue.Workflows, Templates: catalogue.Templates, Executions: catalogue.Executions,
				Engine: steps, Webhooks: hooks, Clock: core.Clock, UUIDs: ids},
			Acting: projects.ActionDeps{Sites: finder, Actions: catalogue.Actions, Rules: catalogue.Rules, Executions: catalogue.Executions,
				Webhooks: hooks, Runner: runner, Runs: core.Runs, Owner: core.Owner, Clock: core.Clock, UUIDs: ids, Mask: mask},
		},
		people: projects.AdminDeps{Sites: finder, Workflows: catalogue.Workflows, Actions: catalogue.Actions, Rules: catalogue.Rules,
			Templates: catalogue.Templates, Parser: projectfile.Parser{}, Clock: core.Clock, UUIDs: ids},
		git: gitwork.Deps{Sites: finder, Trees: workgit.Client{}},
	}
}

// Recover ends the processes that ended Countersign processes left running, and marks them lost. It is fast if there are none; servers call it when
// they start.
func (l *Local) Recover(ctx context.Context) ([]process.State, error) {
	ended, err := l.processes().Recover(ctx)
	servers, other := l.servers().Recover(ctx)
	return append(ended, servers...), errors.Join(err, other, l.ecosystem().Recover(ctx))
}
