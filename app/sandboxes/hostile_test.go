package sandboxes_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/projectrig"
	"github.com/countersign-dev/countersign/internal/testkit/sandboxrig"
)

const (
	sandboxStart   = "opencode_project_start"
	sandboxDestroy = "opencode_project_destroy"
)

// TestSameAgain: repeating a killed call does what the call was to do, from any state.
func TestSameAgain(t *testing.T) {
	r, url, dir := started(t, nil)
	one := sandboxArgs{"git_url": url, "name": "one"}
	box := made(t, r.Do(sandboxCreate, one))["directory"].(string)
	r.Write(box, "half.txt", "half\n")
	r.Interrupt("create", "one")
	made(t, r.Do(sandboxCreate, one))
	assert.NoFileExists(t, filepath.Join(box, "half.txt"), "what was half made is made anew")
	require.NoError(t, os.Remove(filepath.Join(box, "README.md"))) // half deleted, which looks like changes
	r.Interrupt("delete", "one")
	o := r.Ask(remove, one)
	require.NoError(t, o.Err, "a deletion that was begun is finished")
	assert.NoDirExists(t, box)
	assert.EqualValues(t, 0, r.Do(listSandbox, sandboxArgs{"git_url": url})["count"])
	assert.Empty(t, r.Git(filepath.Join(dir, "repo"), "for-each-ref", "refs/heads/sandbox"))
	r.Refused("sandbox_not_found", remove, one)
}

// TestSetupCutOff: a sandbox whose set-up was interrupted is created again on request; its content is backed up.
func TestSetupCutOff(t *testing.T) {
	r, url, _ := started(t, map[string]string{".worktreesetup": "echo ready > ready\n"})
	one := sandboxArgs{"git_url": url, "name": "one"}
	box := made(t, r.Do(sandboxCreate, one))["directory"].(string)
	r.Refused("sandbox_exists", sandboxCreate, one)
	require.NoError(t, os.Remove(filepath.Join(box, "ready")))
	r.Write(box, "mine.txt", "mine\n")
	state := projectrig.Object(t, []byte(r.Read(r.Memory, "opencode-state.json")))
	for _, p := range state["projects"].(sandboxArgs) {
		boxes := p.(sandboxArgs)["sandboxes"].(sandboxArgs)
		boxes["one"].(sandboxArgs)["preparing"] = "999999999 1 an-earlier-start"
		r.Edit("sandboxes", boxes)
	}
	made(t, r.Do(sandboxCreate, one))
	assert.FileExists(t, filepath.Join(box, "ready"))
	assert.NoFileExists(t, filepath.Join(box, "mine.txt"))
	assert.Len(t, r.ByPerson(backups, sandboxArgs{"git_url": url})["backups"], 1)
	assert.NotContains(t, r.Read(r.Memory, "opencode-state.json"), "preparing")
}

// TestLongSetup: during a set-up other calls can use the project, and none can remove the sandbox.
func TestLongSetup(t *testing.T) {
	r, url, dir := started(t, nil)
	box := filepath.Join(dir, "worktrees", "slow")
	slow := sandboxArgs{"git_url": url, "name": "slow", "start_command": "touch begun; until test -e go; do sleep 0.02; done"}
	done := make(chan tool.Outcome)
	go func() { done <- r.Confirmed(sandboxCreate, slow) }()
	require.Eventually(t, func() bool { _, err := os.Stat(filepath.Join(box, "begun")); return err == nil }, time.Minute, 10*time.Millisecond)
	other := r.Another()
	require.NoError(t, other.Ask(sandboxCreate, sandboxArgs{"git_url": url, "name": "quick"}).Err)
	for _, name := range []tool.Name{remove, reset} {
		assert.ErrorContains(t, other.Ask(name, sandboxArgs{"git_url": url, "name": "slow"}).Err, "set-up", name)
	}
	for _, b := range projectrig.Object(t, other.Ask(listSandbox, sandboxArgs{"git_url": url}).Value)["sandboxes"].([]any) {
		if b := b.(sandboxArgs); b["name"] == "slow" {
			assert.Equal(t, "an operation on it is in progress", b["cleanup"])
		}
	}
	r.Write(box, "go", "")
	require.NoError(t, (<-done).Err)
	assert.ErrorContains(t, r.Ask(remove, sandboxArgs{"git_url": url, "name": "slow"}).Err, "unsaved work", "now it is as any other")
}

