package configrepo

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/adapters/yamlcodec"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/target"
	"github.com/countersign-dev/countersign/domain/fault"
)

func (r *manifestReader) version(n yamlcodec.Node) error {
	var value any
	switch {
	case n.Kind() == yamlcodec.Number:
		number, err := strconv.ParseInt(n.Text(), 0, 64)
		if err == nil && number == deployment.ManifestVersion {
			return nil
		}
		if value = any(number); err != nil {
			value = n.Text()
		}
	case n.Given():
		r.wrong(n, "%s where a number is expected for version", n.Say())
		return r.err()
	}
	said := "says no version"
	if value != nil {
		said = fmt.Sprintf("has version %v", value)
	}
	return deployment.ErrConfigVersion.WithMessage("%s %s; write version: %d, or use a program that knows it", r.path, said, deployment.ManifestVersion).
		WithDetails(deployment.FieldDetails("version", value).Add("supported", []int{deployment.ManifestVersion}).AddPath("path", r.path))
}

func (r *manifestReader) profiles(root, n yamlcodec.Node) map[string]deployment.Profile {
	out := map[string]deployment.Profile{}
	if n.Given() && n.Kind() != yamlcodec.Mapping {
		r.wrong(n, "%s where a mapping is expected for profiles", n.Say())
		return out
	}
	for _, f := range n.Fields() {
		what := "profile " + f.Key.Say()
		fields := r.fields(f.Value, what, "include_tags", "include_modules", "exclude_modules")
		out[f.Key.Text()] = deployment.Profile{
			IncludeTags:    r.texts(fields["include_tags"], "include_tags"),
			IncludeModules: r.texts(fields["include_modules"], "include_modules"),
			ExcludeModules: r.texts(fields["exclude_modules"], "exclude_modules"),
		}
	}
	if _, ok := out[deployment.DefaultProfile]; !ok {
		place := root
		if n.Given() {
			place = n
		}
		r.refuse(place, deployment.ErrConfig.WithMessage("profile %q not found; add it under profiles", deployment.DefaultProfile).
			WithDetails(deployment.FieldDetails("profile", deployment.DefaultProfile)))
	}
	return out
}

func (r *manifestReader) targetConfigs(n yamlcodec.Node) map[string]deployment.TargetConfig {
	out := map[string]deployment.TargetConfig{}
	if n.Given() && n.Kind() != yamlcodec.Mapping {
		r.wrong(n, "%s where a mapping is expected for targets", n.Say())
	}
	for _, f := range n.Fields() {
		name := f.Key.Text()
		fields := r.fields(f.Value, "target "+f.Key.Say(), "mode", "scope", "options", "host")
		host := r.host(name, fields["host"])
		if host == nil {
			r.known(f.Key, name, "")
		}
		if mode, ok := r.required(f.Key, fields["mode"], "mode of target "+f.Key.Say()); ok && mode != "files" {
			r.wrong(fields["mode"], "unknown mode %s; use files", fields["mode"].Say())
		}
		config := deployment.TargetConfig{Options: r.options(fields["options"]), Host: host}
		if scope, ok := r.required(f.Key, fields["scope"], "scope of target "+f.Key.Say()); ok {
			config.Scope = r.scope(fields["scope"], name, deployment.Scope(scope))
		}
		out[name] = config
	}
	return out
}

// host is a host of the repository's own; nil where none is described.
func (r *manifestReader) host(name string, n yamlcodec.Node) *deployment.OwnHost {
	if !n.Given() {
		return nil
	}
	what := "the host of target " + name
	fields := r.fields(n, what, "title", "rules")
	h := &deployment.OwnHost{Title: r.text(fields["title"], "the title of "+what)}
	if rules := fields["rules"]; rules.Given() && rules.Kind() != yamlcodec.List {
		r.wrong(rules, "%s where a list is expected for the rules of %s", rules.Say(), what)
	}
	for _, item := range fields["rules"].Items() {
		f := r.fields(item, "a rule of "+what, "type", "scope", "root", "path", "form", "format", "at", "references")
		text := func(field string) string { return r.text(f[field], field) }
		h.Rules = append(h.Rules, deployment.OwnRule{Type: text("type"), Scope: text("scope"), Root: text("root"), Path: text("path"), Form: text("form"),
			Format: text("format"), At: text("at"), References: text("references")})
	}
	for _, problem := range target.CheckOwnHost(name, *h) {
		r.wrong(n, "%s: %s", what, problem)
	}
	r.targets = maps.Clone(r.targets)
	r.targets[name] = []deployment.Scope{deployment.ScopeUser, deployment.ScopeProject, deployment.ScopeBoth}
	return h
}

