package ecogit_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/countersign-dev/countersign/adapters/gitcli/ecogit"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/internal/testkit/clock"
	"github.com/countersign-dev/countersign/internal/testkit/gitfixture"
	"github.com/countersign-dev/countersign/internal/testkit/workroom"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

// TestMain has the tests work where that is quick.
func TestMain(m *testing.M) { os.Exit(workroom.Run(m, "")) }

const branch = "feature/A.1"

// rig is a clone with its origin, and ticket A.1 in it.
type rig struct {
	ecogit.TicketClient
	*gitfixture.Repo
	t    *testing.T
	tree ecosystemport.TicketTree
}

func newRig(t *testing.T) *rig {
	t.Helper()
	repo := gitfixture.New(t, "first\n-- a.txt --\none\n")
	dir := filepath.Join(t.TempDir(), "tickets", "A.1", "my.api")
	return &rig{TicketClient: ecogit.NewTicketClient(&clock.Fake{}), Repo: repo, t: t,
		tree: ecosystemport.TicketTree{Repo: "my.api", Clone: repo.Dir, Dir: dir, Branch: branch, Base: "main"}}
}

// in runs git in the worktree.
func (r *rig) in(args ...string) string {
	r.t.Helper()
	return r.Git(append([]string{"-C", r.tree.Dir}, args...)...)
}

// commit makes a commit in the worktree and returns its id.
func (r *rig) commit() string {
	r.t.Helper()
	r.in("commit", "--quiet", "--allow-empty", "--message", "work")
	return r.in("rev-parse", "HEAD")
}

// started returns a rig with the ticket's worktree.
func started(t *testing.T) *rig {
	t.Helper()
	r := newRig(t)
	how, err := r.Add(t.Context(), r.tree)
	require.NoError(t, err)
	require.Equal(t, ecosystemport.Made, how)
	return r
}

func (r *rig) branches() string { return r.Git("branch", "--format=%(refname:short)") }

func TestBeginnings(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		given func(*rig)
		want  ecosystemport.WorktreeOrigin
		after func(*rig)
	}{
		"a new branch stands on origin's base, not on the clone's": {func(r *rig) { r.Commit("not pushed") }, ecosystemport.Made, func(r *rig) {
			assert.Equal(r.t, r.Git("rev-parse", "origin/main"), r.in("rev-parse", "HEAD"))
			assert.Equal(r.t, "", r.in("for-each-ref", "--format=%(upstream)", "refs/heads/"+branch), "and follows nothing")
		}},
		"nor on a local branch that is called like origin's": {func(r *rig) { r.Commit("x"); r.Git("branch", "origin/main") }, ecosystemport.Made, func(r *rig) {
			assert.Equal(r.t, r.Git("rev-parse", "refs/remotes/origin/main"), r.in("rev-parse", "HEAD"))
		}},
		"without origin, on the clone's own": {func(r *rig) { r.Git("remote", "remove", "origin") }, ecosystemport.Made, func(r *rig) {
			assert.Equal(r.t, r.Head(), r.in("rev-parse", "HEAD"))
		}},
		"origin is gone": {func(r *rig) { require.NoError(r.t, os.RemoveAll(r.Remote)) }, ecosystemport.Made, nil},
		"the branch is in the clone": {func(r *rig) { r.Git("branch", branch); r.Commit("later") }, ecosystemport.Reused, func(r *rig) {
			assert.NotEqual(r.t, r.Head(), r.in("rev-parse", "HEAD"))
		}},
		"the branch is at origin": {func(r *rig) { r.Git("push", "--quiet", "origin", "main:"+branch) }, ecosystemport.Tracked, func(r *rig) {
			assert.Equal(r.t, "origin/"+branch, r.in("rev-parse", "--abbrev-ref", "@{upstream}"))
		}},
		"the worktree is there": {func(r *rig) {
			_, err := r.Add(r.t.Context(), r.tree)
			require.NoError(r.t, err)
			require.NoError(r.t, os.WriteFile(filepath.Join(r.tree.Dir, "mine"), nil, 0o600))
		}, ecosystemport.Standing, func(r *rig) { assert.FileExists(r.t, filepath.Join(r.tree.Dir, "mine")) }},
		"its directory was deleted by hand": {func(r *rig) {
			_, err := r.Add(r.t.Context(), r.tree)
			require.NoError(r.t, err)
			require.NoError(r.t, os.RemoveAll(r.tree.Dir))
		}, ecosystemport.Reused, nil},
		"its directory was emptied by hand": {func(r *rig) {
			_, err := r.Add(r.t.Context(), r.tree)
			require.NoError(r.t, err)
			require.NoError(r.t, os.RemoveAll(r.tree.Dir))
			require.NoError(r.t, os.Mkdir(r.tree.Dir, 0o700))
		}, ecosystemport.Reused, nil},
		"an empty directory is in its place": {func(r *rig) { require.NoError(r.t, os.MkdirAll(r.tree.Dir, 0o700)) }, ecosystemport.Made, nil},
		"it is in the middle of a rebase": {func(r *rig) {
			_, err := r.Add(r.t.Context(), r.tree)
			require.NoError(r.t, err)
			r.commit()
			r.in("-c", "sequence.editor=sed -i s/^pick/edit/", "rebase", "--quiet", "--interactive", "--keep-empty", "HEAD~1")
		}, ecosystemport.Standing, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			c.given(r)
			before := r.branches()
			how, err := r.Plan(t.Context(), r.tree)
			require.NoError(t, err)
			assert.Equal(t, c.want, how)
			assert.Equal(t, before, r.branches(), "a plan changes nothing")
			how, err = r.Add(t.Context(), r.tree)
			require.NoError(t, err)
			assert.Equal(t, c.want, how)
			assert.FileExists(t, filepath.Join(r.tree.Dir, "a.txt"))
			if c.after != nil {
				c.after(r)
			}
			how, err = r.Add(t.Context(), r.tree)
			require.NoError(t, err)
			assert.Equal(t, ecosystemport.Standing, how, "once more is nothing more")
		})
	}
}

