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
	Audit *Audit                  // what knows which records operations wrote; nil: every record is believed
}

// Audit knows the journals and records of homes, as the audit of a Countersign home does.
type Audit struct{ begun, kept map[string][]string }

// NewAudit is one that knows nothing yet.
func NewAudit() *Audit { return &Audit{begun: map[string][]string{}, kept: map[string][]string{}} }

// Begin implements deployfile.Operations.
func (a *Audit) Begin(_ context.Context, home string, journal []byte) error {
	a.begun[home] = append(a.begun[home], string(journal))
	return nil
}

// Known implements deployfile.Operations.
func (a *Audit) Known(_ context.Context, home string, journal []byte) (bool, error) {
	all := a.begun[home]
	return len(all) > 0 && all[len(all)-1] == string(journal), nil
}

// End implements deployfile.Operations.
func (a *Audit) End(_ context.Context, home string, _ []byte) error {
	a.begun[home] = nil
	return nil
}

// Keep implements deployfile.Operations.
func (a *Audit) Keep(_ context.Context, home string, sums []byte) error {
	a.kept[home] = append(a.kept[home], string(sums))
	return nil
}

// Kept implements deployfile.Operations.
func (a *Audit) Kept(_ context.Context, home string, sums []byte) (last, before bool, err error) {
	all := a.kept[home]
	for i := 1; i <= min(2, len(all)); i++ {
		if all[len(all)-i] == string(sums) {
			return i == 1, true, nil
		}
	}
	return false, false, nil
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
		return out.Files.Local(ctx, deployment.Locations{Repo: root}, sub)
	}})
	scopes := map[string][]deployment.Scope{}
	for _, name := range target.TargetNames() {
		scopes[name] = target.TargetScopes(name)
	}
	options := deployfile.Options{Index: index, Clock: w.Clock, Env: env, Step: w.Step}
	if w.Audit != nil {
		options.Operations = w.Audit
	}
	out.Machine = deployfile.NewMachine(options)
	out.Compiler = planner.Compiler{Places: configrepo.NewPlaces(env, w.Dir), Configs: configrepo.NewConfigs(scopes), Sources: sources{out.Files, out.Git},
		Overlays: configrepo.NewOverlays(out.Files), Sep: os.PathSeparator,
		Machine: out.Machine, Documents: docedit.Documents{}, Judged: planner.NewJudgements()}
	out.Planner = planner.Planner{Machine: out.Machine, Snapshots: out.Machine, Registry: out.Machine, Documents: docedit.Documents{}, Sources: out.Compiler.Sources, Merger: out.Git}
	return out
}
