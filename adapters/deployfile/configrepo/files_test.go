package configrepo_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/adapters/deployfile/configrepo"
	"github.com/countersign-dev/countersign/adapters/deployfile/observe"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func paths(tree deployment.Tree) []string {
	out := []string{}
	for _, f := range tree {
		out = append(out, f.Path)
	}
	return out
}

func TestLocalTree(t *testing.T) {
	ctx, r := context.Background(), newRepo(t)
	script := r.file("modules/x/bin/run.sh", "#!/bin/sh\n")
	require.NoError(t, os.Chmod(script, 0o700))
	r.file("modules/x/a-b", "1")
	r.file("modules/x/a/b", "2")
	r.file("modules/x/.git/config", "secret")
	r.file("modules/x/sub/.git", "gitdir: x")
	r.file("modules/x/.agentpack/overlay.json", "{}")
	r.file("modules/x/.github/ok", "3")
	r.link("../a/b", "modules/x/bin/alias")
	require.NoError(t, os.MkdirAll(r.path("modules/x/empty"), 0o755))

	tree, err := files().Local(ctx, r.at, "./modules//x/")
	require.NoError(t, err)
	assert.Equal(t, []string{".github/ok", "a-b", "a/b", "bin/alias", "bin/run.sh"}, paths(tree))
	run, _ := tree.Find("bin/run.sh")
	assert.Equal(t, deployment.File{Path: "bin/run.sh", Mode: deployment.ExecutableMode, Content: deployment.Content{Sum: deployment.SumOf([]byte("#!/bin/sh\n")), Size: 10, Origin: script}}, run)
	alias, _ := tree.Find("bin/alias")
	assert.Equal(t, deployment.Content{Sum: deployment.SumOf([]byte("2")), Size: 1, Origin: r.path("modules/x/a/b")}, alias.Content)
	assert.Equal(t, deployment.PlainMode, alias.Mode)

	r.file("modules/prompt.md", "p")
	tree, err = files().Local(ctx, r.at, "modules/prompt.md")
	require.NoError(t, err)
	assert.Equal(t, deployment.Tree{{Path: "prompt.md", Mode: deployment.PlainMode, Content: deployment.Content{Sum: deployment.SumOf([]byte("p")), Size: 1, Origin: r.path("modules/prompt.md")}}}, tree)

	r.link("x", "modules/inside")
	tree, err = files().Local(ctx, r.at, "modules/inside")
	require.NoError(t, err)
	assert.Len(t, tree, 5, "a link to a directory of the repository is that directory")
	r.link("prompt.md", "modules/named.md")
	tree, err = files().Local(ctx, r.at, "modules/named.md")
	require.NoError(t, err)
	assert.Equal(t, []string{"named.md"}, paths(tree))
	tree, err = files().Local(ctx, r.at, "modules/x/empty")
	require.NoError(t, err)
	assert.Equal(t, deployment.Tree{}, tree)

	vector := r.file("modules/v/AGENTS.md", "# Base instructions\n")
	tree, err = files().Local(ctx, r.at, filepath.Base(filepath.Dir(filepath.Dir(vector)))+"/v")
	require.NoError(t, err)
	assert.Equal(t, "06581cd68997d0eb174ec84a280072bb5515c40b7634724a3b515b1a0a1331df", tree.Sum().String())
}

func TestLocalRefuses(t *testing.T) {
	r := newRepo(t)
	secret := filepath.Join(r.at.Home, "secret")
	require.NoError(t, os.MkdirAll(filepath.Join(r.at.Home, "outside"), 0o755))
	require.NoError(t, os.WriteFile(secret, []byte("s"), 0o600))
	r.file("other/file", "x")
	r.file(".git/config", "x")
	r.file("bad-name/a\nb", "x")
	r.file("back/a\\b", "x")
	r.file("latin/\xff", "x")
	r.link(secret, "absolute/l")
	r.link("../../secret", "relative/l")
	r.link("../other/file", "neighbour/l")
	r.link("../other", "dirlink/l")
	r.file("dirinside/d/f", "x")
	r.link("d", "dirinside/l")
	r.link("nowhere", "dangling/l")
	r.link("l", "loop/l")
	r.link("chain2", "chain/chain1")
	r.link(secret, "chain/chain2")
	r.link("../outside", "rootlink")
	r.link("../secret", "filelink")
	r.link(".git", "gitlink")
	r.file("hidden/.git/config", "x")
	r.link(".git/config", "hidden/l")
	socket, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	require.NoError(t, err)
	defer socket.Close()
	require.NoError(t, os.MkdirAll(r.path("special"), 0o755))
	require.NoError(t, os.Rename(socket.Addr().String(), r.path("special/s")))

	for source, want := range map[string]error{
		"missing": deployment.ErrConfig, "other/file/x": deployment.ErrPath,
		"../x": deployment.ErrPath, "/etc": deployment.ErrPath, "": deployment.ErrPath, ".git": deployment.ErrPath,
		"bad-name": deployment.ErrPath, "back": deployment.ErrPath, "latin": deployment.ErrPath,
		"absolute": deployment.ErrPath, "relative": deployment.ErrPath, "neighbour": deployment.ErrPath,
		"dirlink": deployment.ErrPath, "dirinside": deployment.ErrPath, "dangling": deployment.ErrPath, "loop": deployment.ErrPath,
		"chain": deployment.ErrPath, "rootlink": deployment.ErrPath, "filelink": deployment.ErrPath, "rootlink/x": deployment.ErrConfig,
		"gitlink": deployment.ErrPath, "hidden": deployment.ErrPath, "special": deployment.ErrPath, "special/s": deployment.ErrPath,
	} {
		tree, err := files().Local(context.Background(), r.at, source)
		assert.ErrorIs(t, err, want, source)
		assert.Nil(t, tree, source)
		assert.NotEmpty(t, details(t, err)["path"], source)
		assert.NotContains(t, fmt.Sprint(err), "internal", source)
	}
	if os.Getuid() != 0 {
		r.file("locked/f", "x")
		require.NoError(t, os.Chmod(r.path("locked/f"), 0))
		_, err = files().Local(context.Background(), r.at, "locked")
		assert.ErrorIs(t, err, deployment.ErrPermission)
	}
}

