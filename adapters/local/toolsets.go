package local

import (
	"context"
	"slices"
	"sync"

	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/app/control"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports"
)

// toolset is the name of a toolset and the function that creates its tools. Creating them delays the server's first answer, so only enabled toolsets
// are created.
type toolset struct {
	name  string
	build func() tool.Capability
	way   string // how to enable it, if not by the flag
}

// toolsets returns every toolset there is, and makes none. One is left out by leaving out its line.
func (l *Local) toolsets(core app.Dependencies) []toolset {
	return slices.Concat([]toolset{{name: control.Name, build: func() tool.Capability { return l.control(core) }}},
		l.packs(core), l.deployments(core), l.projects(core), l.sandboxes(core), l.ecosystems(core))
}

func (l *Local) control(core app.Dependencies) tool.Capability {
	return control.Capability(control.Deps{Clock: core.Clock, Ledger: core.Ledger, Bell: core.Bell, Runs: core.Runs, Audit: core.Audit, Sessions: core.Sessions, Owner: core.Owner, Leases: core.Leases,
		Settings: core.Settings, Operator: l.operator,
		Rules: func(ctx context.Context, s ports.Settings) (policy.Resolved, error) { return l.Resolve(ctx, s) },
		Forms: func(ctx context.Context) ([]string, error) { return l.FormsCounting(ctx) },
		Base:  func() policy.Mode { return l.BaseMode() }, Toolsets: sync.OnceValue(func() []tool.Toolset { return l.Toolsets() }),
		Credentials: l.Admission(), Backups: l.archive,
		Keys: app.NewKeyManager(app.KeyConfig{Keys: core.Keys, Audit: core.Audit, Verifiers: core.Verifiers, Forgotten: l.config.Options.Forgotten})})
}

// unserved returns the list entry of a toolset that is not enabled.
func (t toolset) unserved() tool.Toolset {
	return tool.Toolset{Name: t.name, Served: []string{}, ServedWith: first(t.way, "--toolsets "+t.name)}
}

// selection returns what is served: what was asked for, else those of the default toolsets that exist.
func (c Config) selection(sets []toolset) app.Selection {
	s := c.Options.Serve
	if len(s.Toolsets) > 0 || len(s.Tools) > 0 || len(c.Toolsets) == 0 {
		return s
	}
	s.Toolsets = []string{control.Name}
	for _, have := range sets {
		if slices.Contains(c.Toolsets, have.name) {
			s.Toolsets = append(s.Toolsets, have.name)
		}
	}
	return s
}

// choose makes the toolsets of which o.Serve serves anything, and adds the others to o.Absent. Tools that are excluded from those are no longer
// named in o.Serve.
func choose(sets []toolset, o app.Options) ([]tool.Capability, app.Options) {
	m := made{}
	served := map[string]bool{}
	for _, set := range sets {
		if o.Serve.Serves(set.name) {
			served[set.name] = true
			m.of(set)
		}
	}
	for _, name := range o.Serve.Tools {
		served[m.owner(sets, name)] = true
	}
	o.Serve.Exclude = slices.DeleteFunc(slices.Clone(o.Serve.Exclude), func(name string) bool {
		owner := m.owner(sets, name)
		return owner != "" && !served[owner] // what is no tool at all stays, to be refused
	})
	o.Absent = slices.Clone(o.Absent)
	var caps []tool.Capability
	o.OwnerOf = ownerOf(sets, served)
	for _, set := range sets {
		if served[set.name] {
			caps = append(caps, m.of(set))
		} else {
			o.Absent = append(o.Absent, set.unserved())
		}
	}
	return caps, o
}

// ownerOf returns a function that finds the disabled toolset of a tool. The toolsets are created on its first call.
func ownerOf(sets []toolset, served map[string]bool) func(name string) string {
	owners := sync.OnceValue(func() map[string]string {
		out := map[string]string{}
		for _, set := range sets {
			if served[set.name] {
				continue
			}
			for _, e := range set.build().Entries {
				if !e.Spec.UserOnly {
					out[string(e.Spec.Name)] = set.name
				}
			}
		}
		return out
	})
	return func(name string) string { return owners()[name] }
}

// made is the toolsets that were made so far, by name.
type made map[string]tool.Capability

// of makes the toolset, unless it was made.
func (m made) of(set toolset) tool.Capability {
	c, ok := m[set.name]
	if !ok {
		c = set.build()
		m[set.name] = c
	}
	return c
}

// owner returns the name of the toolset that has the tool, or empty. Those not made yet are made one after the other until it is found.
func (m made) owner(sets []toolset, name string) string {
	for _, making := range []bool{false, true} {
		for _, set := range sets {
			if _, done := m[set.name]; done == making {
				continue
			}
			if slices.ContainsFunc(m.of(set).Entries, func(e tool.Entry) bool { return string(e.Spec.Name) == name }) {
				return set.name
			}
		}
	}
	return ""
}
