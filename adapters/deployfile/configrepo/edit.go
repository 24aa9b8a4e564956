package configrepo

import (
	"bytes"
	"maps"
	"reflect"
	"slices"

	"github.com/countersign-dev/countersign/adapters/yamlcodec"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/ports/deployport"
)

// EditManifest is agentpack.yaml with changes made, in order, and every byte they are not about left alone. The text is read before and after:
// it fails as Decode does, with ErrConfig for a module that is to be removed and is not there, and with ErrConfig when the document is
// laid out in a way in which the changes would not come to mean exactly what was asked.
func EditManifest(data []byte, path string, targets Targets, edits ...deployport.ManifestEdit) ([]byte, error) {
	m, _, err := DecodeManifest(data, path, targets)
	if err != nil {
		return nil, err
	}
	doc := unmarked(data)
	lead := data[:len(data)-len(doc)]
	for _, e := range edits {
		if doc, err = apply(doc, &m, e); err != nil {
			return nil, laidOut(err, path)
		}
	}
	out := bytes.Join([][]byte{lead, doc}, nil)
	is, _, err := DecodeManifest(out, path, targets)
	if err != nil {
		return nil, err
	}
	if !reflect.DeepEqual(settled(m), settled(is)) {
		return nil, laidOut(yamlcodec.ErrLayout, path)
	}
	return out, nil
}

func laidOut(err error, path string) error {
	f := fault.From(err)
	if f.Code != yamlcodec.ErrLayout.Code && f.Code != yamlcodec.ErrInvalid.Code && f.Code != yamlcodec.ErrEncode.Code {
		return err
	}
	return deployment.ErrConfig.WithMessage("%s cannot be changed: %s", path, f.Message).WithDetails(deployment.FieldDetails("error", f.Message).AddPath("path", path))
}

// settled is a manifest without what may differ between two that say the same.
func settled(m deployment.Manifest) deployment.Manifest {
	trim := func(list []string) []string { return append([]string{}, list...) }
	out := deployment.Manifest{Profiles: map[string]deployment.Profile{}, Targets: m.Targets, Modules: []deployment.Module{}}
	for name, p := range m.Profiles {
		out.Profiles[name] = deployment.Profile{IncludeTags: trim(p.IncludeTags), IncludeModules: trim(p.IncludeModules), ExcludeModules: trim(p.ExcludeModules)}
	}
	for _, mod := range m.Modules {
		mod.Line, mod.Tags, mod.Targets = 0, trim(mod.Tags), trim(mod.Targets)
		out.Modules = append(out.Modules, mod)
	}
	return out
}

// apply makes one change in the document and in what it means.
func apply(doc []byte, m *deployment.Manifest, e deployport.ManifestEdit) (_ []byte, err error) {
	if e.Remove != "" {
		if _, err := m.Module(e.Remove); err != nil {
			return nil, err
		}
		i := slices.IndexFunc(m.Modules, func(mod deployment.Module) bool { return mod.ID == e.Remove })
		if doc, err = yamlcodec.Remove(doc, []string{"modules"}, i); err != nil {
			return nil, err
		}
		m.Modules = slices.Delete(slices.Clone(m.Modules), i, i+1)
	}
	if e.Add != nil {
		if _, err := m.Module(e.Add.ID); err == nil {
			return nil, deployment.ErrConfig.WithMessage("module %q already exists; choose another id, or remove it first", e.Add.ID).
				WithDetails(deployment.FieldDetails("module_id", e.Add.ID))
		}
		if doc, err = yamlcodec.Append(doc, []string{"modules"}, pairsOf(*e.Add, e.Metadata)); err != nil {
			return nil, err
		}
		m.Modules = append(slices.Clone(m.Modules), read(*e.Add))
	}
	if e.Target != "" {
		return configure(doc, m, e.Target, e.Config)
	}
	if e.Profile != "" {
		return include(doc, m, e.Profile, e.Tags)
	}
	return doc, nil
}

// include makes sure that a profile is there and includes the tags.
func include(doc []byte, m *deployment.Manifest, name string, tags []string) (_ []byte, err error) {
	p := m.Profiles[name]
	for _, tag := range tags {
		if slices.Contains(p.IncludeTags, tag) {
			continue
		}
		if doc, err = yamlcodec.Append(doc, []string{"profiles", name, "include_tags"}, tag); err != nil {
			return nil, err
		}
		p.IncludeTags = append(slices.Clone(p.IncludeTags), tag)
	}
	if _, ok := m.Profiles[name]; !ok && len(tags) == 0 { // a profile of nothing is made with a tag, which is taken out again
		if doc, err = yamlcodec.Append(doc, []string{"profiles", name, "include_tags"}, name); err != nil {
			return nil, err
		}
		if doc, err = yamlcodec.Remove(doc, []string{"profiles", name, "include_tags"}, 0); err != nil {
			return nil, err
		}
	}
	m.Profiles = maps.Clone(m.Profiles)
	m.Profiles[name] = p
	return doc, nil
}

