package archtest

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Code is one row of the error-code catalogue: a failure the module can report, where it is declared and of which kind it is.
type Code struct {
	Code    string // as callers see it
	Kind    string // the fault.Kind's name in the source
	Package string // directory
}

// String returns the row as the catalogue file holds it.
func (c Code) String() string { return fmt.Sprintf("%-36s %-12s %s", c.Code, c.Kind, c.Package) }

// codeForm is what a code looks like: words in snake_case.
var codeForm = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)

// Codes collects every fault.New of the module's non-test files, sorted by code, and reports codes that are no literal, badly
// formed or declared twice, and faults built around fault.New, which would miss the catalogue.
func Codes(m *Module) (codes []Code, found []Finding) {
	home := m.Path + "/domain/fault"
	first := map[string]string{}
	for _, p := range m.Packages {
		for _, f := range p.code() {
			qualifier := localName(f, home)
			if qualifier == "" && path.Join(m.Path, p.Dir) != home {
				continue
			}
			ast.Inspect(f.Syntax, func(n ast.Node) bool {
				if literal, ok := n.(*ast.CompositeLit); ok && qualifier != "" && names(literal.Type, qualifier, "Error") && !copiesCode(literal) {
					found = append(found, m.at(f, n.Pos(), "a fault is made by fault.New or from a sentinel, so that its code is in the catalogue"))
				}
				call, ok := n.(*ast.CallExpr)
				if !ok || len(call.Args) < 2 || !names(call.Fun, qualifier, "New") {
					return true
				}
				code, problem := literalCode(call.Args[1], first)
				if problem != "" {
					found = append(found, m.at(f, call.Pos(), "%s", problem))
					return true
				}
				first[code] = p.Dir
				codes = append(codes, Code{Code: code, Kind: kindName(call.Args[0]), Package: p.Dir})
				return true
			})
		}
	}
	slices.SortFunc(codes, func(a, b Code) int { return cmp.Compare(a.Code, b.Code) })
	return codes, found
}

// names reports whether e is qualifier.name, or plain name when there is no qualifier.
func names(e ast.Expr, qualifier, name string) bool {
	if qualifier == "" {
		id, ok := e.(*ast.Ident)
		return ok && id.Name == name
	}
	selector, ok := e.(*ast.SelectorExpr)
	if !ok || selector.Sel.Name != name {
		return false
	}
	id, ok := selector.X.(*ast.Ident)
	return ok && id.Name == qualifier
}

// copiesCode reports a fault built with the code of another one, as masking does.
func copiesCode(literal *ast.CompositeLit) bool {
	for _, element := range literal.Elts {
		field, ok := element.(*ast.KeyValueExpr)
		if !ok || !names(field.Key, "", "Code") {
			continue
		}
		from, ok := field.Value.(*ast.SelectorExpr)
		return ok && from.Sel.Name == "Code"
	}
	return false
}

// literalCode returns the code an argument spells out, or what is wrong with it.
func literalCode(arg ast.Expr, first map[string]string) (code, problem string) {
	literal, ok := arg.(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return "", "a code is written as a string literal, so that it can be found and reviewed"
	}
	code, _ = strconv.Unquote(literal.Value)
	switch {
	case !codeForm.MatchString(code):
		return "", fmt.Sprintf("code %q is not snake_case", code)
	case first[code] != "":
		return "", fmt.Sprintf("code %q exists already in %s; a code means one thing", code, first[code])
	}
	return code, ""
}

// kindName returns the kind's identifier without its qualifier: "NotFound".
func kindName(e ast.Expr) string {
	if selector, ok := e.(*ast.SelectorExpr); ok {
		return selector.Sel.Name
	}
	if id, ok := e.(*ast.Ident); ok {
		return id.Name
	}
	return "computed"
}

// Catalogue returns the codes as one text, a row a line.
func Catalogue(codes []Code) string {
	var b strings.Builder
	for _, c := range codes {
		b.WriteString(c.String() + "\n")
	}
	return b.String()
}
