package tasks

import (
	"path"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/spelling"
)

// Ordered returns members so that each comes after its dependencies, otherwise by directory. Members of a cycle are sorted by directory, and their
// directories are returned as well.
func Ordered(members []Member) (out []Member, circle []string) {
	left := slices.Clone(members)
	placed := map[string]bool{}
	among := map[string]bool{}
	for _, m := range left {
		among[m.Dir] = true
	}
	for len(left) > 0 {
		ready := slices.IndexFunc(left, func(m Member) bool {
			return !slices.ContainsFunc(m.Needs, func(dir string) bool { return among[dir] && !placed[dir] })
		})
		if ready < 0 {
			ready = 0
			circle = append(circle, left[0].Dir)
		}
		out = append(out, left[ready])
		placed[left[ready].Dir] = true
		left = slices.Delete(left, ready, ready+1)
	}
	return out, circle
}

// Select returns the members that filters match: by name, by directory, by a pattern of either (ui-*, packages/*), or all except those after "!".
// Without a selecting filter, all are selected. The top is included only if its own name or "." says so, unless more than a package.json makes it a
// member: its scripts usually run all the others. It fails with project.ErrArgument for a filter that matches none.
func Select(members []Member, filters []string) ([]Member, error) {
	chosen, chooses := map[string]bool{}, false
	for _, f := range filters {
		if strings.HasPrefix(f, "!") {
			continue
		}
		chooses = true
		named := false
		for _, m := range members {
			if m.is(f) {
				chosen[m.Dir], named = true, true
			}
		}
		if !named {
			return nil, unnamed(members, f)
		}
	}
	return slices.DeleteFunc(slices.Clone(members), func(m Member) bool {
		return chooses && !chosen[m.Dir] || !chooses && m.top() || slices.ContainsFunc(filters, func(f string) bool {
			without, is := strings.CutPrefix(f, "!")
			return is && m.is(without)
		})
	}), nil
}

// is reports whether a filter matches the member.
func (m Member) is(filter string) bool {
	filter = strings.TrimSuffix(strings.TrimPrefix(filter, "./"), "/")
	if filter == m.Name || filter == m.Dir {
		return true
	}
	byName, err := path.Match(filter, m.Name)
	return !m.top() && (filter == "*" || err == nil && byName || m.Dir != "." && fits(parts(filter), parts(m.Dir)))
}

// top reports whether the member is the top of a package managers' workspace.
func (m Member) top() bool { return m.Dir == "." && slices.Equal(m.Kinds, []string{kindNode}) }

func unnamed(members []Member, filter string) error {
	if len(members) == 0 {
		return project.ErrArgument.WithMessage("member %.100q not found: the project has no workspace", filter)
	}
	var names []string
	for _, m := range members {
		names = append(names, m.Name)
	}
	meant := ""
	if near := spelling.Nearest(filter, names); near != "" {
		meant = "; did you mean " + near + "?"
	}
	list := strings.Join(names[:min(len(names), shown)], ", ")
	if len(names) > shown {
		list += sprintf(" and %d more", len(names)-shown)
	}
	return project.ErrArgument.WithMessage("member %.100q not found%s; members: %s", filter, meant, list)
}

// Affected returns the members that contain files below the top, for each file the innermost, and those that depend on them, directly or indirectly.
// A file in no member but the top affects only the top.
func Affected(members []Member, files []string) []Member {
	hit := map[string]bool{}
	for _, file := range files {
		inner := ""
		for _, m := range members {
			if (m.Dir == "." || strings.HasPrefix(file, m.Dir+"/")) && (inner == "" || inner == "." || len(m.Dir) > len(inner) && m.Dir != ".") {
				inner = m.Dir
			}
		}
		if inner != "" {
			hit[inner] = true
		}
	}
	for again := true; again; {
		again = false
		for _, m := range members {
			if !hit[m.Dir] && slices.ContainsFunc(m.Needs, func(dir string) bool { return hit[dir] }) {
				hit[m.Dir], again = true, true
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(members), func(m Member) bool { return !hit[m.Dir] })
}
