package tasks

import (
	"path"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/spelling"
)

// Ordered returns members so that each stands behind those that it needs, and otherwise by directory. Those that need one another in a circle stand by directory, and
// their directories are returned besides.
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

// Select returns the members that filters name: by name, by directory, by a pattern of either (ui-*, packages/*), or all but those behind "!". Without a filter that
// chooses, all are chosen. The top is one of those only where its own name or "." says so, unless more than a package.json makes it a member: what its scripts run is most
// often all the others. It fails with project.ErrArgument on a filter that names none.
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

// is reports whether a filter names the member.
func (m Member) is(filter string) bool {
	filter = strings.TrimSuffix(strings.TrimPrefix(filter, "./"), "/")
	if filter == m.Name || filter == m.Dir {
		return true
	}
	byName, err := path.Match(filter, m.Name)
	return !m.top() && (filter == "*" || err == nil && byName || m.Dir != "." && fits(parts(filter), parts(m.Dir)))
}

// top reports the top of a workspace of package managers.
func (m Member) top() bool { return m.Dir == "." && slices.Equal(m.Kinds, []string{kindNode}) }

func unnamed(members []Member, filter string) error {
	if len(members) == 0 {
		return project.ErrArgument.Sayf("there is no member %.100q: no workspace is described here", filter)
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
	return project.ErrArgument.Sayf("there is no member %.100q%s; there are: %s", filter, meant, list)
}

// Affected returns the members that files below the top belong to, each to the innermost, and those that need them, through others too. A file that belongs to none
// of them but the top affects the top alone.
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
