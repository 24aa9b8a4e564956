package tasks

import (
	"path"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/project"
)

// Member is a package of a workspace.
type Member struct {
	Name    string   `json:"name"` // from its own file; else its directory's
	Dir     string   `json:"dir"`  // below the top, with slashes; "." is the top itself
	Version string   `json:"version,omitempty"`
	Kinds   []string `json:"kinds"`               // what makes it a member: package.json, go, cargo, uv
	Needs   []string `json:"dependsOn,omitempty"` // directories of other members, sorted

	names    []string // by which others need it, each with its kind before it
	requires []string // of others, likewise
}

// Workspace is the packages of a monorepo.
type Workspace struct {
	Tools   []string // that define it: npm, pnpm, yarn, bun, turbo, nx, lerna, go, cargo, uv
	Members []Member // by directory
	Notes   []string
}

// The kinds of members.
const (
	kindNode  = "package.json"
	kindGo    = "go"
	kindCargo = "cargo"
	kindUV    = "uv"
)

// reading is a workspace while it is read.
type reading struct {
	tree Tree
	glob globber
	out  Workspace
}

// FindWorkspace returns the workspace at the top of the tree; one without members if none is defined there. facts are those of the top.
func FindWorkspace(t Tree, facts project.Facts) Workspace {
	r := &reading{tree: t, glob: globber{tree: t}}
	top := t.At(".")
	r.node(top, facts)
	r.goWork(top)
	r.cargo(top)
	r.uv(top)
	if r.glob.full {
		r.note("only %d directories were scanned; members may be missing", maxLooked)
	}
	slices.SortFunc(r.out.Members, func(a, b Member) int { return strings.Compare(a.Dir, b.Dir) })
	r.link()
	return r.out
}

func (r *reading) note(format string, args ...any) {
	if text := sprintf(format, args...); !slices.Contains(r.out.Notes, text) && len(r.out.Notes) < maxNotes {
		r.out.Notes = append(r.out.Notes, text)
	}
}

func (r *reading) tool(name string) {
	if !slices.Contains(r.out.Tools, name) {
		r.out.Tools = append(r.out.Tools, name)
	}
}

// doc reads a document of a directory; one that exists and cannot be read is noted.
func (r *reading) doc(d Documents, dir, name string) any {
	if !d.Has(name) {
		return nil
	}
	doc, err := d.Tree(name)
	if err != nil {
		r.note("%s cannot be read: %s", path.Join(dir, name), err)
	}
	return doc
}

// member returns the member of a directory, which several tools may name.
func (r *reading) member(dir, kind string) *Member {
	i := slices.IndexFunc(r.out.Members, func(m Member) bool { return m.Dir == dir })
	if i < 0 {
		if len(r.out.Members) >= maxMembers {
			r.note("only the first %d members are listed", maxMembers)
			return &Member{Dir: dir}
		}
		i = len(r.out.Members)
		name := path.Base(dir)
		r.out.Members = append(r.out.Members, Member{Dir: dir, Name: name})
	}
	m := &r.out.Members[i]
	if !slices.Contains(m.Kinds, kind) {
		m.Kinds = append(m.Kinds, kind)
	}
	return m
}

// called sets a member's name from its file; the first file's counts.
func (m *Member) called(kind, name, version string) {
	if name == "" {
		return
	}
	if len(m.names) == 0 {
		m.Name = name
	}
	m.names = append(m.names, kind+" "+name)
	if m.Version == "" {
		m.Version = version
	}
}

// node finds the members of npm, pnpm, yarn, bun, Lerna and Nx; Turbo uses those of the package manager.
func (r *reading) node(top Documents, facts project.Facts) {
	manifest := r.doc(top, ".", "package.json")
	var patterns []string
	if top.Has("pnpm-workspace.yaml") {
		r.tool("pnpm")
		patterns = leaves(branch(r.doc(top, ".", "pnpm-workspace.yaml"), "packages"))
	} else if listed := branch(manifest, "workspaces"); listed != nil {
		manager := facts.Manager
		if !manager.Known() {
			manager = project.NPM
		}
		r.tool(string(manager))
		patterns = append(leaves(listed), leaves(branch(listed, "packages"))...)
	}
	if top.Has("lerna.json") {
		r.tool("lerna")
		own := leaves(branch(r.doc(top, ".", "lerna.json"), "packages"))
		if len(own) == 0 && len(patterns) == 0 {
			own = []string{"packages/*"}
		}
		patterns = append(patterns, own...)
	}
	if top.Has("turbo.json") || top.Has("turbo.jsonc") {
		r.tool("turbo")
	}
	if len(patterns) > 0 && manifest != nil {
		r.pkg(".", top)
	}
	for _, dir := range r.glob.find(".", patterns) {
		if d := r.tree.At(dir); dir != "." && d.Has("package.json") {
			r.pkg(dir, d)
		}
	}
	if top.Has("nx.json") {
		r.tool("nx")
		r.nx(len(patterns) > 0)
	}
}

