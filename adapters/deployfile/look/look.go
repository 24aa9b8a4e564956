// Package look is how deployments see the machine: what the manifests in the roots say, what stands at the paths that matter, which
// files nobody deployed, and whether a root could be written to.
//
// It refuses to write anything, and to know what should be where.
package look

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"runtime"
	"sync/atomic"
	"syscall"

	"golang.org/x/sync/errgroup"

	"github.com/countersign-dev/countersign/adapters/deployfile/ledger"
	"github.com/countersign-dev/countersign/adapters/deployfile/statindex"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/plan"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/ports/deployport"
)

const (
	share    = 64 // paths that a goroutine takes at a time
	attempts = 4  // looks at a path that keeps changing under our eyes
)

// Looker looks. It keeps nothing but the index; methods may be called from many goroutines.
type Looker struct {
	index *statindex.Index
}

// New is a Looker that asks index for sums. Saving the index is its owner's affair.
func New(index *statindex.Index) *Looker { return &Looker{index} }

// Observe implements deployport.Machine. A path that is absent is left out of Files; of several things that cannot be looked at, the
// first in the order of the ledgers and l.Paths is reported: ErrPermission, ErrPathLong, ErrPath, or what the file system said.
func (k *Looker) Observe(ctx context.Context, l deployport.Look) (plan.Observed, error) {
	o, err := ledgers(ctx, l.Roots)
	if err != nil {
		return plan.Observed{}, err
	}
	entries := 0
	for _, each := range o.Ledgers {
		entries += len(each.Owned)
	}
	paths := make([]string, 0, max(entries, len(l.Paths)))
	o.Files = make(map[string]plan.Seen, cap(paths))
	add := func(path string) {
		if _, known := o.Files[path]; !known {
			o.Files[path] = plan.Seen{}
			paths = append(paths, path)
		}
	}
	for _, each := range o.Ledgers {
		for i := range each.Owned {
			add(each.Owned[i].Path)
		}
	}
	for _, path := range l.Paths {
		add(path)
	}
	seen, err := k.all(ctx, paths)
	if err != nil {
		return plan.Observed{}, err
	}
	for i, path := range paths {
		if seen[i].Kind == plan.Absent {
			delete(o.Files, path)
		} else {
			o.Files[path] = seen[i]
		}
	}
	return o, nil
}

// ledgers reads the roots' manifests, each once; no warning comes twice.
func ledgers(ctx context.Context, roots []plan.Root) (plan.Observed, error) {
	var o plan.Observed
	looked, said := map[plan.Root]bool{}, map[string]bool{}
	for _, root := range roots {
		if looked[root] {
			continue
		}
		looked[root] = true
		if err := ctx.Err(); err != nil {
			return plan.Observed{}, fault.From(err)
		}
		read, warnings, err := ledger.Read(root)
		if err != nil {
			return plan.Observed{}, err
		}
		o.Ledgers = append(o.Ledgers, read)
		for _, w := range warnings {
			if !said[w] {
				said[w] = true
				o.Warnings = append(o.Warnings, w)
			}
		}
	}
	return o, nil
}

// all looks at every path, in parallel.
func (k *Looker) all(ctx context.Context, paths []string) ([]plan.Seen, error) {
	seen := make([]plan.Seen, len(paths))
	shares := (len(paths) + share - 1) / share
	failed := make([]error, shares)
	var next atomic.Int64
	var stop atomic.Bool
	work := func() error {
		eye := k.index.Eye()
		defer eye.Close()
		// Shares are taken in order and finished, so all before the first that fails are looked at: its error is always the same.
		for !stop.Load() {
			n := int(next.Add(1)) - 1
			if n >= shares {
				break
			}
			if err := ctx.Err(); err != nil {
				return fault.From(err)
			}
			for i := n * share; i < min((n+1)*share, len(paths)) && failed[n] == nil; i++ {
				seen[i], failed[n] = k.seen(eye, paths[i])
			}
			if failed[n] != nil {
				stop.Store(true)
			}
		}
		return nil
	}
	var group errgroup.Group
	for range min(runtime.GOMAXPROCS(0), shares) - 1 {
		group.Go(work)
	}
	if err := errors.Join(work(), group.Wait()); err != nil {
		return nil, fault.From(err)
	}
	for _, err := range failed {
		if err != nil {
			return nil, err
		}
	}
	return seen, nil
}

