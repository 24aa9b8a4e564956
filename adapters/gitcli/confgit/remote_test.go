package confgit_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/internal/testkit/gitfixture"
	"github.com/countersign-dev/countersign/ports/deployport"
)

func TestInitMakesARepositoryOnce(t *testing.T) {
	user(t, identity+"[init]\n\tdefaultBranch = trunk\n")
	r := gitfixture.New(t, archive)
	dir := filepath.Join(r.Dir, "inner", "config") // inside another repository
	require.NoError(t, client().Init(t.Context(), dir))
	state, err := client().State(t.Context(), dir)
	require.NoError(t, err)
	assert.Equal(t, deployport.RepoState{Branch: "main"}, deployport.RepoState{Branch: state.Branch, Dirty: state.Dirty})
	assert.Empty(t, state.Remotes)
	r.Git("-C", dir, "checkout", "--quiet", "-b", "mine")
	require.NoError(t, client().Init(t.Context(), dir))
	state, err = client().State(t.Context(), dir)
	require.NoError(t, err)
	assert.Equal(t, "mine", state.Branch, "what is there stays")
}

func TestARepositoryAroundTheDirectoryIsNotTaken(t *testing.T) {
	user(t, identity)
	r := gitfixture.New(t, archive)
	broken := filepath.Join(r.Dir, "broken")
	require.NoError(t, os.MkdirAll(filepath.Join(broken, ".git"), 0o755))
	for _, dir := range []string{filepath.Join(r.Dir, "skills"), broken} {
		_, err := client().State(t.Context(), dir)
		require.ErrorIs(t, err, deployment.ErrGitRepo, dir)
		err = client().SetRemote(t.Context(), dir, "other", "https://example.com/x")
		require.ErrorIs(t, err, deployment.ErrGitRepo, dir)
		_, err = client().Sync(t.Context(), dir, deployport.SyncOptions{Remote: "origin", Branch: "main"})
		require.ErrorIs(t, err, deployment.ErrGitRepo, dir)
	}
	assert.Equal(t, "origin", r.Git("remote"))
}

func TestStateAndSetRemote(t *testing.T) {
	user(t, "")
	r := gitfixture.New(t, archive)
	c := client()
	require.NoError(t, c.SetRemote(t.Context(), r.Dir, "backup", "git@example.com:a/b.git"))
	require.NoError(t, c.SetRemote(t.Context(), r.Dir, "backup", "../backup.git"))
	assert.Equal(t, "../backup.git", r.Git("config", "remote.backup.url"))
	state, err := c.State(t.Context(), r.Dir)
	require.NoError(t, err)
	assert.Equal(t, deployport.RepoState{Branch: "main", Remotes: []string{"backup", "origin"}}, state)
	r.Git("checkout", "--quiet", "--detach")
	r.Write("-- new --\n")
	state, err = c.State(t.Context(), r.Dir)
	require.NoError(t, err)
	assert.Equal(t, deployport.RepoState{Dirty: true, Remotes: []string{"backup", "origin"}}, state)

	config, err := os.ReadFile(filepath.Join(r.Dir, ".git", "config"))
	require.NoError(t, err)
	for _, url := range []string{"", "-x", "ext::sh -c id", "relative", "ssh://-oProxyCommand=id/x"} {
		require.ErrorIs(t, c.SetRemote(t.Context(), r.Dir, "origin", url), deployment.ErrConfig, url)
	}
	for _, name := range []string{"", "-x", "--add", "a b", "a..b"} {
		require.ErrorIs(t, c.SetRemote(t.Context(), r.Dir, name, "https://example.com/x"), deployment.ErrConfig, name)
	}
	after, err := os.ReadFile(filepath.Join(r.Dir, ".git", "config"))
	require.NoError(t, err)
	assert.Equal(t, config, after)
}

