package worktree_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/internal/testkit/cputime"
	"github.com/countersign-dev/countersign/ports/sandboxport"
)

// atWork returns a place with a sandbox "one" whose branch has two commits of its own, and its directory.
func atWork(t *testing.T) (*place, string) {
	t.Helper()
	p := openPlace(t, newRepos(t), files)
	p.In(p.Clone, "config", "user.name", "Ada")
	p.In(p.Clone, "config", "user.email", "ada@example.com")
	dir := p.Make("one", "")
	p.Put(dir, "a.txt", "one\ntwo\n")
	p.Save(dir, "longer a")
	require.NoError(t, os.Rename(filepath.Join(dir, "dir", "c.txt"), filepath.Join(dir, "dir", "moved.txt")))
	p.Put(dir, strange, "odd\n")
	p.Save(dir, "c moves")
	return p, dir
}

// afresh puts clone and sandbox back to where they stood when it was called.
func (p *place) afresh(dir string) func() {
	base, head := p.In(p.Clone, "rev-parse", "HEAD"), p.In(dir, "rev-parse", "HEAD")
	return func() {
		p.t.Helper()
		for _, name := range []string{"MERGE_HEAD", "index.lock"} {
			_ = os.Remove(filepath.Join(p.Clone, ".git", name))
		}
		p.In(p.Clone, "checkout", "--quiet", "--force", "-B", "main", base)
		p.In(p.Clone, "clean", "--quiet", "-ffdx")
		p.In(dir, "checkout", "--quiet", "--force", "-B", "sandbox/one", head)
		p.In(dir, "clean", "--quiet", "-ffdx")
		for _, ref := range strings.Fields(p.In(p.Clone, "for-each-ref", "--format=%(refname)", "refs/opencode-backup")) {
			p.In(p.Clone, "update-ref", "-d", ref)
		}
	}
}

// onMain puts a commit on the clone's main, which then is no part of the sandbox.
func (p *place) onMain(name, text string) string {
	p.t.Helper()
	p.Put(p.Clone, name, text)
	return p.Save(p.Clone, "main: "+name)
}

func (p *place) plan(dir string, m sandboxport.Merge) (sandboxport.MergePlan, error) {
	m.Name, m.Dir, m.BaseRef, m.At = filepath.Base(dir), dir, "main", when()
	return p.Repos.PlanMerge(p.t.Context(), p.Clone, m)
}

func (p *place) planned(dir string, m sandboxport.Merge) sandboxport.MergePlan {
	p.t.Helper()
	plan, err := p.plan(dir, m)
	require.NoError(p.t, err)
	return plan
}

func unheeded(string) error { return nil }

// merged carries a plan out, and looks at what must hold after each: the files planned, a clean tree, the branch where it was said to be.
func (p *place) merged(plan sandboxport.MergePlan) sandboxport.MergeDone {
	p.t.Helper()
	told := ""
	done, err := p.Repos.Merge(p.t.Context(), p.Clone, plan, func(commit string) error {
		told = commit
		assert.Equal(p.t, plan.From, p.In(p.Clone, "rev-parse", plan.Branch), "told before anything is changed")
		return nil
	})
	require.NoError(p.t, err)
	assert.Equal(p.t, done.Commit, told)
	assert.Equal(p.t, []string{done.Commit, plan.Tree}, []string{p.In(p.Clone, "rev-parse", plan.Branch), p.In(p.Clone, "rev-parse", plan.Branch+"^{tree}")})
	if plan.Place != "" {
		assert.Empty(p.t, p.In(plan.Place, "status", "--porcelain", "--untracked-files=no"))
		assert.Equal(p.t, done.Commit, p.In(plan.Place, "rev-parse", "HEAD"))
	}
	return done
}

