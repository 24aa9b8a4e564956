// Package gitfixture creates real git repositories with the same commit IDs on every machine: fixed author, dates and branch, no system or user
// configuration, and a local bare remote. It runs the git binary; without one it skips the test.
package gitfixture

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"
)

// Branch is the branch a new repository stands on and its remote has as HEAD.
const Branch = "main"

// Epoch is when the first commit was made. Each further commit is a minute later.
var Epoch = time.Date(2026, time.January, 2, 3, 4, 5, 0, time.UTC)

// Repo is a clone with a bare remote called origin, both in a directory that goes when the test ends. A Repo belongs to one goroutine.
type Repo struct {
	Dir     string // the working tree
	Remote  string // the bare repository that origin points to
	home    string // a HOME without a configuration
	t       testing.TB
	commits int
}

// New makes a repository that holds the files of a txtar archive in one commit, pushed to its remote. The archive's comment is the
// commit message, "initial" when there is none. An archive without files makes a repository without commits. More archives are further commits.
func New(t testing.TB, archive string, more ...string) *Repo {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	top := t.TempDir()
	archives := append([]string{archive}, more...)
	moulds(t, archives).cast(t, top)
	r := repoIn(t, top)
	if len(txtar.Parse([]byte(archive)).Files) > 0 {
		r.commits = len(archives)
		r.Git("update-index", "--refresh") // these are other files than those that git has seen
	}
	return r
}

// repoIn returns the repository below that directory.
func repoIn(t testing.TB, top string) *Repo {
	return &Repo{Dir: filepath.Join(top, "clone"), Remote: filepath.Join(top, "remote.git"), home: filepath.Join(top, "home"), t: t}
}

// fresh has git make one.
func fresh(t testing.TB, archives []string) *Repo {
	t.Helper()
	r := repoIn(t, t.TempDir())
	for _, dir := range []string{r.Dir, r.home, r.template(), filepath.Join(r.template(), "hooks"), filepath.Join(r.template(), "info")} {
		require.NoError(t, os.Mkdir(dir, 0o755))
	}
	require.NoError(t, os.WriteFile(filepath.Join(r.template(), "info", "exclude"), nil, 0o644))
	r.Git("init", "--quiet", "--bare", "--initial-branch="+Branch, r.Remote)
	r.Git("init", "--quiet", "--initial-branch="+Branch)
	r.Git("remote", "add", "origin", r.Remote)

	for _, archive := range archives {
		files := txtar.Parse([]byte(archive))
		if len(files.Files) == 0 {
			return r
		}
		r.Write(archive)
		message := strings.TrimSpace(string(files.Comment))
		if message == "" {
			message = "initial"
		}
		r.Commit(message)
	}
	r.Git("push", "--quiet", "--set-upstream", "origin", Branch)
	return r
}

// template returns what a new repository begins with: places for hooks and exclusions, and none of git's samples.
func (r *Repo) template() string { return filepath.Join(r.home, "template") }

// Write puts the files of a txtar archive into the working tree, over what is there.
func (r *Repo) Write(archive string) {
	r.t.Helper()
	for _, f := range txtar.Parse([]byte(archive)).Files {
		require.True(r.t, filepath.IsLocal(f.Name), "%s would leave the repository", f.Name)
		file := filepath.Join(r.Dir, filepath.FromSlash(f.Name))
		require.NoError(r.t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(r.t, os.WriteFile(file, f.Data, 0o644))
	}
}

// Commit records everything in the working tree, even nothing, and returns the full commit id.
func (r *Repo) Commit(message string) string {
	r.t.Helper()
	r.Git("add", "--all")
	r.Git("commit", "--quiet", "--allow-empty", "--no-verify", "--message", message)
	r.commits++
	return r.Head()
}

// Head returns the full id of the commit the working tree stands on.
func (r *Repo) Head() string {
	r.t.Helper()
	return r.Git("rev-parse", "HEAD")
}

// Git runs git in the working tree and returns what it printed, without the final newline. A failure ends the test with git's words.
func (r *Repo) Git(args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = r.Dir, r.Env()
	var out, words strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &words
	require.NoError(r.t, cmd.Run(), "git %s: %s", strings.Join(args, " "), &words)
	return strings.TrimSuffix(out.String(), "\n")
}

// settings are where git's own defaults differ between machines and versions, or start work in the background.
var settings = []struct{ key, value string }{
	{"commit.gpgSign", "false"}, {"core.autocrlf", "false"}, {"core.fileMode", "true"}, {"gc.auto", "0"}, {"maintenance.auto", "false"},
}

// Env returns the environment of every git here, for tests that start their own: PATH and TMPDIR of the machine, and nothing else of it.
func (r *Repo) Env() []string {
	date := Epoch.Add(time.Duration(r.commits) * time.Minute).Format(time.RFC3339)
	env := []string{
		"HOME=" + r.home, "XDG_CONFIG_HOME=" + r.home, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull,
		"GIT_TEMPLATE_DIR=" + r.template(), "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_ALLOW_PROTOCOL=file", "LC_ALL=C", "TZ=UTC",
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.com", "GIT_AUTHOR_DATE=" + date,
		"GIT_CONFIG_COUNT=" + strconv.Itoa(len(settings)),
		"GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.com", "GIT_COMMITTER_DATE=" + date,
	}
	for i, setting := range settings {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, setting.key), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, setting.value))
	}
	for _, name := range []string{"PATH", "TMPDIR"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}
