package deployment

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// ManifestVersion is the only version of agentpack.yaml.
const ManifestVersion = 1

// The files of a config repository (agentpack contract §1.1).
const (
	ManifestFile = "agentpack.yaml"
	LockFile     = "agentpack.lock.json"
	OrgFile      = "agentpack.org.yaml"
	OrgLockFile  = "agentpack.org.lock.json"
)

// DefaultProfile must exist in every manifest.
const DefaultProfile = "default"

// ModuleType is the kind of content of a module.
type ModuleType string

// The module types. The first four are the contract's; mcp, settings, hooks and permissions manage single keys in files that are otherwise the
// user's: mcp has one server per file (mcp/<name>.json), settings one fragment per agent (<target>.json), hooks one hook per file and permissions one
// set of rules per file. An agent, and an output style, is one Markdown file.
const (
	ModuleInstructions ModuleType = "instructions"
	ModuleSkill        ModuleType = "skill"
	ModulePrompt       ModuleType = "prompt"
	ModuleCommand      ModuleType = "command"
	ModuleMCP          ModuleType = "mcp"
	ModuleSettings     ModuleType = "settings"
	ModuleAgent        ModuleType = "agent"
	ModuleHooks        ModuleType = "hooks"
	ModulePermissions  ModuleType = "permissions"
	ModuleStyle        ModuleType = "output_style"
	ModulePlugins      ModuleType = "plugins"
)

// HookEvents returns the events that hooks of modules can use.
func HookEvents() []string {
	return []string{"session_start", "session_end", "prompt_submit", "pre_tool", "post_tool", "stop", "subagent_stop"}
}

// ModuleTypes returns every module type, in the order of their listing.
func ModuleTypes() []ModuleType {
	return []ModuleType{ModuleInstructions, ModuleSkill, ModulePrompt, ModuleCommand, ModuleMCP, ModuleSettings,
		ModuleAgent, ModuleHooks, ModulePermissions, ModuleStyle, ModulePlugins}
}

// Scope says where a target's files go.
type Scope string

// The scopes.
const (
	ScopeUser    Scope = "user"
	ScopeProject Scope = "project"
	ScopeBoth    Scope = "both"
)

// Has reports whether s includes one.
func (s Scope) Has(one Scope) bool { return s == one || s == ScopeBoth }

// Manifest is agentpack.yaml, decoded and validated (agentpack contract §2.1).
type Manifest struct {
	Profiles map[string]Profile
	Targets  map[string]TargetConfig
	Modules  []Module
}

// Profile selects modules.
type Profile struct {
	IncludeTags    []string
	IncludeModules []string
	ExcludeModules []string
}

// TargetConfig is the configuration of one target.
type TargetConfig struct {
	Scope   Scope
	Options Options
	Host    *OwnHost // set for a target that the config repository describes itself
}

// OwnHost is a host without a built-in table: the user says what goes where.
type OwnHost struct {
	Title string
	Rules []OwnRule
}

// OwnRule says where the modules of one type go in one scope, and in which form, in the words of the tables.
type OwnRule struct{ Type, Scope, Root, Path, Form, Format, At, References string }

// Options are a target's settings as written in the manifest: text, bool, numbers, lists.
type Options map[string]any

// Bool returns the option's value: a bool, or true/yes/1 and false/no/0 in any case as text. For anything else it returns otherwise.
func (o Options) Bool(name string, otherwise bool) bool {
	switch v := o[name].(type) {
	case bool:
		return v
	case string:
		switch strings.ToLower(strings.TrimSpace(v)) {
		case "true", "yes", "1":
			return true
		case "false", "no", "0":
			return false
		}
	}
	return otherwise
}

// Text returns the option's text without surrounding blanks, or otherwise if it is absent, blank or not a text.
func (o Options) Text(name, otherwise string) string {
	if v, ok := o[name].(string); ok {
		return cmp.Or(strings.TrimSpace(v), otherwise)
	}
	return otherwise
}

// Module is one module of a manifest.
type Module struct {
	ID      string
	Type    ModuleType
	Enabled bool
	Tags    []string
	Targets []string // empty: all
	Scope   Scope    // upper limit; empty: wherever its targets write
	Called  string   // name where it is deployed; empty: from its identifier (a skill), or its file
	Source  Source
	AsIs    bool // a command or an agent: its file is in its targets' own form and deployed unchanged
	Line    int  // in the manifest; 0 when it is not known
}

