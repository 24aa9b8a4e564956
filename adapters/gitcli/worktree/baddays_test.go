package worktree_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/adapters/gitcli/worktree"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/sandbox"

	"github.com/countersign-dev/countersign/ports/sandboxport"
)

const someFiles = "-- a.txt --\none\n-- b.txt --\nb\n"

func reset(name string) sandboxport.Reset {
	return sandboxport.Reset{Name: name, At: time.Unix(1e9, 0)}
}

// hasty waits for nobody's locks.
func hasty() *worktree.Client { return worktree.New(worktree.Options{Patience: 50 * time.Millisecond}) }

func TestAnotherGitsLockIsNamed(t *testing.T) {
	p := openPlace(t, newRepos(t), someFiles)
	dir := p.Make("x", "")
	p.Put(dir, "a.txt", "changed\n")
	lock := filepath.Join(p.Clone, ".git", "worktrees", "x", "index.lock")
	require.NoError(t, os.WriteFile(lock, nil, 0o644))
	_, err := hasty().Reset(t.Context(), p.Clone, dir, reset("x"))
	require.ErrorIs(t, err, sandbox.ErrBusy)
	assert.Contains(t, fault.From(err).Message, lock)
	assert.Equal(t, gitcli.Held{Lock: lock}, fault.From(err).Details)
	assert.Equal(t, "changed\n", text(dir, "a.txt"))
	list, err := hasty().Survey(t.Context(), p.Clone)
	require.NoError(t, err)
	assert.Equal(t, 1, list[0].Changes, "looking needs no lock")

	held := lock
	time.AfterFunc(300*time.Millisecond, func() { _ = os.Remove(held) }) // the other git comes to its end
	done, err := p.Repos.Reset(t.Context(), p.Clone, dir, reset("x"))
	require.NoError(t, err)
	assert.NotEmpty(t, done.Backups)
	assert.Equal(t, "one\n", text(dir, "a.txt"))

	before := p.Traces()
	lock = filepath.Join(p.Clone, ".git", "refs", "heads", "sandbox", "y.lock")
	require.NoError(t, os.WriteFile(lock, nil, 0o644))
	_, err = hasty().Add(t.Context(), p.Clone, p.At("y"), sandboxport.BranchPlan{Branch: "sandbox/y", From: "main", Create: true})
	require.ErrorIs(t, err, sandbox.ErrBusy)
	assert.Contains(t, fault.From(err).Message, lock)
	require.NoError(t, os.Remove(lock))
	config := filepath.Join(p.Clone, ".git", "config.lock")
	require.NoError(t, os.WriteFile(config, nil, 0o644))
	_, err = hasty().Add(t.Context(), p.Clone, p.At("y"), sandboxport.BranchPlan{Branch: "far", From: "origin/main", Create: true, Track: true})
	require.ErrorIs(t, err, sandbox.ErrBusy)
	require.NoError(t, os.Remove(config))
	assert.Equal(t, before, p.Traces(), "nothing is left")
}

// killing is a git before the real one that counts, and fails from the n-th on.
type killing struct {
	t       *testing.T
	counter string
}

func (k killing) arm(n string) {
	require.NoError(k.t, os.WriteFile(k.counter+".at", []byte(n+"\n"), 0o644))
	require.NoError(k.t, os.WriteFile(k.counter, []byte("0\n"), 0o644))
}

// stub has every git from the n-th on fail at once, as if this process had been killed before it.
func stub(t *testing.T) killing {
	t.Helper()
	real, err := exec.LookPath("git")
	require.NoError(t, err)
	bin := t.TempDir()
	k := killing{t, filepath.Join(bin, "count")}
	k.arm("9999")
	script := "#!/bin/sh\nread n <'" + k.counter + "'; read at <'" + k.counter + ".at'; n=$((n+1)); echo $n >'" + k.counter + "'\n" +
		"if [ $n -ge $at ]; then echo killed >&2; exit 99; fi\nexec '" + real + "' \"$@\"\n"
	require.NoError(t, os.WriteFile(filepath.Join(bin, "git"), []byte(script), 0o755))
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	return k
}

