package authoring

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/target"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/ports/deployport"
)

// candidate is something that could become a module.
type candidate struct {
	deployport.Found
	module deployment.Module // Source is its destination
	scope  deployment.Scope
	from   []target.ActiveRule // of the agents that have it: one per agent, in the order of their table
	where  []string            // location in each of these
	also   []string            // other locations of exactly the same content
	name   string              // below the directory of its kind, as in its agents
	key    string              // of the document that contains it, with dots; otherwise empty
	path   []string            // the same, key by key
	tree   deployment.Tree     // its files in the form of a module
	own    deployment.Tree     // of a command or an agent: its file in its present form
	err    error               // why it has none
	prompt bool                // without the frontmatter of a command it is a prompt
	aside  string              // why it is imported but not deployed; otherwise empty
	server target.Object       // of a server, in its present form: with its secrets
	refs   []ImportReference
}

// importPlace is one of the places to search.
type importPlace struct {
	target.ActiveRule
	aside string
}

// places returns where agents store what modules could be made of. Those of a project are omitted if the home directory itself is the project.
func (s *importService) places(f found) (out []importPlace) {
	out = []importPlace{{target.ActiveRule{Agent: codexName, Dir: s.paths().Join(f.codex, "prompts"),
		AgentRule: target.AgentRule{Of: deployment.ModulePrompt, Shape: target.ShapeVerbatim, Path: "{file}"}}, target.KeptUnread}}
	for _, l := range target.Places(f.in) {
		if l.Agent == exportName || l.Scope() == deployment.ScopeProject && f.place.ProjectRoot == f.home {
			continue
		}
		out = append(out, importPlace{l, ""})
		if one, many := strings.CutSuffix(l.Dir, "s"); many && l.Agent == opencodeName && l.Scan { // which also reads commands from command, and so on
			l.Dir = one
			out = append(out, importPlace{l, asideElse})
		}
	}
	return out
}

// The agents with rules here that are not in their tables.
const (
	codexName  = "codex"
	claudeName = "claude_code"

	opencodeName = "opencode"
	exportName   = "export_dir" // no agent reads it
)

func scopeOf(l target.ActiveRule) deployment.Scope {
	return cmp.Or(l.Scope(), deployment.ScopeUser)
}

// scanner finds candidates, each directory and document read once.
type scanner struct {
	*importService
	f    *found
	dirs map[string][]deployport.Found
	docs map[string]target.Object
	real map[string]string // paths with links resolved; empty if nothing is there
	at   map[string]int    // of out, by path and key
	out  []candidate
}

// scan lists all candidates by identifier, then source.
func (s *importService) scan(ctx context.Context, f *found) ([]candidate, error) {
	c := &scanner{importService: s, f: f, dirs: map[string][]deployport.Found{}, docs: map[string]target.Object{}, real: map[string]string{}, at: map[string]int{}}
	places := s.places(*f)
	for _, p := range places {
		if err := c.look(ctx, p); err != nil {
			return nil, err
		}
	}
	c.leaveOthers(ctx, places)
	c.leaveNested(ctx)
	if err := c.present(ctx); err != nil {
		return nil, err
	}
	c.prompts(ctx)
	c.out = alike(c.out)
	c.identify()
	slices.SortStableFunc(c.out, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.module.ID, b.module.ID), cmp.Compare(a.Path, b.Path))
	})
	return c.out, nil
}

// looksFor reports whether files of a rule can be recognised and converted to modules.
func looksFor(l target.ActiveRule) bool {
	switch {
	case l.Shape == target.ShapeKeys:
		return l.Of == deployment.ModuleMCP || l.Of == deployment.ModuleSettings
	case l.Shape == target.ShapeAggregate:
		return true
	case l.Shape == target.ShapeDirectory:
		return l.Path == "{skill}"
	case l.Shape == target.ShapePromptSkill:
		return false // it is a skill
	}
	fits := slices.ContainsFunc([]string{"x.md", "x.mdc", "x.instructions.md", "x.toml", "x.prompt.md", "x.agent.md"}, func(name string) bool {
		_, ok := l.RestOf(name)
		return ok
	})
	return fits && (l.Of != deployment.ModuleInstructions || l.Headed())
}

