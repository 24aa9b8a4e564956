package tourcmd

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/outline"
)

// How much of the layout is drawn.
const (
	maxTop      = 8 // directories at the top
	maxBelow    = 4 // directories below one of them
	maxSplit    = 3 // of them that are drawn with what is below
	maxEdges    = 8
	maxOwnEdges = 2 // of one definition
)

// directory is one box of the diagram.
type directory struct {
	path  string
	files int
	langs map[string]int
}

// mermaid draws the directories with their files and languages, and dotted lines from those that mention a chosen definition to its own.
func (s survey) mermaid(chosen []anchor) string {
	top := s.group("", 1)
	top = top[:min(len(top), maxTop)]
	var b strings.Builder
	b.WriteString("flowchart LR\n")
	fmt.Fprintf(&b, "  root[%s]\n", label(s.name(), len(s.files), nil))
	ids := map[string]string{".": "root"}
	split := 0
	for _, d := range top {
		s.box(&b, ids, "root", d)
		if below := s.group(d.path, 2); split < maxSplit && len(below) > 1 {
			split++
			for _, e := range below[:min(len(below), maxBelow)] {
				s.box(&b, ids, ids[d.path], e)
			}
		}
	}
	for _, e := range edges(chosen, ids) {
		fmt.Fprintf(&b, "  %s\n", e)
	}
	return b.String()
}

func (s survey) box(b *strings.Builder, ids map[string]string, parent string, d directory) {
	id := fmt.Sprintf("d%d", len(ids))
	ids[d.path] = id
	fmt.Fprintf(b, "  %s --> %s[%s]\n", parent, id, label(path.Base(d.path), d.files, d.langs))
}

// label returns the text of a box. Mermaid takes a quoted string; quotes inside become entities.
func label(name string, files int, langs map[string]int) string {
	text := fmt.Sprintf("%s<br/>%d file", name, files)
	if files != 1 {
		text += "s"
	}
	if best := most(langs); best != "" {
		text += ", " + best
	}
	return `"` + strings.NewReplacer(`"`, "#quot;", "\n", " ", "\r", " ", "`", "'").Replace(text) + `"`
}

func most(langs map[string]int) string {
	best := ""
	for _, l := range slices.Sorted(maps.Keys(langs)) {
		if best == "" || langs[l] > langs[best] {
			best = l
		}
	}
	return best
}

// group counts the files of the directories depth levels deep below parent, the fullest first.
func (s survey) group(parent string, depth int) []directory {
	byPath := map[string]*directory{}
	for _, f := range s.files {
		if parent != "" && !strings.HasPrefix(f, parent+"/") {
			continue
		}
		parts := strings.Split(f, "/")
		if len(parts) <= depth || strings.HasPrefix(parts[depth-1], ".") {
			continue
		}
		at := strings.Join(parts[:depth], "/")
		d := byPath[at]
		if d == nil {
			d = &directory{path: at, langs: map[string]int{}}
			byPath[at] = d
		}
		d.files++
		if l := outline.LanguageOf(f); l != "" {
			d.langs[l]++
		}
	}
	var out []directory
	for _, d := range byPath {
		out = append(out, *d)
	}
	slices.SortFunc(out, func(a, b directory) int { return cmp.Or(b.files-a.files, cmp.Compare(a.path, b.path)) })
	return out
}

// edges says which drawn directory mentions the chosen definitions of which other.
func edges(chosen []anchor, ids map[string]string) []string {
	drawn := func(file string) string {
		for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
			if id := ids[dir]; id != "" {
				return id
			}
		}
		return "root"
	}
	var out []string
	for _, a := range chosen {
		mine := 0
		for _, user := range a.users {
			from, to := drawn(user), drawn(a.path)
			edge := fmt.Sprintf("%s -.->|%q| %s", from, a.def.Name, to)
			if from != to && from != "root" && to != "root" && !slices.Contains(out, edge) && len(out) < maxEdges && mine < maxOwnEdges {
				out, mine = append(out, edge), mine+1
			}
		}
	}
	return out
}

// languages returns what the repository is written in, most first, for users.
func (s survey) languages() string {
	count := map[string]int{}
	for _, f := range s.files {
		if l := outline.LanguageOf(f); l != "" {
			count[l]++
		}
	}
	names := slices.SortedFunc(maps.Keys(count), func(a, b string) int { return cmp.Or(count[b]-count[a], cmp.Compare(a, b)) })
	var parts []string
	for _, n := range names[:min(len(names), 3)] {
		parts = append(parts, fmt.Sprintf("%d %s", count[n], n))
	}
	return strings.Join(parts, ", ")
}

func (s survey) name() string {
	if name := path.Base(strings.ReplaceAll(s.root, `\`, "/")); name != "/" && name != "." {
		return name
	}
	return "repository"
}
