package worktree_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/ports/sandboxport"
)

// trees runs the contract of sandboxport.Repositories.
func trees(t *testing.T, open func(testing.TB) repos) {
	for name, test := range map[string]func(*testing.T, *place){
		"PlanFollowsTheTable":        plan,
		"AddIsWhole":                 add,
		"AddRefuses":                 addRefuses,
		"FailedAddLeavesNothing":     addFails,
		"ManyAtOnce":                 addTogether,
		"SubmodulesComeAlong":        addSubmodules,
		"SurveySeesEverything":       survey,
		"SurveyOfStrangeThings":      surveyStrange,
		"RemoveKeepsWhatWouldBeLost": remove,
		"RemoveRefusesWithoutForce":  removeRefuses,
		"RemoveCanBeRepeated":        removeAgain,
		"RemoveOfStrays":             removeStray,
	} {
		t.Run(name, func(t *testing.T) { test(t, openPlace(t, open(t), files)) })
	}
	resets(t, open)
}

func plan(t *testing.T, p *place) {
	p.Git("push", "--quiet", "origin", "main:refs/heads/far", "main:refs/heads/feature/login")
	require.NoError(t, p.Repos.Fetch(t.Context(), p.Clone, p.Access()))
	p.In(p.Clone, "branch", "local", "main")
	p.In(p.Clone, "tag", "far")
	p.Make("taken", "local")
	for wish, want := range map[string]sandboxport.BranchPlan{
		"":     {Branch: "sandbox/a", From: "main", Create: true},
		"main": {Branch: "sandbox/a", From: "main", Create: true, Note: "main is checked out in " + p.Clone + ", and a branch can be checked out only once"},
		"far":  {Branch: "far", From: "origin/far", Create: true, Track: true},
		"local": {Branch: "sandbox/a", From: "local", Create: true, Note: "local is checked out in " + p.At("taken") +
			", and a branch can be checked out only once"},
	} {
		before := p.Traces()
		got, err := p.Repos.Plan(t.Context(), p.Clone, "a", wish)
		require.NoError(t, err, wish)
		assert.Equal(t, want, got, wish)
		assert.Equal(t, before, p.Traces(), "nothing is changed")
	}
	_, err := p.Repos.Plan(t.Context(), p.Clone, "a", "feature/logn")
	require.ErrorIs(t, err, sandbox.ErrBranch)
	assert.Contains(t, fault.From(err).Message, "feature/login")
	require.NoError(t, os.RemoveAll(p.At("taken")))
	got, err := p.Repos.Plan(t.Context(), p.Clone, "a", "local")
	require.NoError(t, err)
	assert.Equal(t, sandboxport.BranchPlan{Branch: "local", From: "local"}, got, "a directory that is gone uses no branch")
	_, err = p.Repos.Add(t.Context(), p.Clone, p.At("a"), got)
	require.NoError(t, err)
	dir := p.Make("b", "")
	p.Conflict(dir)
	require.Contains(t, p.In(dir, "status"), "rebas")
	got, err = p.Repos.Plan(t.Context(), p.Clone, "c", "sandbox/b")
	require.NoError(t, err)
	assert.Equal(t, "sandbox/c", got.Branch, "a branch that is being rebased is in use")
	_, err = p.Repos.Add(t.Context(), p.Clone, p.At("c"), got)
	require.NoError(t, err)
	_, err = p.Repos.Plan(t.Context(), p.Clone, "../x", "")
	require.ErrorIs(t, err, sandbox.ErrName)
	_, err = p.Repos.Plan(t.Context(), p.Clone, "a", "--force")
	require.ErrorIs(t, err, sandbox.ErrArguments)
}

// Conflict leaves a worktree in the middle of a rebase.
func (p *place) Conflict(dir string) {
	p.t.Helper()
	branch := p.In(dir, "branch", "--show-current")
	p.In(dir, "checkout", "--quiet", "-b", "rival-"+filepath.Base(dir))
	p.Put(dir, "a.txt", "theirs\n")
	p.Save(dir, "theirs")
	p.In(dir, "checkout", "--quiet", branch)
	p.Put(dir, "a.txt", "ours\n")
	p.Save(dir, "ours")
	p.Put(dir, "b.txt", "second\n")
	p.Save(dir, "second")
	p.Git("-C", dir, "-c", "core.hooksPath=/dev/null", "-c", "alias.try=!git rebase -q rival-"+filepath.Base(dir)+" || true", "try")
}

