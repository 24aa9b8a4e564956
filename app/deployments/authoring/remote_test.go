package authoring_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/gitfixture"
)

func git(t *testing.T, dir string, words ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=Ada", "-c", "user.email=ada@example.com"}, words...)...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GIT_AUTHOR_DATE=2026-01-02T03:04:05Z", "GIT_COMMITTER_DATE=2026-01-02T03:04:05Z")
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
	gitfixture.New(t, "") // git is needed
	w := newWorld(t)
	w.manifest()
	remote := filepath.Join(w.Top, "remote.git")
	git(t, w.Top, "init", "--quiet", "--bare", remote)
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
	git(t, w.repo, "remote", "add", "origin", remote)

	dry := w.Quiet("agents_sync", args{"dry_run": true})
	assert.Empty(t, git(t, remote, "branch", "--list"))
	out := w.Golden("sync", "agents_sync", yes())
	assert.JSONEq(t, string(dry.Data), string(out.Data), "a dry run says the very commands")
	assert.Equal(t, git(t, w.repo, "rev-parse", "main"), git(t, remote, "rev-parse", "main"))
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

// TestASyncIsWhatWasShown: where it goes, what it takes along and what runs are part of the plan, and what has changed since is refused.
func TestASyncIsWhatWasShown(t *testing.T) {
	r := gitfixture.New(t, "")
	w := newWorld(t)
	w.manifest()
	git(t, w.repo, "init", "--quiet", "--initial-branch=main")
	git(t, w.repo, "add", "--all")
	git(t, w.repo, "commit", "--quiet", "-m", "one")
	git(t, w.repo, "remote", "add", "origin", r.Remote)
	evil := filepath.Join(t.TempDir(), "evil.git")
	git(t, w.repo, "init", "--quiet", "--bare", evil)
	ran := filepath.Join(t.TempDir(), "ran")
	hook := w.in(".git/hooks/pre-push")
	for name, attack := range map[string]func() (undo func(), shown string, risk policy.Risk){
		"push URL": func() (func(), string, policy.Risk) {
			git(t, w.repo, "config", "remote.origin.pushurl", evil)
			return func() { git(t, w.repo, "config", "--unset", "remote.origin.pushurl") }, evil, policy.RiskNone
		},
		"other name of the URL": func() (func(), string, policy.Risk) {
			git(t, w.repo, "config", "url."+evil+".pushInsteadOf", r.Remote)
			return func() { git(t, w.repo, "config", "--remove-section", "url."+evil) }, evil, policy.RiskNone
		},
		"hook": func() (func(), string, policy.Risk) {
			require.NoError(t, os.MkdirAll(filepath.Dir(hook), 0o755))
			require.NoError(t, os.WriteFile(hook, []byte("#!/bin/sh\ntouch '"+ran+"'\n"), 0o755))
			return func() { require.NoError(t, os.Remove(hook)) }, "/w/user/.agentpack/repo/.git/hooks/pre-push", policy.RiskHigh
		},
		"filter": func() (func(), string, policy.Risk) {
			git(t, w.repo, "config", "filter.x.smudge", "touch "+ran)
			return func() { git(t, w.repo, "config", "--remove-section", "filter.x") }, "filter.x.smudge = touch " + ran, policy.RiskHigh
		},
		"proxy": func() (func(), string, policy.Risk) {
			git(t, w.repo, "config", "http.proxy", "http://evil.example:8080")
			return func() { git(t, w.repo, "config", "--remove-section", "http") }, "http.proxy=http://evil.example:8080", policy.RiskNone
		},
		"commit": func() (func(), string, policy.Risk) {
			git(t, w.repo, "commit", "--quiet", "--allow-empty", "-m", "never seen")
			return func() { git(t, w.repo, "reset", "--quiet", "--hard", "HEAD~1") }, "never seen", policy.RiskNone
		},
	} {
		before, err := w.Begin("agents_sync", yes())
		require.NoError(t, err)
		undo, shown, risk := attack()
		_, err = before.Commit()
		require.ErrorIs(t, err, deployment.ErrStale, name)
		after, err := w.Begin("agents_sync", yes())
		require.NoError(t, err)
		said, err := json.Marshal(after.Plan)
		require.NoError(t, err)
		assert.Contains(t, strings.ReplaceAll(string(said), w.Top, "/w"), shown, name)
		assert.NotEqual(t, before.Plan.Hash(), after.Plan.Hash(), name)
		was, is := before.Plan.(tool.Assessed).Assessment(), after.Plan.(tool.Assessed).Assessment()
		assert.NotEqual(t, was.Scope, is.Scope, "%s: an always for the one lets the other through", name)
		assert.Equal(t, risk, is.Risk, name)
		if shown == evil {
			assert.Contains(t, after.Plan.(tool.Reaching).Remotes(), evil, name)
		}
		undo()
		assert.Empty(t, git(t, r.Remote, "branch", "--list"), name)
		assert.Empty(t, git(t, evil, "branch", "--list"), name)
		assert.NoFileExists(t, ran, name)
	}
}