func TestComparingSeesEverything(t *testing.T) {
	p, dir := atWork(t)
	p.onMain("late.txt", "late\n")
	p.Put(dir, "b.txt", "changed\n")
	p.Put(dir, "new/file.txt", "new\n")
	p.Put(dir, "quiet.log", "ignored\n")
	require.NoError(t, os.Chmod(filepath.Join(dir, ".gitignore"), 0o755))
	index, err := os.ReadFile(filepath.Join(p.Clone, ".git", "worktrees", "one", "index"))
	require.NoError(t, err)
	objects := p.In(p.Clone, "count-objects", "-v")

	got, err := p.Repos.Compare(t.Context(), p.Clone, dir, sandboxport.Compare{BaseRef: "main", Lines: 1 << 20, Files: 100, Commits: 1})
	require.NoError(t, err)
	assert.Equal(t, []any{"main", "sandbox/one", 2, 1, 1, "c moves"}, []any{got.Base, got.Branch, got.Ahead, got.Behind, got.MoreCommits, got.Commits[0].Subject})
	assert.Equal(t, []string{" M .gitignore", " M b.txt", "?? new/file.txt"}, got.Uncommitted)
	assert.Equal(t, []sandboxport.ChangedFile{
		{Path: strange, Change: "added", Added: 1}, {Path: ".gitignore", Change: "changed", Mode: "100755"}, {Path: "a.txt", Change: "changed", Added: 1},
		{Path: "b.txt", Change: "changed", Added: 1, Deleted: 1}, {Path: "dir/moved.txt", From: "dir/c.txt", Change: "renamed"}, {Path: "new/file.txt", Change: "added", Added: 1},
	}, got.Files)
	assert.Equal(t, []int{6, 4, 1}, []int{got.FileCount, got.Added, got.Deleted})
	assert.Contains(t, got.Lines, "+++ b/new/file.txt\n@@ -0,0 +1 @@\n+new\n")
	assert.NotContains(t, got.Lines, "late.txt", "what only the base has is no change of the sandbox's")

	cut, err := p.Repos.Compare(t.Context(), p.Clone, dir, sandboxport.Compare{BaseRef: "main", Lines: 100, Files: 2, Paths: []string{"b.txt", "a.txt"}})
	require.NoError(t, err)
	assert.Equal(t, []any{2, true}, []any{cut.FileCount, cut.Cut})
	assert.LessOrEqual(t, len(cut.Lines), 100)
	assert.True(t, strings.HasSuffix(cut.Lines, "\n"), "whole lines")

	after, err := os.ReadFile(filepath.Join(p.Clone, ".git", "worktrees", "one", "index"))
	require.NoError(t, err)
	assert.Equal(t, index, after, "the index stays as it is")
	assert.Equal(t, objects, p.In(p.Clone, "count-objects", "-v"), "nothing is stored")
	_, err = p.Repos.Compare(t.Context(), p.Clone, dir, sandboxport.Compare{Base: "mian"})
	require.ErrorIs(t, err, sandbox.ErrBranch)
	assert.Contains(t, fault.From(err).Message, "main")
	_, err = p.Repos.Compare(t.Context(), p.Clone, p.Clone, sandboxport.Compare{})
	require.ErrorIs(t, err, sandbox.ErrArguments)
}

// TestMergeMethods: each way of taking over the work comes to the files that were planned, with the history that its name promises.
func TestMergeMethods(t *testing.T) {
	p, dir := atWork(t)
	afresh, first := p.afresh(dir), p.In(p.Clone, "rev-parse", "main")
	for name, test := range map[string]struct {
		method  sandboxport.MergeMethod
		diverge bool
		want    sandboxport.MergeMethod
		commits int // on main since the first one
		subject string
	}{
		"forward":         {"", false, sandboxport.MergeForward, 2, "c moves"},
		"merge":           {"", true, sandboxport.MergeCommit, 4, "Merge sandbox one into main"},
		"squash":          {sandboxport.MergeSquash, true, sandboxport.MergeSquash, 2, "Sandbox one"},
		"squash at once":  {sandboxport.MergeSquash, false, sandboxport.MergeSquash, 1, "Sandbox one"},
		"rebase":          {sandboxport.MergeRebase, true, sandboxport.MergeRebase, 3, "c moves"},
		"rebase, forward": {sandboxport.MergeRebase, false, sandboxport.MergeForward, 2, "c moves"},
	} {
		t.Run(name, func(t *testing.T) {
			afresh()
			if test.diverge {
				p.onMain("late.txt", "late\n")
			}
			p.Put(p.Clone, "mine.txt", "not git's\n")
			before, objects := p.Traces(), p.In(p.Clone, "count-objects", "-v")
			plan := p.planned(dir, sandboxport.Merge{Method: test.method})
			assert.Equal(t, before+objects, p.Traces()+p.In(p.Clone, "count-objects", "-v"), "planning changes nothing, and stores nothing")
			assert.Equal(t, []any{test.want, "main", "sandbox/one", p.Clone, 2, 3}, []any{plan.Method, plan.Branch, plan.Other, plan.Place, len(plan.Commits), len(plan.Files)})
			lines, left, err := p.Repos.MergedLines(t.Context(), p.Clone, plan, 1<<20)
			require.NoError(t, err)
			require.Equal(t, []int{3, 0}, []int{len(lines), left})
			assert.Equal(t, "a.txt", lines[1].Path)
			assert.Contains(t, lines[1].Unified, "+two\n")
			_, left, err = p.Repos.MergedLines(t.Context(), p.Clone, plan, 300)
			require.NoError(t, err)
			assert.Positive(t, left, "what does not fit is counted")

			p.merged(plan)
			assert.Equal(t, []string{"one\ntwo\n", "odd\n", "c\n", "", "not git's\n"}, []string{text(p.Clone, "a.txt"), text(p.Clone, strange), text(p.Clone, "dir/moved.txt"), text(p.Clone, "dir/c.txt"), text(p.Clone, "mine.txt")})
			assert.Equal(t, []string{test.subject, "Ada"}, strings.Split(p.In(p.Clone, "log", "-1", "--format=%s%n%an", "main"), "\n"))
			assert.Len(t, strings.Fields(p.In(p.Clone, "rev-list", first+"..main")), test.commits)
			if test.diverge {
				assert.Equal(t, "late\n", text(p.Clone, "late.txt"))
			}
			again := p.planned(dir, sandboxport.Merge{Method: test.method})
			if test.want == sandboxport.MergeSquash || test.want == sandboxport.MergeRebase {
				again = p.planned(dir, sandboxport.Merge{Method: sandboxport.MergeSquash})
			}
			assert.Equal(t, sandboxport.MergeNothing, again.Method, "there is nothing left to merge")
		})
	}
}