// pkg returns a member with a package.json.
func (r *reading) pkg(dir string, d Documents) {
	doc := r.doc(d, dir, "package.json")
	m := r.member(dir, kindNode)
	m.called(kindNode, leaf(branch(doc, "name")), leaf(branch(doc, "version")))
	for _, field := range []string{"dependencies", "devDependencies", "peerDependencies", "optionalDependencies"} {
		names, _ := branches(branch(doc, field))
		m.require(kindNode, names...)
	}
}

func (m *Member) require(kind string, names ...string) {
	for _, name := range names {
		m.requires = append(m.requires, kind+" "+name)
	}
}

// nx finds the projects of Nx: without workspaces, those with a project.json; it adds names and dependencies to existing ones.
func (r *reading) nx(workspaces bool) {
	dirs := make([]string, 0, len(r.out.Members))
	for _, m := range r.out.Members {
		dirs = append(dirs, m.Dir)
	}
	if !workspaces {
		dirs = r.glob.under(".", maxDeep)
	}
	for _, dir := range dirs {
		d := r.tree.At(dir)
		if !d.Has("project.json") {
			continue
		}
		doc := r.doc(d, dir, "project.json")
		if !workspaces && d.Has("package.json") {
			r.pkg(dir, d)
		}
		m := r.member(dir, kindNode)
		m.called(kindNode, leaf(branch(doc, "name")), "")
		if targets, _ := branches(branch(doc, "targets")); len(targets) > 0 {
			r.note("targets of Nx in %s cannot be run (%s); use a script that calls nx", path.Join(dir, "project.json"), strings.Join(targets[:min(len(targets), 10)], ", "))
		}
		m.require(kindNode, leaves(branch(doc, "implicitDependencies"))...)
	}
}

// goWork finds the modules of a go.work.
func (r *reading) goWork(top Documents) {
	if !top.Has("go.work") {
		return
	}
	r.tool("go")
	text, err := top.Text("go.work")
	if err != nil {
		r.note("go.work cannot be read: %s", err)
		return
	}
	for _, use := range directives(text, "use") {
		if path.IsAbs(use[0]) || strings.HasPrefix(path.Clean(use[0]), "..") {
			r.note("go.work uses %s, which is outside its directory", use[0])
			continue
		}
		dir := path.Clean(use[0])
		if d := r.tree.At(dir); d.Has("go.mod") {
			text, err := d.Text("go.mod")
			if err != nil {
				r.note("%s cannot be read: %s", path.Join(dir, "go.mod"), err)
				continue
			}
			m := r.member(dir, kindGo)
			for _, module := range directives(text, "module") {
				m.called(kindGo, module[0], "")
			}
			for _, need := range directives(text, "require") {
				m.require(kindGo, need[0])
			}
		}
	}
}

// directives returns the words behind each use of a directive in a go.mod or go.work, in blocks too.
func directives(text []byte, name string) (out [][]string) {
	block := false
	for _, line := range lines(text) {
		line, _, _ = strings.Cut(line, "//")
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
			continue
		case block && words[0] == ")":
			block = false
			continue
		case block:
		case words[0] == name && len(words) > 1 && words[1] == "(":
			block = true
			continue
		case words[0] == name && len(words) > 1:
			words = words[1:]
		default:
			continue
		}
		words[0] = strings.Trim(words[0], "\"`")
		out = append(out, words)
	}
	return out
}

