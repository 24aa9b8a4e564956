package authoring

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/app/deployments/planner"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/inspection"
	"github.com/countersign-dev/countersign/domain/deployment/target"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/domain/visible"
	"github.com/countersign-dev/countersign/ports/deployport"
)

// AllSkills stands for every skill of a repository.
const AllSkills = "*"

// skillFile marks a directory as a skill.
const skillFile = "SKILL.md"

// SkillsData is the skills of a repository.
type SkillsData struct {
	URL    string       `json:"url"`
	Ref    string       `json:"ref"`
	Commit string       `json:"commit"`
	Skills []FoundSkill `json:"skills"`
}

// FoundSkill is one skill of a repository. Problem is why it cannot be a module in its present form.
type FoundSkill struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Subdir      string `json:"subdir"`
	Files       int    `json:"files"`
	Bytes       int64  `json:"bytes"`
	Problem     string `json:"problem,omitempty"`
}

// AddFromData is what is added from a repository.
type AddFromData struct {
	Manifest      string               `json:"manifest"`
	ManifestPosix string               `json:"manifest_posix"`
	Lockfile      string               `json:"lockfile"`
	LockfilePosix string               `json:"lockfile_posix"`
	URL           string               `json:"url"`
	Ref           string               `json:"ref"`
	Commit        string               `json:"commit"`
	Modules       []AddedModule        `json:"modules"`
	Findings      []inspection.Finding `json:"findings,omitempty"`
}

// AddedModule is one module that is added.
type AddedModule struct {
	ID          string                `json:"module_id"`
	Type        deployment.ModuleType `json:"module_type"`
	Description string                `json:"description,omitempty"`
	Subdir      string                `json:"subdir"`
	Tags        []string              `json:"tags"`
	Sum         deployment.Sum        `json:"sha256"`
	Files       []deployment.Entry    `json:"file_manifest"`
}

// addPlan is the plan to add and lock modules.
type addPlan struct {
	planner.Edit[AddFromData]
	locking  *locking
	findings []inspection.Finding
	exhibit  func(ctx context.Context) (any, error)
}

// Assessment requires typing a name if a finding is severe.
func (p *addPlan) Assessment() policy.Assessment {
	return planner.RaisedBy(p.findings, p.Edit.Assessment())
}

// Target returns what the user must type.
func (p *addPlan) Target() string { return inspection.Name(p.findings) }

// Details returns the added files.
func (p *addPlan) Details(ctx context.Context) (any, error) { return p.exhibit(ctx) }

// origin is a repository at a commit.
type origin struct {
	source deployment.GitSource
	commit string
}

// origin resolves the commit, of HEAD's branch if no ref is named.
func (s *service) origin(ctx context.Context, spec string) (o origin, err error) {
	if o.source, err = deployment.ParseRepository(spec); err != nil {
		return o, err
	}
	if o.source.Ref == "" {
		if s.Compiler.Offline {
			return o, deployment.ErrOffline.WithMessage("which branch %s is on only it can say, and --offline forbids asking; repeat without --offline", spec)
		}
		if o.source.Ref, err = s.Compiler.Sources.Branch(ctx, o.source.URL); err != nil {
			return o, err
		}
	}
	o.commit, err = s.commitOf(ctx, deployment.Module{ID: spec, Source: deployment.Source{Git: &o.source}})
	return o, err
}

// resolved returns the source of a directory in the resolved repository.
func (o origin) resolved(below string) deployment.ResolvedGit {
	return deployment.ResolvedGit{URL: o.source.URL, Commit: o.commit, Subdir: joined(o.source.Subdir, below)}
}

func joined(dir, below string) string {
	if below == "" || below == "." {
		return dir
	}
	return path.Join(dir, below)
}

