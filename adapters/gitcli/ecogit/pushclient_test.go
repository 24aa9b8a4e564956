package ecogit_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/gitcli/ecogit"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/internal/testkit/gitfixture"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

var (
	_ ecosystemport.PushGit = (*ecogit.PushClient)(nil)
)

// pushFresh returns a client and a repository in a home of its own.
func pushFresh(t *testing.T) (*ecogit.PushClient, *gitfixture.Repo) {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	require.NoError(t, os.WriteFile(filepath.Join(home, ".gitconfig"), []byte("[user]\n\tname = Ada\n\temail = ada@example.com\n"), 0o600))
	return ecogit.NewPushClient(time.Millisecond), gitfixture.New(t, "first\n-- a.txt --\none\n-- b.txt --\ntwo\n")
}

func pushLook(t *testing.T, c *ecogit.PushClient, r *gitfixture.Repo, outside ...string) ecosystemport.WorktreeStatus {
	t.Helper()
	status, err := c.Look(t.Context(), ecosystemport.Worktree{Dir: r.Dir, Outside: outside}, true)
	require.NoError(t, err)
	return status
}

func TestPushLook(t *testing.T) {
	c, r := pushFresh(t)
	clean := pushLook(t, c, r)
	assert.Equal(t, ecosystemport.WorktreeStatus{Branch: "main", Head: r.Head(), Remote: r.Remote, RemoteHead: r.Head(), Asked: true}, clean)

	r.Write("-- a.txt --\nchanged\n-- new name\n.txt --\nx\n-- inner/x --\nx\n-- staged.txt --\nx\n")
	require.NoError(t, os.WriteFile(filepath.Join(r.Dir, "odd\nname \xff"), nil, 0o600))
	r.Git("add", "staged.txt")
	r.Git("rm", "--quiet", "b.txt")
	r.Git("init", "--quiet", filepath.Join(r.Dir, "nested"))
	status := pushLook(t, c, r, "inner")
	by := map[string]ecosystemport.Change{}
	for _, change := range status.Changes {
		by[change.Path] = change
	}
	assert.Equal(t, ecosystemport.Change{Path: "a.txt"}, by["a.txt"])
	assert.Equal(t, ecosystemport.Change{Path: "b.txt", Gone: true, Staged: true}, by["b.txt"])
	assert.Equal(t, ecosystemport.Change{Path: "staged.txt", Staged: true}, by["staged.txt"])
	assert.Contains(t, by, "odd\nname \xff")
	assert.Contains(t, by, "nested/")
	assert.NotContains(t, by, "inner/x")
	assert.NotEmpty(t, status.Porcelain)

	before := status.Porcelain
	r.Git("add", "a.txt")
	assert.NotEqual(t, before, pushLook(t, c, r).Porcelain)
}

func TestLookAtWhatIsThere(t *testing.T) {
	c, r := pushFresh(t)
	inside := filepath.Join(r.Dir, "repos", "api")
	require.NoError(t, os.MkdirAll(inside, 0o755))
	status, err := c.Look(t.Context(), ecosystemport.Worktree{Dir: inside}, true)
	require.NoError(t, err)
	assert.Equal(t, ecosystemport.WorktreeStatus{Missing: true}, status, "a repository around it is not it")
	require.NoError(t, os.Mkdir(filepath.Join(inside, ".git"), 0o755))
	_, err = c.Look(t.Context(), ecosystemport.Worktree{Dir: inside}, true)
	require.ErrorIs(t, err, ecosystem.ErrGit)

	r.Git("remote", "set-url", "origin", "https://ada:s3cret@127.0.0.1:1/x.git")
	r.Commit("alone")
	status = pushLook(t, c, r)
	assert.Equal(t, "https://***@127.0.0.1:1/x.git", status.Remote)
	assert.False(t, status.Asked)
	assert.NotEmpty(t, status.RemoteHead, "what was last known")
	assert.Equal(t, 1, status.Ahead)
	pushed, err := c.Push(t.Context(), r.Dir, "main", nil)
	require.NoError(t, err)
	assert.Equal(t, "failed", pushed.Status)
	assert.NotContains(t, pushed.Reason, "s3cret")
}

