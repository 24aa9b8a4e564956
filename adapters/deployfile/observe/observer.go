package observe

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"

	"golang.org/x/sync/errgroup"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/ports/deployport"
)

const (
	share    = 64 // paths that a goroutine takes at a time
	attempts = 4  // looks at a path that keeps changing under our eyes
)

// Observer looks. It keeps nothing but the index; methods may be called from many goroutines.
type Observer struct {
	Kept  Kept // nil: every record of a home is believed
	index *Index
}

// NewObserver returns an Observer that asks index for sums. The caller saves the index.
func NewObserver(index *Index) *Observer { return &Observer{index: index} }

// Observe implements deployport.Machine. A path that is absent is left out of Files; of several things that cannot be inspected, the
// first of the ledgers, l.Paths and the ledgers' other paths is reported, unless l says to go on: ErrPermission, ErrPathLong, ErrPath, or what
// the file system said.
func (k *Observer) Observe(ctx context.Context, l deployport.Look) (deployment.Observed, error) {
	files := make(map[string]deployment.Seen, len(l.Paths))
	paths := l.Paths
	if mayRepeat(paths) {
		paths = distinct(paths, files)
	}
	round := k.begin(ctx, paths, l.GoOn)
	o, err := k.ledgers(ctx, l) // meanwhile
	if err != nil {
		round.stop.Store(true)
	}
	o.Files, o.Looked, o.Seen = files, paths, round.seen
	if l.GoOn {
		o.Unread = map[string]error{}
	}
	if failed := round.finish(o); err == nil {
		err = failed
	}
	if err == nil {
		err = k.begin(ctx, unseen(o, l.Paths), l.GoOn).finish(o)
	}
	if err != nil {
		return deployment.Observed{}, err
	}
	o.Ways = ways(l, o)
	return o, nil
}

// mayRepeat reports paths of which some may come twice. Those of a plan come sorted, target by target: as long as the targets' stretches
// are apart, none does.
func mayRepeat(paths []string) bool {
	const most = 64
	var stretches [][2]string // first and last
	for i, path := range paths {
		if i == 0 || path <= paths[i-1] {
			if len(stretches) == most {
				return true
			}
			stretches = append(stretches, [2]string{path})
		}
		stretches[len(stretches)-1][1] = path
	}
	slices.SortFunc(stretches, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
	for i := 1; i < len(stretches); i++ {
		if stretches[i][0] <= stretches[i-1][1] {
			return true
		}
	}
	return false
}

// distinct is every path once; files serves to tell them apart.
func distinct(paths []string, files map[string]deployment.Seen) []string {
	once := make([]string, 0, len(paths))
	for _, path := range paths {
		if _, known := files[path]; !known {
			files[path] = deployment.Seen{}
			once = append(once, path)
		}
	}
	return once
}

// unseen are the paths in manifests at which nothing was seen yet. Manifests mostly list the very paths that were looked at, in their
// order; what was absent may be looked at again.
func unseen(o deployment.Observed, looked []string) (rest []string) {
	next := 0
	added := map[string]bool{}
	add := func(path string) {
		if _, seen := o.Files[path]; !seen && !added[path] {
			added[path] = true
			rest = append(rest, path)
		}
	}
	for have := range o.Entries() {
		for next < len(looked) && looked[next] < have.Path {
			next++
		}
		if next >= len(looked) || looked[next] != have.Path {
			add(have.Path)
		}
	}
	for i := range o.Others {
		add(o.Others[i].Path)
	}
	return rest
}

// ledgers reads what is owned in the roots, each once; no warning comes twice.
func (k *Observer) ledgers(ctx context.Context, l deployport.Look) (deployment.Observed, error) {
	var o deployment.Observed
	if len(l.Roots) == 0 {
		return o, nil
	}
	proof := Believed()
	if l.Place.Home != "" {
		var err error
		if proof, err = ReadProof(ctx, l.Place.Home, StateOf(l.Place.Home), k.Kept); err != nil {
			return o, err
		}
	}
	owned, err := OpenOwnership(l.Place.Home, l.Repo, proof)
	if err != nil {
		return o, err
	}
	var wanted map[string]bool
	wants := func(path string) bool { // asked of manifests that earlier versions left alone
		if wanted == nil {
			wanted = make(map[string]bool, len(l.Paths))
			for _, p := range l.Paths {
				wanted[p] = true
			}
		}
		return wanted[path]
	}
	looked, said := map[deployment.Root]bool{}, map[string]bool{}
	for _, root := range l.Roots {
		if looked[root] {
			continue
		}
		looked[root] = true
		if err := ctx.Err(); err != nil {
			return deployment.Observed{}, fault.From(err)
		}
		read, warnings, err := owned.Read(root, wants)
		if err != nil {
			if !l.GoOn {
				return deployment.Observed{}, err
			}
			read, warnings = RootOwnership{OwnershipManifest: deployment.OwnershipManifest{Root: root}}, []string{"the manifest of " + root.Target + " in " + root.Path + " cannot be read: " + fault.From(err).Message}
		}
		o.Ledgers, o.Others = append(o.Ledgers, read.OwnershipManifest), append(o.Others, read.Others...)
		for _, w := range warnings {
			if !said[w] {
				said[w] = true
				o.Warnings = append(o.Warnings, w)
			}
		}
	}
	return o, nil
}

// round is one look at many paths, by several goroutines.
type round struct {
	*Observer
	ctx    context.Context
	paths  []string
	seen   []deployment.Seen
	failed []error // of shares
	unread []error // of paths; nil where one that cannot be inspected ends the round
	next   atomic.Int64
	stop   atomic.Bool
	others errgroup.Group
}

// begin has others begin to look; finish lends a hand.
func (k *Observer) begin(ctx context.Context, paths []string, goOn bool) *round {
	shares := (len(paths) + share - 1) / share
	r := &round{Observer: k, ctx: ctx, paths: paths, seen: make([]deployment.Seen, len(paths)), failed: make([]error, shares)}
	if goOn {
		r.unread = make([]error, len(paths))
	}
	for range min(runtime.GOMAXPROCS(0), shares) - 1 {
		r.others.Go(r.work)
	}
	return r
}

// work takes shares in order and finishes them, so that all before the first that fails are looked at: its error is always the same.
func (r *round) work() error {
	eye := r.index.NewStatter()
	defer eye.Close()
	for !r.stop.Load() {
		n := int(r.next.Add(1)) - 1
		if n >= len(r.failed) {
			break
		}
		if err := r.ctx.Err(); err != nil {
			return fault.From(err)
		}
		for i := n * share; i < min((n+1)*share, len(r.paths)) && r.failed[n] == nil; i++ {
			why := &r.failed[n]
			if r.unread != nil {
				why = &r.unread[i]
			}
			r.seen[i], *why = r.Observer.seen(eye, r.paths[i])
		}
		if r.failed[n] != nil {
			r.stop.Store(true)
		}
	}
	return nil
}

// finish puts what was seen among o's files.
func (r *round) finish(o deployment.Observed) error {
	if err := errors.Join(r.work(), r.others.Wait()); err != nil {
		return fault.From(err)
	}
	for _, err := range r.failed {
		if err != nil {
			return err
		}
	}
	for i, path := range r.paths {
		if r.seen[i].Kind == deployment.Absent {
			delete(o.Files, path)
		} else {
			o.Files[path] = r.seen[i]
		}
		if r.unread != nil && r.unread[i] != nil {
			o.Unread[path] = r.unread[i]
		}
	}
	return nil
}

// Seen looks at one path, as Observe does. Of a symbolic link, Size and Sum are those of the file it leads to and Mode is zero.
func (k *Observer) Seen(path string) (deployment.Seen, error) {
	eye := k.index.NewStatter()
	defer eye.Close()
	return k.seen(eye, path)
}

func (k *Observer) seen(eye *Statter, path string) (deployment.Seen, error) {
	var err error
	for range attempts {
		var seen deployment.Seen
		if seen, err = k.once(eye, path); err == nil {
			return seen, nil
		}
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, deployment.ErrPath) {
			break
		}
		eye.Close() // it was there a moment ago, or was a file: somebody is at work on it, or on its directory
	}
	return deployment.Seen{}, refused("inspected", path, err)
}