// skills returns the directories with a SKILL.md that are not inside another one, sorted by path.
func (s *service) skills(ctx context.Context, at deployment.Locations, o origin) ([]FoundSkill, error) {
	tree, err := s.Compiler.Sources.Git(ctx, at, o.resolved(""), s.Compiler.Offline)
	if err != nil {
		return nil, err
	}
	var roots []string
	for _, f := range tree {
		if path.Base(f.Path) == skillFile && !strings.Contains("/"+f.Path, "/node_modules/") {
			roots = append(roots, path.Dir(f.Path))
		}
	}
	slices.SortFunc(roots, func(a, b string) int {
		return cmp.Or(cmp.Compare(strings.Count(a, "/"), strings.Count(b, "/")), cmp.Compare(a, b))
	})
	out := []FoundSkill{}
	var taken []string
	for _, root := range roots {
		if slices.ContainsFunc(taken, func(dir string) bool { return dir == "." || strings.HasPrefix(root+"/", dir+"/") }) {
			continue
		}
		taken = append(taken, root)
		found, err := s.skill(ctx, o, root, below(tree, root))
		if err != nil {
			return nil, err
		}
		out = append(out, found)
	}
	slices.SortFunc(out, func(a, b FoundSkill) int { return cmp.Compare(a.Subdir, b.Subdir) })
	return out, nil
}

// below returns the files of a tree that are in a directory, by their paths there.
func below(tree deployment.Tree, dir string) deployment.Tree {
	if dir == "." {
		return tree
	}
	var out deployment.Tree
	for _, f := range tree {
		if rest, ok := strings.CutPrefix(f.Path, dir+"/"); ok {
			f.Path = rest
			out = append(out, f)
		}
	}
	return out
}

// skill describes one skill.
func (s *service) skill(ctx context.Context, o origin, root string, tree deployment.Tree) (FoundSkill, error) {
	source := o.source
	source.Subdir = joined(source.Subdir, root)
	f := FoundSkill{Name: deployment.Source{Git: &source}.SpecName(), Subdir: source.Subdir, Files: len(tree)}
	for _, file := range tree {
		f.Bytes += file.Content.Size
	}
	read := func(c deployment.Content) ([]byte, error) { return s.Compiler.Sources.Content(ctx, c) }
	if file, ok := tree.Find(skillFile); ok && file.Content.Size <= inspection.MaxBytes {
		doc, err := read(file.Content)
		if err != nil {
			return f, err
		}
		fields, _, _ := s.Compiler.Configs.Frontmatter(doc) // errors in it are reported as the problem
		f.Description, _ = fields["description"].(string)
	}
	m := deployment.Module{ID: "skill:" + f.Name, Type: deployment.ModuleSkill, Source: deployment.Source{Git: &source}}
	if err := deployment.ValidateModule(m, tree, read, s.Compiler.Configs.Frontmatter); err != nil {
		f.Problem = fault.From(err).Message
	}
	return f, ctx.Err()
}

// listSkills shows the skills of a repository.
func (s *service) listSkills(ctx context.Context, _ tool.Scope, c SkillsInput) (none planner.Report[SkillsData], err error) {
	at, err := s.Compiler.Places.Resolve(ctx, c.Selection().Asked())
	if err != nil {
		return none, err
	}
	o, err := s.origin(ctx, c.Source)
	if err != nil {
		return none, err
	}
	found, err := s.skills(ctx, at, o)
	if err != nil {
		return none, err
	}
	return planner.NewReport(SkillsData{URL: o.source.URL, Ref: o.source.Ref, Commit: o.commit, Skills: found}), nil
}

