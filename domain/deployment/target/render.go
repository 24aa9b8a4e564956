package target

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/fault"
)

// renderer makes the output of one call. It keeps what it reads or makes of a module, because targets need the same things.
type renderer struct {
	Paths
	in      Input
	out     Output
	at      map[string]int // by path: the latest of out.Files
	shared  [][2]int       // of out.Files: the same path for two targets
	read    map[spot][]byte
	objects map[spot]Object
	made    map[string]deployment.Content
	warned  map[string]bool
	outside []string            // targets with files for a project, if there is no project
	common  map[string][]Module // by path: the instructions of all targets that share the file
	imports map[string]string   // by path: the file beside it with the same content
	ruling  map[string][]effect // by path: the permissions in a document in which the last matching rule wins
}

// job is the rendering for one target.
type job struct {
	agent agent
	lines []line
	mine  map[deployment.ModuleType][]Module
}

// spot is a path of a module, and whether it is in its tree for the user.
type spot struct {
	module, path string
	user         bool
}

// Render returns the desired files of the chosen targets. It reads only what must be rewritten, each file once, and copies nothing else. Files for a
// project are omitted, with a warning, if the directory is not one: a git worktree, or a directory that was named explicitly; if only the project's
// files were requested, that is ErrProject. It fails with ErrConfig for invalid options and modules, with ErrDesired if two modules or two targets
// want different content at one place, and as Read does.
func Render(in Input) (Output, error) {
	r := &renderer{Paths: Paths{Sep: in.Sep}, in: in, read: map[spot][]byte{}, objects: map[spot]Object{},
		made: map[string]deployment.Content{}, warned: map[string]bool{}}
	jobs, err := r.jobs()
	if err != nil {
		return Output{}, err
	}
	n := expected(jobs)
	r.at, r.out.Files = make(map[string]int, n), make([]deployment.Desired, 0, n)
	for i := range jobs {
		if err := r.render(&jobs[i]); err != nil {
			return Output{}, err
		}
	}
	err = r.ignored(jobs)
	if err == nil {
		err = r.finish()
	}
	if err != nil {
		return Output{}, err
	}
	return r.out, nil
}

// jobs returns those of the chosen targets, after deciding what the files of instructions of all targets hold and import.
func (r *renderer) jobs() ([]job, error) {
	jobs := make([]job, len(r.in.Chosen))
	for i, name := range r.in.Chosen {
		var err error
		if jobs[i].agent, jobs[i].lines, err = linesOf(r.in, name); err != nil {
			return nil, err
		}
		jobs[i].mine = r.mine(jobs[i].agent)
	}
	r.share(r.withOthers(jobs))
	return jobs, nil
}

func (r *renderer) render(j *job) error {
	r.strangers(j.agent)
	for i := range j.lines {
		l := &j.lines[i]
		of := forScope(j.mine[l.Of], l.scope, r.in.Place)
		if l.Project && !r.in.Place.Marked {
			if len(of) > 0 && !slices.Contains(r.outside, l.Agent) {
				r.outside = append(r.outside, l.Agent)
			}
			continue
		}
		wanted, err := r.line(l, of)
		if err != nil {
			return err
		}
		if l.always() || wanted {
			r.out.Roots = append(r.out.Roots, deployment.Root{Target: l.Agent, Path: l.Dir, ScanExtras: l.Scan})
		}
	}
	r.leftOut(j.agent, j.mine)
	r.switchedOff(j.agent, j.lines, j.mine)
	return nil
}

// forScope returns the modules for files of the scope, with or without the overlays of this project as the scope needs.
func forScope(of []Module, scope deployment.Scope, at deployment.Locations) []Module {
	out := make([]Module, 0, len(of))
	for _, m := range of {
		if !m.In(scope, at.ProjectID) {
			continue
		}
		if m.UserTree != nil && scope == deployment.ScopeUser {
			m.Tree, m.user = m.UserTree, true
		}
		out = append(out, m)
	}
	return out
}