func add(t *testing.T, p *place) {
	first := p.Head()
	p.Git("checkout", "--quiet", "-b", "far")
	p.Put(p.Dir, "far.txt", "far\n")
	second := p.Commit("far")
	p.Git("push", "--quiet", "origin", "far")
	require.NoError(t, p.Repos.Fetch(t.Context(), p.Clone, p.Access()))
	p.In(p.Clone, "tag", "far", "main") // another commit of that name

	for name, want := range map[string]struct{ branch, head, upstream string }{
		"new": {"", first, ""}, "tracked": {"far", second, "refs/remotes/origin/far"},
	} {
		made, err := p.Repos.Plan(t.Context(), p.Clone, name, want.branch)
		require.NoError(t, err)
		head, err := p.Repos.Add(t.Context(), p.Clone, p.At(name), made)
		require.NoError(t, err)
		assert.Equal(t, want.head, head)
		assert.Equal(t, []string{want.head, made.Branch, ""}, []string{p.In(p.At(name), "rev-parse", "HEAD"), p.In(p.At(name), "branch", "--show-current"), p.In(p.At(name), "status", "--porcelain")})
		assert.Equal(t, want.upstream, p.In(p.At(name), "for-each-ref", "--format=%(upstream)", "refs/heads/"+made.Branch))
	}
	assert.Equal(t, "far\n", text(p.At("tracked"), "far.txt"))
	p.In(p.Clone, "branch", "local", "main")
	made, err := p.Repos.Plan(t.Context(), p.Clone, "x", "local")
	require.NoError(t, err)
	head, err := p.Repos.Add(t.Context(), p.Clone, filepath.Join(p.Base, strange), made)
	require.NoError(t, err)
	assert.Equal(t, []string{first, "local"}, []string{head, p.In(filepath.Join(p.Base, strange), "branch", "--show-current")})
}

func addRefuses(t *testing.T, p *place) {
	p.Put(p.At("there"), "mine", "x")
	p.In(p.Clone, "branch", "local")
	p.In(p.Clone, "branch", "sandbox/b")
	p.Make("used", "local")
	require.NoError(t, os.Symlink(p.At("there"), p.At("link")))
	before := p.Traces()
	for name, test := range map[string]struct {
		dir  string
		plan sandboxport.BranchPlan
		want error
	}{
		"directory is there": {p.At("there"), sandboxport.BranchPlan{Branch: "sandbox/x", From: "main", Create: true}, sandbox.ErrExists},
		"a link is there":    {p.At("link"), sandboxport.BranchPlan{Branch: "sandbox/x", From: "main", Create: true}, sandbox.ErrExists},
		"the clone itself":   {p.Clone, sandboxport.BranchPlan{Branch: "sandbox/x", From: "main", Create: true}, sandbox.ErrExists},
		"branch came":        {p.At("b"), sandboxport.BranchPlan{Branch: "sandbox/b", From: "main", Create: true}, sandbox.ErrExists},
		"branch in the way":  {p.At("b"), sandboxport.BranchPlan{Branch: "sandbox/b/c", From: "main", Create: true}, sandbox.ErrExists},
		"checked out now":    {p.At("b"), sandboxport.BranchPlan{Branch: "local", From: "local"}, sandbox.ErrExists},
		"branch went":        {p.At("b"), sandboxport.BranchPlan{Branch: "gone", From: "gone"}, sandbox.ErrBranch},
		"origin's went":      {p.At("b"), sandboxport.BranchPlan{Branch: "gone", From: "origin/gone", Create: true, Track: true}, sandbox.ErrBranch},
		"an option":          {p.At("b"), sandboxport.BranchPlan{Branch: "--detach", From: "main"}, sandbox.ErrArguments},
		"from an option":     {p.At("b"), sandboxport.BranchPlan{Branch: "x", From: "--all", Create: true}, sandbox.ErrBranch},
		"from an expression": {p.At("b"), sandboxport.BranchPlan{Branch: "x", From: "main@{1}", Create: true}, sandbox.ErrBranch},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := p.Repos.Add(t.Context(), p.Clone, test.dir, test.plan)
			require.ErrorIs(t, err, test.want)
			assert.Equal(t, before, p.Traces())
		})
	}
	assert.Equal(t, "x", text(p.At("there"), "mine"))
}

