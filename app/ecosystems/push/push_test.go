package push_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestNothingToPushAsksNobody(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api", "web", "rolib")
	r.worked(shippingPush, nil) // the workspace's own branch
	o := r.call(shippingPush, "execute", nil)
	require.NoError(t, o.Err)
	answer := decoded(t, o.Value)
	assert.Equal(t, "success", answer["status"])
	assert.Equal(t, true, answer["noop"])
}

func TestAPushOfWhatIsCommitted(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api", "web", "rolib")
	head := r.commit("api", "new.txt")
	r.write("x", "repos", "web", "dirty.txt")
	p := r.preview(shippingPush, nil)
	repos := p["repos"].([]any)
	require.Len(t, repos, 3)
	api, web, lib := repos[0].(args), repos[1].(args), repos[2].(args)
	assert.EqualValues(t, 1, api["ahead"])
	assert.EqualValues(t, 0, api["behind"])
	assert.Equal(t, true, api["will_push"])
	assert.Equal(t, false, api["will_commit"])
	assert.Equal(t, []any{"dirty.txt"}, web["dirty_files"])
	assert.Equal(t, false, web["will_push"])
	assert.Equal(t, "it is read-only", lib["skipped_reason"])
	assert.Equal(t, "workspace/demo", p["workspace_branch"])
	assert.Equal(t, []any{"api", "workspace"}, p["repos_affected"])
	assert.Empty(t, r.root.Git("-C", r.root.Remote, "branch", "--list", "workspace/demo"), "a preview pushes nothing")

	result := r.worked(shippingPush, nil)
	assert.Equal(t, map[string]string{"api": "pushed", "web": "up_to_date", "rolib": "skipped", "workspace": "pushed"}, statuses(result))
	assert.Equal(t, head, r.remote("api", "main"))
	assert.Equal(t, "?? dirty.txt", r.git("web", "status", "--porcelain"))
	assert.Equal(t, r.root.Git("rev-parse", "workspace/demo"), r.root.Git("-C", r.root.Remote, "rev-parse", "workspace/demo"))
	last := r.lastPush("api")
	require.NotNil(t, last)
	assert.Equal(t, head, last.CommitFull)
	assert.Equal(t, head[:7], last.Commit)
	assert.Equal(t, "main", last.Branch)
	assert.True(t, r.clock.now.Equal(last.PushedAt))
	assert.Nil(t, r.lastPush("web"))
}

func TestCommitAll(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api", "web")
	r.refused("eco_invalid_arguments", shippingPush, args{"commit_all": true})
	r.write("changed", "repos", "api", "api.txt")
	r.write("new", "repos", "api", "a b*.txt")
	r.write("new", "notes.md")
	r.git("web", "rm", "--quiet", "web.txt")
	p := r.preview(shippingPush, args{"commit_all": true, "message": "everything"})
	assert.Equal(t, []any{"api.txt", "a b*.txt"}, p["repos"].([]any)[0].(args)["dirty_files"])
	assert.Equal(t, true, p["repos"].([]any)[0].(args)["will_commit"])
	assert.Equal(t, []any{"notes.md"}, p["workspace"].(args)["dirty_files"], "clones are none of the workspace's files")

	result := r.worked(shippingPush, args{"commit_all": true, "message": "everything"})
	assert.Equal(t, map[string]string{"api": "pushed", "web": "pushed", "workspace": "pushed"}, statuses(result))
	for _, name := range []string{"api", "web"} {
		assert.Empty(t, r.git(name, "status", "--porcelain"))
		assert.Equal(t, "everything", r.git(name, "log", "-1", "--format=%s"))
		assert.Equal(t, r.git(name, "rev-parse", "HEAD"), r.remote(name, "main"))
	}
	assert.Equal(t, "a b*.txt\napi.txt", r.git("api", "diff-tree", "--no-commit-id", "--name-only", "-r", "HEAD"))
}

// TestFiltersAreSaid: what the repository's own configuration would run on what is committed stands beside the question.
func TestFiltersAreSaid(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api")
	r.git("api", "config", "filter.up.clean", "tr a-z A-Z")
	r.write("*.txt filter=up\n", "repos", "api", ".gitattributes")
	asked := r.call(shippingPush, "execute", args{"commit_all": true, "message": "m"})
	require.NotNil(t, asked.Request)
	assert.Contains(t, string(asked.Request.Plan), "filter.up.clean = tr a-z A-Z")
	r.write("text", "repos", "api", "new.txt")
	r.worked(shippingPush, args{"commit_all": true, "message": "m"})
	assert.Equal(t, "TEXT", r.git("api", "cat-file", "blob", "HEAD:new.txt"))
}

