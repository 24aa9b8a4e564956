package archtest

import (
	"go/ast"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Docs requires a package comment everywhere, in one file only, and a comment on every exported identifier outside commands.
func Docs(m *Module) (found []Finding) {
	for _, p := range m.Packages {
		code := p.code()
		if len(code) == 0 {
			continue
		}
		comments := 0
		for _, f := range code {
			if f.Syntax.Doc != nil {
				comments++
			}
			if !p.main() {
				found = append(found, m.undocumented(f)...)
			}
		}
		if comments != 1 {
			found = append(found, Finding{Path: p.Dir, Text: "a package has exactly one package comment: what it is for, and what a reader has to know of it"})
		}
	}
	return found
}

func (m *Module) undocumented(f *File) (found []Finding) {
	missing := func(at ast.Node, name string) {
		found = append(found, m.at(f, at.Pos(), "exported %s has no comment; say what it promises", name))
	}
	for _, decl := range f.Syntax.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Doc == nil && exportedFunc(d) {
				missing(d, d.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if name := bareName(d, spec); name != "" {
					missing(spec, name)
				}
			}
		}
	}
	return found
}

// selfEvident are methods whose whole meaning is the standard interface they implement.
var selfEvident = []string{"Error", "String", "Unwrap", "Len", "Less", "Swap"}

func exportedFunc(d *ast.FuncDecl) bool {
	if !d.Name.IsExported() {
		return false
	}
	if d.Recv == nil {
		return true
	}
	return ast.IsExported(receiver(d)) && !slices.Contains(selfEvident, d.Name.Name)
}

// receiver returns the name of the type the method belongs to.
func receiver(d *ast.FuncDecl) string {
	t := d.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

// bareName returns the first exported name of the spec that neither its own comment, nor its line's, nor its group's covers.
func bareName(d *ast.GenDecl, spec ast.Spec) string {
	switch s := spec.(type) {
	case *ast.TypeSpec:
		if s.Name.IsExported() && s.Doc == nil && d.Doc == nil {
			return s.Name.Name
		}
	case *ast.ValueSpec:
		if s.Doc != nil || s.Comment != nil || d.Doc != nil {
			return ""
		}
		if i := slices.IndexFunc(s.Names, (*ast.Ident).IsExported); i >= 0 {
			return s.Names[i].Name
		}
	}
	return ""
}

// place is what a directory or file of the module looks like in prose.
var place = regexp.MustCompile(`\b(?:domain|ports|app|adapters|cmd|internal)/[a-z0-9_/-]*[a-z0-9_](?:\.go)?\b`)

// Map holds the document against the tree: every package is mentioned by its directory, and every directory or file mentioned exists.
func Map(m *Module, doc string) (found []Finding) {
	text, err := fs.ReadFile(m.fsys, doc)
	if err != nil {
		return []Finding{{Path: doc, Text: "is missing; it is the map newcomers start from"}}
	}
	mentioned := map[string]bool{"app": true, "ports": true} // too short to be looked for in prose; the whole document is about them
	line := 0
	for l := range strings.Lines(string(text)) {
		line++
		for _, name := range place.FindAllString(l, -1) {
			mentioned[name] = true
			if _, err := fs.Stat(m.fsys, name); err != nil {
				found = append(found, Finding{Path: doc, Line: line, Text: "mentions " + name + ", which does not exist"})
			}
		}
	}
	for _, p := range m.Packages {
		if !mentioned[path.Clean(p.Dir)] {
			found = append(found, Finding{Path: doc, Text: "does not mention package " + p.Dir})
		}
	}
	return found
}
