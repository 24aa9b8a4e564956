package authoring

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/target"
	"github.com/countersign-dev/countersign/ports/deployport"
)

// settle finds out which modules a deployment leaves exactly as they are on disk, for which agents, and with which options of the targets. The others are
// taken and switched off: what was imported and is deployed changes nothing.
func (s *importService) settle(ctx context.Context, f *found, candidates []candidate) error {
	f.needs = map[string]deployment.TargetConfig{}
	given := f.config.Manifest.Targets
	order := make([]int, 0, len(f.items))
	for _, plain := range []bool{true, false} { // what needs no choice comes first, and may be what others would have to choose against
		for n := range f.items {
			if f.items[n].Op == opCreate && needsChoice(candidates[n]) != plain {
				order = append(order, n)
			}
		}
	}
	for _, n := range order {
		i, c := &f.items[n], candidates[n]
		kept, at, not, reason, err := s.keep(ctx, f, given, i, c)
		if was := *i; err == nil && len(kept) == 0 && reason == asideChanges && s.asIs(ctx, &c, i) {
			if kept, at, not, reason, err = s.keep(ctx, f, given, i, c); len(kept) == 0 {
				*i = was
			}
		}
		if err != nil {
			return err
		}
		for n, l := range c.from {
			if why := not[l.Agent]; why != "" && len(kept) > 0 && !slices.Contains(at, c.where[n]) {
				f.warnings = append(f.warnings, c.where[n]+" is the same as what is taken for "+strings.Join(kept, ", ")+", and is not deployed for "+l.Agent+": "+strings.ReplaceAll(why, "_", " "))
			}
		}
		if len(kept) > 0 {
			i.module.Targets, i.Aside = kept, ""
			with := candidate{module: i.module, scope: i.Scope}
			with.tag(f.at)
			i.module.Tags, i.Tags, i.Targets = with.module.Tags, with.module.Tags, kept
			continue
		}
		i.module.Enabled, i.Disabled, i.Aside = false, true, reason
		if err := i.withhold(c); err != nil {
			return err
		}
	}
	for name, cfg := range f.needs { // a target that nothing of what is deployed needs stays as it is
		if used := slices.ContainsFunc(f.items, func(i ImportItem) bool { return i.Op == opCreate && !i.Disabled && slices.Contains(i.Targets, name) }); !used {
			delete(f.needs, name)
		} else if _, there := given[name]; there && len(cfg.Options) == 0 {
			delete(f.needs, name)
		}
	}
	return nil
}

// keep returns the agents for which a module is deployed exactly as it was found, and where they have it; of the others, why it is not, and for a
// module that none of them gets, a reason.
func (s *importService) keep(ctx context.Context, f *found, given map[string]deployment.TargetConfig, i *ImportItem, c candidate) (kept, at []string, not map[string]string, reason string, err error) {
	not = map[string]string{}
	if c.aside != "" {
		return nil, nil, not, c.aside, nil
	}
	for n, l := range c.from {
		if reason, err = s.exact(ctx, f, given, i, l); err != nil {
			return nil, nil, nil, "", err
		}
		if reason == "" {
			kept, at = append(kept, l.Agent), append(at, c.where[n])
		} else {
			not[l.Agent] = reason
		}
	}
	return kept, at, not, reason, nil
}

// withhold takes what may be a secret out of the environment of a server that is switched off: nothing of it is going to be deployed as it stands.
func (i *ImportItem) withhold(c candidate) error {
	if c.server == nil || i.Aside == asideSecret {
		return nil
	}
	server, refs, err := referring(c.server, c.name, c.Path, true)
	if err != nil {
		return err
	}
	text, err := target.EncodeValue(server)
	i.References, i.tree = refs, deployment.Tree{made(c.name+".json", append(text, '\n'))}
	return err
}

// needsChoice reports a candidate in a directory that is not its agent's first choice.
func needsChoice(c candidate) bool {
	return slices.ContainsFunc(c.from, func(l target.ActiveRule) bool { _, value := l.Choice(); return value != "" && !l.FirstChoice() })
}

