package app

import (
	"maps"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// everything selects every toolset in a Selection.
const everything = "all"

// ErrWiring is returned for an App that cannot be built: a missing port, an invalid registry, or a selection that names something unknown.
var ErrWiring = fault.New(fault.Invalid, "wiring_invalid", "the application is not configured correctly")

// Selection is the enabled tools of the server configuration. It filters the list of tools and is checked again at every call.
type Selection struct {
	Toolsets []string // names, or "all"; empty, without Tools, is every toolset passed to New
	Tools    []string // single tools, added to the toolsets
	Exclude  []string // single tools, removed whatever the other fields say
	ReadOnly bool     // only tools that have something to read
}

// Serves reports whether the toolset with that name is enabled as a whole. Other toolsets need not be created, unless Tools names one of their tools.
func (s Selection) Serves(toolset string) bool {
	return toolset == tool.ControlToolset || len(s.Toolsets) == 0 && len(s.Tools) == 0 || slices.Contains(s.Toolsets, everything) ||
		slices.Contains(s.Toolsets, toolset)
}

// Apply returns the enabled tools; absent are toolsets that were not created. It fails for an unknown name.
func (s Selection) Apply(r *tool.Registry, absent []tool.Toolset) (map[tool.Name]bool, error) {
	if err := s.known(r, absent); err != nil {
		return nil, err
	}
	served := make(map[tool.Name]bool, r.Len())
	for spec := range r.Specs() {
		wanted := s.Serves(spec.Toolset) || slices.Contains(s.Tools, string(spec.Name))
		if s.ReadOnly && spec.Class > policy.ClassScratch {
			wanted = false
		}
		served[spec.Name] = wanted && !slices.Contains(s.Exclude, string(spec.Name))
	}
	return served, nil
}

// known fails with ErrWiring if s names an unknown toolset or tool, and lists the names of all toolsets.
func (s Selection) known(r *tool.Registry, absent []tool.Toolset) error {
	toolsets := map[string]bool{}
	for spec := range r.Specs() {
		toolsets[spec.Toolset] = true
	}
	for _, name := range s.Toolsets {
		if name == everything || toolsets[name] {
			continue
		}
		for _, t := range absent {
			if toolsets[t.Name] = true; t.Name == name {
				return ErrWiring.WithMessage("the toolset %q is not part of this application; add it, or do not select it", name)
			}
		}
		return ErrWiring.WithMessage("unknown toolset %q; use one of %s", name, strings.Join(slices.Sorted(maps.Keys(toolsets)), ", "))
	}
	for _, name := range slices.Concat(s.Tools, s.Exclude) {
		if _, ok := r.Lookup(tool.Name(name)); !ok {
			return ErrWiring.WithMessage("unknown tool %q; run countersign tools list to list the tools", name)
		}
	}
	return nil
}

// ListToolsets returns every toolset of the registry with its enabled and disabled tools, and the absent ones, sorted by name.
func ListToolsets(r *tool.Registry, served map[tool.Name]bool, absent []tool.Toolset) []tool.Toolset {
	byName := map[string]*tool.Toolset{}
	for _, t := range absent {
		byName[t.Name] = &t
	}
	for s := range r.Specs() {
		t := byName[s.Toolset]
		if t == nil {
			t = &tool.Toolset{Name: s.Toolset, Served: []string{}}
			byName[s.Toolset] = t
		}
		if served[s.Name] && !s.UserOnly {
			t.Served = append(t.Served, string(s.Name))
		} else {
			t.Hidden = append(t.Hidden, string(s.Name))
		}
	}
	var out []tool.Toolset
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		out = append(out, *byName[name])
	}
	return out
}
