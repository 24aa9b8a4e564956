package deployment

import (
	"io/fs"
	"slices"
	"strings"
)

// Wanted is the desired state of the machine.
type Wanted struct {
	Binding Binding
	Profile string
	Targets []string
	Roots   []Root
	Files   []Desired // parts already merged, and one entry for every owned part that is no longer wanted
	Owner   Owner
	Repo    string // the config repository that the state is for
}

// NewPlan compares the desired state with the machine (agentpack contract §4.3). It deletes only files in the owner's own manifest entries of the
// given roots. It distinguishes edited files from unedited ones, keeps a file that another target or owner also has, and changes what another config
// repository deployed only with adopt. It fails with ErrPath if something that is not a file is in the way.
func NewPlan(w Wanted, o Observed) (Plan, error) {
	p := Plan{Binding: w.Binding, Profile: w.Profile, Targets: w.Targets, Owner: w.Owner, Repo: w.Repo, Roots: w.Roots, Ways: o.Ways, Changes: []Change{},
		Owned: make([]Owned, 0, len(w.Files))}
	mine, others := entriesOf(w, o), o.OthersByPath()
	for i := range w.Files {
		d := &w.Files[i]
		have, now := mine.take(place{d.Target, d.Path}), o.at(i, d.Path)
		if now.Kind == Directory && d.Part == nil && mine.below(d.Path) {
			now = Seen{} // its owned files are deleted, and the directory with them; the writer checks that nothing else is in it
		}
		listed := have
		have = have.Known()
		c, differs, err := d.compare(have, now)
		if err != nil {
			return Plan{}, err
		}
		if differs {
			c.State = others.StateOf(d, have, now)
			if d.Merge.Claimed || d.Part != nil && d.Merge.Ours.IsZero() && have.Sure() == nil {
				c.doubt(&p)
			}
			p.takeOver(c.yield(d, others[d.Path]))
			if len(p.Changes) == cap(p.Changes) && len(p.Changes) >= many {
				p.Changes = slices.Grow(p.Changes, len(w.Files)-i) // where many files differ, most do, and changes are large
			}
			p.Changes = append(p.Changes, c)
		}
		if next, keep := d.owned(have, now, w); keep {
			p.Owned = append(p.Owned, next)
			p.Stale = p.Stale || have == nil || !next.same(have)
		} else {
			p.Stale = p.Stale || listed != nil
		}
	}
	p.inherit()
	p.leave(mine.left(), w, o)
	p.Beside = w.beside(o)
	p.TakesOver = w.takesOver(o)
	p.Stale = p.Stale || p.lacksManifest(o) || len(p.TakesOver) > 0
	slices.SortFunc(p.Changes, func(a, b Change) int { return place{a.Target, a.Path}.compare(place{b.Target, b.Path}) })
	p.sortOwned()
	return p, nil
}

// many is the number of changes from which a plan is assumed to change most of what is wanted.
const many = 64

// sortOwned sorts entries that are mostly sorted already: wanted files are, and entries are too large to move without need.
func (p *Plan) sortOwned() {
	for i := 1; i < len(p.Owned); i++ {
		if p.Owned[i-1].place().compare(p.Owned[i].place()) > 0 {
			slices.SortFunc(p.Owned, func(a, b Owned) int { return a.place().compare(b.place()) })
			return
		}
	}
}

// leave deletes owned files that are no longer wanted, unless another target wants them or another manifest lists them.
func (p *Plan) leave(left []*Owned, w Wanted, o Observed) {
	if len(left) == 0 {
		return
	}
	p.Stale = true
	wanted, held := make(map[string]bool, len(w.Files)), map[string]int{}
	for i := range w.Files {
		wanted[w.Files[i].Path] = true
	}
	for have := range o.Entries() {
		held[have.Path]++
	}
	for i := range o.Others {
		held[o.Others[i].Path]++
	}
	for _, have := range left {
		held[have.Path]-- // a target that releases the file in this very plan does not hold it
	}
	for _, have := range left {
		if c, ok := have.goodbye(o.Files[have.Path]); ok && !wanted[have.Path] && held[have.Path] == 0 {
			if have.Known() == nil {
				p.Forgotten = append(p.Forgotten, have.Path)
				continue
			}
			if have.Sure() == nil {
				c.doubt(p)
			}
			p.Changes = append(p.Changes, c)
		}
	}
}

