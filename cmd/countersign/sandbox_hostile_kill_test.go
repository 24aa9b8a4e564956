//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// killed is a workshop where git kills whoever has started it, when it was told so.
type killed struct {
	*workshop
	url, repo, trees string
	git              string // directory with a git that kills
}

// lethal is a git that ends its caller before or after it has done its work as the n-th git, or that works on for a second after its caller was
// killed.
const lethal = `#!/bin/sh
real=%[1]s here=%[2]s
case " $* " in
*" worktree add "*)
	if test -e "$here/linger"; then
		rm "$here/linger"
		kill -9 $PPID
		sleep 1
		"$real" "$@" >"$here/said" 2>&1 </dev/null
		touch "$here/ended"
		exit 0
	fi;;
esac
n=1
set -C # several gits may be started at once, and each takes one number
until (: >"$here/$n") 2>/dev/null; do n=$((n + 1)); done
if test -e "$here/before.$n"; then kill -9 $PPID; fi
"$real" "$@"
code=$?
if test -e "$here/after.$n"; then kill -9 $PPID; fi
exit $code
`

func newKilled(t *testing.T) *killed {
	real, err := exec.LookPath("git")
	require.NoError(t, err)
	k := &killed{workshop: newWorkshopFor(t, built(t))}
	k.workshop.env = append(k.workshop.env, "OPENCODE_BIN=/nowhere/opencode")
	k.git = k.at("lethal")
	write(t, filepath.Join(k.git, "git"), fmt.Sprintf(lethal, real, k.git))
	require.NoError(t, os.Chmod(filepath.Join(k.git, "git"), 0o755))
	write(t, k.at("shop/README.md"), "# Shop\n")
	k.workshop.git("shop", "init", "-q", "-b", "main")
	k.workshop.git("shop", "add", "-A")
	k.workshop.git("shop", "commit", "-q", "-m", "all of it")
	k.workshop.git("shop", "branch", "feature")
	k.workshop.git("", "clone", "-q", "--bare", k.at("shop"), k.at("origin/shop.git"))
	k.url = k.at("origin/shop.git")
	k.must("sandbox", "init")
	k.start()
	return k
}

// start clones; there is no server to run.
func (k *killed) start() {
	k.t.Helper()
	_, _, code := k.try("sandbox", "start", k.url)
	require.NotZero(k.t, code)
	found, err := filepath.Glob(filepath.Join(k.home, ".opencode-projects/*"))
	require.NoError(k.t, err)
	require.Len(k.t, found, 1)
	k.repo, k.trees = filepath.Join(found[0], "repo"), filepath.Join(found[0], "worktrees")
}

// dies is killed at its n-th git, or ends before that: then it says so.
func (k *killed) dies(n int, before bool, arguments ...string) bool {
	k.t.Helper()
	for _, name := range entries(k.t, k.git) {
		if name[0] < 'a' || strings.Contains(name, ".") { // the count, and what was told before
			require.NoError(k.t, os.Remove(filepath.Join(k.git, name)))
		}
	}
	when := map[bool]string{true: "before.", false: "after."}[before]
	write(k.t, filepath.Join(k.git, when+strconv.Itoa(n)), "")
	cmd := k.command(arguments...)
	cmd.Env = append(slices.Clone(k.workshop.env), "PATH="+k.git+":"+os.Getenv("PATH"))
	err := cmd.Run()
	require.NotNil(k.t, cmd.ProcessState, err)
	return cmd.ProcessState.ExitCode() < 0
}