// configure makes sure that a target is there, with that scope where it is new, and that those of the options are set that are not.
func configure(doc []byte, m *deployment.Manifest, name string, config deployment.TargetConfig) (_ []byte, err error) {
	have, there := m.Targets[name]
	var set yamlcodec.Pairs
	options := maps.Clone(have.Options)
	for _, option := range slices.Sorted(maps.Keys(config.Options)) {
		if _, is := have.Options[option]; is {
			continue
		}
		if options == nil {
			options = deployment.Options{}
		}
		options[option] = config.Options[option]
		set = append(set, yamlcodec.Pair{Key: option, Value: config.Options[option]})
	}
	m.Targets = maps.Clone(m.Targets)
	if !there {
		have.Scope = config.Scope
		pairs := yamlcodec.Pairs{{Key: "mode", Value: "files"}, {Key: "scope", Value: string(config.Scope)}}
		if len(set) > 0 {
			pairs = append(pairs, yamlcodec.Pair{Key: "options", Value: set})
		}
		doc, err = yamlcodec.Add(doc, []string{"targets", name}, pairs)
	}
	for _, p := range set {
		if there && err == nil {
			doc, err = yamlcodec.Add(doc, []string{"targets", name, "options", p.Key}, p.Value)
		}
	}
	have.Options = options
	if m.Targets == nil {
		m.Targets = map[string]deployment.TargetConfig{}
	}
	m.Targets[name] = have
	return doc, err
}

// pairsOf returns the written form of a module, without default values.
func pairsOf(m deployment.Module, metadata map[string]any) yamlcodec.Pairs {
	out := yamlcodec.Pairs{{Key: "id", Value: m.ID}, {Key: "type", Value: string(m.Type)}}
	if !m.Enabled {
		out = append(out, yamlcodec.Pair{Key: "enabled", Value: false})
	}
	if len(m.Tags) > 0 {
		out = append(out, yamlcodec.Pair{Key: "tags", Value: m.Tags})
	}
	if len(m.Targets) > 0 {
		out = append(out, yamlcodec.Pair{Key: "targets", Value: m.Targets})
	}
	if m.Scope != "" {
		out = append(out, yamlcodec.Pair{Key: "scope", Value: string(m.Scope)})
	}
	if m.Called != "" {
		out = append(out, yamlcodec.Pair{Key: "name", Value: m.Called})
	}
	if m.AsIs {
		out = append(out, yamlcodec.Pair{Key: "as_is", Value: true})
	}
	source := yamlcodec.Pairs{{Key: "local_path", Value: yamlcodec.Pairs{{Key: "path", Value: m.Source.Local}}}}
	if g := m.Source.Git; g != nil {
		git := yamlcodec.Pairs{{Key: "url", Value: g.URL}}
		if g.Ref != "" && g.Ref != deployment.DefaultRef {
			git = append(git, yamlcodec.Pair{Key: "ref", Value: g.Ref})
		}
		if g.Subdir != "" {
			git = append(git, yamlcodec.Pair{Key: "subdir", Value: g.Subdir})
		}
		if !g.Shallow {
			git = append(git, yamlcodec.Pair{Key: "shallow", Value: false})
		}
		source = yamlcodec.Pairs{{Key: "git", Value: git}}
	}
	out = append(out, yamlcodec.Pair{Key: "source", Value: source})
	if len(metadata) > 0 {
		out = append(out, yamlcodec.Pair{Key: "metadata", Value: metadata})
	}
	return out
}

// read returns the parsed form of a module: shortest paths, with defaults.
func read(m deployment.Module) deployment.Module {
	if clean, problem := localPath(m.Source.Local); problem == "" {
		m.Source.Local = clean
	}
	if m.Source.Git == nil {
		return m
	}
	g := *m.Source.Git
	if g.Ref == "" {
		g.Ref = deployment.DefaultRef
	}
	if clean, problem := localPath(g.Subdir); problem == "" {
		if g.Subdir = clean; clean == "." {
			g.Subdir = ""
		}
	}
	m.Source = deployment.Source{Git: &g}
	return m
}
