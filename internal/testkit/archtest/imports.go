package archtest

import (
	"cmp"
	"go/ast"
	"slices"
	"strings"
)

// Imports holds the module against the table: every import of every non-test file must be allowed by the row that covers its
// package, and a package that no row covers is itself a finding.
func Imports(m *Module, law []Row) (found []Finding) {
	for _, p := range m.Packages {
		if len(p.code()) == 0 {
			continue
		}
		row, ok := rowFor(law, p.Dir)
		if !ok {
			found = append(found, Finding{Path: p.Dir, Text: "no row of the import law covers this package; give it one, with a reason"})
			continue
		}
		for _, f := range p.code() {
			for _, spec := range f.Syntax.Imports {
				if !row.allows(m, importPath(spec)) {
					found = append(found, m.at(f, spec.Pos(), "%s may not import %s: %s", p.Dir, importPath(spec), row.Reason))
				}
			}
		}
	}
	return found
}

// rowFor returns the row with the longest pattern that covers dir.
func rowFor(law []Row, dir string) (best Row, ok bool) {
	length := -1
	for _, row := range law {
		for _, pattern := range row.Packages {
			if covers(pattern, dir) && len(pattern) > length {
				best, length = row, len(pattern)
			}
		}
	}
	return best, length >= 0
}

func covers(pattern, dir string) bool {
	tree, deep := strings.CutSuffix(pattern, "/...")
	return dir == tree || deep && strings.HasPrefix(dir, tree+"/")
}

func (r Row) allows(m *Module, imported string) bool {
	if dir, ok := m.relative(imported); ok {
		return slices.ContainsFunc(r.Module, func(pattern string) bool { return covers(pattern, dir) })
	}
	if first, _, _ := strings.Cut(imported, "/"); !strings.Contains(first, ".") {
		return slices.Equal(r.Std, []string{Any}) || slices.Contains(r.Std, imported)
	}
	return slices.ContainsFunc(r.Modules, func(module string) bool { return covers(module+"/...", imported) })
}

// Apart proves that a capability can be deleted: nothing reachable from a use-case package belongs to another capability, and
// nothing in the core (domain kernel, ports, app) belongs to any. Composition and memory stores are the two places that list them all.
func Apart(m *Module, stems []Stem) (found []Finding) {
	imports := m.graph()
	for _, own := range stems {
		for _, dir := range reach(imports, "app/"+own.Slice) {
			for _, other := range stems {
				if other.Name != own.Name && other.owns(dir) {
					found = append(found, Finding{Path: "app/" + own.Slice, Text: "reaches " + dir + ", which belongs to another capability; deleting that one would break this one"})
				}
			}
		}
	}
	for _, root := range []string{"app", "app/bind", "app/control", "ports", "domain/tool"} {
		for _, dir := range reach(imports, root) {
			if slices.ContainsFunc(stems, func(s Stem) bool { return s.owns(dir) }) {
				found = append(found, Finding{Path: root, Text: "reaches " + dir + "; the core knows no capability"})
			}
		}
	}
	return found
}

func (s Stem) owns(dir string) bool {
	return slices.ContainsFunc(s.Dirs(), func(own string) bool { return covers(own+"/...", dir) })
}

// graph maps each package to the module's packages it imports in non-test files.
func (m *Module) graph() map[string][]string {
	graph := map[string][]string{}
	for _, p := range m.Packages {
		for _, f := range p.code() {
			for _, spec := range f.Syntax.Imports {
				if dir, ok := m.relative(importPath(spec)); ok {
					graph[p.Dir] = append(graph[p.Dir], dir)
				}
			}
		}
	}
	return graph
}

// reach returns everything from can import, directly or not, itself included, sorted; empty when from does not exist.
func reach(graph map[string][]string, from string) []string {
	seen := map[string]bool{}
	for todo := []string{from}; len(todo) > 0; {
		dir := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if !seen[dir] {
			seen[dir] = true
			todo = append(todo, graph[dir]...)
		}
	}
	dirs := make([]string, 0, len(seen))
	for dir := range seen {
		dirs = append(dirs, dir)
	}
	slices.SortFunc(dirs, cmp.Compare[string])
	return dirs
}

// Pure bans what the import law cannot see: reading the clock, waiting, starting goroutines, and hiding data in a context, anywhere
// in domain, ports and app. (The buffer of the audit may start goroutines: it writes off the path of the calls.)
func Pure(m *Module) (found []Finding) {
	for _, p := range m.Packages {
		if !covers("domain/...", p.Dir) && !covers("ports/...", p.Dir) && !covers("app/...", p.Dir) {
			continue
		}
		for _, f := range p.code() {
			found = append(found, m.impure(f, f.Path != "app/auditbuffer.go")...)
		}
	}
	return found
}

// clockwork are the functions of package time that read the machine's clock or wait for it.
var clockwork = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}

func (m *Module) impure(f *File, still bool) (found []Finding) {
	clock, ctx := localName(f, "time"), localName(f, "context")
	ast.Inspect(f.Syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			if still {
				found = append(found, m.at(f, n.Pos(), "a goroutine starts here; rules and use cases run in the caller's"))
			}
		case *ast.SelectorExpr:
			name, ok := n.X.(*ast.Ident)
			switch {
			case !ok || name.Obj != nil: // a local value that happens to be called time
			case name.Name == clock && slices.Contains(clockwork, n.Sel.Name):
				found = append(found, m.at(f, n.Pos(), "time.%s reads the machine's clock; take the time as an argument or from ports.Clock", n.Sel.Name))
			case name.Name == ctx && n.Sel.Name == "WithValue":
				found = append(found, m.at(f, n.Pos(), "context.WithValue hides data from the signature; pass it as an argument"))
			}
		}
		return true
	})
	return found
}
