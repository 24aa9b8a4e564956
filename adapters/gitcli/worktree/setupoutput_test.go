package worktree_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/ports/sandboxport"
)

// TestWhatASetUpMadeIsNoWork: as long as it is as the set-up left it, and no longer.
func TestWhatASetUpMadeIsNoWork(t *testing.T) {
	p := openPlace(t, newRepos(t), files)
	dir := p.Make("one", "")
	losses := func() (changes []string) {
		t.Helper()
		found, err := p.Repos.Losses(t.Context(), p.Clone, []string{dir})
		require.NoError(t, err)
		for _, l := range found {
			changes = append(changes, l.Changes...)
		}
		return changes
	}
	compare := func() sandboxport.Comparison {
		t.Helper()
		found, err := p.Repos.Compare(t.Context(), p.Clone, dir, sandboxport.Compare{BaseRef: "main", Files: 9, Lines: 1 << 20})
		require.NoError(t, err)
		return found
	}
	p.Put(dir, "a.txt", "set up\n")
	require.NoError(t, os.Remove(filepath.Join(dir, "b.txt")))
	p.Put(dir, "gen/x.txt", "x\n")
	p.Put(dir, "gen/"+strange, "y\n")
	require.NoError(t, os.Symlink("gen", filepath.Join(dir, "link")))
	require.Len(t, losses(), 5)
	require.NoError(t, p.Repos.RecordSetup(t.Context(), p.Clone, dir))

	assert.Empty(t, losses())
	found := compare()
	assert.Equal(t, []any{0, 5, []string{}, ""}, []any{found.FileCount, found.Setup, found.Uncommitted, found.Lines})
	trees, err := p.Repos.Survey(t.Context(), p.Clone)
	require.NoError(t, err)
	assert.False(t, trees[0].Dirty)
	_, err = p.Repos.PlanMerge(t.Context(), p.Clone, look("one", dir))
	require.NoError(t, err, "it can be archived")

	p.Put(dir, "gen/z.txt", "beside it\n")
	assert.Equal(t, []string{"?? gen/z.txt"}, losses())
	require.NoError(t, os.Remove(filepath.Join(dir, "gen", "z.txt")))
	for name, change := range map[string]func(){
		" M a.txt":     func() { p.Put(dir, "a.txt", "by hand\n") },
		"?? gen/x.txt": func() { require.NoError(t, os.Chmod(filepath.Join(dir, "gen", "x.txt"), 0o755)) },
		" M b.txt":     func() { p.Put(dir, "b.txt", "again\n") },
		"?? link":      func() { relink(t, dir) },
	} {
		change()
		assert.Contains(t, losses(), name)
	}
	found = compare()
	assert.Contains(t, found.Lines, "+by hand\n")
	assert.Equal(t, 1, found.Setup, "the other file in gen")
	_, err = p.Repos.Remove(t.Context(), p.Clone, dir, sandboxport.Removal{Name: "one", Branch: "sandbox/one", DeleteBranch: true, At: when()})
	require.ErrorIs(t, err, sandbox.ErrDirty)
	kept, err := p.Repos.Remove(t.Context(), p.Clone, dir, force("one", "sandbox/one"))
	require.NoError(t, err)
	require.Len(t, kept, 1)
	assert.Equal(t, "by hand", p.In(p.Clone, "show", kept[0]+":a.txt"))
}

// TestWhatWasWrittenDuringASetUpIsBackedUp: the record of a set-up cannot tell who wrote a file.
func TestWhatWasWrittenDuringASetUpIsBackedUp(t *testing.T) {
	p := openPlace(t, newRepos(t), files)
	made := func(name string) string {
		t.Helper()
		dir := p.Make(name, "")
		p.Put(dir, "mine.txt", "by hand\n")
		p.Put(dir, "a.txt", "by hand, too\n")
		require.NoError(t, p.Repos.RecordSetup(t.Context(), p.Clone, dir))
		return dir
	}
	dir := made("one")
	kept, err := p.Repos.Remove(t.Context(), p.Clone, dir, sandboxport.Removal{Name: "one", Branch: "sandbox/one", DeleteBranch: true, At: when()})
	require.NoError(t, err)
	require.Len(t, kept, 1)
	require.NoError(t, p.Repos.Restore(t.Context(), p.Clone, dir, kept[0], "sandbox/one"))
	assert.Equal(t, []string{"by hand\n", "by hand, too\n"}, []string{text(dir, "mine.txt"), text(dir, "a.txt")})

	dir = made("two")
	all, err := p.Repos.Losses(t.Context(), p.Clone, nil)
	require.NoError(t, err)
	assert.Len(t, all, 2, "no backup outlives the clone")
	done, err := p.Repos.Reset(t.Context(), p.Clone, dir, sandboxport.Reset{Name: "two", At: when()})
	require.NoError(t, err)
	assert.Len(t, done.Backups, 1)

	dir = made("big")
	p.Put(dir, "big.bin", "")
	require.NoError(t, os.Truncate(filepath.Join(dir, "big.bin"), 32<<20+1))
	require.NoError(t, p.Repos.RecordSetup(t.Context(), p.Clone, dir))
	_, err = p.Repos.Remove(t.Context(), p.Clone, dir, sandboxport.Removal{Name: "big", Branch: "sandbox/big", DeleteBranch: true, At: when()})
	require.ErrorIs(t, err, sandbox.ErrDirty, "too much to be copied unasked")
	require.ErrorContains(t, err, "the setup (.worktreesetup) created 3 of the changes, more than 32 MiB")
	losses, err := p.Repos.Losses(t.Context(), p.Clone, []string{dir})
	require.NoError(t, err)
	assert.Equal(t, []string{" M a.txt", "?? big.bin", "?? mine.txt"}, losses[0].Changes)
	assert.Equal(t, 3, losses[0].SetUp)
	_, err = p.Repos.PlanMerge(t.Context(), p.Clone, look("big", dir))
	require.ErrorIs(t, err, sandbox.ErrUncommitted, "an archive does not ask either")
}

func relink(t *testing.T, dir string) {
	t.Helper()
	require.NoError(t, os.Remove(filepath.Join(dir, "link")))
	require.NoError(t, os.Symlink("elsewhere", filepath.Join(dir, "link")))
}

// TestASurveySeesMarkedFiles: git is told not to look into them.
func TestASurveySeesMarkedFiles(t *testing.T) {
	p := openPlace(t, newRepos(t), files)
	dir := p.Make("one", "")
	p.In(dir, "update-index", "--assume-unchanged", "a.txt")
	p.Put(dir, "a.txt", "mine\n")
	trees, err := p.Repos.Survey(t.Context(), p.Clone)
	require.NoError(t, err)
	assert.Equal(t, 1, trees[0].Changes)
}

// TestAPushIntoAWorkingTree: a branch that is checked out there is refused with a way out.
func TestAPushIntoAWorkingTree(t *testing.T) {
	p, dir := atWork(t)
	other := filepath.Join(t.TempDir(), "shop")
	p.In(p.Clone, "clone", "--quiet", p.Remote, other)
	p.In(other, "checkout", "--quiet", "-b", "sandbox/one")
	there := sandboxport.Access{URL: "file://" + other}
	plan, err := p.Repos.PlanPush(t.Context(), p.Clone, there, dir, "")
	require.NoError(t, err)
	err = p.Repos.Push(t.Context(), p.Clone, there, plan)
	require.ErrorIs(t, err, sandbox.ErrCheckedOut)
	assert.ErrorContains(t, err, "countersign sandbox apply")
}