func TestAheadAndBehind(t *testing.T) {
	c, r := pushFresh(t)
	r.Commit("theirs")
	r.Git("push", "--quiet", "origin", "main")
	r.Git("reset", "--quiet", "--hard", "HEAD~1")
	r.Commit("mine")
	r.Commit("mine too")
	status := pushLook(t, c, r)
	assert.Equal(t, 2, status.Ahead)
	assert.Equal(t, 1, status.Behind)
	r.Git("checkout", "--quiet", "-b", "new")
	status = pushLook(t, c, r)
	assert.Empty(t, status.RemoteHead)
	assert.Equal(t, 2, status.Ahead)
	r.Git("update-ref", "refs/remotes/origin/forged", "HEAD")
	assert.Equal(t, 2, pushLook(t, c, r).Ahead, "origin itself has no such branch")
	release, err := ecogit.NewReleaseClient().Origin(t.Context(), r.Dir, "new", 9)
	require.NoError(t, err)
	assert.Equal(t, 2, release.Total)
	assert.Len(t, release.Ahead, 2)
	pushed, err := c.Push(t.Context(), r.Dir, "main", nil)
	require.NoError(t, err)
	assert.Equal(t, "rejected", pushed.Status)
	assert.Contains(t, pushed.Reason, "non-fast-forward")
	pushed, err = c.Push(t.Context(), r.Dir, "new", nil)
	require.NoError(t, err)
	assert.Equal(t, "pushed", pushed.Status)
	pushed, err = c.Push(t.Context(), r.Dir, "new", nil)
	require.NoError(t, err)
	assert.Equal(t, "up_to_date", pushed.Status)
	assert.Equal(t, "origin/new", r.Git("rev-parse", "--abbrev-ref", "new@{upstream}"))

	r.Git("remote", "set-url", "origin", filepath.Join(r.Dir, "nowhere"))
	_, err = ecogit.NewReleaseClient().Origin(t.Context(), r.Dir, "new", 9)
	require.ErrorContains(t, err, "does not answer")
}

