// Package archtest holds the rules of this repository as tests: import rules, purity, documentation, package names, hidden state, and the catalogue of error
// codes. Each rule is a function from a loaded Module to Findings, so that a test can show it failing.
//
// It checks syntax only, without types, so that all rules run in well under a second.
package archtest

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"
)

// Module is the syntax of one Go module: every package in it, nested modules and testdata left out.
type Module struct {
	Path     string     // from go.mod
	Packages []*Package // sorted by Dir
	fset     *token.FileSet
	fsys     fs.FS
}

// Package is one directory that holds Go files.
type Package struct {
	Dir   string // slash path relative to the module, "." for its root
	Files []*File
}

// File is one Go file, parsed with comments. Test files are parsed up to their imports only.
type File struct {
	Path   string // slash path relative to the module
	Test   bool
	Syntax *ast.File
}

// Finding is one place where a rule is broken.
type Finding struct {
	Path string // slash path relative to the module
	Line int    // 1-based, 0 when the finding is about the whole file or directory
	Text string // what is wrong, and why or what to do instead
}

// String is "path:line: text", which editors can jump to.
func (f Finding) String() string {
	if f.Line == 0 {
		return fmt.Sprintf("%s: %s", f.Path, f.Text)
	}
	return fmt.Sprintf("%s:%d: %s", f.Path, f.Line, f.Text)
}

// ErrNoModule reports a tree without a go.mod that names its module.
var ErrNoModule = errors.New("go.mod with a module line is missing")

// Load parses the module whose root is fsys. It fails with ErrNoModule, on unreadable files, and on files that do not parse.
func Load(fsys fs.FS) (*Module, error) {
	m := &Module{fset: token.NewFileSet(), fsys: fsys}
	if m.Path = modulePath(fsys); m.Path == "" {
		return nil, ErrNoModule
	}
	paths, err := goFiles(fsys)
	if err != nil {
		return nil, err
	}
	files := make([]*File, len(paths))
	var group errgroup.Group
	for i, p := range paths {
		group.Go(func() (err error) {
			files[i], err = m.parse(p)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	byDir := map[string]*Package{}
	for _, f := range files {
		dir := path.Dir(f.Path)
		if byDir[dir] == nil {
			byDir[dir] = &Package{Dir: dir}
			m.Packages = append(m.Packages, byDir[dir])
		}
		byDir[dir].Files = append(byDir[dir].Files, f)
	}
	slices.SortFunc(m.Packages, func(a, b *Package) int { return cmp.Compare(a.Dir, b.Dir) })
	return m, nil
}

func modulePath(fsys fs.FS) string {
	text, _ := fs.ReadFile(fsys, "go.mod")
	for line := range strings.Lines(string(text)) {
		if name, ok := strings.CutPrefix(line, "module "); ok {
			return strings.TrimSpace(name)
		}
	}
	return ""
}

func goFiles(fsys fs.FS) (paths []string, err error) {
	err = fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && p != "." && foreign(fsys, p, d.Name()):
			return fs.SkipDir
		case d.Type().IsRegular() && strings.HasSuffix(p, ".go"):
			paths = append(paths, p)
		}
		return nil
	})
	return paths, err
}

// foreign reports directories the go command would not count as part of the module.
func foreign(fsys fs.FS, dir, name string) bool {
	if name == "testdata" || name == "vendor" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
		return true
	}
	_, err := fs.Stat(fsys, path.Join(dir, "go.mod"))
	return err == nil
}

func (m *Module) parse(p string) (*File, error) {
	src, err := fs.ReadFile(m.fsys, p)
	if err != nil {
		return nil, err
	}
	f := &File{Path: p, Test: strings.HasSuffix(p, "_test.go")}
	mode := parser.ParseComments
	if f.Test {
		mode = parser.ImportsOnly
	}
	f.Syntax, err = parser.ParseFile(m.fset, p, src, mode)
	return f, err
}

// code yields the package's non-test files.
func (p *Package) code() []*File {
	return slices.DeleteFunc(slices.Clone(p.Files), func(f *File) bool { return f.Test })
}

// main reports whether the package is a command.
func (p *Package) main() bool {
	code := p.code()
	return len(code) > 0 && code[0].Syntax.Name.Name == "main"
}

func (m *Module) line(pos token.Pos) int { return m.fset.Position(pos).Line }

func (m *Module) at(f *File, pos token.Pos, format string, args ...any) Finding {
	return Finding{Path: f.Path, Line: m.line(pos), Text: fmt.Sprintf(format, args...)}
}

// importPath returns the import's path; the parser has already proven that it is a string.
func importPath(spec *ast.ImportSpec) string {
	p, _ := strconv.Unquote(spec.Path.Value)
	return p
}

// localName returns the name under which f sees the package at importPath, or "" when f does not import it.
func localName(f *File, wanted string) string {
	for _, spec := range f.Syntax.Imports {
		if importPath(spec) != wanted {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return path.Base(wanted)
	}
	return ""
}

// relative returns the import's directory in the module, or false when it lies elsewhere.
func (m *Module) relative(imported string) (string, bool) {
	if imported == m.Path {
		return ".", true
	}
	return strings.CutPrefix(imported, m.Path+"/")
}