// look finds what is at one place.
func (c *scanner) look(ctx context.Context, p importPlace) error {
	switch {
	case !looksFor(p.ActiveRule), c.leadsOut(ctx, p, p.Dir):
		return ctx.Err()
	case p.Shape == target.ShapeKeys:
		return c.keys(ctx, p)
	case p.Shape == target.ShapeAggregate:
		entries, err := c.entries(ctx, p.Dir)
		for _, e := range entries {
			if e.Name == p.Path && e.Kind != deployment.Directory {
				c.add(ctx, p, e, "")
			}
		}
		return err
	case p.Shape == target.ShapeDirectory:
		entries, err := c.entries(ctx, p.Dir)
		for _, e := range entries {
			switch {
			case strings.HasPrefix(e.Name, "."), p.Agent == claudeName && e.Name == "synced":
			case e.Kind == deployment.Directory || e.Kind == deployment.Absent:
				c.add(ctx, p, e, e.Name)
			default:
				c.f.leave(e.Path, leftForm)
			}
		}
		return err
	}
	return c.files(ctx, p, p.Dir, "", 0)
}

// deepest is the maximum depth of files below the directory of their kind.
const deepest = 6

// files finds the files of a place, including subdirectories.
func (c *scanner) files(ctx context.Context, p importPlace, dir, below string, depth int) error {
	entries, err := c.entries(ctx, dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := path.Join(below, e.Name)
		_, fits := p.RestOf(name)
		switch {
		case strings.HasPrefix(e.Name, "."):
		case fits && e.Kind != deployment.Directory:
			c.add(ctx, p, e, name)
		case e.Kind == deployment.Directory && depth < deepest && !fits:
			if c.leadsOut(ctx, p, e.Path) {
				continue
			}
			if err := c.files(ctx, p, e.Path, name, depth+1); err != nil {
				return err
			}
		default:
			c.f.leave(e.Path, leftForm)
		}
	}
	return nil
}

func (c *scanner) entries(ctx context.Context, dir string) ([]deployport.Found, error) {
	if entries, ok := c.dirs[dir]; ok {
		return entries, nil
	}
	entries, err := c.Scanner.Scan(ctx, dir)
	if err == nil {
		c.dirs[dir] = entries
	}
	return entries, err
}

// leadsOut reports a path that is reached through a link out of the home directory or, for a project, out of the project, because its content may
// belong to anybody. It names the link. Directories that a variable moves are where the user wants them.
func (c *scanner) leadsOut(ctx context.Context, p importPlace, at string) bool {
	root, reason, sep := c.f.home, leftHome, c.Compiler.Sep
	if scopeOf(p.ActiveRule) == deployment.ScopeProject {
		root, reason = c.f.place.ProjectRoot, leftProject
	}
	if !deployment.IsBelow(root, at, sep) {
		root = p.Dir
	}
	within := c.leads(ctx, root)
	for end := len(root); within != "" && end < len(at); {
		next := strings.IndexByte(at[end+1:], sep)
		if end += 1 + next; next < 0 {
			end = len(at)
		}
		if to := c.leads(ctx, at[:end]); to != "" && !deployment.IsBelow(within, to, sep) {
			c.f.leave(at[:end], reason)
			return true
		}
	}
	return false
}

// leads returns the target of a path; empty if nothing is there.
func (c *scanner) leads(ctx context.Context, path string) string {
	to, known := c.real[path]
	if !known {
		to, _ = c.Scanner.Real(ctx, path) // nothing is imported of what does not exist
		c.real[path] = to
	}
	return to
}

// add records a candidate, or one more agent that has it.
func (c *scanner) add(ctx context.Context, p importPlace, e deployport.Found, name string) {
	if e.Link && c.leadsOut(ctx, p, e.Path) {
		return
	}
	if i, known := c.at[e.Path]; known {
		have := &c.out[i]
		switch same := slices.ContainsFunc(have.from, func(l target.ActiveRule) bool { return l.Agent == p.Agent }); {
		case same && have.module.Type == deployment.ModuleCommand && p.Of == deployment.ModulePrompt:
			have.prompt = true
		case !same && have.module.Type == p.Of:
			have.from, have.where = append(have.from, p.ActiveRule), append(have.where, e.Path)
		}
		return
	}
	one := candidate{Found: e, module: deployment.Module{Type: p.Of, Enabled: true, Scope: scopeOf(p.ActiveRule)}, scope: scopeOf(p.ActiveRule),
		from: []target.ActiveRule{p.ActiveRule}, where: []string{e.Path}, name: name, aside: p.aside}
	c.read(ctx, &one)
	c.at[e.Path] = len(c.out)
	c.out = append(c.out, one)
}