func TestWhatCannotBegin(t *testing.T) {
	t.Parallel()
	file := func(r *rig, name string) {
		require.NoError(r.t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(r.t, os.WriteFile(name, []byte("mine"), 0o600))
	}
	for name, c := range map[string]struct {
		given func(*rig)
		want  *fault.Error
		says  string
	}{
		"checked out in the clone":    {func(r *rig) { r.Git("switch", "--quiet", "--create", branch) }, ecosystem.ErrConflict, "is checked out in"},
		"checked out in another tree": {func(r *rig) { r.Git("worktree", "add", "--quiet", "-b", branch, filepath.Join(r.t.TempDir(), "x")) }, ecosystem.ErrConflict, "/x;"},
		"the clone is missing":        {func(r *rig) { require.NoError(r.t, os.RemoveAll(r.Dir)) }, ecosystem.ErrConflict, "amof_sync_ecosystem"},
		"the clone is no clone": {func(r *rig) {
			require.NoError(r.t, os.RemoveAll(filepath.Join(r.Dir, ".git")))
			file(r, filepath.Join(r.Dir, ".git"))
		}, ecosystem.ErrGit, "is not a clone"},
		"files are in its place": {func(r *rig) { file(r, filepath.Join(r.tree.Dir, "x")) }, ecosystem.ErrConflict, "move it away"},
		"a file is in its place": {func(r *rig) { file(r, r.tree.Dir) }, ecosystem.ErrConflict, "move it away"},
		"a link is in its place": {func(r *rig) {
			require.NoError(r.t, os.MkdirAll(filepath.Dir(r.tree.Dir), 0o755))
			require.NoError(r.t, os.Symlink(r.t.TempDir(), r.tree.Dir))
		}, ecosystem.ErrConflict, "move it away"},
		"another repository is in its place": {func(r *rig) {
			require.NoError(r.t, os.MkdirAll(r.tree.Dir, 0o755))
			r.in("init", "--quiet")
		}, ecosystem.ErrConflict, "move it away"},
		"its worktree is on another branch": {func(r *rig) {
			_, err := r.Add(r.t.Context(), r.tree)
			require.NoError(r.t, err)
			r.in("switch", "--quiet", "--create", "other")
		}, ecosystem.ErrConflict, `is on "other"`},
		"its worktree has lost its .git": {func(r *rig) {
			_, err := r.Add(r.t.Context(), r.tree)
			require.NoError(r.t, err)
			require.NoError(r.t, os.Remove(filepath.Join(r.tree.Dir, ".git")))
		}, ecosystem.ErrConflict, "move it away"},
		"a branch is in the way of the name": {func(r *rig) { r.Git("branch", "feature") }, ecosystem.ErrConflict, "its branch feature"},
		"branches are below the name":        {func(r *rig) { r.Git("branch", branch+"/x") }, ecosystem.ErrConflict, "its branch " + branch + "/x"},
		"there is no base":                   {func(r *rig) { r.tree.Base = "gone" }, ecosystem.ErrConflict, "branch gone"},
		"an option as a branch":              {func(r *rig) { r.tree.Branch = "-d" }, ecosystem.ErrArguments, "dash"},
		"an option as a base":                {func(r *rig) { r.tree.Base = "--upload-pack=touch x" }, ecosystem.ErrConflict, "neither"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			c.given(r)
			_, err := r.Plan(t.Context(), r.tree)
			require.ErrorIs(t, err, c.want)
			assert.Contains(t, err.Error(), c.says)
			for _, word := range []string{"sandbox", "project"} {
				assert.NotContains(t, fault.From(err).Message, word)
			}
			_, there := os.Lstat(filepath.Join(r.tree.Dir, "a.txt"))
			_, err = r.Add(t.Context(), r.tree)
			require.ErrorIs(t, err, c.want)
			_, after := os.Lstat(filepath.Join(r.tree.Dir, "a.txt"))
			assert.Equal(t, there == nil, after == nil)
		})
	}
}

