package archtest

import (
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
)

// OneGit reports where product code starts git outside of the package home: the program name in a file that can start programs, and any command line
// that begins with it. Scripts and commands of users are not product text.
func OneGit(m *Module, home string) (found []Finding) {
	for _, p := range m.Packages {
		if p.Dir == home || strings.HasPrefix(p.Dir, "internal/testkit") {
			continue
		}
		for _, f := range p.code() {
			starts := localName(f, "os/exec") != ""
			ast.Inspect(f.Syntax, func(n ast.Node) bool {
				at := token.NoPos
				switch n := n.(type) {
				case *ast.BasicLit:
					if starts && isGit(n) {
						at = n.Pos()
					}
				case *ast.CallExpr:
					if name, ok := n.Fun.(*ast.SelectorExpr); ok && !starts && slices.Contains([]string{"Exec", "ForkExec", "StartProcess"}, name.Sel.Name) && slices.ContainsFunc(n.Args, isGit) {
						at = n.Pos()
					}
				case *ast.CompositeLit:
					if !starts && argv(n) {
						at = n.Pos()
					}
				case *ast.KeyValueExpr:
					if name, ok := n.Key.(*ast.Ident); ok && !starts && slices.Contains([]string{"Program", "Command", "Exec", "Executable"}, name.Name) && isGit(n.Value) {
						at = n.Pos()
					}
				}
				if at.IsValid() {
					found = append(found, m.at(f, at, "git is started past the guard of %s; use that package", home))
				}
				return true
			})
		}
	}
	return found
}

// isGit reports a text that is the program, or a command line of it.
func isGit(e ast.Expr) bool {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return false
	}
	text, _ := strconv.Unquote(lit.Value)
	program, _, _ := strings.Cut(text, " ")
	return slices.Contains([]string{"git", "git.exe"}, path.Base(program))
}

// argv reports a list of texts of which the first is the program.
func argv(list *ast.CompositeLit) bool {
	array, ok := list.Type.(*ast.ArrayType)
	if !ok || len(list.Elts) < 2 {
		return false
	}
	element, ok := array.Elt.(*ast.Ident)
	return ok && element.Name == "string" && isGit(list.Elts[0])
}