// prepareAddFrom returns the modules, their locks, and what the user should know of them.
func (s *service) prepareAddFrom(ctx context.Context, _ tool.Scope, c AddFromInput) (*addPlan, error) {
	at, err := s.place(ctx, c.EditInput)
	if err != nil {
		return nil, err
	}
	config, err := s.config(ctx, at, false)
	if err != nil {
		return nil, err
	}
	o, err := s.origin(ctx, c.Source)
	if err != nil {
		return nil, err
	}
	modules, described, err := s.chosen(ctx, at, c, o)
	if err != nil {
		return nil, err
	}
	tags := words(c.Tags)
	e := &addPlan{Edit: planner.Edit[AddFromData]{Command: "add " + c.Source, Place: at, From: []string{o.source.URL}}}
	warnings := slices.Clone(config.Warnings)
	if len(tags) == 0 {
		if tags = config.Manifest.Profiles[deployment.DefaultProfile].IncludeTags; len(tags) > 0 {
			tags = tags[:1]
		} else {
			warnings = append(warnings, "what is added has no tags: only profiles that name it in include_modules deploy it")
		}
	}
	path := s.in(at.Repo, deployment.ManifestFile)
	lock := s.in(at.Repo, deployment.LockFile)
	data := AddFromData{Manifest: path, ManifestPosix: deployment.PosixPath(path), Lockfile: lock, LockfilePosix: deployment.PosixPath(lock), URL: o.source.URL, Ref: o.source.Ref, Commit: o.commit}
	var edits []deployport.ManifestEdit
	var locked []deployment.LockedModule
	var shown []comparison
	look := s.Compiler.Inspector()
	for i, m := range modules {
		m.Tags, m.Targets = tags, words(c.Targets)
		modules[i] = m
		entry, tree, err := s.pin(ctx, at, m, o.commit)
		if err != nil {
			return nil, err
		}
		read := func(content deployment.Content) ([]byte, error) { return s.Compiler.Sources.Content(ctx, content) }
		if err := deployment.ValidateModule(m, tree, read, s.Compiler.Configs.Frontmatter); err != nil {
			return nil, err
		}
		found, err := look.Tree(ctx, m.ID, tree)
		if err != nil {
			return nil, err
		}
		e.findings = append(e.findings, found...)
		warnings = slices.Concat(warnings, target.NoPlace(config.Manifest.Targets, m), clashing(m.ID, tree), calledAlike(slices.Concat(config.Manifest.Modules, modules[:i]), m))
		edits, locked, shown = append(edits, deployport.ManifestEdit{Add: &m}), append(locked, entry), append(shown, comparison{id: m.ID, after: tree})
		data.Modules = append(data.Modules, AddedModule{ID: m.ID, Type: m.Type, Description: described[m.ID], Subdir: m.Source.Git.Subdir, Tags: append([]string{}, tags...),
			Sum: entry.Sum, Files: entry.Manifest})
	}
	w, err := s.Compiler.Configs.Edit(ctx, at.Repo, edits...)
	if err != nil {
		return nil, err
	}
	inspection.Sort(e.findings)
	data.Findings = planner.Told(e.findings)
	e.Writes = []deployment.Write{w}
	if e.locking, err = s.addLocked(ctx, at, config, modules, locked); err != nil {
		return nil, err
	}
	more, err := s.lockWrite(ctx, at, e.locking)
	if err != nil {
		return nil, err
	}
	e.Writes = append(e.Writes, more...)
	e.Report = planner.NewReport(data, warnings...)
	e.exhibit = func(ctx context.Context) (any, error) { return s.exhibit(ctx, shown) }
	return e, ctx.Err()
}

// addLocked returns the lock with those modules added. Without a lock every other module is locked as well, because plans need all of them.
func (s *service) addLocked(ctx context.Context, at deployment.Locations, config deployport.Config, modules []deployment.Module, locked []deployment.LockedModule) (*locking, error) {
	path := s.in(at.Repo, deployment.LockFile)
	l := &locking{fresh: true, lock: deployment.Lock{Version: deployment.LockVersion, Refs: refsOf(modules)}}
	if config.Lock != nil {
		l.lock.Modules = slices.Clone(config.Lock.Modules)
		for id, ref := range config.Lock.Refs {
			l.lock.Refs[id] = ref
		}
	} else {
		for _, m := range config.Manifest.Modules {
			if !m.Enabled {
				continue
			}
			entry, err := s.resolve(ctx, at, m)
			if err != nil {
				return nil, err
			}
			l.lock.Modules = append(l.lock.Modules, entry)
			if m.Source.Git != nil {
				l.lock.Refs[m.ID] = m.Source.Git.Ref
			}
		}
	}
	for _, entry := range locked { // a module that was removed from the manifest may still be there
		l.lock.Modules = append(slices.DeleteFunc(l.lock.Modules, func(m deployment.LockedModule) bool { return m.ID == entry.ID }), entry)
	}
	l.data = LockData{Lockfile: path, LockfilePosix: deployment.PosixPath(path), Modules: len(l.lock.Modules)}
	return l, nil
}

