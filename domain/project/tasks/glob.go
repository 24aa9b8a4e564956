package tasks

import (
	"path"
	"slices"
	"strings"
)

// The bounds of looking for members.
const (
	maxMembers = 2000
	maxLooked  = 50_000 // directories
	maxDeep    = 8      // levels that ** matches
)

// globber finds the directories that patterns of workspaces name.
type globber struct {
	tree   Tree
	looked int
	full   bool
}

// find returns the directories below base that any pattern matches and none that begins with "!" does, sorted. Patterns are those of package
// managers: * and ? within a name, ** for any directories. One that leaves the top finds nothing.
func (g *globber) find(base string, patterns []string) []string {
	found := map[string]bool{}
	var out []string
	for _, p := range patterns {
		if p = strings.TrimSpace(p); p == "" || p[0] == '!' || slices.Contains(strings.Split(p, "/"), "..") {
			continue
		}
		for _, dir := range g.match(base, parts(p)) {
			if !found[dir] {
				found[dir] = true
				out = append(out, dir)
			}
		}
	}
	out = slices.DeleteFunc(out, func(dir string) bool {
		return slices.ContainsFunc(patterns, func(p string) bool {
			without, is := strings.CutPrefix(strings.TrimSpace(p), "!")
			return is && fits(parts(without), parts(relative(base, dir)))
		})
	})
	slices.Sort(out)
	return out
}

// relative returns a directory's path below base.
func relative(base, dir string) string {
	if base == "." {
		return dir
	}
	return strings.TrimPrefix(strings.TrimPrefix(dir, base), "/")
}

// parts returns the names of a pattern or path.
func parts(p string) []string {
	p = path.Clean("/" + strings.TrimPrefix(p, "./"))
	if p == "/" {
		return nil
	}
	return strings.Split(p[1:], "/")
}

func (g *globber) match(dir string, names []string) []string {
	if len(names) == 0 {
		return []string{dir}
	}
	name, rest := names[0], names[1:]
	switch {
	case name == "**":
		var out []string
		for _, at := range g.under(dir, maxDeep) {
			out = append(out, g.match(at, rest)...)
		}
		return out
	case !strings.ContainsAny(name, "*?["):
		if at := path.Join(dir, name); g.tree.At(dir).Has(name) {
			return g.match(at, rest)
		}
		return nil
	}
	var out []string
	for _, sub := range g.dirs(dir) {
		if ok, err := path.Match(name, sub); err == nil && ok {
			out = append(out, g.match(path.Join(dir, sub), rest)...)
		}
	}
	return out
}

// dirs returns the directories in one, until the limit of directories is reached.
func (g *globber) dirs(dir string) []string {
	found := g.tree.Dirs(dir)
	if g.looked += 1 + len(found); g.looked > maxLooked {
		g.full = true
		return nil
	}
	return found
}

// under returns a directory and all below it.
func (g *globber) under(dir string, deep int) []string {
	out := []string{dir}
	if deep == 0 {
		return out
	}
	for _, sub := range g.dirs(dir) {
		out = append(out, g.under(path.Join(dir, sub), deep-1)...)
	}
	return out
}

// Fits reports whether a slash path matches a pattern: * and ? within a name, ** for any directories.
func Fits(pattern, name string) bool { return fits(parts(pattern), parts(name)) }

// fits reports whether a path matches a pattern.
func fits(pattern, names []string) bool {
	if len(pattern) == 0 {
		return len(names) == 0
	}
	if pattern[0] == "**" {
		return fits(pattern[1:], names) || len(names) > 0 && fits(pattern, names[1:])
	}
	if len(names) == 0 {
		return false
	}
	ok, err := path.Match(pattern[0], names[0])
	return err == nil && ok && fits(pattern[1:], names[1:])
}
