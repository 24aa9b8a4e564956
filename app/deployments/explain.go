package deployments

import (
	"context"

	"github.com/countersign-dev/countersign/app/deployments/planner"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/target"
	"github.com/countersign-dev/countersign/domain/tool"
)

// explainData is the data of explain plan and explain diff (agentpack contract §5.9).
type explainData struct {
	Changes []explainedChange `json:"changes"`
	Omitted int               `json:"changes_omitted,omitempty"`
	Profile string            `json:"profile"`
	Targets []string          `json:"targets"`
}

type explainedChange struct {
	Modules   []explainedModule `json:"modules"`
	Op        deployment.Op     `json:"op"`
	Path      string            `json:"path"`
	PathPosix string            `json:"path_posix"`
	Target    string            `json:"target"`
}

// explainedModule says where one module's part of a file comes from. What is not known of a module that is gone is null.
type explainedModule struct {
	Layer      *string `json:"layer"`
	ModuleID   string  `json:"module_id"`
	ModulePath *string `json:"module_path"`
	ModuleType *string `json:"module_type"`
}

type explainedDrift struct {
	Actual    *string  `json:"actual"`
	Expected  *string  `json:"expected"`
	Kind      string   `json:"kind"`
	Modules   []string `json:"modules"`
	Path      string   `json:"path"`
	PathPosix string   `json:"path_posix"`
	Target    string   `json:"target"`
}

// explainStatusData is the data of explain status.
type explainStatusData struct {
	Drift   []explainedDrift `json:"drift"`
	Omitted int              `json:"drift_omitted,omitempty"`
	Profile string           `json:"profile"`
	Targets []string         `json:"targets"`
}

func (s *service) explain(ctx context.Context, sc tool.Scope, c planner.Call) (any, error) {
	state, result, err := s.look(ctx, c)
	if err != nil {
		return nil, err
	}
	if c.Kind == "status" {
		return s.explainStatus(ctx, sc, state, result)
	}
	data := explainData{Changes: []explainedChange{}, Profile: c.Profile, Targets: state.Targets}
	for _, change := range result.Plan.Changes {
		out := explainedChange{Modules: []explainedModule{}, Op: change.Op, Path: change.Path, PathPosix: deployment.PosixPath(change.Path), Target: change.Target}
		for _, id := range change.Modules {
			out.Modules = append(out.Modules, s.explainModule(state, result, change, id))
		}
		data.Changes = append(data.Changes, out)
	}
	data.Changes, data.Omitted = planner.FitJSON(data.Changes, sc.MaxOutput-planner.AnswerOverhead)
	return planner.Report{Data: data, Warnings: result.Warnings}, nil
}

// explainModule credits the highest layer that gave or patched the module's file.
func (s *service) explainModule(state planner.State, r planner.Result, c deployment.Change, id string) explainedModule {
	out := explainedModule{ModuleID: id}
	m, ok := state.Module(id)
	if !ok {
		return out
	}
	kind := typeName(m.Type)
	out.ModuleType = &kind
	root, _ := deployment.BestRoot(r.Plan.Roots, c.Target, c.Path, s.Compiler.Sep)
	path := target.ModulePath(c.Target, m.Module, root.Path, c.Path, s.Compiler.Sep)
	layer := m.Layer(path)
	if path == "" {
		return out
	}
	out.ModulePath, out.Layer = &path, &layer
	return out
}

// typeName is a module type in the spelling that explain alone uses.
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

func (s *service) explainStatus(ctx context.Context, sc tool.Scope, state planner.State, r planner.Result) (any, error) {
	d, err := planner.FindDrift(ctx, s.Planner.Machine, r, false)
	if err != nil {
		return nil, planner.WithWarnings(err, r.Warnings)
	}
	data := explainStatusData{Drift: []explainedDrift{}, Profile: state.Request.Profile, Targets: state.Targets}
	for _, i := range d.Items {
		modules := i.Modules
		if modules == nil {
			modules = []string{}
		}
		data.Drift = append(data.Drift, explainedDrift{i.Actual, i.Expected, i.Kind, modules, i.Path, i.PathPosix, i.Target})
	}
	data.Drift, data.Omitted = planner.FitJSON(data.Drift, sc.MaxOutput-planner.AnswerOverhead)
	return planner.Report{Data: data, Warnings: planner.UniqueWarnings(r.Warnings, d.Warnings)}, nil
}
