package deployrig

import (
	"context"
	"os"

	"github.com/countersign-dev/countersign/adapters/deployfile"
	"github.com/countersign-dev/countersign/adapters/deployfile/configrepo"
	"github.com/countersign-dev/countersign/adapters/deployfile/observe"
	"github.com/countersign-dev/countersign/adapters/docedit"
	"github.com/countersign-dev/countersign/adapters/gitcli/confgit"
	"github.com/countersign-dev/countersign/app/deployments/planner"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/target"
	"github.com/countersign-dev/countersign/internal/testkit/clock"
)

// Wiring is what the adapters are put together with.
type Wiring struct {
	Env   map[string]string
	Dir   string // the working directory
	Index string // the file of the stat index; empty for none
	Clock *clock.Fake
	Step  func(step, path string) // of every operation of the machine; may be nil
}

// Wired is the adapters, put together as the product does.
type Wired struct {
	Files    *configrepo.Files
	Git      *confgit.Client
	Machine  *deployfile.Machine
	Compiler planner.Compiler
	Planner  planner.Planner
}

type sources struct {
	*configrepo.Files
	*confgit.Client
}

// Wire puts the adapters together.
func Wire(w Wiring) Wired {
	env := func(name string) string { return w.Env[name] }
	index := observe.OpenIndex(w.Index)
	out := Wired{Files: configrepo.NewFiles(index)}
	out.Git = confgit.New(confgit.Options{Tree: func(ctx context.Context, root, sub string) (deployment.Tree, error) {
		if sub == "" {
			sub = "."
		}
		return out.Files.Local(ctx, deployment.Place{Repo: root}, sub)
	}})
	scopes := map[string][]deployment.Scope{}
	for _, name := range target.TargetNames() {
		scopes[name] = target.TargetScopes(name)
	}
	out.Machine = deployfile.NewMachine(deployfile.Options{Index: index, Clock: w.Clock, Env: env, Step: w.Step})
	out.Compiler = planner.Compiler{Places: configrepo.NewPlaces(env, w.Dir), Configs: configrepo.NewConfigs(scopes), Sources: sources{out.Files, out.Git},
		Overlays: configrepo.NewOverlays(out.Files), Sep: os.PathSeparator,
		Machine: out.Machine, Documents: docedit.Documents{}, Judged: planner.NewJudgements()}
	out.Planner = planner.Planner{Machine: out.Machine, Snapshots: out.Machine, Registry: out.Machine, Documents: docedit.Documents{}, Sources: out.Compiler.Sources, Merger: out.Git}
	return out
}
