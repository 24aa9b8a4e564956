package local

import (
	"context"
	"os"
	"path/filepath"
	"sync"

	"github.com/countersign-dev/countersign/adapters/deployfile"
	"github.com/countersign-dev/countersign/adapters/deployfile/configrepo"
	"github.com/countersign-dev/countersign/adapters/deployfile/org"
	"github.com/countersign-dev/countersign/adapters/deployfile/place"
	"github.com/countersign-dev/countersign/adapters/deployfile/scan"
	"github.com/countersign-dev/countersign/adapters/deployfile/statindex"
	"github.com/countersign-dev/countersign/adapters/docedit"
	"github.com/countersign-dev/countersign/adapters/gitcli/confgit"
	"github.com/countersign-dev/countersign/adapters/textdiff"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/app/deployments"
	"github.com/countersign-dev/countersign/app/deployments/authoring"
	"github.com/countersign-dev/countersign/app/deployments/bootstrapping"
	"github.com/countersign-dev/countersign/app/deployments/compiler"
	"github.com/countersign-dev/countersign/app/deployments/governing"
	"github.com/countersign-dev/countersign/app/deployments/keeping"
	"github.com/countersign-dev/countersign/app/deployments/layering"
	"github.com/countersign-dev/countersign/app/deployments/planner"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/plan"
	"github.com/countersign-dev/countersign/domain/deployment/target"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports/deployport"
)

// Deployments is where deployments work. Its zero value takes everything from the environment (agentpack contract §1.2).
type Deployments struct {
	Dir     string // stands for the working directory; the project is looked for from here
	Offline bool   // fetch nothing; also AGENTPACK_OFFLINE
}

// sources are modules' files: those of the repository itself, and those of git.
type sources struct {
	*configrepo.Files
	git *confgit.Client
}

func (s sources) Git(ctx context.Context, at deployment.Place, g deployment.ResolvedGit, offline bool) (deployment.Tree, error) {
	return s.git.Git(ctx, at, g, offline)
}

func (s sources) Resolve(ctx context.Context, g deployment.GitSource) (string, error) {
	return s.git.Resolve(ctx, g)
}

func (s sources) Discard(ctx context.Context, at deployment.Place, g deployment.ResolvedGit) error {
	return s.git.Discard(ctx, at, g)
}

// configs makes the tables of targets when the first manifest is read, and has what is remembered of files read in meanwhile: whoever
// loads a manifest asks for its modules next.
type configs struct {
	made  func() *configrepo.Configs
	index *statindex.Index
}

func newConfigs(index *statindex.Index) configs {
	return configs{index: index, made: sync.OnceValue(func() *configrepo.Configs {
		scopes := map[string][]deployment.Scope{}
		for _, name := range target.Names() {
			scopes[name] = target.Scopes(name)
		}
		return configrepo.NewConfigs(scopes)
	})}
}

func (c configs) Load(ctx context.Context, repo string) (deployport.Config, error) {
	go c.index.Load()
	return c.made().Load(ctx, repo)
}

func (c configs) Edit(ctx context.Context, repo string, edits ...deployport.ManifestEdit) (plan.Write, error) {
	return c.made().Edit(ctx, repo, edits...)
}

func (c configs) EncodeLock(l deployment.Lock) ([]byte, error) { return c.made().EncodeLock(l) }

func (c configs) Frontmatter(doc []byte) (fields map[string]any, found bool, err error) {
	return c.made().Frontmatter(doc)
}

// deployments is the toolsets about deployments, over files and git of this machine. It opens nothing.
func (l *Local) deployments(core app.Core) []toolset {
	parts := sync.OnceValue(func() deploymentParts { return l.deploymentParts(core) })
	return []toolset{
		{name: deployments.Name, build: func() tool.Capability { return deployments.Capability(parts().deps) }},
		{name: deployments.Authoring, build: func() tool.Capability { return parts().authoring() }},
	}
}

// deploymentParts is what the tools about deployments work with.
type deploymentParts struct {
	deps    deployments.Deps
	git     *confgit.Client
	files   *configrepo.Files
	machine *deployfile.Machine
}

func (l *Local) deploymentParts(core app.Core) deploymentParts {
	c, env := l.config.Deployments, l.config.Env
	index := statindex.Open(filepath.Join(l.config.Dir, "cache", "deployments.idx"))
	l.atClose = append(l.atClose, index.Save)
	files := configrepo.NewFiles(index)
	git := confgit.New(confgit.Options{Tree: func(ctx context.Context, root, sub string) (deployment.Tree, error) {
		return files.Local(ctx, deployment.Place{Repo: root}, first(sub, "."))
	}})
	machine := deployfile.New(deployfile.Options{Index: index, Clock: core.Clock, Env: env})
	compile := compiler.Compiler{
		Places: place.New(env, c.Dir), Configs: newConfigs(index), Sources: sources{files, git}, Overlays: configrepo.NewOverlays(files),
		Offline: c.Offline || truthy(env("AGENTPACK_OFFLINE")), Sep: os.PathSeparator,
	}
	plans := planner.Planner{Machine: machine, Snapshots: machine, Registry: machine, Documents: docedit.Documents{}}
	return deploymentParts{git: git, files: files, machine: machine, deps: deployments.Deps{Compiler: compile, Planner: plans, Recovery: machine,
		Differ: textdiff.Differ{}, History: git, Remote: git, Clock: core.Clock, Version: l.config.Options.Version}}
}

// authoring is the toolset that looks after the config repository itself.
func (p deploymentParts) authoring() tool.Capability {
	compile, machine, git, clock := p.deps.Compiler, p.machine, p.git, p.deps.Clock
	boot := bootstrapping.Deps{Compiler: compile, Machine: machine, Snapshots: machine, Version: p.deps.Version}
	rules := org.New()
	return deployments.AuthoringCapability(
		authoring.Entries(authoring.Deps{Compiler: compile, Machine: machine, Remote: git, Scanner: scan.New(p.files), Clock: clock,
			Bootstrap: bootstrapping.Starting(boot)}),
		keeping.Entries(keeping.Deps{Compiler: compile, Machine: machine, Snapshots: machine, Recovery: machine, Events: configrepo.NewEvents(),
			Clock: clock, Doctor: deployments.DoctorQuery(p.deps)}),
		layering.Entries(layering.Deps{Compiler: compile, Machine: machine, History: git, Merger: git, Differ: textdiff.Differ{}, Clock: clock}),
		bootstrapping.Entries(boot),
		governing.Entries(governing.Deps{Compiler: compile, Machine: machine, History: git, Ancestry: git, Orgs: rules, Lister: rules}),
	)
}