// For reports whether the module is meant for the target.
func (m Module) For(target string) bool {
	return len(m.Targets) == 0 || slices.Contains(m.Targets, target)
}

// In reports whether the module is for files of that scope, user or project, in a project with that identifier. A module tagged with projects
// (project-<id>, as import tags what it finds in one) is only for these, and not for the user's files unless its scope says so.
func (m Module) In(one Scope, project string) bool {
	projects := slices.DeleteFunc(slices.Clone(m.Tags), func(tag string) bool { return !isProjectTag(tag) })
	switch {
	case len(projects) == 0:
		return m.Scope == "" || m.Scope.Has(one)
	case one == ScopeProject && !slices.Contains(projects, ProjectTag(project)):
		return false
	case m.Scope == "":
		return one == ScopeProject
	}
	return m.Scope.Has(one)
}

const projectTag = "project-"

// ProjectTag returns the tag, and the profile, of modules for one project.
func ProjectTag(id string) string { return projectTag + id }

// isProjectTag reports whether the tag is that of a project, with 16 hex digits.
func isProjectTag(tag string) bool {
	id, ok := strings.CutPrefix(tag, projectTag)
	return ok && len(id) == 16 && strings.Trim(id, "0123456789abcdef") == ""
}

// Name returns the module's name where it is deployed: the configured one, or the part of the identifier after its first colon, or all of it.
func (m Module) Name() string {
	if m.Called != "" {
		return m.Called
	}
	if _, name, ok := strings.Cut(m.ID, ":"); ok {
		return name
	}
	return m.ID
}

// Source is the source of a module's files: exactly one of the two is set.
type Source struct {
	Local string // slash path relative to the config repository
	Git   *GitSource
}

// GitSource is a directory in a git repository.
type GitSource struct {
	URL     string
	Ref     string // branch, tag or 40-hex commit; default main
	Subdir  string // slash path; empty is the whole checkout
	Shallow bool
}

// DefaultRef is the ref of a git source that names none.
const DefaultRef = "main"

// Select returns the enabled modules of a profile, sorted by identifier: those that a tag or their identifier includes and nothing excludes. It fails
// with ErrConfig for an unknown profile (agentpack contract §2.2).
func (m Manifest) Select(profile string) ([]Module, error) {
	p, ok := m.Profiles[profile]
	if !ok {
		return nil, ErrConfig.WithMessage("profile %q not found in %s; use one of: %s", profile, ManifestFile, strings.Join(slices.Sorted(maps.Keys(m.Profiles)), ", ")).
			WithDetails(ReasonDetails("profile_not_found", "fix_config", "retry_command").Add("profile", profile))
	}
	var out []Module
	for _, mod := range m.Modules {
		if p.includes(mod) {
			out = append(out, mod)
		}
	}
	slices.SortFunc(out, func(a, b Module) int { return cmp.Compare(a.ID, b.ID) })
	return out, nil
}

func (p Profile) includes(mod Module) bool {
	wanted := slices.Contains(p.IncludeModules, mod.ID) || slices.ContainsFunc(mod.Tags, func(t string) bool { return slices.Contains(p.IncludeTags, t) })
	return mod.Enabled && wanted && !slices.Contains(p.ExcludeModules, mod.ID)
}

// Included reports whether any profile selects the module.
func (m Manifest) Included(mod Module) bool {
	for _, p := range m.Profiles {
		if p.includes(mod) {
			return true
		}
	}
	return false
}

// Module returns the module with that identifier. It fails with ErrConfig if there is none.
func (m Manifest) Module(id string) (Module, error) {
	for _, mod := range m.Modules {
		if mod.ID == id {
			return mod, nil
		}
	}
	return Module{}, ErrConfig.WithMessage("module %q not found in %s", id, ManifestFile).
		WithDetails(ReasonDetails("module_not_found", "fix_config", "retry_command").Add("module_id", id))
}

// NeedsLock reports whether an enabled module comes from git, so that plans need the lockfile.
func (m Manifest) NeedsLock() bool {
	return slices.ContainsFunc(m.Modules, func(mod Module) bool { return mod.Enabled && mod.Source.Git != nil })
}

// Single reports whether modules of the type are one file each.
func (t ModuleType) Single() bool {
	switch t {
	case ModulePrompt, ModuleCommand, ModuleAgent, ModuleStyle:
		return true
	}
	return false
}
