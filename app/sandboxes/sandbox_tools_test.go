package sandboxes_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/projectrig"
	"github.com/countersign-dev/countersign/internal/testkit/sandboxrig"
)

type sandboxArgs = map[string]any

const (
	sandboxCreate = "opencode_sandbox_create"
	listSandbox   = "opencode_sandbox_list"
	remove        = "opencode_sandbox_delete"
	reset         = "opencode_sandbox_reset"
	restore       = "sandbox_restore"
	backups       = "sandbox_backups"
)

// started returns a machine with one project.
func started(t *testing.T, files map[string]string) (r *sandboxrig.Rig, url, dir string) {
	t.Helper()
	r = sandboxrig.New(t)
	url, dir = r.Project("shop", files)
	return r, url, dir
}

func made(t *testing.T, answer sandboxArgs) sandboxArgs {
	t.Helper()
	require.Equal(t, "success", answer["status"], answer)
	return answer["worktree"].(sandboxArgs)
}

// TestBranches: without a branch, and with one that is local, in use elsewhere, only at the remote, new there since the clone, and missing.
func TestBranches(t *testing.T) {
	r, url, dir := started(t, nil)
	repo, work := filepath.Join(dir, "repo"), filepath.Join(r.Top, "works", "shop")
	r.Git(repo, "branch", "local")
	push := func(branch string) {
		r.Git(work, "checkout", "-q", "-B", branch, "main")
		r.Write(work, branch, "there\n")
		r.Git(work, "add", "-A")
		r.Git(work, "commit", "-q", "-m", branch)
		r.Git(work, "push", "-q", "origin", branch)
	}
	push("remote")
	r.Git(repo, "fetch", "-q", "origin")
	push("newer")
	for name, branch := range map[string]string{"plain": "", "here": "local", "afar": "remote", "fresh": "newer"} {
		box := made(t, r.Do(sandboxCreate, sandboxArgs{"git_url": url, "name": name, "branch": branch}))
		assert.Equal(t, name, box["name"])
		assert.Equal(t, filepath.Join(dir, "worktrees", name), box["directory"])
		if branch != "" {
			assert.Equal(t, branch, box["branch"])
		}
		if name == "afar" || name == "fresh" {
			assert.FileExists(t, filepath.Join(dir, "worktrees", name, branch))
		}
	}
	answer := r.Do(sandboxCreate, sandboxArgs{"git_url": url, "name": "second", "branch": "local"})
	assert.NotEqual(t, "local", made(t, answer)["branch"])
	assert.NotEmpty(t, answer["note"], "and why it is another")
	said := r.Refused("sandbox_branch_not_found", sandboxCreate, sandboxArgs{"git_url": url, "name": "lost", "branch": "locale"})
	assert.Contains(t, said.Error()+string(sandboxrig.JSON(t, said.Details)), "local", "near names are shown")
	said = r.Refused("sandbox_exists", sandboxCreate, sandboxArgs{"git_url": url, "name": "HERE"})
	assert.Contains(t, said.Message, "here")
	for _, bad := range []string{"../x", "-b", "a b"} {
		require.Error(t, r.Confirmed(sandboxCreate, sandboxArgs{"git_url": url, "name": bad}).Err, bad)
	}
	require.Error(t, r.Confirmed(sandboxCreate, sandboxArgs{"git_url": url, "name": "x", "branch": "--upload-pack=touch"}).Err)
	assert.EqualValues(t, 5, r.Do(listSandbox, sandboxArgs{"git_url": url})["count"])
}

