package deployments

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/app/deployments/planner"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/tool"
)

// DeployUnedited is the typed handle of the tool.
var DeployUnedited = tool.Ref[UneditedInput, planner.Report[UneditedData]]{Name: "agents_deploy_unedited"}

// UneditedData is the data of agents_deploy_unedited.
type UneditedData struct {
	ChangesData
	Left        []deployment.Change `json:"left"` // not done: the user's own work, or another config repository's
	LeftOmitted int                 `json:"left_omitted,omitempty"`
}

// UneditedEntries returns the tool.
func UneditedEntries(d Deps) []tool.Entry {
	s := &service{d}
	return []tool.Entry{bind.Command(DeployUnedited, planner.CommandSpec("Deploy what was not edited",
		"Deploy everything except what would overwrite or delete a file that was edited here, is unmanaged or belongs to another config repository; those files are listed and stay unchanged.",
		uneditedSchema, planner.CommandOptions{When: unlessAlike}), s.prepareUnedited, s.applyUnedited)}
}

// uneditedPlan is a deployment without the user's own work.
type uneditedPlan struct{ *deployPlan }

// Prompt returns one line for the approval request.
func (p *uneditedPlan) Prompt() string {
	text := p.deployPlan.Prompt()
	if n := len(p.result.Plan.Left); n > 0 {
		text += fmt.Sprintf("; %d others stay as they are", n)
	}
	return text
}

// MarshalJSON returns the report that a dry run gives.
func (p *uneditedPlan) MarshalJSON() ([]byte, error) { return json.Marshal(p.report(p.limit)) }

func (p *uneditedPlan) report(limit int) planner.Report[UneditedData] {
	shown, cut := dataOf(p.result.Plan, limit)
	d := UneditedData{ChangesData: shown}
	d.Applied, d.Findings = new(bool), planner.Told(p.findings)
	d.Left, d.LeftOmitted = planner.FitJSON(append([]deployment.Change{}, p.result.Plan.Left...), (limit-planner.AnswerOverhead)/4)
	if p.result.Plan.Empty() {
		d.Reason = "no_changes"
	}
	return planner.NewReport(d, append(p.warnings, cut...)...)
}

func (s *service) prepareUnedited(ctx context.Context, sc tool.Scope, in UneditedInput) (*uneditedPlan, error) {
	state, result, err := s.with(ctx, in.Selection(), s.Planner.DeployUnedited)
	if err != nil {
		return nil, err
	}
	p, err := s.planned(ctx, sc, state, result, false)
	if err != nil {
		return nil, err
	}
	p.warnings = planner.UniqueWarnings(planner.LeftWarnings(result.Plan), p.warnings)
	return &uneditedPlan{p}, nil
}

// applyUnedited applies the plan.
func (s *service) applyUnedited(ctx context.Context, sc tool.Scope, p *uneditedPlan) (planner.Report[UneditedData], error) {
	r := p.report(sc.MaxOutput)
	done, err := s.apply(ctx, sc, p.deployPlan)
	if err != nil {
		return planner.Report[UneditedData]{}, err
	}
	r.Data.Applied, r.Data.SnapshotID, r.Data.Reason = done.Data.Applied, done.Data.SnapshotID, done.Data.Reason
	return r, nil
}