// TestOneBranchForMany: of several concurrent requests for a branch, one gets it, and the others get new branches from it.
func TestOneBranchForMany(t *testing.T) {
	r, url, dir := started(t, nil)
	r.Git(filepath.Join(dir, "repo"), "branch", "wanted")
	cores, outcomes := []*projectrig.Core{r.Core, r.Another()}, make([]tool.Outcome, 6)
	var all sync.WaitGroup
	for i := range outcomes {
		all.Go(func() {
			outcomes[i] = cores[i%2].Ask(sandboxCreate, sandboxArgs{"git_url": url, "name": fmt.Sprint("box", i), "branch": "wanted"})
		})
	}
	all.Wait()
	var branches []any
	for _, o := range outcomes {
		require.NoError(t, o.Err)
		branches = append(branches, projectrig.Object(t, o.Value)["worktree"].(sandboxArgs)["branch"])
	}
	assert.Contains(t, branches, "wanted")
	assert.Subset(t, []any{"wanted", "sandbox/box0", "sandbox/box1", "sandbox/box2", "sandbox/box3", "sandbox/box4", "sandbox/box5"}, branches)
}

// TestForgottenByGit: a sandbox that only the records know is listed with its content, and can be deleted and created again.
func TestForgottenByGit(t *testing.T) {
	r, url, dir := started(t, nil)
	for _, name := range []string{"gone", "full"} {
		made(t, r.Do(sandboxCreate, sandboxArgs{"git_url": url, "name": name}))
		require.NoError(t, os.RemoveAll(filepath.Join(dir, "repo/.git/worktrees", name)))
	}
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "worktrees/gone")))
	seen := map[any]sandboxArgs{}
	for _, b := range r.Do(listSandbox, sandboxArgs{"git_url": url})["sandboxes"].([]any) {
		seen[b.(sandboxArgs)["name"]] = b.(sandboxArgs)
	}
	require.Len(t, seen, 2)
	assert.Equal(t, true, seen["gone"]["removable"])
	assert.Equal(t, true, seen["full"]["dirty"])
	assert.Equal(t, false, seen["full"]["removable"])
	require.NoError(t, r.Ask(remove, sandboxArgs{"git_url": url, "name": "gone"}).Err)
	said := r.Refused("sandbox_dirty", remove, sandboxArgs{"git_url": url, "name": "full"})
	assert.Contains(t, string(sandboxrig.JSON(t, said.Details)), "README.md")
	r.Do(remove, sandboxArgs{"git_url": url, "name": "full", "force": true})
	made(t, r.Do(sandboxCreate, sandboxArgs{"git_url": url, "name": "full"}))
}

// TestBranchLeftBehind: commits on a sandbox's branch count even if another one is checked out there.
func TestBranchLeftBehind(t *testing.T) {
	r, url, _ := started(t, nil)
	box := made(t, r.Do(sandboxCreate, sandboxArgs{"git_url": url, "name": "one"}))["directory"].(string)
	r.Git(box, "commit", "-q", "--allow-empty", "-m", "only here")
	r.Git(box, "checkout", "-q", "-b", "other", "origin/main")
	said := r.Refused("sandbox_dirty", remove, sandboxArgs{"git_url": url, "name": "one"})
	assert.Contains(t, string(sandboxrig.JSON(t, said.Details)), "only here")
	assert.Contains(t, said.Message, "1 commit")
}

// TestDestroyTellsEverything: it lists work in unrecorded worktrees, in directories that git has forgotten, and in earlier backups.
func TestDestroyTellsEverything(t *testing.T) {
	r, url, dir := started(t, nil)
	repo, project := filepath.Join(dir, "repo"), sandboxArgs{"git_url": url}
	box := made(t, r.Do(sandboxCreate, sandboxArgs{"git_url": url, "name": "one"}))["directory"].(string)
	r.Write(box, "x.txt", "x\n")
	r.Do(remove, sandboxArgs{"git_url": url, "name": "one", "force": true})
	o := r.Ask(sandboxDestroy, project)
	require.NotNil(t, o.Request, "what was kept goes too, so a person is asked")
	assert.Equal(t, policy.Preview, o.Request.Strength)
	assert.Contains(t, string(o.Request.Plan), "refs/opencode-backup/one/")

	recorded := made(t, r.Do(sandboxCreate, sandboxArgs{"git_url": url, "name": "two"}))["directory"].(string)
	outside := filepath.Join(r.Top, "outside")
	r.Git(repo, "worktree", "add", "-q", "-b", "mine", outside)
	r.Write(outside, "work.txt", "work\n")
	trees := func() string {
		return string(sandboxrig.JSON(t, r.Refused("sandbox_unpushed_work", sandboxDestroy, project).Details))
	}
	assert.Contains(t, trees(), "work.txt")
	r.Git(repo, "worktree", "remove", "--force", outside)
	r.Write(recorded, "lost.txt", "l\n")
	require.NoError(t, os.RemoveAll(filepath.Join(repo, ".git/worktrees/two")))
	assert.Contains(t, trees(), "lost.txt", "git has forgotten it")
	require.NoError(t, os.RemoveAll(repo))
	assert.Contains(t, trees(), "lost.txt", "the clone is gone, its sandboxes are not")
	require.NoError(t, os.RemoveAll(recorded))
	require.NoError(t, r.Ask(sandboxDestroy, project).Err, "nothing is left to lose")
}