// TestRebaseKeepsWhoWroteWhat: author, date and every byte of the message; what the base has already is left out.
func TestRebaseKeepsWhoWroteWhat(t *testing.T) {
	p := openPlace(t, newRepos(t), files)
	dir := p.Make("one", "")
	p.Put(dir, "b.txt", "both\n")
	p.Save(dir, "there already")
	p.Put(dir, "new.txt", "new\n")
	p.In(dir, "add", "--all")
	p.In(dir, "-c", "i18n.commitEncoding=ISO-8859-1", "commit", "--quiet", "--cleanup=verbatim", "--author=Grace <grace@example.com>", "--date=@1000000000 +0300", "--message=caf\xe9\n\n\n  trailing  ")
	p.onMain("b.txt", "both\n")
	p.merged(p.planned(dir, sandboxport.Merge{Method: sandboxport.MergeRebase}))
	own := func(commit string) string {
		raw := p.In(p.Clone, "cat-file", "commit", commit)
		_, raw, _ = strings.Cut(raw, "author ")
		author, rest, _ := strings.Cut(raw, "\ncommitter ")
		_, rest, _ = strings.Cut(rest, "\n")
		return author + rest
	}
	assert.Equal(t, own("sandbox/one"), own("main"))
	assert.Equal(t, "main: b.txt", p.In(p.Clone, "log", "-1", "--format=%s", "main^"))
}

