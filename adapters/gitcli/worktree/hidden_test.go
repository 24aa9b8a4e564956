package worktree_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/ports/sandboxport"
)

// look returns what an archive asks about a sandbox.
func look(name, dir string) sandboxport.Merge {
	return sandboxport.Merge{Name: name, Dir: dir, BaseRef: "main", Method: sandboxport.MergeSquash, Look: true, At: when()}
}

// TestMarkedFilesAreWork: git is told not to look into them, and they are kept all the same.
func TestMarkedFilesAreWork(t *testing.T) {
	p := openPlace(t, newRepos(t), files)
	for _, mark := range []string{"assume-unchanged", "skip-worktree"} {
		dir := p.Make(mark, "")
		p.In(dir, "update-index", "--"+mark, "a.txt", "b.txt")
		if mark == "skip-worktree" { // as a sparse checkout leaves files out
			require.NoError(t, os.Remove(filepath.Join(dir, "b.txt")))
		}
		_, err := p.Repos.PlanMerge(t.Context(), p.Clone, look(mark, dir))
		require.NoError(t, err, "nothing was changed")

		p.Put(dir, "a.txt", "mine\n")
		require.Empty(t, p.In(dir, "status", "--porcelain"))
		_, err = p.Repos.PlanMerge(t.Context(), p.Clone, look(mark, dir))
		require.ErrorIs(t, err, sandbox.ErrUncommitted)
		losses, err := p.Repos.Losses(t.Context(), p.Clone, []string{dir})
		require.NoError(t, err)
		require.Len(t, losses, 1)
		assert.Equal(t, []string{" M a.txt"}, losses[0].Changes)
		compared, err := p.Repos.Compare(t.Context(), p.Clone, dir, sandboxport.Compare{BaseRef: "main", Files: 9, Lines: 1 << 20})
		require.NoError(t, err)
		assert.Contains(t, compared.Lines, "+mine\n")
		_, err = p.Repos.Remove(t.Context(), p.Clone, dir, sandboxport.Removal{Name: mark, Branch: "sandbox/" + mark, DeleteBranch: true, At: when()})
		require.ErrorIs(t, err, sandbox.ErrDirty)

		done, err := p.Repos.Reset(t.Context(), p.Clone, dir, again(mark))
		require.NoError(t, err)
		require.Len(t, done.Backups, 1)
		assert.Equal(t, "mine", p.In(p.Clone, "show", done.Backups[0]+":a.txt"))
		assert.Equal(t, "b", p.In(p.Clone, "show", done.Backups[0]+":b.txt"), "a file that was left out is not taken for deleted")
		assert.Equal(t, "one\n", text(dir, "a.txt"))

		p.Put(dir, "a.txt", "mine again\n")
		p.In(dir, "update-index", "--"+mark, "a.txt")
		removal := force(mark, "sandbox/"+mark)
		removal.At = when().Add(1e9)
		kept, err := p.Repos.Remove(t.Context(), p.Clone, dir, removal)
		require.NoError(t, err)
		require.Len(t, kept, 1)
		assert.Equal(t, "mine again", p.In(p.Clone, "show", kept[0]+":a.txt"))
	}
}

// TestRepositoriesInASandboxAreWork: also those that are ignored, with every commit of their own and what is not committed; what their remotes have is
// not kept again.
func TestRepositoriesInASandboxAreWork(t *testing.T) {
	p := openPlace(t, newRepos(t), files)
	dir := p.Make("x", "")
	p.Git("clone", "--quiet", p.Remote, filepath.Join(dir, "node_modules", "copy"))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "node_modules", "broken", ".git"), 0o755))
	_, err := p.Repos.PlanMerge(t.Context(), p.Clone, look("x", dir))
	require.NoError(t, err, "its remote has all of it")

	own := filepath.Join(dir, "node_modules", "own")
	p.Git("init", "--quiet", "--initial-branch=main", own)
	p.Put(own, "work", "first\n")
	first := p.Save(own, "own work")
	p.In(own, "checkout", "--quiet", "-b", "side")
	side := p.Save(own, "on the side")
	p.In(own, "checkout", "--quiet", "main")
	main := p.Save(own, "more work")
	p.Put(own, "work", "not committed\n")
	require.Empty(t, p.In(dir, "status", "--porcelain"))

	_, err = p.Repos.PlanMerge(t.Context(), p.Clone, look("x", dir))
	require.ErrorIs(t, err, sandbox.ErrUncommitted)
	merge := look("x", dir)
	merge.Look = false
	_, err = p.Repos.PlanMerge(t.Context(), p.Clone, merge)
	require.NoError(t, err, "a merge leaves it alone")
	losses, err := p.Repos.Losses(t.Context(), p.Clone, []string{dir})
	require.NoError(t, err)
	require.Len(t, losses, 1)
	assert.Equal(t, []string{"!! node_modules/own/"}, losses[0].Changes)
	told := strings.Join(losses[0].Commits, "\n")
	for _, subject := range []string{"own work", "on the side", "more work"} {
		assert.Contains(t, told, subject)
	}
	_, err = p.Repos.Remove(t.Context(), p.Clone, dir, sandboxport.Removal{Name: "x", Branch: "sandbox/x", DeleteBranch: true, At: when()})
	require.ErrorIs(t, err, sandbox.ErrDirty)
	done, err := p.Repos.Reset(t.Context(), p.Clone, dir, again("x"))
	require.NoError(t, err)
	assert.Empty(t, done.Backups, "a reset leaves what is ignored where it is")

	kept, err := p.Repos.Remove(t.Context(), p.Clone, dir, force("x", "sandbox/x"))
	require.NoError(t, err)
	p.Gone("x", "sandbox/x")
	var commits []string
	for _, ref := range kept {
		commits = append(commits, p.In(p.Clone, "rev-parse", ref))
	}
	assert.Subset(t, commits, []string{main, side})
	require.Len(t, kept, 3)
	p.In(p.Clone, "merge-base", "--is-ancestor", first, main)
	assert.Equal(t, "not committed", p.In(p.Clone, "show", kept[0]+":work"))
	listed, err := p.Repos.Backups(t.Context(), p.Clone)
	require.NoError(t, err)
	assert.Len(t, listed, 3)
}
