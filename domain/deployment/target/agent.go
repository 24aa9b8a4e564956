package target

import (
	"maps"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/deployment"
)

// agent is the table of one coding agent.
type agent struct {
	Name    string
	Title   string   // product name
	Program string   // its own command; empty: it has none
	Aliases []string // other names of the target
	Scopes  []deployment.Scope
	Rules   []AgentRule
	marks   []string // templates of directories that exist once the agent has run
	dirs    []dir
	choices []choice
	scan    string // the option that disables scan_extras; empty: there is none
}

// dir is a directory that templates of roots begin with, and that an option or the environment may move. {home} and {project} are always available.
type dir struct {
	name     string   // in templates
	option   string   // that sets it; empty: none
	bases    []string // the first that is set: $VARIABLE/path or ~/path, limited to one system by @system:; none: the option is required
	relative bool     // a relative path is below the project root; otherwise it is rejected
	split    bool     // with scope both, a subdirectory for each scope
}

// choice is an option with a fixed set of values; the first is the default.
type choice struct {
	option string
	values []string
}

// shape is the form in which the files of modules are written for an agent.
type shape uint8

// The shapes.
const (
	ShapeVerbatim    shape = iota // the module's single file, its bytes unchanged
	ShapeDirectory                // every file of the module, below a directory of its own
	ShapeAggregate                // the AGENTS.md of all modules in one file (agentpack contract §2.8)
	ShapeCursorMDC                // AGENTS.md after the frontmatter of a Cursor rule
	ShapeCopilotMD                // AGENTS.md after the frontmatter of a VS Code instructions file
	ShapeClaudeRule               // AGENTS.md of modules with globs, after the frontmatter of a Claude Code rule; the other modules are in the aggregate
	ShapeGeminiTOML               // the single file as a TOML command
	ShapePromptSkill              // the single file as a skill that only users call
	ShapeAgentMD                  // the single file after the frontmatter of an agent of that host
	ShapeAgentTOML                // the same as TOML
	ShapeKeys                     // single keys of a document that is the user's
)

// AgentRule is one line of a table: where the modules of one type go in one scope, and in which shape.
type AgentRule struct {
	scope  deployment.Scope // User or Project
	Of     deployment.ModuleType
	option string // enables the rule
	on     bool   // default of the option
	only   choice // the rule applies to this value of the choice; no option: to all
	root   string // {dir}/slash/path
	Scan   bool
	Path   string // below the root: {file} {stem} {prompt} {key} {skill}
	Shape  shape
	// of ShapeKeys only
	Names    []string // possible names; the first, which is Path, is used for a new document
	Format   deployment.Format
	At       []string // the keys that contain the servers
	Newer    []newer  // where they are instead in documents of another shape
	Dialect  Dialect
	Lists    [][]string        // of settings: the lists that are sets, so that the user's values stay beside the managed ones; * is any key
	Events   map[string]string // of hooks: the host's names of events
	Style    string            // of hooks and permissions: their form; of agents: a field=value that all have there; of aggregates: @FILE, which it may import
	Connects bool              // only hostconfig writes there; nothing is deployed to it
}

// newer is where servers or permissions are, and in which dialect, in documents that already have them or one of the keys there.
type newer struct {
	at      []string
	keys    [][]string
	dialect Dialect
}

// ActiveRule is a rule in force: its scope is selected, its option is on, and its root is a directory.
type ActiveRule struct {
	AgentRule
	Agent   string
	Options deployment.Options
	Dir     string // absolute, native
	Project bool   // Dir depends on the project root
	OwnOnly bool   // its option is off: the rule is only for modules with a file of their own for the agent
	Newest  bool   // the present document has the newer shape: At and Dialect are those of it
}

// InDocument returns the rule for the present document: has reports whether a key exists in it.
func (l ActiveRule) InDocument(has func(key []string) bool) ActiveRule {
	for _, n := range l.Newer {
		if slices.ContainsFunc(append([][]string{n.at}, n.keys...), has) {
			l.At, l.Dialect, l.Newest = n.at, n.dialect, true
		}
	}
	return l
}

// Scope returns where the rule's files go: user or project.
func (r AgentRule) Scope() deployment.Scope { return r.scope }

// Headed reports whether the rule puts a header before the text of instructions, so that each module has a file of its own.
func (r AgentRule) Headed() bool {
	return r.Shape == ShapeCursorMDC || r.Shape == ShapeCopilotMD || r.Shape == ShapeClaudeRule
}

// ResolveContext is the context in which a table is resolved: the target's configuration, the place, and the system's paths.
type ResolveContext struct {
	Config deployment.TargetConfig
	Place  deployment.Locations
	Paths  Paths
	System string // linux, darwin or windows; empty: windows or not, by the path separator
	Own    bool   // rules with a header are in force even without their option: some module has a file of its own
}