func TestMergeRefuses(t *testing.T) {
	p, dir := atWork(t)
	afresh := p.afresh(dir)
	for name, test := range map[string]struct {
		prepare func(p *place, dir string) sandboxport.Merge
		kind    error
		says    []string
	}{
		"a dirty base": {func(p *place, _ string) sandboxport.Merge {
			p.Put(p.Clone, "b.txt", "mine\n")
			return sandboxport.Merge{}
		}, sandbox.ErrBaseDirty, []string{"main", "commit or stash them", "b.txt"}},
		"a base in the middle of something": {func(p *place, _ string) sandboxport.Merge {
			p.Put(p.Clone, ".git/MERGE_HEAD", p.In(p.Clone, "rev-parse", "HEAD")+"\n")
			return sandboxport.Merge{}
		}, sandbox.ErrBaseDirty, []string{"git merge --abort"}},
		"a file in the way": {func(p *place, _ string) sandboxport.Merge {
			p.Put(p.Clone, "dir/moved.txt", "mine\n")
			return sandboxport.Merge{}
		}, sandbox.ErrBaseDirty, []string{"dir/moved.txt", "move them away"}},
		"an ignored file in the way": {func(p *place, dir string) sandboxport.Merge {
			p.Put(p.Clone, "x.log", "mine\n")
			p.Put(dir, "x.log", "theirs\n")
			p.In(dir, "add", "--force", "x.log")
			p.Save(dir, "x")
			return sandboxport.Merge{}
		}, sandbox.ErrBaseDirty, []string{"x.log"}},
		"conflicts": {func(p *place, _ string) sandboxport.Merge {
			p.onMain("a.txt", "three\n")
			return sandboxport.Merge{}
		}, sandbox.ErrConflicts, []string{"a.txt", "contents", "nothing was changed", "git merge main"}},
		"conflicts of a rebase": {func(p *place, _ string) sandboxport.Merge {
			p.onMain("a.txt", "three\n")
			return sandboxport.Merge{Method: sandboxport.MergeRebase}
		}, sandbox.ErrConflicts, []string{"a.txt", "at commit "}},
		"changes that are not committed": {func(p *place, dir string) sandboxport.Merge {
			p.Put(dir, "new.txt", "new\n")
			return sandboxport.Merge{}
		}, sandbox.ErrUncommitted, []string{"new.txt", "committed_only"}},
		"an update over changes": {func(p *place, dir string) sandboxport.Merge {
			p.onMain("b.txt", "late\n")
			p.Put(dir, "a.txt", "mine\n")
			return sandboxport.Merge{Update: true}
		}, sandbox.ErrUncommitted, []string{"a.txt"}},
		"a branch of the remote": {func(*place, string) sandboxport.Merge { return sandboxport.Merge{Base: "origin/main"} }, sandbox.ErrArguments, []string{"origin/main"}},
		"its own branch":         {func(*place, string) sandboxport.Merge { return sandboxport.Merge{Base: "sandbox/one"} }, sandbox.ErrArguments, []string{"sandbox/one"}},
		"no such branch":         {func(*place, string) sandboxport.Merge { return sandboxport.Merge{Base: "mian"} }, sandbox.ErrBranch, []string{"main"}},
		"an option":              {func(*place, string) sandboxport.Merge { return sandboxport.Merge{Base: "--exec=x"} }, sandbox.ErrBranch, nil},
	} {
		t.Run(name, func(t *testing.T) {
			afresh()
			m := test.prepare(p, dir)
			before, objects := p.Traces(), p.In(p.Clone, "count-objects", "-v")
			_, err := p.plan(dir, m)
			require.ErrorIs(t, err, test.kind)
			f := fault.From(err)
			said := f.Message + strings.Join(strings.Fields(jsonOf(t, f.Details)), " ")
			for _, word := range test.says {
				assert.Contains(t, said, word)
			}
			assert.Equal(t, before+objects, p.Traces()+p.In(p.Clone, "count-objects", "-v"))
		})
	}
}

// TestMergeIsWhatWasPlanned: once either side has moved, or the base has changes, nothing is done.
func TestMergeIsWhatWasPlanned(t *testing.T) {
	p, dir := atWork(t)
	afresh := p.afresh(dir)
	for name, test := range map[string]struct {
		change func(p *place, dir string)
		kind   error
	}{
		"the base moved":     {func(p *place, _ string) { p.onMain("b.txt", "late\n") }, sandbox.ErrMoved},
		"the sandbox moved":  {func(p *place, dir string) { p.Put(dir, "more", "more\n"); p.Save(dir, "more") }, sandbox.ErrMoved},
		"the base is dirty":  {func(p *place, _ string) { p.Put(p.Clone, "b.txt", "mine\n") }, sandbox.ErrBaseDirty},
		"the base went away": {func(p *place, _ string) { p.In(p.Clone, "checkout", "--quiet", "-b", "other") }, sandbox.ErrMoved},
	} {
		t.Run(name, func(t *testing.T) {
			afresh()
			plan := p.planned(dir, sandboxport.Merge{})
			test.change(p, dir)
			was, a := p.In(p.Clone, "rev-parse", "main"), text(p.Clone, "a.txt")
			_, err := p.Repos.Merge(t.Context(), p.Clone, plan, func(string) error { return errors.New("told that it begins") })
			require.ErrorIs(t, err, test.kind)
			assert.Equal(t, []string{was, a}, []string{p.In(p.Clone, "rev-parse", "main"), text(p.Clone, "a.txt")})
		})
	}
}

func TestUncommittedWorkMayStay(t *testing.T) {
	p, dir := atWork(t)
	then := when()
	require.NoError(t, os.Chtimes(filepath.Join(p.Clone, "a.txt"), then, then)) // touched is not changed
	p.Put(dir, "rough.txt", "rough\n")
	plan := p.planned(dir, sandboxport.Merge{CommittedOnly: true})
	assert.Equal(t, []string{"?? rough.txt"}, plan.Left)
	p.merged(plan)
	assert.Equal(t, []string{"rough\n", ""}, []string{text(dir, "rough.txt"), text(p.Clone, "rough.txt")})
}