func TestAddLeavesNothingOfAFailure(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Dir(r.tree.Dir)), 0o755))
	lock := filepath.Join(r.Dir, ".git", "refs", "heads", "feature")
	require.NoError(t, os.WriteFile(lock, []byte("no ref\n"), 0o600))
	_, err := r.Add(t.Context(), r.tree)
	require.Error(t, err)
	assert.NoDirExists(t, filepath.Dir(r.tree.Dir))
}

func TestManyAddTheSame(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var group errgroup.Group
	for range 6 {
		group.Go(func() error {
			_, err := ecogit.NewTicketClient(&clock.Fake{}).Add(t.Context(), r.tree)
			if fault.From(err) != nil && fault.From(err).Code != ecosystem.ErrConflict.Code {
				return err
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
	how, err := r.Plan(t.Context(), r.tree)
	require.NoError(t, err)
	assert.Equal(t, ecosystemport.Standing, how)
	assert.Equal(t, branch, r.in("branch", "--show-current"))
}

// push has the ticket's commits at origin, and there alone.
func (r *rig) push() { r.in("push", "--quiet", "origin", branch) }

func TestRemove(t *testing.T) {
	t.Parallel()
	local, all := ecosystemport.RemoveOptions{}, ecosystemport.RemoveOptions{Origin: true}
	for name, c := range map[string]struct {
		given func(*rig)
		with  ecosystemport.RemoveOptions
		want  *fault.Error // without force
		kept  int          // refs, with force
		far   bool         // the branch is still at origin after it went
	}{
		"nothing was done":                 {func(*rig) {}, local, nil, 0, false},
		"nothing was done, all":            {func(*rig) {}, all, nil, 0, false},
		"pushed":                           {func(r *rig) { r.commit(); r.push() }, local, nil, 0, true},
		"pushed there alone, and all":      {func(r *rig) { r.commit(); r.push() }, all, ecosystem.ErrUnsaved, 1, false},
		"merged at origin, all":            {func(r *rig) { r.commit(); r.push(); r.in("push", "--quiet", "origin", "HEAD:main") }, all, nil, 0, false},
		"only at origin is more than here": {func(r *rig) { r.commit(); r.push(); r.in("reset", "--quiet", "--hard", "origin/main") }, all, ecosystem.ErrUnsaved, 1, false},
		"different things here and there": {func(r *rig) {
			r.commit()
			r.push()
			r.in("reset", "--quiet", "--hard", "origin/main")
			r.in("commit", "--quiet", "--allow-empty", "--message", "another")
		}, all, ecosystem.ErrUnsaved, 2, false},
		"a commit":           {func(r *rig) { r.commit() }, local, ecosystem.ErrUnsaved, 1, false},
		"a commit, detached": {func(r *rig) { r.in("switch", "--quiet", "--detach"); r.commit() }, local, ecosystem.ErrUnsaved, 1, false},
		"a change":           {func(r *rig) { require.NoError(r.t, os.WriteFile(filepath.Join(r.tree.Dir, "a.txt"), nil, 0o600)) }, local, ecosystem.ErrUnsaved, 1, false},
		"a new file":         {func(r *rig) { require.NoError(r.t, os.WriteFile(filepath.Join(r.tree.Dir, "ünï 世"), nil, 0o600)) }, local, ecosystem.ErrUnsaved, 1, false},
		"a commit whose directory is gone": {func(r *rig) {
			r.commit()
			require.NoError(r.t, os.RemoveAll(r.tree.Dir))
		}, local, ecosystem.ErrUnsaved, 1, false},
		"the directory is gone": {func(r *rig) { require.NoError(r.t, os.RemoveAll(r.tree.Dir)) }, local, nil, 0, false},
		"origin is gone":        {func(r *rig) { require.NoError(r.t, os.RemoveAll(r.Remote)) }, local, nil, 0, false},
		"there is no origin, and all": {func(r *rig) {
			r.Git("update-ref", "refs/remotes/backup/main", "main")
			r.Git("remote", "remove", "origin")
		}, all, nil, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := started(t)
			c.given(r)
			tip := r.Git("rev-parse", branch)
			_, err := r.Remove(t.Context(), r.tree, c.with)
			if c.want != nil {
				require.ErrorIs(t, err, c.want)
				assert.Contains(t, r.branches(), branch, "nothing went")
				with := c.with
				with.Force = true
				done, err := r.Remove(t.Context(), r.tree, with)
				require.NoError(t, err)
				assert.Len(t, done.Kept, c.kept, done.Kept)
				for _, ref := range done.Kept {
					assert.True(t, strings.HasPrefix(ref, "refs/opencode-backup/ticket-A-1/"), ref)
					r.Git("rev-parse", "--verify", ref)
				}
				if c.kept == 1 && tip != r.Git("rev-parse", "main") {
					assert.Equal(t, tip, r.Git("rev-parse", done.Kept[0]))
				}
			} else {
				require.NoError(t, err)
			}
			assert.NotContains(t, r.branches(), branch)
			assert.NoDirExists(t, filepath.Dir(r.tree.Dir), "the ticket's own directory went with its last worktree")
			assert.Equal(t, "", strings.Join(strings.Split(r.Git("worktree", "list"), "\n")[1:], ""))
			if _, err := os.Stat(r.Remote); err == nil {
				far := r.Git("ls-remote", r.Remote, "refs/heads/"+branch) != ""
				assert.Equal(t, c.far, far)
			}
			done, err := r.Remove(t.Context(), r.tree, ecosystemport.RemoveOptions{Origin: c.with.Origin, Force: true})
			require.NoError(t, err, "what is gone already is no error")
			assert.False(t, done.Origin)
		})
	}
}

func TestWhatIsNeverRemoved(t *testing.T) {
	t.Parallel()
	forced := ecosystemport.RemoveOptions{Force: true}
	t.Run("the branch where it is checked out", func(t *testing.T) {
		r := started(t)
		r.in("switch", "--quiet", "--detach")
		r.Git("switch", "--quiet", branch)
		done, err := r.Remove(t.Context(), r.tree, ecosystemport.RemoveOptions{})
		require.NoError(t, err)
		assert.True(t, done.Stays)
		assert.Contains(t, r.branches(), branch)
		assert.NoDirExists(t, r.tree.Dir)
	})
	t.Run("commits that only origin has", func(t *testing.T) {
		r := started(t)
		r.push()
		other := filepath.Join(t.TempDir(), "other")
		r.Git("clone", "--quiet", "--branch", branch, r.Remote, other)
		r.Git("-C", other, "commit", "--quiet", "--allow-empty", "--message", "theirs")
		r.Git("-C", other, "push", "--quiet")
		_, err := r.Remove(t.Context(), r.tree, ecosystemport.RemoveOptions{Force: true, Origin: true})
		require.ErrorIs(t, err, ecosystem.ErrUnsaved)
		assert.Contains(t, err.Error(), "fetch")
		assert.NotEmpty(t, r.Git("ls-remote", "origin", "refs/heads/"+branch))
		assert.DirExists(t, r.tree.Dir)
		r.Git("fetch", "--quiet")
		_, err = r.Remove(t.Context(), r.tree, ecosystemport.RemoveOptions{Origin: true})
		require.ErrorIs(t, err, ecosystem.ErrUnsaved, "they would be nowhere else")
		done, err := r.Remove(t.Context(), r.tree, ecosystemport.RemoveOptions{Force: true, Origin: true})
		require.NoError(t, err)
		assert.True(t, done.Origin)
		assert.Len(t, done.Kept, 1)
	})
	t.Run("anything, while origin cannot be asked", func(t *testing.T) {
		r := started(t)
		require.NoError(t, os.RemoveAll(r.Remote))
		_, err := r.Remove(t.Context(), r.tree, ecosystemport.RemoveOptions{Force: true, Origin: true})
		require.ErrorIs(t, err, ecosystem.ErrGit)
		assert.Contains(t, err.Error(), "cleanup local")
		assert.DirExists(t, r.tree.Dir)
	})
	t.Run("files whose clone is gone", func(t *testing.T) {
		r := started(t)
		require.NoError(t, os.RemoveAll(r.Dir))
		_, err := r.Remove(t.Context(), r.tree, forced)
		require.ErrorIs(t, err, ecosystem.ErrConflict)
		assert.FileExists(t, filepath.Join(r.tree.Dir, "a.txt"))
		_, err = r.Stake(t.Context(), r.tree, false)
		require.ErrorIs(t, err, ecosystem.ErrConflict)
		require.NoError(t, os.RemoveAll(r.tree.Dir))
		_, err = r.Remove(t.Context(), r.tree, ecosystemport.RemoveOptions{})
		require.NoError(t, err, "nothing is left")
	})
	t.Run("the clone itself", func(t *testing.T) {
		r := newRig(t)
		r.tree.Dir = r.Dir
		_, err := r.Remove(t.Context(), r.tree, forced)
		require.Error(t, err)
		assert.FileExists(t, filepath.Join(r.Dir, "a.txt"))
	})
	t.Run("another repository", func(t *testing.T) {
		r := newRig(t)
		require.NoError(t, os.MkdirAll(r.tree.Dir, 0o755))
		r.in("init", "--quiet")
		_, err := r.Remove(t.Context(), r.tree, forced)
		require.ErrorIs(t, err, ecosystem.ErrUnsaved)
		assert.DirExists(t, filepath.Join(r.tree.Dir, ".git"))
	})
	t.Run("an option", func(t *testing.T) {
		r := newRig(t)
		r.tree.Branch = "--all"
		_, err := r.Remove(t.Context(), r.tree, ecosystemport.RemoveOptions{Force: true, Origin: true})
		require.ErrorIs(t, err, ecosystem.ErrArguments)
	})
}

func TestAStakeSaysWhatWouldGo(t *testing.T) {
	t.Parallel()
	r := started(t)
	head := r.commit()
	s, err := r.Stake(t.Context(), r.tree, true)
	require.NoError(t, err)
	assert.Equal(t, ecosystemport.UnsavedWork{Head: head, Unmerged: true}, s)
	r.push()
	s, err = r.Stake(t.Context(), r.tree, false)
	require.NoError(t, err)
	assert.Equal(t, ecosystemport.UnsavedWork{Head: head}, s)
	s, err = r.Stake(t.Context(), r.tree, true)
	require.NoError(t, err)
	assert.Equal(t, ecosystemport.UnsavedWork{Head: head, Origin: head, Unmerged: true}, s)
	require.NoError(t, os.WriteFile(filepath.Join(r.tree.Dir, "x"), nil, 0o600))
	s, err = r.Stake(t.Context(), r.tree, false)
	require.NoError(t, err)
	assert.Equal(t, ecosystemport.UnsavedWork{Head: head, Changes: 1}, s)
}

// TestEveryAddressOfAPushIsNamed, also where origin is pushed to elsewhere than it is fetched from, or to several.
func TestEveryAddressOfAPushIsNamed(t *testing.T) {
	t.Parallel()
	r := started(t)
	d, err := r.Compare(t.Context(), r.tree, true, true)
	require.NoError(t, err)
	assert.Empty(t, d.Push, "it is the same")
	r.Git("config", "--add", "remote.origin.pushurl", r.Remote)
	r.Git("config", "--add", "remote.origin.pushurl", "https://elsewhere.invalid/x.git")
	d, err = r.Compare(t.Context(), r.tree, true, true)
	require.NoError(t, err)
	both := r.Remote + ", https://elsewhere.invalid/x.git"
	assert.Equal(t, both, d.Push)
	o, err := ecogit.NewReleaseClient().Origin(t.Context(), r.Dir, "main", 1)
	require.NoError(t, err)
	assert.Equal(t, both, o.URL)
}
