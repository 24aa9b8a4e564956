package deployments

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/app/deployments/planner"
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/inspection"
	"github.com/countersign-dev/countersign/domain/deployment/target"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// deployPlan is the plan of a deployment.
type deployPlan struct {
	shown
	state   planner.State
	exhibit func(ctx context.Context) (any, error)
	handed  planner.Handovers
	adopt   bool // an argument of the call; not part of what is approved, because the plan lists what adopt would overwrite
}

// Hash returns the hash of the deployment: its resolved binding and its plan.
func (p *deployPlan) Hash() canon.Hash { return p.result.Plan.Hash() }

// Prompt returns one line for the approval request.
func (p *deployPlan) Prompt() string {
	s := p.result.Plan.Files()
	text := fmt.Sprintf("deploy to %s: %d to create, %d to update, %d to delete", strings.Join(p.result.Plan.Targets, ", "), s.Create, s.Update, s.Delete)
	if n := len(deployment.PathsOf(p.result.Plan.Adoptions())); n > 0 {
		text += fmt.Sprintf(" (%d of them overwrite or delete files that no deployment wrote, or edits made here)", n)
	}
	return text
}

// Details returns the changed lines, file by file.
func (p *deployPlan) Details(ctx context.Context) (any, error) { return p.exhibit(ctx) }

// TTL returns how long the approval request of a deployment is valid.
func (p *deployPlan) TTL() time.Duration { return TokenTTL }

// Assessment returns high risk if the deployment gives agents programs or permissions, or deletes files that no recorded operation deployed, and
// requires typing names if it writes severe findings.
func (p *deployPlan) Assessment() policy.Assessment {
	handed := p.handed.Assessment()
	if len(p.result.Plan.Doubtful) > 0 {
		handed.Risk = policy.RiskHigh
	}
	return planner.RaisedBy(p.findings, handed)
}

// Target returns what the user must type.
func (p *deployPlan) Target() string { return inspection.Name(p.findings) }

// NoOp reports whether the deployment changes nothing.
func (p *deployPlan) NoOp() bool { return p.result.Plan.Empty() }

// Check fails if the plan would overwrite what no deployment wrote, unless the call has adopt. The approval request stays valid.
func (p *deployPlan) Check() error {
	adoptions := p.result.Plan.Adoptions()
	if p.adopt || len(adoptions) == 0 {
		return nil
	}
	return planner.AdoptError(adoptions)
}

// DeployOffer is the result of deploy: that of plan, and the plan for which deploy_apply gets a token.
type DeployOffer struct {
	planner.Report[ChangesData]
	args    json.RawMessage
	pending *deployPlan
}

// Offer requests the token.
func (o DeployOffer) Offer() (tool.Name, json.RawMessage, tool.Plan) {
	return DeployApply.Name, o.args, o.pending
}

// deploy returns plan, and a token for it.
func (s *service) deploy(ctx context.Context, sc tool.Scope, in PlanInput) (DeployOffer, error) {
	c := in.Selection()
	p, err := s.pend(ctx, sc, c, false)
	if err != nil {
		return DeployOffer{}, err
	}
	if err := s.settled(ctx, p.state.Place.Home); err != nil { // a token would be useless
		return DeployOffer{}, planner.WithWarnings(err, p.warnings)
	}
	data, cut := dataOf(p.result.Plan, sc.MaxOutput)
	data.Applied, data.Findings = new(bool), planner.Told(p.findings)
	if listed := (deployment.Plan{Changes: data.Changes}).Adoptions(); len(listed) < len(p.result.Plan.Adoptions()) {
		// A token would cover overwriting files that were not shown.
		return DeployOffer{}, planner.WithWarnings(planner.AdoptError(p.result.Plan.Adoptions()), append(p.warnings, cut...))
	}
	sc.Held.Keep(c, p)
	args, err := tool.Encode(ApplyInput{Yes: true, PlanInput: PlanInput{SelectInput: planner.SelectInput{
		RepoInput: planner.RepoInput{Repo: p.state.Place.Repo}, Profile: c.Profile, Target: c.Target, Machine: p.state.Place.Machine}}})
	return DeployOffer{planner.Report[ChangesData]{Data: data, Warnings: append(p.warnings, cut...)}, args, p}, err
}