func TestContentIsChecked(t *testing.T) {
	ctx, r := context.Background(), newRepo(t)
	file := r.file("m/f", "hello")
	tree, err := files().Local(ctx, r.at, "m")
	require.NoError(t, err)
	got, err := files().Content(ctx, tree[0].Content)
	require.NoError(t, err)
	assert.Equal(t, "hello", string(got))
	for _, change := range []string{"hellO", "hello!", "", "hell"} {
		require.NoError(t, os.WriteFile(file, []byte(change), 0o644))
		_, err = files().Content(ctx, tree[0].Content)
		require.ErrorIs(t, err, deployment.ErrStale, change)
		assert.Equal(t, file, details(t, err)["path"])
	}
	require.NoError(t, os.Remove(file))
	_, err = files().Content(ctx, tree[0].Content)
	require.ErrorIs(t, err, deployment.ErrStale)
	require.NoError(t, os.Mkdir(file, 0o755))
	_, err = files().Content(ctx, tree[0].Content)
	require.ErrorIs(t, err, deployment.ErrStale)
	got, err = files().Content(ctx, deployment.ContentOf([]byte("kept")))
	require.NoError(t, err)
	assert.Equal(t, "kept", string(got))
}

// many makes a tree of n small files that were left alone long enough to be remembered.
func many(tb testing.TB, dir string, n int) {
	old := time.Now().Add(-time.Hour)
	for i := range n {
		sub := filepath.Join(dir, fmt.Sprintf("d%02d", i%50))
		if i < 50 {
			require.NoError(tb, os.MkdirAll(sub, 0o755))
		}
		file := filepath.Join(sub, fmt.Sprintf("f%05d.md", i))
		require.NoError(tb, os.WriteFile(file, []byte(fmt.Sprintf("file %d\n", i)), 0o644))
		require.NoError(tb, os.Chtimes(file, old, old))
	}
}

func TestBigTreesAreTheSameInParallel(t *testing.T) {
	r := newRepo(t)
	many(t, r.path("big"), 1500)
	index := observe.OpenIndex("")
	tree, err := configrepo.NewFiles(index).Local(context.Background(), r.at, "big")
	require.NoError(t, err)
	require.Len(t, tree, 1500)
	for i, f := range tree {
		if i > 0 {
			require.Less(t, tree[i-1].Path, f.Path)
		}
		var n int
		_, err := fmt.Sscanf(filepath.Base(f.Path), "f%d.md", &n)
		require.NoError(t, err)
		require.Equal(t, deployment.SumOf([]byte(fmt.Sprintf("file %d\n", n))), f.Content.Sum)
	}
	again, err := configrepo.NewFiles(index).Local(context.Background(), r.at, "big")
	require.NoError(t, err)
	assert.Equal(t, tree, again)
}

func TestTreesHaveALimit(t *testing.T) {
	assert.Equal(t, 50_000, configrepo.MaxFiles)
	r := newRepo(t)
	many(t, r.path("m"), 60)
	tree, err := files().Limited(60).Local(context.Background(), r.at, "m")
	require.NoError(t, err)
	require.Len(t, tree, 60)
	_, err = files().Limited(59).Local(context.Background(), r.at, "m")
	require.ErrorIs(t, err, deployment.ErrPath)
	assert.Equal(t, 59, details(t, err)["max_files"])
}

func BenchmarkLocal(b *testing.B) {
	dir, err := filepath.EvalSymlinks(b.TempDir())
	require.NoError(b, err)
	many(b, filepath.Join(dir, "big"), 5000)
	at := deployment.Locations{Repo: dir}
	b.Run("warm", func(b *testing.B) {
		index := observe.OpenIndexWithClock("", func() time.Time { return time.Now().Add(time.Hour) })
		f := configrepo.NewFiles(index)
		for b.Loop() {
			if _, err := f.Local(context.Background(), at, "big"); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("cold", func(b *testing.B) {
		for b.Loop() {
			if _, err := files().Local(context.Background(), at, "big"); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("bare lstat and readdir", func(b *testing.B) {
		for b.Loop() {
			dirs, err := os.ReadDir(filepath.Join(dir, "big"))
			require.NoError(b, err)
			for _, d := range dirs {
				entries, err := os.ReadDir(filepath.Join(dir, "big", d.Name()))
				require.NoError(b, err)
				for _, e := range entries {
					if _, err := os.Lstat(filepath.Join(dir, "big", d.Name(), e.Name())); err != nil {
						b.Fatal(err)
					}
				}
			}
		}
	})
}
