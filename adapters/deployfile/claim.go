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
)

// holding names a root of a target.
type holding struct{ target, root string }

// holdings are the roots whose manifests the transaction is about: those it is made for, and those that own something.
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

// readLedgers reads what is owned as it is now, under the lock. What is wrong with a record was said when the plan was made.
func (op *operation) readLedgers() error {
	owned, err := observe.OpenOwnership(op.h.Path, op.t.Repo, op.proof)
	if err != nil {
		return err
	}
	wanted := make(map[string]bool, len(op.t.Owned))
	for i := range op.t.Owned {
		wanted[op.t.Owned[i].Path] = true
	}
	roots := op.holdings()
	op.own = len(roots)
	for _, root := range op.t.Beside {
		if !slices.ContainsFunc(roots, func(r deployment.Root) bool { return r.Target == root.Target && r.Path == root.Path }) {
			roots = append(roots, root)
		}
	}
	for _, root := range roots {
		l, _, err := owned.Read(root, func(path string) bool { return wanted[path] })
		if err != nil {
			return err
		}
		op.ledgers = append(op.ledgers, l)
	}
	return nil
}

// claims work out what is owned in every root that something is recorded of, or that owns something now: what the transaction says for its own owner,
// and what was there for all others, but for the files that it takes over. A record that would list nothing is removed. The writes that come of it
// remove the manifests of earlier versions beside the files, whose entries the records have now.
func (op *operation) claims() ([]deployment.Write, error) {
	mine := op.t.Owner.Repo(op.t.Repo)
	owned := map[holding][]deployment.Owned{}
	many := map[holding]int{}
	for i := range op.t.Owned {
		many[holding{op.t.Owned[i].Target, op.t.Owned[i].Root}]++
	}
	for key, n := range many {
		owned[key] = make([]deployment.Owned, 0, n)
	}
	for _, f := range op.t.Owned {
		key := holding{f.Target, f.Root}
		f.Repo = mine
		owned[key] = append(owned[key], f)
	}
	heirs := op.heirs()
	var out []deployment.Write
	for i, l := range op.ledgers {
		ours := i < op.own
		byRepo, touched := map[string][]deployment.Owned{}, map[string]bool{}
		if ours {
			touched[mine] = true
			for repo := range l.Taken {
				touched[repo] = true
			}
		}
		for _, f := range slices.Concat(l.Owned, l.Others) {
			if left, ok := heirs[f.Path]; ok && f.Part != nil && f.Repo != "" && f.Repo != mine {
				f.Inherit(left)
				touched[f.Repo] = true
				delete(heirs, f.Path)
			}
			taken, found := op.taken(f)
			switch {
			case f.Owner == op.t.Owner && f.Repo == mine && ours: // what becomes of these the transaction says
			case found && (f.Sum != taken.From.Sum || f.PartSum != taken.From.PartSum): // it was deployed again since the plan was made
				return nil, StaleError([]string{f.Path})
			case found:
				touched[f.Repo] = true
				if taken.Left != nil {
					f.Part, f.PartSum = taken.Left.Part, taken.Left.PartSum
					byRepo[f.Repo] = append(byRepo[f.Repo], f)
				}
			default:
				byRepo[f.Repo] = append(byRepo[f.Repo], f)
			}
		}
		if !ours {
			if err := op.recordAll(l.Root, byRepo, touched); err != nil {
				return nil, err
			}
			continue
		}
		if now := owned[holding{l.Root.Target, l.Root.Path}]; len(byRepo[mine]) == 0 {
			byRepo[mine] = now
		} else {
			byRepo[mine] = append(byRepo[mine], now...)
		}
		if err := op.recordAll(l.Root, byRepo, touched); err != nil {
			return nil, err
		}
		for _, path := range l.Beside {
			if !slices.Contains(op.t.TakesOver, path) { // that one was not in the plan
				return nil, StaleError([]string{path})
			}
			now, err := observe.InspectPath(path)
			if err != nil {
				return nil, observe.FileFault(err, path)
			}
			if now.Kind != deployment.Absent {
				out = append(out, deployment.Write{Target: l.Root.Target, Op: deployment.OpDelete, Path: path, Root: l.Root.Path, Before: now.Seen})
			}
		}
	}
	slices.SortFunc(op.records, func(a, b Text) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

// taken is what the transaction says of an entry of another config repository that it takes over.
func (op *operation) taken(f deployment.Owned) (deployment.Takeover, bool) {
	i := slices.IndexFunc(op.t.Taken, func(t deployment.Takeover) bool {
		return t.From.Repo == f.Repo && t.From.Owner == f.Owner && t.From.Target == f.Target && t.From.Root == f.Root && t.From.Path == f.Path
	})
	if i < 0 {
		return deployment.Takeover{}, false
	}
	return op.t.Taken[i], true
}

// heirs are the parts of documents that the owner lets go of: what it made for them, the document or containers in it, is another owner's to take
// away, where one still has a part there.
func (op *operation) heirs() map[string]deployment.Owned {
	left := map[string]deployment.Owned{}
	mine := op.t.Owner.Repo(op.t.Repo)
	for _, l := range op.ledgers[:op.own] {
		for _, f := range l.Owned {
			if f.Part != nil && f.Owner == op.t.Owner && f.Repo == mine && (f.Created || len(f.Made) > 0 || !f.Over.IsZero()) {
				left[f.Path] = f
			}
		}
	}
	for i := range op.t.Owned {
		delete(left, op.t.Owned[i].Path)
	}
	return left
}

// recordAll has what the touched config repositories own in a root written down.
func (op *operation) recordAll(root deployment.Root, byRepo map[string][]deployment.Owned, touched map[string]bool) error {
	for repo := range touched {
		if err := op.record(root, repo, byRepo[repo]); err != nil {
			return err
		}
	}
	return nil
}

// record writes what a config repository owns in a root; if it owns nothing, the record is removed.
func (op *operation) record(root deployment.Root, repo string, files []deployment.Owned) error {
	name := observe.OwnershipName(root, repo)
	before, err := op.h.Document(name)
	if err != nil {
		return err
	}
	var after []byte
	if len(files) > 0 {
		after, err = observe.EncodeManifest(observe.Manifest{GeneratedAt: op.at, Target: root.Target, Root: root.Path, SnapshotID: op.id, Recorded: root.Path, Repo: repo, Files: files})
		if err != nil {
			return err
		}
	}
	if before != nil || after != nil {
		op.records = append(op.records, Text{Name: name, Before: before, After: after})
	}
	return nil
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
		for _, f := range l.Others {
			held[f.Path]++
		}
	}
	var out []string
	for _, l := range op.ledgers[:op.own] {
		for _, f := range l.Owned {
			if f.Owner != op.t.Owner || f.Repo != op.t.Owner.Repo(op.t.Repo) || f.Part != nil || f.Known() == nil || known[f.Path] || held[f.Path] > 1 {
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
	out := slices.Clone(op.records)
	add := func(name string, before, after []byte) {
		if !bytes.Equal(before, after) {
			out = append(out, Text{Name: name, Before: before, After: after})
		}
	}
	before, err := op.h.Document(originalsName)
	if err != nil {
		return nil, err
	}
	originals, err := op.h.DecodeOriginals(before, op.proof)
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
	if op.t.Repo != "" && op.t.Kind == deployment.KindDeploy {
		before, err := op.h.Document(repositoriesName)
		if err != nil {
			return nil, err
		}
		repositories, err := op.h.repositories(op.proof)
		if err != nil {
			return nil, err
		}
		after := repositoriesAfter(repositories, op.t.Repo, op.t.Place)
		add(repositoriesName, before, after)
		op.same = map[string][]byte{repositoriesName: after}
	}
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
	for _, l := range op.ledgers[:op.own] {
		for _, f := range l.Owned {
			ours[f.Path] = f.Owner == op.t.Owner && f.Repo == op.t.Owner.Repo(op.t.Repo)
		}
	}
	for _, j := range op.jobs[:len(op.t.Writes)] {
		ours[j.Path] = true
	}
	for _, f := range op.t.Owned {
		delete(ours, f.Path)
	}
	for _, l := range op.ledgers { // who still has it goes back from it later
		for _, f := range l.Others {
			delete(ours, f.Path)
		}
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
		for _, f := range l.Others {
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
	slices.SortFunc(candidates, func(a, b string) int { return cmp.Or(len(b)-len(a), cmp.Compare(a, b)) })
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
