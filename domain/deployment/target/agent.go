package target

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/deployment"
)

// agent is the table of one coding agent.
type agent struct {
	Name    string
	Scopes  []deployment.Scope
	Rules   []AgentRule
	dirs    []dir
	choices []choice
	scan    string // the option that takes scan_extras away; empty: there is none
}

// dir is a directory that an option names and that templates of roots begin with. {home} and {project} are known everywhere.
type dir struct {
	name      string // in templates
	option    string
	otherwise string // when the option is absent; empty: it has to be there
	env       bool   // $CODEX_HOME stands between the option and otherwise
	relative  bool   // a relative path is below the project root; otherwise it is refused
	split     bool   // with scope both, a subdirectory for each scope
}

// choice is an option with a few possible texts; the first is the default.
type choice struct {
	option string
	values []string
}

// shape is how the files of modules become the agent's.
type shape uint8

// The shapes.
const (
	ShapeVerbatim   shape = iota // the module's single file, its bytes unchanged
	ShapeDirectory               // every file of the module, below a directory of its own
	ShapeAggregate               // the AGENTS.md of all modules in one file (agentpack contract §2.8)
	ShapeCursorMDC               // AGENTS.md behind the frontmatter of a Cursor rule
	ShapeCopilotMD               // AGENTS.md behind the frontmatter of a VS Code instructions file
	ShapeGeminiTOML              // the single file as a TOML command
	ShapeKeys                    // single keys of a document that is the user's
)

// AgentRule is one line of a table: where the modules of one type go in one scope, and as what.
type AgentRule struct {
	scope  deployment.Scope // User or Project
	Of     deployment.ModuleType
	option string // switches the rule
	on     bool   // without the option
	only   choice // the rule is for this value of the choice; no option: for all
	root   string // {dir}/slash/path
	Scan   bool
	Path   string // below the root: {file} {stem} {prompt} {key} {skill}
	Shape  shape
	// of shape Keys alone
	Format  deployment.Format
	At      string // the key that servers stand below
	Dialect Dialect
}

// ActiveRule is a rule that is in force: its scope is chosen, its option is on, and its root is a directory.
type ActiveRule struct {
	AgentRule
	Agent   string
	Options deployment.Options
	Dir     string // absolute, native
	Project bool   // Dir is where it is because the project root is
}

// ResolveContext is what a table is resolved with: the target as it is configured, the place, and the system's paths.
type ResolveContext struct {
	Config deployment.TargetConfig
	Place  deployment.Place
	Paths  Paths
}

// The option that lets an aggregated file stay its user's, except for one block, and its values.
const (
	modeOption  = "instructions_mode"
	modeFile    = "file"
	modeSection = "section"
)

// Section reports whether only a block of the line's aggregated file is ours.
func (l ActiveRule) Section() bool {
	return l.Shape == ShapeAggregate && l.Options.Text(modeOption, modeFile) == modeSection
}

// Lines are the rules in force, in the order of the table. It fails with ErrConfig on an option that cannot be.
func (a agent) Lines(in ResolveContext) ([]ActiveRule, error) {
	cfg := in.Config
	if !slices.Contains(a.Scopes, cfg.Scope) {
		return nil, deployment.ErrConfig.Sayf("target %s cannot have the scope %q; it can have: %s", a.Name, cfg.Scope, list(a.Scopes)).
			With(deployment.FieldDetails("target", a.Name).Add("allowed_scopes", a.Scopes))
	}
	for _, c := range append(a.choices, choice{modeOption, []string{modeFile, modeSection}}) {
		if v, given := cfg.Options[c.option]; given && !slices.Contains(c.values, cfg.Options.Text(c.option, c.values[0])) {
			return nil, deployment.ErrConfig.Sayf("target %s has the option %s: %v; it can be: %s", a.Name, c.option, v, strings.Join(c.values, ", ")).
				With(deployment.FieldDetails("target", a.Name).Add("option", c.option).Add("allowed", c.values))
		}
	}
	var out []ActiveRule
	for _, r := range a.Rules {
		if !cfg.Scope.Has(r.scope) || in.Place.Only != "" && !in.Place.Only.Has(r.scope) || r.option != "" && !cfg.Options.Bool(r.option, r.on) || !a.chosen(r.only, cfg.Options) {
			continue
		}
		l := ActiveRule{AgentRule: r, Agent: a.Name, Options: cfg.Options}
		l.Scan = r.Scan && (a.scan == "" || cfg.Options.Bool(a.scan, true))
		var err error
		if l.Dir, l.Project, err = a.root(in, r); err != nil {
			return nil, err
		}
		out = append(out, l)
	}
	return out, nil
}

// Knows are the names of the options that the agent has, sorted. Those of a rule's header (globs and the like) are for agents that have one.
func (a agent) Knows() []string {
	names := map[string]bool{modeOption: true, "modules": true, a.scan: true}
	for _, r := range a.Rules {
		names[r.option] = true
		if r.Shape == ShapeCursorMDC || r.Shape == ShapeCopilotMD {
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
	return slices.Sorted(maps.Keys(names))
}

// chosen reports whether the options choose what a rule is for.
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

// root is the directory that a rule's template stands for, and whether it moves with the project root.
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
			return "", false, deployment.ErrPath.Sayf("target %s needs the project root, and none is known", a.Name)
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
	return deployment.ErrPath.Sayf("target %s needs the home directory, and none is known; set HOME", agent)
}

// find is the directory that an option names, for one scope.
func (d dir) find(in ResolveContext, agent string, scope deployment.Scope) (base string, moves bool, err error) {
	n := in.Paths
	base = in.Config.Options.Text(d.option, "")
	if d.env && (base == "" || base == d.otherwise) { // a default that was written out does not outrank the environment
		base = strings.TrimSpace(in.Place.CodexHome)
	}
	if base = cmp.Or(base, d.otherwise); base == "" {
		return "", false, deployment.ErrConfig.Sayf("target %s needs the option %s: the directory to write to", agent, d.option).
			With(deployment.FieldDetails("target", agent).Add("option", d.option))
	}
	if strings.HasPrefix(base, "~") && !n.Absolute(in.Place.UserHome) {
		return "", false, homeless(agent)
	}
	base = n.Expand(base, in.Place.UserHome)
	if !n.Absolute(base) && d.relative {
		base, moves = in.Place.ProjectRoot+string(n.Sep)+base, true
	}
	if !n.Absolute(base) || strings.ContainsRune(base, 0) {
		return "", false, deployment.ErrConfig.Sayf("target %s has the option %s: %q, which is no absolute path and does not begin with ~/", agent, d.option, base).
			With(deployment.FieldDetails("target", agent).Add("option", d.option))
	}
	base = n.Clean(base)
	if in.Config.Scope == deployment.ScopeBoth && d.split {
		base = n.Join(base, string(scope))
	}
	return base, moves, nil
}