// TestPullRequests: a sandbox has the commits of a pull request, or of a merge request, on a branch of its own.
func TestPullRequests(t *testing.T) {
	r, url, _ := started(t, nil)
	work := filepath.Join(r.Top, "works", "shop")
	for ref, file := range map[string]string{"refs/pull/7/head": "asked", "refs/merge-requests/8/head": "wished"} {
		r.Git(work, "checkout", "-q", "--detach", "main")
		r.Write(work, file, "there\n")
		r.Git(work, "add", "-A")
		r.Git(work, "commit", "-q", "-m", file)
		r.Git(work, "push", "-q", "origin", "HEAD:"+ref)
	}
	for branch, file := range map[string]string{"pr:7": "asked", "mr:8": "wished"} {
		answer := r.Do(sandboxCreate, sandboxArgs{"git_url": url, "name": file, "branch": branch})
		box := made(t, answer)
		assert.Equal(t, []any{"sandbox/" + file, "there\n"}, []any{box["branch"], r.Read(box["directory"].(string), file)})
		found := r.Do(sandboxDiff, sandboxArgs{"git_url": url, "name": file})
		assert.Equal(t, []any{"main", 1.0}, []any{found["base"], found["ahead"]})
		require.NoError(t, r.Ask(remove, sandboxArgs{"git_url": url, "name": file}).Err, "its remote has the work")
	}
	f := r.Refused("sandbox_branch_not_found", sandboxCreate, sandboxArgs{"git_url": url, "name": "none", "branch": "pr:9"})
	assert.Contains(t, f.Message, "no pull request 9")
}

// TestManyAtOnce: twenty concurrent creations in one project all succeed, and no two share a lease.
func TestManyAtOnce(t *testing.T) {
	r, url, _ := started(t, nil)
	cores := []*projectrig.Core{r.Core, r.Another()}
	outcomes := make([]tool.Outcome, 20)
	var all sync.WaitGroup
	for i := range outcomes {
		all.Go(func() {
			outcomes[i] = cores[i%2].Ask(sandboxCreate, sandboxArgs{"git_url": url, "name": fmt.Sprint("box", i)})
		})
	}
	all.Wait()
	ports, indexes := map[any]bool{}, map[any]bool{}
	for _, o := range outcomes {
		require.NoError(t, o.Err)
		leases := projectrig.Object(t, o.Value)["leases"].(sandboxArgs)
		ports[leases["SANDBOX_PORT"]], indexes[leases["SANDBOX_INDEX"]] = true, true
	}
	assert.Len(t, ports, 20)
	assert.Len(t, indexes, 20)
	assert.EqualValues(t, 20, r.Do(listSandbox, sandboxArgs{"git_url": url})["count"])
}

// TestStartCommand: it is shown before it runs; one that fails leaves the sandbox and its output.
func TestStartCommand(t *testing.T) {
	r, url, dir := started(t, nil)
	in := sandboxArgs{"git_url": url, "name": "one", "start_command": `echo "port $SANDBOX_PORT"; echo pw "[$OPENCODE_PASSWORD$OPENCODE_SERVER_PASSWORD]"; pwd > here`}
	o := r.Ask(sandboxCreate, in)
	require.NotNil(t, o.Request)
	assert.Equal(t, policy.Preview, o.Request.Strength)
	assert.Contains(t, string(o.Request.Plan), "pwd > here")
	assert.NoDirExists(t, filepath.Join(dir, "worktrees", "one"))
	answer := r.Do(sandboxCreate, in)
	box := made(t, answer)["directory"].(string)
	ran := answer["start_command"].(sandboxArgs)
	assert.Contains(t, ran["output"], fmt.Sprint("port ", answer["leases"].(sandboxArgs)["SANDBOX_PORT"]))
	assert.Contains(t, ran["output"], "pw []")
	assert.Equal(t, box+"\n", r.Read(box, "here"))
	answer = r.Do(sandboxCreate, sandboxArgs{"git_url": url, "name": "two", "start_command": "echo why not; exit 7"})
	assert.Equal(t, "partial", answer["status"])
	assert.EqualValues(t, 7, answer["start_command"].(sandboxArgs)["exit_code"])
	assert.DirExists(t, filepath.Join(dir, "worktrees", "two"))
	logs, err := filepath.Glob(filepath.Join(r.Memory, "opencode-logs", "*-sandbox-two.log"))
	require.NoError(t, err)
	require.Len(t, logs, 1)
	assert.Contains(t, r.Read("/", logs[0]), "why not")
}

