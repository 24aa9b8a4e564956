package sandbox

import (
	"strings"
	"unicode/utf8"
)

// Graph is commits with their parents, as far as they were listed.
type Graph struct {
	at      map[string]int
	parents [][]string
	lines   []string // of text; may be empty
}

// ParseGraph parses lines of a commit's ID and those of its parents, each perhaps followed by a NUL and a line of text about it: the output of `git
// rev-list --parents`, or of a format with the text. It fails with sandbox.ErrGit for a line without an ID.
func ParseGraph(out []byte) (Graph, error) {
	g := Graph{at: map[string]int{}}
	for line := range strings.Lines(string(out)) {
		ids, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\x00")
		fields := strings.Fields(ids)
		if len(fields) == 0 || strings.Trim(fields[0], "0123456789abcdef") != "" {
			return Graph{}, unexpected("commits", line)
		}
		g.at[fields[0]] = len(g.parents)
		g.parents = append(g.parents, fields[1:])
		g.lines = append(g.lines, plain(text))
	}
	return g, nil
}

// Count returns how many of the listed commits are reachable from head, including itself.
func (g Graph) Count(head string) int {
	n := 0
	g.walk(head, func(int) { n++ })
	return n
}

// Lines returns the texts of the listed commits that are reachable from head, in the order of the list: at most limit, and the number of the others.
func (g Graph) Lines(head string, limit int) (lines []string, more int) {
	reached := make([]bool, len(g.lines))
	g.walk(head, func(i int) { reached[i] = true })
	for i, line := range g.lines {
		switch {
		case !reached[i]:
		case len(lines) < limit:
			lines = append(lines, line)
		default:
			more++
		}
	}
	return lines, more
}

func (g Graph) walk(head string, visit func(int)) {
	first, ok := g.at[head]
	if !ok {
		return
	}
	seen := make([]bool, len(g.parents))
	seen[first] = true
	for todo := []int{first}; len(todo) > 0; {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		visit(i)
		for _, parent := range g.parents[i] {
			if j, listed := g.at[parent]; listed && !seen[j] {
				seen[j] = true
				todo = append(todo, j)
			}
		}
	}
}

func unexpected(what, line string) error {
	return ErrGit.WithMessage("unexpected git output %.80q for %s; use git 2.39 or newer", line, what)
}

// plain returns text as users and JSON take it.
func plain(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