// always reports whether a line's directory is examined even if nothing goes there, as the contract requires for its own types of modules.
func (l *line) always() bool {
	switch l.Of {
	case deployment.ModuleInstructions, deployment.ModuleSkill, deployment.ModulePrompt, deployment.ModuleCommand:
		return l.Shape != ShapeKeys && l.Shape != ShapeClaudeRule && !l.OwnOnly
	}
	return false
}

// withOthers returns the jobs, and those of targets that were not chosen: their parts of a file stay in it. Errors of those targets are ignored here.
func (r *renderer) withOthers(jobs []job) []job {
	all := slices.Clone(jobs)
	for _, name := range slices.Sorted(maps.Keys(r.in.Targets)) {
		if slices.Contains(r.in.Chosen, name) {
			continue
		}
		if a, lines, err := linesOf(r.in, name); err == nil {
			all = append(all, job{a, lines, r.mine(a)})
		}
	}
	return all
}

// wish is what a target wants in a file of instructions.
type wish struct {
	target  string
	scope   deployment.Scope
	modules []Module
}

// share finds the files of instructions that several targets have. All of their agents read the whole file, so it holds the instructions for each of
// them.
func (r *renderer) share(jobs []job) {
	wishes := map[string][]wish{}
	for _, j := range jobs {
		for _, l := range j.lines {
			if l.Project && !r.in.Place.Marked {
				continue
			}
			if of := forScope(j.mine[l.Of], l.scope, r.in.Place); l.Shape == ShapeAggregate && !l.ruled && !l.Section() && len(of) > 0 {
				path := r.Join(l.Dir, l.Path)
				wishes[path] = append(wishes[path], wish{l.Agent, l.scope, of})
			}
		}
	}
	r.common = map[string][]Module{}
	for _, path := range slices.Sorted(maps.Keys(wishes)) {
		if len(wishes[path]) < 2 {
			continue
		}
		var all []Module
		for _, m := range forScope(r.in.Modules, wishes[path][0].scope, r.in.Place) {
			var with, without []string
			for _, w := range wishes[path] {
				if slices.ContainsFunc(w.modules, func(o Module) bool { return o.ID == m.ID }) {
					with = append(with, w.target)
				} else {
					without = append(without, w.target)
				}
			}
			if len(with) == 0 {
				continue
			}
			all = append(all, m)
			if len(without) > 0 && slices.ContainsFunc(without, func(name string) bool { return slices.Contains(r.in.Chosen, name) }) {
				r.warn(fmt.Sprintf("module %s does not have %s as a target, but it is read there: it is in %s, for %s", m.ID, strings.Join(without, ", "), path, strings.Join(with, ", ")))
			}
		}
		r.common[path] = all
	}
	r.importing(jobs, wishes)
}

// importing finds the files of instructions that would repeat another one that the host can import, so that the text is written once.
func (r *renderer) importing(jobs []job, wishes map[string][]wish) {
	r.imports = map[string]string{}
	for _, j := range jobs {
		for i := range j.lines {
			l := &j.lines[i]
			name := l.Imports()
			if name == "" || l.Project && !r.in.Place.Marked {
				continue
			}
			other := r.Join(l.Dir, name)
			there, shared := r.common[other]
			if !shared && len(wishes[other]) == 1 {
				there = wishes[other][0].modules
			}
			mine := slices.DeleteFunc(forScope(j.mine[l.Of], l.scope, r.in.Place), func(m Module) bool { return !l.takes(m) })
			if len(mine) == 0 || !slices.EqualFunc(mine, there, func(a, b Module) bool { return a.ID == b.ID && a.user == b.user }) {
				continue
			}
			path := r.Join(l.Dir, l.Path)
			r.imports[path] = name
			written := slices.ContainsFunc(wishes[other], func(w wish) bool { return slices.Contains(r.in.Chosen, w.target) })
			if slices.Contains(r.in.Chosen, l.Agent) && !written {
				r.warn(fmt.Sprintf("%s imports %s, which is written for %s; deploy that target too", path, name, wishes[other][0].target))
			}
		}
	}
}