// TestSetup: commands of .worktreesetup are approved once for their content, in order; files that .worktreeinclude lists are copied.
func TestSetup(t *testing.T) {
	r, url, dir := started(t, map[string]string{".worktreesetup": "# ready\necho one >> done\n\necho two >> done\n", ".worktreeinclude": "local.cfg\n", ".gitignore": "local.cfg\ndone\n"})
	r.Write(filepath.Join(dir, "repo"), "local.cfg", "kept here\n")
	o := r.Ask(sandboxCreate, sandboxArgs{"git_url": url, "name": "one"})
	require.NotNil(t, o.Request)
	assert.Contains(t, string(o.Request.Plan), "echo two")
	answer := r.Do(sandboxCreate, sandboxArgs{"git_url": url, "name": "one"})
	box := made(t, answer)["directory"].(string)
	assert.Equal(t, "one\ntwo\n", r.Read(box, "done"))
	assert.Equal(t, "kept here\n", r.Read(box, "local.cfg"))
	assert.Equal(t, []any{"local.cfg"}, answer["copied"])
	o = r.Ask(sandboxCreate, sandboxArgs{"git_url": url, "name": "two"})
	require.NoError(t, o.Err, "what was approved is not asked about again")
	work := filepath.Join(r.Top, "works", "shop")
	r.Write(work, ".worktreesetup", "false\necho never >> done\n")
	r.Git(work, "commit", "-qam", "other set-up")
	r.Git(work, "push", "-q", "origin", "main")
	r.Git(filepath.Join(dir, "repo"), "pull", "-q")
	o = r.Ask(sandboxCreate, sandboxArgs{"git_url": url, "name": "three"})
	require.NotNil(t, o.Request, "other content is")
	answer = r.Do(sandboxCreate, sandboxArgs{"git_url": url, "name": "three"})
	assert.Equal(t, "partial", answer["status"])
	assert.Len(t, answer["setup"], 1, "the first failure is the last command")
}

// TestSetupThatChangesMeanwhile: what runs is what was shown, although a fetch happens in between.
func TestSetupThatChangesMeanwhile(t *testing.T) {
	r, url, _ := started(t, map[string]string{".worktreesetup": "echo shown > ran\n"})
	work := filepath.Join(r.Top, "works", "shop")
	r.Write(work, ".worktreesetup", "echo swapped > ran\n")
	r.Git(work, "commit", "-qam", "swapped")
	r.Git(work, "push", "-q", "origin", "main")
	box := made(t, r.Do(sandboxCreate, sandboxArgs{"git_url": url, "name": "one"}))["directory"].(string)
	assert.Equal(t, "shown\n", r.Read(box, "ran"))
	list := func() any {
		return r.Do(listSandbox, sandboxArgs{"git_url": url})["sandboxes"].([]any)[0].(sandboxArgs)["dirty"]
	}
	assert.Equal(t, false, list(), "what the set-up made is no work")
	r.Write(box, "ran", "by hand\n")
	assert.Equal(t, true, list())
	r.Refused("sandbox_dirty", remove, sandboxArgs{"git_url": url, "name": "one"})
	r.Write(box, "ran", "shown\n")
	require.NoError(t, r.Ask(remove, sandboxArgs{"git_url": url, "name": "one"}).Err, "and nobody is asked about it")
}

// TestCommandsRunOnTheCommitThatWasShown: an approval does not cover a branch that moved at the remote.
func TestCommandsRunOnTheCommitThatWasShown(t *testing.T) {
	r, url, dir := started(t, map[string]string{"go.sh": "echo shown > ran\n"})
	work := filepath.Join(r.Top, "works", "shop")
	r.Git(work, "push", "-q", "origin", "main:far")
	r.Git(filepath.Join(dir, "repo"), "fetch", "-q")
	in := sandboxArgs{"git_url": url, "name": "one", "branch": "far", "start_command": "sh go.sh"}
	o := r.Ask(sandboxCreate, in)
	require.NotNil(t, o.Request)
	assert.Contains(t, string(o.Request.Plan), `"commit":"`+r.Git(work, "rev-parse", "HEAD")+`"`)
	assert.Contains(t, string(o.Request.Plan), ".worktreeinclude copies")
	r.Write(work, "go.sh", "echo swapped > ran\n")
	r.Git(work, "commit", "-qam", "swapped")
	r.Git(work, "push", "-q", "origin", "main:far")
	again := r.New(sandboxCreate, in)
	again.Token = o.Request.Token
	o = r.Call(t.Context(), again)
	require.ErrorContains(t, o.Err, "call again to see what would run")
	assert.NoDirExists(t, filepath.Join(dir, "worktrees", "one"))
}

