package gitcli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/internal/testkit/gitfixture"
)

// alone is a home of the test's own, with that configuration of the user.
func alone(t *testing.T, config string) {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", home)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	require.NoError(t, os.WriteFile(filepath.Join(home, ".gitconfig"), []byte("[user]\n\tname = Ada\n\temail = ada@example.com\n"+config), 0o600))
}

// later has git compare every file of a working tree again.
func later(t *testing.T, dir string) {
	t.Helper()
	then := time.Now().Add(time.Hour)
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == ".git" {
			return filepath.SkipDir
		}
		if err == nil && d.Type().IsRegular() {
			err = os.Chtimes(path, then, then)
		}
		return err
	}))
}

// careless starts git without any care, so that traps that catch nothing are found out.
func careless(r *gitfixture.Repo, args ...string) {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = r.Dir, append(r.Env(), "GIT_ALLOW_PROTOCOL=ext:file", "GIT_CONFIG_COUNT=0")
	_ = cmd.Run()
}

// TestNothingThatARepositoryNamesRuns goes through what is asked of git, in a clone whose configuration names a program wherever git knows a place for
// one, and in a bare repository and a submodule within it whose own does.
func TestNothingThatARepositoryNamesRuns(t *testing.T) {
	for name, hide := range map[string]func(*gitfixture.Repo){
		"plainly": func(*gitfixture.Repo) {},
		"in a file that is included": func(r *gitfixture.Repo) {
			config := filepath.Join(r.Dir, ".git", "config")
			require.NoError(t, os.Rename(config, filepath.Join(r.Dir, ".git", "more")))
			require.NoError(t, os.WriteFile(config, []byte("[core]\n\tbare = false\n[iNClude]\n\tpath = more\n"), 0o644))
		},
		"for a worktree": func(r *gitfixture.Repo) {
			config := filepath.Join(r.Dir, ".git", "config")
			require.NoError(t, os.Rename(config, filepath.Join(r.Dir, ".git", "config.worktree")))
			require.NoError(t, os.WriteFile(config, []byte("[core]\n\trepositoryformatversion = 1\n\tbare = false\n[extensions]\n\tworktreeConfig = true\n"), 0o644))
		},
	} {
		t.Run(name, func(t *testing.T) {
			alone(t, "")
			lib := gitfixture.New(t, "-- l.c --\nlib\n-- .gitattributes --\n*.c filter=evil\n")
			r := gitfixture.New(t, "-- x.c --\none\n-- .gitattributes --\n*.c diff=evil filter=evil merge=evil\n")
			r.Git("submodule", "--quiet", "add", "--", lib.Remote, "lib")
			r.Write("-- x.c --\ntwo\n")
			r.Commit("lib")
			r.Git("push", "--quiet", "origin", "main")
			traps := gitfixture.NewTraps(t, "")
			traps.Configure(filepath.Join(r.Dir, ".git"), false)
			traps.Configure(filepath.Join(r.Dir, ".git", "modules", "lib"), true)
			r.Git("init", "--quiet", "--bare", "within")
			traps.Configure(filepath.Join(r.Dir, "within"), true)
			hide(r)
			later(t, r.Dir)
			for _, args := range [][]string{{"status"}, {"-c", "core.fsmonitor=", "diff", "HEAD~1", "HEAD"}, {"ls-remote", "origin"}} {
				careless(r, args...)
			}
			sprung := strings.Join(traps.Sprung(), " ")
			for _, trapped := range []string{"core.fsmonitor", "diff.e", "filter.evil.", "remote.origin.uploadpack"} {
				assert.Contains(t, sprung, trapped, "the traps work")
			}
			then := filepath.Join(t.TempDir(), "tree")
			for i, args := range [][]string{
				{"status", "--porcelain", "--ignore-submodules=none"}, {"diff"}, {"ls-remote", "origin"}, {"status", "-v"}, {"diff", "--cached"}, {"diff", "HEAD~1"}, {"log", "-p", "-1"},
				{"diff-tree", "-p", "HEAD"}, {"ls-files", "-m"}, {"for-each-ref"}, {"rev-list", "--all"}, {"cat-file", "-t", "HEAD"}, {"check-ignore", "x"}, {"var", "GIT_EDITOR"},
				{"hash-object", "x.c"}, {"update-index", "--refresh"}, {"fetch", "origin"}, {"add", "--all"}, {"commit", "-m", "x"},
				{"push", "origin", "main:other"}, {"worktree", "add", "--detach", then}, {"checkout", "--detach"}, {"checkout-index", "-a", "-f"}, {"reset", "--hard"},
				{"read-tree", "--reset", "-u", "HEAD~1"}, {"reset", "--hard", "HEAD~1"}, {"merge", "-m", "x", "main"}, {"cherry-pick", "main"}, {"rebase", "HEAD~1"}, {"pull", "--rebase", "origin", "main"},
				{"bundle", "create", then + ".bundle", "--all"}, {"pack-objects", "--all", "--window=0", then + "-pack"}, {"branch", "new"}, {"rm", "--cached", "x.c"}, {"worktree", "remove", "--force", "--force", then},
				{"submodule", "update", "--init", "--force", "--checkout"}, {"clean", "-n"},
			} {
				if i > 2 && name != "plainly" {
					break // what differs is how the configuration is found
				}
				if args[0] == "status" || args[0] == "add" || args[0] == "commit" || args[0] == "update-index" {
					later(t, r.Dir)
				}
				_, _ = gitcli.Command{Dir: r.Dir, Args: args, Machine: true, Protocols: gitcli.Network}.Output(t.Context())
				assert.Empty(t, traps.Sprung(), "git %s", strings.Join(args, " "))
			}
			_, _ = gitcli.Command{Dir: filepath.Join(r.Dir, "within"), Args: []string{"fetch", "origin"}, Protocols: gitcli.Network}.Output(t.Context())
			assert.Empty(t, traps.Sprung(), "a bare repository within another")
		})
	}
}

