package deployfile

import (
	"context"
	"io/fs"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/countersign-dev/countersign/adapters/deployfile/observe"
	"github.com/countersign-dev/countersign/domain/deployment"
)

// job is one write of an operation.
type job struct {
	deployment.SnapshotRecord
	Root string              // Path must stay below it
	At   observe.ResolvedDir // the directory of Path
	From deployment.Content  // of After, when it is Regular
	Then fs.FileInfo         // of what stood there when it was looked at
	Twin bool                // another job writes that very file, through another name
}

// each does n things with a few goroutines, a run of neighbours each at a time, until one fails or ctx is done.
func each(ctx context.Context, n int, do func(i int) error) error {
	const run = 64
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(workers())
	for begin := 0; begin < n && inner.Err() == nil; begin += run {
		group.Go(func() error {
			for i := begin; i < min(begin+run, n); i++ {
				if err := inner.Err(); err != nil {
					return err
				}
				if err := do(i); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return ctx.Err()
}

// workers is how many goroutines wait for the disk at a time: a few more than there are cores.
func workers() int { return max(2, min(8, runtime.GOMAXPROCS(0))) }

// paths collects paths from many goroutines.
type paths struct {
	mu  sync.Mutex
	All []string
}

// Add takes one in.
func (p *paths) Add(path string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.All = append(p.All, path)
}

// maxNamed is how many paths an error names.
const maxNamed = 20

// StaleError is ErrStale with the files that changed.
func StaleError(changed []string) error {
	slices.Sort(changed)
	changed = slices.Compact(changed)
	named := changed[:min(len(changed), maxNamed)]
	posix := make([]string, len(named))
	for i, path := range named {
		posix[i] = deployment.PosixPath(path)
	}
	return deployment.ErrStale.WithMessage("%d files changed since the plan was made, the first of them %s; nothing was written: plan again, review the new plan, and repeat",
		len(changed), named[0]).
		WithDetails(deployment.FieldDetails("count", len(changed)).Add("sample_paths", named).Add("sample_paths_posix", posix))
}

// spread does something to every group with a few goroutines, until one fails or ctx is done.
func spread[T any](ctx context.Context, groups []T, do func(ctx context.Context, group T) error) error {
	all, inner := errgroup.WithContext(ctx)
	all.SetLimit(workers())
	for _, group := range groups {
		if inner.Err() != nil {
			break
		}
		all.Go(func() error { return do(inner, group) })
	}
	if err := all.Wait(); err != nil {
		return err
	}
	return ctx.Err()
}
