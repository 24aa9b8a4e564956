package gitcli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/internal/testkit/gitfixture"
)

// trap is a repository whose configuration runs a program of its own wherever it can. Each leaves a file behind.
type trap struct {
	*gitfixture.Repo
	gitfixture.Traps
	t *testing.T
}

// careless runs a command without any care, so that traps that catch nothing are found out.
func (r trap) careless(args ...string) {
	cmd := exec.Command("git", append([]string{"-c", "filter.evil.required=false"}, args...)...)
	cmd.Dir, cmd.Env = r.Dir, append(os.Environ(), "GIT_ALLOW_PROTOCOL=ext:file")
	_ = cmd.Run()
}

// touched makes git compare a file again.
func (r trap) touched(name string) {
	later := time.Now().Add(time.Hour)
	require.NoError(r.t, os.Chtimes(filepath.Join(r.Dir, name), later, later))
}

// set makes a trap. Filters and the rest stand in a file of their own, so that include is one too.
func set(t *testing.T) trap {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", home)
	lib := gitfixture.New(t, "-- x.c --\nlib\n-- .gitattributes --\n*.c filter=evil\n")
	r := trap{Repo: gitfixture.New(t, "-- x.c --\none\n-- y.c --\ntwo\n-- .gitattributes --\n*.c diff=evil filter=evil\n"), Traps: gitfixture.NewTraps(t, ""), t: t}
	r.Git("submodule", "--quiet", "add", "--", lib.Remote, "lib")
	r.Commit("lib")
	for _, key := range []string{"core.fsmonitor", "diff.external", "diff.evil.textconv", "core.pager", "pager.diff", "pager.status", "core.editor", "core.sshCommand", "core.askPass",
		"credential.helper", "core.alternateRefsCommand", "gpg.program", "core.gitProxy", "filter.evil.smudge", "uploadpack.packObjectsHook"} {
		r.Git("config", key, r.Program(key))
	}
	r.Git("config", "core.hooksPath", r.Hooks("post-index-change", "reference-transaction", "post-checkout"))
	r.Git("config", "alias.status", "!"+r.Program("alias"))
	r.Git("config", "filter.evil.required", "true")
	r.Git("-C", "lib", "config", "core.fsmonitor", r.Program("submodule.fsmonitor"))
	r.Git("-C", "lib", "config", "filter.evil.clean", r.Program("submodule.clean"))
	r.Git("-C", "lib", "config", "diff.external", r.Program("submodule.external"))
	r.touched("lib/x.c")
	require.NoError(t, os.WriteFile(filepath.Join(r.Dir, "y.c"), []byte("staged\n"), 0o644))
	r.Git("-c", "filter.evil.required=false", "add", "y.c")
	r.Sprung()
	return r
}

// askEverything asks all there is to ask; every answer must come.
func askEverything(t *testing.T, dir string) {
	t.Helper()
	git := gitcli.New(gitcli.Options{})
	_, err := git.Head(t.Context(), dir)
	require.NoError(t, err)
	s, err := git.Status(t.Context(), dir)
	require.NoError(t, err)
	assert.Equal(t, []string{"y.c"}, s.Staged)
	assert.Empty(t, s.Modified)
	d, err := git.Staged(t.Context(), dir, 0)
	require.NoError(t, err)
	assert.Contains(t, d.Text, "-two\n+staged\n")
	_, err = git.Worktrees(t.Context(), dir)
	require.NoError(t, err)
	_, err = git.Remote(t.Context(), dir)
	require.NoError(t, err)
	ok, err := git.Belongs(t.Context(), dir, dir)
	require.NoError(t, err)
	assert.True(t, ok)
}

