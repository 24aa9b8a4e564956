package archtest

import (
	"go/ast"
	"go/token"
	"path"
	"slices"
)

// Names holds package names and imports to the vocabulary: a package is called like its directory, no two share a name, none is
// called after what it lacks, and because of that no import (in tests either) needs an alias. exempt lists "file import" pairs that may.
func Names(m *Module, exempt ...string) (found []Finding) {
	owner := map[string]string{}
	for _, p := range m.Packages {
		for _, f := range p.Files {
			found = append(found, m.aliases(f, exempt)...)
		}
		if code := p.code(); len(code) > 0 && !p.main() {
			name := code[0].Syntax.Name.Name
			found = append(found, misnamed(p.Dir, name, owner[name])...)
			owner[name] = p.Dir
		}
	}
	return found
}

// vague are names that collect whatever nobody found a place for.
var vague = []string{"util", "utils", "common", "helper", "helpers", "types", "base", "models", "model", "misc", "shared", "core", "manager"}

func misnamed(dir, name, taken string) (found []Finding) {
	if name != path.Base(dir) {
		found = append(found, Finding{Path: dir, Text: "package " + name + " is not called like its directory"})
	}
	if slices.Contains(vague, name) {
		found = append(found, Finding{Path: dir, Text: name + " says nothing about what is inside; name the package for what it gives"})
	}
	if taken != "" {
		found = append(found, Finding{Path: dir, Text: "package " + name + " exists already in " + taken + "; a second one would need import aliases"})
	}
	return found
}

func (m *Module) aliases(f *File, exempt []string) (found []Finding) {
	for _, spec := range f.Syntax.Imports {
		if spec.Name == nil || spec.Name.Name == "_" || slices.Contains(exempt, f.Path+" "+importPath(spec)) {
			continue
		}
		found = append(found, m.at(f, spec.Pos(), "%s is imported as %s; import aliases hide where a name comes from", importPath(spec), spec.Name.Name))
	}
	return found
}

// Hidden bans what happens behind the reader's back: init functions, package-level variables that are assigned again, and
// package-level locks, pools and counters.
func Hidden(m *Module) (found []Finding) {
	for _, p := range m.Packages {
		globals := map[string]bool{}
		for _, f := range p.code() {
			found = append(found, m.globals(f, globals)...)
		}
		for _, f := range p.code() {
			found = append(found, m.reassigned(f, globals)...)
		}
	}
	return found
}

// globals records the file's package-level variables and reports the functions and types that make state.
func (m *Module) globals(f *File, names map[string]bool) (found []Finding) {
	for _, decl := range f.Syntax.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
			found = append(found, m.at(f, fn.Pos(), "init runs unasked; construct it where it is used"))
		}
		gen, ok := decl.(*ast.GenDecl)
		if !ok || gen.Tok != token.VAR {
			continue
		}
		for _, spec := range gen.Specs {
			value := spec.(*ast.ValueSpec)
			for _, name := range value.Names {
				names[name.Name] = true
			}
			if synchronized(value.Type) {
				found = append(found, m.at(f, value.Pos(), "%s is state shared by the whole process; make it a field", value.Names[0].Name))
			}
		}
	}
	return found
}

// synchronized reports types whose only use is to change: anything of package sync or sync/atomic.
func synchronized(t ast.Expr) bool {
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	if generic, ok := t.(*ast.IndexExpr); ok {
		t = generic.X
	}
	selector, ok := t.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	from, ok := selector.X.(*ast.Ident)
	return ok && (from.Name == "sync" || from.Name == "atomic")
}

func (m *Module) reassigned(f *File, globals map[string]bool) (found []Finding) {
	check := func(targets ...ast.Expr) {
		for _, target := range targets {
			if name := root(target); name != nil && globals[name.Name] && !f.local(name) {
				found = append(found, m.at(f, target.Pos(), "%s belongs to the package and changes here; make it a field or a parameter", name.Name))
			}
		}
	}
	ast.Inspect(f.Syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if n.Tok != token.DEFINE {
				check(n.Lhs...)
			}
		case *ast.IncDecStmt:
			check(n.X)
		}
		return true
	})
	return found
}

// root is the variable that an assignment to e changes.
func root(e ast.Expr) *ast.Ident {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return x
		case *ast.SelectorExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		default:
			return nil
		}
	}
}

// local reports an identifier declared inside a function. The parser resolves names within one file: a package-level variable of
// this file is the object its scope holds, and one of another file stays unresolved.
func (f *File) local(name *ast.Ident) bool {
	return name.Obj != nil && name.Obj != f.Syntax.Scope.Lookup(name.Name)
}