func (r *manifestReader) scope(n yamlcodec.Node, target string, scope deployment.Scope) deployment.Scope {
	all := []deployment.Scope{deployment.ScopeUser, deployment.ScopeProject, deployment.ScopeBoth}
	allowed, known := r.targets[target]
	switch {
	case !slices.Contains(all, scope):
		r.wrong(n, "unknown scope %s; use one of %s", n.Say(), joined(all))
	case known && !slices.Contains(allowed, scope):
		r.refuse(n, deployment.ErrConfig.WithMessage("target %q cannot be deployed to scope %q; use one of %s", target, scope, joined(allowed)).
			WithDetails(deployment.FieldDetails("target", target).Add("scope", string(scope)).Add("allowed_scopes", words(allowed))))
	}
	return scope
}

func (r *manifestReader) options(n yamlcodec.Node) deployment.Options {
	if n.Given() && n.Kind() != yamlcodec.Mapping {
		r.wrong(n, "%s where a mapping is expected for options", n.Say())
		return nil
	}
	if !n.Given() {
		return nil
	}
	out := map[string]any{} // of its own type: the decoder gives mappings within it the same one
	if err := n.Load(&out, yamlcodec.Options{}); err != nil {
		r.wrong(n, "options cannot be read: %s", fault.From(err).Message)
	}
	return deployment.Options(out)
}

// known rejects an unknown target. module is the id of the module that names it, if any.
func (r *manifestReader) known(n yamlcodec.Node, target, module string) {
	if _, ok := r.targets[target]; ok {
		return
	}
	names := r.targets.names()
	hint := "choose one of " + strings.Join(names, ", ")
	if near := fault.Nearest(target, names); near != "" {
		hint = fmt.Sprintf("did you mean %s?", near)
	}
	details := deployment.ReasonDetails("target_not_compiled", "inspect_help_json", "edit_manifest_targets", "rebuild_with_target_feature", "retry_command").
		Add("target", target).Add("allowed", names)
	who := ""
	if module != "" {
		details.Add("module_id", module)
		who = fmt.Sprintf(" of module %q", module)
	}
	r.refuse(n, deployment.ErrTarget.WithMessage("target %q%s not found; %s", target, who, hint).WithDetails(details))
}

func (r *manifestReader) modules(n yamlcodec.Node) []deployment.Module {
	if n.Given() && n.Kind() != yamlcodec.List {
		r.wrong(n, "%s where a list is expected for modules", n.Say())
	}
	var out []deployment.Module
	seen := map[string]int{}
	for _, item := range n.Items() {
		m, ok := r.module(item)
		if !ok {
			continue
		}
		if line, repeated := seen[m.ID]; repeated {
			r.refuse(item, deployment.ErrConfig.WithMessage("the module id %q is already used on line %d; ids must be unique", m.ID, line).
				WithDetails(deployment.FieldDetails("module_id", m.ID)))
		}
		seen[m.ID] = item.Line()
		out = append(out, m)
	}
	return out
}

