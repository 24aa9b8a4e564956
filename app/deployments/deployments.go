package deployments

import (
	"context"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/app/deployments/planner"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports"
	"github.com/countersign-dev/countersign/ports/deployport"
)

// Name is the toolset's.
const Name = "deployments"

// Contract is how its answers look.
const Contract tool.Contract = "agentpack.v1"

// TokenTTL is how long a deployment's token is good (seed 000: at most ten minutes).
const TokenTTL = 10 * time.Minute

// The typed handles of the tools.
var (
	Plan          = tool.Ref[Arguments, planner.Report]{Name: "plan"}
	Diff          = tool.Ref[Arguments, planner.Report]{Name: "diff"}
	Preview       = tool.Ref[Arguments, planner.Report]{Name: "preview"}
	Status        = tool.Ref[Arguments, planner.Report]{Name: "status"}
	Doctor        = tool.Ref[Arguments, planner.Report]{Name: "doctor"}
	Deploy        = tool.Ref[Arguments, planner.Report]{Name: "deploy"}
	DeployApply   = tool.Ref[Arguments, planner.Report]{Name: "deploy_apply"}
	Rollback      = tool.Ref[Arguments, planner.Report]{Name: "rollback"}
	EvolvePropose = tool.Ref[Arguments, planner.Report]{Name: "evolve_propose"}
	EvolveRestore = tool.Ref[Arguments, planner.Report]{Name: "evolve_restore"}
	Explain       = tool.Ref[Arguments, planner.Report]{Name: "explain"}
)

// Arguments is what any of the tools takes; each takes the fields its schema lists. Absent fields have the schema's defaults.
type Arguments struct {
	Repo     string   `json:"repo,omitempty"`
	Profile  string   `json:"profile,omitempty"`
	Target   string   `json:"target,omitempty"`
	Machine  string   `json:"machine,omitempty"`
	DryRun   bool     `json:"dry_run,omitempty"`
	Diff     bool     `json:"diff,omitempty"`
	Only     []string `json:"only,omitempty"`
	Adopt    bool     `json:"adopt,omitempty"`
	Yes      bool     `json:"yes,omitempty"`
	To       string   `json:"to,omitempty"`
	ModuleID string   `json:"module_id,omitempty"`
	Scope    string   `json:"scope,omitempty"`
	Branch   string   `json:"branch,omitempty"`
	Kind     string   `json:"kind,omitempty"`
}

// Deps is what the use cases need. All of it is required, but Version.
type Deps struct {
	Compiler planner.Compiler
	Planner  planner.Planner
	Recovery deployport.Recovery
	Differ   deployport.Differ
	History  deployport.History
	Remote   deployport.Remote
	Clock    ports.Clock
	Version  string // of the product: operator assets carry it
}

type service struct{ Deps }

// unlessAlike is when nobody is asked about what would change nothing.
const unlessAlike = "unless nothing would change"