// strangers warns of options that the agent does not have: a mistyped name would otherwise be ignored silently.
func (r *renderer) strangers(a agent) {
	known := a.Knows()
	for _, name := range slices.Sorted(maps.Keys(r.in.Targets[a.Name].Options)) {
		if slices.Contains(known, name) {
			continue
		}
		hint := "it has: " + strings.Join(known, ", ")
		if near := fault.Nearest(name, known); near != "" {
			hint = "did you mean " + near + "?"
		}
		r.warn(fmt.Sprintf("target %s has an unknown option %s, which is ignored; %s", a.Name, name, hint))
	}
}

// mine returns the modules that an agent gets, by type.
func (r *renderer) mine(a agent) map[deployment.ModuleType][]Module {
	mine := map[deployment.ModuleType][]Module{}
	for _, m := range r.in.Modules {
		if m.For(a.Name) {
			mine[m.Type] = append(mine[m.Type], m)
		}
	}
	return mine
}

// expected returns roughly how many files there will be, so that memory for tens of thousands is allocated once.
func expected(jobs []job) (n int) {
	for _, j := range jobs {
		for i := range j.lines {
			for _, m := range j.mine[j.lines[i].Of] {
				if n++; j.lines[i].Shape == ShapeDirectory {
					n += len(m.Tree) - 1
				}
			}
		}
	}
	return n
}

// line adds what one line takes from the modules of its type, and reports whether there was anything.
func (r *renderer) line(l *line, of []Module) (bool, error) {
	if l.Of == deployment.ModuleInstructions && (l.ruled || l.headed || l.Headed()) {
		of = slices.DeleteFunc(slices.Clone(of), func(m Module) bool { return !l.takes(m) })
	}
	switch {
	case len(of) == 0:
		return false, nil
	case l.Shape == ShapeKeys:
		return r.keys(l, of)
	case l.Shape == ShapeAggregate:
		return true, r.aggregate(l, of)
	}
	for _, m := range of {
		if err := r.module(l, m); err != nil {
			return false, err
		}
	}
	return true, nil
}

// module adds the files that the line takes from one module.
func (r *renderer) module(l *line, m Module) error {
	ids := []string{m.ID} // shared: merging replaces it
	if l.Shape != ShapeDirectory {
		s, err := l.source(m)
		if err != nil {
			return err
		}
		content, mode, err := r.form(l, m, s.file, s.rel)
		if err != nil || mode == 0 {
			return err
		}
		return r.put(l, s.rel, deployment.Desired{Mode: mode, Content: content, Modules: ids})
	}
	base, err := l.directory(m, r.Paths)
	if err == nil {
		err = r.Confined(base)
	}
	if err != nil {
		return err
	}
	before := r.Join(l.Dir, base+"/")
	for i := range m.Tree {
		f := &m.Tree[i]
		if err := r.Confined(f.Path); err != nil {
			return err
		}
		d := deployment.Desired{Path: before + r.Slashes(f.Path), Mode: deployment.ModeOf(f.Mode), Content: f.Content, Modules: ids}
		if err := r.add(l, &d); err != nil {
			return err
		}
	}
	return nil
}

// form returns the content and mode of the file that the line makes from a module's, at that path below its directory; no mode if it makes none.
func (r *renderer) form(l *line, m Module, f deployment.File, at string) (deployment.Content, fs.FileMode, error) {
	if m.AsIs && (path.Ext(f.Path) != path.Ext(at) || l.Shape == ShapePromptSkill) {
		r.warn("target " + l.Agent + " does not get " + m.ID + ", which is copied unchanged to its targets: " + f.Path + " is in the format of another host")
		return deployment.Content{}, 0, nil
	}
	if l.Shape == ShapeVerbatim || m.AsIs {
		return f.Content, deployment.ModeOf(f.Mode), nil
	}
	data, err := r.bytes(m, f)
	if err != nil {
		return deployment.Content{}, 0, err
	}
	if l.Shape == ShapeAgentMD || l.Shape == ShapeAgentTOML {
		data, wanted, err := r.agent(l, m, data)
		if err != nil || !wanted {
			return deployment.Content{}, 0, err
		}
		return deployment.ContentOf(data), deployment.PlainMode, nil
	}
	if head, own, err := r.header(l, m); err != nil || own {
		return deployment.ContentOf(append([]byte(head), data...)), deployment.PlainMode, err
	}
	data, err = l.encode(m, data)
	return deployment.ContentOf(data), deployment.PlainMode, err
}