// chosen returns the modules that a call names, with their descriptions.
func (s *service) chosen(ctx context.Context, at deployment.Locations, c AddFromInput, o origin) ([]deployment.Module, map[string]string, error) {
	kind := cmp.Or(c.ModuleType, deployment.ModuleSkill)
	if kind != deployment.ModuleSkill {
		if len(c.Skills) > 0 {
			return nil, nil, tool.ErrArguments.WithMessage("skills are chosen of a repository by name, and %s is another type; leave one of the two out", kind)
		}
		source := o.source
		m := deployment.Module{ID: cmp.Or(strings.TrimSpace(c.ID), string(kind)+":"+baseName(deployment.Source{Git: &source}.SpecName())), Type: kind, Enabled: true,
			Source: deployment.Source{Git: &source}}
		return []deployment.Module{m}, nil, nil
	}
	found, err := s.skills(ctx, at, o)
	if err != nil {
		return nil, nil, err
	}
	taken, err := take(found, words(c.Skills), c.Source)
	if err != nil {
		return nil, nil, err
	}
	if c.ID != "" && len(taken) > 1 {
		return nil, nil, tool.ErrArguments.WithMessage("id names one module, and %d skills would be added; leave it out, or choose one skill", len(taken))
	}
	var out []deployment.Module
	described := map[string]string{}
	for _, f := range taken {
		source := o.source
		source.Subdir = f.Subdir
		m := deployment.Module{ID: cmp.Or(strings.TrimSpace(c.ID), "skill:"+f.Name), Type: deployment.ModuleSkill, Enabled: true, Source: deployment.Source{Git: &source}}
		if i := slices.IndexFunc(out, func(other deployment.Module) bool { return other.ID == m.ID }); i >= 0 {
			return nil, nil, deployment.ErrConfig.WithMessage("%s and %s would both be %s; add them one by one, with an id each", out[i].Source.Git.Subdir, f.Subdir, m.ID).
				WithDetails(deployment.FieldDetails("module_id", m.ID))
		}
		described[m.ID] = f.Description
		out = append(out, m)
	}
	return out, described, nil
}

// clashing warns of files of a module that differ only in case.
func clashing(id string, tree deployment.Tree) []string {
	paths := make([]string, len(tree))
	for i, f := range tree {
		paths[i] = f.Path
	}
	return planner.CaseClashes("in "+id+", ", paths)
}

// baseName returns the name of a module of one file.
func baseName(file string) string {
	return strings.TrimSuffix(strings.TrimSuffix(file, ".md"), ".json")
}

// take selects skills by name or path. Without a name there must be exactly one.
func take(found []FoundSkill, names []string, source string) ([]FoundSkill, error) {
	list := func() string {
		all := make([]string, 0, len(found))
		for _, f := range found {
			all = append(all, f.Name)
		}
		const most = 30
		text := strings.Join(all[:min(len(all), most)], ", ")
		if more := len(all) - most; more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		return text
	}
	details := deployment.FieldDetails("skills", found)
	switch {
	case len(found) == 0:
		return nil, deployment.ErrConfig.WithMessage("there is no %s in %s; name a module type for anything else: agents add command %s", skillFile, source, source)
	case slices.Contains(names, AllSkills):
		return found, nil
	case len(names) == 0 && len(found) == 1:
		return found, nil
	case len(names) == 0:
		return nil, deployment.ErrConfig.WithMessage("%s has %d skills: %s; choose with --skill NAME, or all with --skill '*'", source, len(found), list()).WithDetails(details)
	}
	var out []FoundSkill
	for _, name := range names {
		i := slices.IndexFunc(found, func(f FoundSkill) bool { return f.Name == name || f.Subdir == name })
		if i < 0 {
			return nil, deployment.ErrConfig.WithMessage("%s has no skill %q; there are: %s", source, name, list()).WithDetails(details)
		}
		out = append(out, found[i])
	}
	return out, nil
}

