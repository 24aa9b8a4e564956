package tourcmd

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/outline"
)

// What is chosen.
const (
	minName    = 3  // characters of a name worth counting
	maxAnchors = 6  // refs in the pack
	maxPerDir  = 2  // anchors of one directory
	maxShown   = 40 // lines of an anchor
)

// anchor is one definition the pack points at.
type anchor struct {
	source
	def   outline.Definition
	users []string // other files that mention the name
	entry bool     // where the program begins
	score float64
}

func (a anchor) last() int { return min(a.def.Last, a.def.First+maxShown-1) }

// why says what was found out about the definition, and nothing that was not.
func (a anchor) why() string {
	var parts []string
	if a.def.Doc != "" {
		parts = append(parts, fmt.Sprintf("“%s”", a.def.Doc))
	}
	if a.entry {
		parts = append(parts, "the program begins here")
	}
	switch n := len(a.users); {
	case n == 1:
		parts = append(parts, "mentioned in "+a.users[0])
	case n > 1:
		parts = append(parts, fmt.Sprintf("mentioned in %d other files", n))
	}
	if len(parts) == 0 {
		parts = append(parts, "it is near the root")
	}
	return strings.Join(parts, "; ")
}

// choose picks the definitions that most of the repository leans on, one a file, spread over its directories, the entry point first.
func (s survey) choose() []anchor {
	candidates := s.candidates()
	slices.SortStableFunc(candidates, func(a, b anchor) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(len(a.path), len(b.path)))
	})
	var out []anchor
	inDir, files := map[string]int{}, map[string]bool{}
	take := func(wanted func(anchor) bool, limit, perDir int) {
		for _, c := range candidates {
			dir := path.Dir(c.path)
			if len(out) >= limit || files[c.path] || inDir[dir] >= perDir || !wanted(c) {
				continue
			}
			out = append(out, c)
			files[c.path] = true
			inDir[dir]++
		}
	}
	take(func(c anchor) bool { return c.entry }, 1, maxPerDir)
	other := func(c anchor) bool { return !c.entry }
	take(other, maxAnchors, maxPerDir)
	take(other, maxAnchors, maxAnchors) // a flat repository
	return out
}

func (s survey) candidates() []anchor {
	defined, files := map[string]int{}, map[string][]string{} // by identifier or pair
	for _, f := range s.sources {
		for _, d := range f.defs {
			defined[d.Name]++
		}
		for w := range f.uses {
			files[w] = append(files[w], f.path)
		}
	}
	var out []anchor
	for _, f := range s.sources {
		for _, d := range f.defs {
			if len(d.Name) < minName {
				continue
			}
			a := anchor{source: f, def: d, entry: entryPoint(f, d)}
			a.users = mentions(a, files, defined[d.Name] == 1)
			a.score = a.weight()
			a.widen()
			out = append(out, a)
		}
	}
	return out
}

// shortEntry is the length below which an entry point says little by itself.
const shortEntry = 6

// widen makes a short entry point its whole file, where that is short as well.
func (a *anchor) widen() {
	n := len(a.text)
	for n > 1 && strings.TrimSpace(a.text[n-1]) == "" {
		n--
	}
	if a.entry && a.def.Lines() < shortEntry && n <= maxShown {
		a.def.First, a.def.Last = 1, n
	}
}

// mentions lists the other files that mention a definition. A Go name is looked for as Go sees it: bare in its own package, and behind
// the package's name elsewhere. In other languages only a name that is defined once can be told.
func mentions(a anchor, files map[string][]string, once bool) []string {
	var out []string
	dir := path.Dir(a.path)
	switch {
	case a.lang == "Go" && !a.method():
		for _, f := range files[a.def.Name] {
			if f != a.path && path.Dir(f) == dir {
				out = append(out, f)
			}
		}
		for _, f := range files[path.Base(dir)+"."+a.def.Name] {
			if path.Dir(f) != dir {
				out = append(out, f)
			}
		}
	case once:
		out = slices.DeleteFunc(slices.Clone(files[a.def.Name]), func(f string) bool { return f == a.path })
	}
	slices.Sort(out)
	return out
}

// method reports a definition that belongs to another one.
func (a anchor) method() bool {
	line := a.text[a.def.Line-1]
	return strings.HasPrefix(line, "func (") || strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t")
}

// entryPoint reports where a program begins.
func entryPoint(f source, d outline.Definition) bool {
	base := strings.ToLower(path.Base(f.path))
	switch f.lang {
	case "Go", "Rust", "C", "C++", "Zig", "Dart", "Kotlin":
		return d.Name == "main" && !strings.HasPrefix(f.text[d.Line-1], "\t")
	case "Java", "C#":
		return strings.EqualFold(d.Name, "main")
	case "Python":
		return d.Name == "main" && slices.ContainsFunc(f.text, func(l string) bool { return strings.HasPrefix(l, "if __name__") })
	case "Shell":
		return d.Name == "main"
	}
	return d.Name == "main" && strings.HasPrefix(base, "main.")
}

// plainWord is the length up to which a lower-case Go name may be any word; in other languages any may.
const plainWord = 6

// weight returns how much a definition says about its repository.
func (a anchor) weight() float64 {
	w := 3 * math.Log2(float64(1+min(len(a.users), 40)))
	if a.def.Doc != "" {
		w += 2
	}
	if a.method() {
		w -= 4
	}
	if strings.ToLower(a.def.Name) == a.def.Name && !strings.ContainsAny(a.def.Name, "_-0123456789") && (a.lang != "Go" || len(a.def.Name) <= plainWord) {
		w -= 4
	}
	switch n := a.def.Lines(); {
	case n < 4:
		w -= 4
	case n > 2*maxShown:
		w -= 2
	case n >= 8 && n <= maxShown:
		w += 3
	}
	return w - 0.4*float64(strings.Count(a.path, "/"))
}

// What is shown of a repository without code that is known.
const (
	plainFiles = 3
	plainLines = 20
)

// plain returns a stand-in for repositories without code that is known: the beginning of the text files nearest to the root.
func (s survey) plain() []anchor {
	root, err := os.OpenRoot(s.root)
	if err != nil {
		return nil
	}
	defer root.Close()
	files := slices.DeleteFunc(slices.Clone(s.files), func(f string) bool { return strings.HasPrefix(path.Base(f), ".") || !nameable(f) })
	slices.SortStableFunc(files, func(a, b string) int { return strings.Count(a, "/") - strings.Count(b, "/") })
	var out []anchor
	for _, f := range files[:min(len(files), maxRead)] {
		text, ok := readText(root, f)
		if !ok || strings.TrimSpace(text) == "" || len(out) == plainFiles {
			continue
		}
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		out = append(out, anchor{source: source{path: f, text: lines}, def: outline.Definition{Name: path.Base(f), First: 1, Line: 1, Last: min(len(lines), plainLines)}})
	}
	return out
}