// TestTheNetworkIsTriedThreeTimes and what is no network's fault once.
func TestTheNetworkIsTriedThreeTimes(t *testing.T) {
	c, r := pushFresh(t)
	real, err := exec.LookPath("git")
	require.NoError(t, err)
	dir := t.TempDir()
	count := filepath.Join(dir, "count")
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	for words, times := range map[string]int{"fatal: unable to access 'x': Could not resolve host: h": 3, "fatal: no such thing": 1} {
		_ = os.Remove(count)
		script := "#!/bin/sh\ncase \" $* \" in *' push '*) echo x >> " + count + "; echo \"" + words + "\" >&2; exit 128;; esac\nexec " + real + " \"$@\"\n"
		require.NoError(t, os.WriteFile(filepath.Join(dir, "git"), []byte(script), 0o700))
		pushed, err := c.Push(t.Context(), r.Dir, "main", nil)
		require.NoError(t, err)
		assert.Equal(t, "failed", pushed.Status)
		tried, err := os.ReadFile(count)
		require.NoError(t, err)
		assert.Len(t, strings.Fields(string(tried)), times, words)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = c.Push(ctx, r.Dir, "main", nil)
	require.Error(t, err)
}

// TestNothingOfTheRepositoryRunsToLook: hooks, monitors and what else its settings could start.
func TestNothingOfTheRepositoryRunsToLook(t *testing.T) {
	c, r := pushFresh(t)
	traps := gitfixture.NewTraps(t, "")
	r.Git("config", "core.fsmonitor", traps.Program("fsmonitor"))
	traps.Configure(filepath.Join(r.Dir, ".git"), true)
	r.Write("-- .gitattributes --\n* filter=evil diff=evil\n")
	r.Git("config", "core.hooksPath", traps.Hooks("post-index-change", "pre-push", "pre-commit", "reference-transaction"))
	status := pushLook(t, c, r)
	assert.Equal(t, []string{"pre-commit", "pre-push"}, status.Hooks)
	assert.NotEmpty(t, status.HooksHash)
	_, err := c.Heads(t.Context(), r.Dir, "", false)
	require.NoError(t, err)
	_, err = c.Alone(t.Context(), r.Dir)
	require.NoError(t, err)
	assert.Empty(t, traps.Sprung())
}

// TestFiltersAreShownAndThenRun: to look runs none, and what is committed is what they make of it.
func TestFiltersAreShownAndThenRun(t *testing.T) {
	c, r := pushFresh(t)
	r.Git("config", "filter.up.clean", "tr a-z A-Z")
	r.Write("-- .gitattributes --\n*.up filter=up\n-- x.up --\nsecret\n")
	r.Commit("filtered")
	later := time.Now().Add(time.Hour)
	require.NoError(t, os.Chtimes(filepath.Join(r.Dir, "x.up"), later, later))
	status := pushLook(t, c, r)
	assert.Equal(t, []ecosystemport.Change{{Path: "x.up"}}, status.Changes, "nobody can tell without the filter")
	assert.Equal(t, []string{"filter.up.clean = tr a-z A-Z"}, status.Filters)
	commit := func() (string, []string) {
		_, err := c.Stage(t.Context(), r.Dir, pushLook(t, c, r).Changes)
		require.NoError(t, err)
		commit, paths, err := c.Commit(t.Context(), r.Dir, "message")
		require.NoError(t, err)
		return commit, paths
	}
	made, paths := commit()
	assert.Equal(t, status.Head, made)
	assert.Empty(t, paths)
	r.Write("-- x.up --\nother\n")
	made, paths = commit()
	assert.Equal(t, []string{"x.up"}, paths)
	assert.Equal(t, "OTHER", r.Git("cat-file", "blob", made+":x.up"))
	r.Write("-- x.up --\nmore\n")
	before := pushLook(t, c, r)
	r.Git("config", "filter.up.clean", "tr a-z b-z")
	assert.NotEqual(t, before.HooksHash, pushLook(t, c, r).HooksHash, "another filter is another question")
}

func TestAlone(t *testing.T) {
	c, r := pushFresh(t)
	found, err := c.Alone(t.Context(), r.Dir)
	require.NoError(t, err)
	assert.Equal(t, ecosystemport.UnpushedWork{}, found)
	r.Git("checkout", "--quiet", "-b", "side")
	r.Commit("on side")
	r.Git("tag", "--annotate", "--message", "x", "v1")
	r.Write("-- a.txt --\nstash\n")
	r.Git("stash", "push", "--quiet")
	r.Git("checkout", "--quiet", "--detach")
	r.Commit("on nothing")
	found, err = c.Alone(t.Context(), r.Dir)
	require.NoError(t, err)
	assert.Equal(t, ecosystemport.UnpushedWork{Refs: []string{"HEAD of " + r.Dir, "refs/tags/v1", "side"}, Stashes: 1, Tags: []string{"v1"}}, found)
	r.Git("push", "--quiet", "origin", "HEAD:refs/heads/all")
	r.Git("update-ref", "-d", "refs/remotes/origin/all")
	found, err = c.Alone(t.Context(), r.Dir)
	require.NoError(t, err)
	assert.Empty(t, found.Refs, "what counts is what origin has")
	require.NoError(t, os.RemoveAll(r.Remote))
	_, err = c.Alone(t.Context(), r.Dir)
	require.ErrorIs(t, err, ecosystem.ErrGit)
	r.Git("remote", "remove", "origin")
	found, err = c.Alone(t.Context(), r.Dir)
	require.NoError(t, err)
	assert.Contains(t, found.Refs, "main")
}

// TestHeadsByWhatOriginHas: branches that somebody else deleted or moved there, and tags that never were, count as nowhere else once origin is asked.
func TestHeadsByWhatOriginHas(t *testing.T) {
	c, r := pushFresh(t)
	first := r.Head()
	r.Git("checkout", "--quiet", "-b", "gone")
	r.Commit("one")
	r.Git("checkout", "--quiet", "-b", "back")
	r.Commit("two")
	r.Git("push", "--quiet", "--set-upstream", "origin", "gone", "back")
	r.Git("tag", "here")
	far := func(args ...string) { r.Git(append([]string{"-C", r.Remote}, args...)...) }
	far("update-ref", "-d", "refs/heads/gone")
	far("update-ref", "refs/heads/back", first)
	heads := func(ask bool) (ecosystemport.LocalHeads, map[string]int) {
		t.Helper()
		found, err := c.Heads(t.Context(), r.Dir, "", ask)
		require.NoError(t, err)
		counts := map[string]int{}
		for _, h := range found.Heads {
			counts[h.Branch] = h.Unpushed
		}
		return found, counts
	}
	found, counts := heads(false)
	assert.Equal(t, map[string]int{"main": 0, "gone": 0, "back": 0}, counts)
	assert.True(t, found.Remote && !found.Asked && !found.Seen.IsZero())
	assert.Empty(t, found.Tags, "nobody knows")
	found, counts = heads(true)
	assert.Equal(t, map[string]int{"main": 0, "gone": 1, "back": 2}, counts)
	assert.True(t, found.Asked)
	assert.Equal(t, []string{"here"}, found.Tags)
	file := filepath.Join(t.TempDir(), "x.bundle")
	wrote, err := c.Bundle(t.Context(), r.Dir, file, ecosystemport.BundleOptions{Rest: true, Ask: true})
	require.NoError(t, err)
	assert.True(t, wrote)
	assert.Contains(t, r.Git("bundle", "list-heads", file), r.Head()+" refs/heads/back")

	far("update-ref", "refs/heads/main", r.Git("-C", r.Remote, "commit-tree", "-p", first, "-m", "by others", first+"^{tree}"))
	found, counts = heads(true)
	assert.Equal(t, []string{"main"}, found.Moved, "what stands on what there cannot be told")
	assert.Zero(t, counts["main"])

	one, err := c.Heads(t.Context(), r.Dir, "back", true)
	require.NoError(t, err)
	assert.Equal(t, []ecosystemport.Head{{Branch: "back", Commit: r.Head(), Unpushed: 1}}, one.Heads, "the other is on gone")

	require.NoError(t, os.RemoveAll(r.Remote))
	found, counts = heads(true)
	assert.Equal(t, map[string]int{"main": 0, "gone": 0, "back": 0}, counts, "what was last fetched")
	assert.True(t, found.Remote && !found.Asked && !found.Seen.IsZero())
}

func TestBundlesOfNothing(t *testing.T) {
	c, _ := pushFresh(t)
	r := gitfixture.New(t, "")
	file := filepath.Join(t.TempDir(), "deep", "x.bundle")
	wrote, err := c.Bundle(t.Context(), r.Dir, file, ecosystemport.BundleOptions{})
	require.NoError(t, err)
	assert.False(t, wrote)
	full := gitfixture.New(t, "first\n-- a.txt --\none\n")
	wrote, err = c.Bundle(t.Context(), full.Dir, file, ecosystemport.BundleOptions{Rest: true})
	require.NoError(t, err)
	assert.False(t, wrote, "everything is on the remote")
	assert.NoFileExists(t, file)
	full.Git("checkout", "--quiet", "--detach")
	full.Commit("on nothing")
	wrote, err = c.Bundle(t.Context(), full.Dir, file, ecosystemport.BundleOptions{Rest: true})
	require.NoError(t, err)
	assert.True(t, wrote)
	assert.Contains(t, full.Git("bundle", "list-heads", file), full.Head())
	assert.Empty(t, full.Git("for-each-ref", "refs/countersign"))
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(file), "blocked"), nil, 0o600))
	_, err = c.Bundle(t.Context(), full.Dir, filepath.Join(filepath.Dir(file), "blocked", "x.bundle"), ecosystemport.BundleOptions{})
	require.ErrorIs(t, err, ecosystem.ErrStorage)
}

