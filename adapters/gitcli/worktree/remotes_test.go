package worktree_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/internal/testkit/gitfixture"
	"github.com/countersign-dev/countersign/ports/sandboxport"
)

// remotes runs the contract of sandboxport.Repositories.
func remotes(t *testing.T, open func(testing.TB) repos) {
	for name, test := range map[string]func(*testing.T, repos){
		"ReachTellsWhatCanBeRead":   reach,
		"CloneIsWhole":              cloneWhole,
		"CloneLeavesOthersAlone":    cloneConflict,
		"FailedCloneLeavesNothing":  cloneFails,
		"StoppedCloneLeavesNothing": cloneStopped,
		"CloneSweeps":               cloneSweeps,
		"CloneTogether":             cloneTogether,
		"RootOfEverything":          root,
	} {
		t.Run(name, func(t *testing.T) {
			alone(t)
			test(t, open(t))
		})
	}
}

func reach(t *testing.T, h repos) {
	r := gitfixture.New(t, files)
	require.NoError(t, h.Repos.Reach(t.Context(), sandboxport.Access{URL: "file://" + r.Remote}))
	require.NoError(t, h.Repos.Reach(t.Context(), sandboxport.Access{URL: r.Remote}))
	empty := gitfixture.New(t, "")
	require.NoError(t, h.Repos.Reach(t.Context(), sandboxport.Access{URL: empty.Remote}), "an empty repository can be read")
	err := h.Repos.Reach(t.Context(), sandboxport.Access{URL: "file://" + t.TempDir()})
	require.ErrorIs(t, err, sandbox.ErrGit)
	assert.Contains(t, fault.From(err).Message, "does not appear to be a git repository")
	for _, url := range []string{"--upload-pack=touch x", "ext::sh -c true", "https://user:secret@example.com/a/b", "relative/path", ""} {
		err := h.Repos.Reach(t.Context(), sandboxport.Access{URL: url})
		require.ErrorIs(t, err, sandbox.ErrURL, url)
		assert.NotContains(t, err.Error(), "secret")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, h.Repos.Reach(ctx, sandboxport.Access{URL: r.Remote}), fault.ErrCanceled)
}

// beside returns the names in a directory.
func beside(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	names := []string{}
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

func cloneWhole(t *testing.T, h repos) {
	r := gitfixture.New(t, files)
	first := r.Head()
	r.Git("push", "--quiet", "origin", "main:refs/heads/other")
	base := filepath.Join(t.TempDir(), "made on the way", "it's ü")
	dir := filepath.Join(base, "repo")
	last, stages := 0, []string{}
	tell := func(percent int, what string) {
		assert.GreaterOrEqual(t, percent, last)
		last = percent
		stages = append(stages, what)
	}
	access := sandboxport.Access{URL: "file://" + r.Remote}
	require.NoError(t, h.Repos.Clone(t.Context(), access, dir, tell))
	assert.Contains(t, stages, "receiving objects")
	assert.Positive(t, last)
	assert.Equal(t, []string{"repo"}, beside(t, base))
	assert.Equal(t, "one\n", text(dir, "a.txt"))
	assert.Equal(t, []any{first, ""}, []any{r.Git("-C", dir, "rev-parse", "origin/other"), r.Git("-C", dir, "status", "--porcelain")})
	found, err := h.Repos.Root(t.Context(), dir)
	require.NoError(t, err)
	assert.Equal(t, sandboxport.Clone{RootCommit: first, Branch: "main", Origin: "file://" + r.Remote}, found)

	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.txt"), []byte("mine\n"), 0o644))
	require.NoError(t, h.Repos.Clone(t.Context(), sandboxport.Access{URL: r.Remote + "/"}, dir, nil), "the same repository, spelled differently")
	assert.Equal(t, "mine\n", text(dir, "a.txt"))
	empty := filepath.Join(t.TempDir(), "empty")
	require.NoError(t, os.Mkdir(empty, 0o755))
	require.NoError(t, h.Repos.Clone(t.Context(), access, empty, nil))
	assert.Equal(t, "one\n", text(empty, "a.txt"))
}

func cloneConflict(t *testing.T, h repos) {
	r, other := gitfixture.New(t, files), gitfixture.New(t, files)
	access := sandboxport.Access{URL: "file://" + r.Remote}
	full := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(full, "mine"), []byte("x"), 0o644))
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, []byte("x"), 0o644))
	bare := gitfixture.New(t, files)
	bare.Git("remote", "remove", "origin")
	for name, dir := range map[string]string{"full": full, "another clone": other.Dir, "a file": file, "no origin": bare.Dir, "bare": other.Remote} {
		before := fmt.Sprint(beside(t, filepath.Dir(dir)))
		require.ErrorIs(t, h.Repos.Clone(t.Context(), access, dir, nil), sandbox.ErrBaseDir, name)
		assert.Equal(t, before, fmt.Sprint(beside(t, filepath.Dir(dir))))
	}
	assert.Equal(t, "x", text(full, "mine"))
}

