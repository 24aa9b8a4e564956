package confgit_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/internal/testkit/gitfixture"
	"github.com/countersign-dev/countersign/ports/deployport"
)

// hostile makes everything in the repository's own configuration that git would run touch a file, and gives that file.
func hostile(t *testing.T, r *gitfixture.Repo) (mark string) {
	t.Helper()
	mark = filepath.Join(t.TempDir(), "ran")
	for _, key := range []string{"core.fsmonitor", "core.sshCommand", "core.pager", "core.editor", "alias.status", "diff.external", "filter.x.clean", "filter.x.smudge",
		"filter.a=b.process", "diff.x.textconv", "gpg.program", "core.askPass", "credential.helper", "core.gitProxy", "sequence.editor", "core.alternateRefsCommand"} {
		r.Git("config", key, "touch "+mark)
	}
	r.Git("config", "commit.gpgSign", "true")
	r.Git("config", "filter.x.required", "true")
	for _, hook := range []string{"post-index-change", "reference-transaction", "pre-commit", "commit-msg", "post-commit", "post-checkout", "pre-auto-gc", "fsmonitor-watchman"} {
		require.NoError(t, os.WriteFile(filepath.Join(r.Dir, ".git", "hooks", hook), []byte("#!/bin/sh\ntouch '"+mark+"'\n"), 0o755))
	}
	return mark
}

func TestHead(t *testing.T) {
	user(t, "[status]\n\tshowUntrackedFiles = no\n\tshowStash = true\n")
	c := client()
	_, _, err := c.Head(t.Context(), t.TempDir())
	require.ErrorIs(t, err, deployment.ErrGitRepo)
	_, _, err = c.Head(t.Context(), filepath.Join(t.TempDir(), "none"))
	require.ErrorIs(t, err, deployment.ErrGit)

	r := gitfixture.New(t, "")
	commit, dirty, err := c.Head(t.Context(), r.Dir)
	require.NoError(t, err)
	assert.Empty(t, commit, "nothing is committed")
	assert.False(t, dirty)

	r = gitfixture.New(t, archive)
	r.Write("-- top.md --\nstashed\n")
	r.Git("stash")
	for _, dir := range []string{r.Dir, filepath.Join(r.Dir, "skills", "a")} {
		commit, dirty, err = c.Head(t.Context(), dir)
		require.NoError(t, err)
		assert.Equal(t, r.Head(), commit)
		assert.False(t, dirty, "a stash is not uncommitted")
	}
	for name, change := range map[string]string{"untracked": "-- new --\n", "modified": "-- top.md --\nchanged\n"} {
		r := gitfixture.New(t, archive)
		r.Write(change)
		_, dirty, err = c.Head(t.Context(), r.Dir)
		require.NoError(t, err)
		assert.True(t, dirty, name)
	}
	r.Write("-- .gitignore --\nignored\n")
	head := r.Commit("ignore")
	r.Write("-- ignored --\n")
	r.Git("checkout", "--quiet", "--detach")
	commit, dirty, err = c.Head(t.Context(), r.Dir)
	require.NoError(t, err)
	assert.Equal(t, head, commit)
	assert.False(t, dirty, "ignored files")
}

func TestHeadOfABranchThatIsNotInStepWithItsUpstream(t *testing.T) {
	user(t, "")
	for name, apart := range map[string]struct {
		does  func(r *gitfixture.Repo)
		short string
	}{
		"in step":    {func(*gitfixture.Repo) {}, ""},
		"ahead":      {func(r *gitfixture.Repo) { r.Git("commit", "--quiet", "--allow-empty", "-m", "ours") }, " [ahead 1]"},
		"behind":     {func(r *gitfixture.Repo) { r.Git("reset", "--quiet", "--hard", "HEAD~1") }, " [behind 1]"},
		"both":       {func(r *gitfixture.Repo) { r.Git("commit", "--quiet", "--amend", "--allow-empty", "-m", "ours") }, " [ahead 1, behind 1]"},
		"it is gone": {func(r *gitfixture.Repo) { r.Git("update-ref", "-d", "refs/remotes/origin/main") }, " [gone]"},
	} {
		t.Run(name, func(t *testing.T) {
			r := gitfixture.New(t, archive)
			r.Git("commit", "--quiet", "--allow-empty", "-m", "theirs")
			r.Git("push", "--quiet", "--set-upstream", "origin", "main")
			apart.does(r)
			require.Equal(t, "## main...origin/main"+apart.short, r.Git("status", "--short", "--branch"))
			commit, dirty, err := client().Head(t.Context(), r.Dir)
			require.NoError(t, err)
			assert.Equal(t, r.Head(), commit)
			assert.False(t, dirty)
			state, err := client().State(t.Context(), r.Dir)
			require.NoError(t, err)
			assert.Equal(t, deployport.RepoState{Branch: "main", Remotes: []string{"origin"}}, state)
		})
	}
}