// header returns what precedes a module's text in the line's form, and whether it is exactly the module's own.
func (r *renderer) header(l *line, m Module) (head string, own bool, err error) {
	if !l.Headed() {
		return "", false, nil
	}
	if f, _, own := ownFile(m, l.Agent); own {
		data, err := r.bytes(m, f)
		return string(data), true, err
	}
	head, err = l.frontmatter(m)
	return head, false, err
}

// encode returns a module's file in the line's form.
func (l line) encode(m Module, data []byte) ([]byte, error) {
	switch l.Shape {
	case ShapeCursorMDC, ShapeCopilotMD, ShapeClaudeRule:
		head, err := l.frontmatter(m)
		return WrapHeader(head, data), err
	case ShapePromptSkill:
		return PromptToSkill(l.prompts[m.ID], data), nil
	case ShapeGeminiTOML:
		out, err := CommandToTOML(data)
		if err != nil {
			return nil, unusable(l.Agent, m, m.Tree[0].Path, err)
		}
		return out, nil
	}
	return data, nil
}

func (l line) frontmatter(m Module) (string, error) {
	h, err := l.header(m)
	switch l.Shape {
	case ShapeCursorMDC:
		return h.Cursor(), err
	case ShapeClaudeRule:
		return h.Claude(), err
	}
	return h.Copilot(), err
}

// unusable returns an error about the content of a module's file.
func unusable(target string, m Module, file string, err error) error {
	return deployment.ErrConfig.WithMessage("module %s, file %s, for target %s: %v", m.ID, file, target, err).WithCause(err).
		WithDetails(deployment.ReasonDetails("module_content_invalid", "fix_config", "retry_command").Add("target", target).Add("module_id", m.ID).Add("path", file).Add("error", err.Error()))
}

// bytes returns the content of a module's file, read once.
func (r *renderer) bytes(m Module, f deployment.File) ([]byte, error) {
	if f.Content.Data != nil {
		return f.Content.Data, nil
	}
	at := spot{m.ID, f.Path, m.user}
	data, ok := r.read[at]
	if !ok {
		var err error
		if data, err = r.in.Read(f.Content); err != nil {
			return nil, err
		}
		r.read[at] = data
	}
	return data, nil
}

// aggregate adds the one file of all instructions, or the block of it (agentpack contract §2.8).
func (r *renderer) aggregate(l *line, of []Module) error {
	if all, shared := r.common[r.Join(l.Dir, l.Path)]; shared && !l.Section() {
		of = all
	}
	var ids []string
	var files []deployment.File
	for _, m := range of {
		s, err := l.source(m)
		if err != nil {
			return err
		}
		ids, files = append(ids, m.ID), append(files, s.file)
	}
	d := deployment.Desired{Mode: deployment.PlainMode, Modules: ids}
	if name := r.imports[r.Join(l.Dir, l.Path)]; name != "" {
		d.Content = deployment.ContentOf([]byte(importing(name)))
		return r.put(l, l.Path, d)
	}
	if len(of) == 1 && !l.Section() {
		d.Content = files[0].Content
		return r.put(l, l.Path, d)
	}
	content, err := r.joined(of, files, ids)
	if err != nil {
		return err
	}
	if d.Content = content; l.Section() {
		d.Content, d.Part = deployment.Content{}, &deployment.Part{Format: deployment.FormatMarkdown, Block: string(content.Data)}
	}
	return r.put(l, l.Path, d)
}

