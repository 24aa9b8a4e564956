package deployments

import (
	"context"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/app/deployments/planner"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports"
	"github.com/countersign-dev/countersign/ports/deployport"
)

// Name is the toolset's.
const Name = "deployments"

// Contract is the contract of its results.
const Contract tool.Contract = "agentpack.v1"

// TokenTTL is the lifetime of a deployment's token (seed 000: at most ten minutes).
const TokenTTL = 10 * time.Minute

// The typed handles of the tools.
var (
	Plan          = tool.Ref[PlanInput, planner.Report[ChangesData]]{Name: "plan"}
	Diff          = tool.Ref[PlanInput, planner.Report[ChangesData]]{Name: "diff"}
	Preview       = tool.Ref[PreviewInput, planner.Report[PreviewData]]{Name: "preview"}
	Status        = tool.Ref[StatusInput, planner.Report[StatusData]]{Name: "status"}
	Doctor        = tool.Ref[DoctorInput, planner.Report[DoctorData]]{Name: "doctor"}
	Deploy        = tool.Ref[PlanInput, DeployOffer]{Name: "deploy"}
	DeployApply   = tool.Ref[ApplyInput, planner.Report[ChangesData]]{Name: "deploy_apply"}
	Rollback      = tool.Ref[RollbackInput, planner.Report[RollbackData]]{Name: "rollback"}
	EvolvePropose = tool.Ref[ProposeInput, planner.Report[ProposeData]]{Name: "evolve_propose"}
	EvolveRestore = tool.Ref[RestoreInput, planner.Report[RestoreData]]{Name: "evolve_restore"}
	Explain       = tool.Ref[ExplainInput, planner.Report[ExplainData]]{Name: "explain"}
)

// Deps holds the dependencies of the use cases. All except Version are required.
type Deps struct {
	Compiler planner.Compiler
	Planner  planner.Planner
	Recovery deployport.Recovery
	Differ   deployport.Differ
	History  deployport.History
	Remote   deployport.Remote
	Clock    ports.Clock
	Version  string // of the product: written into operator assets
}

type service struct{ Deps }

// unlessAlike says when no approval is needed.
const unlessAlike = "unless nothing would change"

// Capability returns the toolset.
func Capability(d Deps) tool.Capability {
	s := &service{d}
	return tool.Capability{Name: Name, Contract: Contract, Mode: policy.Execute, UsesWorkingDir: true, Entries: []tool.Entry{
		bind.Query(Plan, planner.QuerySpec("Plan a deployment", "Show which agent configuration files a deployment would create, update or delete. Changes nothing.", planSchema), s.plan),
		bind.Query(Diff, planner.QuerySpec("Diff a deployment", "Show the same changes as plan, for comparing desired and deployed agent configuration.", planSchema), s.plan),
		bind.Query(Preview, planner.QuerySpec("Preview a deployment", "Show a deployment's changes and, with diff, a unified diff of every file.", previewSchema), s.preview),
		bind.Query(Status, planner.QuerySpec("Show drift",
			"Show deployed agent configuration files that are not up to date: changed upstream, edited here, both (conflict), missing or not deployed yet.", statusSchema), s.status),
		bind.Query(Doctor, planner.QuerySpec("Check the set-up", "Check the config repository and every directory it deploys to, without writing.", doctorSchema), s.doctor),
		bind.Query(Deploy, planner.QuerySpec("Prepare a deployment",
			"Plan a deployment and get the confirm_token that deploy_apply needs, valid for 10 minutes and for exactly this plan.", planSchema), s.deploy),
		bind.Command(DeployApply, planner.CommandSpec("Apply", "Apply exactly the plan that deploy showed.", deployApplySchema,
			planner.CommandOptions{Issuer: Deploy.Name, When: unlessAlike}), s.prepareApply, s.apply),
		bind.Command(Rollback, planner.CommandSpec("Roll back", "Put deployed files back as a snapshot had them; \"initial\" is the state before the first deployment. "+
			"Edits made since are kept in a new snapshot.", rollbackSchema, planner.CommandOptions{When: unlessAlike}), s.prepareRollback, s.rollback),
		bind.Command(EvolvePropose, planner.CommandSpec("Propose edits", "Propose edits of deployed files as overlay edits on a new git branch.", evolveProposeSchema,
			planner.CommandOptions{When: "unless there is nothing to propose"}), s.preparePropose, s.propose),
		bind.Command(EvolveRestore, planner.CommandSpec("Restore missing files", "Recreate deployed files that are missing, and change nothing else.", evolveRestoreSchema,
			planner.CommandOptions{When: "unless nothing is missing"}), s.prepareRestore, s.restore),
		bind.Query(Explain, planner.QuerySpec("Explain a plan", "List the module and the overlay layer of every changed or drifted file.", explainSchema), s.explain),
	}}
}

// AuthoringName is the name of the toolset for the config repository itself. It is for users on the command line; a server enables it only on
// request.
const AuthoringName = "authoring"

// AuthoringCapability returns the toolset made of entries of neighbouring packages (authoring, maintenance, overlays, bootstrap, policy).
func AuthoringCapability(entries ...[]tool.Entry) tool.Capability {
	return tool.Capability{Name: AuthoringName, Contract: Contract, Mode: policy.Execute, UsesWorkingDir: true, Entries: slices.Concat(entries...)}
}

// DoctorFunc is the tool doctor as a use case.
type DoctorFunc func(ctx context.Context, in planner.Selection) (planner.Report[DoctorData], error)

// DoctorQuery returns the tool doctor for doctor_fix, which answers as it does.
func DoctorQuery(d Deps) DoctorFunc { return (&service{d}).examine }

// look compiles and plans; the details of an error contain the warnings before it.
func (s *service) look(ctx context.Context, c planner.Selection) (planner.State, planner.Result, error) {
	return s.with(ctx, c, s.Planner.Deploy)
}

// with compiles and passes the result to a function of the planner.
func (s *service) with(ctx context.Context, c planner.Selection, do func(context.Context, planner.State) (planner.Result, error)) (planner.State, planner.Result, error) {
	state, err := s.Compiler.Compile(ctx, c.Request())
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

// interrupted warns of an unfinished operation.
func (s *service) interrupted(ctx context.Context, state planner.State) []string {
	pending, err := s.Recovery.Pending(ctx, state.Place.Home)
	if err != nil || pending == nil { // an unreadable record is reported by operations that write
		return nil
	}
	return []string{"an earlier " + string(pending.Kind) + " was interrupted: countersign agents recover --resume finishes it, --undo takes it back; nothing can be applied before"}
}
