package push_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/ecosystem"
)

func TestAnArchive(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api", "web", "rolib")
	head := r.commit("api", "new.txt")
	r.root.Write("-- mine.txt --\nx\n")
	r.root.Git("add", "mine.txt")
	p := r.preview(archive, nil)
	assert.Equal(t, "ecosystems/demo/archives/demo-<UTC time>.json", p["archive_file"])
	assert.Equal(t, []any{r.at()}, p["removes"])
	assert.Equal(t, []any{"workspace/demo"}, p["keeps"])
	assert.Equal(t, []any{"api", "workspace"}, p["repos_affected"])
	assert.DirExists(t, r.at())

	result := r.worked(archive, args{"message": "done with it"})
	assert.Equal(t, head, r.remote("api", "main"))
	assert.NoDirExists(t, r.at())
	assert.False(t, r.found().State.Installed())
	assert.NotEmpty(t, r.root.Git("branch", "--list", "workspace/demo"))
	file := result["archive_file"].(string)
	assert.Equal(t, "ecosystems/demo/archives/demo-20260301T120000Z.json", file)
	assert.Equal(t, "done with it", r.root.Git("log", "-1", "--format=%s"))
	assert.Equal(t, file, r.root.Git("diff-tree", "--no-commit-id", "--name-only", "-r", "HEAD"), "what was staged is not committed with it")
	assert.Equal(t, "A  mine.txt", r.root.Git("status", "--porcelain", "mine.txt"))
	doc := decoded(t, []byte(r.root.Git("show", "HEAD:"+file)))
	for _, key := range []string{"ecosystem", "archived_at", "workspace_branch", "message", "tickets", "repos"} {
		assert.Contains(t, doc, key)
	}
	api := doc["repos"].([]any)[0].(args)
	assert.Equal(t, "api", api["name"])
	assert.Equal(t, "main", api["branch"])
	assert.Equal(t, head, api["commit"])
	assert.Equal(t, false, api["readonly"])
	assert.Len(t, decoded(t, r.call(trash, "", nil).Value)["archives"], 1)

	require.NoError(t, r.call(restore, "execute", nil).Err)
	assert.Equal(t, head, r.git("api", "rev-parse", "HEAD"))
	again := r.worked(archive, nil)
	assert.Equal(t, "ecosystems/demo/archives/demo-20260301T120000Z-2.json", again["archive_file"], "one time, two archives")
	require.Equal(t, ecosystem.RunSuccess, r.do("amof_install_ecosystem", nil).Status, "the branch is free again")
}

func TestWhatKeepsAnArchive(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api", "web", "rolib", "sick")
	r.git("api", "checkout", "--quiet", "-b", "mine")
	r.commit("api", "x.txt")
	r.git("api", "checkout", "--quiet", "main")
	refusal := r.refused("eco_unsaved_work", archive, nil)
	assert.Contains(t, string(refusal.Details.(json.RawMessage)), "api: mine (1 commit)", "a branch that is pushed nowhere")

	says := map[string]string{}
	spoil := func(what, says1 string, do func()) { says[what] = says1; do() }
	spoil("a file", "worktrees/demo/repos/web/x.txt", func() { r.write("x", "repos", "web", "x.txt") })
	spoil("one in the workspace", "worktrees/demo/x.txt", func() { r.write("x", "x.txt") })
	spoil("one in a read-only repository", "repos/rolib/x.txt", func() { r.write("x", "repos", "rolib", "x.txt") })
	spoil("one in a ticket that is not active", "tickets/T-1/api/x", func() { r.ticket("T-1", "api"); r.ticket("T-2", "web"); r.write("x", "tickets", "T-1", "api", "x") })
	spoil("one in a worktree of no ticket", "tickets/old/api/x", func() {
		r.git("api", "worktree", "add", "--quiet", "--detach", r.at("tickets", "old", "api"))
		r.write("x", "tickets", "old", "api", "x")
	})
	spoil("a rebase", "repos/api (in the middle of a rebase)", func() { require.NoError(t, os.Mkdir(r.at("repos", "api", ".git", "rebase-merge"), 0o755)) })
	spoil("a repository of nobody", "repos/stray (no repository of the ecosystem)", func() { r.root.Git("init", "--quiet", r.at("repos", "stray")) })
	spoil("a worktree outside", "out (a worktree that is not in the workspace)", func() { r.git("api", "worktree", "add", "--quiet", "--detach", filepath.Join(r.home, "out")) })
	spoil("a broken repository", "sick: git failed", func() { require.NoError(t, os.WriteFile(r.at("repos", "sick", ".git", "HEAD"), []byte("?"), 0o600)) })
	spoil("a merge in the root", r.root.Dir+" (in the middle of a merge)", func() {
		require.NoError(t, os.WriteFile(filepath.Join(r.root.Dir, ".git", "MERGE_HEAD"), []byte(r.root.Head()+"\n"), 0o600))
	})
	refusal = r.refused("eco_unsaved_work", archive, nil)
	for what, text := range says {
		assert.Contains(t, string(refusal.Details.(json.RawMessage)), text, what)
	}
	assert.DirExists(t, r.at("repos", "api"))
}