// read makes the files of a module from what is there.
func (c *scanner) read(ctx context.Context, one *candidate) {
	if one.Kind == deployment.Absent {
		return
	}
	if one.tree, one.err = c.Scanner.Tree(ctx, one.Path); one.err != nil || one.module.Type == deployment.ModuleSkill || len(one.tree) != 1 {
		return
	}
	l, file := one.from[0], &one.tree[0]
	if one.module.Type == deployment.ModuleCommand || one.module.Type == deployment.ModuleAgent {
		one.own = slices.Clone(one.tree)
	}
	if l.Shape == target.ShapeVerbatim {
		return
	}
	data, err := c.content(ctx)(file.Content)
	if err != nil {
		one.tree, one.err = nil, err
		return
	}
	switch {
	case l.Shape == target.ShapeGeminiTOML:
		one.name = strings.TrimSuffix(one.name, ".toml") + ".md"
		text, err := target.CommandOfTOML(data)
		if err != nil {
			one.tree, one.err = nil, deployment.ErrConfig.WithMessage("%s", fault.From(err).Message)
			return
		}
		*file = made(path.Base(one.name), text)
	case l.Shape == target.ShapeAgentMD || l.Shape == target.ShapeAgentTOML:
		stem := strings.TrimSuffix(one.name, ".md")
		for _, ext := range []string{".toml", ".agent"} {
			stem = strings.TrimSuffix(stem, ext)
		}
		one.name = stem + ".md"
		text, err := target.AgentOf(l.Agent, path.Base(stem), l.Shape == target.ShapeAgentTOML, data, c.Compiler.Configs.Frontmatter)
		if err != nil {
			one.tree, one.err = nil, deployment.ErrConfig.WithMessage("%s", fault.From(err).Message)
			return
		}
		*file = made(path.Base(one.name), text)
	case l.Headed():
		head, body := target.SplitHeader(data)
		one.tree = deployment.Tree{made("AGENTS.md", body), made(l.Agent+"/"+one.name, head)}
		one.tree.Sort()
	default:
		file.Path = "AGENTS.md"
	}
}

func made(path string, data []byte) deployment.File {
	return deployment.File{Path: path, Mode: deployment.PlainMode, Content: deployment.ContentOf(data)}
}

// prompts converts files among commands that are not commands to prompts, if the agents support both.
func (c *scanner) prompts(ctx context.Context) {
	for i := range c.out {
		one := c.out[i]
		if !one.prompt || one.err != nil || len(one.tree) != 1 {
			continue
		}
		one.module.ID, one.module.Source.Local = "command:x", "x"
		if c.valid(one, one.tree, c.content(ctx)) == nil {
			continue
		}
		if one.module.Type, one.module.ID = deployment.ModulePrompt, "prompt:x"; c.valid(one, one.tree, c.content(ctx)) == nil {
			c.out[i].module.Type = deployment.ModulePrompt
		}
	}
}

// content returns the content of a file, read or generated.
func (s *importService) content(ctx context.Context) func(deployment.Content) ([]byte, error) {
	return func(content deployment.Content) ([]byte, error) {
		if content.Data != nil {
			return content.Data, nil
		}
		return s.Compiler.Sources.Content(ctx, content)
	}
}

// alike merges candidates that are the same for several agents.
func alike(all []candidate) (out []candidate) {
	at := map[string]int{}
	for _, one := range all {
		key := ""
		if one.err == nil && len(one.tree) > 0 && one.aside == "" {
			key = strings.Join([]string{string(one.module.Type), string(one.scope), one.name, one.tree.Sum().String()}, "\x00")
			for _, f := range one.tree {
				key += f.Mode.String()
			}
		}
		i, known := at[key]
		if key == "" || !known {
			if key != "" {
				at[key] = len(out)
			}
			out = append(out, one)
			continue
		}
		have := &out[i]
		have.also = append(have.also, one.Path)
		for n, l := range one.from {
			if !slices.ContainsFunc(have.from, func(h target.ActiveRule) bool { return h.Agent == l.Agent }) {
				have.from, have.where = append(have.from, l), append(have.where, one.where[n])
			}
		}
		have.refs = append(have.refs, one.refs...)
	}
	return out
}

