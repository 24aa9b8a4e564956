package sandboxes_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/sandboxrig"
)

const (
	sandboxDiff    = "sandbox_diff"
	sandboxMerge   = "sandbox_merge"
	sandboxUpdate  = "sandbox_update"
	sandboxArchive = "sandbox_archive"
)

// worked returns a project with a sandbox "one" that has a commit of its own.
func worked(t *testing.T) (r *sandboxrig.Rig, repo, box string, one sandboxArgs) {
	t.Helper()
	r, url, dir := started(t, map[string]string{"a.txt": "one\n"})
	one = sandboxArgs{"git_url": url, "name": "one"}
	box = made(t, r.Do(sandboxCreate, one))["directory"].(string)
	r.Write(box, "a.txt", "one\ntwo\n")
	r.Git(box, "commit", "-q", "-a", "-m", "second line")
	return r, filepath.Join(dir, "repo"), box, one
}

// with returns arguments with additions.
func with(in sandboxArgs, more sandboxArgs) sandboxArgs {
	out := sandboxArgs{}
	for _, part := range []sandboxArgs{in, more} {
		for k, v := range part {
			out[k] = v
		}
	}
	return out
}

// TestWhatCameSinceTheReview: after a user marks the work as seen, later commits, changes and additions are distinguished from it, and what was not
// seen is not marked.
func TestWhatCameSinceTheReview(t *testing.T) {
	r, repo, box, one := worked(t)
	r.Write(box, "rough.txt", "rough\n")
	r.Refused("sandbox_invalid_arguments", sandboxDiff, with(one, sandboxArgs{"since_review": true}))
	first := r.Do(sandboxDiff, one)
	assert.NotContains(t, first, "reviewed")
	r.Write(box, "late.txt", "late\n")
	asked := r.New("sandbox_comment", with(one, sandboxArgs{"seen": first["files_id"]}))
	asked.FromUser = true
	require.ErrorIs(t, r.Call(t.Context(), asked).Err, sandbox.ErrMoved, "it is not what was looked at")
	require.NoError(t, os.Remove(filepath.Join(box, "late.txt")))
	r.ByPerson("sandbox_comment", with(one, sandboxArgs{"seen": first["files_id"]}))
	r.Git(repo, "gc", "-q", "--prune=now")
	now := r.Do(sandboxDiff, with(one, sandboxArgs{"since_review": true}))
	assert.EqualValues(t, 0, now["file_count"])
	assert.Equal(t, first["files_id"], r.Do("sandbox_review", one)["reviewed"].(sandboxArgs)["files_id"])

	r.Git(box, "add", "-A")
	r.Git(box, "commit", "-q", "-m", "what was seen")
	assert.EqualValues(t, 0, r.Do(sandboxDiff, with(one, sandboxArgs{"since_review": true}))["file_count"], "committing it changes no file")
	r.Write(box, "rough.txt", "rough\nmore\n")
	r.Write(box, "new.txt", "new\n")
	now = r.Do(sandboxDiff, with(one, sandboxArgs{"since_review": true}))
	assert.Contains(t, now["diff"], "+more\n")
	assert.NotContains(t, now["diff"], "+rough\n")
	assert.NotContains(t, now["diff"], "+two\n")
	whole := r.Do(sandboxDiff, one)
	assert.EqualValues(t, 2, whole["changed_since_review"])
	for _, f := range whole["files"].([]any) {
		assert.Equal(t, f.(sandboxArgs)["path"] != "a.txt", f.(sandboxArgs)["changed_since_review"] == true, f)
	}
	r.ByPerson("sandbox_comment", with(one, sandboxArgs{"seen": whole["files_id"]}))
	r.Write(box, "new.txt", "newer\n")
	r.Git(repo, "update-ref", "-d", "refs/countersign-reviewed/one")
	r.Git(repo, "gc", "-q", "--prune=now")
	r.Refused("sandbox_review_gone", sandboxDiff, with(one, sandboxArgs{"since_review": true}))
	whole = r.Do(sandboxDiff, one)
	assert.NotContains(t, whole, "reviewed")
	r.ByPerson("sandbox_comment", with(one, sandboxArgs{"seen": whole["files_id"]}))
	assert.NotEmpty(t, r.Git(repo, "for-each-ref", "refs/countersign-reviewed"))
	r.Do(remove, with(one, sandboxArgs{"force": true}))
	assert.Empty(t, r.Git(repo, "for-each-ref", "refs/countersign-reviewed"), "what is kept for a review goes with the sandbox")
}

