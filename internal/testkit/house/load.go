//go:build linux

package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// module is the syntax of a Go module, nested modules and testdata left out.
type module struct {
	path     string // from go.mod
	fset     *token.FileSet
	packages map[string]*pkg // by directory
}

// pkg is one directory with Go files.
type pkg struct {
	dir       string
	name      string
	product   bool // neither for tests only nor a command of the test kit
	files     []*file
	testLines int
}

// file is one Go file that is no test.
type file struct {
	path   string
	lines  int
	syntax *ast.File
}

// load parses the module whose root is fsys. Lines of tests are counted; what is in them is not looked at.
func load(fsys fs.FS) (*module, error) {
	m := &module{fset: token.NewFileSet(), packages: map[string]*pkg{}}
	mod, err := fs.ReadFile(fsys, "go.mod")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(mod)) {
		if name, ok := strings.CutPrefix(line, "module "); ok {
			m.path = strings.TrimSpace(name)
		}
	}
	return m, fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && p != ".":
			if _, err := fs.Stat(fsys, path.Join(p, "go.mod")); err == nil || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") || strings.HasPrefix(d.Name(), "_") {
				return fs.SkipDir
			}
			return nil
		case d.IsDir() || !strings.HasSuffix(p, ".go"):
			return nil
		}
		return m.add(fsys, p)
	})
}

func (m *module) add(fsys fs.FS, p string) error {
	src, err := fs.ReadFile(fsys, p)
	if err != nil {
		return err
	}
	dir, lines := path.Dir(p), bytes.Count(src, []byte("\n"))
	at := m.packages[dir]
	if at == nil {
		at = &pkg{dir: dir, product: !strings.HasPrefix(dir+"/", "internal/testkit/") && dir != "ports/porttest"}
		m.packages[dir] = at
	}
	if strings.HasSuffix(p, "_test.go") {
		at.testLines += lines
		return nil
	}
	syntax, err := parser.ParseFile(m.fset, p, src, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	at.name = syntax.Name.Name
	at.files = append(at.files, &file{p, lines, syntax})
	return nil
}

func (p *pkg) lines() int {
	n := 0
	for _, f := range p.files {
		n += f.lines
	}
	return n
}

// public reports whether other modules can import the package.
func (p *pkg) public() bool {
	return p.product && p.name != "main" && !strings.Contains("/"+p.dir+"/", "/internal/")
}

// imports returns the packages of the module that a file imports, by the names under which it sees them.
func (m *module) imports(f *file) map[string]*pkg {
	seen := map[string]*pkg{}
	for _, spec := range f.syntax.Imports {
		imported, _ := strconv.Unquote(spec.Path.Value) // the parser has proven that it is a string
		dir, ours := strings.CutPrefix(imported, m.path+"/")
		of := m.packages[dir]
		switch {
		case !ours || of == nil:
		case spec.Name != nil:
			seen[spec.Name.Name] = of
		default:
			seen[of.name] = of
		}
	}
	return seen
}