func addFails(t *testing.T, p *place) {
	p.Put(p.Dir, "last.txt", "to be lost\n")
	p.Commit("last")
	p.Git("push", "--quiet", "origin", "main:refs/heads/far")
	require.NoError(t, p.Repos.Fetch(t.Context(), p.Clone, p.Access()))
	made, err := p.Repos.Plan(t.Context(), p.Clone, "x", "far")
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Dir(p.At("x")), 0o755))
	blob := p.In(p.Clone, "rev-parse", "origin/far:last.txt")
	object := filepath.Join(p.Clone, ".git", "objects", blob[:2], blob[2:])
	before := p.Traces()
	require.NoError(t, os.Remove(object))
	_, err = p.Repos.Add(t.Context(), p.Clone, p.At("x"), made)
	require.ErrorIs(t, err, sandbox.ErrGit)
	assert.Equal(t, before, p.Traces())
	assert.Empty(t, beside(t, filepath.Join(p.Clone, ".git", "worktrees")))

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = p.Repos.Add(ctx, p.Clone, p.At("x"), sandboxport.BranchPlan{Branch: "sandbox/x", From: "main", Create: true})
	require.ErrorIs(t, err, fault.ErrCanceled)
	assert.Equal(t, before, p.Traces())
}

func addTogether(t *testing.T, p *place) {
	const many = 12
	refs := []string{"push", "--quiet", "origin"}
	for i := range many {
		refs = append(refs, fmt.Sprintf("main:refs/heads/far-%d", i))
	}
	p.Git(refs...)
	require.NoError(t, p.Repos.Fetch(t.Context(), p.Clone, p.Access()))
	var group sync.WaitGroup
	for i := range many {
		group.Go(func() {
			name, branch := fmt.Sprintf("s%d", i), ""
			if i%2 == 0 { // these write the configuration too
				branch = fmt.Sprintf("far-%d", i)
			}
			made, err := p.Repos.Plan(t.Context(), p.Clone, name, branch)
			if assert.NoError(t, err) {
				_, err = p.Repos.Add(t.Context(), p.Clone, p.At(name), made)
				assert.NoError(t, err)
			}
		})
	}
	group.Wait()
	list, err := p.Repos.Survey(t.Context(), p.Clone)
	require.NoError(t, err)
	require.Len(t, list, many)
	for _, tree := range list {
		assert.Equal(t, []any{false, "", p.Head()}, []any{tree.Dirty, tree.Err, tree.Head}, tree.Directory)
		assert.Equal(t, "one\n", text(tree.Directory, "a.txt"))
	}
	assert.Len(t, strings.Fields(p.In(p.Clone, "config", "--get-regexp", `^branch\.far-.*\.remote$`)), many)
	for i := range many {
		group.Go(func() {
			_, err := p.Repos.Remove(t.Context(), p.Clone, p.At(fmt.Sprintf("s%d", i)), force(fmt.Sprintf("s%d", i), fmt.Sprintf("sandbox/s%d", i)))
			assert.NoError(t, err)
		})
	}
	group.Wait()
	assert.Equal(t, 1, strings.Count(p.In(p.Clone, "worktree", "list", "--porcelain"), "worktree "))
}

// submodule gives the place's origin a submodule, lib.
func (p *place) submodule() {
	p.t.Helper()
	lib := filepath.Join(p.Base, "..", "lib.git")
	p.Git("init", "--quiet", "--initial-branch=main", lib)
	p.Put(lib, "x.txt", "lib\n")
	p.Save(lib, "lib")
	p.Git("submodule", "--quiet", "add", "--", lib, "lib")
	p.Commit("with lib")
	p.Git("push", "--quiet", "origin", "main")
	require.NoError(p.t, p.Repos.Fetch(p.t.Context(), p.Clone, p.Access()))
	p.In(p.Clone, "reset", "--quiet", "--hard", "origin/main")
}

func addSubmodules(t *testing.T, p *place) {
	p.submodule()
	dir := p.Make("x", "")
	assert.Equal(t, "lib\n", text(dir, "lib/x.txt"))
	assert.False(t, p.Find("x").Dirty)
	p.Put(dir, "lib/x.txt", "changed\n")
	assert.True(t, p.Find("x").Dirty, "changes in submodules count")
	_, err := p.Repos.Remove(t.Context(), p.Clone, dir, sandboxport.Removal{Name: "x", At: when()})
	require.ErrorIs(t, err, sandbox.ErrDirty)
	p.Save(filepath.Join(dir, "lib"), "a commit that only the submodule has")
	p.Put(dir, "lib/new.txt", "new\n")
	losses, err := p.Repos.Losses(t.Context(), p.Clone, []string{dir})
	require.NoError(t, err)
	require.Len(t, losses, 1)
	assert.Contains(t, strings.Join(losses[0].Commits, "\n"), "a commit that only the submodule has")
	backups, err := p.Repos.Remove(t.Context(), p.Clone, dir, force("x", "sandbox/x"))
	require.NoError(t, err)
	require.Contains(t, backups, "refs/opencode-backup/x/1767323045-sub1-stash")
	assert.Equal(t, "changed\n", p.In(p.Clone, "show", "refs/opencode-backup/x/1767323045-sub1:x.txt")+"\n")
	require.NoError(t, p.Repos.Restore(t.Context(), p.Clone, p.At("lib"), "refs/opencode-backup/x/1767323045-sub1", "rescued"))
	assert.Equal(t, []string{"changed\n", "new\n"}, []string{text(p.At("lib"), "x.txt"), text(p.At("lib"), "new.txt")})

	require.NoError(t, os.RemoveAll(filepath.Join(p.Base, "..", "lib.git")))
	dir = p.Make("y", "")
	assert.Equal(t, "one\n", text(dir, "a.txt"), "a submodule that cannot be had keeps nobody from working")
}

