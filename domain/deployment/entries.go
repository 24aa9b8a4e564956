package deployment

import (
	"iter"
	"slices"
	"strings"
)

// place is a file of a target.
type place struct{ target, path string }

func (p place) compare(other place) int {
	if c := strings.Compare(p.target, other.target); c != 0 {
		return c
	}
	return strings.Compare(p.path, other.path)
}

func (f *Owned) place() place { return place{f.Target, f.Path} }

// Entries calls yield with a pointer to every entry of every manifest; unlike Owned it copies none.
func (o Observed) Entries() iter.Seq[*Owned] {
	return func(yield func(*Owned) bool) {
		for l := range o.Ledgers {
			owned := o.Ledgers[l].Owned
			for i := range owned {
				if !yield(&owned[i]) {
					return
				}
			}
		}
	}
}

// entries is a list of manifest entries that are taken one by one. Manifests and wanted files have the same order, so that the next entry is usually
// the one after the last: a map of tens of thousands would cost more than the rest of a plan's comparison.
type entries struct {
	all   []*Owned // sorted, each place once
	taken []bool
	next  int
}

// entriesOf returns the owner's entries in the roots that the plan is for. If two of the roots list a file, the last counts.
func entriesOf(w Wanted, o Observed) *entries {
	e := &entries{all: make([]*Owned, 0, o.count())}
	var root Root // root of the previous entry, and whether the plan is for it: entries of a root are adjacent
	inside := w.Has(Owned{})
	for have := range o.Entries() {
		if have.Target != root.Target || have.Root != root.Path {
			root, inside = Root{Target: have.Target, Path: have.Root}, w.Has(*have)
		}
		if have.Owner == w.Owner && have.Repo == w.Owner.Repo(w.Repo) && inside {
			e.all = append(e.all, have)
		}
	}
	order := func(a, b *Owned) int { return a.place().compare(b.place()) }
	if !slices.IsSortedFunc(e.all, order) {
		slices.SortStableFunc(e.all, order)
	}
	kept := e.all[:0]
	for i, have := range e.all {
		if i+1 == len(e.all) || e.all[i+1].place() != have.place() {
			kept = append(kept, have)
		}
	}
	e.all, e.taken = kept, make([]bool, len(kept))
	return e
}

func (o Observed) count() (n int) {
	for i := range o.Ledgers {
		n += len(o.Ledgers[i].Owned)
	}
	return n
}

// take returns the entry of a place, the first time only; nil if there is none.
func (e *entries) take(at place) *Owned {
	i := e.next
	if i >= len(e.all) || e.all[i].place() != at {
		var found bool
		if i, found = slices.BinarySearchFunc(e.all, at, func(f *Owned, at place) int { return f.place().compare(at) }); !found {
			return nil
		}
	}
	e.next = i + 1
	if e.taken[i] {
		return nil
	}
	e.taken[i] = true
	return e.all[i]
}

// left returns the entries that were not taken.
func (e *entries) left() (out []*Owned) {
	for i, have := range e.all {
		if !e.taken[i] {
			out = append(out, have)
		}
	}
	return out
}

// below reports whether an entry is below a directory.
func (e *entries) below(dir string) bool {
	return slices.ContainsFunc(e.all, func(f *Owned) bool {
		return f.Path != dir && (IsBelow(dir, f.Path, '/') || IsBelow(dir, f.Path, '\\'))
	})
}
