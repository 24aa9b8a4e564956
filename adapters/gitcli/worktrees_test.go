package gitcli_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/internal/testkit/gitfixture"
	"github.com/countersign-dev/countersign/ports/projectport"
)

func gitStaged(t *testing.T, git projectport.Repositories) {
	r := gitfixture.New(t, twoFiles+"-- long.txt --\nenough\nlines\nto be\nknown again\n")
	staged := func() project.Diff {
		d, err := git.Staged(t.Context(), r.Dir, 0)
		require.NoError(t, err)
		return d
	}
	put(t, r.Dir, "a.txt", "one\n2\nthree\nfour\n")
	assert.Equal(t, project.Diff{Files: []project.FileStat{}}, staged(), "what is not staged is not in it")

	r.Git("mv", "--", "long.txt", strange)
	put(t, r.Dir, "bin", "a\x00b")
	put(t, r.Dir, "latin-1.txt", "caf\xe9\n")
	r.Git("rm", "--quiet", "b.txt")
	r.Git("add", "--all")
	for _, setting := range []string{"diff.noprefix=true", "diff.mnemonicPrefix=true", "diff.renames=false", "color.ui=always", "diff.context=0", "diff.orderFile=/nowhere", "diff.relative=true", "core.quotePath=true"} {
		name, value, _ := strings.Cut(setting, "=")
		r.Git("config", name, value)
	}
	d := staged()
	assert.Equal(t, []project.FileStat{{Path: strange, From: "long.txt"}, {Path: "a.txt", Insertions: 2, Deletions: 1}, {Path: "b.txt", Deletions: 1}, {Path: "bin", Binary: true},
		{Path: "latin-1.txt", Insertions: 1}}, d.Files)
	assert.Equal(t, []int{5, 3, 2}, []int{d.FilesChanged, d.Insertions, d.Deletions})
	assert.False(t, d.Truncated)
	for _, part := range []string{"diff --git a/a.txt b/a.txt\n", "\n@@ -1,3 +1,4 @@\n one\n-two\n+2\n three\n+four\n", "rename from long.txt\nrename to \"-n \\\"q\\\"\\n\\tü 日\"\n", "Binary files /dev/null and b/bin differ\n", "+caf\ufffd\n"} {
		assert.Contains(t, d.Text, part)
	}
	assert.NotContains(t, d.Text, "\x1b")
}

func gitCut(t *testing.T, git projectport.Repositories) {
	r := gitfixture.New(t, twoFiles)
	var text strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&text, "zeile %d äöü\n", i)
	}
	put(t, r.Dir, "large.txt", text.String())
	for i := range project.MaxListedNames {
		put(t, r.Dir, fmt.Sprintf("z%d", i), "")
	}
	r.Git("add", "--all")
	d, err := git.Staged(t.Context(), r.Dir, 2000)
	require.NoError(t, err)
	assert.True(t, d.Truncated)
	assert.LessOrEqual(t, len(d.Text), 2000)
	assert.Greater(t, d.Total, int64(text.Len()))
	assert.Equal(t, []int{project.MaxListedNames + 1, project.MaxListedNames, 20_000}, []int{d.FilesChanged, len(d.Files), d.Insertions})
	assert.True(t, strings.HasPrefix(d.Text, "diff --git a/large.txt b/large.txt\n"))
	d, err = git.Staged(t.Context(), r.Dir, 0)
	require.NoError(t, err)
	assert.LessOrEqual(t, len(d.Text), project.DefaultDiffBytes)
	assert.Greater(t, len(d.Text), project.DefaultDiffBytes-200)
}