// tidy requires that records, git and directories tell the same, and that nothing is under way or locked.
func (k *killed) tidy(names ...string) {
	k.t.Helper()
	var state struct {
		Projects map[string]struct {
			Sandboxes map[string]struct {
				Branch, Directory string
				Leases            map[string]string
			}
			Doing any
		}
	}
	require.NoError(k.t, json.Unmarshal([]byte(read(k.t, filepath.Join(k.home, ".memory/opencode-state.json"))), &state))
	var recorded, branches, ports []string
	for _, p := range state.Projects {
		assert.Nil(k.t, p.Doing)
		for _, box := range p.Sandboxes {
			recorded, branches = append(recorded, filepath.Base(box.Directory)), append(branches, box.Branch)
			ports = append(ports, box.Leases["SANDBOX_PORT"])
		}
	}
	assert.ElementsMatch(k.t, names, recorded)
	slices.Sort(ports)
	assert.Len(k.t, slices.Compact(ports), len(names), "leases")
	for _, dir := range []string{k.trees, filepath.Join(k.repo, ".git/worktrees")} {
		assert.ElementsMatch(k.t, names, entries(k.t, dir), dir)
	}
	for _, branch := range strings.Fields(k.clone("for-each-ref", "--format=%(refname:short)", "refs/heads/sandbox")) {
		assert.Contains(k.t, branches, branch)
	}
	_ = filepath.WalkDir(filepath.Join(k.repo, ".git"), func(path string, _ fs.DirEntry, _ error) error {
		assert.NotEqual(k.t, ".lock", filepath.Ext(path))
		return nil
	})
}

func entries(t testing.TB, dir string) (names []string) {
	t.Helper()
	found, err := os.ReadDir(dir)
	if !os.IsNotExist(err) {
		require.NoError(t, err)
	}
	for _, e := range found {
		names = append(names, e.Name())
	}
	return names
}

func (k *killed) clone(arguments ...string) string {
	k.t.Helper()
	cmd := exec.Command("git", append([]string{"-C", k.repo}, arguments...)...)
	cmd.Env = k.workshop.env
	out, err := cmd.CombinedOutput()
	require.NoError(k.t, err, "git %v: %s", arguments, out)
	return strings.TrimSpace(string(out))
}

// work makes a sandbox with a commit and a change that are nowhere else.
func (k *killed) work(name string) (commit string) {
	k.t.Helper()
	k.must("sandbox", "create", k.url, name)
	dir := filepath.Join(k.trees, name)
	write(k.t, filepath.Join(dir, "mine.txt"), "committed\n")
	for _, arguments := range [][]string{{"add", "mine.txt"}, {"commit", "-q", "-m", "mine"}} {
		k.clone(append([]string{"-C", dir}, arguments...)...)
	}
	write(k.t, filepath.Join(dir, "README.md"), "changed\n")
	write(k.t, filepath.Join(dir, "new.txt"), "new\n")
	return k.clone("-C", dir, "rev-parse", "HEAD")
}

// kept requires that the commit and the changes of work are under backup refs.
func (k *killed) kept(name, commit string) {
	k.t.Helper()
	assert.NotEmpty(k.t, k.clone("for-each-ref", "--contains="+commit, "refs/opencode-backup/"+name), "the commit")
	found := false
	for _, ref := range strings.Fields(k.clone("for-each-ref", "--format=%(refname)", "refs/opencode-backup/"+name)) {
		found = found || strings.HasSuffix(ref, "-stash") && k.clone("show", ref+":README.md") == "changed" && k.clone("show", ref+"^3:new.txt") == "new"
	}
	assert.True(k.t, found, "the changes")
}

// everyGit kills at one git after the other, before and after it has worked in turn, until the command gets through.
func (k *killed) everyGit(step int, prepare func(), arguments []string, check func()) {
	k.t.Helper()
	for n := 1; ; n += step {
		prepare()
		if !k.dies(n, n/step%2 == 0, arguments...) {
			require.Greater(k.t, n, 2*step, "it was not killed often enough")
			return
		}
		k.must(arguments...)
		check()
		if k.t.Failed() {
			k.t.Fatalf("after it was killed at git %d of %v", n, arguments)
		}
	}
}

