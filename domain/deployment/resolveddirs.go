package deployment

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ResolvedDirs is where directories really were when they were looked at: for those that are reached through a link, where that leads, links resolved. What is
// not in it was reached without one. A nil *Ways is what nobody looked at.
type ResolvedDirs struct {
	Links map[string]string // by the directory as it is written
}

// NewResolvedDirs knows of no link.
func NewResolvedDirs() *ResolvedDirs { return &ResolvedDirs{map[string]string{}} }

// Add notes that a directory is really another one.
func (w *ResolvedDirs) Add(dir, real string) {
	if dir != real {
		w.Links[dir] = real
	}
}

// Resolve is where a directory was.
func (w *ResolvedDirs) Resolve(dir string) string {
	if real, led := w.Links[dir]; led {
		return real
	}
	return dir
}

// Pairs are the directories that were reached through links, sorted, each with where that leads.
func (w *ResolvedDirs) Pairs() (all [][2]string) {
	if w == nil {
		return nil
	}
	for _, dir := range slices.Sorted(maps.Keys(w.Links)) {
		all = append(all, [2]string{dir, w.Links[dir]})
	}
	return all
}

// and is what either of two looks saw.
func (w *ResolvedDirs) and(other *ResolvedDirs) *ResolvedDirs {
	if w == nil || other == nil {
		return w
	}
	out := &ResolvedDirs{maps.Clone(w.Links)}
	maps.Copy(out.Links, other.Links)
	return out
}

// maxLed is how many directories a warning names.
const maxLed = 10

// links are the pairs without those that follow from one for a directory above.
func (w *ResolvedDirs) links() [][2]string {
	return slices.DeleteFunc(w.Pairs(), func(one [2]string) bool {
		i := strings.LastIndexAny(one[0], `/\`)
		if i <= 0 {
			return false
		}
		above, led := w.Links[one[0][:i]]
		return led && one[1] == above+one[0][i:]
	})
}

// Warnings say in one line which directories are links, for whoever decides what is written through them; nil where none is. Directories below a link are not
// named beside it.
func (w *ResolvedDirs) Warnings() []string {
	led := w.links()
	if len(led) == 0 {
		return nil
	}
	text := "these directories are reached through links, and what is written there is written where they lead: "
	for i, one := range led[:min(len(led), maxLed)] {
		if i > 0 {
			text += ", "
		}
		text += one[0] + " → " + one[1]
	}
	if more := len(led) - maxLed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return []string{text}
}