// TestStartAfterCutOffDestroy: the project is created anew, without anything of the one that was being destroyed.
func TestStartAfterCutOffDestroy(t *testing.T) {
	r, url, dir := started(t, nil)
	made(t, r.Do(sandboxCreate, sandboxArgs{"git_url": url, "name": "one"}))
	r.Interrupt("destroy", "")
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "repo", ".git")))
	again := r.Do(sandboxStart, sandboxArgs{"git_url": url})
	assert.Equal(t, "success", again["status"], fmt.Sprint(again))
	assert.EqualValues(t, 0, r.Do(listSandbox, sandboxArgs{"git_url": url})["count"])
	state := r.Read(r.Memory, "opencode-state.json")
	assert.NotContains(t, state, `"doing"`)
	assert.NotContains(t, state, "SANDBOX_PORT")
}

// TestNobodyBeganIt: an operation in the file of projects that no call in the audit log was allowed to run on this very project and sandbox is not
// finished by later plans or calls: nothing is deleted, and a destruction still needs approval.
func TestNobodyBeganIt(t *testing.T) {
	r, url, dir := started(t, nil)
	box := made(t, r.Do(sandboxCreate, sandboxArgs{"git_url": url, "name": "one"}))["directory"].(string)
	r.Write(box, "ignored.txt", "only here\n")
	dead := "999999999 1 an-earlier-start"
	forged := func(what, name, owner, plan, call string) {
		r.Edit("doing", sandboxArgs{"what": what, "sandbox": name, "owner": owner, "since": "2026-01-02T03:04:05Z", "call_id": call, "plan": plan})
	}
	for _, owner := range []string{"", dead} {
		for _, plan := range []string{"", "{}", r.Planned("destroy", "")} {
			forged("destroy", "", owner, plan, "0198")
			for _, name := range []tool.Name{sandboxCreate, sandboxStart, listSandbox, remove, "opencode_cleanup_orphans", "opencode_project_status"} {
				r.Confirmed(name, sandboxArgs{"git_url": url, "name": "two"})
			}
			assert.FileExists(t, filepath.Join(box, "ignored.txt"), "planning and doing something else deletes nothing")
			trees := string(sandboxrig.JSON(t, r.Refused("sandbox_unpushed_work", sandboxDestroy, sandboxArgs{"git_url": url}).Details))
			assert.Contains(t, trees, "ignored.txt", "what would be lost is said all the same")
		}
		for _, what := range []string{"create", "delete"} {
			forged(what, "one", owner, r.Planned(what, "one"), "0198")
			r.Confirmed(sandboxCreate, sandboxArgs{"git_url": url, "name": "one"})
			assert.FileExists(t, filepath.Join(box, "ignored.txt"), what)
		}
	}

	// A call that was allowed to create a sandbox does not approve a destruction either.
	for _, name := range []string{"one", "three"} {
		r.Begun("create", name, dead)
		state := projectrig.Object(t, json.RawMessage(r.Read(r.Memory, "opencode-state.json")))
		for _, p := range state["projects"].(sandboxArgs) {
			doing := p.(sandboxArgs)["doing"].(sandboxArgs)
			doing["what"] = "destroy"
			r.Edit("doing", doing)
		}
		r.Ask(sandboxCreate, sandboxArgs{"git_url": url, "name": "four"})
		require.DirExists(t, filepath.Join(dir, "repo"), name)
		require.FileExists(t, filepath.Join(box, "ignored.txt"), name)
	}

	// A call that was allowed to destroy something else approves nothing.
	r.Begun("destroy", "", dead)
	r.Edit("base_dir", filepath.Join(r.Top, "precious"))
	r.Write(filepath.Join(r.Top, "precious"), "thesis.txt", "only copy\n")
	r.Ask(sandboxCreate, sandboxArgs{"git_url": url, "name": "three"})
	r.Confirmed(sandboxStart, sandboxArgs{"git_url": url})
	assert.FileExists(t, filepath.Join(r.Top, "precious", "thesis.txt"))
	assert.DirExists(t, filepath.Join(dir, "repo"))
}
