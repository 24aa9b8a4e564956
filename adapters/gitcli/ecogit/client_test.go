package ecogit_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/gitcli/ecogit"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/internal/testkit/gitfixture"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

// lines is what was told.
type lines struct {
	mu   sync.Mutex
	text []string
}

func (l *lines) tell(level, line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, level+" "+line)
}

func client(t *testing.T) ecogit.Clones {
	t.Helper()
	t.Setenv("HOME", t.TempDir())
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	return ecogit.New(ecogit.Options{Pause: time.Microsecond}).Clones()
}

func repo(url string) ecosystem.Repo {
	return ecosystem.Repo{Name: "api", URL: url, Branch: "main", Path: "repos/api", Enabled: true}
}

// served returns an origin over HTTP; before sees every request first, and answers it when it returns true.
func served(t *testing.T, before func(http.ResponseWriter, *http.Request) bool) (*gitfixture.Repo, string) {
	t.Helper()
	o := gitfixture.New(t, "first\n-- a.txt --\none\n")
	o.Git("-C", o.Remote, "update-server-info")
	files := http.FileServer(http.Dir(filepath.Dir(o.Remote)))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !before(w, r) {
			files.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return o, s.URL + "/" + filepath.Base(o.Remote)
}

func TestAddress(t *testing.T) {
	c := client(t)
	for url, want := range map[string]string{
		"/srv/git/api.git": "/srv/git/api.git", "file:///srv/git/api": "file:///srv/git/api", "git@github.com:org/api.git": "git@github.com:org/api.git",
		"ssh://git@host:2222/org/api": "ssh://git@host:2222/org/api", "https://github.com/org/api.git": "https://github.com/org/api.git", "github.com/org/api": "git@github.com:org/api.git",
	} {
		said, err := c.Address(repo(url))
		require.NoError(t, err, url)
		assert.Equal(t, want, said)
	}
	for _, url := range []string{"", "-x", "--upload-pack=evil", "ext::sh -c evil", "../api", "https://ada:hunter2@host/x", "https://hunter2@host/x", "ssh://ada:hunter2@host/x"} {
		_, err := c.Address(repo(url))
		require.ErrorIs(t, err, ecosystem.ErrManifest, url)
		assert.NotContains(t, err.Error(), "hunter2")
		assert.Contains(t, err.Error(), "repository api")
		_, err = c.Clone(t.Context(), repo(url), filepath.Join(t.TempDir(), "x"), (&lines{}).tell)
		require.ErrorIs(t, err, ecosystem.ErrManifest, url)
	}
	for _, branch := range []string{"", "--upload-pack=evil", "a..b", "HEAD"} {
		r := repo("/x/y")
		r.Branch = branch
		_, err := c.Address(r)
		require.ErrorIs(t, err, ecosystem.ErrManifest, branch)
	}
}

// TestTheNetworkIsTriedAgain: three times more, and told each time; the repository's own refusals are not.
func TestTheNetworkIsTriedAgain(t *testing.T) {
	c := client(t)
	var failing atomic.Int32
	o, url := served(t, func(w http.ResponseWriter, _ *http.Request) bool {
		if failing.Add(-1) >= 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return true
		}
		return false
	})
	failing.Store(2)
	said, dir := &lines{}, filepath.Join(t.TempDir(), "api")
	head, err := c.Clone(t.Context(), repo(url), dir, said.tell)
	require.NoError(t, err)
	assert.Equal(t, o.Head(), head)
	require.Len(t, said.text, 2)
	assert.Contains(t, said.text[0], "warning attempt 1 of 4: git clone of "+url+" failed")
	assert.Contains(t, said.text[1], "attempt 2 of 4")

	failing.Store(1000)
	seen, err := c.Look(t.Context(), repo(url), dir)
	require.NoError(t, err)
	said = &lines{}
	_, err = c.Forward(t.Context(), repo(url), dir, seen, said.tell)
	require.ErrorIs(t, err, ecosystem.ErrGit)
	assert.Len(t, said.text, 3)
	assert.EqualValues(t, 1000-4, failing.Load())

	said = &lines{}
	failing.Store(0)
	_, err = c.Clone(t.Context(), repo(strings.Replace(url, "remote.git", "none.git", 1)), filepath.Join(t.TempDir(), "none"), said.tell)
	require.ErrorIs(t, err, ecosystem.ErrGit)
	assert.Empty(t, said.text, "it is not there, however often one asks")

	_, err = c.Clone(t.Context(), repo("git://127.0.0.1:1/x/y"), filepath.Join(t.TempDir(), "y"), said.tell)
	require.ErrorIs(t, err, ecosystem.ErrGit)
	assert.Len(t, said.text, 3)
}

