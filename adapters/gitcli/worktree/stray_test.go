package worktree_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/ports/sandboxport"
)

// TestLossesOfStrays: of a directory of which git knows nothing everything is told, with its clone and without.
func TestLossesOfStrays(t *testing.T) {
	p := openPlace(t, newRepos(t), "-- a.txt --\na\n")
	dir, empty, absent := filepath.Join(t.TempDir(), "one"), t.TempDir(), filepath.Join(t.TempDir(), "none")
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "sub"), 0o755))
	for name, text := range map[string]string{"mine.txt": "mine\n", ".git": "gitdir: /nowhere\n", "sub/x": "x\n"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	want := []sandboxport.Loss{{Directory: dir, Changes: []string{"?? mine.txt", "?? sub/"}, Commits: []string{}}}
	for _, when := range []string{"with a clone", "without"} {
		found, err := p.Repos.Losses(t.Context(), p.Clone, []string{absent, dir, empty})
		require.NoError(t, err, when)
		assert.Equal(t, want, found, when)
		require.NoError(t, os.RemoveAll(filepath.Join(p.Clone, ".git")))
	}
	found, err := p.Repos.Losses(t.Context(), p.Clone, nil)
	require.NoError(t, err)
	assert.Empty(t, found)
	kept, err := p.Repos.Backups(t.Context(), p.Clone)
	require.NoError(t, err)
	assert.Empty(t, kept)
}