// exact returns why a module would not be deployed to an agent exactly as it was found; empty: it would. Then what the target needs for that is kept.
func (s *importService) exact(ctx context.Context, f *found, given map[string]deployment.TargetConfig, i *ImportItem, l target.ActiveRule) (string, error) {
	cfg, there := given[l.Agent]
	if more, ok := f.needs[l.Agent]; ok {
		options := maps.Clone(more.Options)
		maps.Copy(options, cfg.Options)
		cfg.Options = options
	}
	if !there {
		cfg.Scope = deployment.ScopeBoth
	}
	with := deployment.TargetConfig{Scope: cfg.Scope, Options: maps.Clone(cfg.Options)}
	if with.Options == nil {
		with.Options = deployment.Options{}
	}
	if !cfg.Scope.Has(i.Scope) {
		return asideScope, nil
	}
	if option, on := l.Switch(); option != "" && !cfg.Options.Bool(option, on) && !l.Headed() {
		if _, set := given[l.Agent].Options[option]; set {
			return asideOption, nil
		}
		with.Options[option] = true
	}
	if option, value := l.Choice(); option != "" {
		have := cfg.Options.Text(option, "")
		switch {
		case have == value, have == "" && l.FirstChoice():
			if f.chosen[l.Agent+"\x00"+option] == "" {
				f.chosen[l.Agent+"\x00"+option] = value
			}
		case have != "" || f.chosen[l.Agent+"\x00"+option] != "":
			return asideElse, nil
		default:
			with.Options[option] = value
		}
	}
	l.Options = with.Options
	if name := l.Imports(); name != "" && i.ModuleType == deployment.ModuleInstructions {
		if other := s.paths().Join(l.Dir, name); i.Source == other || slices.Contains(i.Also, other) { // the same stands there, and was written out here all the same
			option, value := target.Copying()
			with.Options[option] = value
		}
	}
	same, err := s.rendersSame(ctx, f, i, l.Agent, with)
	switch {
	case err != nil:
		return "", err
	case !same:
		return asideChanges, nil
	}
	for name := range given[l.Agent].Options {
		delete(with.Options, name)
	}
	f.needs[l.Agent] = deployment.TargetConfig{Scope: with.Scope, Options: with.Options}
	return "", nil
}

// rendersSame reports a module whose deployment to an agent makes what is there, and nothing else.
func (s *importService) rendersSame(ctx context.Context, f *found, i *ImportItem, agent string, cfg deployment.TargetConfig) (bool, error) {
	m := i.module
	m.Targets, m.Enabled = []string{agent}, true
	place := f.place
	place.Only, place.Marked = "", true
	in := f.in
	in.Place, in.Targets, in.Chosen, in.Modules = place, map[string]deployment.TargetConfig{agent: cfg}, []string{agent}, []target.Module{{Module: m, Tree: i.tree}}
	out, err := target.Render(in)
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case errors.Is(err, deployment.ErrConfig), errors.Is(err, deployment.ErrDesired), errors.Is(err, deployment.ErrPath):
		return false, nil
	case err != nil || len(out.Files) == 0:
		return false, err
	}
	look := deployport.Look{Place: f.at, GoOn: true}
	for _, d := range out.Files {
		look.Paths = append(look.Paths, d.Path)
	}
	o, err := s.Machine.Observe(ctx, look)
	if err != nil {
		return false, err
	}
	for _, d := range out.Files {
		now := o.Files[d.Path]
		switch {
		case now.Kind == deployment.Absent:
			return false, nil
		case d.Part == nil && !now.Is(d.Content.Sum, d.Mode):
			return false, nil
		case d.Part != nil && d.Part.Format == deployment.FormatMarkdown:
			return false, nil
		case d.Part != nil:
			doc, _, err := s.Machine.Read(ctx, d.Path)
			if err != nil {
				return false, err
			}
			set, err := s.Documents.Set(d.Part.Format, doc, d.Part.Keys)
			if err != nil || !bytes.Equal(set, doc) {
				return false, ctx.Err()
			}
		}
	}
	return true, nil
}

// joined returns the modules of the config repository whose instructions would go into a file that was imported, and change it.
func (f found) joined() map[string][]string {
	out := map[string][]string{}
	for _, i := range f.items {
		if i.Op != opCreate || i.Disabled || i.ModuleType != deployment.ModuleInstructions || len(i.tree) != 1 {
			continue
		}
		for _, m := range f.config.Manifest.Modules {
			if m.Enabled && m.Type == deployment.ModuleInstructions && m.In(i.Scope, f.at.ProjectID) && slices.ContainsFunc(i.Targets, m.For) {
				out[m.ID] = append(out[m.ID], i.Source)
			}
		}
	}
	return out
}