func (r *manifestReader) module(n yamlcodec.Node) (m deployment.Module, ok bool) {
	if n.Kind() != yamlcodec.Mapping {
		r.wrong(n, "%s where a mapping is expected for a module", n.Say())
		return m, false
	}
	what := "a module"
	for _, f := range n.Fields() {
		if f.Key.Text() == "id" && f.Value.Kind() == yamlcodec.Text {
			what = "module " + f.Value.Say()
		}
	}
	fields := r.fields(n, what, "id", "type", "enabled", "tags", "targets", "scope", "name", "as_is", "source", "metadata")
	id, hasID := r.required(n, fields["id"], "the id of a module")
	kind, hasType := r.required(n, fields["type"], "the type of "+what)
	m = deployment.Module{
		ID: id, Type: deployment.ModuleType(kind), Line: n.Line(),
		Enabled: r.flag(fields["enabled"], "enabled", true),
		Tags:    r.texts(fields["tags"], "tags"),
		Targets: r.texts(fields["targets"], "targets"),
		Source:  r.source(n, fields["source"], what),
		AsIs:    r.flag(fields["as_is"], "as_is", false),
	}
	if scope := fields["scope"]; scope.Given() {
		m.Scope = r.scope(scope, "", deployment.Scope(r.text(scope, "scope")))
	}
	if name := fields["name"]; name.Given() {
		m.Called = r.text(name, "name")
		clean, problem := localPath(m.Called)
		if problem == "" && (clean != m.Called || clean == ".") {
			problem = "the name is not a clean path"
		}
		r.unfit(name, "name", problem)
	}
	if metadata := fields["metadata"]; metadata.Given() && metadata.Kind() != yamlcodec.Mapping {
		r.wrong(metadata, "%s where a mapping is expected for metadata", metadata.Say())
	}
	if hasType && !slices.Contains(deployment.ModuleTypes(), m.Type) {
		r.badType(fields["type"], m)
	}
	if hasID {
		if problem := idProblem(m); problem != "" {
			r.refuse(fields["id"], deployment.ErrConfig.WithMessage("the module id %q %s", id, problem).WithDetails(deployment.FieldDetails("module_id", id)))
		}
		for i, target := range fields["targets"].Items() {
			if target.Kind() == yamlcodec.Text && i < len(m.Targets) {
				r.known(target, target.Text(), id)
			}
		}
	}
	return m, hasID
}

func (r *manifestReader) badType(n yamlcodec.Node, m deployment.Module) {
	names := words(deployment.ModuleTypes())
	hint := "write one of " + strings.Join(names, ", ")
	if near := fault.Nearest(string(m.Type), names); near != "" {
		hint = "did you mean " + near + "?"
	}
	r.refuse(n, deployment.ErrConfig.WithMessage("module %q has the unknown type %q; %s", m.ID, m.Type, hint).
		WithDetails(deployment.FieldDetails("module_id", m.ID).Add("type", string(m.Type)).Add("allowed", names)))
}

// source is exactly one of the two; both and neither are refused, an explicit null counts as absent.
func (r *manifestReader) source(module, n yamlcodec.Node, what string) deployment.Source {
	if !n.Given() {
		r.wrong(module, "the source of %s is missing", what)
		return deployment.Source{}
	}
	fields := r.fields(n, "the source of "+what, "local_path", "git")
	local, git := fields["local_path"], fields["git"]
	switch {
	case n.Kind() != yamlcodec.Mapping:
	case local.Given() == git.Given():
		r.wrong(n, "the source of %s needs exactly one of local_path and git", what)
	case local.Given():
		inner := r.fields(local, "local_path", "path")
		if local.Kind() != yamlcodec.Mapping {
			return deployment.Source{}
		}
		if text, ok := r.required(local, inner["path"], "the path of local_path"); ok {
			clean, problem := localPath(text)
			r.unfit(inner["path"], "path", problem)
			return deployment.Source{Local: clean}
		}
	default:
		return deployment.Source{Git: r.git(git)}
	}
	return deployment.Source{}
}

func (r *manifestReader) git(n yamlcodec.Node) *deployment.GitSource {
	fields := r.fields(n, "git", "url", "ref", "subdir", "shallow")
	if n.Kind() != yamlcodec.Mapping {
		return nil
	}
	g := deployment.GitSource{Ref: deployment.DefaultRef, Shallow: r.flag(fields["shallow"], "shallow", true)}
	if url, ok := r.required(n, fields["url"], "the url of git"); ok {
		g.URL = strings.TrimSpace(url)
		r.unfit(fields["url"], "url", URLProblem(g.URL))
	}
	if ref := strings.TrimSpace(r.text(fields["ref"], "ref")); ref != "" {
		g.Ref = ref
		r.unfit(fields["ref"], "ref", RefProblem(ref))
	}
	if subdir := strings.TrimSpace(r.text(fields["subdir"], "subdir")); subdir != "" {
		clean, problem := localPath(subdir)
		r.unfit(fields["subdir"], "subdir", problem)
		if g.Subdir = clean; clean == "." {
			g.Subdir = ""
		}
	}
	return &g
}

// unfit rejects the value of a field for a reason; "" accepts it.
func (r *manifestReader) unfit(n yamlcodec.Node, field, problem string) {
	if problem != "" {
		r.refuse(n, deployment.ErrConfig.WithMessage("%s", problem).WithDetails(deployment.FieldDetails("field", field).Add("value", n.Text())))
	}
}

func joined[T ~string](values []T) string { return strings.Join(words(values), ", ") }

func words[T ~string](values []T) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
}
