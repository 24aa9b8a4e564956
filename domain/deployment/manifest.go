package deployment

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// ManifestVersion is the only version of agentpack.yaml there is.
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

// ModuleType is what a module holds.
type ModuleType string

// The module types. The first four are the contract's; mcp, settings, hooks and permissions own single keys in files that are otherwise the user's: mcp holds
// one server a file (mcp/<name>.json), settings one fragment an agent (<target>.json), hooks one hook a file and permissions one set of rules a file. An
// agent, and an output style, is one Markdown file.
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

// HookEvents are what hooks of modules can wait for.
func HookEvents() []string {
	return []string{"session_start", "session_end", "prompt_submit", "pre_tool", "post_tool", "stop", "subagent_stop"}
}

// ModuleTypes is every module type, in the order of their listing.
func ModuleTypes() []ModuleType {
	return []ModuleType{ModuleInstructions, ModuleSkill, ModulePrompt, ModuleCommand, ModuleMCP, ModuleSettings,
		ModuleAgent, ModuleHooks, ModulePermissions, ModuleStyle, ModulePlugins}
}

// Scope is where a target's files go.
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

// Profile chooses modules.
type Profile struct {
	IncludeTags    []string
	IncludeModules []string
	ExcludeModules []string
}

// TargetConfig is how one agent is deployed to.
type TargetConfig struct {
	Scope   Scope
	Options Options
	Host    *OwnHost // of a target that the config repository describes itself
}

// OwnHost is a host that nobody has made a table for: what goes where, as its user says.
type OwnHost struct {
	Title string
	Rules []OwnRule
}

// OwnRule is where the modules of one type go in one scope, and as what, in the words of the tables.
type OwnRule struct{ Type, Scope, Root, Path, Form, Format, At, References string }

// Options are a target's settings as they stand in the manifest: text, bool, numbers, lists.
type Options map[string]any

// Bool is the option's value: a bool, or true/yes/1 and false/no/0 in any case as text. Anything else is otherwise.
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

// Text is the option's text without surrounding blanks, or otherwise where it is absent, blank or no text.
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
	Targets []string // empty is all
	Scope   Scope    // where it goes at most; empty is wherever its targets write
	Called  string   // what it is called where it is deployed; empty is by its identifier (a skill), or by its file
	Source  Source
	AsIs    bool // a command or an agent: its file is in its targets' own form, and goes to them as it stands
	Line    int  // of the manifest; 0 when it is not known
}

// For reports whether the module is meant for the target.
func (m Module) For(target string) bool {
	return len(m.Targets) == 0 || slices.Contains(m.Targets, target)
}

// In reports whether the module goes where files of that scope, user or project, are, in a project of that identifier. A module that is tagged with
// projects (project-<id>, as importing tags what it finds in one) goes into these alone, and not to the user's files unless its scope says so.
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

// ProjectTag is the tag, and the profile, of what is for one project.
func ProjectTag(id string) string { return projectTag + id }

// isProjectTag reports the tag of a project: 16 hex digits follow.
func isProjectTag(tag string) bool {
	id, ok := strings.CutPrefix(tag, projectTag)
	return ok && len(id) == 16 && strings.Trim(id, "0123456789abcdef") == ""
}

// Name is what the module is called where it is deployed: as it says, or the part of the identifier after its first colon, or the whole of it.
func (m Module) Name() string {
	if m.Called != "" {
		return m.Called
	}
	if _, name, ok := strings.Cut(m.ID, ":"); ok {
		return name
	}
	return m.ID
}

// Source is where a module's files come from: exactly one of the two is set.
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

// DefaultRef is a git source's ref when it names none.
const DefaultRef = "main"

// Select is the enabled modules of a profile, sorted by identifier: those a tag or their identifier includes and nothing excludes.
// An unknown profile fails with ErrConfig (agentpack contract §2.2).
func (m Manifest) Select(profile string) ([]Module, error) {
	p, ok := m.Profiles[profile]
	if !ok {
		return nil, ErrConfig.Sayf("there is no profile %q in %s; there are: %s", profile, ManifestFile, strings.Join(slices.Sorted(maps.Keys(m.Profiles)), ", ")).
			With(ReasonDetails("profile_not_found", "fix_config", "retry_command").Add("profile", profile))
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

// Module is the module of that identifier, or fails with ErrConfig.
func (m Manifest) Module(id string) (Module, error) {
	for _, mod := range m.Modules {
		if mod.ID == id {
			return mod, nil
		}
	}
	return Module{}, ErrConfig.Sayf("there is no module %q in %s", id, ManifestFile).
		With(ReasonDetails("module_not_found", "fix_config", "retry_command").Add("module_id", id))
}

// NeedsLock reports whether an enabled module comes from git, so that plans need the lockfile.
func (m Manifest) NeedsLock() bool {
	return slices.ContainsFunc(m.Modules, func(mod Module) bool { return mod.Enabled && mod.Source.Git != nil })
}

// Single reports a type of modules that are one file each.
func (t ModuleType) Single() bool {
	switch t {
	case ModulePrompt, ModuleCommand, ModuleAgent, ModuleStyle:
		return true
	}
	return false
}
