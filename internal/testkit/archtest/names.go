package archtest

import (
	"go/ast"
	"go/token"
	"path"
)

// Names holds every package to the name of its directory, and bans dot imports (in tests either): a reader sees where a name comes from.
// How long a name is, whether another package has it too, and whether an import gives it another one is a matter of taste.
func Names(m *Module) (found []Finding) {
	for _, p := range m.Packages {
		for _, f := range p.Files {
			for _, spec := range f.Syntax.Imports {
				if spec.Name != nil && spec.Name.Name == "." {
					found = append(found, m.at(f, spec.Pos(), "%s is imported with a dot, which hides where a name comes from", importPath(spec)))
				}
			}
		}
		if code := p.code(); len(code) > 0 && !p.main() && code[0].Syntax.Name.Name != path.Base(p.Dir) {
			found = append(found, Finding{Path: p.Dir, Text: "package " + code[0].Syntax.Name.Name + " is not called like its directory"})
		}
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
			if name := root(target); name != nil && name.Name != "_" && globals[name.Name] && !f.local(name) {
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

// root returns the variable that an assignment to e changes.
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