// The option that leaves an aggregated file to the user except for one block, and its values.
const (
	modeOption  = "instructions_mode"
	modeFile    = "file"
	modeSection = "section"
)

// Section reports whether only a block of the line's aggregated file is managed.
func (l ActiveRule) Section() bool {
	return l.Shape == ShapeAggregate && l.Options.Text(modeOption, modeFile) == modeSection
}

// The option that makes a file of instructions repeat what another file says instead of importing that file, and its values.
const (
	importOption = "agents_md"
	importFile   = "import"
	importNot    = "copy"
)

// Imports returns the file that the host can import into a file of instructions, instead of a copy of it; empty: none.
func (l ActiveRule) Imports() string {
	name, ok := strings.CutPrefix(l.Style, "@")
	if !ok || l.Shape != ShapeAggregate || l.Section() || l.Options.Text(importOption, importFile) != importFile {
		return ""
	}
	return name
}

// Copying returns the option, and its value, with which a file of instructions never imports another one.
func Copying() (option, value string) { return importOption, importNot }

// Lines returns the rules in force, in the order of the table. It fails with ErrConfig for an invalid option.
func (a agent) Lines(in ResolveContext) ([]ActiveRule, error) {
	cfg := in.Config
	if !slices.Contains(a.Scopes, cfg.Scope) {
		return nil, deployment.ErrConfig.WithMessage("target %s does not support the scope %q; use one of: %s", a.Name, cfg.Scope, list(a.Scopes)).
			WithDetails(deployment.FieldDetails("target", a.Name).Add("allowed_scopes", a.Scopes))
	}
	for _, c := range append(a.choices, choice{modeOption, []string{modeFile, modeSection}}) {
		if v, given := cfg.Options[c.option]; given && !slices.Contains(c.values, cfg.Options.Text(c.option, c.values[0])) {
			return nil, deployment.ErrConfig.WithMessage("target %s has an invalid option %s: %v; use one of: %s", a.Name, c.option, v, strings.Join(c.values, ", ")).
				WithDetails(deployment.FieldDetails("target", a.Name).Add("option", c.option).Add("allowed", c.values))
		}
	}
	var out []ActiveRule
	for _, r := range a.Rules {
		off := r.option != "" && !cfg.Options.Bool(r.option, r.on)
		_, set := cfg.Options[r.option]
		own := off && !set && in.Own && r.Headed()
		if r.Connects || !cfg.Scope.Has(r.scope) || in.Place.Only != "" && !in.Place.Only.Has(r.scope) || off && !own || !a.chosen(r.only, cfg.Options) {
			continue
		}
		l := ActiveRule{AgentRule: r, Agent: a.Name, Options: cfg.Options, OwnOnly: own}
		l.Scan = r.Scan && (a.scan == "" || cfg.Options.Bool(a.scan, true))
		var err error
		if l.Dir, l.Project, err = a.root(in, r); err != nil {
			return nil, err
		}
		out = append(out, l)
	}
	return out, nil
}

// Servers returns the rule for the document with the user's own servers in one scope: the one for hostconfig, else the one that servers are deployed
// to. It fails as Lines does, and with ErrConfig if the agent has none.
func (a agent) Servers(in ResolveContext, scope deployment.Scope) (ActiveRule, error) {
	best := -1
	for i, r := range a.Rules {
		if r.Of == deployment.ModuleMCP && r.scope == scope && (best < 0 || r.Connects) {
			best = i
		}
	}
	if best < 0 {
		return ActiveRule{}, deployment.ErrConfig.WithMessage("%s does not read MCP servers for the scope %s", a.Name, scope).WithDetails(deployment.FieldDetails("target", a.Name).Add("scope", string(scope)))
	}
	l := ActiveRule{AgentRule: a.Rules[best], Agent: a.Name}
	var err error
	l.Dir, l.Project, err = a.root(in, l.AgentRule)
	return l, err
}

// Knows returns the names of the agent's options, sorted. Those of a rule's header (globs and the like) are for agents that have one.
func (a agent) Knows() []string {
	names := map[string]bool{modeOption: true, "modules": true, a.scan: true}
	for _, r := range a.Rules {
		names[ignoreOption] = names[ignoreOption] || r.scope == deployment.ScopeProject
		names[r.option] = true
		if r.Headed() {
			names["globs"], names["description"], names["always_apply"] = true, true, true
		}
	}
	for _, d := range a.dirs {
		names[d.option] = true
	}
	for _, c := range a.choices {
		names[c.option] = true
	}
	delete(names, "")
	maps.DeleteFunc(names, func(_ string, known bool) bool { return !known })
	return slices.Sorted(maps.Keys(names))
}

// chosen reports whether the options select the rule.
func (a agent) chosen(only choice, o deployment.Options) bool {
	i := slices.IndexFunc(a.choices, func(c choice) bool { return c.option == only.option })
	return i < 0 || slices.Contains(only.values, o.Text(only.option, a.choices[i].values[0]))
}