func cloneFails(t *testing.T, h repos) {
	base := t.TempDir()
	err := h.Repos.Clone(t.Context(), sandboxport.Access{URL: "file://" + filepath.Join(base, "nowhere")}, filepath.Join(base, "repo"), nil)
	require.ErrorIs(t, err, sandbox.ErrClone)
	assert.Contains(t, fault.From(err).Message, "nowhere")
	assert.Empty(t, beside(t, base))
	require.ErrorIs(t, h.Repos.Clone(t.Context(), sandboxport.Access{URL: "https://u:secret@h.example/a/b"}, filepath.Join(base, "repo"), nil), sandbox.ErrURL)
}

func cloneStopped(t *testing.T, h repos) {
	r := gitfixture.New(t, files)
	base := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	err := h.Repos.Clone(ctx, sandboxport.Access{URL: "file://" + r.Remote}, filepath.Join(base, "repo"), func(int, string) { cancel() })
	require.ErrorIs(t, err, fault.ErrCanceled)
	assert.Empty(t, beside(t, base))
	require.NoError(t, h.Repos.Clone(t.Context(), sandboxport.Access{URL: "file://" + r.Remote}, filepath.Join(base, "repo"), nil))
	assert.Equal(t, []string{"repo"}, beside(t, base))
}

func cloneSweeps(t *testing.T, h repos) {
	r := gitfixture.New(t, files)
	base := t.TempDir()
	for _, left := range []string{"repo.tmp-123", "repo.tmp-mine", "other.tmp-1"} {
		require.NoError(t, os.MkdirAll(filepath.Join(base, left, ".git"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(base, left, ".git", "x"), nil, 0o400))
	}
	require.NoError(t, h.Repos.Clone(t.Context(), sandboxport.Access{URL: "file://" + r.Remote}, filepath.Join(base, "repo"), nil))
	assert.Equal(t, []string{"other.tmp-1", "repo", "repo.tmp-mine"}, beside(t, base))
}

func cloneTogether(t *testing.T, h repos) {
	r := gitfixture.New(t, files)
	base := t.TempDir()
	var group sync.WaitGroup
	for range 5 {
		group.Go(func() {
			assert.NoError(t, h.Repos.Clone(t.Context(), sandboxport.Access{URL: "file://" + r.Remote}, filepath.Join(base, "repo"), nil))
		})
	}
	group.Wait()
	assert.Equal(t, []string{"repo"}, beside(t, base))
}

func root(t *testing.T, h repos) {
	empty := gitfixture.New(t, "")
	found, err := h.Repos.Root(t.Context(), empty.Dir)
	require.NoError(t, err)
	assert.Equal(t, sandboxport.Clone{Branch: "main", Origin: empty.Remote}, found)
	first := empty.Commit("first")
	empty.Commit("second")
	empty.Git("checkout", "--quiet", "--detach")
	empty.Git("remote", "set-url", "origin", "https://user:secret@example.com/a/b")
	found, err = h.Repos.Root(t.Context(), empty.Dir)
	require.NoError(t, err)
	assert.Equal(t, sandboxport.Clone{RootCommit: first, Origin: "https://***@example.com/a/b"}, found)
	long := filepath.Join(t.TempDir(), "long")
	empty.Git("init", "--quiet", "--object-format=sha256", "--initial-branch=long", long)
	empty.Git("-C", long, "commit", "--quiet", "--allow-empty", "--message", "x")
	found, err = h.Repos.Root(t.Context(), long)
	require.NoError(t, err)
	assert.Len(t, found.RootCommit, 64)
	_, err = h.Repos.Root(t.Context(), t.TempDir())
	require.ErrorIs(t, err, sandbox.ErrGit)
}
