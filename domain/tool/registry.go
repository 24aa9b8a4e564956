package tool

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
)

// Capability is one toolset: its name, contract, default mode and tools.
type Capability struct {
	Name           string
	Contract       Contract
	Mode           policy.Mode
	Ceiling        policy.Mode // the maximum mode of its calls, below the operator's; unset is none
	UsesWorkingDir bool        // its tools depend on the working directory of their process
	Entries        []Entry
}

// Toolset is the displayed form of a toolset: its enabled tools and those that the server configuration disables. For a toolset of which nothing is
// enabled, ServedWith says how to enable it.
type Toolset struct {
	Name       string   `json:"name"`
	Served     []string `json:"served"`
	Hidden     []string `json:"hidden,omitempty"`
	ServedWith string   `json:"served_with,omitempty"`
}

// Registry holds the tools of a process, sorted by name. It is immutable.
type Registry struct {
	entries []Entry
	order   []int // of the entries by name; the entries are large and are not moved
	index   map[Name]int
}

// The errors of a registry or a look-up.
var (
	ErrRegistry = fault.New(fault.Internal, "registry_invalid", "invalid tool registry")
	ErrUnknown  = fault.New(fault.NotFound, "tool_unknown", "unknown tool")
)

const maxName = 40

// named reports whether n is a valid tool name. (A regular expression would be compiled at every start.)
func named(n Name) bool {
	for i, c := range []byte(n) {
		if lower := c >= 'a' && c <= 'z'; !lower && (i == 0 || c != '_' && (c < '0' || c > '9')) {
			return false
		}
	}
	return n != "" && len(n) <= maxName
}

// NewRegistry joins capabilities. It fails with ErrRegistry for an invalid or repeated name; a missing title, description, class or handler; an input
// schema that is not an object schema; effects that the class does not permit; an unknown strength, risk or mode; or unredacted arguments of a tool that
// agents may call.
func NewRegistry(caps ...Capability) (*Registry, error) {
	n := 0
	for _, c := range caps {
		n += len(c.Entries)
	}
	r := &Registry{entries: make([]Entry, 0, n), order: make([]int, 0, n), index: make(map[Name]int, n)}
	for _, c := range caps {
		for _, e := range c.Entries {
			e.Spec.Toolset, e.Spec.Contract, e.Spec.Mode, e.Spec.Ceiling, e.Spec.UsesWorkingDir = c.Name, c.Contract, c.Mode, c.Ceiling, c.UsesWorkingDir
			if problem := check(e); problem != "" {
				return nil, ErrRegistry.WithMessage("tool %q of %s: %s", e.Spec.Name, c.Name, problem)
			}
			if _, taken := r.index[e.Spec.Name]; taken {
				return nil, ErrRegistry.WithMessage("tool %q is defined twice", e.Spec.Name)
			}
			i := len(r.entries)
			r.entries, r.order, r.index[e.Spec.Name] = append(r.entries, e), append(r.order, i), i
		}
	}
	slices.SortFunc(r.order, func(a, b int) int { return cmp.Compare(r.entries[a].Spec.Name, r.entries[b].Spec.Name) })
	return r, nil
}

func check(e Entry) string {
	s := e.Spec
	switch {
	case !named(s.Name):
		return "a name must match [a-z][a-z0-9_]* and have at most 40 characters"
	case s.Description == "" || s.Title == "":
		return "title and description are required"
	case s.Class == policy.ClassUnknown || s.Class > policy.ClassDangerous:
		return "unknown class"
	case !s.Class.Permits(s.Effects):
		return fmt.Sprintf("class %s with effects %s", s.Class, s.Effects)
	case s.Confirm > policy.Typed || s.Human > policy.Typed || s.Mode > policy.Execute || s.Risk > policy.RiskHigh:
		return "unknown strength, risk or toolset mode"
	case s.Unmasked && !s.UserOnly:
		return "arguments that agents may write must not be redacted"
	case e.Handler == nil:
		return "no handler"
	case !objectSchema(s.Input):
		return "the input schema is not an object schema"
	}
	return ""
}

// Lookup returns the entry with exactly that name.
func (r *Registry) Lookup(n Name) (Entry, bool) {
	i, ok := r.index[n]
	if !ok {
		return Entry{}, false
	}
	return r.entries[i], true
}

// Specs yields every tool's spec, sorted by name.
func (r *Registry) Specs() iter.Seq[Spec] {
	return func(yield func(Spec) bool) {
		for _, i := range r.order {
			if !yield(r.entries[i].Spec) {
				return
			}
		}
	}
}

// Len returns the number of tools.
func (r *Registry) Len() int { return len(r.entries) }
