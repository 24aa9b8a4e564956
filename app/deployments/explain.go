package deployments

import (
	"context"

	"github.com/countersign-dev/countersign/app/deployments/planner"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/target"
	"github.com/countersign-dev/countersign/domain/tool"
)

// ExplainData is the data of explain (agentpack contract §5.9): changes, or drift if status is explained.
type ExplainData struct {
	Changes      []ExplainedChange `json:"changes,omitzero"`
	Omitted      int               `json:"changes_omitted,omitempty"`
	Drift        []ExplainedDrift  `json:"drift,omitzero"`
	DriftOmitted int               `json:"drift_omitted,omitempty"`
	Profile      string            `json:"profile"`
	Targets      []string          `json:"targets"`
}

// ExplainedChange is a change with the modules that it comes from.
type ExplainedChange struct {
	Modules   []ExplainedModule `json:"modules"`
	Op        deployment.Op     `json:"op"`
	Path      string            `json:"path"`
	PathPosix string            `json:"path_posix"`
	Target    string            `json:"target"`
}

// ExplainedModule says where one module's part of a file comes from. Unknown values of a missing module are null.
type ExplainedModule struct {
	Layer      *string `json:"layer"`
	ModuleID   string  `json:"module_id"`
	ModulePath *string `json:"module_path"`
	ModuleType *string `json:"module_type"`
}

// ExplainedDrift is a file that differs, with the modules that it comes from.
type ExplainedDrift struct {
	Actual    *string  `json:"actual"`
	Expected  *string  `json:"expected"`
	Kind      string   `json:"kind"`
	Modules   []string `json:"modules"`
	Path      string   `json:"path"`
	PathPosix string   `json:"path_posix"`

	State  deployment.FileState `json:"state,omitempty"` // which side changed
	Target string               `json:"target"`
}

func (s *service) explain(ctx context.Context, sc tool.Scope, in ExplainInput) (planner.Report[ExplainData], error) {
	c := in.Selection()
	state, result, err := s.look(ctx, c)
	if err != nil {
		return planner.Report[ExplainData]{}, err
	}
	if in.Kind == "status" {
		return s.explainStatus(ctx, sc, state, result)
	}
	data := ExplainData{Changes: []ExplainedChange{}, Profile: c.Profile, Targets: state.Targets}
	for _, change := range result.Plan.Changes {
		out := ExplainedChange{Modules: []ExplainedModule{}, Op: change.Op, Path: change.Path, PathPosix: deployment.PosixPath(change.Path), Target: change.Target}
		for _, id := range change.Modules {
			out.Modules = append(out.Modules, s.explainModule(state, result, change, id))
		}
		data.Changes = append(data.Changes, out)
	}
	data.Changes, data.Omitted = planner.FitJSON(data.Changes, sc.MaxOutput-planner.AnswerOverhead)
	return planner.Report[ExplainData]{Data: data, Warnings: result.Warnings}, nil
}

// explainModule names the highest layer that provided or patched the module's file.
func (s *service) explainModule(state planner.State, r planner.Result, c deployment.Change, id string) ExplainedModule {
	out := ExplainedModule{ModuleID: id}
	m, ok := state.Module(id)
	if !ok {
		return out
	}
	kind := typeName(m.Type)
	out.ModuleType = &kind
	root, _ := deployment.BestRoot(r.Plan.Roots, c.Target, c.Path, s.Compiler.Sep)
	path := target.ModulePath(c.Target, m.Module, root.Path, c.Path, s.Compiler.Sep)
	layer := m.Layer(path)
	if !deployment.IsBelow(state.Place.ProjectRoot, c.Path, s.Compiler.Sep) {
		layer = m.UserLayer(path)
	}
	if path == "" {
		return out
	}
	out.ModulePath, out.Layer = &path, &layer
	return out
}

// typeName returns a module type in the spelling of explain.
func typeName(t deployment.ModuleType) string {
	switch t {
	case deployment.ModuleInstructions:
		return "Instructions"
	case deployment.ModuleSkill:
		return "Skill"
	case deployment.ModulePrompt:
		return "Prompt"
	case deployment.ModuleCommand:
		return "Command"
	case deployment.ModuleMCP:
		return "Mcp"
	}
	return "Settings"
}

func (s *service) explainStatus(ctx context.Context, sc tool.Scope, state planner.State, r planner.Result) (planner.Report[ExplainData], error) {
	d, err := planner.FindDrift(ctx, s.Planner.Machine, r, false)
	if err != nil {
		return planner.Report[ExplainData]{}, planner.WithWarnings(err, r.Warnings)
	}
	data := ExplainData{Drift: []ExplainedDrift{}, Profile: state.Request.Profile, Targets: state.Targets}
	for _, i := range d.Items {
		modules := i.Modules
		if modules == nil {
			modules = []string{}
		}
		data.Drift = append(data.Drift, ExplainedDrift{i.Actual, i.Expected, i.Kind, modules, i.Path, i.PathPosix, i.State, i.Target})
	}
	data.Drift, data.DriftOmitted = planner.FitJSON(data.Drift, sc.MaxOutput-planner.AnswerOverhead)
	return planner.Report[ExplainData]{Data: data, Warnings: planner.UniqueWarnings(r.Warnings, d.Warnings)}, nil
}
