package archtest

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// Answers reports where a transport takes more from a use case than the types of what its tools take and answer, its constants, and its typed handles:
// whatever a transport has done is done through the door.
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
	if !ok {
		return false
	}
	index, ok := lit.Type.(*ast.IndexListExpr)
	return ok && names(index.X, "tool", "Ref")
}
