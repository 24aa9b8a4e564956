package configrepo_test

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/deployfile/configrepo"
	"github.com/countersign-dev/countersign/adapters/deployfile/observe"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/ports/deployport"
)

var _ deployport.Scanner = (*configrepo.Scanner)(nil)

func scanner() *configrepo.Scanner {
	return configrepo.NewScanner(configrepo.NewFiles(observe.OpenIndex("")))
}

func scanWrite(t *testing.T, file, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
}

func TestScan(t *testing.T) {
	dir := t.TempDir()
	scanWrite(t, filepath.Join(dir, "b.md"), "b")
	scanWrite(t, filepath.Join(dir, "A", "x"), "x")
	require.NoError(t, os.Symlink("A", filepath.Join(dir, "dir-link")))
	require.NoError(t, os.Symlink("b.md", filepath.Join(dir, "file-link")))
	require.NoError(t, os.Symlink("nowhere", filepath.Join(dir, "gone")))
	require.NoError(t, os.Symlink("loop", filepath.Join(dir, "loop")))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	got, err := scanner().Scan(t.Context(), dir)
	require.NoError(t, err)
	at := func(name string) string { return filepath.Join(dir, name) }
	assert.Equal(t, []deployport.Found{
		{Name: "A", Path: at("A"), Kind: deployment.Directory}, {Name: "b.md", Path: at("b.md"), Kind: deployment.Regular},
		{Name: "dir-link", Path: at("dir-link"), Kind: deployment.Directory, Link: true}, {Name: "file-link", Path: at("file-link"), Kind: deployment.Regular, Link: true},
		{Name: "gone", Path: at("gone"), Link: true}, {Name: "loop", Path: at("loop"), Link: true}, {Name: "pipe", Path: at("pipe"), Kind: deployment.Special},
	}, got)
	for _, none := range []string{at("none"), at("b.md"), at("b.md/x")} {
		got, err := scanner().Scan(t.Context(), none)
		require.NoError(t, err, none)
		assert.Empty(t, got)
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = scanner().Scan(done, dir)
	require.ErrorIs(t, err, context.Canceled)
	_, err = scanner().Tree(done, dir)
	require.ErrorIs(t, err, context.Canceled)
}

func TestTree(t *testing.T) {
	top := t.TempDir()
	at := func(name string) string { return filepath.Join(top, filepath.FromSlash(name)) }
	scanWrite(t, at("real/SKILL.md"), "s")
	scanWrite(t, at("real/bin/run"), "r")
	scanWrite(t, at("real/.git/config"), "c")
	scanWrite(t, at("elsewhere/one.md"), "one")
	require.NoError(t, os.Symlink("real", at("linked")))
	require.NoError(t, os.Symlink("elsewhere/one.md", at("here.md")))
	require.NoError(t, os.Symlink("nowhere", at("gone")))
	paths := func(name string) (out []string) {
		tree, err := scanner().Tree(t.Context(), at(name))
		require.NoError(t, err, name)
		for _, f := range tree {
			out = append(out, f.Path+" "+f.Content.Sum.String()[:4])
		}
		return out
	}
	sum := func(text string) string { return deployment.SumOf([]byte(text)).String()[:4] }
	whole := []string{"SKILL.md " + sum("s"), "bin/run " + sum("r")}
	assert.Equal(t, whole, paths("real"))
	assert.Equal(t, whole, paths("linked"))
	assert.Equal(t, []string{"one.md " + sum("one")}, paths("elsewhere/one.md"))
	assert.Equal(t, []string{"here.md " + sum("one")}, paths("here.md"), "a file is called what it is called here")
	for _, name := range []string{"gone", "none", "real/SKILL.md/x"} {
		_, err := scanner().Tree(t.Context(), at(name))
		require.ErrorIs(t, err, deployment.ErrConfig, name)
	}
	require.NoError(t, os.Symlink("../elsewhere/one.md", at("real/out.md")))
	_, err := scanner().Tree(t.Context(), at("linked"))
	require.ErrorIs(t, err, deployment.ErrPath, "only the link at the path itself leads out")
	require.NoError(t, syscall.Mkfifo(at("pipe"), 0o600))
	_, err = scanner().Tree(t.Context(), at("pipe"))
	require.ErrorIs(t, err, deployment.ErrPath)
}