// Capability is the toolset.
func Capability(d Deps) tool.Capability {
	s := &service{d}
	about := func(name tool.Name, title, description, schema string) planner.ToolInfo {
		return planner.ToolInfo{Name: name, Title: title, Description: description, Input: schema}
	}
	return tool.Capability{Name: Name, Contract: Contract, Mode: policy.Execute, Placed: true, Entries: []tool.Entry{
		planner.QueryEntry(about("plan", "Plan a deployment", "Show which agent configuration files a deployment would create, update or delete. Changes nothing.", planSchema), s.plan),
		planner.QueryEntry(about("diff", "Diff a deployment", "Show the same changes as plan, for comparing desired and deployed agent configuration.", planSchema), s.plan),
		planner.QueryEntry(about("preview", "Preview a deployment", "Show a deployment's changes and, with diff, a unified diff of every file.", previewSchema), s.preview),
		planner.QueryEntry(about("status", "Show drift",
			"Show deployed agent configuration files that are missing, modified, extra or not deployed yet, and what to do next.", statusSchema), s.status),
		planner.QueryEntry(about("doctor", "Check the set-up", "Check the config repository and every directory it deploys to, without writing.", doctorSchema), s.doctor),
		planner.QueryEntry(about("deploy", "Prepare a deployment",
			"Plan a deployment and get the confirm_token that deploy_apply needs, good for 10 minutes and for exactly this plan.", planSchema), s.deploy),
		planner.CommandEntry(about("deploy_apply", "Apply",
			"Apply exactly the plan that deploy showed.", deployApplySchema),
			planner.Command{NeedsYes: true, Issuer: "deploy", When: unlessAlike, Prepare: s.prepareApply, Commit: s.apply}),
		planner.CommandEntry(about("rollback", "Roll back", "Put deployed files back as a snapshot had them; \"initial\" is the state before the first deployment. "+
			"Edits made since are kept in a new snapshot.", rollbackSchema),
			planner.Command{NeedsYes: true, When: unlessAlike, Prepare: s.prepareRollback, Commit: s.rollback}),
		planner.CommandEntry(about("evolve_propose", "Propose drift",
			"Propose drift as overlay edits on a new git branch.", evolveProposeSchema),
			planner.Command{When: "unless there is nothing to propose", Prepare: s.preparePropose, Commit: s.propose}),
		planner.CommandEntry(about("evolve_restore", "Restore missing files", "Create deployed files that are missing, and touch nothing else.", evolveRestoreSchema),
			planner.Command{When: "unless nothing is missing", Prepare: s.prepareRestore, Commit: s.restore}),
		planner.QueryEntry(about("explain", "Explain a plan", "Say which module and which overlay layer every changed or drifted file comes from.", explainSchema), s.explain),
	}}
}

// AuthoringName is the name of the toolset that looks after the config repository itself. It is for people, who reach it on the command line;
// a server serves it only where it is asked for.
const AuthoringName = "authoring"

// AuthoringCapability is the toolset of entries that packages beside this one make (authoring, keeping, layering, bootstrapping, governing).
func AuthoringCapability(entries ...[]tool.Entry) tool.Capability {
	return tool.Capability{Name: AuthoringName, Contract: Contract, Mode: policy.Execute, Placed: true, Entries: slices.Concat(entries...)}
}

// DoctorQuery is the tool doctor as a use case, for doctor_fix, which answers as it does.
func DoctorQuery(d Deps) planner.Query { return (&service{d}).doctor }

// request is what a call asks the compiler for.
func request(c planner.Call) planner.Request {
	return planner.Request{Asked: c.Asked(), Profile: c.Profile, Target: c.Target}
}

// look compiles and plans; what was warned of before a failure comes back in its details.
func (s *service) look(ctx context.Context, c planner.Call) (planner.State, planner.Result, error) {
	return s.with(ctx, c, s.Planner.Deploy)
}

// with compiles and has the planner do something with that.
func (s *service) with(ctx context.Context, c planner.Call, do func(context.Context, planner.State) (planner.Result, error)) (planner.State, planner.Result, error) {
	state, err := s.Compiler.Compile(ctx, request(c))
	if err != nil {
		return state, planner.Result{}, planner.WithWarnings(err, state.Warnings)
	}
	result, err := do(ctx, state)
	result.Warnings = planner.UniqueWarnings(state.Warnings, result.Warnings, s.interrupted(ctx, state))
	if err != nil {
		return state, result, planner.WithWarnings(err, result.Warnings)
	}
	return state, result, nil
}

// interrupted warns of an operation that was begun and never finished.
func (s *service) interrupted(ctx context.Context, state planner.State) []string {
	pending, err := s.Recovery.Pending(ctx, state.Place.Home)
	if err != nil || pending == nil { // what cannot be read is said by whoever has to write
		return nil
	}
	return []string{"an earlier " + string(pending.Kind) + " was interrupted: countersign agents recover --resume finishes it, --undo takes it back; nothing can be applied before"}
}