// TestSandboxKilled: whatever git the process is killed at, the same command does it; nothing is lost, and nothing is left.
func TestSandboxKilled(t *testing.T) {
	t.Parallel()
	t.Run("create", func(t *testing.T) {
		t.Parallel()
		k := newKilled(t)
		remove := func() { _, _, _ = k.try("sandbox", "rm", k.url, "one") }
		k.everyGit(3, remove, []string{"sandbox", "create", k.url, "one"}, func() { k.tidy("one") })
	})
	t.Run("merge", func(t *testing.T) {
		t.Parallel()
		k := newKilled(t)
		commit := ""
		k.everyGit(4, func() {
			_, _, _ = k.try("sandbox", "rm", k.url, "one", "-f", "-y")
			k.clone("reset", "-q", "--hard", "origin/main")
			k.must("sandbox", "create", k.url, "one")
			dir := filepath.Join(k.trees, "one")
			write(t, filepath.Join(dir, "merged.txt"), "merged\n")
			k.clone("-C", dir, "add", "-A")
			k.clone("-C", dir, "commit", "-q", "-m", "work")
			k.clone("commit", "-q", "--allow-empty", "-m", "late")
			commit = k.clone("-C", dir, "rev-parse", "HEAD")
		}, []string{"sandbox", "merge", k.url, "one", "-y"}, func() {
			k.clone("merge-base", "--is-ancestor", commit, "main")
			assert.Empty(t, k.clone("status", "--porcelain"))
			assert.Equal(t, "merged", k.clone("show", "HEAD:merged.txt"))
			k.tidy("one")
		})
	})
	t.Run("reset", func(t *testing.T) {
		t.Parallel()
		k := newKilled(t)
		var commit string
		dir := ""
		k.everyGit(4, func() {
			_, _, _ = k.try("sandbox", "rm", k.url, "one", "-f", "-y")
			commit, dir = k.work("one"), filepath.Join(k.trees, "one")
		}, []string{"sandbox", "reset", k.url, "one", "-y"}, func() {
			k.kept("one", commit)
			assert.Empty(t, k.clone("-C", dir, "status", "--porcelain"))
			assert.Equal(t, k.clone("rev-parse", "origin/main"), k.clone("-C", dir, "rev-parse", "HEAD"))
			k.tidy("one")
		})
	})
	t.Run("delete", func(t *testing.T) {
		t.Parallel()
		k := newKilled(t)
		var commit string
		k.everyGit(5, func() {
			_, _, _ = k.try("sandbox", "rm", k.url, "one", "-f", "-y")
			commit = k.work("one")
		}, []string{"sandbox", "rm", k.url, "one", "-f", "-y"}, func() {
			k.kept("one", commit)
			k.tidy()
		})
	})
}

// TestSandboxGitOutlives: a git that goes on after its caller was killed is waited for, so that it undoes nothing that came after.
func TestSandboxGitOutlives(t *testing.T) {
	t.Parallel()
	k := newKilled(t)
	write(t, filepath.Join(k.git, "linger"), "")
	require.True(t, k.dies(1000, false, "sandbox", "create", k.url, "one", "--branch", "feature"))
	k.must("sandbox", "create", k.url, "two")
	assert.FileExists(t, filepath.Join(k.git, "ended"))
	k.tidy("two")
	k.must("sandbox", "create", k.url, "one", "--branch", "feature")
	k.tidy("one", "two")
}

// TestSandboxURLSecrets: what stands before the @ of a URL is in no file afterwards.
func TestSandboxURLSecrets(t *testing.T) {
	t.Parallel()
	k := newKilled(t)
	c := k.boxes()
	const secret = "Zx81Token55"
	for _, url := range []string{"https://" + secret + "@127.0.0.1:1/a/b", "http://u:" + secret + "@127.0.0.1:1/a/b.git", "ssh://u:" + secret + "@127.0.0.1:1/a/b"} {
		for _, tool := range []string{"opencode_project_status", "opencode_sandbox_create", "opencode_project_destroy"} {
			in := args{"git_url": url}
			if tool == "opencode_sandbox_create" {
				in["name"] = "one"
			}
			r := c.Call(tool, in)
			require.Nil(t, r.Err)
			assert.NotContains(t, r.Text, secret)
		}
	}
	c.CloseStdin()
	assert.Zero(t, c.Wait())
	require.NoError(t, filepath.WalkDir(k.home, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			assert.NotContains(t, read(t, path), secret, path)
		}
		return err
	}))
}
