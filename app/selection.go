package app

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// ControlToolset is served whatever is selected.
const ControlToolset = "control"

// Selection is what an operator serves. It filters the list of tools and is checked again at every call.
type Selection struct {
	Toolsets []string // names, or "all"; empty is every toolset given to New
	Tools    []string // single tools, added to the toolsets
	Exclude  []string // single tools, taken away whatever else says
	ReadOnly bool     // only tools that have something to read
}

// apply works out the served names. An unknown name fails closed.
func (s Selection) apply(r *tool.Registry) (map[tool.Name]bool, error) {
	toolsets := map[string]bool{}
	for spec := range r.Specs() {
		toolsets[spec.Toolset] = true
	}
	for _, name := range s.Toolsets {
		if name != "all" && !toolsets[name] {
			return nil, ErrWiring.Sayf("there is no toolset %q; there are: %s", name, strings.Join(slices.Sorted(maps.Keys(toolsets)), ", "))
		}
	}
	for _, name := range slices.Concat(s.Tools, s.Exclude) {
		if _, ok := r.Lookup(tool.Name(name)); !ok {
			return nil, ErrWiring.Sayf("there is no tool %q; countersign tools list shows those there are", name)
		}
	}
	whole := len(s.Toolsets) == 0 && len(s.Tools) == 0 || slices.Contains(s.Toolsets, "all")
	served := map[tool.Name]bool{}
	for spec := range r.Specs() {
		wanted := whole || spec.Toolset == ControlToolset || slices.Contains(s.Toolsets, spec.Toolset) || slices.Contains(s.Tools, string(spec.Name))
		if s.ReadOnly && spec.Class > policy.ClassScratch {
			wanted = false
		}
		served[spec.Name] = wanted && !slices.Contains(s.Exclude, string(spec.Name))
	}
	return served, nil
}

// Toolsets lists every toolset with the tools that are served and those the selection hides.
func (a *App) Toolsets() []tool.Toolset {
	byName := map[string]*tool.Toolset{}
	for s := range a.registry.Specs() {
		t := byName[s.Toolset]
		if t == nil {
			t = &tool.Toolset{Name: s.Toolset, Served: []string{}}
			byName[s.Toolset] = t
		}
		if a.served[s.Name] && !s.People {
			t.Served = append(t.Served, string(s.Name))
		} else {
			t.Hidden = append(t.Hidden, string(s.Name))
		}
	}
	var out []tool.Toolset
	for _, t := range byName {
		out = append(out, *t)
	}
	slices.SortFunc(out, func(x, y tool.Toolset) int { return cmp.Compare(x.Name, y.Name) })
	return out
}
