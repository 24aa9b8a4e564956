package workgit_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/gitcli/workgit"
	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/internal/testkit/gitfixture"
)

// user gives git the configuration of a user who commits.
func user(t *testing.T) {
	t.Helper()
	home := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(home, ".gitconfig"), []byte("[user]\n\tname = Ada\n\temail = ada@example.com\n"), 0o644))
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", home)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
}

func write(t *testing.T, r *gitfixture.Repo, name, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(r.Dir, name), []byte(text), 0o644))
}

// staged stages all of these files.
func staged(t *testing.T, r *gitfixture.Repo, names ...string) {
	t.Helper()
	files, err := workgit.Client{}.Patch(t.Context(), r.Dir, false, names)
	require.NoError(t, err)
	var patch strings.Builder
	for _, f := range files {
		patch.WriteString(f.Text())
	}
	require.NoError(t, workgit.Client{}.Stage(t.Context(), r.Dir, patch.String(), false))
}

// everything does all that there is to do in a working tree with a change in a.txt and one in b.txt.
func everything(t *testing.T, r *gitfixture.Repo) {
	c, ctx := workgit.Client{}, t.Context()
	_, err := c.Look(ctx, r.Dir)
	require.NoError(t, err)
	staged(t, r, "a.txt")
	w, err := c.PlanCommit(ctx, r.Dir, false)
	require.NoError(t, err)
	_, err = c.Commit(ctx, w, "a", false)
	require.NoError(t, err)
	w, err = c.PlanCommit(ctx, r.Dir, true)
	require.NoError(t, err)
	_, err = c.Commit(ctx, w, "b", false)
	require.NoError(t, err)
	s, err := c.PlanStash(ctx, r.Dir)
	require.NoError(t, err)
	_, err = c.Stash(ctx, s, "s")
	require.NoError(t, err)
	m, err := c.PlanSwitch(ctx, r.Dir, "side", "", true)
	require.NoError(t, err)
	require.NoError(t, c.Switch(ctx, m))
	s, err = c.PlanUnstash(ctx, r.Dir, "")
	require.NoError(t, err)
	require.NoError(t, c.Unstash(ctx, s, false))
	s, err = c.PlanDrop(ctx, r.Dir, "")
	require.NoError(t, err)
	require.NoError(t, c.Drop(ctx, s))
	push, err := c.PlanPush(ctx, r.Dir, "origin", "side")
	require.NoError(t, err)
	require.NoError(t, c.Push(ctx, push, false))
	pull, err := c.PlanPull(ctx, r.Dir, false)
	require.NoError(t, err)
	assert.True(t, pull.Nothing)
}

// TestNothingOfARepositoryRuns: neither its hooks nor a program that its configuration names, while all is done that can be done; a filter stops what would store other contents without it.
func TestNothingOfARepositoryRuns(t *testing.T) {
	user(t)
	r, traps := gitfixture.New(t, "-- a.txt --\na\n-- b.txt --\nb\n-- .gitattributes --\n*.txt diff=evil merge=evil filter=evil\n"), gitfixture.NewTraps(t, "")
	traps.Configure(filepath.Join(r.Dir, ".git"), true)
	write(t, r, "a.txt", "more\n")
	write(t, r, "b.txt", "more\n")
	traps.Sprung()
	_, err := workgit.Client{}.Look(t.Context(), r.Dir)
	require.NoError(t, err)
	for name, plan := range map[string]func() error{
		"stage": func() error {
			_, err := workgit.Client{}.Patch(t.Context(), r.Dir, false, []string{"a.txt"})
			return err
		},
		"stash":  func() error { _, err := workgit.Client{}.PlanStash(t.Context(), r.Dir); return err },
		"switch": func() error { _, err := workgit.Client{}.PlanSwitch(t.Context(), r.Dir, "x", "", true); return err },
	} {
		err := plan()
		require.ErrorIs(t, err, project.ErrArgument, name)
		assert.Contains(t, err.Error(), "filter.evil", name)
	}
	assert.Empty(t, traps.Sprung())
	config := filepath.Join(r.Dir, ".git", "config")
	text, err := os.ReadFile(config)
	require.NoError(t, err)
	kept := string(text)
	for _, section := range []string{`[filter "evil"]`, `[merge "evil"]`, `[lfs "extension.evil"]`} { // the rest stays
		kept = strings.ReplaceAll(kept, section, `[nothing "evil"]`)
	}
	write(t, r, ".git/config", strings.ReplaceAll(kept, "gpgSign = ", "gpgUnsigned = "))
	everything(t, r)
	assert.Empty(t, traps.Sprung())
	_ = exec.Command("git", "-C", r.Dir, "status").Run()
	assert.NotEmpty(t, traps.Sprung(), "git itself runs them")
}

