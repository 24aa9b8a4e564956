//go:build linux

package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"io"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// The figures above and below which something is printed. None of them is a rule.
const (
	manyLines     = 2500 // of a package
	fewLines      = 150
	longFile      = 800
	longFunction  = 100
	wideInterface = 8
	fewTags       = 3 // structs with fewer fields in JSON are alike by chance
)

// report writes everything that can be read off the syntax of the module.
func report(w io.Writer, m *module) {
	var packages []*pkg // of the product
	for _, p := range m.packages {
		if p.product && len(p.files) > 0 {
			packages = append(packages, p)
		}
	}
	slices.SortFunc(packages, func(a, b *pkg) int { return cmp.Compare(a.dir, b.dir) })
	names := exported(packages)
	users := m.users(packages)
	outside := map[string]bool{}
	for name, dirs := range users {
		outside[name] = len(dirs) > 0
	}
	importers := m.importers(packages)

	totals(w, m, packages, len(names))
	section(w, fmt.Sprintf("packages above %d lines", manyLines), sized(packages, func(p *pkg) bool { return p.lines() > manyLines }))
	section(w, fmt.Sprintf("packages below %d lines", fewLines), sized(packages, func(p *pkg) bool { return p.lines() < fewLines }))
	section(w, fmt.Sprintf("files above %d lines", longFile), longFiles(packages))
	section(w, fmt.Sprintf("functions above %d lines", longFunction), m.longFunctions(packages))
	section(w, fmt.Sprintf("interfaces above %d methods (embedded ones count as one)", wideInterface), m.wideInterfaces(packages))
	var single, unused []string
	for _, p := range packages {
		if at := importers[p.dir]; len(at) == 1 {
			single = append(single, fmt.Sprintf("%s ← %s", p.dir, at[0]))
		}
	}
	section(w, "packages with one importer in the product", single)
	for _, n := range names {
		if !outside[n.dir+"."+n.name] {
			unused = append(unused, n.dir+"."+n.name)
		}
	}
	section(w, "exported names that no other package of the product uses (package level; methods and fields are not looked at; some are there for other modules)", unused)
	section(w, "exported names that exist in several packages", twice(names))
	section(w, fmt.Sprintf("structs with the same JSON members (at least %d) in several packages", fewTags), m.alike(packages))
}

func section(w io.Writer, title string, lines []string) {
	fmt.Fprintf(w, "\n%s: %d\n", title, len(lines))
	for _, l := range lines {
		fmt.Fprintln(w, " ", l)
	}
}

func totals(w io.Writer, m *module, packages []*pkg, names int) {
	var lines, tests, kit, public int
	for _, p := range m.packages {
		if tests += p.testLines; !p.product {
			kit += p.lines()
		}
	}
	for _, p := range packages {
		if lines += p.lines(); p.public() {
			public++
		}
	}
	fmt.Fprintf(w, "packages %d (%d of them public), lines of the product %d, of tests %d, of the test kit %d, exported names %d\n",
		len(packages), public, lines, tests, kit, names)
}

func sized(packages []*pkg, wanted func(*pkg) bool) (out []string) {
	for _, p := range packages {
		if wanted(p) {
			out = append(out, fmt.Sprintf("%5d %s", p.lines(), p.dir))
		}
	}
	return out
}

func longFiles(packages []*pkg) (out []string) {
	for _, p := range packages {
		for _, f := range p.files {
			if f.lines > longFile {
				out = append(out, fmt.Sprintf("%5d %s", f.lines, f.path))
			}
		}
	}
	return out
}

func (m *module) at(pos token.Pos) string {
	p := m.fset.Position(pos)
	return p.Filename + ":" + strconv.Itoa(p.Line)
}

func (m *module) longFunctions(packages []*pkg) (out []string) {
	for _, p := range packages {
		for _, f := range p.files {
			for _, d := range f.syntax.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if !ok {
					continue
				}
				if n := m.fset.Position(fn.End()).Line - m.fset.Position(fn.Pos()).Line + 1; n > longFunction {
					out = append(out, fmt.Sprintf("%5d %s %s", n, m.at(fn.Pos()), fn.Name.Name))
				}
			}
		}
	}
	return out
}

func (m *module) wideInterfaces(packages []*pkg) (out []string) {
	for _, p := range packages {
		for _, f := range p.files {
			for spec := range types(f) {
				if i, ok := spec.Type.(*ast.InterfaceType); ok && len(i.Methods.List) > wideInterface {
					out = append(out, fmt.Sprintf("%5d %s %s", len(i.Methods.List), m.at(spec.Pos()), spec.Name.Name))
				}
			}
		}
	}
	return out
}

