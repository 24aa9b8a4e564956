package local

import (
	"context"
	"os"
	"path/filepath"
	"sync"

	"github.com/countersign-dev/countersign/adapters/deployfile"
	"github.com/countersign-dev/countersign/adapters/deployfile/configrepo"
	"github.com/countersign-dev/countersign/adapters/deployfile/observe"
	"github.com/countersign-dev/countersign/adapters/docedit"
	"github.com/countersign-dev/countersign/adapters/gitcli/confgit"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/app/deployments"
	"github.com/countersign-dev/countersign/app/deployments/authoring"
	"github.com/countersign-dev/countersign/app/deployments/planner"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// Deployments is where deployments work. Its zero value takes everything from the environment (agentpack contract §1.2).
type Deployments struct {
	Dir     string // stands for the working directory; the project is looked for from here
	Offline bool   // fetch nothing; also AGENTPACK_OFFLINE
}

// deployments is the toolsets about deployments, over files and git of this machine. It opens nothing.
func (l *Local) deployments(core app.Dependencies) []toolset {
	parts := sync.OnceValue(func() deploymentParts { return l.deploymentParts(core) })
	return []toolset{
		{name: deployments.Name, build: func() tool.Capability {
			c := deployments.Capability(parts().deps)
			c.Entries = append(c.Entries, ConnectTools(ConnectToolsOptions{Home: l.config.Dir, Dir: l.config.Deployments.Dir, Env: l.config.Env, Clock: core.Clock, Audit: core.Audit,
				Admission: l.Admission(), Gateway: l.GatewayAccess, Default: l.config.Toolsets, Policy: func(ctx context.Context) (policy.Resolved, error) { return l.PolicyInForce(ctx) }})...)
			return c
		}},
		{name: deployments.AuthoringName, build: func() tool.Capability { return parts().authoring() }},
	}
}

// deploymentParts is what the tools about deployments work with.
type deploymentParts struct {
	deps    deployments.Deps
	git     *confgit.Client
	files   *configrepo.Files
	machine *deployfile.Machine
}

func (l *Local) deploymentParts(core app.Dependencies) deploymentParts {
	c, env := l.config.Deployments, l.config.Env
	index := observe.OpenIndex(filepath.Join(l.config.Dir, "cache", "deployments.idx"))
	l.atClose = append(l.atClose, index.Save)
	files := configrepo.NewFiles(index)
	git := confgit.New(confgit.Options{Tree: func(ctx context.Context, root, sub string) (deployment.Tree, error) {
		return files.Local(ctx, deployment.Locations{Repo: root}, first(sub, "."))
	}})
	machine := deployfile.NewMachine(deployfile.Options{Index: index, Clock: core.Clock, Env: env, Operations: journals{core.Audit, core.Clock}})
	compile := planner.Compiler{
		Places: configrepo.NewPlaces(env, c.Dir), Configs: NewConfigs(index), Sources: Sources{Files: files, Repositories: git}, Overlays: configrepo.NewOverlays(files),
		Offline: c.Offline || truthy(env("AGENTPACK_OFFLINE")), Sep: os.PathSeparator, Machine: machine, Documents: docedit.Documents{},
		Judged: planner.NewJudgements(),
	}
	plans := planner.Planner{Machine: machine, Snapshots: machine, Registry: machine, Documents: docedit.Documents{}, Sources: compile.Sources, Merger: git}
	return deploymentParts{git: git, files: files, machine: machine, deps: deployments.Deps{Compiler: compile, Planner: plans, Recovery: machine,
		Differ: docedit.Differ{}, History: git, Remote: git, Clock: core.Clock, Version: l.config.Options.Version}}
}

// authoring is the toolset that looks after the config repository itself.
func (p deploymentParts) authoring() tool.Capability {
	compile, machine, git, clock := p.deps.Compiler, p.machine, p.git, p.deps.Clock
	boot := deployments.BootstrapDeps{Compiler: compile, Machine: machine, Snapshots: machine, Registry: machine, Version: p.deps.Version}
	rules := configrepo.NewPolicyReader()
	return deployments.AuthoringCapability(
		authoring.ConfigRepoEntries(authoring.ConfigRepoDeps{Compiler: compile, Machine: machine, Remote: git, Scanner: configrepo.NewScanner(p.files), Differ: docedit.Differ{}, Clock: clock,
			Bootstrap: deployments.InitialAssets(boot), Documents: docedit.Documents{}}),
		deployments.MaintenanceEntries(deployments.MaintenanceDeps{Compiler: compile, Machine: machine, Snapshots: machine, Recovery: machine, Registry: machine, Events: configrepo.NewEvents(),
			Clock: clock, Doctor: deployments.DoctorQuery(p.deps)}),
		authoring.OverlayEntries(authoring.OverlayDeps{Compiler: compile, Machine: machine, History: git, Merger: git, Differ: docedit.Differ{}, Clock: clock}),
		deployments.UneditedEntries(p.deps),
		deployments.BootstrapEntries(boot),
		authoring.PolicyEntries(authoring.PolicyDeps{Compiler: compile, Machine: machine, History: git, Ancestry: git, Orgs: rules, Lister: rules}),
	)
}
