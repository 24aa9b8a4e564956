package httpapi

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// listedTool is a tool in the catalogue, with the verdict of policy for a call by this client that does everything the tool may do.
type listedTool struct {
	Name        tool.Name       `json:"name"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Toolset     string          `json:"toolset"`
	Contract    tool.Contract   `json:"contract"`
	Category    string          `json:"category,omitempty"`
	Class       policy.Class    `json:"class"`
	Effects     string          `json:"effects"` // comma separated
	Permission  string          `json:"permission"`
	Risk        string          `json:"risk,omitempty"`
	Confirm     policy.Strength `json:"confirm"`
	People      bool            `json:"people,omitempty"` // only the user may call it
	Decision    policy.Result   `json:"decision"`
	Input       json.RawMessage `json:"input"`
	Output      json.RawMessage `json:"output,omitempty"`
}

// toolList is the catalogue.
type toolList struct {
	Count int          `json:"count"`
	Tools []listedTool `json:"tools"`
}

// served returns the tools that this client may see, sorted by name.
func (a *API) served(x *Exchange) (specs []tool.Spec) {
	for s := range a.App.Specs() {
		if tool.Covered(x.Visitor.Within, s) {
			specs = append(specs, s)
		}
	}
	if !x.Visitor.Person {
		return specs
	}
	for _, set := range a.App.Toolsets() {
		for _, name := range slices.Concat(set.Served, set.Hidden) { // tools for users only are listed as hidden
			if s, ok := a.App.Spec(tool.Name(name)); ok && s.UserOnly && tool.Covered(x.Visitor.Within, s) {
				specs = append(specs, s)
			}
		}
	}
	slices.SortFunc(specs, func(a, b tool.Spec) int { return cmp.Compare(a.Name, b.Name) })
	return specs
}

func (a *API) listed(x *Exchange, s tool.Spec) listedTool {
	risk := ""
	if s.Risk > policy.RiskNone {
		risk = s.Risk.String()
	}
	return listedTool{Name: s.Name, Title: s.Title, Description: s.Description, Toolset: s.Toolset, Contract: s.Contract, Category: s.Category, Class: s.Class,
		Effects: s.Effects.String(), Permission: s.Permission(), Risk: risk, Confirm: s.Confirm, People: s.UserOnly,
		Decision: a.App.Evaluate(x.R.Context(), x.Visitor.Call(s.Name, nil)), Input: s.Input, Output: s.OutputSchema()}
}

func (a *API) listTools(x *Exchange) error {
	set := x.R.URL.Query().Get("toolset")
	list := toolList{Tools: []listedTool{}}
	for _, s := range a.served(x) {
		if set == "" || s.Toolset == set {
			list.Tools = append(list.Tools, a.listed(x, s))
		}
	}
	list.Count = len(list.Tools)
	x.Answer(http.StatusOK, list)
	return nil
}

// find returns the tool with that name if this client may see it.
func (a *API) find(x *Exchange, name tool.Name) (tool.Spec, error) {
	s, ok := a.App.Spec(name)
	if !ok || s.UserOnly && !x.Visitor.Person || !tool.Covered(x.Visitor.Within, s) {
		return tool.Spec{}, tool.ErrUnknown.WithMessage("unknown tool %q; GET %s/tools lists the tools", Shorten(string(name)), Prefix)
	}
	return s, nil
}

func (a *API) showTool(x *Exchange) error {
	s, err := a.find(x, tool.Name(x.Name))
	if err != nil {
		return err
	}
	x.Answer(http.StatusOK, a.listed(x, s))
	return nil
}

// listToolsets lists the toolsets, each with the tools that the client may see.
func (a *API) listToolsets(x *Exchange) error {
	sets := a.App.Toolsets()
	kept := make([]tool.Toolset, 0, len(sets))
	for _, set := range sets {
		set.Served = slices.DeleteFunc(slices.Clone(set.Served), func(name string) bool {
			_, err := a.find(x, tool.Name(name))
			return err != nil
		})
		if len(x.Visitor.Within) > 0 && len(set.Served) == 0 {
			continue
		}
		kept = append(kept, set)
	}
	x.Answer(http.StatusOK, struct {
		Toolsets []tool.Toolset `json:"toolsets"`
	}{kept})
	return nil
}
