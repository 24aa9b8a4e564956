package deployfile

import (
	"context"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/adapters/deployfile/observe"
	"github.com/countersign-dev/countersign/domain/deployment"
)

// operation is a transaction on its way.
type operation struct {
	m        *Machine
	h        *home
	t        deployment.Transaction
	id       string
	at       time.Time
	umask    fs.FileMode
	ledgers  []observe.RootOwnership
	own      int // how many of them, the first, are of roots that the transaction is made for; others may have the same files
	proof    observe.Proof
	same     map[string][]byte // lists that are as they should be, whoever wrote them
	records  []Text            // what is owned, where that changes
	jobs     []job             // of t.Writes, then of manifests that are taken over
	ground   *observe.PathResolver
	made     []string // directories that deployments made so far, sorted
	madeText []byte   // as it is on disk
	journal  Journal
	archive  *ArchiveWriter
}

// prepare finds out everything that can be known before something is written, and puts what has to be kept into the archive. Nothing but the
// archive is touched.
func (op *operation) prepare(ctx context.Context) error {
	if op.t.Claim {
		if err := op.readLedgers(); err != nil {
			return err
		}
		if lost := op.orphans(); len(lost) > 0 {
			return StaleError(lost)
		}
	}
	writes := op.t.Writes
	if op.t.Claim {
		claims, err := op.claims()
		if err != nil {
			return err
		}
		writes = slices.Concat(writes, claims)
	}
	if err := op.lay(writes); err != nil {
		return err
	}
	if err := op.check(ctx); err != nil {
		return err
	}
	op.journal.Snapshot = op.snapshot()
	for _, j := range op.jobs {
		op.journal.Roots = append(op.journal.Roots, j.Root)
	}
	if !op.t.Claim {
		return nil
	}
	var err error
	op.journal.State, err = op.registers()
	return err
}

// lay finds the directory of every write, what will be made and what will be left empty.
func (op *operation) lay(writes []deployment.Write) error {
	gone := map[string]bool{}
	op.jobs = make([]job, len(writes))
	for i, w := range writes {
		root, err := op.rootOf(w)
		if err != nil {
			return err
		}
		op.jobs[i] = job{SnapshotRecord: deployment.SnapshotRecord{Target: w.Target, Op: w.Op, Path: w.Path, Before: w.Before, After: w.After}, Root: root, From: w.Data}
		switch w.After.Kind {
		case deployment.Regular:
			op.jobs[i].After.Mode = observe.FinalMode(w, op.umask)
		case deployment.Absent:
			gone[w.Path] = w.Before.Kind != deployment.Absent
		}
	}
	op.ground = observe.NewPathResolver(gone)
	if err := op.place(func(j *job) bool { return j.After.Kind != deployment.Absent }); err != nil {
		return err
	}
	if err := op.inProject(); err != nil {
		return err
	}
	op.journal.Made = slices.Clone(op.ground.Made)
	if err := op.place(func(j *job) bool { return j.After.Kind == deployment.Absent }); err != nil {
		return err
	}
	if err := op.led(); err != nil {
		return err
	}
	if err := op.nested(); err != nil {
		return err
	}
	if err := op.twins(); err != nil || !op.t.Claim {
		return err
	}
	var err error
	if op.madeText, err = op.h.Document(directoriesName); err != nil {
		return err
	}
	if op.made, err = DecodePaths(op.madeText); err != nil {
		op.made = nil // then nothing is known to be ours, and nothing is removed
	}
	op.journal.Pruned, err = op.prunable()
	return err
}

// led fails where a directory is not where it was when the plan was made: somebody put a link in its place, or another one. A directory that the
// operation itself makes in place of something is its own.
func (op *operation) led() error {
	if op.t.Ways == nil {
		return nil
	}
	var changed []string
	for i := range op.jobs {
		j := &op.jobs[i]
		dir := filepath.Dir(j.Path)
		if j.At.File("") != op.t.Ways.Resolve(dir) && !op.makesWay(dir) {
			changed = append(changed, j.Path)
		}
	}
	if len(changed) > 0 {
		return StaleError(changed)
	}
	return nil
}

// makesWay reports a directory in the place of something that goes, or below one.
func (op *operation) makesWay(dir string) bool {
	for above := filepath.Dir(dir); !op.ground.Gone[dir]; dir, above = above, filepath.Dir(above) {
		if above == dir {
			return false
		}
	}
	return true
}