func (k *Observer) once(eye *Statter, path string) (deployment.Seen, error) {
	st, err := eye.Lstat(path)
	switch {
	case IsAbsent(err):
		return deployment.Seen{}, nil
	case err != nil:
		return deployment.Seen{}, err
	}
	seen := deployment.Seen{Mode: st.Mode.Perm()}
	switch st.Mode.Type() {
	case 0:
		seen.Kind, seen.Size = deployment.Regular, st.Size
		seen.Sum, err = eye.SumOf(path, st)
		return seen, err
	case fs.ModeSymlink:
		return k.link(path)
	case fs.ModeDir:
		seen.Kind = deployment.Directory
	default:
		seen.Kind = deployment.Special
	}
	return seen, nil
}

// link looks at a symbolic link. That it leads nowhere we can see is no error: then it leads to nothing of ours.
func (k *Observer) link(path string) (deployment.Seen, error) {
	to, err := os.Readlink(path)
	if errors.Is(err, syscall.EINVAL) {
		return deployment.Seen{}, deployment.ErrPath // no link any more
	}
	if err != nil {
		return deployment.Seen{}, err
	}
	seen := deployment.Seen{Kind: deployment.Link, Link: to}
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return seen, nil
	}
	seen.Size = info.Size()
	seen.Sum, err = k.index.Sum(path, info)
	return seen, err
}

// Read implements deployport.Machine. It follows symbolic links; anything but a file is ErrPath.
func (k *Observer) Read(ctx context.Context, path string) ([]byte, bool, error) {
	if err := ctx.Err(); err != nil {
		return nil, false, fault.From(err)
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe must not block
	if IsAbsent(err) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, refused("read", path, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = deployment.ErrPath
	}
	if err != nil {
		return nil, false, refused("read", path, err)
	}
	data, err := readOpen(f, info.Size())
	if err != nil {
		return nil, false, refused("read", path, err)
	}
	return data, true, nil
}

// refused is the fault behind an error of the file system (agentpack contract §6.2).
func refused(what, path string, err error) error {
	details := func(hint string) deployment.Details {
		return deployment.FieldDetails("hint", hint).AddPath("path", path)
	}
	switch {
	case errors.Is(err, fs.ErrPermission):
		return deployment.ErrPermission.WithMessage("%s cannot be %s without permission; make it and its parent directories readable for this user", path, what).
			WithDetails(details("make the file readable, or exclude it").Add("io_kind", "permission_denied")).WithCause(err)
	case errors.Is(err, syscall.ENAMETOOLONG):
		return deployment.ErrPathLong.WithMessage("the path %s is too long to be %s; shorten a name in it", path, what).
			WithDetails(details("shorten the path").Add("io_kind", "path_too_long")).WithCause(err)
	case errors.Is(err, deployment.ErrPath):
		return deployment.ErrPath.WithMessage("%s cannot be %s: it is not a file, or it keeps changing", path, what).
			WithDetails(details("move the existing file or directory away")).WithCause(err)
	case errors.Is(err, syscall.ELOOP), errors.Is(err, syscall.EINVAL):
		return deployment.ErrPath.WithMessage("%s cannot be %s: the path does not resolve", path, what).WithDetails(details("correct the path")).WithCause(err)
	}
	return fault.From(err)
}