// TestBaseThatIsNowhere: a branch that no directory has is moved, and nothing else.
func TestBaseThatIsNowhere(t *testing.T) {
	p, dir := atWork(t)
	p.In(p.Clone, "branch", "release", "main")
	plan := p.planned(dir, sandboxport.Merge{Base: "release"})
	assert.Equal(t, []string{"release", ""}, []string{plan.Branch, plan.Place})
	p.merged(plan)
	assert.Equal(t, "one\n", text(p.Clone, "a.txt"))
	other := p.Make("two", "release")
	plan = p.planned(dir, sandboxport.Merge{Base: "release"})
	assert.Equal(t, sandboxport.MergeNothing, plan.Method)
	p.Put(dir, "more.txt", "more\n")
	p.Save(dir, "more")
	plan = p.planned(dir, sandboxport.Merge{Base: "release"})
	assert.Equal(t, other, plan.Place, "another sandbox has it")
	p.merged(plan)
	assert.Equal(t, "more\n", text(other, "more.txt"))
}

func TestUpdate(t *testing.T) {
	p, dir := atWork(t)
	afresh := p.afresh(dir)
	for name, method := range map[string]sandboxport.MergeMethod{"merge": sandboxport.MergeCommit, "rebase": sandboxport.MergeRebase} {
		t.Run(name, func(t *testing.T) {
			afresh()
			old := p.In(dir, "rev-parse", "HEAD")
			p.onMain("late.txt", "late\n")
			p.Put(dir, "rough.txt", "rough\n")
			plan := p.planned(dir, sandboxport.Merge{Update: true, Method: method})
			assert.Equal(t, []any{method, "sandbox/one", "main", dir, 1, 1}, []any{plan.Method, plan.Branch, plan.Other, plan.Place, len(plan.Commits), len(plan.Files)})
			done := p.merged(plan)
			assert.Equal(t, []string{"late\n", "one\ntwo\n", "rough\n"}, []string{text(dir, "late.txt"), text(dir, "a.txt"), text(dir, "rough.txt")})
			if method == sandboxport.MergeCommit {
				assert.Empty(t, done.Backups)
				return
			}
			require.Len(t, done.Backups, 1)
			assert.Equal(t, old, p.In(p.Clone, "rev-parse", done.Backups[0]), "the commits as they were are kept")
			assert.Equal(t, sandboxport.MergeForward, p.planned(dir, sandboxport.Merge{CommittedOnly: true}).Method)
		})
	}
	t.Run("from the remote where that is ahead", func(t *testing.T) {
		afresh()
		p.Put(p.Dir, "afar.txt", "afar\n")
		p.Commit("afar")
		p.Git("push", "--quiet", "origin", "main")
		require.NoError(t, p.Repos.Fetch(t.Context(), p.Clone, p.Access()))
		assert.Equal(t, 1, p.planned(dir, sandboxport.Merge{}).Behind, "a merge says that its base is behind")
		plan := p.planned(dir, sandboxport.Merge{Update: true})
		assert.Equal(t, "origin/main", plan.Other)
		p.merged(plan)
		assert.Equal(t, "afar\n", text(dir, "afar.txt"))
	})
}