// doubt makes a change need adopt if its only reason is something that any program can write.
func (c *Change) doubt(p *Plan) {
	c.Reason, c.State = reasonClaimed, ""
	switch c.Op {
	case OpDelete:
		c.Gate = DriftedDelete
	case OpUpdate:
		c.Gate = DriftedUpdate
	}
	p.Doubtful = append(p.Doubtful, c.Path)
}

// Has reports whether an entry is in one of the roots that the plan is for; other roots are only read.
func (w Wanted) Has(have Owned) bool {
	return slices.ContainsFunc(w.Roots, func(r Root) bool { return r.Target == have.Target && r.Path == have.Root })
}

// takesOver returns the manifests beside the files of the roots that the plan is for, sorted.
func (w Wanted) takesOver(o Observed) (paths []string) {
	for i := range o.Ledgers {
		l := &o.Ledgers[i]
		if w.Has(Owned{Target: l.Root.Target, Root: l.Root.Path}) {
			paths = append(paths, l.Beside...)
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// beside returns the roots that were examined besides those that the plan is for.
func (w Wanted) beside(o Observed) (roots []Root) {
	for i := range o.Ledgers {
		if r := o.Ledgers[i].Root; !w.Has(Owned{Target: r.Target, Root: r.Path}) {
			roots = append(roots, r)
		}
	}
	return roots
}

// lacksManifest reports whether a root owns files and has no manifest under its own name.
func (p Plan) lacksManifest(o Observed) bool {
	present := map[place]bool{}
	for i := range o.Ledgers {
		present[place{o.Ledgers[i].Root.Target, o.Ledgers[i].Root.Path}] = o.Ledgers[i].Present
	}
	var known place // a root that has one: its files are mostly adjacent
	for i := range p.Owned {
		root := place{p.Owned[i].Target, p.Owned[i].Root}
		if (i == 0 || root != known) && !present[root] {
			return true
		}
		known = root
	}
	return false
}

// compare returns the change of one wanted file; have is nil when no manifest lists it.
func (d *Desired) compare(have *Owned, now Seen) (Change, bool, error) {
	if d.Part == nil && now.Is(d.Content.Sum, d.Mode) {
		return Change{}, false, nil
	}
	c := Change{Target: d.Target, Path: d.Path, Before: now, After: d.Content, Mode: d.Mode, Modules: d.Modules}
	switch {
	case now.Kind == Directory || now.Kind == Special:
		return c, false, ErrPath.WithMessage("cannot write file %s: a directory or special file has this path; move it", d.Path).
			WithDetails(ReasonDetails("destination_not_a_file", "fix_path", "retry_command").AddPath("path", d.Path))
	case now.Kind == Absent && (d.Merge.Remove || d.Part != nil && d.Merge.Ours.IsZero()):
		return c, false, nil
	case now.Kind == Absent:
		c.Op, c.Reason = OpCreate, reasonMissing
		return c, true, nil
	case d.Part != nil:
		return d.compareParts(c, have)
	}
	c.Op = OpUpdate
	switch {
	case have == nil:
		c.Gate, c.Reason = AdoptUpdate, reasonUnmanaged
	case now.Kind == Link:
		c.Gate, c.Reason = DriftedUpdate, reasonLink
	case now.Sum == have.Sum && now.Sum == d.Content.Sum:
		c.Gate, c.Reason = ManagedUpdate, reasonMode
	case now.Sum == have.Sum, d.Taken:
		c.Gate, c.Reason = ManagedUpdate, reasonDiffers
	default:
		c.Gate, c.Reason = DriftedUpdate, reasonDrifted
	}
	return c, true, nil
}

// linkMode returns the mode of a file that replaces a symbolic link to a user's document.
const linkMode fs.FileMode = 0o600

// compareParts returns compare for a file of which a deployment manages only a part.
func (d *Desired) compareParts(c Change, have *Owned) (Change, bool, error) {
	if !d.Merge.Remove && c.Before.Sum == d.Content.Sum {
		return c, false, nil
	}
	c.Op, c.Mode = OpUpdate, c.Before.Mode.Perm()
	if d.Merge.Remove {
		c.Op, c.After = OpDelete, Content{}
	}
	clean := have != nil && (d.Merge.Now == have.PartSum || d.Taken)
	switch {
	case c.Before.Kind == Link: // a file replaces it, private because the link's target may be
		c.Mode, c.Gate, c.Reason, clean = linkMode, AdoptUpdate, reasonLink, false
		if have != nil {
			c.Gate = DriftedUpdate
		}
	case d.shrinks(have, c.Before):
		c.Gate, c.Reason = ManagedUpdate, reasonDiffers
	case d.Merge.Now.IsZero():
		c.Gate, c.Reason = MergeUpdate, reasonPart
	case have == nil, d.Merge.Theirs:
		c.Gate, c.Reason = AdoptUpdate, reasonUnmanaged
	case d.Merge.Ours.IsZero() && clean:
		c.Gate, c.Reason = ManagedUpdate, reasonGone
	case d.Merge.Ours.IsZero():
		c.Gate, c.Reason = DriftedUpdate, reasonGoneDrift
	case clean:
		c.Gate, c.Reason = ManagedUpdate, reasonDiffers
	default:
		c.Gate, c.Reason = DriftedUpdate, reasonDrifted
	}
	if c.Op == OpDelete {
		if c.Gate = ""; !clean {
			c.Gate = DriftedDelete
		}
	}
	return c, true, nil
}

// owned returns the manifest entry of a wanted file after the plan is applied; false if there is to be none.
func (d *Desired) owned(have *Owned, now Seen, w Wanted) (Owned, bool) {
	next := Owned{Target: d.Target, Root: d.Root, Path: d.Path, Sum: d.Content.Sum, Mode: d.Mode, Modules: d.Modules, Owner: w.Owner, Repo: w.Owner.Repo(w.Repo), Part: d.Part}
	if d.Part == nil {
		return next, true
	}
	next.PartSum, next.Made, next.Created = d.Merge.Ours, d.Merge.Made, now.Kind == Absent
	if have != nil {
		next.Made, next.Created, next.Over = append(slices.Clone(have.Made), d.Merge.Made...), have.Created || d.shrinks(have, now), have.Over
	}
	return next, !d.Merge.Ours.IsZero()
}

// same reports whether a manifest has the entry unchanged. In a file that is managed in part, the rest may change freely.
func (f *Owned) same(have *Owned) bool {
	if f.Part != nil || have.Part != nil {
		return f.PartSum == have.PartSum
	}
	return f.Sum == have.Sum && slices.Equal(f.Modules, have.Modules) && ModeOf(f.Mode) == ModeOf(have.Mode)
}

// goodbye deletes a whole file that is owned and no longer wanted, if it exists.
func (have *Owned) goodbye(now Seen) (Change, bool) {
	c := Change{Target: have.Target, Op: OpDelete, Path: have.Path, Before: now, Reason: reasonGone, Modules: have.Modules, State: have.State(now)}
	if have.Part != nil || now.Kind != Regular && now.Kind != Link {
		return c, false
	}
	if now.Sum != have.Sum || now.Kind == Link {
		c.Gate, c.Reason = DriftedDelete, reasonGoneDrift
	}
	return c, true
}

// IsModeEdited reports whether a file's executable bit differs from how it was deployed. A manifest beside the files may not record it.
func (f *Owned) IsModeEdited(now Seen) bool {
	return f.Claim == Proven && now.Kind == Regular && ModeOf(now.Mode) != ModeOf(f.Mode)
}

// BestRoot returns the root of the target that is deepest above the path, or false if there is none (agentpack contract §2.6). sep is the native path
// separator.
func BestRoot(roots []Root, target, path string, sep byte) (Root, bool) {
	var best Root
	found := false
	for _, r := range roots {
		if r.Target == target && IsBelow(r.Path, path, sep) && len(r.Path) >= len(best.Path) {
			best, found = r, true
		}
	}
	return best, found
}

// IsBelow reports whether path is below dir or dir itself, component by component.
func IsBelow(dir, path string, sep byte) bool {
	rest, ok := strings.CutPrefix(path, strings.TrimSuffix(dir, string(sep)))
	return ok && (rest == "" || rest[0] == sep)
}