func list(scopes []deployment.Scope) string {
	var names []string
	for _, s := range scopes {
		names = append(names, string(s))
	}
	return strings.Join(names, ", ")
}

// root returns the directory that a rule's template stands for, and whether it depends on the project root.
func (a agent) root(in ResolveContext, r AgentRule) (string, bool, error) {
	n := in.Paths
	name, rest, _ := strings.Cut(strings.TrimPrefix(r.root, "{"), "}")
	rest = strings.TrimPrefix(rest, "/")
	switch name {
	case "home":
		if !n.Absolute(in.Place.UserHome) {
			return "", false, homeless(a.Name)
		}
		return n.Join(n.Clean(in.Place.UserHome), rest), false, nil
	case "project":
		if !n.Absolute(in.Place.ProjectRoot) {
			return "", false, deployment.ErrPath.WithMessage("target %s needs the project root, which is unknown", a.Name)
		}
		return n.Join(n.Clean(in.Place.ProjectRoot), rest), true, nil
	}
	i := slices.IndexFunc(a.dirs, func(d dir) bool { return d.name == name })
	base, moves, err := a.dirs[i].find(in, a.Name, r.scope)
	if err != nil {
		return "", false, err
	}
	return n.Join(base, rest), moves, nil
}

func homeless(agent string) error {
	return deployment.ErrPath.WithMessage("target %s needs the home directory, which is unknown; set HOME", agent)
}

// codexHome is the one variable whose directory is part of the place, and that is rejected if it is invalid.
const codexHome = "CODEX_HOME"

// find returns the directory that an option or the environment sets, for one scope.
func (d dir) find(in ResolveContext, agent string, scope deployment.Scope) (base string, moves bool, err error) {
	n := in.Paths
	base = in.Config.Options.Text(d.option, "")
	if len(d.bases) > 0 && (base == "" || base == d.bases[len(d.bases)-1]) { // an option equal to the default does not override the environment
		base = d.base(in)
	}
	if base == "" {
		return "", false, deployment.ErrConfig.WithMessage("target %s needs the option %s: the directory to write to", agent, d.option).
			WithDetails(deployment.FieldDetails("target", agent).Add("option", d.option))
	}
	if strings.HasPrefix(base, "~") && !n.Absolute(in.Place.UserHome) {
		return "", false, homeless(agent)
	}
	base = n.Expand(base, in.Place.UserHome)
	if !n.Absolute(base) && d.relative {
		base, moves = in.Place.ProjectRoot+string(n.Sep)+base, true
	}
	if !n.Absolute(base) || strings.ContainsRune(base, 0) {
		return "", false, deployment.ErrConfig.WithMessage("target %s has an invalid option %s: %q; use an absolute path or a path that begins with ~/", agent, d.option, base).
			WithDetails(deployment.FieldDetails("target", agent).Add("option", d.option))
	}
	base = n.Clean(base)
	if in.Config.Scope == deployment.ScopeBoth && d.split {
		base = n.Join(base, string(scope))
	}
	return base, moves, nil
}

// base returns the first of the bases that is set on this system. A variable without an absolute path is ignored.
func (d dir) base(in ResolveContext) string {
	n := in.Paths
	for _, b := range d.bases {
		if system, rest, only := strings.Cut(b, ":"); only {
			if in.system() != strings.TrimPrefix(system, "@") {
				continue
			}
			b = rest
		}
		variable, is := strings.CutPrefix(b, "$")
		if !is {
			return b
		}
		variable, below, _ := strings.Cut(variable, "/")
		value := strings.TrimSpace(in.Place.Env[variable])
		if variable == codexHome {
			value = strings.TrimSpace(in.Place.CodexHome)
		}
		if value != "" && (n.Absolute(value) || variable == codexHome) {
			return n.Join(value, below)
		}
	}
	return ""
}

// system returns the system that paths are for.
func (in ResolveContext) system() string {
	if in.System == "" && in.Paths.Sep != '/' {
		return "windows"
	}
	return in.System
}

// Variables returns the environment variables that move directories of agents, sorted.
func Variables() []string {
	var names []string
	for _, a := range AllAgents() {
		for _, d := range a.dirs {
			for _, b := range d.bases {
				if _, name, ok := strings.Cut(b, "$"); ok {
					name, _, _ = strings.Cut(name, "/")
					names = append(names, name)
				}
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Marks returns directories that exist once the agent has run. It fails as Lines does.
func (a agent) Marks(in ResolveContext) (dirs []string, err error) {
	for _, template := range a.marks {
		dir, _, err := a.root(in, AgentRule{root: template, scope: deployment.ScopeUser})
		if err != nil {
			return nil, err
		}
		dirs = append(dirs, dir)
	}
	return dirs, nil
}