// types yields the types that a file declares at package level.
func types(f *file) func(func(*ast.TypeSpec) bool) {
	return func(yield func(*ast.TypeSpec) bool) {
		for _, d := range f.syntax.Decls {
			decl, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, s := range decl.Specs {
				if spec, ok := s.(*ast.TypeSpec); ok && !yield(spec) {
					return
				}
			}
		}
	}
}

// name is an exported identifier at package level.
type name struct{ dir, name string }

// exported returns the exported names of all packages that are no commands.
func exported(packages []*pkg) (names []name) {
	for _, p := range packages {
		if p.name == "main" {
			continue
		}
		add := func(id *ast.Ident) {
			if id.IsExported() {
				names = append(names, name{p.dir, id.Name})
			}
		}
		for _, f := range p.files {
			for _, d := range f.syntax.Decls {
				switch d := d.(type) {
				case *ast.FuncDecl:
					if d.Recv == nil {
						add(d.Name)
					}
				case *ast.GenDecl:
					for _, s := range d.Specs {
						switch s := s.(type) {
						case *ast.TypeSpec:
							add(s.Name)
						case *ast.ValueSpec:
							for _, id := range s.Names {
								add(id)
							}
						}
					}
				}
			}
		}
	}
	slices.SortFunc(names, func(a, b name) int { return cmp.Or(cmp.Compare(a.dir, b.dir), cmp.Compare(a.name, b.name)) })
	return names
}

// users are, for every name that a package takes from another one, the directories of those that do: whatever stands behind the name of an import and a
// dot. A variable that hides an import of the same name would be taken for it.
func (m *module) users(packages []*pkg) map[string]map[string]bool {
	users := map[string]map[string]bool{}
	for _, p := range packages {
		for _, f := range p.files {
			imports := m.imports(f)
			ast.Inspect(f.syntax, func(n ast.Node) bool {
				selector, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				if x, ok := selector.X.(*ast.Ident); ok && imports[x.Name] != nil {
					key := imports[x.Name].dir + "." + selector.Sel.Name
					if users[key] == nil {
						users[key] = map[string]bool{}
					}
					users[key][p.dir] = true
				}
				return true
			})
		}
	}
	return users
}

// importers are, for every package, the directories of the packages that import it.
func (m *module) importers(packages []*pkg) map[string][]string {
	out := map[string][]string{}
	for _, p := range packages {
		imported := map[string]bool{}
		for _, f := range p.files {
			for _, of := range m.imports(f) {
				imported[of.dir] = true
			}
		}
		for dir := range imported {
			out[dir] = append(out[dir], p.dir)
		}
	}
	return out
}

func twice(names []name) (out []string) {
	by := map[string][]string{}
	for _, n := range names {
		by[n.name] = append(by[n.name], n.dir)
	}
	for _, n := range slices.SortedFunc(maps.Keys(by), func(a, b string) int { return cmp.Or(cmp.Compare(len(by[b]), len(by[a])), cmp.Compare(a, b)) }) {
		if len(by[n]) > 1 {
			out = append(out, fmt.Sprintf("%s: %s", n, strings.Join(by[n], " ")))
		}
	}
	return out
}

// alike returns the structs of different packages that have the same members in JSON.
func (m *module) alike(packages []*pkg) (out []string) {
	type place struct{ dir, text string }
	by := map[string][]place{}
	for _, p := range packages {
		for _, f := range p.files {
			ast.Inspect(f.syntax, func(n ast.Node) bool {
				spec, ok := n.(*ast.TypeSpec)
				if !ok {
					return true
				}
				if s, ok := spec.Type.(*ast.StructType); ok {
					if members := inJSON(s); len(members) >= fewTags {
						key := strings.Join(members, " ")
						by[key] = append(by[key], place{p.dir, p.dir + "." + spec.Name.Name})
					}
				}
				return true
			})
		}
	}
	for _, members := range slices.Sorted(maps.Keys(by)) {
		places := by[members]
		if slices.ContainsFunc(places, func(p place) bool { return p.dir != places[0].dir }) {
			var texts []string
			for _, p := range places {
				texts = append(texts, p.text)
			}
			out = append(out, fmt.Sprintf("%s: %s", strings.Join(texts, " "), members))
		}
	}
	return out
}

// inJSON returns the names of a struct's fields in JSON, sorted, as far as their tags say them.
func inJSON(s *ast.StructType) (members []string) {
	for _, f := range s.Fields.List {
		if f.Tag == nil {
			continue
		}
		tag, _ := strconv.Unquote(f.Tag.Value) // the parser has proven that it is a string
		if member, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ","); member != "" && member != "-" {
			members = append(members, member)
		}
	}
	slices.Sort(members)
	return members
}