// TestWorkComesBack: an agent's work is compared, merged as planned, and its sandbox archived; the archive can be restored.
func TestWorkComesBack(t *testing.T) {
	r, repo, box, one := worked(t)
	r.Write(box, "rough.txt", "rough\n")
	found := r.Do(sandboxDiff, one)
	assert.Equal(t, []any{"main", 1.0, 2.0, []any{"?? rough.txt"}}, []any{found["base"], found["ahead"], found["file_count"], found["uncommitted"]})
	assert.Contains(t, found["diff"], "+two\n")
	assert.Contains(t, found["diff"], "+rough\n")
	assert.NotContains(t, r.Do(sandboxDiff, with(one, sandboxArgs{"stat": true})), "diff")
	assert.EqualValues(t, 1, r.Do(sandboxDiff, with(one, sandboxArgs{"paths": []string{"a.txt"}}))["file_count"])

	r.Refused("sandbox_uncommitted", sandboxMerge, one)
	in := with(one, sandboxArgs{"committed_only": true, "method": "squash", "message": "Two lines"})
	o := r.Ask(sandboxMerge, in)
	require.NotNil(t, o.Request)
	assert.Equal(t, policy.Preview, o.Request.Strength)
	for _, want := range []string{"second line", "changed a.txt (+1 -0)", "?? rough.txt", "Two lines", "hooks"} {
		assert.Contains(t, string(o.Request.Plan), want)
	}
	asked := r.New(sandboxMerge, in)
	asked.FromUser = true
	o = r.Call(t.Context(), asked)
	require.NotNil(t, o.Request)
	assert.Contains(t, string(o.Request.Exhibit), `+two`, "a person sees the lines")
	main := r.Git(repo, "rev-parse", "main")
	done := r.Do(sandboxMerge, in)
	assert.Equal(t, []any{"squash", "main", main, r.Git(repo, "rev-parse", "main")}, []any{done["method"], done["branch"], done["previous"], done["commit"]})
	assert.Equal(t, []string{"Two lines", "one\ntwo\n", main}, []string{r.Git(repo, "log", "-1", "--format=%s"), r.Read(repo, "a.txt"), r.Git(repo, "rev-parse", "main^")})
	o = r.Ask(sandboxMerge, with(in, sandboxArgs{"method": "squash"}))
	require.NoError(t, o.Err, "nobody is asked about nothing")

	r.Refused("sandbox_uncommitted", sandboxArchive, one)
	require.NoError(t, os.Remove(filepath.Join(box, "rough.txt")))
	o = r.Ask(sandboxArchive, one)
	require.NoError(t, o.Err, "its work is on main, though in another commit")
	assert.NoDirExists(t, box)
	assert.Empty(t, r.Git(repo, "for-each-ref", "refs/heads/sandbox"))
	kept := r.ByPerson(backups, sandboxArgs{"git_url": one["git_url"]})["backups"].([]any)
	require.Len(t, kept, 1)
	r.ByPerson(restore, sandboxArgs{"git_url": one["git_url"], "ref": kept[0].(sandboxArgs)["ref"]})
	assert.Equal(t, "second line", r.Git(box, "log", "-1", "--format=%s"))
}

// TestApprovedMergeIsTheOneThatWasShown: when either side moves, an approval does not cover the new state.
func TestApprovedMergeIsTheOneThatWasShown(t *testing.T) {
	r, repo, box, one := worked(t)
	for name, move := range map[string]func(){
		"the sandbox": func() { r.Git(box, "commit", "-q", "--allow-empty", "-m", "slipped in") },
		"the base":    func() { r.Git(repo, "commit", "-q", "--allow-empty", "-m", "late") },
	} {
		o := r.Ask(sandboxMerge, one)
		require.NotNil(t, o.Request, name)
		move()
		main := r.Git(repo, "rev-parse", "main")
		o = r.Ask(sandboxMerge, with(one, sandboxArgs{"confirm_token": o.Request.Token.Reveal()}))
		require.Error(t, o.Err, name)
		assert.Equal(t, main, r.Git(repo, "rev-parse", "main"), name)
	}
	require.NoError(t, os.WriteFile(filepath.Join(repo, "a.txt"), []byte("mine\n"), 0o600))
	f := r.Refused("sandbox_base_dirty", sandboxMerge, one)
	assert.Contains(t, f.Message, "commit or stash them")
	r.Git(repo, "commit", "-q", "-a", "-m", "mine")
	f = r.Refused("sandbox_merge_conflict", sandboxMerge, one)
	assert.Contains(t, f.Message, "a.txt")
	r.Refused("sandbox_merge_conflict", sandboxUpdate, one)
	assert.Equal(t, "mine\n", r.Read(repo, "a.txt"))
}