// inProject refuses to write for the project through a link that leads out of it, also where a root is behind that link: a repository that
// somebody cloned may hold any link. Below the home directory people link as they like.
func (op *operation) inProject() error {
	project := filepath.Clean(op.t.Place.ProjectRoot)
	if op.t.Place.ProjectRoot == "" || deployment.IsBelow(project, op.t.Place.UserHome, filepath.Separator) {
		return nil
	}
	inside := observe.NewPathResolver(op.ground.Gone)
	for i := range op.jobs {
		j := &op.jobs[i]
		if j.After.Kind == deployment.Absent || !deployment.IsBelow(project, j.Path, filepath.Separator) || j.Path == project {
			continue
		}
		if _, err := inside.Parent(project, j.Path); err != nil {
			return err
		}
	}
	return nil
}

func (op *operation) place(which func(*job) bool) error {
	for i := range op.jobs {
		j := &op.jobs[i]
		if !which(j) {
			continue
		}
		var err error
		if j.At, err = op.ground.Parent(j.Root, j.Path); err != nil {
			return err
		}
	}
	return nil
}

// rootOf is the directory that a write must stay below: the one it names, or the deepest of the transaction.
func (op *operation) rootOf(w deployment.Write) (string, error) {
	if w.Root != "" {
		return filepath.Clean(w.Root), nil
	}
	best := ""
	for _, r := range op.t.Roots {
		if root := filepath.Clean(r.Path); deployment.IsBelow(root, w.Path, filepath.Separator) && len(root) > len(best) && root != w.Path {
			best = root
		}
	}
	if best == "" {
		return "", observe.UnusablePath(w.Path, "it is not below any of the roots")
	}
	return best, nil
}

// nested finds a write below a path that another one makes a file of, by the names they have and by where links between directories lead.
func (op *operation) nested() error {
	if err := op.nestedBy(func(j *job) (path, top string) { return j.Path, j.Root }); err != nil {
		return err
	}
	return op.nestedBy(func(j *job) (path, top string) { return j.At.File(filepath.Base(j.Path)), j.At.Root })
}

func (op *operation) nestedBy(name func(*job) (path, top string)) error {
	files := make(map[string]bool, len(op.jobs))
	for i := range op.jobs {
		if path, _ := name(&op.jobs[i]); op.jobs[i].After.Kind != deployment.Absent {
			files[path] = true
		}
	}
	checked := map[string]bool{}
	for i := range op.jobs {
		j := &op.jobs[i]
		path, top := name(j)
		for dir := filepath.Dir(path); j.After.Kind != deployment.Absent && len(dir) > len(top) && !checked[dir]; dir = filepath.Dir(dir) {
			if checked[dir] = true; files[dir] {
				return observe.UnusablePath(j.Path, dir+" must become a file")
			}
		}
	}
	return nil
}

// twins finds writes that lead to one file, by links between directories. Where both want the same of it, it is done once.
func (op *operation) twins() error {
	first := make(map[string]int, len(op.jobs))
	for i := range op.jobs {
		j := &op.jobs[i]
		real := j.At.File(filepath.Base(j.Path))
		other, found := first[real]
		if !found {
			first[real] = i
			continue
		}
		if o := op.jobs[other]; !observe.SameState(o.After, j.After) || !observe.SameState(o.Before, j.Before) {
			return observe.UnusablePath(j.Path, "it is the same file as "+o.Path+", which must have different content")
		}
		j.Twin = true
	}
	return nil
}

// check compares the actual with the expected state of every path, reads the files to be written, and stores both.
func (op *operation) check(ctx context.Context) error {
	pruned := map[string]bool{}
	for _, dir := range op.journal.Pruned {
		pruned[dir.Path] = true
	}
	var changed paths
	err := each(ctx, len(op.jobs), func(i int) error {
		j := &op.jobs[i]
		fine, err := op.checkOne(j, pruned[j.Path])
		if !fine {
			changed.Add(j.Path)
		}
		return err
	})
	if err == nil {
		err = each(ctx, len(op.t.Owned), func(i int) error {
			fine, err := op.keep(op.t.Owned[i])
			if !fine {
				changed.Add(op.t.Owned[i].Path)
			}
			return err
		})
	}
	if len(changed.All) > 0 { // more to the point than what may have gone wrong besides
		return StaleError(changed.All)
	}
	return err
}

