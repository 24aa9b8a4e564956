package deployments

import (
	"context"
	"slices"

	"github.com/countersign-dev/countersign/app/deployments/action"
	"github.com/countersign-dev/countersign/app/deployments/assets"
	"github.com/countersign-dev/countersign/app/deployments/compiler"
	"github.com/countersign-dev/countersign/app/deployments/drift"
	"github.com/countersign-dev/countersign/app/deployments/inputs"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/tool"
)

// statusData is the data of status.
type statusData struct {
	Drift        []drift.Item        `json:"drift"`
	Omitted      int                 `json:"drift_omitted,omitempty"`
	NextActions  []string            `json:"next_actions,omitempty"`
	NextDetailed []drift.Action      `json:"next_actions_detailed,omitempty"`
	Profile      string              `json:"profile"`
	Summary      drift.Summary       `json:"summary"`
	ByRoot       []drift.RootSummary `json:"summary_by_root"`
	Total        *drift.Summary      `json:"summary_total,omitempty"`
	Targets      []string            `json:"targets"`
}

// status compares every root with what was deployed and what should be.
func (s *service) status(ctx context.Context, sc tool.Scope, c inputs.Call) (any, error) {
	state, result, err := s.look(ctx, c)
	if err != nil {
		return nil, err
	}
	d, err := drift.Find(ctx, s.Planner.Machine, result, true)
	if err != nil {
		return nil, action.Warned(err, result.Warnings)
	}
	next := d.Next(drift.Prefix(c))
	assetWarnings, assetActions, err := s.operatorAssets(ctx, state, c)
	if err != nil {
		return nil, action.Warned(err, result.Warnings)
	}
	total := drift.Summarise(d.Items)
	data := statusData{Drift: d.Items, Profile: c.Profile, Targets: state.Targets}
	if len(c.Only) > 0 {
		data.Total = &total
		data.Drift = slices.DeleteFunc(data.Drift, func(i drift.Item) bool { return !slices.Contains(c.Only, i.Kind) })
	}
	data.Summary, data.ByRoot = drift.Summarise(data.Drift), drift.ByRoot(data.Drift)
	data.NextActions, data.NextDetailed = drift.Ordered(append(next, assetActions...))
	data.Drift, data.Omitted = action.Fit(data.Drift, sc.MaxOutput-action.Slack)
	return action.Report{Data: data, Warnings: action.Unique(result.Warnings, d.Warnings, assetWarnings)}, nil
}

// operatorAssets says which of our own operator files are missing or of another version.
func (s *service) operatorAssets(ctx context.Context, state compiler.State, c inputs.Call) (warnings, actions []string, err error) {
	in := assets.Input{Place: state.Place, Targets: state.Config.Manifest.Targets, Chosen: state.Targets, Version: s.Version, Sep: s.Compiler.Sep}
	read := func(path string) ([]byte, bool, error) { return s.Planner.Machine.Read(ctx, path) }
	return assets.Check(in, read, func(target string) string {
		return drift.Prefix(inputs.Call{Repo: c.Repo, Machine: c.Machine, Profile: deployment.DefaultProfile, Target: target})
	})
}