// TestAnArchiveThatCannotPush removes nothing.
func TestAnArchiveThatCannotPush(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api", "lib", "web")
	for _, name := range []string{"api", "lib", "web"} {
		r.commit(name, "new.txt")
	}
	o := r.origins["lib"]
	o.Write("-- other.txt --\nx\n")
	o.Commit("by somebody else")
	o.Git("push", "--quiet", "origin", "main")
	before := r.picture()["repos/lib/.git/HEAD"]
	_, result := r.failed("eco_unsaved_work", archive, nil)
	assert.Equal(t, "rejected", statuses(result["push"].(args))["lib"])
	assert.DirExists(t, r.at("repos", "lib"))
	assert.Equal(t, before, r.picture()["repos/lib/.git/HEAD"])
	assert.NoDirExists(t, filepath.Join(r.root.Dir, "ecosystems", "demo", "archives"))
}

// TestTheRemoteHasTheLastWord: a commit that this machine thinks is pushed, and is not.
func TestTheRemoteHasTheLastWord(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api", "web")
	r.git("api", "checkout", "--quiet", "-b", "side")
	r.commit("api", "x.txt")
	r.git("api", "push", "--quiet", "origin", "side")
	r.git("api", "checkout", "--quiet", "main")
	id := r.queued(archive, nil)
	r.origins["api"].Git("push", "--quiet", "origin", ":side")
	assert.Equal(t, "eco_unsaved_work", r.drain(id).Code, "it was there when the archive was confirmed")
	r.refused("eco_unsaved_work", archive, nil)
	assert.DirExists(t, r.at("repos", "api"))

	r.git("api", "push", "--quiet", "origin", "side")
	r.git("web", "checkout", "--quiet", "--detach")
	r.commit("web", "y.txt")
	_, result := r.failed("eco_unsaved_work", archive, nil)
	assert.Equal(t, "failed", result["status"], "what no branch has is looked for before anything goes")
	r.git("web", "checkout", "--quiet", "main")

	o := r.origins["api"]
	o.Git("fetch", "--quiet")
	o.Git("checkout", "--quiet", "side")
	o.Commit("further on")
	o.Git("push", "--quiet", "origin", "side")
	r.worked(archive, nil) // below a commit that was never fetched
}

func TestOfflineEverythingIsBundled(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api", "web")
	head := r.commit("api", "x.txt")
	r.write("first", "repos", "web", "web.txt")
	r.git("web", "stash", "push", "--quiet")
	r.write("second", "repos", "web", "web.txt")
	r.git("web", "stash", "push", "--quiet")
	r.ticket("T-1", "api")
	require.NoError(t, os.RemoveAll(r.origins["api"].Remote))
	r.failed("eco_unsaved_work", archive, nil)
	result := r.worked(archive, args{"offline": true, "delete_workspace": true})
	assert.Empty(t, r.root.Git("branch", "--list", "workspace/demo"))
	bundles := result["bundles"].([]any)
	require.Len(t, bundles, 3)
	for i, name := range []string{"api", "web", "workspace"} {
		assert.Equal(t, name+".bundle", filepath.Base(bundles[i].(string)))
	}
	again := filepath.Join(t.TempDir(), "again")
	r.root.Git("clone", "--quiet", "--branch", "main", bundles[0].(string), again)
	assert.Equal(t, head, r.root.Git("-C", again, "rev-parse", "HEAD"))
	assert.NotEmpty(t, r.root.Git("-C", again, "branch", "--all", "--list", "origin/feature/T-1"))
	heads := r.root.Git("bundle", "list-heads", bundles[1].(string))
	assert.Contains(t, heads, "saved/stash/0")
	assert.Contains(t, heads, "saved/stash/1")
	require.NoError(t, r.call(restore, "execute", nil).Err)
	assert.Empty(t, r.git("web", "for-each-ref", "refs/countersign"))
	assert.NotEmpty(t, r.root.Git("branch", "--list", "workspace/demo"))
}

