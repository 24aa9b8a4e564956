package overlay

import (
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/domain/deployment"
)

// NewBaseline returns the baseline of an overlay that starts from upstream. The origin may be nil: then the overlay cannot be rebased with it.
func NewBaseline(upstream deployment.Tree, origin *Origin, now time.Time) *Baseline {
	return &Baseline{Version: BaselineVersion, CreatedAt: now.UTC(), Sum: upstream.Sum(), Manifest: upstream.Entries(), Upstream: origin}
}

// OriginOf returns where the bytes of a path's entry can be found: the baseline's origin, or the older one of a file with unresolved conflicts. It
// may be nil.
func (b *Baseline) OriginOf(path string) *Origin {
	for _, u := range b.Unsolved {
		if u.Path == path {
			return u.Upstream
		}
	}
	return b.Upstream
}

// kept returns the baseline with the older entries of files that still have conflicts; old maps every older entry by path.
func (b *Baseline) kept(unsolved []UnresolvedFile, old map[string]deployment.Entry) *Baseline {
	if len(unsolved) == 0 {
		return b
	}
	b.Unsolved = unsolved
	open := make(map[string]bool, len(unsolved))
	for _, u := range unsolved {
		open[u.Path] = true
	}
	b.Manifest = slices.DeleteFunc(b.Manifest, func(e deployment.Entry) bool { return open[e.Path] })
	for path := range open {
		if e, ok := old[path]; ok {
			b.Manifest = append(b.Manifest, e)
		}
	}
	slices.SortFunc(b.Manifest, func(x, y deployment.Entry) int { return strings.Compare(x.Path, y.Path) })
	tree := make(deployment.Tree, len(b.Manifest))
	for i, e := range b.Manifest {
		tree[i] = deployment.File{Path: e.Path, Content: deployment.Content{Sum: e.Sum, Size: e.Bytes}}
	}
	b.Sum = tree.Sum()
	return b
}

// says reports whether b adds nothing to old: the same files and conflicts, and an origin that old can do without.
func (b *Baseline) says(old *Baseline) bool {
	same := b.Sum == old.Sum && slices.Equal(b.Manifest, old.Manifest) && slices.EqualFunc(b.Unsolved, old.Unsolved, func(x, y UnresolvedFile) bool {
		return x.Path == y.Path && x.Theirs == y.Theirs && x.Artifact == y.Artifact && sameOrigin(x.Upstream, y.Upstream)
	})
	return same && (settled(old.Upstream) || sameOrigin(b.Upstream, old.Upstream))
}

// settled reports whether the baseline's bytes are certain to be at the origin.
func settled(o *Origin) bool {
	switch {
	case o == nil:
		return false
	case o.Git != nil:
		return true
	}
	return o.Local != nil && o.Local.Commit != "" && (o.Local.Dirty == nil || !*o.Local.Dirty)
}

func sameOrigin(a, b *Origin) bool {
	if a == nil || b == nil {
		return a == b
	}
	return sameValue(a.Git, b.Git) && (a.Local == nil) == (b.Local == nil) &&
		(a.Local == nil || a.Local.Path == b.Local.Path && a.Local.Commit == b.Local.Commit && sameValue(a.Local.Dirty, b.Local.Dirty))
}

func sameValue[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}