func TestSync(t *testing.T) {
	user(t, identity)
	r := gitfixture.New(t, archive)
	other := filepath.Join(t.TempDir(), "other")
	r.Git("clone", "--quiet", r.Remote, other)
	elsewhere := func(file, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(other, file), []byte(text), 0o600))
		r.Git("-C", other, "add", "--all")
		r.Git("-C", other, "commit", "--quiet", "-m", "elsewhere")
		r.Git("-C", other, "push", "--quiet")
	}
	sync := func(rebase bool) ([]string, error) {
		return client().Sync(t.Context(), r.Dir, deployport.SyncOptions{Remote: "origin", Branch: "main", Rebase: rebase})
	}
	elsewhere("theirs", "1")
	commands, err := sync(false)
	require.NoError(t, err)
	assert.Equal(t, []string{"git pull origin main", "git push origin main"}, commands)
	assert.FileExists(t, filepath.Join(r.Dir, "theirs"))

	elsewhere("theirs", "2")
	r.Write("-- ours --\n")
	r.Commit("ours")
	_, err = sync(false)
	require.ErrorIs(t, err, deployment.ErrGit)
	require.ErrorContains(t, err, "repeat with rebase")
	commands, err = sync(true)
	require.NoError(t, err)
	assert.Equal(t, "git pull --rebase origin main", commands[0])
	assert.Equal(t, r.Head(), r.Git("-C", r.Remote, "rev-parse", "main"))

	for going, setting := range map[string]string{"rebase": "true", "merge": "false"} {
		r.Git("config", "pull.rebase", setting)
		r.Git("-C", other, "pull", "--quiet", "--rebase")
		elsewhere("theirs", "they "+going)
		r.Write("-- theirs --\nwe " + going + "\n")
		r.Commit("ours again")
		_, err = sync(going == "rebase")
		require.ErrorIs(t, err, deployment.ErrGit)
		require.ErrorContains(t, err, "conflicts in theirs")
		require.ErrorContains(t, err, "git "+going+" --abort")
		assert.Equal(t, []string{"theirs"}, detailsOf(t, err)["conflicts"])
		r.Git(going, "--abort")
		r.Git("reset", "--quiet", "--hard", "origin/main")
		_, err = sync(true)
		require.NoError(t, err)
	}
}

func TestTheFirstSyncPushes(t *testing.T) {
	user(t, identity)
	r := gitfixture.New(t, "")
	r.Write("-- a --\n")
	head := r.Commit("first")
	_, err := client().Sync(t.Context(), r.Dir, deployport.SyncOptions{Remote: "origin", Branch: "main"})
	require.NoError(t, err)
	assert.Equal(t, head, r.Git("-C", r.Remote, "rev-parse", "main"))
}

// TestSyncNeedsToKnowWhoCommits only where it makes a commit, and leaves nothing half done.
func TestSyncNeedsToKnowWhoCommits(t *testing.T) {
	user(t, "[user]\n\tuseConfigOnly = true\n")
	r := gitfixture.New(t, archive)
	other := filepath.Join(t.TempDir(), "other")
	r.Git("clone", "--quiet", r.Remote, other)
	elsewhere := func(file string) {
		r.Git("-C", other, "commit", "--quiet", "--allow-empty", "-m", file)
		r.Git("-C", other, "push", "--quiet")
	}
	elsewhere("forward")
	_, err := client().Sync(t.Context(), r.Dir, deployport.SyncOptions{Remote: "origin", Branch: "main"})
	require.NoError(t, err, "nothing is committed")
	elsewhere("apart")
	r.Write("-- ours --\n")
	r.Commit("ours")
	for _, rebase := range []string{"true", "false"} {
		r.Git("config", "pull.rebase", rebase)
		_, err = client().Sync(t.Context(), r.Dir, deployport.SyncOptions{Remote: "origin", Branch: "main", Rebase: rebase == "true"})
		require.ErrorIs(t, err, deployment.ErrGit)
		require.ErrorContains(t, err, "git config --global user.name")
		assert.Equal(t, "## main...origin/main [ahead 1, behind 1]", r.Git("status", "--short", "--branch"))
	}
}

func TestSyncRunsThePersonsHooksAndNoProgramOfTheURL(t *testing.T) {
	user(t, identity)
	r := gitfixture.New(t, archive)
	mark := filepath.Join(t.TempDir(), "ran")
	require.NoError(t, os.WriteFile(filepath.Join(r.Dir, ".git", "hooks", "pre-push"), []byte("#!/bin/sh\ntouch '"+mark+"'\necho refused by hook >&2\nexit 1\n"), 0o755))
	r.Commit("second")
	options := deployport.SyncOptions{Remote: "origin", Branch: "main"}
	_, err := client().Sync(t.Context(), r.Dir, options)
	require.ErrorIs(t, err, deployment.ErrGit)
	require.ErrorContains(t, err, "refused by hook")
	require.FileExists(t, mark)
	require.NoError(t, os.Remove(mark))

	r.Git("remote", "set-url", "origin", "ext::touch "+mark)
	_, err = client().Sync(t.Context(), r.Dir, options)
	require.ErrorIs(t, err, deployment.ErrGit)
	assert.NoFileExists(t, mark)
	for _, o := range []deployport.SyncOptions{{Remote: "-x", Branch: "main"}, {Remote: "origin", Branch: "--force"}, {Remote: "origin", Branch: "a:b"}, {}} {
		_, err = client().Sync(t.Context(), r.Dir, o)
		require.ErrorIs(t, err, deployment.ErrConfig)
	}
}

