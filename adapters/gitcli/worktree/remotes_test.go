package worktree_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
		"CloneOfALocalOneIsApart":   cloneApart,
		"CloneOfOddOnesIsWhole":     cloneOdd,
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
	assert.Contains(t, stages, "copying objects")
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

// cloneApart: the clone of a repository on this machine has what that one shows to anybody, and shares no file with it. Nothing that the repository
// configures runs.
func cloneApart(t *testing.T, h repos) {
	r := gitfixture.New(t, files)
	r.Git("tag", "--annotate", "--message", "x", "v1")
	r.Git("gc", "--quiet")
	r.Write("-- secret --\nstashed\n")
	secret := r.Git("hash-object", "-w", "secret")
	r.Git("stash", "push", "--quiet", "--include-untracked")
	r.Write("-- a.txt --\ntwo\n")
	last := r.Commit("loose")
	traps := gitfixture.NewTraps(t, "")
	traps.Configure(filepath.Join(r.Dir, ".git"), true)

	base := t.TempDir()
	dir := filepath.Join(base, `a "quoted: \ repo`)
	var stages []string
	require.NoError(t, h.Repos.Clone(t.Context(), sandboxport.Access{URL: r.Dir}, dir, func(_ int, what string) { stages = append(stages, what) }))
	assert.Contains(t, stages, "copying objects")
	assert.NotContains(t, stages, "receiving objects")
	assert.Empty(t, traps.Sprung())
	assert.Len(t, beside(t, base), 1)
	assert.Equal(t, []string{last, last, "v1"}, []string{r.Git("-C", dir, "rev-parse", "HEAD"), r.Git("-C", dir, "rev-parse", "origin/main"), r.Git("-C", dir, "tag")})
	_, err := os.Stat(filepath.Join(dir, ".git", "objects", "info", "alternates"))
	require.ErrorIs(t, err, os.ErrNotExist)
	objects := r.Git("-C", dir, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)")
	assert.Contains(t, objects, last)
	assert.NotContains(t, objects, secret, "what no branch or tag reaches stays where it is")

	for _, at := range []string{dir, r.Dir} { // in place, as a mode does not keep the owner from it
		below := filepath.Join(at, ".git", "objects")
		require.NoError(t, filepath.WalkDir(below, func(path string, entry os.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() {
				return err
			}
			if at == dir {
				require.NoError(t, os.Chmod(path, 0o600))
				return os.WriteFile(path, []byte("spoilt"), 0o600)
			}
			said, err := os.ReadFile(path)
			assert.NotEqual(t, "spoilt", string(said), path)
			return err
		}))
	}
}

// cloneOdd: a repository out of the common is cloned whole, through git's protocol where its objects cannot be packed on the spot.
func cloneOdd(t *testing.T, h repos) {
	for name, odd := range map[string]func(r *gitfixture.Repo, admin string) string{
		"objects behind a link": func(r *gitfixture.Repo, admin string) string {
			require.NoError(t, os.Rename(filepath.Join(admin, "objects"), filepath.Join(admin, "elsewhere")))
			require.NoError(t, os.Symlink("elsewhere", filepath.Join(admin, "objects")))
			return r.Dir
		},
		"objects of another one": func(r *gitfixture.Repo, _ string) string {
			at := filepath.Join(t.TempDir(), "shared")
			r.Git("clone", "--quiet", "--shared", r.Remote, at)
			return at
		},
		"a worktree": func(r *gitfixture.Repo, _ string) string {
			at := filepath.Join(t.TempDir(), "linked")
			r.Git("worktree", "add", "--quiet", "-b", "linked", at)
			return at
		},
		"without a branch": func(r *gitfixture.Repo, _ string) string {
			r.Git("checkout", "--quiet", "--detach")
			r.Git("commit", "--quiet", "--allow-empty", "--message", "on no branch")
			return r.Dir
		},
		"shallow": func(r *gitfixture.Repo, _ string) string {
			r.Commit("second")
			at := filepath.Join(t.TempDir(), "shallow")
			r.Git("clone", "--quiet", "--depth=1", "file://"+r.Dir, at)
			return at
		},
		"sha256": func(r *gitfixture.Repo, _ string) string {
			at := filepath.Join(t.TempDir(), "long")
			r.Git("init", "--quiet", "--object-format=sha256", "--initial-branch=main", at)
			r.Git("-C", at, "commit", "--quiet", "--allow-empty", "--message", "x")
			return at
		},
		"checked by the user": func(r *gitfixture.Repo, _ string) string {
			require.NoError(t, os.WriteFile(filepath.Join(os.Getenv("HOME"), ".gitconfig"), []byte("[transfer]\n\tfsckObjects\n"), 0o600))
			return r.Dir
		},
	} {
		t.Run(name, func(t *testing.T) {
			alone(t)
			r := gitfixture.New(t, files)
			source, dir := odd(r, filepath.Join(r.Dir, ".git")), filepath.Join(t.TempDir(), "repo")
			var stages []string
			require.NoError(t, h.Repos.Clone(t.Context(), sandboxport.Access{URL: source}, dir, func(_ int, what string) { stages = append(stages, what) }))
			packed := slices.Contains([]string{"objects of another one", "without a branch", "sha256"}, name)
			assert.Equal(t, !packed, slices.Contains(stages, "receiving objects"))
			assert.Equal(t, r.Git("-C", source, "rev-parse", "HEAD"), r.Git("-C", dir, "rev-parse", "HEAD"))
			r.Git("-C", dir, "fsck", "--full", "--strict")
			_, err := os.Stat(filepath.Join(dir, ".git", "objects", "info", "alternates"))
			require.ErrorIs(t, err, os.ErrNotExist)
		})
	}
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