// TestARemoteThatIsAProgramIsNotStarted: whatever the repository says of it, and whatever it is called.
func TestARemoteThatIsAProgramIsNotStarted(t *testing.T) {
	user(t)
	r, traps := gitfixture.New(t, "-- a.txt --\na\n"), gitfixture.NewTraps(t, "")
	c, ctx := workgit.Client{}, t.Context()
	branch := r.Git("branch", "--show-current")
	r.Git("config", "protocol.ext.allow", "always")
	r.Git("config", "remote.origin.url", "ext::"+traps.Program("ext")+" %S")
	r.Git("update-ref", "-d", "refs/remotes/origin/"+branch)
	if p, err := c.PlanPush(ctx, r.Dir, "origin", branch); err == nil {
		require.Error(t, c.Push(ctx, p, true))
	}
	_, err := c.PlanPull(ctx, r.Dir, false)
	require.Error(t, err)
	for _, remote := range []string{"--receive-pack=" + traps.Program("option"), "ext::" + traps.Program("name"), "."} {
		_, err := c.PlanPush(ctx, r.Dir, remote, branch)
		require.ErrorIs(t, err, project.ErrArgument, remote)
	}
	assert.Empty(t, traps.Sprung())
}

// TestNamesAreNamesAlone: files that look like options or patterns are staged as they are called, and alone; what no branch can be called is refused.
func TestNamesAreNamesAlone(t *testing.T) {
	user(t)
	r := gitfixture.New(t, "-- a.txt --\na\n")
	c, ctx := workgit.Client{}, t.Context()
	hostile := []string{"--output=ran", "-n", ":(exclude)a.txt", "*", "a\"b\\", "\x1b[31mred", "two\nlines"}
	for _, name := range append(hostile, "other") {
		write(t, r, name, "text\n")
	}
	for _, name := range hostile {
		staged(t, r, name)
		w, err := c.PlanCommit(ctx, r.Dir, false)
		require.NoError(t, err, "%q", name)
		require.Len(t, w.Files, 1, "%q", name)
		assert.Equal(t, name, w.Files[0].Path)
		_, err = c.Commit(ctx, w, "-m --amend", false)
		require.NoError(t, err, "%q", name)
	}
	assert.Equal(t, "other", r.Git("ls-files", "--others"))
	assert.Equal(t, "-m --amend", r.Git("log", "-1", "--format=%s"))
	for _, name := range []string{"-d", "--force", "a..b", "x@{1}", "HEAD^", "", "a b", "refs/../x"} {
		_, err := c.PlanBranch(ctx, r.Dir, name, "", false)
		require.ErrorIs(t, err, project.ErrArgument, "%q", name)
		_, err = c.PlanSwitch(ctx, r.Dir, name, "", true)
		require.ErrorIs(t, err, project.ErrArgument, "%q", name)
	}
	for _, from := range []string{"--output=ran", "-h", "HEAD --", "\x00"} {
		_, err := c.PlanBranch(ctx, r.Dir, "fine", from, false)
		require.ErrorIs(t, err, project.ErrArgument, "%q", from)
	}
	for _, stash := range []string{"--index", "stash@{0}", "-q"} {
		_, err := c.PlanDrop(ctx, r.Dir, stash)
		require.ErrorIs(t, err, project.ErrArgument, "%q", stash)
	}
	assert.NoFileExists(t, filepath.Join(r.Dir, "ran"))
}

// TestWhatMovedMeanwhileIsNotDone: a plan holds for the repository that was looked at, and for no other.
func TestWhatMovedMeanwhileIsNotDone(t *testing.T) {
	user(t)
	r := gitfixture.New(t, "-- a.txt --\na\n")
	c, ctx := workgit.Client{}, t.Context()
	write(t, r, "a.txt", "stashed\n")
	stash, err := c.PlanStash(ctx, r.Dir)
	require.NoError(t, err)
	s, err := c.Stash(ctx, stash, "")
	require.NoError(t, err)
	drop, err := c.PlanDrop(ctx, r.Dir, s.Name)
	require.NoError(t, err)
	write(t, r, "a.txt", "more\n")
	r.Git("add", "a.txt")
	amend, err := c.PlanCommit(ctx, r.Dir, true)
	require.NoError(t, err)
	branch, err := c.PlanBranch(ctx, r.Dir, "side", "", false)
	require.NoError(t, err)
	require.NoError(t, c.Branch(ctx, branch))
	gone, err := c.PlanBranch(ctx, r.Dir, "side", "", true)
	require.NoError(t, err)
	push, err := c.PlanPush(ctx, r.Dir, "origin", "side")
	require.NoError(t, err)

	r.Git("commit", "--quiet", "--message", "meanwhile")
	r.Git("branch", "--force", "side")
	r.Git("stash", "drop", "--quiet")
	_, err = c.Commit(ctx, amend, "m", false)
	require.ErrorIs(t, err, project.ErrConflict)
	require.ErrorIs(t, c.Branch(ctx, gone), project.ErrConflict)
	require.ErrorIs(t, c.Push(ctx, push, false), project.ErrConflict)
	require.ErrorIs(t, c.Drop(ctx, drop), project.ErrConflict)
}