func TestShow(t *testing.T) {
	user(t, "")
	r := gitfixture.New(t, archive)
	first := r.Head()
	r.Write("-- top.md --\nchanged\n")
	r.Commit("second")
	show := func(dir, commit, path string) (string, bool, error) {
		data, found, err := client().Show(t.Context(), dir, commit, path)
		return string(data), found, err
	}
	text, found, err := show(r.Dir, first, "top.md")
	require.NoError(t, err)
	assert.True(t, found)
	assert.Equal(t, "top\n", text)
	text, found, err = show(filepath.Join(r.Dir, "skills"), strings.ToUpper(first), "a/SKILL.md")
	require.NoError(t, err, "relative to a directory below the top")
	assert.True(t, found)
	assert.Equal(t, "first\n", text)
	for _, path := range []string{"none", "skills", "top.md/x", "-x"} {
		_, found, err = show(r.Dir, first, path)
		require.NoError(t, err, path)
		assert.False(t, found, path)
	}
	for _, path := range []string{"../top.md", "/etc/passwd", "", "a/../top.md", ".git/config", "./top.md", "a\nb"} {
		_, _, err = show(r.Dir, first, path)
		require.ErrorIs(t, err, deployment.ErrPath, path)
	}
	for _, commit := range []string{strings.Repeat("ab", 20), "HEAD", "--batch", first[:7], ""} {
		_, _, err = show(r.Dir, commit, "top.md")
		require.ErrorIs(t, err, deployment.ErrGit, commit)
	}
	_, _, err = show(t.TempDir(), first, "top.md")
	require.ErrorIs(t, err, deployment.ErrGitRepo)
}

// proposed is plain files as a tree.
func proposed(files map[string][]byte) deployment.Tree {
	var out deployment.Tree
	for path, data := range files {
		out = append(out, deployment.File{Path: path, Mode: deployment.PlainMode, Content: deployment.ContentOf(data)})
	}
	return out
}