func TestSecretsBlockEverything(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api", "web")
	r.write("x", "repos", "web", "ok.txt")
	r.write("x", "repos", "api", "conf", ".env.local")
	r.write("x", "repos", "api", "vault", "a", "b")
	refusal := r.refused("eco_secrets_found", shippingPush, args{"commit_all": true, "message": "m"})
	doc := decoded(t, refusal.Details.(json.RawMessage))
	assert.EqualValues(t, 2, doc["count"])
	assert.Equal(t, "?? ok.txt", r.git("web", "status", "--porcelain"))
	assert.Empty(t, r.git("web", "log", "origin/main..HEAD"))
	r.commit("web", "committed.txt")
	r.worked(shippingPush, nil) // what is not committed does not leave this machine
	require.NoError(t, os.RemoveAll(r.at("repos", "api", "conf")))
	require.NoError(t, os.RemoveAll(r.at("repos", "api", "vault")))
	r.write("x", "repos", "api", "id_rsa")
	r.git("api", "add", "id_rsa")
	r.git("api", "commit", "--quiet", "--message", "by hand")
	r.git("api", "rm", "--quiet", "id_rsa")
	assert.Equal(t, "pushed", statuses(r.worked(shippingPush, args{"commit_all": true, "message": "m"}))["api"], "a secret that is deleted may go")
}

func TestReadOnlyRepositoriesRefuse(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api", "rolib")
	r.write("x", "repos", "rolib", "x.txt")
	r.refused("eco_repo_readonly", shippingPush, args{"repos": []string{"rolib"}})
	r.refused("eco_repo_not_found", shippingPush, args{"repos": []string{"none"}})
	result := r.worked(shippingPush, args{"commit_all": true, "message": "m"})
	assert.Equal(t, "skipped", statuses(result)["rolib"])
	assert.Equal(t, "?? x.txt", r.git("rolib", "status", "--porcelain"))
}

// TestRejectedInTheMiddle: the others are pushed, and the run fails.
func TestRejectedInTheMiddle(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api", "lib", "web")
	for _, name := range []string{"api", "lib", "web"} {
		r.commit(name, "new.txt")
	}
	o := r.origins["lib"]
	o.Write("-- other.txt --\nx\n")
	theirs := o.Commit("by somebody else")
	o.Git("push", "--quiet", "origin", "main")
	p := r.preview(shippingPush, nil)
	assert.Nil(t, p["repos"].([]any)[1].(args)["behind"], "nobody has fetched that")
	_, result := r.failed("eco_run_failed", shippingPush, nil)
	assert.Equal(t, map[string]string{"api": "pushed", "lib": "rejected", "web": "pushed", "workspace": "pushed"}, statuses(result))
	assert.Equal(t, theirs, r.remote("lib", "main"), "nothing is forced")
	assert.NotNil(t, r.lastPush("web"))
	assert.Nil(t, r.lastPush("lib"))
}

func TestTheRemoteRejects(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api", "web")
	r.origins["api"].Git("-C", r.origins["api"].Remote, "config", "receive.hideRefs", "refs/heads/main")
	r.commit("api", "new.txt")
	done, result := r.failed("eco_run_failed", shippingPush, nil)
	assert.Equal(t, "rejected", statuses(result)["api"])
	assert.Contains(t, done.Error, "hidden ref")
}

// TestHooksRunAndAreShown: what the user's own git would run is run, and named before.
func TestHooksRunAndAreShown(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api")
	hook := r.at("repos", "api", ".git", "hooks", "pre-push")
	require.NoError(t, os.MkdirAll(filepath.Dir(hook), 0o755))
	require.NoError(t, os.WriteFile(hook, []byte("#!/bin/sh\necho the tests fail >&2\nexit 1\n"), 0o755))
	r.commit("api", "new.txt")
	assert.Equal(t, []any{"pre-push"}, r.preview(shippingPush, nil)["repos"].([]any)[0].(args)["hooks"])
	done, result := r.failed("eco_run_failed", shippingPush, nil)
	assert.Equal(t, "failed", statuses(result)["api"])
	assert.Contains(t, done.Error, "the tests fail")

	id := r.queued(shippingPush, nil)
	require.NoError(t, os.WriteFile(hook, []byte("#!/bin/sh\ntouch "+filepath.Join(r.home, "sprung")+"\n"), 0o755))
	changed := r.drain(id)
	assert.Equal(t, "eco_preview_changed", changed.Code)
	assert.NoFileExists(t, filepath.Join(r.home, "sprung"), "a hook that nobody was shown")
}