// TestStashesAreBundled even where there is a remote, which never has them.
func TestStashesAreBundled(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api", "web")
	r.write("first", "repos", "web", "web.txt")
	r.git("web", "stash", "push", "--quiet")
	assert.Equal(t, []any{args{"repo": "web", "reason": "1 stash"}}, r.preview(archive, nil)["bundles"])
	result := r.worked(archive, nil)
	require.Len(t, result["bundles"], 1)
	other := r.origins["web"]
	other.Git("fetch", "--quiet", result["bundles"].([]any)[0].(string), "refs/countersign/saved/stash/0")
	assert.Equal(t, "first", other.Git("show", "FETCH_HEAD:web.txt"))
}

// TestBackupsAreBundled which rebasing a ticket leaves in a clone, and which no remote ever has.
func TestBackupsAreBundled(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api", "web")
	r.git("web", "commit", "--quiet", "--allow-empty", "--message", "before it was rebased")
	r.git("web", "update-ref", "refs/opencode-backup/feature/T-1/1795534751", "HEAD")
	r.git("web", "reset", "--quiet", "--hard", "HEAD~1")
	r.git("api", "update-ref", "refs/opencode-backup/feature/T-1/1795534751", "HEAD") // a remote has this
	assert.Equal(t, []any{args{"repo": "web", "reason": "1 backup of earlier commits"}}, r.preview(archive, nil)["bundles"])
	result := r.worked(archive, nil)
	require.Len(t, result["bundles"], 1)
	assert.Contains(t, r.root.Git("bundle", "list-heads", result["bundles"].([]any)[0].(string)), "refs/opencode-backup/feature/T-1/1795534751")
}

func TestWithoutARemote(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api", "web")
	r.git("api", "remote", "remove", "origin")
	r.root.Git("remote", "remove", "origin")
	head := r.commit("api", "x.txt")
	result := r.worked(archive, args{"delete_workspace": true})
	require.Len(t, result["bundles"], 2)
	assert.Contains(t, r.root.Git("bundle", "list-heads", result["bundles"].([]any)[0].(string)), head)
}

func TestTicketsBranchesAreCleanedUp(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api", "web")
	r.ticket("T-1", "api", "web")
	r.write("x", "tickets", "T-1", "web", "x.txt")
	web := r.at("tickets", "T-1", "web")
	r.root.Git("-C", web, "add", "--all")
	r.root.Git("-C", web, "commit", "--quiet", "--message", "not merged")
	assert.Equal(t, []any{"api: feature/T-1", "web: feature/T-1"}, r.preview(archive, args{"cleanup_features": true})["deletes"])
	result := r.worked(archive, args{"cleanup_features": true})
	cleanup := result["cleanup"].([]any)
	assert.Equal(t, "deleted", cleanup[0].(args)["status"])
	assert.Equal(t, "kept", cleanup[1].(args)["status"])
	assert.Contains(t, cleanup[1].(args)["reason"], "not merged into main")
	assert.Empty(t, r.remote("api", "feature/T-1"))
	assert.NotEmpty(t, r.remote("web", "feature/T-1"))
}

// TestAReadOnlyRepositoryIsSavedToo: nobody pushes what it has of its own, on whatever it is.
func TestAReadOnlyRepositoryIsSavedToo(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api", "rolib")
	r.git("rolib", "checkout", "--quiet", "--detach")
	head := r.commit("rolib", "x.txt")
	assert.Empty(t, r.preview(archive, nil)["bundles"])
	result := r.worked(archive, nil)
	require.Len(t, result["bundles"], 1)
	assert.Contains(t, r.root.Git("bundle", "list-heads", result["bundles"].([]any)[0].(string)), head)
}

// TestSomebodyGoesOnWorking while an archive pushes: nothing is removed.
func TestSomebodyGoesOnWorking(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api", "web")
	r.commit("api", "x.txt")
	hook := r.at("repos", "api", ".git", "hooks", "pre-push")
	require.NoError(t, os.MkdirAll(filepath.Dir(hook), 0o755))
	require.NoError(t, os.WriteFile(hook, []byte("#!/bin/sh\necho x > "+r.at("repos", "web", "late.txt")+"\n"), 0o755))
	r.failed("eco_preview_changed", archive, nil)
	assert.FileExists(t, r.at("repos", "web", "late.txt"))
	assert.Empty(t, decoded(t, r.call(trash, "", nil).Value)["trash"])
	assert.Empty(t, r.root.Git("status", "--porcelain"))
}