// present keeps, of the agents that could have a file, those that exist: configured, or with a directory of their own. If none exists, the first of
// the table is kept.
func (c *scanner) present(ctx context.Context) error {
	here, marks := map[string]bool{}, map[string][]string{}
	var look []string
	for _, name := range target.TargetNames() {
		_, here[name] = c.f.config.Manifest.Targets[name]
		marks[name] = target.MarksOf(c.f.in, name)
		look = append(look, marks[name]...)
	}
	o, err := c.Machine.Observe(ctx, deployport.Look{Place: c.f.at, Paths: look, GoOn: true})
	if err != nil {
		return err
	}
	for name, dirs := range marks {
		here[name] = here[name] || slices.ContainsFunc(dirs, func(dir string) bool { return o.Files[dir].Kind == deployment.Directory })
	}
	for _, one := range c.out {
		if len(one.from) == 1 {
			here[one.from[0].Agent] = true
		}
	}
	for i := range c.out {
		one := &c.out[i]
		first := 0
		for n, l := range one.from {
			if here[l.Agent] {
				one.from[first], one.where[first] = one.from[n], one.where[n]
				first++
			}
		}
		one.from, one.where = one.from[:max(first, 1)], one.where[:max(first, 1)]
	}
	return nil
}

// identify sets every candidate's identifier, its path in the config repository, and the other fields of its module.
func (c *scanner) identify() {
	taken := map[string]string{}
	for i := range c.out {
		one := &c.out[i]
		m, agent := &one.module, one.from[0].Agent
		name, ofProject := one.called(c.f.place.ProjectRoot), one.scope == deployment.ScopeProject
		if ofProject {
			name = strings.TrimSuffix(profileOf(c.f.at)+"-"+name, "-")
		}
		if by, used := taken[string(m.Type)+":"+name]; used && by != agent {
			name += "-" + agent
		}
		m.ID = string(m.Type) + ":" + name
		if _, used := taken[m.ID]; !used {
			taken[m.ID] = agent
		}
		m.Source.Local = one.into(c.f.at, name)
		switch {
		case m.Type == deployment.ModuleSkill && one.name != name,
			m.Type != deployment.ModuleInstructions && strings.Contains(one.name, "/"):
			m.Called = one.name
		}
		m.Targets = nil
		for _, l := range one.from {
			m.Targets = append(m.Targets, l.Agent)
		}
		one.tag(c.f.at)
	}
}

func (c *candidate) tag(at deployment.Locations) {
	c.module.Tags = append([]string{"base", "imported", "user"}, c.module.Targets...)
	if c.scope == deployment.ScopeProject {
		c.module.Tags = append([]string{"imported", "project", profileOf(at)}, c.module.Targets...)
	}
}

// called returns the candidate's own part of its identifier; empty for the instructions at a project's root.
func (c *candidate) called(root string) string {
	switch {
	case c.module.Type == deployment.ModuleSettings:
		return c.from[0].Agent
	case c.module.Type == deployment.ModuleInstructions && c.name == "":
		if c.scope == deployment.ScopeProject && c.Name == "AGENTS.md" && c.from[0].Dir == root {
			return ""
		}
		return c.from[0].Agent
	case c.module.Type == deployment.ModuleSkill || c.module.Type == deployment.ModuleMCP:
		return component(c.name)
	}
	stem := c.name
	for _, ext := range []string{".md", ".mdc", ".prompt", ".instructions"} {
		stem = strings.TrimSuffix(stem, ext)
	}
	return component(stem)
}

// into returns a candidate's destination in the config repository (agentpack contract §5.13).
func (c *candidate) into(at deployment.Locations, name string) string {
	whose := "user"
	if c.scope == deployment.ScopeProject {
		whose = profileOf(at)
	}
	agent := c.from[0].Agent
	switch c.module.Type {
	case deployment.ModulePrompt:
		if agent == codexName {
			return "modules/prompts/imported/" + c.name
		}
		return path.Join("modules/prompts/imported", agent, whose, c.name)
	case deployment.ModuleCommand:
		if agent == claudeName {
			return path.Join("modules/claude-commands/imported", whose, c.name)
		}
		return path.Join("modules/commands/imported", agent, whose, c.name)
	case deployment.ModuleAgent, deployment.ModuleStyle:
		return path.Join("modules", string(c.module.Type)+"s", "imported", agent, whose, c.name)
	case deployment.ModuleInstructions:
		if name == profileOf(at) {
			name = at.ProjectID
		}
		return "modules/instructions/imported/" + name
	case deployment.ModuleSkill:
		return "modules/skills/imported/" + name
	}
	return "modules/" + string(c.module.Type) + "/imported/" + name
}

