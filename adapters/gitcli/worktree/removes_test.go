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

// Mess leaves work of every kind in a worktree, on top of a commit that no remote has, and returns that commit.
func (p *place) Mess(dir string) string {
	p.t.Helper()
	p.Put(dir, "committed.txt", "committed\n")
	head := p.Save(dir, "only here")
	p.Put(dir, "a.txt", "staged\n")
	p.Put(dir, "staged.txt", "new and staged\n")
	p.In(dir, "add", "--", "a.txt", "staged.txt")
	p.Put(dir, "a.txt", "and changed again\n")
	require.NoError(p.t, os.Remove(filepath.Join(dir, "b.txt")))
	p.Put(dir, strange, "untracked\n")
	p.Put(dir, "deep/er/x", "untracked too\n")
	require.NoError(p.t, os.Chmod(filepath.Join(dir, "deep/er/x"), 0o755))
	p.Put(dir, "x.log", "ignored\n")
	return head
}

// Messy asserts that all of it is there.
func (p *place) Messy(dir, head string) {
	p.t.Helper()
	assert.Equal(p.t, head, p.In(dir, "rev-parse", "HEAD"))
	assert.Equal(p.t, "MM a.txt\n D b.txt\nA  staged.txt\n?? \"-n \\\"q\\\"\\n\\t\\303\\274 \\346\\227\\245\"\n?? deep/", p.In(dir, "status", "--porcelain"))
	assert.Equal(p.t, "staged", p.In(dir, "show", ":a.txt"))
	assert.Equal(p.t, []string{"and changed again\n", "untracked\n", "untracked too\n", ""}, []string{text(dir, "a.txt"), text(dir, strange), text(dir, "deep/er/x"), text(dir, "b.txt")})
	info, err := os.Stat(filepath.Join(dir, "deep/er/x"))
	require.NoError(p.t, err)
	assert.Equal(p.t, os.FileMode(0o755), info.Mode().Perm())
}

func remove(t *testing.T, p *place) {
	p.Make("clean", "")
	backups, err := p.Repos.Remove(t.Context(), p.Clone, p.At("clean"), sandboxport.Removal{Name: "clean", Branch: "sandbox/clean", DeleteBranch: true, At: when()})
	require.NoError(t, err)
	assert.Empty(t, backups, "nothing was lost")
	p.Gone("clean", "sandbox/clean")

	head := p.Mess(p.Make("x", ""))
	backups, err = p.Repos.Remove(t.Context(), p.Clone, p.At("x"), force("x", "sandbox/x"))
	require.NoError(t, err)
	assert.Equal(t, []string{"refs/opencode-backup/x/1767323045", "refs/opencode-backup/x/1767323045-stash"}, backups)
	p.Gone("x", "sandbox/x")
	listed, err := p.Repos.Backups(t.Context(), p.Clone)
	require.NoError(t, err)
	assert.Equal(t, []sandboxport.Backup{
		{Ref: backups[0], Sandbox: "x", Commit: head, At: when()},
		{Ref: backups[1], Sandbox: "x", Commit: p.In(p.Clone, "rev-parse", backups[1]), Stash: true, At: when()},
	}, listed)
	for i, ref := range backups {
		dir := p.At("again" + string(rune('0'+i)))
		require.NoError(t, p.Repos.Restore(t.Context(), p.Clone, dir, ref, "rescued-"+string(rune('0'+i))))
		p.Messy(dir, head)
	}
	dir := p.Make("by-hand", "")
	p.In(dir, "reset", "--quiet", "--hard", head)
	p.In(dir, "stash", "apply", "--quiet", "--index", backups[1])
	p.Messy(dir, head)

	p.Make("kept", "")
	p.Save(p.At("kept"), "on a branch that stays")
	backups, err = p.Repos.Remove(t.Context(), p.Clone, p.At("kept"), sandboxport.Removal{Name: "kept", Branch: "sandbox/kept", At: when()})
	require.NoError(t, err)
	assert.Empty(t, backups)
	assert.NotEmpty(t, p.In(p.Clone, "rev-parse", "refs/heads/sandbox/kept"))

	p.In(p.Make("moved", ""), "checkout", "--quiet", "--detach")
	loose := p.Save(p.At("moved"), "on no branch")
	p.In(p.Clone, "branch", "--force", "sandbox/moved", p.Save(p.Make("another", ""), "on the branch"))
	backups, err = p.Repos.Remove(t.Context(), p.Clone, p.At("moved"), force("moved", "sandbox/moved"))
	require.NoError(t, err)
	assert.Equal(t, []string{"refs/opencode-backup/moved/1767323045", "refs/opencode-backup/moved/1767323045-branch"}, backups)
	assert.Equal(t, loose, p.In(p.Clone, "rev-parse", backups[0]))
}

