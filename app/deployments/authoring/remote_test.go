package authoring_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/internal/testkit/gitfixture"
)

func git(t *testing.T, dir string, words ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=Ada", "-c", "user.email=ada@example.com"}, words...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s: %s", words, out)
	return strings.TrimSpace(string(out))
}

func TestRemoteSet(t *testing.T) {
	gitfixture.New(t, "") // git is needed
	w := newWorld(t)
	w.Refused(deployment.ErrConfigMissing, "agents_remote_set", yes("url", "https://example.com/a/b.git"))
	w.manifest()
	w.Quiet("agents_remote_set", args{"url": "https://example.com/a/b.git", "dry_run": true})
	assert.NoDirExists(t, w.in(".git"))
	w.Golden("remote_set", "agents_remote_set", yes("url", "https://example.com/a/b.git"))
	assert.Equal(t, "https://example.com/a/b.git", git(t, w.repo, "remote", "get-url", "origin"))
	w.Call("agents_remote_set", yes("url", "https://example.com/c/d.git"))
	w.Call("agents_remote_set", yes("url", "https://example.com/e/f.git", "name", "mirror"))
	assert.Equal(t, "https://example.com/c/d.git", git(t, w.repo, "remote", "get-url", "origin"))
	assert.Equal(t, "https://example.com/e/f.git", git(t, w.repo, "remote", "get-url", "mirror"))
	w.Refused(deployment.ErrConfig, "agents_remote_set", yes("url", "ext::sh -c x"))
	w.Refused(deployment.ErrConfig, "agents_remote_set", yes("url", "https://example.com/x", "name", "-x"))
}

// TestSyncChecksInOrder has everything wrong at once, and mends one thing after the other.
func TestSyncChecksInOrder(t *testing.T) {
	r := gitfixture.New(t, "")
	w := newWorld(t)
	w.manifest()
	check := func(sentinel *fault.Error, a args, remote any) {
		t.Helper()
		details := w.Refused(sentinel, "agents_sync", a)
		assert.Equal(t, "sync", details["command"])
		assert.Equal(t, "/w/user/.agentpack/repo", details["repo"])
		assert.Equal(t, "/w/user/.agentpack/repo", details["repo_posix"])
		assert.NotEmpty(t, details["hint"])
		assert.Equal(t, remote, details["remote"])
	}
	check(deployment.ErrGitRepo, yes(), nil)
	git(t, w.repo, "init", "--quiet", "--initial-branch=main")
	check(deployment.ErrGitDirty, yes(), nil)
	git(t, w.repo, "add", "--all")
	git(t, w.repo, "commit", "--quiet", "-m", "one")
	git(t, w.repo, "checkout", "--quiet", "--detach")
	check(deployment.ErrGitDetached, yes(), nil)
	git(t, w.repo, "checkout", "--quiet", "main")
	check(deployment.ErrGitRemote, yes(), "origin")
	check(deployment.ErrGitRemote, yes("remote", "mirror"), "mirror")
	git(t, w.repo, "remote", "add", "origin", r.Remote)

	dry := w.Quiet("agents_sync", args{"dry_run": true})
	assert.Empty(t, git(t, r.Remote, "branch", "--list"))
	out := w.Golden("sync", "agents_sync", yes())
	assert.JSONEq(t, string(dry.Data), string(out.Data), "a dry run says the very commands")
	assert.Equal(t, git(t, w.repo, "rev-parse", "main"), git(t, r.Remote, "rev-parse", "main"))
	dry = w.Quiet("agents_sync", args{"dry_run": true, "rebase": true})
	out = w.Golden("sync_rebase", "agents_sync", yes("rebase", true))
	assert.JSONEq(t, string(dry.Data), string(out.Data))
}

func TestSyncLooksAgain(t *testing.T) {
	r := gitfixture.New(t, "")
	w := newWorld(t)
	w.manifest()
	git(t, w.repo, "init", "--quiet", "--initial-branch=main")
	git(t, w.repo, "add", "--all")
	git(t, w.repo, "commit", "--quiet", "-m", "one")
	git(t, w.repo, "remote", "add", "origin", r.Remote)
	b, err := w.Begin("agents_sync", yes())
	require.NoError(t, err)
	git(t, w.repo, "checkout", "--quiet", "-b", "other")
	_, err = b.Commit()
	require.ErrorIs(t, err, deployment.ErrStale)
	require.NoError(t, os.WriteFile(filepath.Join(w.repo, "new.md"), nil, 0o644))
	_, err = b.Commit()
	require.ErrorIs(t, err, deployment.ErrGitDirty)
	assert.Empty(t, git(t, r.Remote, "branch", "--list"))
}
