package deployfile_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/domain/deployment"

	"github.com/countersign-dev/countersign/ports/deployport"
)

// TestInverseRestoresEverything deploys twice over a random tree in which a person works, and goes back step by step.
func TestInverseRestoresEverything(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		require.NoError(r, err)
		defer os.RemoveAll(dir)
		h := hostWith(t, dir, nil)
		require.NoError(r, os.MkdirAll(h.Path("root"), 0o755))
		for _, path := range somePaths(r, "person") {
			person(r, h.Path("root", path))
		}
		roots := []deployment.Root{h.Root("codex", "root")}
		start := tree(t, h.Dir)
		first, ok := tryDeploy(t, r, h, roots)
		if !ok {
			require.Equal(r, start, tree(t, h.Dir), "what is refused changes nothing")
			return
		}
		one := tree(t, h.Dir)
		s, err := h.Snapshots.Load(t.Context(), h.Home, first)
		require.NoError(r, err)
		second, ok := tryDeploy(t, r, h, roots)
		if ok {
			h.Apply(t, h.Inverse(t, second, roots, s.Managed))
		}
		require.Equal(r, withoutManifests(one), withoutManifests(tree(t, h.Dir)))
		h.Apply(t, h.Inverse(t, first, roots, nil))
		require.Equal(r, start, tree(t, h.Dir))
	})
}

func somePaths(r *rapid.T, label string) []string {
	part := rapid.SampledFrom([]string{"a", "b", "c d", "é"})
	path := rapid.Custom(func(r *rapid.T) string { return filepath.Join(rapid.SliceOfN(part, 1, 3).Draw(r, "parts")...) })
	return rapid.SliceOfNDistinct(path, 0, 6, rapid.ID[string]).Draw(r, label)
}

// person puts something at a path, where that is possible.
func person(r *rapid.T, path string) {
	if os.MkdirAll(filepath.Dir(path), 0o755) != nil {
		return // a file is in the way
	}
	switch rapid.IntRange(0, 3).Draw(r, "kind") {
	case 0:
		_ = os.Symlink(rapid.SampledFrom([]string{"a", "nowhere", "/dev/null"}).Draw(r, "link"), path)
	case 1:
		_ = os.MkdirAll(path, 0o755)
	default:
		mode := rapid.SampledFrom([]os.FileMode{0o644, 0o600, 0o755, 0o640, 0o444}).Draw(r, "mode")
		if os.WriteFile(path, []byte(rapid.SampledFrom([]string{"", "one", "two"}).Draw(r, "text")), 0o600) == nil {
			_ = os.Chmod(path, mode)
		}
	}
}

// tryDeploy deploys something random; false when that cannot be done here.
func tryDeploy(t *testing.T, r *rapid.T, h machineHost, roots []deployment.Root) (string, bool) {
	w := deployment.Wanted{Roots: roots, Targets: []string{"codex"}}
	paths := somePaths(r, "wanted")
	for _, path := range paths {
		mode := rapid.SampledFrom([]os.FileMode{deployment.PlainMode, deployment.ExecutableMode}).Draw(r, "executable")
		w.Files = append(w.Files, deployment.Desired{Target: "codex", Root: roots[0].Path, Path: filepath.Join(roots[0].Path, path), Mode: mode,
			Content: deployment.ContentOf([]byte(rapid.SampledFrom([]string{"", "one", "two", "three"}).Draw(r, "content")))})
	}
	for i := range paths {
		paths[i] = h.Path("root", paths[i])
	}
	at := deployment.Locations{Home: h.Home}
	seen, err := h.Machine.Observe(t.Context(), deployport.Look{Place: at, Roots: roots, Paths: paths})
	if errors.Is(err, deployment.ErrPath) {
		return "", false // a link leads to itself
	}
	require.NoError(r, err)
	p, err := deployment.NewPlan(w, seen)
	if errors.Is(err, deployment.ErrPath) {
		return "", false // a directory stands there
	}
	require.NoError(r, err)
	id, err := h.Machine.Apply(t.Context(), p.Transaction(at, deployment.KindDeploy, deployment.Sum{}), nil)
	if errors.Is(err, deployment.ErrPath) {
		return "", false // a file stands where a directory should
	}
	if errors.Is(err, deployment.ErrStale) {
		return "", false // a directory that should give way to a file is the person's, or holds something of theirs
	}
	require.NoError(r, err)
	return id, id != "" // with nothing to do there is no snapshot
}

func withoutManifests(tree map[string]string) map[string]string {
	out := maps.Clone(tree)
	for _, path := range slices.Collect(maps.Keys(out)) {
		if strings.HasPrefix(filepath.Base(path), ".agentpack.manifest.") {
			delete(out, path)
		}
	}
	return out
}
