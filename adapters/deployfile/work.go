package deployfile

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/countersign-dev/countersign/adapters/deployfile/observe"
	"github.com/countersign-dev/countersign/domain/deployment"
)

// direction is where an operation goes.
type direction bool

// The directions.
const (
	forward  direction = true  // to what is to be there after it
	backward direction = false // to what was there before it
)

// Work is an operation to carry out, to finish or to take back.
type Work struct {
	Home    *home
	Journal Journal
	To      direction
	Fsync   bool
	Step    func(step, path string) // called after everything that changes the disk
	Done    func(done, total int)   // called after each file, or nil

	// Of an operation that was just prepared, so that nothing has to be looked at again. Without Jobs the journal's are looked at first, what
	// is still to do is done, and what is neither as before nor as after is left alone: so that can be repeated after dying anywhere.
	Jobs   []job
	Ground *observe.PathResolver
	Umask  fs.FileMode
}

// run is a work on its way.
type run struct {
	Work
	prepared bool
	todo     []bool // by job
	left     paths

	mu    sync.Mutex
	count int
	total int
	roots map[string]directory
}

// RunWork does the work, and reports the files that it left alone.
func RunWork(ctx context.Context, work Work) (left []string, err error) {
	w := &run{Work: work, prepared: work.Jobs != nil, roots: map[string]directory{}}
	if !w.prepared {
		for i, c := range w.Journal.Changes {
			w.Jobs = append(w.Jobs, job{SnapshotRecord: c, Root: w.Journal.Roots[i]})
		}
	}
	err = w.run(ctx)
	slices.Sort(w.left.All)
	return slices.Compact(w.left.All), err
}

// target is what a job's path is to be.
func (w *run) target(j *job) deployment.Seen {
	if w.To == forward {
		return j.After
	}
	return j.Before
}

func (w *run) run(ctx context.Context) error {
	w.todo = make([]bool, len(w.Jobs))
	if err := w.look(ctx); err != nil {
		return err
	}
	for _, todo := range w.todo {
		if todo {
			w.total++
		}
	}
	removes := func(j *job) bool { return w.target(j).Kind == deployment.Absent }
	if err := w.each(ctx, removes, w.remove); err != nil {
		return err
	}
	if err := w.folders(); err != nil {
		return err
	}
	if w.Ground == nil || len(w.Ground.Gone) > 0 || !w.prepared {
		if err := w.settle(observe.NewPathResolver(nil)); err != nil { // directories went, and others gave way
			return err
		}
	}
	puts := func(j *job) bool { return !removes(j) }
	if err := w.each(ctx, puts, w.put); err != nil {
		return err
	}
	return w.lists()
}

// look finds out what is to do.
func (w *run) look(ctx context.Context) error {
	if w.prepared {
		for i := range w.Jobs {
			w.todo[i] = !w.Jobs[i].Twin
		}
		return nil
	}
	var err error
	if w.Umask, err = w.Home.Umask(); err != nil {
		return err
	}
	if err := w.settle(observe.NewPathResolver(w.gone())); err != nil {
		return err
	}
	err = each(ctx, len(w.Jobs), func(i int) error {
		where, err := w.where(i)
		if err != nil {
			return err
		}
		w.todo[i] = where == there
		if where == lost {
			w.left.Add(w.Jobs[i].Path)
		}
		return nil
	})
	known := map[string]bool{}
	for i := range w.Jobs {
		if w.todo[i] {
			real := w.Jobs[i].At.File(filepath.Base(w.Jobs[i].Path))
			w.todo[i], known[real] = !known[real], true // twins want the same
		}
	}
	return err
}

// gone are the files that give way to directories on the way.
func (w *run) gone() map[string]bool {
	gone := map[string]bool{}
	for i := range w.Jobs {
		gone[w.Jobs[i].Path] = w.target(&w.Jobs[i]).Kind == deployment.Absent
	}
	return gone
}

// settle finds every job's directory. One whose directory leads out of its root by now is left alone, unless that cannot have happened yet.
func (w *run) settle(land *observe.PathResolver) error {
	w.Ground = land
	for i := range w.Jobs {
		j := &w.Jobs[i]
		at, err := land.Parent(j.Root, j.Path)
		if err != nil && w.prepared {
			return err
		}
		if err != nil {
			at = observe.ResolvedDir{}
		}
		if err != nil && w.todo[i] {
			w.todo[i] = false
			w.left.Add(j.Path)
		}
		j.At = at
	}
	return nil
}

// standing is how far a job is.
type standing int

const (
	here  standing = iota // as it is to be
	there                 // as it was
	lost                  // neither
)

// where returns the progress of a job, from the state of its path.
func (w *run) where(i int) (standing, error) {
	j := &w.Jobs[i]
	if j.At == (observe.ResolvedDir{}) {
		return lost, nil
	}
	if err := os.Remove(j.At.File(w.temp(i))); err != nil && !observe.IsAbsent(err) {
		return lost, observe.FileFault(err, j.Path)
	}
	now, err := observe.InspectPath(j.At.File(filepath.Base(j.Path)))
	if err != nil {
		return lost, observe.FileFault(err, j.Path)
	}
	if now.Kind == deployment.Directory && w.passing(j.Path) {
		now = observe.FileState{}
	}
	from, to := j.Before, j.After
	if w.To == backward {
		from, to = to, from
	}
	j.Then = now.Info
	for _, same := range []func(a, b deployment.Seen) bool{observe.SameState, observe.EquivalentState} {
		switch {
		case same(now.Seen, to):
			return here, nil
		case same(now.Seen, from):
			return there, nil
		}
	}
	return lost, nil
}

// passing reports a directory that the operation makes or removes.
func (w *run) passing(path string) bool {
	return slices.Contains(w.Journal.Made, path) || slices.ContainsFunc(w.Journal.Pruned, func(f Folder) bool { return f.Path == path })
}