// The reasons for leaving something out, besides those in the table of what agents keep.
const (
	leftDeployed = "written_by_a_deployment"
	leftForm     = "not_of_the_expected_form" // not like files of that kind
	leftSecret   = "literal_secret"
	leftNested   = "of_a_part_of_the_project"
	leftSchema   = "stays_in_the_document" // it names the form of the document
	leftHome     = "link_out_of_home"      // it is reached through a link out of the user's home directory
	leftProject  = "link_out_of_project"   // likewise, out of the project
)

// ImportLeftOut is something that agents store and that is not a candidate.
type ImportLeftOut struct {
	Key         string `json:"key,omitempty"` // of a document that is searched
	Reason      string `json:"reason"`
	Source      string `json:"source_path"`
	SourcePosix string `json:"source_path_posix"`
}

func (f *found) leave(path, reason string) { f.leaveKey(path, "", reason) }

func (f *found) leaveKey(path, key, reason string) {
	one := ImportLeftOut{key, reason, path, deployment.PosixPath(path)}
	if !slices.Contains(f.left, one) {
		f.left = append(f.left, one)
	}
}

// leaveOthers reports what agents store outside all places. What cannot be read is not reported: it would not be imported anyway.
func (c *scanner) leaveOthers(ctx context.Context, places []importPlace) {
	sep := c.Compiler.Sep
	for _, k := range target.KeptApart(c.f.in) {
		if k.Scope == deployment.ScopeProject && c.f.place.ProjectRoot == c.f.home {
			continue
		}
		looked := slices.ContainsFunc(places, func(p importPlace) bool {
			at := p.Dir
			if p.Shape == target.ShapeAggregate || p.Shape == target.ShapeKeys {
				at = c.paths().Join(p.Dir, p.Path)
			}
			return looksFor(p.ActiveRule) && deployment.IsBelow(k.Path, at, sep)
		})
		if k.Reason == target.KeptKind && looked {
			continue
		}
		dir, name := k.Path[:strings.LastIndexByte(k.Path, sep)], k.Path[strings.LastIndexByte(k.Path, sep)+1:]
		entries, err := c.entries(ctx, dir)
		if err != nil {
			continue
		}
		for _, e := range entries {
			if fits, err := path.Match(name, e.Name); err == nil && fits {
				c.f.leave(e.Path, k.Reason)
			}
		}
	}
}

// The limits of the search for instructions below a project's root: they are reported, not imported.
const (
	nestedDepth = 3
	nestedDirs  = 400
)

// leaveNested reports instructions for parts of a project. Hidden directories and those of installed files are skipped.
func (c *scanner) leaveNested(ctx context.Context) {
	type level struct {
		dir   string
		depth int
	}
	queue := []level{{c.f.place.ProjectRoot, 0}}
	if c.f.place.ProjectRoot == c.f.home || !c.f.place.Marked {
		return
	}
	for n := 0; n < len(queue) && n < nestedDirs; n++ {
		entries, err := c.Scanner.Scan(ctx, queue[n].dir)
		if err != nil {
			return
		}
		for _, e := range entries {
			switch {
			case e.Kind == deployment.Directory && !e.Link && queue[n].depth < nestedDepth && !strings.HasPrefix(e.Name, ".") &&
				!slices.Contains([]string{"node_modules", "vendor", "third_party", "target", "dist", "build"}, e.Name):
				queue = append(queue, level{e.Path, queue[n].depth + 1})
			case e.Kind == deployment.Regular && queue[n].depth > 0 && slices.Contains([]string{"AGENTS.md", "CLAUDE.md", "GEMINI.md"}, e.Name):
				c.f.leave(e.Path, leftNested)
			}
		}
	}
}

// component returns a name as part of an identifier: lower-case ASCII letters, digits, - and _; each other character becomes a -, none at either end.
func component(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-', r == '_':
			return r
		}
		return '-'
	}, name)
	return cmp.Or(strings.Trim(name, "-"), "item")
}