// TestAHookThatAddsASecret is found after the commit, before the push.
func TestAHookThatAddsASecret(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api")
	hook := r.at("repos", "api", ".git", "hooks", "pre-commit")
	require.NoError(t, os.MkdirAll(filepath.Dir(hook), 0o755))
	require.NoError(t, os.WriteFile(hook, []byte("#!/bin/sh\necho x > .env && git add .env\n"), 0o755))
	r.write("x", "repos", "api", "ok.txt")
	before := r.remote("api", "main")
	done, _ := r.failed("eco_run_failed", shippingPush, args{"commit_all": true, "message": "m"})
	assert.Contains(t, done.Error, ".env")
	assert.Equal(t, before, r.remote("api", "main"))

	require.NoError(t, os.WriteFile(hook, []byte("#!/bin/sh\nexit 1\n"), 0o755))
	r.write("y", "repos", "api", "more.txt")
	r.failed("eco_run_failed", shippingPush, args{"commit_all": true, "message": "m"})
	assert.Equal(t, "?? more.txt", r.git("api", "status", "--porcelain"), "what was staged for a commit that was refused is no longer staged")
}

func TestRepositoriesThatCannotBePushed(t *testing.T) {
	t.Parallel()
	r := newRig(t, "detached", "gone", "missing", "norigin", "rebasing", "web")
	r.git("detached", "checkout", "--quiet", "--detach")
	r.commit("gone", "new.txt")
	require.NoError(t, os.RemoveAll(r.origins["gone"].Remote))
	require.NoError(t, os.RemoveAll(r.at("repos", "missing")))
	r.git("norigin", "remote", "remove", "origin")
	require.NoError(t, os.Mkdir(r.at("repos", "rebasing", ".git", "rebase-merge"), 0o755))
	r.commit("web", "new.txt")
	p := r.preview(shippingPush, nil)
	assert.Contains(t, p["repos"].([]any)[4].(args)["skipped_reason"], "in the middle of a rebase")
	done, result := r.failed("eco_run_failed", shippingPush, nil)
	assert.Equal(t, map[string]string{"detached": "skipped", "gone": "failed", "missing": "skipped", "norigin": "skipped", "rebasing": "skipped", "web": "pushed", "workspace": "pushed"}, statuses(result))
	assert.Contains(t, r.log(done.ID), "detached HEAD")
}

func TestTicketsArePushed(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api", "web")
	r.ticket("T-1", "api", "web")
	r.root.Git("-C", r.at("tickets", "T-1", "web"), "checkout", "--quiet", "-b", "elsewhere")
	r.commit("api", "on-main.txt")
	result := r.worked(shippingPush, nil)
	assert.Equal(t, map[string]string{"api": "pushed", "web": "skipped", "workspace": "pushed"}, statuses(result))
	assert.NotEmpty(t, r.remote("api", "feature/T-1"))
	assert.Empty(t, r.remote("web", "feature/T-1"))
	assert.Equal(t, "1", r.git("api", "rev-list", "--count", "origin/main..main"), "the clone's own branch is none of the ticket's")
	assert.Equal(t, "origin/feature/T-1", r.root.Git("-C", r.at("tickets", "T-1", "api"), "rev-parse", "--abbrev-ref", "@{upstream}"))
}

func TestWhatChangedIsNotPushed(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api")
	r.commit("api", "one.txt")
	id := r.queued(shippingPush, nil)
	r.commit("api", "two.txt")
	done := r.drain(id)
	assert.Equal(t, "eco_preview_changed", done.Code)
	assert.NotEqual(t, r.git("api", "rev-parse", "HEAD"), r.remote("api", "main"))
}

// TestAnotherAddressIsNotPushedTo than the one that was shown.
func TestAnotherAddressIsNotPushedTo(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api")
	r.commit("api", "one.txt")
	id := r.queued(shippingPush, nil)
	evil := filepath.Join(t.TempDir(), "evil.git")
	r.git("api", "init", "--quiet", "--bare", evil)
	r.git("api", "config", "remote.origin.pushurl", evil)
	done := r.drain(id)
	assert.Equal(t, "eco_preview_changed", done.Code)
	assert.Empty(t, r.git("api", "--git-dir="+evil, "for-each-ref"))
}