// Seen looks at one path, as Observe does. Of a symbolic link, Size and Sum are those of the file it leads to and Mode is zero.
func (k *Looker) Seen(path string) (plan.Seen, error) {
	eye := k.index.Eye()
	defer eye.Close()
	return k.seen(eye, path)
}

func (k *Looker) seen(eye *statindex.Eye, path string) (plan.Seen, error) {
	var err error
	for range attempts {
		var seen plan.Seen
		if seen, err = k.once(eye, path); err == nil {
			return seen, nil
		}
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, deployment.ErrPath) {
			break
		}
		eye.Close() // it was there a moment ago, or was a file: somebody is at work on it, or on its directory
	}
	return plan.Seen{}, refused("looked at", path, err)
}

func (k *Looker) once(eye *statindex.Eye, path string) (plan.Seen, error) {
	st, err := eye.Lstat(path)
	switch {
	case absent(err):
		return plan.Seen{}, nil
	case err != nil:
		return plan.Seen{}, err
	}
	seen := plan.Seen{Mode: st.Mode.Perm()}
	switch st.Mode.Type() {
	case 0:
		seen.Kind, seen.Size = plan.Regular, st.Size
		seen.Sum, err = eye.SumOf(path, st)
		return seen, err
	case fs.ModeSymlink:
		return k.link(path)
	case fs.ModeDir:
		seen.Kind = plan.Directory
	default:
		seen.Kind = plan.Special
	}
	return seen, nil
}

// link looks at a symbolic link. That it leads nowhere we can see is no error: then it leads to nothing of ours.
func (k *Looker) link(path string) (plan.Seen, error) {
	to, err := os.Readlink(path)
	if errors.Is(err, syscall.EINVAL) {
		return plan.Seen{}, deployment.ErrPath // no link any more
	}
	if err != nil {
		return plan.Seen{}, err
	}
	seen := plan.Seen{Kind: plan.Link, Link: to}
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return seen, nil
	}
	seen.Size = info.Size()
	seen.Sum, err = k.index.Sum(path, info)
	return seen, err
}

// Read implements deployport.Machine. It follows symbolic links; anything but a file is ErrPath.
func (k *Looker) Read(ctx context.Context, path string) ([]byte, bool, error) {
	if err := ctx.Err(); err != nil {
		return nil, false, fault.From(err)
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe must not block
	if absent(err) {
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
	data := make([]byte, 0, info.Size()+1)
	for {
		n, err := f.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		switch {
		case errors.Is(err, io.EOF):
			return data, true, nil
		case err != nil:
			return nil, false, refused("read", path, err)
		case len(data) == cap(data):
			data = append(data, 0)[:len(data)]
		}
	}
}

// absent reports an error that says: nothing is there.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// refused is the fault behind an error of the file system (agentpack contract §6.2).
func refused(what, path string, err error) error {
	details := func(hint string) deployment.Details {
		return deployment.Fields("hint", hint).AddPath("path", path)
	}
	switch {
	case errors.Is(err, fs.ErrPermission):
		return deployment.ErrPermission.Sayf("%s may not be %s; make it and the directories above it readable for this user", path, what).
			With(details("make the file readable, or exclude it").Add("io_kind", "permission_denied")).Because(err)
	case errors.Is(err, syscall.ENAMETOOLONG):
		return deployment.ErrPathLong.Sayf("%s is a path too long to be %s; shorten a name in it", path, what).
			With(details("shorten the path").Add("io_kind", "path_too_long")).Because(err)
	case errors.Is(err, deployment.ErrPath):
		return deployment.ErrPath.Sayf("%s cannot be %s: it is no file, or keeps changing", path, what).
			With(details("move away what stands there")).Because(err)
	case errors.Is(err, syscall.ELOOP), errors.Is(err, syscall.EINVAL):
		return deployment.ErrPath.Sayf("%s cannot be %s: it is no path that leads anywhere", path, what).With(details("mend the path")).Because(err)
	}
	return fault.From(err)
}