// importing returns a file of instructions that only imports another one.
func importing(name string) string { return "@" + name + "\n" }

// joined returns the instructions of modules in one text, made once for all targets with the same modules.
func (r *renderer) joined(of []Module, files []deployment.File, ids []string) (deployment.Content, error) {
	key := ""
	for _, m := range of {
		key += fmt.Sprintf("%s\x00%t\x00", m.ID, m.user)
	}
	if content, ok := r.made[key]; ok {
		return content, nil
	}
	sections := make([]deployment.Section, len(of))
	for i, m := range of {
		data, err := r.bytes(m, files[i])
		if err != nil {
			return deployment.Content{}, err
		}
		sections[i] = deployment.Section{ID: m.ID, Text: string(data)}
		if len(of) > 1 && deployment.HasSectionMarks(sections[i].Text) {
			r.warn("module " + m.ID + " has lines in " + instructionsFile + " that look like the marks between modules, so edits of the deployed file cannot be traced to the module")
		}
	}
	r.made[key] = deployment.ContentOf([]byte(deployment.JoinSections(sections)))
	return r.made[key], nil
}

func (r *renderer) warn(text string) {
	if !r.warned[text] {
		r.warned[text] = true
		r.out.Warnings = append(r.out.Warnings, text)
	}
}

// switchedOff warns which modules a target omits because the option that writes them is off by default and not set. Setting it, either way, ends the
// warning.
func (r *renderer) switchedOff(a agent, lines []line, mine map[deployment.ModuleType][]Module) {
	cfg := r.in.Targets[a.Name]
	for of, modules := range mine {
		if slices.ContainsFunc(lines, func(l line) bool { return l.Of == of }) {
			continue
		}
		var unset []string
		for _, rule := range a.Rules {
			if _, set := cfg.Options[rule.option]; !set && rule.Of == of && rule.option != "" && !rule.on && cfg.Scope.Has(rule.scope) && !slices.Contains(unset, rule.option) {
				unset = append(unset, rule.option)
			}
		}
		if len(unset) > 0 {
			what := modules[0].ID
			if more := len(modules) - 1; more > 0 {
				what += fmt.Sprintf(" and %d more", more)
			}
			r.out.Unset = append(r.out.Unset, fmt.Sprintf("%s does not get %s; set %s: true in the options of %s in %s, or false for no warning", a.Name, what,
				strings.Join(unset, ": true and "), a.Name, deployment.ManifestFile))
		}
	}
}

// leftOut warns of servers, settings, agents, hooks, permissions, output styles and plugins for a target that has no place for them. For the other
// types the contract says that a target takes the ones it supports (agentpack contract §2.7).
func (r *renderer) leftOut(a agent, mine map[deployment.ModuleType][]Module) {
	for _, of := range slices.Sorted(maps.Keys(mine)) {
		for _, m := range mine[of] {
			if what, no := a.without(of); no {
				r.warn("target " + a.Name + " does not support " + what + "; module " + m.ID + " was omitted")
			}
		}
	}
	for _, m := range mine[deployment.ModuleSettings] {
		if _, has := m.Tree.Find(a.Name + ".json"); has && !a.takes(deployment.ModuleSettings) {
			r.warn("target " + a.Name + " does not support settings; " + a.Name + ".json of module " + m.ID + " was omitted")
		}
	}
}

// takes reports whether the agent has a place for a type of modules.
func (a agent) takes(of deployment.ModuleType) bool {
	return slices.ContainsFunc(a.Rules, func(l AgentRule) bool { return l.Of == of })
}

// without lists in words what the agent has no place for, among the types that are warned about.
func (a agent) without(of deployment.ModuleType) (what string, no bool) {
	switch of {
	case deployment.ModuleMCP, deployment.ModuleAgent, deployment.ModuleHooks, deployment.ModulePermissions, deployment.ModuleStyle, deployment.ModulePlugins:
		return plural(of), !a.takes(of)
	}
	return "", false
}