// TestSyncStaysInTheDirectory although the configuration has the work tree elsewhere, and on the branch although it has the push go to another.
func TestSyncStaysInTheDirectory(t *testing.T) {
	user(t, identity)
	r := gitfixture.New(t, "-- a --\n1\n")
	other := filepath.Join(t.TempDir(), "other")
	r.Git("clone", "--quiet", r.Remote, other)
	require.NoError(t, os.WriteFile(filepath.Join(other, "a"), []byte("2\n"), 0o600))
	r.Git("-C", other, "commit", "--quiet", "--all", "-m", "elsewhere")
	r.Git("-C", other, "push", "--quiet")
	outside := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(outside, "a"), []byte("1\n"), 0o600))
	r.Git("config", "core.worktree", outside)
	r.Git("config", "remote.origin.push", "refs/heads/main:refs/heads/live")
	state, err := client().State(t.Context(), r.Dir)
	require.NoError(t, err)
	assert.False(t, state.Dirty)
	for _, rebase := range []bool{false, true} {
		_, err = client().Sync(t.Context(), r.Dir, deployport.SyncOptions{Remote: "origin", Branch: "main", Rebase: rebase})
		require.NoError(t, err)
	}
	for dir, want := range map[string]string{outside: "1\n", r.Dir: "2\n"} {
		text, err := os.ReadFile(filepath.Join(dir, "a"))
		require.NoError(t, err)
		assert.Equal(t, want, string(text), dir)
	}
	assert.Empty(t, r.Git("-C", r.Remote, "branch", "--list", "live"))
}

// TestAPullBringsNoHooks: those in the work tree do not run in the pull, and where it has changed them nothing is pushed.
func TestAPullBringsNoHooks(t *testing.T) {
	user(t, identity)
	mark := filepath.Join(t.TempDir(), "ran")
	r := gitfixture.New(t, archive)
	require.NoError(t, os.Mkdir(filepath.Join(r.Dir, "hooks"), 0o755))
	hook := filepath.Join("hooks", "pre-push")
	require.NoError(t, os.WriteFile(filepath.Join(r.Dir, hook), []byte("#!/bin/sh\n"), 0o755))
	r.Commit("hooks")
	r.Git("push", "--quiet", "origin", "main")
	r.Git("config", "core.hooksPath", "hooks")
	other := filepath.Join(t.TempDir(), "other")
	r.Git("clone", "--quiet", r.Remote, other)
	for _, name := range []string{"pre-push", "post-merge", "post-rewrite", "post-checkout", "reference-transaction"} {
		require.NoError(t, os.WriteFile(filepath.Join(other, "hooks", name), []byte("#!/bin/sh\ntouch '"+mark+"'\n"), 0o755))
	}
	r.Git("-C", other, "add", "--all")
	r.Git("-C", other, "commit", "--quiet", "-m", "evil")
	r.Git("-C", other, "push", "--quiet")
	options := deployport.SyncOptions{Remote: "origin", Branch: "main"}
	_, err := client().Sync(t.Context(), r.Dir, options)
	require.ErrorIs(t, err, deployment.ErrGit)
	require.ErrorContains(t, err, "pulled but not pushed")
	assert.NoFileExists(t, mark)
}

func TestRouteMasksSecretsAndTellsThemApart(t *testing.T) {
	user(t, "[url \"https://example.com/\"]\n\tinsteadOf = ex:\n")
	r := gitfixture.New(t, archive)
	r.Git("remote", "set-url", "origin", "ex:a/b.git")
	r.Git("remote", "set-url", "--push", "origin", "https://x:sesame@example.com/a/b.git")
	r.Git("config", "http.extraHeader", "Authorization: sesame")
	at := func() deployport.Route {
		route, err := client().Route(t.Context(), r.Dir, "origin", "main")
		require.NoError(t, err)
		return route
	}
	first := at()
	assert.Equal(t, "https://example.com/a/b.git", first.Fetch, "as git uses it")
	assert.Equal(t, r.Head(), first.Head)
	assert.Zero(t, first.Ahead)
	assert.Empty(t, first.GitDir)
	shown := first
	shown.Remotes = nil
	assert.NotContains(t, fmt.Sprint(shown), "sesame")
	r.Write("-- b --\n")
	r.Commit("second")
	r.Git("remote", "set-url", "--push", "origin", "https://x:other@example.com/a/b.git")
	second := at()
	assert.NotEqual(t, first.Push, second.Push)
	assert.Equal(t, 1, second.Ahead)
	assert.Equal(t, []string{r.Head() + " second"}, second.Commits)
}