func TestPropose(t *testing.T) {
	user(t, identity)
	r := gitfixture.New(t, archive)
	require.NoError(t, os.Chmod(filepath.Join(r.Dir, "skills", "a", "run.sh"), 0o755))
	head := r.Commit("executable")
	r.Write("-- top.md --\ndirty\n-- staged --\nx\n-- untracked --\n")
	r.Git("add", "staged")
	r.Write("-- skills/a/SKILL.md --\ndirty too\n")
	before := r.Git("status", "--porcelain=v2", "--branch")
	index, err := os.ReadFile(filepath.Join(r.Dir, ".git", "index"))
	require.NoError(t, err)
	files := proposed(map[string][]byte{"skills/a/run.sh": []byte("new\r\n"), "overlays/x y/SKILL.md": []byte("overlay"), "top.md": nil})
	files = append(files, deployment.File{Path: "overlays/x y/run.sh", Mode: deployment.ExecutableMode, Content: deployment.ContentOf([]byte("#!/bin/sh\n"))})
	commit, err := client().Propose(t.Context(), r.Dir, "evolve/propose-1", "chore(evolve): propose\n\nwith a body", files)
	require.NoError(t, err)
	assert.Equal(t, commit, r.Git("rev-parse", "refs/heads/evolve/propose-1"))
	assert.Equal(t, head, r.Git("rev-parse", commit+"^"))
	assert.Equal(t, "chore(evolve): propose\n\nwith a body\n", r.Git("log", "-1", "--format=%B", commit))
	assert.Equal(t, "Ada <ada@example.com>", r.Git("log", "-1", "--format=%an <%ae>", commit))
	assert.Equal(t, "A\toverlays/x y/SKILL.md\nA\toverlays/x y/run.sh\nM\tskills/a/run.sh\nM\ttop.md", r.Git("diff", "--name-status", head, commit))
	assert.Equal(t, "new\r", r.Git("show", commit+":skills/a/run.sh"), "no line ending is changed")
	modes := r.Git("ls-tree", "-r", "--format=%(objectmode) %(path)", commit)
	assert.Contains(t, modes, "100755 skills/a/run.sh")
	assert.Contains(t, modes, "100644 overlays/x y/SKILL.md")
	assert.Contains(t, modes, "100755 overlays/x y/run.sh")

	assert.Equal(t, before, r.Git("status", "--porcelain=v2", "--branch"))
	after, err := os.ReadFile(filepath.Join(r.Dir, ".git", "index"))
	require.NoError(t, err)
	assert.Equal(t, index, after, "not a byte of the index")

	_, err = client().Propose(t.Context(), r.Dir, "evolve/propose-1", "again", files)
	require.ErrorIs(t, err, deployment.ErrGit)
	require.ErrorContains(t, err, `branch "evolve/propose-1" already exists`)
	assert.Equal(t, commit, r.Git("rev-parse", "refs/heads/evolve/propose-1"))
	_, err = client().Propose(t.Context(), r.Dir, "evolve/propose-1/below", "m", files)
	require.ErrorIs(t, err, deployment.ErrGit, "a branch that another one leaves no room for")
	_, err = client().Propose(t.Context(), r.Dir, "same", "m", proposed(map[string][]byte{"skills/a/SKILL.md": []byte("first\n")}))
	require.ErrorIs(t, err, deployment.ErrGit)
	require.ErrorContains(t, err, "nothing to propose")
	assert.NotContains(t, r.Git("branch", "--list"), "same")

	commit, err = client().Propose(t.Context(), filepath.Join(r.Dir, "skills"), "below", "m", proposed(map[string][]byte{"a/run.sh": []byte("2"), "b": []byte("3")}))
	require.NoError(t, err)
	assert.Equal(t, "skills/a/run.sh\nskills/b", r.Git("diff", "--name-only", head, commit), "paths are relative to the directory")
	assert.Contains(t, r.Git("ls-tree", "-r", "--format=%(objectmode) %(path)", commit), "100755 skills/a/run.sh")
}

func TestProposeRefuses(t *testing.T) {
	user(t, identity)
	r := gitfixture.New(t, archive)
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(r.Dir, "link")))
	require.NoError(t, os.Symlink("skills", filepath.Join(r.Dir, "dir")))
	r.Commit("links")
	branches := r.Git("branch", "--list")
	for _, path := range []string{"../x", "/x", "", ".", "a/../x", ".git/config", "a/.Git/hooks/pre-commit", "link", "link/x", "dir/a/SKILL.md", "top.md/x", "skills", "skills/a", "a\nb", `a\b`} {
		_, err := client().Propose(t.Context(), r.Dir, "b", "m", proposed(map[string][]byte{path: []byte("x")}))
		require.ErrorIs(t, err, deployment.ErrPath, path)
	}
	for _, branch := range []string{"", "-D", "a..b", "HEAD", "a b", "x.lock"} {
		_, err := client().Propose(t.Context(), r.Dir, branch, "m", proposed(map[string][]byte{"x": nil}))
		require.ErrorIs(t, err, deployment.ErrConfig, branch)
	}
	_, err := client().Propose(t.Context(), t.TempDir(), "b", "m", proposed(map[string][]byte{"x": nil}))
	require.ErrorIs(t, err, deployment.ErrGitRepo)
	_, err = client().Propose(t.Context(), r.Dir, "b", "m", nil)
	require.ErrorIs(t, err, deployment.ErrGit)
	assert.Equal(t, branches, r.Git("branch", "--list"))

	empty := gitfixture.New(t, "")
	commit, err := client().Propose(t.Context(), empty.Dir, "first", "m", proposed(map[string][]byte{"x": []byte("x")}))
	require.NoError(t, err, "before the first commit")
	assert.Equal(t, commit, empty.Git("rev-list", "first"))
}