// NoPlace returns which configured targets have no place for a module that is meant for them.
func NoPlace(targets map[string]deployment.TargetConfig, m deployment.Module) (warnings []string) {
	for _, name := range slices.Sorted(maps.Keys(targets)) {
		a, _ := agentOf(name, targets[name])
		if what, no := a.without(m.Type); no && m.For(name) {
			warnings = append(warnings, "target "+name+" does not support "+what+"; "+m.ID+" is omitted")
		}
	}
	return warnings
}

// finish checks what concerns several files, sets every file's root, and sorts.
func (r *renderer) finish() error {
	if len(r.outside) > 0 && r.in.Place.Only == deployment.ScopeProject {
		return noProject(r.in.Place, r.outside)
	}
	if len(r.outside) > 0 {
		r.warn(r.in.Place.ProjectRoot + " is not a git worktree, so nothing is planned for it (" + strings.Join(r.outside, ", ") + "); run this in a project, or give the directory with --project-root")
	}
	r.sortRoots()
	own := map[string][]deployment.Root{}
	for _, root := range r.out.Roots {
		own[root.Target] = append(own[root.Target], root)
	}
	for _, pair := range r.shared {
		a, b := r.out.Files[pair[0]], r.out.Files[pair[1]]
		parts, err := agree(a, b)
		if err != nil {
			return err
		}
		if !parts && !same(a, b) {
			return conflict(a, b)
		}
	}
	var before *deployment.Desired // computed once for a directory, not for each of its files
	for i := range r.out.Files {
		d := &r.out.Files[i]
		if before != nil && before.Target == d.Target && r.dir(before.Path) == r.dir(d.Path) {
			d.Root = before.Root
			continue
		}
		best, _ := deployment.BestRoot(own[d.Target], d.Target, d.Path, r.Sep)
		d.Root = best.Path
		for dir := r.dir(d.Path); len(dir) > len(d.Root); dir = r.dir(dir) {
			if above, ok := r.at[dir]; ok {
				return conflict(r.out.Files[above], *d)
			}
		}
		before = d
	}
	r.sortFiles()
	slices.Sort(r.out.Warnings)
	slices.Sort(r.out.Unset)
	return nil
}

// sortFiles sorts the files, which are mostly sorted already: places are compared and moved, and the large files themselves at most once.
func (r *renderer) sortFiles() {
	order := func(a, b int) int {
		x, y := &r.out.Files[a], &r.out.Files[b]
		if c := strings.Compare(x.Target, y.Target); c != 0 {
			return c
		}
		return strings.Compare(x.Path, y.Path)
	}
	sorted := true
	for i := 1; i < len(r.out.Files) && sorted; i++ {
		sorted = order(i-1, i) <= 0
	}
	if sorted {
		return
	}
	at := make([]int, len(r.out.Files))
	for i := range at {
		at[i] = i
	}
	slices.SortFunc(at, order)
	files := make([]deployment.Desired, len(at))
	for i, from := range at {
		files[i] = r.out.Files[from]
	}
	r.out.Files = files
}

// dir returns the directory of an absolute path.
func (r *renderer) dir(path string) string { return path[:max(strings.LastIndexByte(path, r.Sep), 0)] }

// sortRoots sorts the roots and removes duplicates.
func (r *renderer) sortRoots() {
	slices.SortFunc(r.out.Roots, func(a, b deployment.Root) int {
		return cmp.Or(cmp.Compare(a.Target, b.Target), cmp.Compare(a.Path, b.Path))
	})
	roots := r.out.Roots[:0]
	for _, root := range r.out.Roots {
		if n := len(roots); n > 0 && roots[n-1].Target == root.Target && roots[n-1].Path == root.Path {
			roots[n-1].ScanExtras = roots[n-1].ScanExtras || root.ScanExtras
			continue
		}
		roots = append(roots, root)
	}
	r.out.Roots = roots
}

// serverName returns the name of a server, from the name of its file.
func serverName(file string) (string, bool) {
	name, ok := strings.CutSuffix(path.Base(file), ".json")
	return name, ok && name != ""
}