// work leaves a commit and changes in a worktree, in the middle of a merge.
func work(p *place, dir string) string {
	p.Put(dir, "a.txt", "ours\n")
	p.Put(dir, "mine.txt", "mine\n")
	head := p.Save(dir, "only here")
	p.In(dir, "checkout", "--quiet", "-b", "rival-"+filepath.Base(dir), "main")
	p.Put(dir, "a.txt", "theirs\n")
	p.Save(dir, "theirs")
	p.In(dir, "checkout", "--quiet", "sandbox/"+filepath.Base(dir))
	p.In(dir, "-c", "alias.try=!git merge -q rival-"+filepath.Base(dir)+" >/dev/null 2>&1 || true", "try")
	p.Put(dir, "new.txt", "new\n")
	return head
}

// saved asserts that what work left can be got back from some backup.
func saved(t *testing.T, p *place, name, head string) {
	t.Helper()
	list, err := p.Repos.Backups(t.Context(), p.Clone)
	require.NoError(t, err)
	commits, changes := 0, 0
	for _, b := range list {
		switch {
		case b.Sandbox != name:
		case b.Stash:
			changes++
			assert.Equal(t, "new", p.In(p.Clone, "show", b.Commit+"^3:new.txt"))
			assert.Equal(t, head, p.In(p.Clone, "rev-parse", b.Commit+"^1"))
		default:
			commits++
			assert.Equal(t, head, b.Commit)
		}
	}
	assert.Positive(t, changes)
	assert.Equal(t, 1, commits, "a commit is kept once, however often it is tried")
}

func TestResetThatWasKilledIsCompleted(t *testing.T) {
	p := openPlace(t, newRepos(t), someFiles)
	k := stub(t)
	stopped := 0
	for _, n := range strings.Fields("1 2 4 6 8 10 12 14 16 18 20 22 26") {
		name := "k" + n
		k.arm("9999")
		dir := p.Make(name, "")
		head := work(p, dir)
		k.arm(n)
		if _, err := hasty().Reset(t.Context(), p.Clone, dir, reset(name)); err != nil {
			stopped++
		}
		k.arm("9999")
		r := reset(name)
		r.At = r.At.Add(time.Minute)
		done, err := p.Repos.Reset(t.Context(), p.Clone, dir, r)
		require.NoError(t, err, n)
		assert.Equal(t, []string{"sandbox/" + name, p.Head()}, []string{done.Branch, done.Head})
		assert.Equal(t, "On branch sandbox/"+name+"\nnothing to commit, working tree clean", p.In(dir, "status"))
		saved(t, p, name, head)
	}
	assert.Greater(t, stopped, 8, "there are that many steps")
}

func TestRemovalThatWasKilledIsCompleted(t *testing.T) {
	p := openPlace(t, newRepos(t), someFiles)
	k := stub(t)
	stopped := 0
	for _, n := range strings.Fields("1 3 5 7 9 11 13 15 17 18 19 20") {
		name := "k" + n
		k.arm("9999")
		dir := p.Make(name, "")
		head := work(p, dir)
		k.arm(n)
		if _, err := hasty().Remove(t.Context(), p.Clone, dir, force(name, "sandbox/"+name)); err != nil {
			stopped++
		}
		k.arm("9999")
		r := force(name, "sandbox/"+name)
		r.At = r.At.Add(time.Minute)
		_, err := p.Repos.Remove(t.Context(), p.Clone, dir, r)
		require.NoError(t, err, n)
		p.Gone(name, "sandbox/"+name)
		saved(t, p, name, head)
	}
	assert.Greater(t, stopped, 8, "there are that many steps")
}