// cargo finds the crates of a Cargo workspace.
func (r *reading) cargo(top Documents) {
	doc := r.doc(top, ".", "Cargo.toml")
	if branch(doc, "workspace") == nil {
		return
	}
	r.tool("cargo")
	patterns := leaves(branch(doc, "workspace", "members"))
	for _, without := range leaves(branch(doc, "workspace", "exclude")) {
		patterns = append(patterns, "!"+without)
	}
	dirs := r.glob.find(".", patterns)
	if branch(doc, "package") != nil && !slices.Contains(dirs, ".") {
		dirs = append(dirs, ".")
	}
	for i := 0; i < len(dirs) && i < maxMembers; i++ {
		dir := dirs[i]
		d := r.tree.At(dir)
		if !d.Has("Cargo.toml") {
			continue
		}
		crate := r.doc(d, dir, "Cargo.toml")
		for _, near := range crateDirs(crate) { // Cargo takes them in, unless they are excluded
			near = path.Join(dir, near)
			excluded := slices.ContainsFunc(leaves(branch(doc, "workspace", "exclude")), func(x string) bool {
				return near == path.Clean(x) || strings.HasPrefix(near, path.Clean(x)+"/")
			})
			if near != ".." && !strings.HasPrefix(near, "../") && !path.IsAbs(near) && !excluded && !slices.Contains(dirs, near) {
				dirs = append(dirs, near)
			}
		}
		m := r.member(dir, kindCargo)
		m.called(kindCargo, leaf(branch(crate, "package", "name")), leaf(branch(crate, "package", "version")))
		m.crates(crate)
		targets, all := branches(branch(crate, "target"))
		for _, target := range targets {
			m.crates(all[target])
		}
	}
}

// crateDirs returns the directories of the crates that one names by their path.
func crateDirs(crate any) (out []string) {
	parts := []any{crate}
	targets, all := branches(branch(crate, "target"))
	for _, target := range targets {
		parts = append(parts, all[target])
	}
	for _, part := range parts {
		for _, field := range []string{"dependencies", "dev-dependencies", "build-dependencies"} {
			names, entries := branches(branch(part, field))
			for _, name := range names {
				if near := leaf(branch(entries[name], "path")); near != "" && !path.IsAbs(near) {
					out = append(out, near)
				}
			}
		}
	}
	return out
}

// crates are what a part of a Cargo.toml needs.
func (m *Member) crates(part any) {
	for _, field := range []string{"dependencies", "dev-dependencies", "build-dependencies"} {
		names, entries := branches(branch(part, field))
		for _, name := range names {
			if renamed := leaf(branch(entries[name], "package")); renamed != "" {
				name = renamed
			}
			m.require(kindCargo, name)
		}
	}
}

// uv finds the packages of a uv workspace.
func (r *reading) uv(top Documents) {
	doc := r.doc(top, ".", "pyproject.toml")
	workspace := branch(doc, "tool", "uv", "workspace")
	if workspace == nil {
		return
	}
	r.tool("uv")
	patterns := leaves(branch(workspace, "members"))
	for _, without := range leaves(branch(workspace, "exclude")) {
		patterns = append(patterns, "!"+without)
	}
	dirs := r.glob.find(".", patterns)
	if branch(doc, "project") != nil && !slices.Contains(dirs, ".") {
		dirs = append(dirs, ".")
	}
	for _, dir := range dirs {
		d := r.tree.At(dir)
		if !d.Has("pyproject.toml") {
			continue
		}
		own := r.doc(d, dir, "pyproject.toml")
		m := r.member(dir, kindUV)
		if name := leaf(branch(own, "project", "name")); name != "" {
			m.called(kindUV, name, leaf(branch(own, "project", "version")))
			m.names[len(m.names)-1] = kindUV + " " + distribution(name)
		}
		needs := leaves(branch(own, "project", "dependencies"))
		for _, table := range []any{branch(own, "project", "optional-dependencies"), branch(own, "dependency-groups")} {
			groups, entries := branches(table)
			for _, group := range groups {
				needs = append(needs, leaves(entries[group])...)
			}
		}
		for _, need := range needs {
			m.require(kindUV, distribution(need))
		}
	}
}

// distribution returns the normal form of the name that a Python requirement begins with.
func distribution(text string) string {
	end := strings.IndexFunc(text, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.", r))
	})
	if end >= 0 {
		text = text[:end]
	}
	return strings.Join(strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return strings.ContainsRune("-_.", r) }), "-")
}

// link records for each member which others it needs.
func (r *reading) link() {
	whose := map[string]string{}
	for _, m := range r.out.Members {
		for _, name := range m.names {
			if _, taken := whose[name]; !taken {
				whose[name] = m.Dir
			}
		}
	}
	for i := range r.out.Members {
		m := &r.out.Members[i]
		for _, need := range m.requires {
			if dir, own := whose[need]; own && dir != m.Dir && !slices.Contains(m.Needs, dir) {
				m.Needs = append(m.Needs, dir)
			}
		}
		slices.Sort(m.Needs)
	}
}
