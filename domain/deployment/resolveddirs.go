package deployment

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ResolvedDirs records where directories were when they were examined: for a directory reached through a link, its target with links resolved. A
// directory that is missing was reached without links. A nil *ResolvedDirs means that nothing was examined.
type ResolvedDirs struct {
	Links map[string]string // by the directory as written
}

// NewResolvedDirs returns one without links.
func NewResolvedDirs() *ResolvedDirs { return &ResolvedDirs{map[string]string{}} }

// Add records the target of a directory.
func (w *ResolvedDirs) Add(dir, real string) {
	if dir != real {
		w.Links[dir] = real
	}
}

// Resolve returns where a directory was.
func (w *ResolvedDirs) Resolve(dir string) string {
	if real, led := w.Links[dir]; led {
		return real
	}
	return dir
}

// Pairs returns the directories that were reached through links, sorted, each with its target.
func (w *ResolvedDirs) Pairs() (all [][2]string) {
	if w == nil {
		return nil
	}
	for _, dir := range slices.Sorted(maps.Keys(w.Links)) {
		all = append(all, [2]string{dir, w.Links[dir]})
	}
	return all
}

// and returns the union of two records.
func (w *ResolvedDirs) and(other *ResolvedDirs) *ResolvedDirs {
	if w == nil || other == nil {
		return w
	}
	out := &ResolvedDirs{maps.Clone(w.Links)}
	maps.Copy(out.Links, other.Links)
	return out
}

// maxLed is the number of directories that a warning names.
const maxLed = 10

// links returns the pairs except those that follow from a directory above.
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

// Warnings names in one line the directories that are links, for the user who decides what is written through them; nil if there are none.
// Directories below a link are not named separately.
func (w *ResolvedDirs) Warnings() []string {
	led := w.links()
	if len(led) == 0 {
		return nil
	}
	text := "these directories are reached through symbolic links; files are written to the link targets: "
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
