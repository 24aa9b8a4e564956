package sandboxes

import (
	"context"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/domain/tool"
)

// ModelAnswer is the default model and the available ones. Nothing else of the configuration is ever shown, because it may contain keys.
type ModelAnswer struct {
	Status    string              `json:"status"`
	Current   *string             `json:"current_model"`
	Available []string            `json:"available_models"`
	Providers map[string][]string `json:"providers"`
	Path      string              `json:"config_path"`
	Exists    bool                `json:"exists"`
	Warning   string              `json:"warning,omitempty"`
}

func (s adminService) model(ctx context.Context, _ tool.Scope, _ AdminNoInput) (ModelAnswer, error) {
	current, path, exists, err := s.Models.Read(ctx)
	if err != nil {
		return ModelAnswer{}, err
	}
	out := ModelAnswer{Status: "success", Current: tool.NilIfZero(current), Available: []string{}, Providers: map[string][]string{}, Path: path, Exists: exists}
	models, why := s.available(ctx)
	out.Warning = why
	for _, m := range models {
		out.Available = append(out.Available, m)
		provider, name, _ := strings.Cut(m, "/")
		out.Providers[provider] = append(out.Providers[provider], name)
	}
	return out, nil
}

// available returns the program's models, or why they are not known.
func (s adminService) available(ctx context.Context) ([]string, string) {
	settings, err := s.Homes.Settings(ctx, "")
	if err != nil || settings.Bin == "" {
		return nil, "the models are not known: the agent server's program is not installed or not configured"
	}
	models, err := s.Launcher.Models(ctx, settings)
	if err != nil {
		return nil, "the models could not be listed: " + fault.From(err).Message
	}
	return models, ""
}

// ModelInput is a model.
type ModelInput struct {
	Model string `json:"model" jsonschema:"minLength=1,description=provider/model"`
}

// ModelSet is the answer to a model set.
type ModelSet struct {
	Status   string  `json:"status"`
	Previous *string `json:"previous_model"`
	Current  string  `json:"current_model"`
	Message  string  `json:"message"`
	Note     string  `json:"note"`
	Warning  string  `json:"warning,omitempty"`
}

type modelPlan struct {
	Plan
	model string
}

func (s adminService) planModel(ctx context.Context, _ tool.Scope, in ModelInput) (modelPlan, error) {
	if _, _, err := sandbox.SplitModel(in.Model); err != nil {
		return modelPlan{}, err
	}
	current, path, _, err := s.Models.Read(ctx)
	if err != nil {
		return modelPlan{}, err
	}
	p := modelPlan{model: in.Model}
	p.Plan, err = NewPlan(SetModel.Name, "set the default model to "+in.Model, map[string]any{"previous": current, "model": in.Model, "config_path": path}, ConfirmOptions{Nothing: current == in.Model})
	return p, err
}

func (s adminService) setModel(ctx context.Context, _ tool.Scope, p modelPlan) (ModelSet, error) {
	previous, _, err := s.Models.Write(ctx, p.model)
	if err != nil {
		return ModelSet{}, err
	}
	out := ModelSet{Status: "success", Previous: tool.NilIfZero(previous), Current: p.model, Message: "the default model is set", Note: "it takes effect for servers that start from now on"}
	models, why := s.available(ctx)
	switch {
	case why != "":
		out.Warning = "it is not known whether this model exists: " + why
	case !slices.Contains(models, p.model):
		out.Warning = "the agent server does not list this model"
	}
	return out, nil
}