func TestProposeSaysHowToTellGitWhoCommits(t *testing.T) {
	user(t, "")
	r := gitfixture.New(t, archive)
	_, err := client().Propose(t.Context(), r.Dir, "b", "m", proposed(map[string][]byte{"x": nil}))
	require.ErrorIs(t, err, deployment.ErrGit)
	assert.ErrorContains(t, err, "git config --global user.name")
	assert.ErrorContains(t, err, "git config --global user.email")
	assert.NotContains(t, r.Git("branch", "--list"), "b")

	for _, name := range []string{"AUTHOR", "COMMITTER"} {
		t.Setenv("GIT_"+name+"_NAME", "Grace")
		t.Setenv("GIT_"+name+"_EMAIL", "grace@example.com")
	}
	_, err = client().Propose(t.Context(), r.Dir, "b", "m", proposed(map[string][]byte{"x": nil}))
	require.NoError(t, err)
	assert.Equal(t, "Grace <grace@example.com>", r.Git("show", "--no-patch", "--format=%an <%ce>", "b"))
}

// TestTheConfigRepositoryRunsNothing: only Sync, which the user asks for, lets a repository's own configuration run programs.
func TestTheConfigRepositoryRunsNothing(t *testing.T) {
	user(t, identity)
	r := gitfixture.New(t, archive+"-- .gitattributes --\n* filter=x diff=x\n*.sh filter=a=b\n")
	head := r.Head()
	mark := hostile(t, r)
	r.Write("-- top.md --\ntOp\n-- skills/a/run.sh --\n#!/bin/SH\n") // as long as before, so that git has to look inside
	c := client()
	_, dirty, err := c.Head(t.Context(), r.Dir)
	require.NoError(t, err)
	assert.True(t, dirty)
	_, found, err := c.Show(t.Context(), r.Dir, head, "top.md")
	require.NoError(t, err)
	assert.True(t, found)
	_, err = c.Propose(t.Context(), r.Dir, "b", "m", proposed(map[string][]byte{"top.md": []byte("x")}))
	require.NoError(t, err)
	state, err := c.State(t.Context(), r.Dir)
	require.NoError(t, err)
	assert.True(t, state.Dirty)
	require.NoError(t, c.Init(t.Context(), r.Dir))
	require.NoError(t, c.SetRemote(t.Context(), r.Dir, "origin", "https://example.com/x"))
	assert.NoFileExists(t, mark)
	careless := exec.Command("git", "-C", r.Dir, "add", "top.md")
	careless.Env = r.Env()
	_ = careless.Run()
	assert.FileExists(t, mark, "a git that is not careful runs them")
}

func TestUnmerged(t *testing.T) {
	user(t, "[user]\n\tname = Ann\n\temail = ann@example.com\n")
	c := client()
	_, err := c.Unmerged(t.Context(), t.TempDir())
	require.ErrorIs(t, err, deployment.ErrGitRepo)
	r := gitfixture.New(t, "")
	none, err := c.Unmerged(t.Context(), r.Dir)
	require.NoError(t, err)
	assert.Empty(t, none, "nothing is committed")

	r = gitfixture.New(t, archive)
	r.Git("branch", "same")
	commit, err := c.Propose(t.Context(), r.Dir, "evolve/one", "m", deployment.Tree{{Path: "new.md", Mode: deployment.PlainMode, Content: deployment.ContentOf([]byte("x\n"))}})
	require.NoError(t, err)
	found, err := c.Unmerged(t.Context(), r.Dir)
	require.NoError(t, err)
	assert.Equal(t, []deployport.Branch{{Name: "evolve/one", Commit: commit}}, found)
	r.Git("merge", "-q", "evolve/one")
	found, err = c.Unmerged(t.Context(), r.Dir)
	require.NoError(t, err)
	assert.Empty(t, found)
}

func TestParent(t *testing.T) {
	c := client()
	_, _, err := c.Parent(t.Context(), t.TempDir(), strings.Repeat("a", 40))
	require.ErrorIs(t, err, deployment.ErrGitRepo)
	r := gitfixture.New(t, archive)
	first := r.Head()
	_, _, err = c.Parent(t.Context(), r.Dir, "HEAD")
	require.ErrorIs(t, err, deployment.ErrGit)
	_, found, err := c.Parent(t.Context(), r.Dir, first)
	require.NoError(t, err)
	assert.False(t, found, "nothing is before the first commit")
	_, found, err = c.Parent(t.Context(), r.Dir, strings.Repeat("a", 40))
	require.NoError(t, err)
	assert.False(t, found, "a commit that is not here has no parent here")

	second := r.Commit("second")
	parent, found, err := c.Parent(t.Context(), r.Dir, second)
	require.NoError(t, err)
	assert.True(t, found)
	assert.Equal(t, first, parent)
}
