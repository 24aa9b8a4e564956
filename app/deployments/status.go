package deployments

import (
	"context"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/app/deployments/planner"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/tool"
)

// StatusData is the data of status.
type StatusData struct {
	Drift        []planner.DriftItem   `json:"drift"`
	Omitted      int                   `json:"drift_omitted,omitempty"`
	NextActions  []string              `json:"next_actions,omitempty"`
	NextDetailed []planner.Action      `json:"next_actions_detailed,omitempty"`
	Profile      string                `json:"profile"`
	Summary      planner.DriftSummary  `json:"summary"`
	States       planner.StateSummary  `json:"summary_by_state"` // of all files, regardless of the arguments
	ByRoot       []planner.RootDrift   `json:"summary_by_root"`
	Total        *planner.DriftSummary `json:"summary_total,omitempty"`
	Targets      []string              `json:"targets"`
}

// status compares every root with what was deployed and with the desired state.
func (s *service) status(ctx context.Context, sc tool.Scope, in StatusInput) (none planner.Report[StatusData], err error) {
	c := in.Selection()
	state, result, err := s.look(ctx, c)
	if err != nil {
		return none, err
	}
	d, err := planner.FindDrift(ctx, s.Planner.Machine, result, true)
	if err != nil {
		return none, planner.WithWarnings(err, result.Warnings)
	}
	next := d.Next(planner.CommandPrefix(c))
	proposing := func(command string) bool { return strings.Contains(command, " evolve propose ") }
	if slices.ContainsFunc(next, proposing) {
		if branch := s.proposed(ctx, state, result); branch != "" {
			next = slices.DeleteFunc(next, proposing)
			d.Warnings = append(d.Warnings, waitingWords(state.Place.Repo, branch))
		}
	}
	assetWarnings, assetActions, err := s.operatorAssets(ctx, state, result.Observed, c)
	if err != nil {
		return none, planner.WithWarnings(err, result.Warnings)
	}
	total := planner.SummarizeDrift(d.Items)
	data := StatusData{Drift: d.Items, States: d.States, Profile: c.Profile, Targets: state.Targets}
	if len(in.Only) > 0 {
		data.Total = &total
		data.Drift = slices.DeleteFunc(data.Drift, func(i planner.DriftItem) bool { return !slices.Contains(in.Only, i.Kind) })
	}
	data.Summary, data.ByRoot = planner.SummarizeDrift(data.Drift), planner.DriftByRoot(data.Drift)
	data.NextActions, data.NextDetailed = planner.OrderCommands(append(next, assetActions...))
	data.Drift, data.Omitted = planner.FitJSON(data.Drift, sc.MaxOutput-planner.AnswerOverhead)
	return planner.Report[StatusData]{Data: data, Warnings: planner.UniqueWarnings(result.Warnings, d.Warnings, assetWarnings)}, nil
}

// proposed returns the unmerged branch with all edits made here; empty if there is none.
func (s *service) proposed(ctx context.Context, state planner.State, result planner.Result) string {
	e := s.evolver()
	f, err := e.find(ctx, result, search{state: state, scope: deployment.GlobalScope})
	if err != nil {
		return "" // evolve_propose reports it
	}
	return e.waiting(ctx, state, f.candidates, deployment.OverlayScopes()...)
}

// operatorAssets returns which of Countersign's own operator files are missing or of another version, except at paths that modules want or deployed.
func (s *service) operatorAssets(ctx context.Context, state planner.State, seen deployment.Observed, c planner.Selection) (warnings, actions []string, err error) {
	in := AssetOptions{Place: state.Place, Targets: state.Config.Manifest.Targets, Chosen: state.Targets, Version: s.Version, Sep: s.Compiler.Sep, Theirs: deployedPaths(seen)}
	for _, f := range state.Output.Files {
		in.Theirs[f.Path] = true
	}
	read := func(path string) ([]byte, bool, error) { return s.Planner.Machine.Read(ctx, path) }
	return CheckAssets(in, read, func(target string) string {
		return planner.CommandPrefix(planner.Selection{Repo: c.Repo, Machine: c.Machine, Profile: deployment.DefaultProfile, Target: target})
	})
}

// deployedPaths returns the paths of files that deployments own, for any config repository.
func deployedPaths(seen deployment.Observed) map[string]bool {
	out := map[string]bool{}
	for f := range seen.Entries() {
		if f.Owner != deployment.OwnerBootstrap && f.Sure() != nil {
			out[f.Path] = true
		}
	}
	for _, f := range seen.Others {
		if f.Sure() != nil {
			out[f.Path] = true
		}
	}
	return out
}
