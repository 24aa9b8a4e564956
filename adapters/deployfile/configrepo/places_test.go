package configrepo_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/countersign-dev/countersign/adapters/deployfile/configrepo"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/ports/deployport"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var _ deployport.Locator = (*configrepo.Places)(nil)

// world is a home directory and what calls are made with.
type world struct {
	t    *testing.T
	root string
	env  map[string]string
}

func newWorld(t *testing.T) world {
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	w := world{t, root, map[string]string{"HOME": filepath.Join(root, "home"), "HOSTNAME": "box"}}
	w.dir("home")
	return w
}

func (w world) dir(name string) string {
	path := filepath.Join(w.root, name)
	require.NoError(w.t, os.MkdirAll(path, 0o755))
	return path
}

func (w world) file(name, text string) string {
	path := filepath.Join(w.root, name)
	w.dir(filepath.Dir(name))
	require.NoError(w.t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

func (w world) resolve(dir string, a deployport.Selection) deployment.Locations {
	got, err := configrepo.NewPlaces(func(name string) string { return w.env[name] }, filepath.Join(w.root, dir)).Resolve(context.Background(), a)
	require.NoError(w.t, err)
	return got
}

func (w world) git(dir string, args ...string) string {
	bin, err := exec.LookPath("git")
	if err != nil {
		w.t.Skip("git is not installed")
	}
	cmd := exec.Command(bin, args...)
	cmd.Dir = filepath.Join(w.root, dir)
	cmd.Env = []string{"HOME=" + w.env["HOME"], "PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b"}
	out, err := cmd.Output()
	require.NoError(w.t, err, "git %s", strings.Join(args, " "))
	return strings.TrimSuffix(string(out), "\n")
}

func TestDirectories(t *testing.T) {
	w := newWorld(t)
	w.dir("work")
	home := filepath.Join(w.root, "home")
	got := w.resolve("work", deployport.Selection{})
	assert.Equal(t, deployment.Locations{
		Home: home + "/.agentpack", Repo: home + "/.agentpack/repo", UserHome: home, Machine: "box",
		ProjectRoot: filepath.Join(w.root, "work"), ProjectID: deployment.ProjectID("", filepath.Join(w.root, "work")),
	}, got)

	for value, want := range map[string]string{"~/x": home + "/x", "~": w.root + "/work/~", "rel": w.root + "/work/rel", "/abs/./y": "/abs/y", "  ": home + "/.agentpack"} {
		w.env["AGENTPACK_HOME"] = value
		assert.Equal(t, want, w.resolve("work", deployport.Selection{}).Home, value)
	}
	w.env["AGENTPACK_HOME"] = "/h"
	w.env["CODEX_HOME"] = "~/.codex"
	for asked, want := range map[string]string{"": "/h/repo", "../cfg": w.root + "/cfg", "~/cfg": home + "/cfg", "/cfg/": "/cfg", ".": w.root + "/work"} {
		got := w.resolve("work", deployport.Selection{Repo: asked})
		assert.Equal(t, want, got.Repo, asked)
		assert.Equal(t, home+"/.codex", got.CodexHome)
	}
	delete(w.env, "HOME")
	w.env["USERPROFILE"] = "/profile"
	assert.Equal(t, "/profile", w.resolve("work", deployport.Selection{}).UserHome)
}

func TestMachine(t *testing.T) {
	w := newWorld(t)
	w.env["AGENTPACK_MACHINE_ID"], w.env["COMPUTERNAME"] = "My Laptop!", "pc"
	assert.Equal(t, "asked-one", w.resolve("home", deployport.Selection{Machine: " Asked.One "}).Machine)
	assert.Equal(t, "my-laptop", w.resolve("home", deployport.Selection{Machine: "..."}).Machine)
	w.env["AGENTPACK_MACHINE_ID"] = "!!!"
	assert.Equal(t, "box", w.resolve("home", deployport.Selection{}).Machine)
	w.env["HOSTNAME"] = ""
	assert.Equal(t, "pc", w.resolve("home", deployport.Selection{}).Machine)
	w.env["COMPUTERNAME"] = ""
	name, err := os.Hostname()
	require.NoError(t, err)
	assert.Equal(t, deployment.MachineID(name), w.resolve("home", deployport.Selection{}).Machine)
}

func TestProjectVectors(t *testing.T) {
	w := newWorld(t)
	for url, id := range map[string]string{
		"https://github.com/example/example.git":   "ae2752b5775071e2",
		"git@github.com:example/example.git":       "ae2752b5775071e2",
		"ssh://git@github.com/example/example.git": "fb3462c7faed8ab1",
	} {
		w.file("p/.git/HEAD", "ref: refs/heads/main\n")
		w.file("p/.git/config", "[remote \"origin\"]\n\turl = "+url+"\n")
		got := w.resolve("p", deployport.Selection{})
		assert.Equal(t, []any{id, url, true}, []any{got.ProjectID, got.Origin, got.Marked})
	}
}

func TestProjectIsWhereGitSaysItIs(t *testing.T) {
	w := newWorld(t)
	w.dir("main/a/b")
	w.git("main", "init", "-q", "-b", "main")
	w.git("main", "remote", "add", "origin", "git@h.example:o/r.git")
	w.git("main", "commit", "-q", "--allow-empty", "-m", "x")
	w.git("main", "worktree", "add", "-q", "../linked")
	w.dir("linked/sub")
	w.dir("main/nested/.git") // without HEAD it is no repository
	w.dir("outer")
	w.git("outer", "init", "-q", "-b", "main")
	w.git("outer", "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", filepath.Join(w.root, "main"), "sub")
	require.NoError(t, os.Symlink(filepath.Join(w.root, "main", "a"), filepath.Join(w.root, "link")))
	for _, dir := range []string{"main", "main/a/b", "main/nested", "linked", "linked/sub", "outer", "outer/sub", "link", "link/b"} {
		got := w.resolve(dir, deployport.Selection{})
		assert.Equal(t, w.git(dir, "rev-parse", "--show-toplevel"), got.ProjectRoot, dir)
		assert.True(t, got.Marked, dir)
		if dir != "outer" {
			assert.Equal(t, w.git(dir, "remote", "get-url", "origin"), got.Origin, dir)
		}
	}
	assert.Empty(t, w.resolve("outer", deployport.Selection{}).Origin)
}

func TestMarks(t *testing.T) {
	w := newWorld(t)
	w.dir("plain/sub")
	assert.False(t, w.resolve("plain/sub", deployport.Selection{}).Marked)
	w.file("plain/.agentpack-project", "")
	got := w.resolve("plain/sub", deployport.Selection{})
	assert.Equal(t, []any{filepath.Join(w.root, "plain"), true}, []any{got.ProjectRoot, got.Marked})

	w.file("repo/.git/HEAD", "x")
	w.file("repo/.git/config", "[remote \"origin\"] url = https://h/r\n")
	w.file("repo/pkg/.agentpack-project", "")
	got = w.resolve("repo/pkg", deployport.Selection{})
	assert.Equal(t, []any{filepath.Join(w.root, "repo/pkg"), "https://h/r", true}, []any{got.ProjectRoot, got.Origin, got.Marked}, "a part of a repository keeps its remote")

	got = w.resolve("home", deployport.Selection{ProjectRoot: "../repo/new"})
	assert.Equal(t, []any{filepath.Join(w.root, "repo/new"), "https://h/r", true}, []any{got.ProjectRoot, got.Origin, got.Marked})
	w.env["AGENTPACK_PROJECT_ROOT"] = filepath.Join(w.root, "plain")
	got = w.resolve("repo", deployport.Selection{})
	assert.Equal(t, []any{filepath.Join(w.root, "plain"), "", true}, []any{got.ProjectRoot, got.Origin, got.Marked})
	assert.Equal(t, filepath.Join(w.root, "repo"), w.resolve("home", deployport.Selection{ProjectRoot: "../repo"}).ProjectRoot, "what is asked for beats the environment")
}

func TestUnreadableConfigIsNoOtherProject(t *testing.T) {
	w := newWorld(t)
	w.file("p/.git/HEAD", "x")
	w.dir("p/.git/config")
	_, err := configrepo.NewPlaces(func(name string) string { return w.env[name] }, filepath.Join(w.root, "p")).Resolve(context.Background(), deployport.Selection{})
	assert.ErrorIs(t, err, deployment.ErrPath)
	w.file("q/.git", "gitdir: ../nowhere\n")
	assert.Empty(t, w.resolve("q", deployport.Selection{}).Origin)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = configrepo.NewPlaces(os.Getenv, ".").Resolve(ctx, deployport.Selection{})
	assert.ErrorIs(t, err, context.Canceled)
}

// locationConfigs are git config files, strange ones among them.
func locationConfigs() []string {
	return []string{
		"[remote \"origin\"]\n\turl = https://h/r\n",
		"; c\n# d\n[core]\n\tbare = false\n[REMOTE \"origin\"] URL=a b \t # tail\n",
		"[remote \"origin\"]\nurl = \"a # b\" c ; d\n",
		"[remote \"origin\"]\nurl = a\\\nb\\t\\\"c\\\\\n",
		"[remote \"Origin\"]\nurl = x\n",
		"[remote.origin]\nurl = old\n",
		"[remote.ORIGIN]\nurl = old\n",
		"[remote \"or\\igin\"]\nurl = escaped\n",
		"[remote \"origin\"]\r\n\turl = crlf\r\n[x]\r\n",
		"[remote \"upstream\"]\nurl = no\n[remote \"origin\"]\nfetch = +a:b\nurl-x = n\nurl = yes\n",
		"[remote \"origin\"]\npushurl = n\n",
		"[remote \"origin\"]\n[remote \"other\"]\nurl = n\n",
		"[remote \"origin\"]\nprune\nurl = after flag\n",
		"\ufeff[remote \"origin\"]\nurl = marked\n",
		"[remote \"origin\"]\nurl = no newline",
		"",
	}
}

func TestConfigIsReadAsGitReadsIt(t *testing.T) {
	for _, text := range locationConfigs() {
		w := newWorld(t)
		w.file("p/.git/HEAD", "x")
		file := w.file("p/.git/config", text)
		want := w.git("home", "config", "--file", file, "--default", "", "--get", "remote.origin.url")
		assert.Equal(t, want, w.resolve("p", deployport.Selection{}).Origin, "%q", text)
	}
}

func FuzzConfig(f *testing.F) {
	for _, text := range locationConfigs() {
		f.Add(text)
	}
	f.Add("[a \"b")
	f.Add("[remote \"origin\"]\nurl = \"open\nx = \\q\n")
	root := f.TempDir()
	require.NoError(f, os.MkdirAll(filepath.Join(root, ".git"), 0o755))
	require.NoError(f, os.WriteFile(filepath.Join(root, ".git", "HEAD"), []byte("x"), 0o644))
	f.Fuzz(func(t *testing.T, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(root, ".git", "config"), []byte(text), 0o644))
		got, err := configrepo.NewPlaces(func(name string) string { return map[string]string{"HOME": "/h"}[name] }, root).Resolve(context.Background(), deployport.Selection{})
		require.NoError(t, err)
		require.True(t, got.Marked)
		require.Equal(t, got.Origin, strings.TrimSpace(got.Origin))
	})
}

func BenchmarkResolve(b *testing.B) {
	root := b.TempDir()
	require.NoError(b, os.MkdirAll(filepath.Join(root, ".git"), 0o755))
	require.NoError(b, os.MkdirAll(filepath.Join(root, "a/b/c"), 0o755))
	require.NoError(b, os.WriteFile(filepath.Join(root, ".git", "HEAD"), []byte("x"), 0o644))
	require.NoError(b, os.WriteFile(filepath.Join(root, ".git", "config"), []byte(locationConfigs()[0]), 0o644))
	p := configrepo.NewPlaces(func(string) string { return "/h" }, filepath.Join(root, "a/b/c"))
	for b.Loop() {
		if _, err := p.Resolve(context.Background(), deployport.Selection{}); err != nil {
			b.Fatal(err)
		}
	}
}