// TestUpdateFetches: an update brings what others have pushed.
func TestUpdateFetches(t *testing.T) {
	r, _, box, one := worked(t)
	work := filepath.Join(r.Top, "works", "shop")
	r.Write(work, "afar.txt", "afar\n")
	r.Git(work, "add", "-A")
	r.Git(work, "commit", "-q", "-m", "afar")
	r.Git(work, "push", "-q", "origin", "main")
	done := r.Do(sandboxUpdate, with(one, sandboxArgs{"method": "rebase"}))
	assert.Equal(t, []any{"rebase", "sandbox/one", "origin/main"}, []any{done["method"], done["branch"], done["other"]})
	assert.Len(t, done["backup_refs"], 1)
	assert.Equal(t, []string{"afar\n", "second line"}, []string{r.Read(box, "afar.txt"), r.Git(box, "log", "-1", "--format=%s")})
}

// TestKilledUpdate: the next call finishes an update that was killed before or between its two steps, but not one that was never allowed.
func TestKilledUpdate(t *testing.T) {
	r, repo, box, one := worked(t)
	git, err := exec.LookPath("git")
	require.NoError(t, err)
	r.Write(filepath.Join(r.Home, "bin"), "git", "#!/bin/sh\nif [ -e '"+r.Top+"/kill' ] && case \" $* \" in *\" $(cat '"+r.Top+"/kill') \"*) true;; *) false;; esac; then kill -9 $PPID; exit 1; fi\nexec "+git+" \"$@\"\n")
	require.NoError(t, os.Chmod(filepath.Join(r.Home, "bin", "git"), 0o755))
	t.Setenv("PATH", filepath.Join(r.Home, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
	for i, step := range []string{"read-tree", "update-ref"} {
		late := strings.Repeat("late\n", i+1)
		r.Write(repo, "late.txt", late)
		r.Git(repo, "add", "-A")
		r.Git(repo, "commit", "-q", "-m", "late")
		r.Write(r.Top, "kill", step)
		before := r.Git(box, "rev-parse", "HEAD")
		require.Error(t, r.Elsewhere(tool.Name(sandboxUpdate), one).Wait(), "it was killed")
		require.NoError(t, os.Remove(filepath.Join(r.Top, "kill")))
		require.Equal(t, before, r.Git(box, "rev-parse", "HEAD"))
		o := r.Ask(sandboxUpdate, one)
		require.NoError(t, o.Err)
		assert.Equal(t, []string{late, "", "Merge main into sandbox/one"}, []string{r.Read(box, "late.txt"), r.Git(box, "status", "--porcelain"), r.Git(box, "log", "-1", "--format=%s")})
	}
	r.Git(repo, "commit", "-q", "--allow-empty", "-m", "latest")
	head := r.Git(box, "rev-parse", "HEAD")
	r.Edit("doing", map[string]any{"what": "update", "sandbox": "one", "owner": "999999999 1 an-earlier-start", "since": "2026-01-02T03:04:05Z", "call_id": "forged", "undo": r.Git(repo, "rev-parse", "main"),
		"plan": `{"tool":"sandbox_update","summary":"s","context":{"git_url":"` + one["git_url"].(string) + `","name":"one","method":"fast_forward","branch":"sandbox/one","takes_from":"main","from":"` + head + `"}}`})
	r.Refused("sandbox_unmerged", sandboxArchive, one)
	assert.Equal(t, head, r.Git(box, "rev-parse", "HEAD"), "the audit knows no such call")
}