// TestInterrupted: the next call undoes a half-created sandbox, with its leases, and deletes a half-deleted one.
func TestInterrupted(t *testing.T) {
	for _, what := range []string{"create", "delete"} {
		r, url, dir := started(t, nil)
		first := r.Do(sandboxCreate, sandboxArgs{"git_url": url, "name": "one"})
		r.Write(filepath.Join(dir, "worktrees", "one"), "half.txt", "half\n")
		r.Interrupt(what, "one")
		again := r.Do(sandboxCreate, sandboxArgs{"git_url": url, "name": "two"})
		assert.Equal(t, first["leases"].(sandboxArgs)["SANDBOX_PORT"], again["leases"].(sandboxArgs)["SANDBOX_PORT"], "the lease is free again")
		assert.NoDirExists(t, filepath.Join(dir, "worktrees", "one"))
		assert.EqualValues(t, 1, r.Do(listSandbox, sandboxArgs{"git_url": url})["count"])
		kept := r.ByPerson(backups, sandboxArgs{"git_url": url})["backups"].([]any)
		assert.NotEmpty(t, kept, "what it held is kept")
	}
}

// TestWhatAnotherPlaceHasBegunIsLeftAlone: its owner, which cannot be observed from here, may still be working on it.
func TestWhatAnotherPlaceHasBegunIsLeftAlone(t *testing.T) {
	r, url, dir := started(t, nil)
	r.Do(sandboxCreate, sandboxArgs{"git_url": url, "name": "one"})
	r.Write(filepath.Join(dir, "worktrees", "one"), "half.txt", "half\n")
	r.Begun("create", "one", "7:100:another-start:4026531836:another-machine")
	said := r.Refused("sandbox_busy", sandboxCreate, sandboxArgs{"git_url": url, "name": "two"})
	assert.Contains(t, said.Message, "owned by another machine or container (another machine (another-machine), process 7)")
	assert.FileExists(t, filepath.Join(dir, "worktrees", "one", "half.txt"))
	assert.Contains(t, r.Read(r.Memory, "opencode-state.json"), "another-machine", "its record stays")
	r.Interrupt("create", "one") // it has ended after all
	r.Do(sandboxCreate, sandboxArgs{"git_url": url, "name": "two"})
}

