package deployment

import (
	"cmp"
	"slices"
	"strconv"
)

const (
	reasonOriginal = "original restored"
	reasonSnapshot = "restored from the snapshot"

	reasonOriginalClaimed = "previous content, known only from a file"
)

// SnapshotWanted returns what a snapshot owned as the desired state, so that a rollback is an ordinary plan. Contents are given by sum only; they are
// stored with the snapshots.
func SnapshotWanted(s Snapshot) Wanted {
	w := Wanted{Profile: s.Profile, Targets: s.Targets, Roots: s.Roots, Repo: s.Repo}
	if s.Kind == KindBootstrap {
		w.Owner = OwnerBootstrap
	}
	for _, f := range s.Managed {
		w.Files = append(w.Files, Desired{Target: f.Target, Root: f.Root, Path: f.Path, Mode: f.Mode, Modules: f.Modules, Part: f.Part,
			Content: Content{Sum: f.Sum}})
	}
	return w
}

// Restore turns a plan into a rollback: the original of a file that it would delete is put back if a deployment first wrote the file after the
// snapshot since (at any time, if since is InitialSnapshot). Originals that are missing now are restored as well.
func (p Plan) Restore(originals []Original, since string, o Observed) Plan {
	p.Ways = p.Ways.and(o.Ways)
	first := map[string]Original{}
	for _, original := range originals {
		if original.Settled == "" && (since == InitialSnapshot || LaterSnapshot(original.Snapshot, since)) {
			first[original.Path] = original
		}
	}
	owned := make(map[string]bool, len(p.Owned))
	for i := range p.Owned {
		owned[p.Owned[i].Path] = true
	}
	changed, others := map[string]bool{}, o.OthersByPath()
	for i, c := range p.Changes {
		changed[c.Path], p.Changes[i].State = true, "" // the file is not compared with the config repository
		original, known := first[c.Path]
		switch {
		case known && c.Op == OpUpdate && original.Kind == Link && c.After.Sum == original.Sum && !owned[c.Path]:
			p.Changes[i] = original.change(&p, c.Target, OpUpdate, c.Before) // a part is removed, and the rest is what the link's target has
			p.Changes[i].Gate = c.Gate
		case c.Op != OpDelete && c.Reason == reasonClaimed:
		case c.Op != OpDelete:
			p.Changes[i].Reason = reasonSnapshot
		case known && c.Before.Kind == original.Kind && c.Before.Is(original.Sum, original.Mode) && c.Before.Mode.Perm() == original.Mode.Perm():
			p.Changes[i].Op = "" // unchanged; only its owner changes
		case known:
			p.Changes[i] = original.change(&p, c.Target, OpUpdate, c.Before)
			p.Changes[i].Gate = ManagedUpdate
			if c.Gate.Adopts() {
				p.Changes[i].Gate = DriftedUpdate
			}
		}
	}
	for _, path := range sortedPaths(first) {
		root, within := anyRoot(p.Roots, path)
		if within && !changed[path] && !owned[path] && len(others[path]) == 0 && o.Files[path].Kind == Absent {
			p.Changes = append(p.Changes, first[path].change(&p, root.Target, OpCreate, Seen{}))
		}
	}
	p.Changes = slices.DeleteFunc(p.Changes, func(c Change) bool { return c.Op == "" })
	slices.SortFunc(p.Changes, func(a, b Change) int { return cmp.Or(cmp.Compare(a.Target, b.Target), cmp.Compare(a.Path, b.Path)) })
	return p
}

func (o Original) change(p *Plan, target string, op Op, now Seen) Change {
	reason := reasonOriginal
	if o.Unproven {
		reason = reasonOriginalClaimed
		p.Doubtful = append(p.Doubtful, o.Path)
	}
	return Change{Target: target, Op: op, Path: o.Path, Reason: reason, Before: now, Mode: o.Mode, Link: o.Link,
		After: Content{Sum: o.Sum, Size: o.Size}}
}

func sortedPaths(m map[string]Original) []string {
	out := make([]string, 0, len(m))
	for path := range m {
		out = append(out, path)
	}
	slices.Sort(out)
	return out
}

func anyRoot(roots []Root, path string) (Root, bool) {
	for _, r := range roots {
		if IsBelow(r.Path, path, '/') || IsBelow(r.Path, path, '\\') {
			return r, true
		}
	}
	return Root{}, false
}

// LaterSnapshot reports whether snapshot a was made after b: by number, or by text if one is not a number.
func LaterSnapshot(a, b string) bool {
	x, errX := strconv.ParseUint(a, 10, 64)
	y, errY := strconv.ParseUint(b, 10, 64)
	if errX != nil || errY != nil {
		return a > b
	}
	return x > y
}