// addFrom writes the manifest and the lockfile.
func (s *service) addFrom(ctx context.Context, sc tool.Scope, e *addPlan) (planner.Report[AddFromData], error) {
	if err := s.stamp(e.Writes, e.locking); err != nil {
		return planner.Report[AddFromData]{}, err
	}
	return write(ctx, s.Machine, sc, &e.Edit)
}

// comparison is the files of a module before and after a change.
type comparison struct {
	id            string
	before, after deployment.Tree
}

// The limits of what is shown with a plan, in bytes and files.
const (
	maxShown      = 192 << 10
	maxShownEach  = 100 << 10
	maxShownFiles = 200
)

// shownFile is one file shown with a plan. Root is the module's id.
type shownFile struct {
	Op      deployment.Op `json:"op"`
	Path    string        `json:"path"`
	Root    string        `json:"root"`
	Unified *string       `json:"unified,omitempty"`
}

// exhibited is what users see with the plan.
type exhibited struct {
	Files    []shownFile `json:"files"`
	Warnings []string    `json:"warnings,omitempty"`
}

// exhibit returns the added, changed and removed lines.
func (s *service) exhibit(ctx context.Context, all []comparison) (exhibited, error) {
	out := exhibited{Files: []shownFile{}}
	size, left := 0, 0
	for _, c := range all {
		for _, d := range differences(c.before, c.after) {
			if len(out.Files) == maxShownFiles {
				left++
				continue
			}
			f := shownFile{Op: d.op, Path: d.path, Root: c.id}
			text, problem, err := s.unified(ctx, d)
			if err != nil {
				return out, err
			}
			if problem == "" && (len(text) > maxShownEach || size+len(text) > maxShown) {
				problem = "it would be too long"
			}
			if problem == "" {
				size += len(text)
				f.Unified = &text
			} else {
				out.Warnings = append(out.Warnings, fmt.Sprintf("no diff of %s in %s: %s", d.path, c.id, problem))
			}
			out.Files = append(out.Files, f)
		}
	}
	if left > 0 {
		out.Warnings = append(out.Warnings, fmt.Sprintf("the lines of %d more files are not shown here", left))
	}
	return out, nil
}

// difference is one file that differs between two trees.
type difference struct {
	op            deployment.Op
	path          string
	before, after *deployment.File
}

// differences returns the files in which two trees differ, sorted by path.
func differences(before, after deployment.Tree) []difference {
	var out []difference
	for i := range after {
		f := &after[i]
		was, there := before.Find(f.Path)
		switch {
		case !there:
			out = append(out, difference{deployment.OpCreate, f.Path, nil, f})
		case was.Content.Sum != f.Content.Sum || was.Mode != f.Mode:
			out = append(out, difference{deployment.OpUpdate, f.Path, &was, f})
		}
	}
	for i := range before {
		if _, stays := after.Find(before[i].Path); !stays {
			out = append(out, difference{deployment.OpDelete, before[i].Path, &before[i], nil})
		}
	}
	slices.SortFunc(out, func(a, b difference) int { return cmp.Compare(a.path, b.path) })
	return out
}

// unified returns the diff of one file, or why there is none.
func (s *service) unified(ctx context.Context, d difference) (text, problem string, err error) {
	read := func(f *deployment.File) ([]byte, error) {
		switch {
		case f == nil:
			return nil, nil
		case f.Content.Size > inspection.MaxBytes:
			return nil, errTooLong
		}
		return s.Compiler.Sources.Content(ctx, f.Content)
	}
	before, err := read(d.before)
	if err == nil {
		var after []byte
		if after, err = read(d.after); err == nil {
			if !deployment.IsText(before) || !deployment.IsText(after) {
				return "", "it is not text", nil
			}
			return s.Differ.Unified("a/"+d.path, "b/"+d.path, visible.Bytes(before), visible.Bytes(after)), "", nil
		}
	}
	if errors.Is(err, errTooLong) {
		return "", "it is too long", nil
	}
	return "", "", err
}

var errTooLong = errors.New("too long")
