package archtest

import (
	"fmt"
	"go/ast"
)

// Limits are how large things may grow before they have to be split. Lines count everything, comments and blank lines included.
type Limits struct {
	Package   int // lines of non-test files
	File      int
	Function  int
	Main      int // lines of a command
	Interface int // methods
	Params    int // positional parameters
}

// HouseLimits are the limits of this module: the 90th percentile of packages and files in well-kept Go code bases.
var HouseLimits = Limits{Package: 1200, File: 450, Function: 60, Main: 60, Interface: 5, Params: 5}

// Sizes reports everything outside test files that is larger than its limit.
func Sizes(m *Module, max Limits) (found []Finding) {
	for _, p := range m.Packages {
		total := 0
		for _, f := range p.code() {
			total += f.Lines
			if f.Lines > max.File {
				found = append(found, Finding{Path: f.Path, Text: tooBig("file", f.Lines, max.File, "lines")})
			}
			found = append(found, m.oversized(f, max)...)
		}
		switch {
		case p.main() && total > max.Main:
			found = append(found, Finding{Path: p.Dir, Text: tooBig("command", total, max.Main, "lines")})
		case total > max.Package:
			found = append(found, Finding{Path: p.Dir, Text: tooBig("package", total, max.Package, "lines")})
		}
	}
	return found
}

func (m *Module) oversized(f *File, max Limits) (found []Finding) {
	report := func(n ast.Node, what string, is, limit int, unit string) {
		if is > limit {
			found = append(found, m.at(f, n.Pos(), "%s", tooBig(what, is, limit, unit)))
		}
	}
	ast.Inspect(f.Syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			report(n, n.Name.Name, m.line(n.End())-m.line(n.Pos())+1, max.Function, "lines")
		case *ast.FuncType:
			report(n, "function", n.Params.NumFields(), max.Params, "positional parameters")
		case *ast.InterfaceType:
			report(n, "interface", methods(n), max.Interface, "methods")
		}
		return true
	})
	return found
}

// methods counts methods; embedded interfaces count in their own declaration, union elements do not count.
func methods(t *ast.InterfaceType) (count int) {
	for _, field := range t.Methods.List {
		count += len(field.Names)
	}
	return count
}

func tooBig(what string, is, limit int, unit string) string {
	return fmt.Sprintf("%s has %d %s, more than %d; split it by what changes together", what, is, unit, limit)
}
