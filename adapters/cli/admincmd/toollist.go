package admincmd

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// toolView is a tool in the output of tools list and tools show.
type toolView struct {
	Name        tool.Name       `json:"name"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Toolset     string          `json:"toolset"`
	Contract    tool.Contract   `json:"contract"`
	Category    string          `json:"category,omitempty"`
	Class       policy.Class    `json:"class"`
	Effects     string          `json:"effects"`
	Confirm     policy.Strength `json:"confirm"`
	Permission  string          `json:"permission"` // read, execute or write: the highest that it needs
	Risk        string          `json:"risk,omitempty"`
	Decision    policy.Result   `json:"decision"` // the current verdict
	Input       json.RawMessage `json:"input_schema"`
	Output      json.RawMessage `json:"output_schema,omitempty"`
}

// decided describes a decision for users.
func decided(o policy.Result) string {
	if o.Rule == "" { // the settings could not be read
		return "unknown"
	}
	switch o.Verdict {
	case policy.Allow:
		return "runs"
	case policy.Confirm:
		return "asks"
	case policy.DryRun:
		return "shows its plan (" + o.Rule + ")"
	case policy.Explain:
		return "explains (" + o.Rule + ")"
	}
	return "refused (" + o.Rule + ")"
}

// asks returns how a call is currently approved; the tool's default is less informative if policy also asks.
func (v toolView) asks() string {
	if v.Decision.Verdict == policy.Confirm {
		return max(v.Confirm, v.Decision.Strength).String()
	}
	return v.Confirm.String()
}

func viewOf(ctx context.Context, s *command.Shell, core command.Core, spec tool.Spec) toolView {
	d := core.App.Evaluate(ctx, tool.Call{Tool: spec.Name, Principal: core.Principal, Session: command.Session, Client: s.Client})
	v := toolView{Name: spec.Name, Title: spec.Title, Description: spec.Description, Toolset: spec.Toolset, Contract: spec.Contract, Category: spec.Category,
		Class: spec.Class, Effects: spec.Effects.String(), Confirm: spec.Confirm, Permission: spec.Permission(), Input: spec.Input, Output: spec.OutputSchema(),
		Decision: d}
	if spec.Risk > policy.RiskNone {
		v.Risk = spec.Risk.String()
	}
	return v
}

// PrintTools prints the enabled tools with their current verdicts; those of toolsets with categories are grouped by them.
func PrintTools(ctx context.Context, s *command.Shell) error {
	core, err := s.Opened()
	if err != nil {
		return err
	}
	views := []toolView{}
	for spec := range core.App.Specs() {
		views = append(views, viewOf(ctx, s, core, spec))
	}
	slices.SortStableFunc(views, func(x, y toolView) int { return cmp.Compare(x.Toolset, y.Toolset) })
	if s.JSON {
		return s.PrintJSON(views)
	}
	var rows [][]string
	sorted := map[string][][]string{} // by toolset and category
	var groups []string
	for _, v := range views {
		if v.Category == "" {
			rows = append(rows, []string{v.Toolset, string(v.Name), v.Class.String(), v.asks(), decided(v.Decision), summary(v.Description)})
			continue
		}
		group := v.Toolset + ": " + v.Category
		if sorted[group] == nil {
			groups = append(groups, group)
		}
		sorted[group] = append(sorted[group], []string{string(v.Name), v.Permission, v.Risk, decided(v.Decision), summary(v.Description)})
	}
	if len(rows) > 0 {
		s.Table([]string{"toolset", "tool", "class", "confirm", "now", "description"}, rows, "class", "confirm", "toolset")
	}
	slices.Sort(groups)
	for i, group := range groups {
		if i > 0 || len(rows) > 0 {
			s.Line("")
		}
		s.Line("%s", group)
		s.Table([]string{"tool", "permission", "risk", "now", "description"}, sorted[group], "risk", "permission")
	}
	return nil
}

// adminListing prints a list: the document, the rows, or, if it is empty, what to do about it.
func adminListing[T any](s *command.Shell, fetch func(*app.App) ([]T, error), document func([]T) any, nothing string, table func([]T)) error {
	a, err := s.App()
	if err != nil {
		return err
	}
	all, err := fetch(a)
	switch {
	case err != nil:
		return err
	case s.JSON:
		return s.PrintJSON(document(append([]T{}, all...)))
	case len(all) == 0:
		s.Note("%s", nothing)
	default:
		table(all)
	}
	return nil
}