func gitWorktrees(t *testing.T, repos projectport.Repositories) {
	r := gitfixture.New(t, twoFiles)
	top := resolved(t, filepath.Dir(r.Dir))
	gone, odd := filepath.Join(top, "gone"), filepath.Join(top, strange)
	r.Git("worktree", "add", "--quiet", "-b", "feature/x", odd)
	r.Git("worktree", "add", "--quiet", "--detach", filepath.Join(r.Dir, ".worktrees", "inner"))
	r.Git("worktree", "add", "--quiet", "-b", "gone", gone)
	r.Git("worktree", "lock", "--reason", "on a\nstick", filepath.Join(r.Dir, ".worktrees", "inner"))
	require.NoError(t, os.RemoveAll(gone))
	for _, from := range []string{r.Dir, odd} {
		list, err := repos.Worktrees(t.Context(), from)
		require.NoError(t, err)
		assert.ElementsMatch(t, []git.Worktree{
			{Path: resolved(t, r.Dir), Branch: "main", Head: r.Head(), Main: true},
			{Path: filepath.Join(resolved(t, r.Dir), ".worktrees", "inner"), Head: r.Head(), Detached: true, Locked: true},
			{Path: odd, Branch: "feature/x", Head: r.Head()},
			{Path: gone, Branch: "gone", Head: r.Head(), Prunable: true},
		}, list, from)
		assert.True(t, list[0].Main)
	}
	_, err := repos.Status(t.Context(), gone)
	require.ErrorIs(t, err, project.ErrNotRepository)
	s, err := repos.Status(t.Context(), odd)
	require.NoError(t, err)
	assert.Equal(t, "feature/x", s.Branch)
}

func gitOtherWorktrees(t *testing.T, repos projectport.Repositories) {
	r := gitfixture.New(t, "")
	list, err := repos.Worktrees(t.Context(), r.Dir)
	require.NoError(t, err)
	assert.Equal(t, []git.Worktree{{Path: resolved(t, r.Dir), Branch: "main", Main: true}}, list, "no commit is no zeros")
	list, err = repos.Worktrees(t.Context(), r.Remote)
	require.NoError(t, err)
	assert.Equal(t, []git.Worktree{{Path: resolved(t, r.Remote), Main: true, Bare: true}}, list)
	lib := gitfixture.New(t, twoFiles)
	r.Git("submodule", "--quiet", "add", "--", lib.Remote, "lib")
	list, err = repos.Worktrees(t.Context(), filepath.Join(r.Dir, "lib"))
	require.NoError(t, err)
	assert.Equal(t, []git.Worktree{{Path: filepath.Join(resolved(t, r.Dir), "lib"), Branch: "main", Head: lib.Head(), Main: true}}, list, "its files, not where git keeps it")
}

func gitRemote(t *testing.T, git projectport.Repositories) {
	r := gitfixture.New(t, "")
	remote := func() string {
		url, err := git.Remote(t.Context(), r.Dir)
		require.NoError(t, err)
		return url
	}
	assert.Equal(t, r.Remote, remote())
	for url, want := range map[string]string{
		"https://ada:s3cret@example.com/a/b.git?token=s3cret": "https://example.com/a/b.git", "git@example.com:a/b.git": "git@example.com:a/b.git", "ssh://git:s3cret@example.com/a": "ssh://git@example.com/a",
	} {
		r.Git("remote", "set-url", "origin", url)
		assert.Equal(t, want, remote())
	}
	r.Git("remote", "set-url", "--add", "origin", "https://second.example.com/x")
	assert.NotContains(t, remote(), "second", "the first is fetched from")
	r.Git("remote", "rename", "origin", "upstream")
	assert.Empty(t, remote())
}

// heads runs what projectport.Repositories says of Heads over real repositories.
func heads(t *testing.T, open func(testing.TB) projectport.Repositories) {
	emptyHome(t)
	r := gitfixture.New(t, twoFiles)
	var dirs []string
	for i := range 50 {
		dir := filepath.Join(filepath.Dir(r.Dir), fmt.Sprintf("r%d", i))
		r.Git("init", "--quiet", fmt.Sprintf("--initial-branch=b%d", i), dir)
		dirs = append(dirs, dir)
	}
	dirs[7], dirs[20] = t.TempDir(), filepath.Join(r.Dir, "missing")
	results := open(t).Heads(t.Context(), dirs)
	require.Len(t, results, len(dirs))
	for i, result := range results {
		if i == 7 || i == 20 {
			require.ErrorIs(t, result.Err, project.ErrNotRepository, "one failure is one answer")
			continue
		}
		assert.Equal(t, projectport.HeadResult{Head: project.Head{Branch: fmt.Sprintf("b%d", i)}}, result, "in their order")
	}
	assert.Empty(t, open(t).Heads(t.Context(), nil))
}