// TestFinishMerge: killed before, between and after its two steps, a merge is finished, and what lies in the way is kept.
func TestFinishMerge(t *testing.T) {
	p, dir := atWork(t)
	afresh := p.afresh(dir)
	for name, test := range map[string]struct {
		killed func(p *place, plan sandboxport.MergePlan, commit string)
		backup bool
	}{
		"before the files": {func(*place, sandboxport.MergePlan, string) {}, false},
		"between the two": {func(p *place, plan sandboxport.MergePlan, commit string) {
			p.In(p.Clone, "read-tree", "-m", "-u", plan.From, commit)
		}, true},
		"after half of a file": {func(p *place, _ sandboxport.MergePlan, _ string) {
			p.Put(p.Clone, "a.txt", "one\ntw")
			p.Put(p.Clone, "dir/moved.txt", "c")
			p.Put(p.Clone, ".git/index.lock", "")
			require.NoError(p.t, os.Chtimes(filepath.Join(p.Clone, ".git", "index.lock"), when(), when().Add(time.Second)))
		}, true},
		"after both": {func(p *place, plan sandboxport.MergePlan, commit string) {
			p.In(p.Clone, "reset", "--quiet", "--hard", commit)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			afresh()
			p.onMain("late.txt", "late\n")
			plan := p.planned(dir, sandboxport.Merge{})
			commit := ""
			_, err := p.Repos.Merge(t.Context(), p.Clone, plan, func(c string) error { commit = c; return context.Canceled })
			require.ErrorIs(t, err, context.Canceled)
			require.Equal(t, plan.From, p.In(p.Clone, "rev-parse", "main"), "nobody was told, so nothing is changed")
			test.killed(p, plan, commit)
			require.NoError(t, p.Repos.FinishMerge(t.Context(), p.Clone, plan, commit))
			assert.Equal(t, []string{commit, "", "one\ntwo\n", "c\n", ""}, []string{p.In(p.Clone, "rev-parse", "main"), p.In(p.Clone, "status", "--porcelain"), text(p.Clone, "a.txt"), text(p.Clone, "dir/moved.txt"), text(p.Clone, "dir/c.txt")})
			kept, err := p.Repos.Backups(t.Context(), p.Clone)
			require.NoError(t, err)
			assert.Equal(t, test.backup, len(kept) > 0)
			require.NoError(t, p.Repos.FinishMerge(t.Context(), p.Clone, plan, commit), "it can be repeated")
		})
	}
	t.Run("another commit than the planned one", func(t *testing.T) {
		afresh()
		p.onMain("late.txt", "late\n")
		plan := p.planned(dir, sandboxport.Merge{})
		for _, commit := range []string{p.In(dir, "rev-parse", "HEAD"), p.In(p.Clone, "commit-tree", "sandbox/one^{tree}", "-m", "x"), strings.Repeat("1", 40), "--force", ""} {
			require.NoError(t, p.Repos.FinishMerge(t.Context(), p.Clone, plan, commit))
			assert.Equal(t, plan.From, p.In(p.Clone, "rev-parse", "main"))
		}
	})
	t.Run("other changes stay", func(t *testing.T) {
		afresh()
		p.onMain("late.txt", "late\n")
		plan := p.planned(dir, sandboxport.Merge{})
		commit := ""
		_, err := p.Repos.Merge(t.Context(), p.Clone, plan, func(c string) error { commit = c; return context.Canceled })
		require.Error(t, err)
		p.Put(p.Clone, "late.txt", "edited since\n")
		require.NoError(t, p.Repos.FinishMerge(t.Context(), p.Clone, plan, commit))
		assert.Equal(t, []string{commit, "edited since\n", "one\ntwo\n"}, []string{p.In(p.Clone, "rev-parse", "main"), text(p.Clone, "late.txt"), text(p.Clone, "a.txt")})
	})
}

// BenchmarkMerge compares a merge that changes 1,000 of 10,000 files, planned and carried out, with git merge, turn by turn: ratio must stay below 1.5.
func BenchmarkMerge(b *testing.B) {
	p := wide(b, 10_000)
	dir := p.Make("one", "")
	names := strings.Split(p.In(dir, "ls-files"), "\n")
	for i := 0; i < 1000; i++ {
		p.Put(dir, names[i*9], "another text\nof two lines\n")
	}
	p.Save(dir, "work")
	p.onMain("late.txt", "late\n")
	start := p.In(p.Clone, "rev-parse", "main")
	var ours, theirs, busy, floor time.Duration
	for b.Loop() {
		began, used := time.Now(), cputime.All()
		bare(b, p.Clone, "-c", "user.name=A", "-c", "user.email=a@x", "merge", "--no-edit", "sandbox/one")
		theirs, floor = theirs+time.Since(began), floor+cputime.All()-used
		p.In(p.Clone, "reset", "--quiet", "--hard", start)
		began, used = time.Now(), cputime.All()
		plan, err := p.Repos.PlanMerge(b.Context(), p.Clone, sandboxport.Merge{Name: "one", Dir: dir, BaseRef: "main", At: when()})
		require.NoError(b, err)
		_, err = p.Repos.Merge(b.Context(), p.Clone, plan, unheeded)
		require.NoError(b, err)
		ours, busy = ours+time.Since(began), busy+cputime.All()-used
		p.In(p.Clone, "reset", "--quiet", "--hard", start)
	}
	b.ReportMetric(float64(busy)/float64(floor), "cpu-ratio")
	b.ReportMetric(float64(ours)/float64(theirs), "ratio")
	b.ReportMetric(float64(theirs.Milliseconds())/float64(b.N), "git-ms")
}