// TestDelete: a clean sandbox needs no approval; a dirty one is refused with the list; force is approved with what would be lost, and backs it up.
func TestDelete(t *testing.T) {
	r, url, dir := started(t, nil)
	r.Do(sandboxCreate, sandboxArgs{"git_url": url, "name": "clean"})
	require.NoError(t, r.Ask(remove, sandboxArgs{"git_url": url, "name": "CLEAN"}).Err)
	assert.NoDirExists(t, filepath.Join(dir, "worktrees", "clean"))
	said := r.Refused("sandbox_not_found", remove, sandboxArgs{"git_url": url, "name": "clean"})
	assert.NotEmpty(t, said.Message)

	box := made(t, r.Do(sandboxCreate, sandboxArgs{"git_url": url, "name": "work"}))["directory"].(string)
	content := "binary \x00\xff\r\n"
	r.Write(box, "new/file.bin", content)
	r.Write(box, "README.md", "changed\n")
	r.Git(box, "add", "README.md")
	r.Write(box, "committed.txt", "c\n")
	r.Git(box, "add", "committed.txt")
	r.Git(box, "commit", "-q", "-m", "mine", "committed.txt")
	said = r.Refused("sandbox_dirty", remove, sandboxArgs{"git_url": url, "name": "work"})
	assert.Contains(t, string(sandboxrig.JSON(t, said.Details)), "new/")
	o := r.Ask(remove, sandboxArgs{"git_url": url, "name": "work", "force": true})
	require.NotNil(t, o.Request)
	assert.Equal(t, policy.Preview, o.Request.Strength)
	assert.DirExists(t, box)
	gone := r.Do(remove, sandboxArgs{"git_url": url, "name": "work", "force": true})
	assert.NotEmpty(t, gone["backup_refs"])
	assert.NoDirExists(t, box)

	kept := r.ByPerson(backups, sandboxArgs{"git_url": url})["backups"].([]any)
	require.NotEmpty(t, kept)
	ref := ""
	for _, b := range kept {
		if b := b.(sandboxArgs); strings.Contains(fmt.Sprint(b), "wip") || ref == "" {
			ref = b["ref"].(string)
		}
	}
	back := r.ByPerson(restore, sandboxArgs{"git_url": url, "ref": ref})["worktree"].(sandboxArgs)["directory"].(string)
	assert.Equal(t, content, r.Read(back, "new/file.bin"), ref)
	assert.Equal(t, "changed\n", r.Read(back, "README.md"))
	assert.Equal(t, "c\n", r.Read(back, "committed.txt"))
	o = r.Ask(restore, sandboxArgs{"git_url": url, "ref": ref, "name": "other"})
	require.Error(t, o.Err, "agents are not served it")
}

// TestRefusedDeletionIsForgotten: no later call finishes a deletion that failed.
func TestRefusedDeletionIsForgotten(t *testing.T) {
	r, url, _ := started(t, nil)
	box := made(t, r.Do(sandboxCreate, sandboxArgs{"git_url": url, "name": "one"}))["directory"].(string)
	r.Git(box, "worktree", "lock", box)
	require.Error(t, r.Confirmed(remove, sandboxArgs{"git_url": url, "name": "one"}).Err)
	r.Git(box, "worktree", "unlock", box)
	assert.NotContains(t, r.Read(r.Memory, "opencode-state.json"), `"what"`)
	assert.DirExists(t, box)
}

// TestReset: the sandbox is on the default branch, its work is under refs in the result, ignored files are deleted only if that was approved.
func TestReset(t *testing.T) {
	r, url, _ := started(t, map[string]string{".gitignore": "cache/\n"})
	box := made(t, r.Do(sandboxCreate, sandboxArgs{"git_url": url, "name": "one"}))["directory"].(string)
	r.Write(box, "README.md", "changed\n")
	r.Write(box, "new.txt", "new\n")
	r.Write(box, "cache/x", "ignored\n")
	o := r.Ask(reset, sandboxArgs{"git_url": url, "name": "one"})
	require.NotNil(t, o.Request, "what is lost is kept, and asked about all the same")
	assert.Equal(t, policy.Preview, o.Request.Strength)
	assert.Contains(t, string(o.Request.Plan), "new.txt")
	done := r.Do(reset, sandboxArgs{"git_url": url, "name": "one"})
	assert.NotEmpty(t, done["backup_refs"])
	assert.Equal(t, "# shop\n", r.Read(box, "README.md"))
	assert.NoFileExists(t, filepath.Join(box, "new.txt"))
	assert.FileExists(t, filepath.Join(box, "cache/x"))
	o = r.Ask(reset, sandboxArgs{"git_url": url, "name": "one", "clean_ignored": true})
	require.NotNil(t, o.Request)
	assert.Equal(t, policy.Preview, o.Request.Strength)
	r.Do(reset, sandboxArgs{"git_url": url, "name": "one", "clean_ignored": true})
	assert.NoDirExists(t, filepath.Join(box, "cache"))
	o = r.Ask(reset, sandboxArgs{"git_url": url, "name": "one"})
	require.NoError(t, o.Err, "there is nothing to lose")
	assert.Equal(t, []any{}, projectrig.Object(t, o.Value)["backup_refs"], "nothing to keep, nothing kept")
}
