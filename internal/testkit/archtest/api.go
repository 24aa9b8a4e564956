package archtest

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/printer"
	"go/token"
	"slices"
	"strings"
)

// MayChange is what the comment of every package outside the API says of itself, as a line of its own.
const MayChange = "Its API may change at any time."

// API returns what the packages export: a line for each name, field and method, sorted, with nothing that a program which uses them does not see. A line that goes
// or changes breaks such programs; a line that is added to an interface breaks those that implement it.
func API(m *Module, dirs []string) string {
	var out strings.Builder
	for _, p := range m.Packages {
		if !slices.Contains(dirs, p.Dir) {
			continue
		}
		l := listing{fset: m.fset, methods: map[string][]string{}, given: map[string]bool{}}
		for _, f := range p.code() {
			l.file(f.Syntax)
		}
		for of, methods := range l.methods {
			if ast.IsExported(of) || l.given[of] {
				l.lines = append(l.lines, methods...)
			}
		}
		slices.Sort(l.lines)
		fmt.Fprintf(&out, "%s\n\t%s\n", p.Dir, strings.Join(slices.Compact(l.lines), "\n\t"))
	}
	return out.String()
}

// Supported reports packages that promise more or less than the list: one that is on it and says that it may change, and one that can be imported from
// outside, is not on it, and does not say so.
func Supported(m *Module, dirs []string) (found []Finding) {
	for _, p := range m.Packages {
		if len(p.code()) == 0 || p.main() || strings.Contains("/"+p.Dir+"/", "/internal/") {
			continue
		}
		listed, says := slices.Contains(dirs, p.Dir), false
		for _, f := range p.code() {
			says = says || f.Syntax.Doc != nil && slices.Contains(strings.Split(f.Syntax.Doc.Text(), "\n"), MayChange)
		}
		if listed && says {
			found = append(found, Finding{Path: p.Dir, Text: "is part of the API and says that it may change"})
		}
		if !listed && !says {
			found = append(found, Finding{Path: p.Dir, Text: "is not part of the API; its package comment ends with a line of its own: " + MayChange})
		}
	}
	return found
}

// listing collects what the files of one package export.
type listing struct {
	fset    *token.FileSet
	lines   []string
	methods map[string][]string // by the name of their type
	given   map[string]bool     // names in what exported functions return: programs get hold of such values, whatever their type is called
}

func (l *listing) add(format string, args ...any) {
	l.lines = append(l.lines, fmt.Sprintf(format, args...))
}

func (l *listing) file(f *ast.File) {
	for _, decl := range f.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if !d.Name.IsExported() {
				continue
			}
			if d.Recv == nil {
				l.add("func %s%s%s", d.Name.Name, l.parameters(d.Type.TypeParams), l.signature(d.Type))
			} else {
				of := receiver(d)
				l.methods[of] = append(l.methods[of], fmt.Sprintf("method (%s) %s%s", l.text(d.Recv.List[0].Type), d.Name.Name, l.signature(d.Type)))
			}
			if d.Type.Results != nil && (d.Recv == nil || ast.IsExported(receiver(d))) {
				ast.Inspect(d.Type.Results, func(n ast.Node) bool {
					if name, ok := n.(*ast.Ident); ok {
						l.given[name.Name] = true
					}
					return true
				})
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				l.spec(d.Tok, spec)
			}
		}
	}
}

func (l *listing) spec(tok token.Token, spec ast.Spec) {
	switch s := spec.(type) {
	case *ast.ValueSpec:
		for i, name := range s.Names {
			if !name.IsExported() {
				continue
			}
			line := tok.String() + " " + name.Name
			if s.Type != nil {
				line += " " + l.text(s.Type)
			}
			if tok == token.CONST && i < len(s.Values) {
				line += " = " + l.text(s.Values[i])
			}
			l.add("%s", line)
		}
	case *ast.TypeSpec:
		if s.Name.IsExported() {
			l.typed(s)
		}
	}
}

func (l *listing) typed(s *ast.TypeSpec) {
	name := "type " + s.Name.Name + l.parameters(s.TypeParams)
	if s.Assign.IsValid() {
		name += " ="
	}
	switch t := s.Type.(type) {
	case *ast.StructType:
		l.add("%s struct", name)
		l.members(s.Name.Name, t.Fields)
	case *ast.InterfaceType:
		l.add("%s interface", name)
		l.members(s.Name.Name, t.Methods)
	default:
		l.add("%s %s", name, l.text(t))
	}
}

// members are the exported fields or methods of a type, and what is embedded in it.
func (l *listing) members(of string, fields *ast.FieldList) {
	for _, f := range fields.List {
		tag := ""
		if f.Tag != nil {
			tag = " " + f.Tag.Value
		}
		if len(f.Names) == 0 {
			l.add("type %s embeds %s%s", of, l.text(f.Type), tag)
		}
		for _, name := range f.Names {
			method, ok := f.Type.(*ast.FuncType)
			ok = ok && !method.Func.IsValid() // fields of functions have the keyword
			if !name.IsExported() {
				if ok {
					l.add("type %s has methods that only its package implements", of)
				}
				continue
			}
			if ok {
				l.add("type %s has %s%s", of, name.Name, l.signature(method))
				continue
			}
			l.add("type %s has %s %s%s", of, name.Name, l.text(f.Type), tag)
		}
	}
}

func (l *listing) signature(t *ast.FuncType) string {
	results := l.types(t.Results)
	switch {
	case len(results) == 1:
		return "(" + strings.Join(l.types(t.Params), ", ") + ") " + results[0]
	case len(results) > 1:
		return "(" + strings.Join(l.types(t.Params), ", ") + ") (" + strings.Join(results, ", ") + ")"
	}
	return "(" + strings.Join(l.types(t.Params), ", ") + ")"
}

// types returns the types of parameters or results, without their names, which are not part of the API.
func (l *listing) types(fields *ast.FieldList) (types []string) {
	if fields == nil {
		return nil
	}
	for _, f := range fields.List {
		for range max(1, len(f.Names)) {
			types = append(types, l.text(f.Type))
		}
	}
	return types
}

func (l *listing) parameters(fields *ast.FieldList) string {
	if fields == nil {
		return ""
	}
	var all []string
	for _, f := range fields.List {
		for _, name := range f.Names {
			all = append(all, name.Name+" "+l.text(f.Type))
		}
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// text returns a node as source on one line.
func (l *listing) text(n ast.Node) string {
	var b bytes.Buffer
	if err := printer.Fprint(&b, l.fset, n); err != nil {
		return err.Error()
	}
	return strings.Join(strings.Fields(b.String()), " ")
}
