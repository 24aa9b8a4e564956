package ecogit_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/gitcli/ecogit"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/internal/testkit/gitfixture"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

var _ ecosystemport.Surveyor = ecogit.NewSurveyor()

// fresh returns a clone with one file, as its origin is.
func fresh(t *testing.T) *gitfixture.Repo {
	t.Helper()
	return gitfixture.New(t, "first\n-- f --\nx\n")
}

// look surveys one checkout.
func look(t *testing.T, c ecosystem.Checkout) ecosystem.GitStatus {
	t.Helper()
	c.Name = "it"
	found := ecogit.NewSurveyor().Survey(t.Context(), []ecosystem.Checkout{c})
	require.Len(t, found, 1)
	assert.Equal(t, "it", found[0].Name)
	assert.Equal(t, c.Dir, found[0].Dir)
	return found[0]
}

func at(t *testing.T, dir string) ecosystem.GitStatus {
	t.Helper()
	return look(t, ecosystem.Checkout{Dir: dir})
}

func TestClean(t *testing.T) {
	r := fresh(t)
	s := at(t, r.Dir)
	assert.Equal(t, ecosystem.GitStatus{Name: "it", Dir: r.Dir, Branch: "main", Head: r.Head(), Upstream: "origin/main", Tracked: true, Porcelain: s.Porcelain}, s)
	assert.True(t, s.Readable())
}

func TestDirty(t *testing.T) {
	r := fresh(t)
	clean := at(t, r.Dir).Porcelain
	r.Write("-- .amof/agent.yaml --\nx\n")
	assert.Equal(t, clean, at(t, r.Dir).Porcelain, "Countersign's own directory is nobody's change")
	r.Write("-- f --\ny\n-- new/a --\n1\n-- new/b --\n2\n")
	r.Git("config", "status.showUntrackedFiles", "no")
	s := at(t, r.Dir)
	assert.Equal(t, 2, s.Dirty, "the file, and the directory as one, whatever the configuration hides")
	assert.NotEqual(t, clean, s.Porcelain)
	assert.False(t, s.Unpushed)
}

// TestUnpushed: whatever remote branch has the commit, it counts; only what this machine knows is asked.
func TestUnpushed(t *testing.T) {
	for name, c := range map[string]struct {
		do       func(*gitfixture.Repo)
		unpushed bool
		ahead    int
	}{
		"as the origin":       {func(*gitfixture.Repo) {}, false, 0},
		"ahead":               {func(r *gitfixture.Repo) { r.Commit("more"); r.Commit("and more") }, true, 2},
		"a branch of its own": {func(r *gitfixture.Repo) { r.Git("checkout", "-q", "-b", "x") }, false, 0},
		"with a commit":       {func(r *gitfixture.Repo) { r.Git("checkout", "-q", "-b", "x"); r.Commit("x") }, true, 0},
		"behind the origin": {func(r *gitfixture.Repo) {
			r.Commit("a")
			r.Git("push", "-q")
			r.Git("checkout", "-q", "--detach", "HEAD~1")
		}, false, 0},
		"following what is here": {func(r *gitfixture.Repo) { r.Commit("a"); r.Git("checkout", "-q", "--track", "-b", "x", "main") }, true, 0},
		"pushed under other names": {func(r *gitfixture.Repo) {
			r.Commit("a")
			r.Git("push", "-q", "origin", "main:other")
			r.Git("fetch", "-q")
		}, false, 1},
		"below another's tip": {func(r *gitfixture.Repo) {
			r.Commit("a")
			r.Commit("b")
			r.Git("push", "-q", "origin", "main:other")
			r.Git("reset", "-q", "--hard", "HEAD~1")
		}, false, 1},
		"packed": {func(r *gitfixture.Repo) { r.Git("pack-refs", "--all"); r.Git("checkout", "-q", "-b", "x") }, false, 0},
		"packed once, and moved since": {func(r *gitfixture.Repo) {
			r.Commit("a")
			r.Git("push", "-q")
			r.Git("pack-refs", "--all")
			r.Git("checkout", "-q", "-b", "x")
			r.Git("push", "-q", "--force", "origin", "main~1:main")
		}, true, 0},
		"with refs kept otherwise": {func(r *gitfixture.Repo) { r.Write("-- .git/reftable/x --\n"); r.Git("checkout", "-q", "-b", "x") }, false, 0},
		"without a remote":         {func(r *gitfixture.Repo) { r.Git("remote", "remove", "origin") }, true, 0},
		"whose upstream is gone":   {func(r *gitfixture.Repo) { r.Commit("a"); r.Git("update-ref", "-d", "refs/remotes/origin/main") }, true, 0},
		"without a commit":         {func(r *gitfixture.Repo) { r.Git("checkout", "-q", "--orphan", "x") }, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := fresh(t)
			c.do(r)
			s := at(t, r.Dir)
			assert.Equal(t, c.unpushed, s.Unpushed)
			assert.Equal(t, c.ahead, s.Ahead)
			assert.Empty(t, s.Problem)
			if c.unpushed {
				assert.False(t, look(t, ecosystem.Checkout{Dir: r.Dir, Pushed: r.Head()}).Unpushed, "what was pushed last is pushed, by whatever way")
				assert.True(t, look(t, ecosystem.Checkout{Dir: r.Dir, Pushed: r.Remote}).Unpushed)
			}
		})
	}
}