// checkOne is check for one write. vacated means that the operation removes a directory at that path.
func (op *operation) checkOne(j *job, vacated bool) (fine bool, err error) {
	var now observe.FileState
	if !j.At.Missing { // where there is no directory there is no file
		if now, err = observe.InspectPath(j.At.File(filepath.Base(j.Path))); err != nil {
			return true, observe.FileFault(err, j.Path)
		}
	}
	if vacated && now.Kind == deployment.Directory {
		now, j.Before = observe.FileState{}, deployment.Seen{}
	}
	if j.Before.Kind == deployment.Directory || j.Before.Kind == deployment.Special {
		return true, observe.UnusablePath(j.Path, "it is not a file")
	}
	if !observe.SameState(now.Seen, j.Before) {
		return false, nil
	}
	j.Then = now.Info
	switch j.Before.Kind {
	case deployment.Regular:
		j.Before.Size = now.Size
		if err := op.archive.Put(now.Sum, now.Data); err != nil {
			return true, observe.FileFault(err, op.h.Vault.Dir())
		}
	case deployment.Link:
		if j.Before.Link != strings.ToValidUTF8(j.Before.Link, "") {
			return true, observe.UnusablePath(j.Path, "the target of the symbolic link is not valid UTF-8")
		}
	}
	return op.source(j)
}

// source reads what is to be written, checks it and keeps it.
func (op *operation) source(j *job) (fine bool, err error) {
	if j.After.Kind != deployment.Regular {
		return true, nil
	}
	data := j.From.Data
	size, put := op.archive.Size(j.After.Sum)
	switch {
	case put: // for another target: what is written comes out of the archive
		j.After.Size = size
		return true, nil
	case data != nil || j.After.Sum == deployment.SumOf(nil):
	case j.From.Origin != "":
		data, err = observe.ReadRegular(j.From.Origin, max(j.From.Size, 0))
		if err != nil && !observe.IsAbsent(err) {
			return true, observe.FileFault(err, j.From.Origin)
		}
	default:
		if data, err = op.h.Blob(j.After.Sum); err != nil {
			return true, err
		}
	}
	if deployment.SumOf(data) != j.After.Sum {
		return false, nil
	}
	j.After.Size = int64(len(data))
	return true, observe.FileFault(op.archive.Put(j.After.Sum, data), op.h.Vault.Dir())
}

// keep makes sure that the content of a file that is owned, and not written now, can be had again.
func (op *operation) keep(f deployment.Owned) (fine bool, err error) {
	if f.Part != nil {
		return true, op.keepWhole(f.Path)
	}
	kept, err := op.archive.Has(f.Sum)
	if kept || err != nil || slices.Contains(op.t.Left, f.Path) {
		return true, observe.FileFault(err, op.h.Vault.Dir())
	}
	data, found, err := observe.ReadFile(f.Path)
	switch {
	case err != nil:
		return true, observe.FileFault(err, f.Path)
	case !found || deployment.SumOf(data) != f.Sum:
		return false, nil
	}
	return true, observe.FileFault(op.archive.Put(f.Sum, data), op.h.Vault.Dir())
}

// keepWhole keeps a document that only a part of is ours, as it is: it may be what its user had.
func (op *operation) keepWhole(path string) error {
	data, found, err := observe.ReadFile(path)
	if err != nil || !found {
		return observe.FileFault(err, path)
	}
	sum := deployment.SumOf(data)
	kept, err := op.archive.Has(sum)
	if err == nil && !kept {
		err = op.archive.Put(sum, data)
	}
	return observe.FileFault(err, op.h.Vault.Dir())
}

// snapshot is the record of the operation.
func (op *operation) snapshot() deployment.Snapshot {
	s := deployment.Snapshot{
		ID: op.id, Kind: op.t.Kind, Status: deployment.StatusApplying, CreatedAt: op.at, Targets: slices.Compact(slices.Sorted(slices.Values(op.t.Targets))),
		Roots: op.t.Roots, ProjectRoot: op.t.Place.ProjectRoot, Profile: op.t.Profile, Managed: op.t.Owned,
		Changes: make([]deployment.SnapshotRecord, len(op.jobs)), RolledBackTo: op.t.RolledBackTo, Lock: op.t.Lock, Repo: op.t.Repo,
	}
	for i, j := range op.jobs {
		s.Changes[i] = j.SnapshotRecord
	}
	return s
}
