package deployfile

import (
	"bytes"
	"cmp"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/countersign-dev/countersign/adapters/deployfile/observe"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/sorting"
)

// legacyManifest is the name that is read where a target has no manifest of its own.
const legacyManifest = ".agentpack.manifest.json"

// holding names a root of a target.
type holding struct{ target, root string }

// holdings are the roots whose manifests the transaction is about: those it looked at, and those that own something.
func (op *operation) holdings() []deployment.Root {
	known := map[holding]bool{}
	var out []deployment.Root
	add := func(r deployment.Root) {
		if key := (holding{r.Target, r.Path}); !known[key] {
			known[key] = true
			out = append(out, r)
		}
	}
	for _, r := range op.t.Roots {
		add(r)
	}
	for _, f := range op.t.Owned {
		add(deployment.Root{Target: f.Target, Path: f.Root})
	}
	return out
}

// readLedgers reads the manifests as they are now, under the lock. What is wrong with one was said when the plan was made.
func (op *operation) readLedgers() error {
	for _, root := range op.holdings() {
		l, _, err := observe.ReadManifest(root)
		if err != nil {
			return err
		}
		op.ledgers = append(op.ledgers, l)
	}
	return nil
}

// claims are the writes of the manifests: of every root that had one, owns something now or had a change. Entries of other owners stay. A
// manifest that would list nothing is removed, so that going back to before the first deployment leaves none; but where the legacy one would
// be read instead, an empty one is written.
func (op *operation) claims() ([]deployment.Write, error) {
	owned := map[holding][]deployment.Owned{}
	for _, f := range op.t.Owned {
		key := holding{f.Target, f.Root}
		owned[key] = append(owned[key], f)
	}
	var out []deployment.Write
	for _, l := range op.ledgers {
		key := holding{l.Root.Target, l.Root.Path}
		files := owned[key]
		for _, f := range l.Owned {
			if f.Owner != op.t.Owner {
				files = append(files, f)
			}
		}
		if len(files) == 0 && !l.Present {
			continue // a root that only had a change has a manifest, or owned nothing: there is nothing to say
		}
		w, changes, err := op.claim(l.Root, files)
		if err != nil {
			return nil, err
		}
		if changes {
			out = append(out, w)
		}
	}
	return out, nil
}

func (op *operation) claim(root deployment.Root, files []deployment.Owned) (deployment.Write, bool, error) {
	path := filepath.Join(root.Path, observe.ManifestName(root.Target))
	now, err := observe.InspectPath(path)
	if err != nil {
		return deployment.Write{}, false, observe.FileFault(err, path)
	}
	w := deployment.Write{Target: root.Target, Op: deployment.OpUpdate, Path: path, Root: root.Path, Before: now.Seen}
	_, noLegacy := os.Lstat(filepath.Join(root.Path, legacyManifest))
	switch {
	case len(files) == 0 && noLegacy != nil:
		w.Op = deployment.OpDelete
		return w, now.Kind != deployment.Absent, nil
	case now.Kind == deployment.Absent:
		w.Op = deployment.OpCreate
	}
	data, err := observe.EncodeManifest(observe.Manifest{GeneratedAt: op.at, Target: root.Target, Root: root.Path, SnapshotID: op.id, Files: files})
	if err != nil {
		return deployment.Write{}, false, err
	}
	w.Data = deployment.ContentOf(data)
	w.After = deployment.Seen{Kind: deployment.Regular, Sum: w.Data.Sum, Size: w.Data.Size, Mode: deployment.PlainMode}
	return w, true, nil
}

// orphans are files that the owner got since the plan was made: its manifests list them, and the plan knows nothing of them. Writing the
// manifests would leave them behind without an owner. Only plans of what is wanted are complete enough to tell (see plan.Make).
func (op *operation) orphans() []string {
	if op.t.Kind != deployment.KindDeploy && op.t.Kind != deployment.KindBootstrap {
		return nil
	}
	known := map[string]bool{}
	for _, w := range op.t.Writes {
		known[w.Path] = true
	}
	for _, f := range op.t.Owned {
		known[f.Path] = true
	}
	held := map[string]int{}
	for _, l := range op.ledgers {
		for _, f := range l.Owned {
			held[f.Path]++
		}
	}
	var out []string
	for _, l := range op.ledgers {
		for _, f := range l.Owned {
			if f.Owner != op.t.Owner || f.Part != nil || known[f.Path] || held[f.Path] > 1 {
				continue
			}
			if info, err := os.Lstat(f.Path); err == nil && (info.Mode().IsRegular() || info.Mode()&os.ModeSymlink != 0) {
				out = append(out, f.Path)
			}
		}
	}
	return out
}