func (s *service) pend(ctx context.Context, sc tool.Scope, c planner.Selection, adopt bool) (*deployPlan, error) {
	state, result, err := s.look(ctx, c)
	if err != nil {
		return nil, err
	}
	return s.planned(ctx, sc, state, result, adopt)
}

// planned returns the plan of a deployment.
func (s *service) planned(ctx context.Context, sc tool.Scope, state planner.State, result planner.Result, adopt bool) (*deployPlan, error) {
	findings, err := s.Compiler.InspectChanges(ctx, state, result.Plan.Changes)
	if err != nil {
		return nil, planner.WithWarnings(err, result.Warnings)
	}
	handed, err := s.Compiler.Handovers(ctx, result.Plan.Changes)
	if err != nil {
		return nil, planner.WithWarnings(err, result.Warnings)
	}
	p := &deployPlan{shown: shown{result: result, findings: findings, limit: sc.MaxOutput, warnings: planner.UniqueWarnings(planner.EditWarnings(result.Plan), handed.Warnings(), result.Plan.Ways.Warnings(), result.Warnings), applied: true}, state: state, handed: handed, adopt: adopt}
	p.exhibit = func(ctx context.Context) (any, error) { return s.exhibit(ctx, p.result, p.result.Plan.Changes) }
	return p, nil
}

// prepareApply makes the plan again, unless the command holds it: its hash must be the one that the token was issued for.
func (s *service) prepareApply(ctx context.Context, sc tool.Scope, in ApplyInput) (*deployPlan, error) {
	if p, _ := sc.Held.Take(in.Selection()).(*deployPlan); p != nil {
		p.adopt, p.limit = in.Adopt, sc.MaxOutput
		return p, nil
	}
	return s.pend(ctx, sc, in.Selection(), in.Adopt)
}

// apply applies exactly the approved plan.
func (s *service) apply(ctx context.Context, sc tool.Scope, ready *deployPlan) (planner.Report[ChangesData], error) {
	data, cut := dataOf(ready.result.Plan, sc.MaxOutput)
	warnings := append(slices.Clone(ready.warnings), cut...)
	data.Applied = new(bool)
	none := planner.Report[ChangesData]{}
	if ready.result.Plan.Empty() {
		if err := s.settled(ctx, ready.state.Place.Home); err != nil {
			return none, planner.WithWarnings(err, warnings)
		}
		data.Reason = "no_changes"
		return planner.NewReport(data, warnings...), nil
	}
	t := ready.result.Plan.Transaction(ready.state.Place, deployment.KindDeploy, ready.state.Config.LockSum)
	ready.forget()
	id, err := s.Planner.Machine.Apply(ctx, t, planner.ReportProgress(sc, "deploying"))
	if err != nil {
		return none, planner.WithWarnings(err, warnings)
	}
	*data.Applied, data.SnapshotID = true, id
	return planner.NewReport(data, warnings...), nil
}

// forget releases what is only needed for planning: for tens of thousands of files it takes as much memory as the plan.
func (p *deployPlan) forget() {
	p.result.Observed, p.result.Files = deployment.Observed{}, nil
	p.state.Modules, p.state.Output = nil, target.Output{}
}

// settled fails with ErrInterrupted while an earlier operation is unfinished: even one that was killed after its last write must be finished or
// undone before anything counts as deployed.
func (s *service) settled(ctx context.Context, home string) error {
	unfinished, err := s.Recovery.Pending(ctx, home)
	if err != nil || unfinished == nil {
		return err
	}
	return deployment.ErrInterrupted.WithMessage("the %s of %s was interrupted; finish it with resume, or take it back with undo", unfinished.Kind, unfinished.StartedAt.Format(time.RFC3339)).
		WithDetails(deployment.FieldDetails("snapshot_id", unfinished.ID).Add("kind", string(unfinished.Kind)).Add("started_at", unfinished.StartedAt))
}
