package archtest

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// Answers reports where a transport uses more of a use case than the types of its tools' inputs and results, its constants, and its typed handles:
// transports must do everything through the core.
func Answers(m *Module, transports []string) (found []Finding) {
	for _, p := range m.Packages {
		if !slices.ContainsFunc(transports, func(pattern string) bool { return covers(pattern, p.Dir) }) {
			continue
		}
		for _, f := range p.code() {
			for _, spec := range f.Syntax.Imports {
				dir, ours := m.relative(importPath(spec))
				if !ours || !strings.HasPrefix(dir, "app/") {
					continue
				}
				name := localName(f, importPath(spec))
				ast.Inspect(f.Syntax, func(n ast.Node) bool {
					s, ok := n.(*ast.SelectorExpr)
					if !ok {
						return true
					}
					if of, ok := s.X.(*ast.Ident); ok && of.Name == name && !m.spoken(dir, s.Sel.Name) {
						found = append(found, m.at(f, s.Pos(), "%s.%s is no type, constant or typed handle of %s; call the tool through the door", name, s.Sel.Name, dir))
					}
					return true
				})
			}
		}
	}
	return found
}

// spoken reports a name of a package that transports may say: a type, a constant, or a variable that is a tool.Ref.
func (m *Module) spoken(dir, name string) bool {
	for _, p := range m.Packages {
		if p.Dir != dir {
			continue
		}
		for _, f := range p.code() {
			for _, d := range f.Syntax.Decls {
				g, ok := d.(*ast.GenDecl)
				if !ok {
					continue
				}
				for _, spec := range g.Specs {
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						if spec.Name.Name == name {
							return true
						}
					case *ast.ValueSpec:
						for i, n := range spec.Names {
							if n.Name == name {
								return g.Tok == token.CONST || i < len(spec.Values) && isHandle(spec.Values[i])
							}
						}
					}
				}
			}
		}
	}
	return false
}

// isHandle reports a tool.Ref.
func isHandle(e ast.Expr) bool {
	lit, ok := e.(*ast.CompositeLit)
	return ok && handleTypes(lit) != nil
}

// handleTypes returns the types of what the tool of a tool.Ref takes and answers; nil for another value.
func handleTypes(lit *ast.CompositeLit) []ast.Expr {
	if index, ok := lit.Type.(*ast.IndexListExpr); ok && names(index.X, "tool", "Ref") {
		return index.Indices
	}
	return nil
}

// Handles reports typed handles that say nothing of what their tool answers.
func Handles(m *Module) (found []Finding) {
	for _, p := range m.Packages {
		for _, f := range p.code() {
			ast.Inspect(f.Syntax, func(n ast.Node) bool {
				if lit, ok := n.(*ast.CompositeLit); ok {
					if types := handleTypes(lit); types != nil {
						if answer, ok := types[len(types)-1].(*ast.Ident); ok && answer.Name == "any" {
							found = append(found, m.at(f, lit.Pos(), "this handle answers any; give the answer a type of its own, which callers and schemas go by"))
						}
					}
				}
				return true
			})
		}
	}
	return found
}
