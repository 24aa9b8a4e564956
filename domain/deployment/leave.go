package deployment

import (
	"slices"
	"strings"
)

// LeaveEdited returns the plan without changes that would overwrite or delete the user's own work, or what another config repository deployed: those
// files and their records stay as they are. A file that one change leaves is left by every other change too.
func (p Plan) LeaveEdited(o Observed) Plan {
	left := map[string]bool{}
	for _, c := range p.Changes {
		if c.Gate.Adopts() {
			left[c.Path] = true
		}
	}
	if len(left) == 0 {
		return p
	}
	stays := func(path string) bool { return left[path] }
	changes := p.Changes
	p.Changes = []Change{}
	for _, c := range changes {
		if left[c.Path] {
			p.Left = append(p.Left, c)
		} else {
			p.Changes = append(p.Changes, c)
		}
	}
	p.Taken = slices.DeleteFunc(slices.Clone(p.Taken), func(t Takeover) bool { return left[t.From.Path] })
	p.Doubtful = slices.DeleteFunc(slices.Clone(p.Doubtful), stays)
	p.Owned = slices.DeleteFunc(slices.Clone(p.Owned), func(f Owned) bool { return left[f.Path] })
	w := Wanted{Roots: p.Roots, Owner: p.Owner, Repo: p.Repo}
	was := map[place]*Owned{}
	for _, have := range entriesOf(w, o).all {
		if was[have.place()] = have; left[have.Path] && have.Known() != nil {
			p.Owned = append(p.Owned, *have)
		}
	}
	p.sortOwned()
	p.Stale = p.lacksManifest(o) || len(p.TakesOver) > 0 || len(p.Owned) != len(was)
	for i := range p.Owned {
		have := was[p.Owned[i].place()]
		p.Stale = p.Stale || have.Known() == nil || !p.Owned[i].same(have)
	}
	return p
}

// leftAlone returns the paths that the plan leaves alone, sorted.
func (p Plan) leftAlone() (paths []string) {
	for _, c := range p.Left {
		paths = append(paths, c.Path)
	}
	slices.SortFunc(paths, strings.Compare)
	return slices.Compact(paths)
}
