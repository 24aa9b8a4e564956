package observe

import (
	"context"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/fault"
)

// Extras implements deployport.Machine. Only regular files count, links are not followed (but the root may be one), and what is called
// .git or .agentpack below the root is passed over, wherever the root itself lies (agentpack contract §1.7). A root that is absent or
// no directory has none. A directory that may not be read is ErrPermission.
func (k *Observer) Extras(ctx context.Context, root deployment.Root) ([]string, error) {
	info, err := os.Stat(root.Path)
	switch {
	case IsAbsent(err) || err == nil && !info.IsDir():
		return nil, nil
	case err != nil:
		return nil, refused("listed", root.Path, err)
	}
	return walk(ctx, root.Path)
}

// wide is from how many directories on several are walked at once.
const wide = 16

// walk is the files below dir. The names of a directory come sorted and each is finished before the next, which is the order of path
// components (agentpack contract Appendix D).
func walk(ctx context.Context, dir string) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, fault.From(err)
	}
	entries, err := ReadDir(dir)
	switch {
	case IsAbsent(err): // gone meanwhile
		return nil, nil
	case err != nil:
		return nil, refused("listed", dir, err)
	}
	name := func(e DirEntry) string { return e.Path[len(dir)+1:] }
	slices.SortFunc(entries, func(a, b DirEntry) int { return strings.Compare(name(a), name(b)) })
	entries = slices.DeleteFunc(entries, func(e DirEntry) bool {
		return name(e) == ".git" || name(e) == ".agentpack" || e.Kind != fs.ModeDir && (e.Kind != 0 || IsManifestName(name(e)))
	})
	below, err := walkAll(ctx, entries)
	if err != nil {
		return nil, err
	}
	files := make([]string, 0, len(entries))
	for i, e := range entries {
		if e.Kind == fs.ModeDir {
			files = append(files, below[i]...)
		} else {
			files = append(files, e.Path)
		}
	}
	return files, nil
}

// walkAll walks those of the entries that are directories. Of several that may not be read the first is reported.
func walkAll(ctx context.Context, entries []DirEntry) ([][]string, error) {
	below, failed := make([][]string, len(entries)), make([]error, len(entries))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, e := range entries {
		if e.Kind != fs.ModeDir {
			continue
		}
		one := func() error {
			below[i], failed[i] = walk(ctx, e.Path)
			return nil
		}
		if len(entries) < wide || !group.TryGo(one) {
			_ = one() // its error is among the failed
		}
	}
	_ = group.Wait()
	for _, err := range failed {
		if err != nil {
			return nil, err
		}
	}
	return below, nil
}