func TestStrays(t *testing.T) {
	c, _ := pushFresh(t)
	top := t.TempDir()
	for _, dir := range []string{"repos/api/x", "repos/empty/y", "repos/mine/x", "tickets/T/api/x", "tickets/T/web/x", "libs/core/x", "libs/other/x", "docs/x"} {
		require.NoError(t, os.MkdirAll(filepath.Join(top, dir), 0o755))
		if !strings.HasSuffix(dir, "y") {
			require.NoError(t, os.WriteFile(filepath.Join(top, dir, "file"), nil, 0o600))
		}
	}
	strays, err := c.Strays(t.Context(), top, []string{"repos/api", "libs/core", "tickets/T/api"})
	require.NoError(t, err)
	assert.Equal(t, []string{"libs/other", "repos/mine", "tickets/T/web"}, strays)
}

func TestRecordingLeavesTheRestStaged(t *testing.T) {
	c, r := pushFresh(t)
	r.Write("-- .gitignore --\n*.json\n-- x/a.json --\n{}\n-- other.txt --\nx\n")
	r.Git("add", "other.txt")
	done, err := c.Recorded(t.Context(), r.Dir, "x/a.json")
	require.NoError(t, err)
	assert.False(t, done)
	for range 2 {
		require.NoError(t, c.Record(t.Context(), r.Dir, "x/a.json", "--amend"))
	}
	assert.Equal(t, "--amend", r.Git("log", "-1", "--format=%s"))
	assert.Equal(t, "x/a.json", r.Git("diff-tree", "--no-commit-id", "--name-only", "-r", "HEAD"))
	assert.Equal(t, "A  other.txt\n?? .gitignore", r.Git("status", "--porcelain"))
}