// temp is the name of a file that is being written, the same whenever the operation goes on, so that none is left behind.
func (w *run) temp(i int) string {
	return ".agentpack-" + w.Journal.ID + "-" + strconv.Itoa(i) + ".tmp"
}

// each does something to every job that is still to do, directory by directory.
func (w *run) each(ctx context.Context, which func(*job) bool, do func(p *passage, dir directory, i int) error) error {
	const row = 128 // files of one directory that are written in a row
	var all []int
	for i := range w.Jobs {
		if w.todo[i] && which(&w.Jobs[i]) {
			all = append(all, i)
		}
	}
	at := func(i int) observe.ResolvedDir { return w.Jobs[i].At }
	slices.SortStableFunc(all, func(a, b int) int {
		return cmp.Or(cmp.Compare(at(a).Root, at(b).Root), cmp.Compare(at(a).Rel, at(b).Rel))
	})
	var rows [][]int
	for begin, i := 0, 1; i <= len(all); i++ {
		if i == len(all) || at(all[i]) != at(all[begin]) || i-begin == row {
			rows = append(rows, all[begin:i])
			begin = i
		}
	}
	defer w.closeRoots()
	if err := w.openRoots(rows); err != nil {
		return err
	}
	var stretches [][][]int // of rows in neighbouring directories
	for begin, i, files := 0, 0, 0; i < len(rows); i++ {
		if files += len(rows[i]); files >= row || i == len(rows)-1 {
			stretches = append(stretches, rows[begin:i+1])
			begin, files = i+1, 0
		}
	}
	return spread(ctx, stretches, func(ctx context.Context, rows [][]int) error {
		p := passage{w: w}
		defer p.leave(0)
		for _, row := range rows {
			if err := w.row(ctx, &p, row, do); err != nil {
				return err
			}
		}
		return nil
	})
}

// row does something to files of one directory.
func (w *run) row(ctx context.Context, p *passage, all []int, do func(p *passage, dir directory, i int) error) error {
	first := &w.Jobs[all[0]]
	dir, err := p.enter(first)
	if err != nil {
		return observe.FileFault(err, filepath.Dir(first.Path))
	}
	for _, i := range all {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := do(p, dir, i)
		switch {
		case errors.Is(err, errLeft):
			w.left.Add(w.Jobs[i].Path)
		case err != nil:
			return observe.FileFault(err, w.Jobs[i].Path)
		}
		w.tell()
	}
	if !w.Fsync {
		return nil
	}
	return observe.FileFault(dir.sync(), filepath.Dir(first.Path))
}

// openRoots opens the roots of all rows, making those that are missing. What is opened is the directory that was found there, reached without a
// link: whoever puts one in its place, or in that of a directory above, is not followed.
func (w *run) openRoots(rows [][]int) error {
	for _, row := range rows {
		real := w.Jobs[row[0]].At.Root
		if _, open := w.roots[real]; open {
			continue
		}
		root, err := openDirectory(real)
		if errors.Is(err, fs.ErrNotExist) {
			if err = os.MkdirAll(real, fs.ModePerm); err == nil {
				w.Step("made", real)
				root, err = openDirectory(real)
			}
		}
		if err != nil {
			if info, gone := os.Stat(real); gone == nil && !info.IsDir() {
				err = syscall.ENOTDIR // os.OpenRoot has words for it, and no number
			}
			return observe.FileFault(err, real)
		}
		w.roots[real] = root
		if !stands(root, real) {
			return StaleError([]string{w.Jobs[row[0]].Path})
		}
	}
	return nil
}

// stands reports whether an open directory is still the one at that path, without links in the path.
func stands(root directory, real string) bool {
	now, err := filepath.EvalSymlinks(real)
	if err != nil || now != real {
		return false
	}
	there, err := os.Lstat(real)
	return err == nil && root.is(there)
}

func (w *run) closeRoots() {
	for _, r := range w.roots {
		r.close()
	}
	clear(w.roots)
}

// passage is the directories that one goroutine came through, which are open: the next one is mostly beside the last.
type passage struct {
	w     *run
	root  string
	names []string
	dirs  []directory // by name
	room  []byte      // for what is written, one file after the other
}

// leave closes all but the first n.
func (p *passage) leave(n int) {
	for _, dir := range p.dirs[n:] {
		dir.close()
	}
	p.names, p.dirs = p.names[:n], p.dirs[:n]
}

// enter opens a directory below its root, one part of its path after the other: where links lead was found out before, and one that stands there now
// is not followed. A missing directory is made.
func (p *passage) enter(j *job) (directory, error) {
	at, made := j.At, false
	var names []string
	if at.Rel != "." {
		names = strings.Split(filepath.ToSlash(at.Rel), "/")
	}
	same := 0
	for at.Root == p.root && same < min(len(names), len(p.names)) && names[same] == p.names[same] {
		same++
	}
	p.leave(same)
	p.root = at.Root
	dir := p.w.roots[at.Root]
	if same > 0 {
		dir = p.dirs[same-1]
	}
	for _, name := range names[same:] {
		next, fresh, err := dir.enter(name)
		if errors.Is(err, errLink) {
			err = StaleError([]string{j.Path})
		}
		if err != nil {
			return directory{}, err
		}
		p.names, p.dirs = append(p.names, name), append(p.dirs, next)
		dir, made = next, made || fresh
	}
	if made {
		p.w.Step("made", filepath.Join(at.Root, at.Rel))
	}
	return dir, nil
}

// errLink marks a link in the place of a directory.
var errLink = errors.New("a link has replaced a directory")

func (w *run) tell() {
	if w.Done == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count++
	w.Done(w.count, w.total)
}
