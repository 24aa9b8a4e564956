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

func resets(t *testing.T, open func(testing.TB) repos) {
	for name, test := range map[string]func(*testing.T, *place){
		"ResetBringsBackTheDefault":  resetToDefault,
		"ResetOutOfAnything":         resetBusy,
		"ResetFindsTheDefaultBranch": resetTo,
		"ResetOfSubmodules":          resetSubmodules,
		"ResetRefuses":               resetRefuses,
	} {
		t.Run(name, func(t *testing.T) { test(t, openPlace(t, open(t), files)) })
	}
}

// again returns a reset of the sandbox.
func again(name string) sandboxport.Reset { return sandboxport.Reset{Name: name, At: when()} }

func resetToDefault(t *testing.T, p *place) {
	dir := p.Make("x", "")
	p.Put(p.Dir, "newer", "x")
	newer := p.Commit("newer")
	p.Git("push", "--quiet", "origin", "main")
	require.NoError(t, p.Repos.Fetch(t.Context(), p.Clone, p.Access()))
	head := p.Mess(dir)
	p.Put(dir, "node_modules/x", "slow to get")
	done, err := p.Repos.Reset(t.Context(), p.Clone, dir, again("x"))
	require.NoError(t, err)
	backups := []string{"refs/opencode-backup/x/1767323045", "refs/opencode-backup/x/1767323045-stash"}
	assert.Equal(t, sandboxport.ResetDone{Branch: "sandbox/x", Head: newer, To: "origin/main", Backups: backups}, done)
	assert.Equal(t, []string{newer, "sandbox/x", ""}, []string{p.In(dir, "rev-parse", "HEAD"), p.In(dir, "branch", "--show-current"), p.In(dir, "status", "--porcelain")})
	assert.Equal(t, []string{"ignored\n", "slow to get"}, []string{text(dir, "x.log"), text(dir, "node_modules/x")})
	require.NoError(t, p.Repos.Restore(t.Context(), p.Clone, p.At("back"), backups[0], "back"))
	p.Messy(p.At("back"), head)

	done, err = p.Repos.Reset(t.Context(), p.Clone, dir, sandboxport.Reset{Name: "x", At: when(), CleanIgnored: true})
	require.NoError(t, err)
	assert.Empty(t, done.Backups, "there was nothing to keep")
	assert.NoFileExists(t, filepath.Join(dir, "x.log"))
	p.In(dir, "checkout", "--quiet", "--detach")
	loose := p.Save(dir, "on no branch")
	done, err = p.Repos.Reset(t.Context(), p.Clone, dir, again("x"))
	require.NoError(t, err)
	assert.Equal(t, []any{"", newer, []string{"refs/opencode-backup/x/1767323045-2"}}, []any{done.Branch, done.Head, done.Backups})
	assert.Equal(t, loose, p.In(p.Clone, "rev-parse", done.Backups[0]))
	p.Git("init", "--quiet", filepath.Join(dir, "nested"))
	p.Put(dir, "nested/work", "nested\n")
	done, err = p.Repos.Reset(t.Context(), p.Clone, dir, again("x"))
	require.NoError(t, err)
	assert.NoDirExists(t, filepath.Join(dir, "nested"))
	assert.Equal(t, "nested", p.In(p.Clone, "show", done.Backups[0]+"^3:nested/work"))
}

func resetBusy(t *testing.T, p *place) {
	main := p.Head()
	for name, begin := range map[string]func(dir string){
		"rebase": p.Conflict,
		"autostash": func(dir string) {
			p.Conflict(dir)
			p.In(dir, "rebase", "--abort")
			p.Put(dir, "dir/c.txt", "put aside\n")
			p.In(dir, "-c", "alias.try=!git rebase -q --autostash rival-autostash || true", "try")
		},
		"am": func(dir string) {
			p.Conflict(dir)
			p.In(dir, "rebase", "--abort")
			p.In(dir, "-c", "alias.try=!git format-patch -q -1 --stdout rival-am | git am -q || true", "try")
		},
		"merge":       func(dir string) { p.stopped(dir, "merge -q rival-merge") },
		"cherry-pick": func(dir string) { p.stopped(dir, "cherry-pick rival-cherry-pick") },
		"revert": func(dir string) {
			p.Put(dir, "a.txt", "one more\n")
			p.Save(dir, "one more")
			p.Put(dir, "a.txt", "two more\n")
			p.Save(dir, "two more")
			p.In(dir, "-c", "alias.try=!git revert --no-edit HEAD~1 || true", "try")
		},
		"bisect": func(dir string) {
			p.Save(dir, "1")
			p.Save(dir, "2")
			p.Save(dir, "3")
			p.In(dir, "bisect", "start")
			p.In(dir, "bisect", "bad", "HEAD")
			p.In(dir, "bisect", "good", "HEAD~3")
		},
		"damaged": func(dir string) {
			p.Conflict(dir)
			require.NoError(p.t, os.WriteFile(filepath.Join(p.Clone, ".git", "worktrees", "damaged", "rebase-merge", "onto"), []byte("nonsense"), 0o644))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := p.Make(name, "")
			begin(dir)
			require.NotEmpty(t, p.Find(name).Branch)
			tip := p.In(p.Clone, "rev-parse", "sandbox/"+name)
			done, err := p.Repos.Reset(t.Context(), p.Clone, dir, again(name))
			require.NoError(t, err)
			assert.Equal(t, []string{"sandbox/" + name, main}, []string{done.Branch, done.Head})
			assert.Equal(t, "On branch sandbox/"+name+"\nnothing to commit, working tree clean", p.In(dir, "status"))
			var kept []string
			for _, ref := range done.Backups {
				kept = append(kept, p.In(p.Clone, "rev-parse", ref))
			}
			assert.Contains(t, kept, tip, "the branch's last commit")
			if name == "autostash" {
				assert.Contains(t, p.In(p.Clone, "show", done.Backups[len(done.Backups)-1]+":dir/c.txt"), "put aside")
			}
		})
	}
}