func survey(t *testing.T, p *place) {
	none, err := p.Repos.Survey(t.Context(), p.Clone)
	require.NoError(t, err)
	assert.Empty(t, none)
	p.Git("push", "--quiet", "origin", "main:refs/heads/far")
	require.NoError(t, p.Repos.Fetch(t.Context(), p.Clone, p.Access()))
	first := p.Head()

	p.Make("clean", "")
	dir := p.Make("dirty", "")
	p.Put(dir, "a.txt", "x")
	p.Put(dir, "new/one", "")
	p.Put(dir, "new/two", "")
	p.Put(dir, "x.log", "ignored")
	dir = p.Make("ahead", "far")
	p.Save(dir, "one")
	head := p.Save(dir, "two")
	p.Put(p.Dir, "z", "z")
	p.Commit("behind")
	p.Git("push", "--quiet", "origin", "main:far")
	require.NoError(t, p.Repos.Fetch(t.Context(), p.Clone, p.Access()))
	p.In(p.Clone, "worktree", "lock", "--reason", "for a test", p.Make("locked", ""))
	require.NoError(t, os.RemoveAll(p.Make("missing", "")))
	dir = p.Make("detached", "")
	p.In(dir, "checkout", "--quiet", "--detach")
	p.Make("wrecked", "")
	for _, want := range []sandboxport.Tree{
		{Directory: p.At("clean"), Branch: "sandbox/clean", Head: first},
		{Directory: p.At("dirty"), Branch: "sandbox/dirty", Head: first, Dirty: true, Changes: 2},
		{Directory: p.At("ahead"), Branch: "far", Head: head, Ahead: 2, Behind: 1, Unpushed: 2},
		{Directory: p.At("locked"), Branch: "sandbox/locked", Head: first, Locked: true},
		{Directory: p.At("missing"), Branch: "sandbox/missing", Head: first, Missing: true, Prunable: true},
		{Directory: p.At("detached"), Head: first},
	} {
		assert.Equal(t, want, p.Find(filepath.Base(want.Directory)))
	}
	require.NoError(t, os.WriteFile(filepath.Join(p.Clone, ".git", "worktrees", "wrecked", "index"), []byte("not an index"), 0o644))
	assert.Contains(t, p.Find("wrecked").Err, "index")
	assert.Equal(t, 2, p.Find("dirty").Changes, "one wreck keeps nobody else from being seen")
}

func surveyStrange(t *testing.T, p *place) {
	made, err := p.Repos.Plan(t.Context(), p.Clone, "x", "")
	require.NoError(t, err)
	dir := filepath.Join(p.Base, strange)
	_, err = p.Repos.Add(t.Context(), p.Clone, dir, made)
	require.NoError(t, err)
	p.Put(dir, strange, "x")
	found := p.Find(strange)
	assert.Equal(t, []any{dir, 1}, []any{found.Directory, found.Changes})

	dir = p.Make("rebase", "")
	p.Conflict(dir)
	found = p.Find("rebase")
	assert.Equal(t, []any{"sandbox/rebase", true, 1}, []any{found.Branch, found.Dirty, found.Unpushed})

	dir = p.Make("unborn", "")
	p.In(p.Clone, "update-ref", "-d", "refs/heads/sandbox/unborn")
	found = p.Find("unborn")
	assert.Equal(t, []any{"sandbox/unborn", "", ""}, []any{found.Branch, found.Head, found.Err}, "the branch was deleted under it")

	p.Make("led", "") // its .git says another repository is its own
	other := filepath.Join(p.Base, "..", "other")
	p.Git("init", "--quiet", other)
	require.NoError(t, os.WriteFile(filepath.Join(p.At("led"), ".git"), []byte("gitdir: "+filepath.Join(other, ".git")+"\n"), 0o644))
	found = p.Find("led")
	assert.Equal(t, []any{false, ""}, []any{found.Dirty, found.Err}, "git is not led elsewhere")

	_, err = p.Repos.Survey(t.Context(), t.TempDir())
	require.ErrorIs(t, err, sandbox.ErrGit)
	require.NoError(t, os.RemoveAll(dir))
}