// TestUnpushedAgain: a Surveyor that remembers sees whatever moves.
func TestUnpushedAgain(t *testing.T) {
	r, s := fresh(t), ecogit.NewSurveyor()
	r.Git("checkout", "-q", "-b", "x")
	r.Commit("x")
	is := func() bool { return s.Survey(t.Context(), []ecosystem.Checkout{{Dir: r.Dir}})[0].Unpushed }
	assert.True(t, is())
	assert.True(t, is())
	mine := r.Head()
	r.Git("checkout", "-q", "--detach", "HEAD~1")
	assert.False(t, is())
	r.Git("checkout", "-q", mine)
	assert.True(t, is())
	r.Commit("on top")
	r.Git("push", "-q", "origin", "HEAD:refs/heads/other")
	r.Git("checkout", "-q", mine)
	assert.False(t, is(), "below what was pushed")
	assert.False(t, is())
	r.Git("update-ref", "-d", "refs/remotes/origin/other")
	assert.True(t, is())
}

func TestMissing(t *testing.T) {
	r := fresh(t)
	s := at(t, filepath.Join(r.Dir, "repos", "api"))
	assert.True(t, s.Missing)
	assert.Empty(t, s.Problem)
	require.NoError(t, os.MkdirAll(filepath.Join(r.Dir, "repos", "api"), 0o755))
	s = at(t, filepath.Join(r.Dir, "repos", "api"))
	assert.True(t, s.Missing, "the repository around it is another one")
	assert.Empty(t, s.Problem)
	r.Write("-- repos/api/notes --\nx\n-- repos/web --\nx\n")
	assert.Contains(t, at(t, filepath.Join(r.Dir, "repos", "api")).Problem, "contains other files")
	assert.Contains(t, at(t, filepath.Join(r.Dir, "repos", "web")).Problem, "is not a directory")
	assert.Contains(t, at(t, filepath.Join(r.Dir, "repos", "web", "deep")).Problem, "")
	for _, s := range ecogit.NewSurveyor().Survey(t.Context(), []ecosystem.Checkout{{Dir: filepath.Join(r.Dir, "repos", "web")}, {Dir: filepath.Join(r.Dir, "repos", "web", "deep")}}) {
		assert.True(t, s.Missing)
	}
}

func TestWorktree(t *testing.T) {
	r := fresh(t)
	dir := filepath.Join(t.TempDir(), "T", "api")
	r.Git("worktree", "add", "-q", "-b", "feature/T", dir)
	s := at(t, dir)
	assert.Equal(t, "feature/T", s.Branch)
	assert.False(t, s.Unpushed)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "new"), nil, 0o600))
	assert.Equal(t, 1, at(t, dir).Dirty)
	assert.Zero(t, at(t, r.Dir).Dirty)
	require.NoError(t, os.RemoveAll(r.Dir))
	s = at(t, dir)
	assert.True(t, s.Missing)
	assert.Contains(t, s.Problem, "does not exist")
}