// stopped leaves a worktree where a command met a conflict.
func (p *place) stopped(dir, command string) {
	p.t.Helper()
	p.Conflict(dir)
	p.In(dir, "rebase", "--abort")
	p.In(dir, "-c", "alias.try=!git "+command+" >/dev/null 2>&1 || true", "try")
	require.Contains(p.t, p.In(dir, "status", "--porcelain"), "UU a.txt")
}

func resetTo(t *testing.T, p *place) {
	dir := p.Make("x", "")
	to := func(want string) {
		t.Helper()
		done, err := p.Repos.Reset(t.Context(), p.Clone, dir, again("x"))
		require.NoError(t, err)
		assert.Equal(t, want, done.To)
		assert.Equal(t, p.In(p.Clone, "rev-parse", want), done.Head)
	}
	p.Git("push", "--quiet", "origin", "main:refs/heads/trunk", "main:refs/heads/master")
	require.NoError(t, p.Repos.Fetch(t.Context(), p.Clone, p.Access()))
	to("origin/main")
	p.In(p.Clone, "remote", "set-head", "origin", "trunk")
	to("origin/trunk")
	p.Git("push", "--quiet", "origin", "--delete", "trunk", "master")
	require.NoError(t, p.Repos.Fetch(t.Context(), p.Clone, p.Access()))
	to("origin/main")
	p.In(p.Clone, "remote", "remove", "origin")
	to("main")
	p.In(p.Clone, "branch", "--move", "main", "master")
	to("master")
	p.In(p.Clone, "branch", "--move", "master", "own")
	to("own")
	p.In(p.Clone, "checkout", "--quiet", "--detach")
	_, err := p.Repos.Reset(t.Context(), p.Clone, dir, again("x"))
	require.ErrorIs(t, err, sandbox.ErrBranch)
}

func resetSubmodules(t *testing.T, p *place) {
	p.submodule()
	dir := p.Make("x", "")
	p.Put(dir, "lib/x.txt", "changed\n")
	p.Put(dir, "lib/new.txt", "new\n")
	done, err := p.Repos.Reset(t.Context(), p.Clone, dir, again("x"))
	require.NoError(t, err)
	assert.Equal(t, []string{"lib\n", ""}, []string{text(dir, "lib/x.txt"), text(dir, "lib/new.txt")})
	assert.False(t, p.Find("x").Dirty)
	require.Contains(t, done.Backups, "refs/opencode-backup/x/1767323045-sub1-stash")
	assert.Equal(t, "new", p.In(p.Clone, "show", "refs/opencode-backup/x/1767323045-sub1-stash^3:new.txt"))
}

func resetRefuses(t *testing.T, p *place) {
	dir := p.Make("x", "")
	_, err := p.Repos.Reset(t.Context(), p.Clone, p.Clone, again("x"))
	require.ErrorIs(t, err, sandbox.ErrArguments)
	_, err = p.Repos.Reset(t.Context(), p.Clone, dir, again("-x"))
	require.ErrorIs(t, err, sandbox.ErrName)
	require.NoError(t, os.RemoveAll(dir))
	_, err = p.Repos.Reset(t.Context(), p.Clone, dir, again("x"))
	require.ErrorIs(t, err, sandbox.ErrNotFound)
	_, err = p.Repos.Reset(t.Context(), p.Clone, p.At("never"), again("x"))
	require.ErrorIs(t, err, sandbox.ErrNotFound)
}