// worktrees runs what projectport.Repositories says of Belongs over real repositories.
func worktrees(t *testing.T, open func(testing.TB) projectport.Repositories) {
	emptyHome(t)
	git := open(t)
	r, other := gitfixture.New(t, twoFiles), gitfixture.New(t, twoFiles)
	top := filepath.Dir(r.Dir)
	at := func(elem ...string) string { return filepath.Join(append([]string{top}, elem...)...) }
	r.Git("worktree", "add", "--quiet", at("linked"))
	r.Git("worktree", "add", "--quiet", at("gone"))
	require.NoError(t, os.RemoveAll(at("gone")))
	require.NoError(t, os.Mkdir(at("linked", "sub"), 0o755))
	require.NoError(t, os.Symlink(at("linked"), at("link to linked")))
	require.NoError(t, os.Symlink(r.Dir, at("link to project")))
	require.NoError(t, os.Symlink(other.Dir, at("linked", "out")))
	forged := t.TempDir()
	text, err := os.ReadFile(at("linked", ".git"))
	require.NoError(t, err)
	put(t, forged, ".git", string(text))
	pointing := t.TempDir() // a repository of its own that says its common directory is the project's
	require.NoError(t, os.Mkdir(filepath.Join(pointing, "own"), 0o755))
	put(t, pointing, ".git", "gitdir: own\n")
	put(t, filepath.Join(pointing, "own"), "HEAD", "ref: refs/heads/main\n")
	put(t, filepath.Join(pointing, "own"), "commondir", filepath.Join(r.Dir, ".git")+"\n")
	nested := filepath.Join(r.Dir, "nested") // a repository within the project, with a worktree outside
	r.Git("init", "--quiet", nested)
	r.Git("-C", nested, "commit", "--quiet", "--allow-empty", "--message", "x")
	r.Git("-C", nested, "worktree", "add", "--quiet", at("of-nested"))
	claimed := t.TempDir() // the project's list names it, and it knows nothing of that
	admin := filepath.Join(r.Dir, ".git", "worktrees", "claimed")
	require.NoError(t, os.MkdirAll(admin, 0o755))
	for name, text := range map[string]string{"gitdir": filepath.Join(claimed, ".git"), "commondir": "../..", "HEAD": "ref: refs/heads/main"} {
		put(t, admin, name, text+"\n")
	}
	r.Git("init", "--quiet", claimed)
	require.Contains(t, r.Git("worktree", "list"), claimed)
	require.Equal(t, resolved(t, filepath.Join(r.Dir, ".git")), resolved(t, r.Git("-C", forged, "rev-parse", "--path-format=absolute", "--git-common-dir")))
	require.Equal(t, resolved(t, filepath.Join(r.Dir, ".git")), resolved(t, r.Git("-C", pointing, "rev-parse", "--path-format=absolute", "--git-common-dir")))
	for _, c := range []struct {
		what, dir, root string
		want            bool
	}{
		{"a linked working tree", at("linked"), r.Dir, true}, {"a directory in it", at("linked", "sub"), r.Dir, true}, {"the main one", r.Dir, r.Dir, true},
		{"through links", at("link to linked"), at("link to project"), true},
		{"a link that leads out", at("linked", "out"), r.Dir, false}, {"another project's", other.Dir, r.Dir, false}, {"of another project", at("linked"), other.Dir, false},
		{"a forged pointer", forged, r.Dir, false}, {"a forged common directory", pointing, r.Dir, false}, {"claimed by the list alone", claimed, r.Dir, false},
		{"of a repository within", at("of-nested"), r.Dir, false}, {"of a directory that does not hold the repository", at("linked"), nested, false},
		{"one that is gone", at("gone"), r.Dir, false}, {"no repository", t.TempDir(), r.Dir, false}, {"of no project", at("linked"), t.TempDir(), false},
		{"the working tree as project", r.Dir, at("linked"), false},
	} {
		got, err := git.Belongs(t.Context(), c.dir, c.root)
		require.NoError(t, err, c.what)
		assert.Equal(t, c.want, got, c.what)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = git.Belongs(ctx, r.Dir, r.Dir)
	require.ErrorIs(t, err, fault.ErrCanceled)
}
