package observe_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/deployfile/observe"
	"github.com/countersign-dev/countersign/domain/deployment"

	"github.com/countersign-dev/countersign/ports/deployport"
)

func TestConformance(t *testing.T) {
	look(t, func(testing.TB) looker { return observe.NewObserver(observe.OpenIndex("")) })
}

// TestPathsInAnyOrder: sorted, target after target, repeated and shuffled paths are seen alike, and what is told in the order of the paths
// is what is told by path.
func TestPathsInAnyOrder(t *testing.T) {
	dir, k := t.TempDir(), observe.NewObserver(observe.OpenIndex(""))
	path := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"a", "b", "c", "d"} {
		require.NoError(t, os.WriteFile(path(name), []byte(name), 0o600))
	}
	want := map[string]deployment.Seen{}
	for _, names := range []string{"abcd", "cdab", "aabcd", "abcdabcd", "dcba", "abcxd", "badcab"} {
		var paths []string
		for _, name := range names {
			paths = append(paths, path(string(name)))
		}
		o, err := k.Observe(t.Context(), deployport.Look{Paths: paths})
		require.NoError(t, err)
		if len(want) == 0 {
			want = o.Files
		}
		assert.Equal(t, want, o.Files, names)
		require.Len(t, o.Seen, len(o.Looked), names)
		assert.Subset(t, o.Looked, paths, names)
		for i, looked := range o.Looked {
			assert.Equal(t, o.Files[looked], o.Seen[i], "%s: %s", names, looked)
		}
		assert.Len(t, o.Looked, len(slices.Compact(slices.Sorted(slices.Values(paths)))), "%s: each once", names)
	}
}