func TestNothingThatARepositoryConfiguresRuns(t *testing.T) {
	for name, plant := range map[string]func(r trap){
		"plainly":        func(r trap) { r.Git("config", "filter.evil.clean", r.Program("filter.evil.clean")) },
		"letter case":    func(r trap) { config(r, "config", "[FiLTeR \"evil\"]\n\tCLEAN = "+r.Program("filter.evil.clean")+"\n") },
		"odd file":       func(r trap) { linkedConfig(r) },
		"long-running":   func(r trap) { r.Git("config", "filter.evil.process", r.Program("filter.evil.process")) },
		"through a file": func(r trap) { included(r) },
		"per worktree": func(r trap) {
			r.Git("config", "--remove-section", "filter.evil")
			r.Git("config", "extensions.worktreeConfig", "true")
			config(r, "config.worktree", "[filter \"evil\"]\n\tclean = "+r.Program("filter.evil.clean")+"\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := set(t)
			plant(r)
			r.touched("x.c")
			askEverything(t, r.Dir)
			assert.Empty(t, r.Sprung())

			r.careless("status") // a long-running filter that says nothing ends it early
			r.careless("-c", "filter.evil.process=", "status")
			r.careless("-c", "filter.evil.process=", "diff", "--staged")
			r.careless("-c", "filter.evil.process=", "diff", "--staged", "--no-ext-diff")
			ran := r.Sprung()
			for _, trapped := range []string{"core.fsmonitor", "diff.external", "diff.evil.textconv", "submodule.fsmonitor"} {
				assert.Contains(t, ran, trapped, "the traps work")
			}
			assert.True(t, slices.ContainsFunc(ran, func(name string) bool { return strings.HasPrefix(name, "filter.evil.") }), "%v", ran)
		})
	}
}

func config(r trap, name, text string) {
	f, err := os.OpenFile(filepath.Join(r.Dir, ".git", name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	require.NoError(r.t, err)
	_, err = f.WriteString(text)
	require.NoError(r.t, err)
	require.NoError(r.t, f.Close())
}

// included leaves no word of filters where git begins to read.
func included(r trap) {
	r.Git("config", "--remove-section", "filter.evil")
	config(r, "more", "[filter \"evil\"]\n\tclean = "+r.Program("filter.evil.clean")+"\n")
	config(r, "config", "[include]\n\tpath = more\n")
}

// linkedConfig hides the configuration behind a link.
func linkedConfig(r trap) {
	r.Git("config", "filter.evil.clean", r.Program("filter.evil.clean"))
	require.NoError(r.t, os.Rename(filepath.Join(r.Dir, ".git", "config"), filepath.Join(r.Dir, ".git", "elsewhere")))
	require.NoError(r.t, os.Symlink("elsewhere", filepath.Join(r.Dir, ".git", "config")))
}

// TestMissingObjectsAreNotFetched: a repository may say that another one has its objects, and how to get there.
func TestMissingObjectsAreNotFetched(t *testing.T) {
	r := set(t)
	for key, value := range map[string]string{"core.repositoryFormatVersion": "1", "extensions.partialClone": "origin", "remote.origin.promisor": "true",
		"remote.origin.url": "ext::" + r.Program("remote")} {
		r.Git("config", key, value)
	}
	blob := r.Git("rev-parse", "HEAD:y.c")
	require.NoError(t, os.Remove(filepath.Join(r.Dir, ".git", "objects", blob[:2], blob[2:])))
	_, err := gitcli.New(gitcli.Options{}).Staged(t.Context(), r.Dir, 0)
	require.Error(t, err)
	assert.Empty(t, r.Sprung())
	r.careless("-c", "protocol.ext.allow=always", "diff", "--staged", "--no-ext-diff", "--no-textconv")
	assert.Contains(t, r.Sprung(), "remote", "the trap works")
}

// TestTheUsersOwnFiltersStay: large files kept elsewhere are as committed when the user's filter says so.
func TestTheUsersOwnFiltersStay(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", home)
	require.NoError(t, os.WriteFile(filepath.Join(home, ".gitconfig"), []byte("[filter \"upper\"]\n\tclean = tr a-z A-Z\n\trequired = true\n"), 0o644))
	r := gitfixture.New(t, "-- x.big --\nLARGE\n-- .gitattributes --\n*.big filter=upper\n")
	r.Git("config", "filter.other.clean", "false")
	require.NoError(t, os.WriteFile(filepath.Join(r.Dir, "x.big"), []byte("large\n"), 0o644))
	s, err := gitcli.New(gitcli.Options{}).Status(t.Context(), r.Dir)
	require.NoError(t, err)
	assert.True(t, s.Clean, "%v", s.Modified)
}