func removeRefuses(t *testing.T, p *place) {
	p.Put(p.Make("dirty", ""), "new", "x")
	p.Save(p.Make("unpushed", ""), "x")
	p.In(p.Clone, "worktree", "lock", p.Make("locked", ""))
	p.Make("another", "")
	require.NoError(t, os.Remove(filepath.Join(p.At("another"), ".git")))
	p.Git("init", "--quiet", p.At("another"))
	before := p.Traces()
	for _, name := range []string{"dirty", "unpushed", "locked", "another"} {
		_, err := p.Repos.Remove(t.Context(), p.Clone, p.At(name), sandboxport.Removal{Name: name, Branch: "sandbox/" + name, DeleteBranch: true, At: when()})
		require.ErrorIs(t, err, sandbox.ErrDirty, name)
	}
	_, err := p.Repos.Remove(t.Context(), p.Clone, p.At("another"), force("another", ""))
	require.ErrorIs(t, err, sandbox.ErrDirty, "a repository of its own is never deleted")
	for _, dir := range []string{p.Clone, p.Base} {
		_, err := p.Repos.Remove(t.Context(), p.Clone, dir, force("x", ""))
		require.ErrorIs(t, err, sandbox.ErrArguments, dir)
	}
	_, err = p.Repos.Remove(t.Context(), p.Clone, p.At("dirty"), force("../x", ""))
	require.ErrorIs(t, err, sandbox.ErrName)
	_, err = p.Repos.Remove(t.Context(), p.Clone, p.At("dirty"), force("dirty", "--all"))
	require.ErrorIs(t, err, sandbox.ErrArguments)
	assert.Equal(t, before, p.Traces())
	for _, name := range []string{"dirty", "unpushed", "locked"} {
		_, err := p.Repos.Remove(t.Context(), p.Clone, p.At(name), force(name, "sandbox/"+name))
		require.NoError(t, err)
		p.Gone(name, "sandbox/"+name)
	}
}

func removeAgain(t *testing.T, p *place) {
	head := p.Save(p.Make("x", ""), "only here")
	require.NoError(t, os.RemoveAll(p.At("x"))) // another process was faster
	backups, err := p.Repos.Remove(t.Context(), p.Clone, p.At("x"), force("x", "sandbox/x"))
	require.NoError(t, err)
	require.Equal(t, []string{"refs/opencode-backup/x/1767323045"}, backups)
	assert.Equal(t, head, p.In(p.Clone, "rev-parse", backups[0]))
	p.Gone("x", "sandbox/x")
	after := p.Traces()
	again := force("x", "sandbox/x")
	again.At = when().Add(60e9)
	_, err = p.Repos.Remove(t.Context(), p.Clone, p.At("x"), again)
	require.NoError(t, err)
	assert.Equal(t, after, p.Traces())

	p.Save(p.Make("y", ""), "y") // stopped between the worktree and its branch
	p.In(p.Clone, "worktree", "remove", "--force", p.At("y"))
	backups, err = p.Repos.Remove(t.Context(), p.Clone, p.At("y"), force("y", "sandbox/y"))
	require.NoError(t, err)
	assert.Len(t, backups, 1)
	p.Gone("y", "sandbox/y")

	p.Make("z", "")
	p.In(p.At("z"), "checkout", "--quiet", "--detach")
	p.In(p.Clone, "checkout", "--quiet", "sandbox/z")
	_, err = p.Repos.Remove(t.Context(), p.Clone, p.At("z"), force("z", "sandbox/z"))
	require.NoError(t, err)
	assert.NotEmpty(t, p.In(p.Clone, "rev-parse", "refs/heads/sandbox/z"), "a branch that is checked out elsewhere stays")

	p.In(p.Clone, "worktree", "lock", p.Make("w", "")) // locked, and gone
	require.NoError(t, os.RemoveAll(p.At("w")))
	_, err = p.Repos.Remove(t.Context(), p.Clone, p.At("w"), force("w", "sandbox/w"))
	require.NoError(t, err)
	p.Gone("w", "sandbox/w")
}

func removeStray(t *testing.T, p *place) {
	dir := p.Make("x", "")
	p.Put(dir, "new", "work\n")
	require.NoError(t, os.RemoveAll(filepath.Join(p.Clone, ".git", "worktrees", "x"))) // git has forgotten it
	_, err := p.Repos.Remove(t.Context(), p.Clone, dir, sandboxport.Removal{Name: "x", Branch: "sandbox/x", At: when()})
	require.ErrorIs(t, err, sandbox.ErrDirty)
	backups, err := p.Repos.Remove(t.Context(), p.Clone, dir, force("x", "sandbox/x"))
	require.NoError(t, err)
	require.Equal(t, []string{"refs/opencode-backup/x/1767323045-stash"}, backups)
	p.Gone("x", "sandbox/x")
	require.NoError(t, p.Repos.Restore(t.Context(), p.Clone, p.At("back"), backups[0], "back"))
	assert.Equal(t, []string{"work\n", "one\n"}, []string{text(p.At("back"), "new"), text(p.At("back"), "a.txt")})

	require.NoError(t, os.Mkdir(p.At("empty"), 0o755))
	_, err = p.Repos.Remove(t.Context(), p.Clone, p.At("empty"), sandboxport.Removal{Name: "empty", At: when()})
	require.NoError(t, err)
	assert.NoDirExists(t, p.At("empty"))

	outside := t.TempDir()
	p.Put(outside, "mine", "x")
	require.NoError(t, os.Symlink(outside, p.At("link")))
	_, err = p.Repos.Remove(t.Context(), p.Clone, p.At("link"), force("link", ""))
	require.NoError(t, err)
	assert.Equal(t, "x", text(outside, "mine"), "links are not followed")
	dir = p.Make("unborn", "")
	p.In(p.Clone, "update-ref", "-d", "refs/heads/sandbox/unborn")
	backups, err = p.Repos.Remove(t.Context(), p.Clone, dir, force("unborn", "sandbox/unborn"))
	require.NoError(t, err)
	assert.Len(t, backups, 1, "what was in the index")
	require.NoError(t, p.Repos.Restore(t.Context(), p.Clone, p.At("born"), backups[0], "born"))
	assert.Equal(t, "one\n", text(p.At("born"), "a.txt"))
}