// TestWhoCommits is what git's configuration says, or the environment; without either nothing is committed.
func TestWhoCommits(t *testing.T) {
	r := gitfixture.New(t, "first\n-- a --\na\n")
	for _, name := range []string{"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	c := ecogit.NewPushClient(0)
	require.ErrorIs(t, c.Author(t.Context(), r.Dir), ecosystem.ErrIdentity)
	t.Setenv("GIT_COMMITTER_NAME", "Ada")
	t.Setenv("GIT_COMMITTER_EMAIL", "ada@example.com")
	require.NoError(t, c.Author(t.Context(), r.Dir))
}

// TestItWorksInTheDirectory although the configuration has the work tree elsewhere, and names every address that is pushed to.
func TestItWorksInTheDirectory(t *testing.T) {
	c, r := pushFresh(t)
	outside := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(outside, "secret"), []byte("x\n"), 0o600))
	r.Git("config", "core.worktree", outside)
	status := pushLook(t, c, r)
	assert.Empty(t, status.Changes)
	assert.Equal(t, r.Remote, status.Remote)
	require.NoError(t, os.WriteFile(filepath.Join(r.Dir, "new.txt"), []byte("new\n"), 0o600))
	status = pushLook(t, c, r)
	require.Len(t, status.Changes, 1)
	files, err := c.Stage(t.Context(), r.Dir, status.Changes)
	require.NoError(t, err)
	assert.Equal(t, []string{"new.txt"}, files)

	r.Git("config", "remote.origin.pushurl", r.Remote)
	r.Git("config", "--add", "remote.origin.pushurl", "https://evil.example/x.git")
	assert.Equal(t, r.Remote+", https://evil.example/x.git", pushLook(t, c, r).Remote)
}