func TestAddThatFailsAnywhereLeavesNothing(t *testing.T) {
	p := openPlace(t, newRepos(t), someFiles)
	k := stub(t)
	p.Make("first", "") // so that directories are there
	for _, n := range []string{"1", "2", "3", "4", "5"} {
		for what, plan := range map[string]sandboxport.BranchPlan{"new": {Branch: "sandbox/x", From: "main", Create: true}, "far": {Branch: "far", From: "origin/main", Create: true, Track: true}} {
			k.arm("9999")
			before := p.Traces()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			k.arm(n)
			_, err := hasty().Add(ctx, p.Clone, p.At("x"), plan)
			cancel()
			k.arm("9999")
			if err == nil {
				_, err = p.Repos.Remove(t.Context(), p.Clone, p.At("x"), force("x", plan.Branch))
				require.NoError(t, err)
			} else if branch := p.In(p.Clone, "for-each-ref", "refs/heads/"+plan.Branch); branch != "" {
				// Every later git fails too, the one that would take the branch back included: then the removal does it.
				_, err = p.Repos.Remove(t.Context(), p.Clone, p.At("x"), force("x", plan.Branch))
				require.NoError(t, err)
			}
			assert.Equal(t, before, p.Traces(), "%s %s", n, what)
		}
	}
}

func TestFullDiskLeavesNothing(t *testing.T) {
	small := os.Getenv("COUNTERSIGN_TEST_SMALL_DISK")
	if small == "" {
		if small = mountSmall(t); small == "" {
			t.Skip("no small file system can be mounted here")
		}
	}
	alone(t)
	p := openPlace(t, newRepos(t), "-- small.txt --\nx\n")
	large := make([]byte, 3<<20)
	for i := range large {
		large[i] = byte(i*i>>8) ^ byte(i)
	}
	p.Put(p.Dir, "large.bin", string(large))
	p.Commit("large")
	p.Git("push", "--quiet", "origin", "main")
	err := p.Repos.Clone(t.Context(), p.Access(), filepath.Join(small, "repo"), nil)
	require.ErrorIs(t, err, sandbox.ErrClone)
	assert.Contains(t, err.Error(), "No space left on device")
	entries, err := os.ReadDir(small)
	require.NoError(t, err)
	assert.Empty(t, entries)

	require.NoError(t, p.Repos.Fetch(t.Context(), p.Clone, p.Access()))
	before := p.Traces()
	_, err = p.Repos.Add(t.Context(), p.Clone, filepath.Join(small, "x"), sandboxport.BranchPlan{Branch: "far", From: "origin/main", Create: true, Track: true})
	require.ErrorIs(t, err, sandbox.ErrGit)
	assert.Equal(t, before, p.Traces())
	entries, err = os.ReadDir(small)
	require.NoError(t, err)
	assert.Empty(t, entries)
}

// mountSmall returns a file system of 2 MiB; empty where this user may not mount one.
func mountSmall(t *testing.T) string {
	dir := t.TempDir()
	if err := exec.Command("mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", dir).Run(); err != nil {
		return ""
	}
	t.Cleanup(func() { _ = exec.Command("umount", dir).Run() })
	return dir
}

func TestLastSaysWhatMatters(t *testing.T) {
	assert.Equal(t, "fatal: no", gitcli.Last("Cloning into '.'...\nReceiving objects: 10%\rReceiving objects: 20%\rfatal: no\nhint: try\n"))
	assert.Equal(t, "it gave no reason", gitcli.Last("\n"))
	n := 0
	err := gitcli.Patiently(t.Context(), time.Minute, func() error {
		if n++; n < 3 {
			return sandbox.ErrBusy
		}
		return errors.New("other")
	})
	require.EqualError(t, err, "other")
	assert.Equal(t, 3, n)
	assert.True(t, strings.HasSuffix(gitcli.SSH("/k'"), "-o BatchMode=yes"))
}