// TestOperations: what git is in the middle of, made by git itself.
func TestOperations(t *testing.T) {
	for name, c := range map[string]struct {
		args  []string
		taken string
	}{
		"rebase":      {[]string{"rebase", "other"}, "main"},
		"am":          {[]string{"am", "../patch"}, ""},
		"merge":       {[]string{"merge", "other"}, ""},
		"cherry-pick": {[]string{"cherry-pick", "other"}, ""},
		"revert":      {[]string{"revert", "--no-edit", "HEAD~1"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := fresh(t)
			r.Git("checkout", "-q", "-b", "other")
			r.Write("-- f --\nother\n")
			r.Commit("other")
			require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(r.Dir), "patch"), []byte(r.Git("format-patch", "--stdout", "-1")+"\n"), 0o600))
			r.Git("checkout", "-q", "main")
			r.Write("-- f --\nmain\n")
			r.Commit("main")
			r.Write("-- f --\nmain again\n")
			r.Commit("main again")
			r.Git("config", "alias.fails", fmt.Sprintf("!git %s >/dev/null 2>&1; test $? -ne 0", join(c.args)))
			r.Git("fails")
			s := at(t, r.Dir)
			assert.Equal(t, name, s.Operation)
			assert.Equal(t, c.taken, s.Taken)
			assert.Equal(t, c.taken != "", s.Detached)
			assert.Empty(t, s.Problem)
			assert.True(t, s.Readable())
			if name != "am" {
				assert.Equal(t, 1, s.Conflicts)
			}
		})
	}
	r := fresh(t)
	r.Git("bisect", "start")
	assert.Equal(t, "bisect", at(t, r.Dir).Operation)
}

func join(args []string) (line string) {
	for _, a := range args {
		line += " " + a
	}
	return line
}

// TestBroken: each has a problem of its own, and none keeps another from its answer.
func TestBroken(t *testing.T) {
	good := fresh(t)
	broken := func(do func(dir string)) string {
		r := fresh(t)
		do(r.Dir)
		return r.Dir
	}
	write := func(dir, name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	dirs := []string{
		broken(func(dir string) { write(dir, ".git/HEAD", "nonsense\n") }),
		broken(func(dir string) { write(dir, ".git/index", "nonsense") }),
		broken(func(dir string) { write(dir, ".git/config", "[core\n") }),
		broken(func(dir string) { require.NoError(t, os.RemoveAll(filepath.Join(dir, ".git", "objects"))) }),
		broken(func(dir string) {
			require.NoError(t, os.RemoveAll(filepath.Join(dir, ".git")))
			write(dir, ".git", "neither here nor there\n")
		}),
		broken(func(dir string) {
			require.NoError(t, os.Rename(filepath.Join(dir, ".git"), filepath.Join(dir, "git")))
			require.NoError(t, os.Symlink("git", filepath.Join(dir, ".git")))
		}),
	}
	checkouts := []ecosystem.Checkout{{Name: "good", Dir: good.Dir}}
	for i, dir := range dirs {
		checkouts = append(checkouts, ecosystem.Checkout{Name: fmt.Sprint("bad", i), Dir: dir})
	}
	checkouts = append(checkouts, ecosystem.Checkout{Name: "good too", Dir: good.Dir})
	found := ecogit.NewSurveyor().Survey(t.Context(), checkouts)
	for i, s := range found {
		assert.Equal(t, checkouts[i].Name, s.Name)
		if s.Name == "good" || s.Name == "good too" {
			assert.Empty(t, s.Problem)
			assert.True(t, s.Readable())
			continue
		}
		assert.NotEmpty(t, s.Problem, s.Name)
		assert.False(t, s.Readable(), s.Name)
		assert.False(t, s.Missing, s.Name)
	}
}

// TestNothingRuns: what a repository's configuration names is not started.
func TestNothingRuns(t *testing.T) {
	r := fresh(t)
	mark := filepath.Join(t.TempDir(), "ran")
	for _, key := range []string{"core.fsmonitor", "filter.x.clean", "filter.x.process", "core.alternateRefsCommand"} {
		r.Git("config", key, "touch "+mark+";cat")
	}
	r.Write("-- .gitattributes --\n* filter=x\n-- f --\nchanged\n")
	s := at(t, r.Dir)
	assert.Equal(t, 2, s.Dirty)
	assert.NoFileExists(t, mark)
}

// TestNothingIsWritten: a survey leaves even the index as it was.
func TestNothingIsWritten(t *testing.T) {
	r := fresh(t)
	index := filepath.Join(r.Dir, ".git", "index")
	past := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(filepath.Join(r.Dir, "f"), past, past))
	before, err := os.ReadFile(index)
	require.NoError(t, err)
	at(t, r.Dir)
	after, err := os.ReadFile(index)
	require.NoError(t, err)
	assert.Equal(t, before, after)
}

func TestCancelled(t *testing.T) {
	r := fresh(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	found := ecogit.NewSurveyor().Survey(ctx, []ecosystem.Checkout{{Name: "a", Dir: r.Dir}, {Name: "b", Dir: r.Dir}})
	require.Len(t, found, 2)
	assert.NotEmpty(t, found[1].Problem)
	assert.Empty(t, ecogit.NewSurveyor().Survey(t.Context(), nil))
}