// TestTheUsersOwnStay: a repository that names a program instead of the user's changes nothing.
func TestTheUsersOwnStay(t *testing.T) {
	alone(t, "[filter \"upper\"]\n\tclean = tr a-z A-Z\n\trequired = true\n[credential]\n\thelper = mine\n[core]\n\tsshCommand = my-ssh\n")
	r := gitfixture.New(t, "-- x.big --\nLARGE\n-- .gitattributes --\n*.big filter=upper\n")
	traps := gitfixture.NewTraps(t, "")
	traps.Configure(filepath.Join(r.Dir, ".git"), false)
	r.Git("config", "filter.upper.clean", traps.Program("clean"))
	r.Git("config", "filter.upper.required", "false")
	r.Write("-- x.big --\nlarge\n")
	traps.Sprung()
	out, err := gitcli.Command{Dir: r.Dir, Args: []string{"status", "--porcelain", "--untracked-files=no"}}.Output(t.Context())
	require.NoError(t, err)
	assert.Empty(t, string(out))
	assert.Empty(t, traps.Sprung())

	runStandIn(t, "case \"$*\" in *' config '*) exec "+real(t)+" \"$@\";; esac\nenv | grep -A1 -E '^GIT_CONFIG_VALUE_[0-9]+=(mine|my-ssh)?$'; env")
	out, err = gitcli.Command{Dir: r.Dir, Args: []string{"ls-remote", "origin"}, Protocols: gitcli.Network}.Output(t.Context())
	require.NoError(t, err)
	assert.Contains(t, string(out), "=mine\n")
	assert.Contains(t, string(out), "=my-ssh\n")
	assert.NotContains(t, string(out), "=!")
}

// real returns the git that is on the PATH.
func real(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("git")
	require.NoError(t, err)
	return path
}

// TestFiltersRunWhereTheyAreWanted: for what was approved, and then those of the repository alone.
func TestFiltersRunWhereTheyAreWanted(t *testing.T) {
	alone(t, "")
	lib := gitfixture.New(t, "-- l.c --\nlib\n-- .gitattributes --\n*.c filter=up\n")
	r := gitfixture.New(t, "-- x.txt --\none\n-- .gitattributes --\n*.c filter=up\n")
	r.Git("submodule", "--quiet", "add", "--", lib.Remote, "lib")
	r.Commit("lib")
	traps := gitfixture.NewTraps(t, "")
	r.Git("config", "filter.up.clean", "tr a-z A-Z")
	r.Git("-C", "lib", "config", "filter.up.clean", traps.Program("lib.clean"))
	r.Git("-C", "lib", "config", "filter.other.clean", traps.Program("lib.other"))
	r.Write("-- new.c --\nshout\n-- lib/l.c --\nLIB\n")
	named, err := gitcli.Command{Dir: r.Dir}.Named(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []gitcli.Setting{{Name: "filter.up.clean", Value: "tr a-z A-Z"}}, named)
	for wanted, text := range map[bool]string{false: "shout", true: "SHOUT"} {
		_, err := gitcli.Command{Dir: r.Dir, Args: []string{"rm", "--cached", "--force", "--ignore-unmatch", "--quiet", "new.c"}}.Output(t.Context())
		require.NoError(t, err)
		_, err = gitcli.Command{Dir: r.Dir, Args: []string{"add", "--all"}, Filters: wanted}.Output(t.Context())
		require.NoError(t, err)
		assert.Equal(t, text, r.Git("cat-file", "blob", ":new.c"))
	}
	assert.Empty(t, traps.Sprung(), "what a submodule names was not asked about")
}

// TestMostRepositoriesCostNothing: one git for one command, as long as a configuration says what git writes itself.
func TestMostRepositoriesCostNothing(t *testing.T) {
	alone(t, "[filter \"lfs\"]\n\tclean = cat\n")
	r := gitfixture.New(t, "-- a --\na\n")
	git := real(t)
	count := filepath.Join(t.TempDir(), "count")
	runStandIn(t, "echo \"$*\" >> '"+count+"'\nexec "+git+" \"$@\"")
	started := func(c gitcli.Command) int {
		require.NoError(t, os.WriteFile(count, nil, 0o600))
		_, err := c.Output(t.Context())
		require.NoError(t, err)
		said, err := os.ReadFile(count)
		require.NoError(t, err)
		return strings.Count(string(said), "\n")
	}
	status := gitcli.Command{Dir: r.Dir, Args: []string{"status", "--porcelain", "--ignore-submodules=none"}}
	assert.Equal(t, 1, started(status))
	r.Git("config", "filter.x.clean", "cat")
	assert.Equal(t, 2, started(status))
}

func TestOnlyKnownCommandsAreStarted(t *testing.T) {
	var refused *gitcli.VerbError
	for _, args := range [][]string{{"difftool"}, {"archive"}, {"-c", "alias.x=!true", "x"}, {"submodule", "update"}} {
		_, err := gitcli.Command{Dir: t.TempDir(), Args: args}.Output(t.Context())
		require.ErrorAs(t, err, &refused, "%v", args)
	}
}
