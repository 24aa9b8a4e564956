package confgit_test

import (
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/gitcli/confgit"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/ports/deployport"
)

var (
	_ deployport.Merger  = (*confgit.Client)(nil)
	_ deployport.History = (*confgit.Client)(nil)
	_ deployport.Remote  = (*confgit.Client)(nil)
)

// identity is a user's configuration in which commits have an author.
const identity = "[user]\n\tname = Ada\n\temail = ada@example.com\n"

// user makes an empty home with that git configuration the one of this test.
func user(t *testing.T, config string) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".gitconfig"), []byte(config), 0o600))
	t.Setenv("HOME", dir)
	t.Setenv("XDG_CONFIG_HOME", dir)
}

// place returns where a call works, with a home that does not exist yet.
func place(t *testing.T) deployment.Locations {
	return deployment.Locations{Home: filepath.Join(t.TempDir(), "home")}
}

func client() *confgit.Client { return confgit.New(confgit.Options{Tree: tree}) }

// tree reads everything below root and sub but .git, as the reader of module trees does.
func tree(_ context.Context, root, sub string) (deployment.Tree, error) {
	opened, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	defer func() { _ = opened.Close() }()
	var out deployment.Tree
	top := path.Join(".", sub)
	err = fs.WalkDir(opened.FS(), top, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.Name() == ".git":
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		data, err := fs.ReadFile(opened.FS(), name)
		if err != nil {
			return deployment.ErrPath.WithCause(err)
		}
		info, err := d.Info()
		out = append(out, deployment.File{Path: strings.TrimPrefix(strings.TrimPrefix(name, top), "/"), Mode: deployment.ModeOf(info.Mode()), Content: deployment.ContentOf(data)})
		return err
	})
	out.Sort()
	return out, err
}

// texts returns a tree as a map.
func texts(t deployment.Tree) map[string]string {
	out := map[string]string{}
	for _, f := range t {
		out[f.Path] = string(f.Content.Data)
	}
	return out
}

// spy puts a git before the real one that writes every command line down, and gives a function that reads the lines with the word.
func spy(t *testing.T) func(word string) []string {
	t.Helper()
	real, err := exec.LookPath("git")
	require.NoError(t, err)
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	script := "#!/bin/sh\necho \"$*\" >> '" + log + "'\nexec '" + real + "' \"$@\"\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "git"), []byte(script), 0o700))
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	return func(word string) (lines []string) {
		data, _ := os.ReadFile(log)
		for line := range strings.Lines(string(data)) {
			if strings.Contains(line, " "+word+" ") {
				lines = append(lines, strings.TrimSpace(line))
			}
		}
		return lines
	}
}

// below returns every path below dir, for asking whether anything is left.
func below(t *testing.T, dir string) (all []string) {
	t.Helper()
	_ = filepath.WalkDir(dir, func(name string, _ fs.DirEntry, err error) error {
		if err == nil && name != dir {
			all = append(all, name)
		}
		return nil
	})
	return all
}

func TestEveryMethodSaysThatGitIsMissing(t *testing.T) {
	repo := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(repo, ".git"), 0o755))
	t.Setenv("PATH", t.TempDir())
	c, ctx := client(), t.Context()
	url, commit := "https://example.com/a/b", strings.Repeat("ab", 20)
	for name, call := range map[string]func() error{
		"Git": func() error {
			_, err := c.Git(ctx, place(t), deployment.ResolvedGit{URL: url, Commit: commit}, false)
			return err
		},
		"Resolve": func() error { _, err := c.Resolve(ctx, deployment.GitSource{URL: url}); return err },
		"Merge":   func() error { _, err := c.Merge(ctx, nil, nil, nil); return err },
		"Head":    func() error { _, _, err := c.Head(ctx, repo); return err },
		"Show":    func() error { _, _, err := c.Show(ctx, repo, commit, "a"); return err },
		"Propose": func() error {
			_, err := c.Propose(ctx, repo, "b", "m", proposed(map[string][]byte{"x": nil}))
			return err
		},
		"Init":   func() error { return c.Init(ctx, filepath.Join(t.TempDir(), "new")) },
		"Remote": func() error { return c.SetRemote(ctx, repo, "origin", url) },
		"State":  func() error { _, err := c.State(ctx, repo); return err },
		"Route":  func() error { _, err := c.Route(ctx, repo, "origin", "main"); return err },
		"Sync": func() error {
			_, err := c.Sync(ctx, repo, deployport.SyncOptions{Remote: "origin", Branch: "main"})
			return err
		},
	} {
		err := call()
		require.ErrorIs(t, err, deployment.ErrGitMissing, name)
		details := detailsOf(t, err)
		for _, field := range []string{"cwd", "cwd_posix", "args", "hint"} {
			require.NotEmpty(t, details[field], "%s %s", name, field)
		}
	}
}

// short returns a client that waits for nothing long.
func short() *confgit.Client {
	return confgit.New(confgit.Options{Tree: tree, Timeout: 300 * time.Millisecond, Transfer: 300 * time.Millisecond})
}