// TestCredentialsAreTheUsers: a helper of the user's is asked, one of the clone's own configuration is not, and no secret is left in the clone.
func TestCredentialsAreTheUsers(t *testing.T) {
	c := client(t)
	_, url := served(t, func(w http.ResponseWriter, r *http.Request) bool {
		if _, password, _ := r.BasicAuth(); password == "hunter2" {
			return false
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
		w.WriteHeader(http.StatusUnauthorized)
		return true
	})
	dir := filepath.Join(t.TempDir(), "api")
	_, err := c.Clone(t.Context(), repo(url), dir, (&lines{}).tell)
	require.ErrorIs(t, err, ecosystem.ErrGit)
	helper := "[credential]\n\thelper = \"!f() { echo username=ada; echo password=hunter2; }; f\"\n"
	require.NoError(t, os.WriteFile(filepath.Join(os.Getenv("HOME"), ".gitconfig"), []byte(helper), 0o600))
	_, err = c.Clone(t.Context(), repo(url), dir, (&lines{}).tell)
	require.NoError(t, err)
	config, err := os.ReadFile(filepath.Join(dir, ".git", "config"))
	require.NoError(t, err)
	assert.NotContains(t, string(config), "hunter2")
	seen, err := c.Look(t.Context(), repo(url), dir)
	require.NoError(t, err)
	_, err = c.Forward(t.Context(), repo(url), dir, seen, (&lines{}).tell)
	require.NoError(t, err)

	traps := gitfixture.NewTraps(t, "")
	evil := string(config) + "[credential \"http://127.0.0.1\"]\n\thelper = \"!" + traps.Program("helper") + "\"\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".git", "config"), []byte(evil), 0o600))
	_, err = c.Forward(t.Context(), repo(url), dir, seen, (&lines{}).tell)
	require.NoError(t, err, "the user's own is asked all the same")
	assert.Empty(t, traps.Sprung())
}

// TestForward moves on, and only on.
func TestForward(t *testing.T) {
	c := client(t)
	o := gitfixture.New(t, "first\n-- a.txt --\none\n")
	dir := filepath.Join(t.TempDir(), "api")
	first, err := c.Clone(t.Context(), repo(o.Remote), dir, (&lines{}).tell)
	require.NoError(t, err)
	forward := func() (ecosystemport.Moved, error) {
		seen, err := c.Look(t.Context(), repo(o.Remote), dir)
		require.NoError(t, err)
		return c.Forward(t.Context(), repo(o.Remote), dir, seen, (&lines{}).tell)
	}
	moved, err := forward()
	require.NoError(t, err)
	assert.Equal(t, ecosystemport.Moved{From: first, To: first}, moved)

	o.Git("tag", "v1")
	o.Git("push", "--quiet", "origin", "v1", "HEAD:refs/heads/other")
	_, err = forward()
	require.NoError(t, err)
	assert.Equal(t, first, o.Git("-C", dir, "rev-parse", "--verify", "v1"), "tags come along")
	assert.Equal(t, first, o.Git("-C", dir, "rev-parse", "origin/other"))

	o.Write("-- a.txt --\ntwo\n")
	second := o.Commit("second")
	o.Git("push", "--quiet", "origin", "main")
	o.Git("-C", dir, "branch", "--unset-upstream")
	moved, err = forward()
	require.NoError(t, err)
	assert.Equal(t, ecosystemport.Moved{From: first, To: second, Behind: 1}, moved)
	moved, err = forward()
	require.NoError(t, err, "without an upstream, too")
	assert.Equal(t, ecosystemport.Moved{From: second, To: second}, moved)

	o.Git("reset", "--quiet", "--hard", first)
	third := o.Commit("instead")
	o.Git("push", "--quiet", "--force", "origin", "main")
	moved, err = forward()
	require.NoError(t, err)
	assert.True(t, moved.Diverged())
	assert.Equal(t, second, o.Git("-C", dir, "rev-parse", "HEAD"))
	assert.Equal(t, third, o.Git("-C", dir, "rev-parse", "origin/main"))

	o.Git("-C", o.Remote, "update-ref", "-d", "refs/heads/main")
	_, err = forward()
	require.ErrorIs(t, err, ecosystemport.ErrBranch)
	assert.Contains(t, err.Error(), `no branch "main"`)
}

// TestLook reads what git says of awkward files, and takes nothing for a clone that is none.
func TestLook(t *testing.T) {
	c := client(t)
	o := gitfixture.New(t, "first\n-- a b.txt --\none\n-- c.txt --\none\n")
	top, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	dir := filepath.Join(top, "api")
	look := func(dir string) ecosystemport.Checkout {
		is, err := c.Look(t.Context(), repo(o.Remote), dir)
		require.NoError(t, err)
		return is
	}
	assert.True(t, look(dir).Absent)
	require.NoError(t, os.Mkdir(dir, 0o755))
	assert.True(t, look(dir).Absent, "an empty directory is nothing")
	head, err := c.Clone(t.Context(), repo(o.Remote), dir, (&lines{}).tell)
	require.NoError(t, err)
	assert.Equal(t, ecosystemport.Checkout{Branch: "main", Head: head, Level: true}, look(dir))
	require.NoError(t, os.Mkdir(filepath.Join(dir, ".amof"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".amof", "x"), nil, 0o644))
	assert.Zero(t, look(dir).Changes, "Countersign's own")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a b.txt"), []byte("two"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "new file"), []byte("two"), 0o644))
	is := look(dir)
	assert.Equal(t, 2, is.Changes)
	assert.Equal(t, "a b.txt", is.First)

	link := filepath.Join(top, "link")
	require.NoError(t, os.Symlink(dir, link))
	assert.Contains(t, look(link).Foreign, "not a directory")
	inner := filepath.Join(top, "linked")
	require.NoError(t, os.Symlink(top, inner))
	assert.Contains(t, look(filepath.Join(inner, "api")).Foreign, "it is a link")
	_, err = c.Clone(t.Context(), repo(o.Remote), dir, (&lines{}).tell)
	require.ErrorIs(t, err, ecosystem.ErrConflict)
	assert.FileExists(t, filepath.Join(dir, "new file"))
}

// TestSubmodulesAreLeftAlone in clones and afterwards.
func TestSubmodulesAreLeftAlone(t *testing.T) {
	c := client(t)
	inner := gitfixture.New(t, "inner\n-- x --\nx\n")
	o := gitfixture.New(t, "first\n-- a.txt --\none\n")
	o.Git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", inner.Remote, "sub")
	o.Commit("submodule")
	o.Git("push", "--quiet", "origin", "main")
	dir := filepath.Join(t.TempDir(), "api")
	_, err := c.Clone(t.Context(), repo(o.Remote), dir, (&lines{}).tell)
	require.NoError(t, err)
	entries, err := os.ReadDir(filepath.Join(dir, "sub"))
	require.NoError(t, err)
	assert.Empty(t, entries)
	seen, err := c.Look(t.Context(), repo(o.Remote), dir)
	require.NoError(t, err)
	assert.Zero(t, seen.Changes)
}

// TestARootIsARepositoryOfItsOwn: a linked worktree, or none at all, is none.
func TestARootIsARepositoryOfItsOwn(t *testing.T) {
	c := client(t)
	o := gitfixture.New(t, "first\n-- a.txt --\none\n")
	linked := filepath.Join(t.TempDir(), "linked")
	o.Git("worktree", "add", "--quiet", "-b", "x", linked)
	for _, root := range []string{linked, t.TempDir()} {
		_, err := c.Client.Look(t.Context(), ecosystemport.InstallTarget{Root: root, Dir: filepath.Join(root, "worktrees", "demo"), Branch: "workspace/demo"})
		require.ErrorIs(t, err, ecosystem.ErrRoot)
	}
}

// TestUndoTouchesNothingElse: branches and directories of that name which the build did not make stay.
func TestUndoTouchesNothingElse(t *testing.T) {
	c := client(t)
	o := gitfixture.New(t, "first\n-- a.txt --\none\n")
	dir := filepath.Join(o.Dir, "worktrees", "demo")
	b := ecosystemport.Build{ID: "1", Root: o.Dir, Dir: dir, Branch: "workspace/demo", Start: o.Head(), Create: true, Excludes: []string{"/worktrees/"}}
	o.Git("worktree", "add", "--quiet", "-b", "workspace/demo", dir)
	theirs := o.Git("-C", dir, "rev-parse", "HEAD")
	o.Git("-C", dir, "commit", "--quiet", "--allow-empty", "--message=theirs")
	require.Error(t, c.Stage(t.Context(), b))
	require.NoError(t, c.Undo(t.Context(), b))
	assert.DirExists(t, dir)
	assert.Equal(t, theirs, o.Git("rev-parse", "workspace/demo~1"))
	placed, err := c.Settle(t.Context(), b)
	require.NoError(t, err)
	assert.False(t, placed)
	require.ErrorIs(t, c.Place(t.Context(), b), ecosystem.ErrConflict)
	assert.FileExists(t, filepath.Join(dir, "a.txt"))
}

// TestTwoWorkspacesOfARoot: two ecosystems of one root share its lines of exclusion, and neither takes the other's away.
func TestTwoWorkspacesOfARoot(t *testing.T) {
	c := client(t)
	o := gitfixture.New(t, "first\n-- a.txt --\none\n")
	build := func(name string) ecosystemport.Build {
		dir := filepath.Join(o.Dir, "worktrees", name)
		g, err := c.Client.Look(t.Context(), ecosystemport.InstallTarget{Root: o.Dir, Dir: dir, Branch: "workspace/" + name, Paths: []string{"repos/api"}})
		require.NoError(t, err)
		return ecosystemport.Build{ID: name, Root: o.Dir, Dir: dir, Branch: "workspace/" + name, Start: g.Head, Create: true, Missing: g.Missing, Excludes: g.Excludes}
	}
	one, two := build("one"), build("two")
	var both sync.WaitGroup
	for _, b := range []ecosystemport.Build{one, two} {
		both.Go(func() {
			assert.NoError(t, c.Stage(t.Context(), b))
			assert.NoError(t, c.Place(t.Context(), b))
		})
	}
	both.Wait()
	require.NoError(t, c.Undo(t.Context(), one))
	assert.NoDirExists(t, one.Dir)
	assert.Empty(t, o.Git("status", "--porcelain"))
	assert.Equal(t, "workspace/two", o.Git("-C", two.Dir, "symbolic-ref", "--short", "HEAD"))
	require.NoError(t, c.Undo(t.Context(), two))
	assert.NoDirExists(t, filepath.Dir(two.Dir))
	exclude, err := os.ReadFile(filepath.Join(o.Dir, ".git", "info", "exclude"))
	require.NoError(t, err)
	assert.NotContains(t, string(exclude), "worktrees")
}
