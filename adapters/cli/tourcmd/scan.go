package tourcmd

import (
	"context"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/countersign-dev/countersign/adapters/cli/packcmd"
	"github.com/countersign-dev/countersign/domain/outline"
)

// Bounds of the survey: a look at a repository, not a study of it.
const (
	maxListed = 50_000    // files
	maxRead   = 600       // files
	maxFile   = 256 << 10 // bytes
	maxBytes  = 16 << 20  // of all files read
)

// source is one source file that was read.
type source struct {
	path string // slashes, below the root
	lang string
	defs []outline.Definition
	uses map[string]bool // identifiers that occur in it, and package.Name pairs
	text []string        // lines
}

// survey is what a look at a repository found.
type survey struct {
	root    string
	git     bool
	files   []string // every file, sorted
	sources []source
}

// look surveys the repository that dir stands in: the whole working tree in git, and dir otherwise.
func look(ctx context.Context, dir string) (survey, error) {
	s := survey{root: dir}
	if top := packcmd.GitRoot(ctx, dir); top != "" {
		s.root, s.git = top, true
	}
	var err error
	if s.files, err = s.list(ctx); err != nil {
		return s, err
	}
	slices.Sort(s.files)
	s.read()
	return s, ctx.Err()
}

// list returns every file that belongs to the repository: git knows what is ignored; elsewhere hidden and generated directories are left out.
func (s *survey) list(ctx context.Context) ([]string, error) {
	if s.git {
		if files, err := packcmd.GitFiles(ctx, s.root, maxListed); err == nil {
			return files, nil
		}
	}
	var files []string
	err := filepath.WalkDir(s.root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && name == s.root:
			return err
		case err != nil || len(files) >= maxListed:
			return nil // one unreadable directory hides only itself
		case d.IsDir() && name != s.root && skipped(d.Name()):
			return filepath.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		if rel, err := filepath.Rel(s.root, name); err == nil {
			files = append(files, filepath.ToSlash(rel))
		}
		return nil
	})
	return files, err
}

func skipped(dir string) bool {
	return strings.HasPrefix(dir, ".") || slices.Contains([]string{"node_modules", "vendor", "target", "dist", "build", "__pycache__", "venv"}, dir)
}

// read reads the source files worth pointing at, the ones near the root first.
func (s *survey) read() {
	candidates := slices.DeleteFunc(slices.Clone(s.files), func(f string) bool { return outline.LanguageOf(f) == "" || aside(f) || !nameable(f) })
	slices.SortStableFunc(candidates, func(a, b string) int { return strings.Count(a, "/") - strings.Count(b, "/") })
	root, err := os.OpenRoot(s.root)
	if err != nil {
		return
	}
	defer root.Close()
	var scanner outline.Scanner
	left := maxBytes
	for _, name := range candidates {
		if len(s.sources) >= maxRead || left <= 0 {
			return
		}
		text, ok := readText(root, name)
		if !ok || generated(text) {
			continue
		}
		left -= len(text)
		s.sources = append(s.sources, source{path: name, lang: outline.LanguageOf(name), defs: scanner.Definitions(name, text),
			uses: words(text), text: strings.Split(text, "\n")})
	}
}

// readText returns a regular file of at most maxFile bytes of UTF-8.
func readText(root *os.Root, name string) (string, bool) {
	info, err := root.Lstat(filepath.FromSlash(name))
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxFile || info.Size() == 0 {
		return "", false
	}
	text, err := root.ReadFile(filepath.FromSlash(name))
	return string(text), err == nil && utf8.Valid(text)
}

// nameable reports a path that an anchor can hold as it is (context-pack contract §1.1).
func nameable(file string) bool {
	return utf8.ValidString(file) && len(file) <= 1024 && strings.TrimSpace(file) == file && !strings.ContainsAny(file, "\\\n\r\x00")
}

// aside reports files that show a repository badly: tests, examples, and code of others.
func aside(file string) bool {
	for part := range strings.SplitSeq(strings.ToLower(path.Dir(file)), "/") {
		switch part {
		case "vendor", "node_modules", "third_party", "testkit", "testutil", "mock", "mocks", "benchmarks", "testdata", "test", "tests", "__tests__", "spec", "examples", "example", "fixtures", "dist", "docs":
			return true
		}
	}
	base := strings.ToLower(path.Base(file))
	return strings.Contains(base, "_test.") || strings.Contains(base, ".test.") || strings.Contains(base, ".spec.") || strings.HasPrefix(base, "test_") ||
		strings.Contains(base, ".min.") || strings.Contains(base, ".pb.")
}

// generated reports text that says it was made by a program, or looks so.
func generated(text string) bool {
	head := text[:min(len(text), 1000)]
	return strings.Contains(head, "DO NOT EDIT") || strings.Contains(head, "@generated") || len(text) > 20_000 && strings.Count(text, "\n") < len(text)/400
}

// words returns the set of identifiers in a text, comments left out as far as a line shows them, and of the pairs x.y among them.
func words(text string) map[string]bool {
	out := map[string]bool{}
	for line := range strings.Lines(text) {
		if t := strings.TrimSpace(line); strings.HasPrefix(t, "//") || strings.HasPrefix(t, "#") || strings.HasPrefix(t, "*") || strings.HasPrefix(t, "--") {
			continue
		}
		before, start := "", -1
		for i := 0; i <= len(line); i++ {
			if i < len(line) && identifies(line[i]) {
				if start < 0 {
					start = i
				}
				continue
			}
			if start >= 0 {
				word := line[start:i]
				out[word] = true
				if before != "" && line[start-1] == '.' {
					out[before+"."+word] = true
				}
				before, start = word, -1
			}
			if i < len(line) && line[i] != '.' {
				before = ""
			}
		}
	}
	return out
}

func identifies(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= utf8.RuneSelf
}
