package authoring

import (
	"context"
	"slices"

	"github.com/countersign-dev/countersign/app/deployments/planner"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/target"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports"
	"github.com/countersign-dev/countersign/ports/deployport"
)

// ConfigRepoDeps is what the use cases need. All of it is required, but Bootstrap.
type ConfigRepoDeps struct {
	Compiler  planner.Compiler
	Machine   deployport.Machine
	Remote    deployport.Remote
	Scanner   deployport.Scanner
	Clock     ports.Clock
	Bootstrap BootstrapFunc
}

// BootstrapFunc works out the operator assets of a place, for init: what to write, and what to show of it.
type BootstrapFunc func(ctx context.Context, c planner.Call, at deployment.Place) (writes []deployment.Write, data any, err error)

type service struct{ ConfigRepoDeps }

// ConfigRepoEntries is the tools.
func ConfigRepoEntries(d ConfigRepoDeps) []tool.Entry {
	s := &service{d}
	change := func(a planner.ToolInfo, class policy.Class, when string, prepare prepare, commit commit) tool.Entry {
		return planner.CommandEntry(a, planner.Command{NeedsYes: true, Class: class, When: when, Prepare: prepare, Commit: commit})
	}
	return slices.Concat([]tool.Entry{
		change(planner.ToolInfo{Name: "agents_init", Title: "Make a config repository",
			Description: "Make what is missing of a config repository: agentpack.yaml and first modules. Existing files stay as they are."},
			policy.ClassWrite, "unless nothing is missing", s.prepareInit, s.create),
		change(planner.ToolInfo{Name: "agents_add", Title: "Add a module",
			Description: "Add a module to agentpack.yaml, from a path in the config repository or from git."},
			policy.ClassWrite, "", s.prepareAdd, s.write),
		change(planner.ToolInfo{Name: "agents_remove", Title: "Remove a module",
			Description: "Take a module out of agentpack.yaml. Its files stay; the next deployment deletes what was deployed of it."},
			policy.ClassWrite, "", s.prepareRemove, s.write),
		change(planner.ToolInfo{Name: "agents_lock", Title: "Lock modules",
			Description: "Resolve every enabled module to a commit and sums, and write agentpack.lock.json."},
			policy.ClassWrite, "unless the lockfile says that already", s.prepareLock, s.lock),
		change(planner.ToolInfo{Name: "agents_fetch", Title: "Fetch modules",
			Description: "Fetch every locked git module into the cache and check it against the lockfile."},
			policy.ClassWrite, "unless no module comes from git", s.prepareFetch, s.fetch),
		planner.CommandEntry(planner.ToolInfo{Name: "agents_update", Title: "Lock and fetch",
			Description: "Lock when there is no lockfile (or lock, or latest), then fetch."},
			planner.Command{Class: policy.ClassWrite, When: "unless there is nothing to lock or fetch", Prepare: s.prepareUpdate, Commit: s.update}),
		change(planner.ToolInfo{Name: "agents_remote_set", Title: "Set the remote",
			Description: "Set the URL of a git remote of the config repository, making it a git repository if it is none."},
			policy.ClassWrite, "", s.prepareRemote, s.setRemote),
		change(planner.ToolInfo{Name: "agents_sync", Title: "Pull and push",
			Description: "Pull the config repository's branch from its remote, then push it. Needs a clean work tree."},
			policy.ClassDangerous, "", s.prepareSync, s.sync),
	}, importEntries(ImportDeps{Compiler: d.Compiler, Machine: d.Machine, Scanner: d.Scanner}))
}

type (
	prepare = func(ctx context.Context, sc tool.Scope, c planner.Call) (tool.Plan, error)
	commit  = func(ctx context.Context, sc tool.Scope, c planner.Call, p tool.Plan) (any, error)
)

// place is where the call works.
func (s *service) place(ctx context.Context, c planner.Call) (deployment.Place, error) {
	return s.Compiler.Places.Resolve(ctx, c.Asked())
}

// in is a slash path below dir as a native one.
func (s *service) in(dir, below string) string {
	return target.Paths{Sep: s.Compiler.Sep}.Join(dir, below)
}

// seen is what stands at paths.
func (s *service) seen(ctx context.Context, at deployment.Place, paths ...string) (map[string]deployment.Seen, error) {
	o, err := s.Machine.Observe(ctx, deployport.Look{Place: at, Paths: paths})
	return o.Files, err
}

// write carries an edit out and reports.
func (s *service) write(ctx context.Context, sc tool.Scope, _ planner.Call, p tool.Plan) (any, error) {
	e := p.(*planner.Edit)
	if err := s.apply(ctx, sc, e); err != nil {
		return nil, err
	}
	return e.Report, nil
}

func (s *service) apply(ctx context.Context, sc tool.Scope, e *planner.Edit) error {
	if len(e.Writes) == 0 {
		return nil
	}
	if _, err := s.Machine.Apply(ctx, e.Transaction(), planner.ReportProgress(sc, e.Command)); err != nil {
		return planner.WithWarnings(err, e.Report.Warnings)
	}
	return nil
}

func report(data any, warnings ...string) planner.Report {
	return planner.Report{Data: data, Warnings: planner.UniqueWarnings(warnings)}
}
