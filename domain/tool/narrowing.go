package tool

import (
	"slices"

	"github.com/countersign-dev/countersign/domain/policy"
)

// ControlToolset is the toolset that no Narrowing removes as a whole: every caller has modes, approvals and the list of tools.
const ControlToolset = "control"

// Restriction removes tools from the enabled ones for one caller: by the scope of its token, or by its own request. The zero Narrowing removes nothing.
type Restriction struct {
	Toolsets []string // only these, and Control; with Tools also those; empty, without Tools, is every one
	Tools    []string // single tools, added to the toolsets
	Exclude  []string // single tools, removed whatever the other fields say
	ReadOnly bool     // only tools that have something to read
}

// Covers reports whether the tool remains.
func (n Restriction) Covers(s Spec) bool {
	name := string(s.Name)
	switch {
	case slices.Contains(n.Exclude, name), n.ReadOnly && s.Class > policy.ClassScratch:
		return false
	case s.Toolset == ControlToolset, len(n.Toolsets) == 0 && len(n.Tools) == 0:
		return true
	}
	return slices.Contains(n.Toolsets, s.Toolset) || slices.Contains(n.Tools, name)
}

// Covered reports whether every narrowing covers the tool.
func Covered(all []Restriction, s Spec) bool {
	for _, n := range all {
		if !n.Covers(s) {
			return false
		}
	}
	return true
}

// ReadsOnly reports whether any of the narrowings leaves only reads.
func ReadsOnly(all []Restriction) bool {
	return slices.ContainsFunc(all, func(n Restriction) bool { return n.ReadOnly })
}
