package authoring

import (
	"context"
	"slices"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/app/deployments/planner"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/target"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports"
	"github.com/countersign-dev/countersign/ports/deployport"
)

// ConfigRepoDeps holds the dependencies of the use cases. All are required except Bootstrap.
type ConfigRepoDeps struct {
	Compiler  planner.Compiler
	Machine   deployport.Machine
	Remote    deployport.Remote
	Scanner   deployport.Scanner
	Differ    deployport.Differ
	Clock     ports.Clock
	Bootstrap BootstrapFunc
	Documents deployport.Documents
}

// BootstrapFunc plans the operator assets of a place, for init: what to write, and what to show of it.
type BootstrapFunc func(ctx context.Context, asked AssetRequest, at deployment.Locations) (writes []deployment.Write, data *BootstrapData, err error)

// AssetRequest selects operator assets. No targets are all that have assets.
type AssetRequest struct {
	Targets []string
	Scope   deployment.Scope
	DryRun  bool
}

// BootstrapData is the data of agents_bootstrap (agentpack contract §5.12), which init shows too.
type BootstrapData struct {
	Applied    bool                `json:"applied"`
	Changes    []deployment.Change `json:"changes"`
	Reason     string              `json:"reason,omitempty"`
	Scope      deployment.Scope    `json:"scope"`
	SnapshotID string              `json:"snapshot_id,omitempty"`
	Summary    deployment.Summary  `json:"summary"`
	Targets    []string            `json:"targets"`
}

// The typed handles of the tools.
var (
	Init      = tool.Ref[InitInput, planner.Report[InitData]]{Name: "agents_init"}
	Add       = tool.Ref[AddInput, planner.Report[ModuleData]]{Name: "agents_add"}
	AddFrom   = tool.Ref[AddFromInput, planner.Report[AddFromData]]{Name: "agents_add_from"}
	Skills    = tool.Ref[SkillsInput, planner.Report[SkillsData]]{Name: "agents_skills"}
	Check     = tool.Ref[planner.RepoInput, planner.Report[CheckData]]{Name: "agents_check"}
	Remove    = tool.Ref[RemoveInput, planner.Report[ModuleData]]{Name: "agents_remove"}
	Lock      = tool.Ref[planner.EditInput, planner.Report[LockData]]{Name: "agents_lock"}
	Fetch     = tool.Ref[planner.EditInput, planner.Report[FetchData]]{Name: "agents_fetch"}
	Update    = tool.Ref[UpdateInput, planner.Report[UpdateData]]{Name: "agents_update"}
	SetRemote = tool.Ref[RemoteInput, planner.Report[RemoteData]]{Name: "agents_remote_set"}
	Sync      = tool.Ref[SyncInput, planner.Report[SyncData]]{Name: "agents_sync"}
)

type service struct{ ConfigRepoDeps }

// ConfigRepoEntries returns the tools.
func ConfigRepoEntries(d ConfigRepoDeps) []tool.Entry {
	s := &service{d}
	writes := func(when string) planner.CommandOptions {
		return planner.CommandOptions{Class: policy.ClassWrite, When: when}
	}
	return slices.Concat([]tool.Entry{
		bind.Command(Init, planner.CommandSpec("Make a config repository",
			"Create the missing parts of a config repository: agentpack.yaml and first modules. Existing files stay as they are.", initSchema,
			writes("unless nothing is missing")), s.prepareInit, s.create),
		bind.Command(Add, planner.CommandSpec("Add a module", "Add a module to agentpack.yaml, from a path in the config repository or from git.", addSchema,
			writes("")), s.prepareAdd, s.writeModule),
		bind.Command(AddFrom, planner.CommandSpec("Add from a repository",
			"Add skills, or another module, from git, locked to a commit.",
			addFromSchema, writes("")), s.prepareAddFrom, s.addFrom),
		bind.Query(Skills, planner.QuerySpec("List a repository's skills", "List the skills of a git repository that can be added.", skillsSchema), s.listSkills),
		bind.Query(Check, planner.QuerySpec("Check for updates",
			"Show for every locked module whether its ref has a new commit, the manifest names another ref, or its files were edited.", repoSchema), s.check),
		bind.Command(Remove, planner.CommandSpec("Remove a module",
			"Take a module out of agentpack.yaml. Its files stay; the next deployment deletes what was deployed of it.", removeSchema,
			writes("")), s.prepareRemove, s.writeModule),
		bind.Command(Lock, planner.CommandSpec("Lock modules", "Resolve every enabled module to a commit and sums, and write agentpack.lock.json.", editSchema,
			writes("unless the lockfile says that already")), s.prepareLock, s.lock),
		bind.Command(Fetch, planner.CommandSpec("Fetch modules", "Fetch every locked git module into the cache and check it against the lockfile.", editSchema,
			writes("unless no module comes from git")), s.prepareFetch, s.fetch),
		bind.Command(Update, planner.CommandSpec("Lock and fetch", "Lock when there is no lockfile (or lock, or latest), then fetch.", updateSchema,
			writes("unless there is nothing to lock or fetch")), s.prepareUpdate, s.update),
		bind.Command(SetRemote, planner.CommandSpec("Set the remote",
			"Set the URL of a git remote of the config repository, making it a git repository if it is none.", remoteSchema,
			writes("")), s.prepareRemote, s.setRemote),
		bind.Command(Sync, planner.CommandSpec("Pull and push", "Pull the config repository's branch from its remote, then push it. Needs a clean work tree.", syncSchema,
			planner.CommandOptions{}), s.prepareSync, s.sync),
	}, importEntries(ImportDeps{Compiler: d.Compiler, Machine: d.Machine, Scanner: d.Scanner, Documents: d.Documents}))
}

// place returns the place of the call.
func (s *service) place(ctx context.Context, c planner.EditInput) (deployment.Locations, error) {
	return s.Compiler.Places.Resolve(ctx, c.Selection().Asked())
}

// in returns a slash path below dir as a native one.
func (s *service) in(dir, below string) string {
	return target.Paths{Sep: s.Compiler.Sep}.Join(dir, below)
}

// seen returns what is at paths.
func (s *service) seen(ctx context.Context, at deployment.Locations, paths ...string) (map[string]deployment.Seen, error) {
	o, err := s.Machine.Observe(ctx, deployport.Look{Place: at, Paths: paths})
	return o.Files, err
}

// write applies an edit and reports.
func write[T any](ctx context.Context, machine deployport.Machine, sc tool.Scope, e *planner.Edit[T]) (planner.Report[T], error) {
	if len(e.Writes) == 0 {
		return e.Report, nil
	}
	if _, err := machine.Apply(ctx, e.Transaction(), planner.ReportProgress(sc, e.Command)); err != nil {
		return planner.Report[T]{}, planner.WithWarnings(err, e.Report.Warnings)
	}
	return e.Report, nil
}

// writeModule writes the manifest.
func (s *service) writeModule(ctx context.Context, sc tool.Scope, e *planner.Edit[ModuleData]) (planner.Report[ModuleData], error) {
	return write(ctx, s.Machine, sc, e)
}