// registers are the changes of the home's own lists: originals and directories.
func (op *operation) registers() ([]Text, error) {
	var out []Text
	add := func(name string, before, after []byte) {
		if !bytes.Equal(before, after) {
			out = append(out, Text{Name: name, Before: before, After: after})
		}
	}
	before, err := op.h.Document(originalsName)
	if err != nil {
		return nil, err
	}
	originals, err := op.h.DecodeOriginals(before)
	if err != nil {
		return nil, err
	}
	settled := op.settle(originals)
	first, err := op.firsts(originals)
	if err != nil {
		return nil, err
	}
	if len(first) > 0 || settled {
		add(originalsName, before, EncodeOriginals(append(originals, first...)))
	}
	known, err := op.h.Document(rootsName)
	if err != nil {
		return nil, err
	}
	after, err := op.knownRoots(known)
	if err != nil {
		return nil, err
	}
	add(rootsName, known, after)
	made := op.directories()
	if !slices.Equal(made, op.made) {
		add(directoriesName, op.madeText, EncodePaths(made))
	}
	return out, nil
}

// settle marks the originals that a rollback, or another way back, settles: at a path that it lets go of, what stands there from now on is the user's again, and
// what a later deployment finds there is the original then. They are kept all the same.
func (op *operation) settle(originals []deployment.Original) (any bool) {
	if op.t.Kind != deployment.KindRollback && !op.t.Settle {
		return false
	}
	ours := map[string]bool{}
	for _, l := range op.ledgers {
		for _, f := range l.Owned {
			ours[f.Path] = f.Owner == op.t.Owner
		}
	}
	for _, j := range op.jobs[:len(op.t.Writes)] {
		ours[j.Path] = true
	}
	for _, f := range op.t.Owned {
		delete(ours, f.Path)
	}
	for i, o := range originals {
		if o.Settled == "" && ours[o.Path] {
			originals[i].Settled, any = op.id, true
		}
	}
	return any
}

// firsts are the sights at paths that get an owner for the first time, where something stood that no deployment owned: what is overwritten,
// and what happens to be as it should be already.
func (op *operation) firsts(known []deployment.Original) ([]deployment.Original, error) {
	skip := map[string]bool{}
	for _, o := range known {
		skip[o.Path] = o.Settled == "" || skip[o.Path]
	}
	for _, l := range op.ledgers {
		for _, f := range l.Owned {
			skip[f.Path] = true
		}
	}
	var out []deployment.Original
	add := func(path string, seen deployment.Seen) {
		if (seen.Kind == deployment.Regular || seen.Kind == deployment.Link) && !skip[path] {
			out = append(out, deployment.Original{Path: path, Seen: seen, Snapshot: op.id})
		}
		skip[path] = true
	}
	for _, j := range op.jobs[:len(op.t.Writes)] {
		add(j.Path, j.Before)
	}
	for _, f := range op.t.Owned {
		if skip[f.Path] {
			continue
		}
		now, err := observe.InspectPath(f.Path)
		if err != nil {
			return nil, observe.FileFault(err, f.Path)
		}
		if f.Part == nil {
			now.Seen.Sum = f.Sum // of a link, too, it is what was found to be as it should be
		}
		add(f.Path, now.Seen)
	}
	return out, nil
}

// directories are those that deployments made, once this one is through: roots, and what is above them, among them.
func (op *operation) directories() []string {
	all := map[string]bool{}
	for _, dir := range op.made {
		all[dir] = true
	}
	for _, dir := range op.journal.Pruned {
		delete(all, dir.Path)
	}
	for _, dir := range op.journal.Made {
		all[dir] = true
	}
	return slices.Sorted(maps.Keys(all))
}

// prunable are the directories in which the deletions leave nothing, and which deployments made; children first. A directory in which
// something is written stays, and so does everything above it.
func (op *operation) prunable() ([]Folder, error) {
	keep, above, made := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, dir := range op.made {
		made[dir] = true
	}
	for _, j := range op.jobs {
		for dir := filepath.Dir(j.Path); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
			switch {
			case j.After.Kind != deployment.Absent:
				keep[dir] = true
			case made[dir]:
				above[dir] = true
			}
		}
	}
	var candidates []string
	for dir := range above {
		if !keep[dir] {
			candidates = append(candidates, dir)
		}
	}
	sorting.By(candidates, func(a, b string) int { return cmp.Or(len(b)-len(a), cmp.Compare(a, b)) })
	return op.emptied(candidates)
}

// emptied are those of the directories in which the operation leaves nothing.
func (op *operation) emptied(candidates []string) ([]Folder, error) {
	var out []Folder
	gone := op.ground.Gone
	pruned := map[string]bool{}
	for _, dir := range candidates {
		info, err := os.Lstat(dir)
		if err != nil || !info.IsDir() {
			continue
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, observe.FileFault(err, dir)
		}
		if !slices.ContainsFunc(entries, func(e os.DirEntry) bool {
			path := filepath.Join(dir, e.Name())
			return !gone[path] && !pruned[path]
		}) {
			pruned[dir] = true
			out = append(out, Folder{Path: dir, Mode: info.Mode().Perm()})
		}
	}
	return out, nil
}
