package ecosystemfile_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/ecosystemfile"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

var finder ecosystemport.Provisioners = ecosystemfile.ProvisionerFinder{}

func layout(t *testing.T) ecosystem.Layout {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	root := filepath.Join(top, "w")
	require.NoError(t, os.MkdirAll(root, 0o755))
	return ecosystem.Layout{Name: "demo", Root: root, Dir: filepath.Join(root, "ecosystems", "demo"), State: filepath.Join(top, "state")}
}

// put writes a file with exactly that mode.
func put(t *testing.T, file string, mode os.FileMode) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, []byte("echo hi\n"), 0o644))
	require.NoError(t, os.Chmod(file, mode))
	return file
}

func TestScript(t *testing.T) {
	l := layout(t)
	_, err := finder.Script(t.Context(), l, "box")
	require.ErrorIs(t, err, ecosystem.ErrMissing)
	assert.Contains(t, err.Error(), "ecosystems/demo/provisioners/box/spin.sh nor provisioners/box/spin.sh")

	file := put(t, filepath.Join(l.Root, "provisioners/box/spin.sh"), 0o755)
	s, err := finder.Script(t.Context(), l, "box")
	require.NoError(t, err)
	sum := sha256.Sum256([]byte("echo hi\n"))
	assert.Equal(t, ecosystem.Script{Path: file, Shown: "provisioners/box/spin.sh", SHA256: hex.EncodeToString(sum[:]), Executable: true}, s)

	own := put(t, filepath.Join(l.Dir, "provisioners/box/spin.sh"), 0o664)
	mine, err := finder.Script(t.Context(), l, "box")
	require.NoError(t, err)
	assert.Equal(t, own, mine.Path, "the ecosystem's own comes first")
	assert.False(t, mine.Executable)
	assert.Equal(t, s.SHA256, mine.SHA256, "it is over what is in it")
	require.NoError(t, os.WriteFile(own, []byte("echo other\n"), 0o644))
	other, err := finder.Script(t.Context(), l, "box")
	require.NoError(t, err)
	assert.NotEqual(t, s.SHA256, other.SHA256)
}

func TestScriptThroughLinks(t *testing.T) {
	l := layout(t)
	real := put(t, filepath.Join(l.Root, "scripts/up.sh"), 0o755)
	require.NoError(t, os.MkdirAll(filepath.Join(l.Root, "provisioners/box"), 0o755))
	link := filepath.Join(l.Root, "provisioners/box/spin.sh")
	require.NoError(t, os.Symlink("../../scripts/up.sh", link))
	s, err := finder.Script(t.Context(), l, "box")
	require.NoError(t, err)
	assert.Equal(t, real, s.Path, "what was examined is what runs")

	through := l
	through.Root = filepath.Join(filepath.Dir(l.Root), "alias")
	through.Dir = filepath.Join(through.Root, "ecosystems", "demo")
	require.NoError(t, os.Symlink(l.Root, through.Root))
	_, err = finder.Script(t.Context(), through, "box")
	require.NoError(t, err, "the root itself may be a link")
}

func TestScriptsThatMayNotRun(t *testing.T) {
	for name, c := range map[string]struct {
		make func(t *testing.T, l ecosystem.Layout, file string)
		says string
	}{
		"writable by all": {func(t *testing.T, _ ecosystem.Layout, file string) { put(t, file, 0o757) }, "every user of this machine can write"},
		"its directory is": {func(t *testing.T, _ ecosystem.Layout, file string) {
			put(t, file, 0o755)
			require.NoError(t, os.Chmod(filepath.Dir(file), 0o777))
		}, "chmod o-w provisioners/box"},
		"the root is": {func(t *testing.T, l ecosystem.Layout, file string) {
			put(t, file, 0o755)
			require.NoError(t, os.Chmod(l.Root, 0o777))
		}, "can write its directory ."},
		"a directory": {func(t *testing.T, _ ecosystem.Layout, file string) { require.NoError(t, os.MkdirAll(file, 0o755)) }, "not a readable regular file"},
		"a pipe": {func(t *testing.T, _ ecosystem.Layout, file string) {
			put(t, file, 0o755)
			require.NoError(t, os.Remove(file))
			require.NoError(t, syscall.Mkfifo(file, 0o755))
		}, "not a readable regular file"},
		"a link round and round": {func(t *testing.T, _ ecosystem.Layout, file string) {
			put(t, file, 0o755)
			require.NoError(t, os.Remove(file))
			require.NoError(t, os.Symlink("spin.sh", file))
		}, "is a dangling link"},
		"out through the file": {func(t *testing.T, l ecosystem.Layout, file string) {
			require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
			require.NoError(t, os.Symlink(put(t, l.Root+"-beside/x.sh", 0o755), file))
		}, "is a link out of the workspace root"},
		"out through a directory": {func(t *testing.T, l ecosystem.Layout, file string) {
			put(t, l.Root+"-beside/box/spin.sh", 0o755)
			require.NoError(t, os.Symlink(l.Root+"-beside", filepath.Join(l.Root, "provisioners")))
		}, "is a link out of the workspace root"},
		"longer than any script is": {func(t *testing.T, _ ecosystem.Layout, file string) {
			put(t, file, 0o755)
			require.NoError(t, os.Truncate(file, 5<<20))
		}, "4 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			l := layout(t)
			c.make(t, l, filepath.Join(l.Root, "provisioners/box/spin.sh"))
			_, err := finder.Script(t.Context(), l, "box")
			require.ErrorIs(t, err, ecosystem.ErrUnsafe)
			assert.Contains(t, err.Error(), c.says)
		})
	}
}

func TestNamesThatAreNone(t *testing.T) {
	l := layout(t)
	for _, name := range []string{"", "..", "../x", "a/b", "-x", strings.Repeat("a", 65), "a\x00"} {
		_, err := finder.Script(t.Context(), l, name)
		require.ErrorIs(t, err, ecosystem.ErrName, name)
		_, err = finder.Dir(t.Context(), l, name)
		require.ErrorIs(t, err, ecosystem.ErrName, name)
	}
}

func TestDir(t *testing.T) {
	l := layout(t)
	assert.NoDirExists(t, l.State)
	dir, err := finder.Dir(t.Context(), l, "default")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755))
	again, err := finder.Dir(t.Context(), l, "default")
	require.NoError(t, err)
	assert.Equal(t, dir, again)
	info, err := os.Stat(dir)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o700), info.Mode().Perm(), "nobody else looks into it")
	require.NoError(t, os.RemoveAll(dir))
	require.NoError(t, os.WriteFile(dir, nil, 0o600))
	_, err = finder.Dir(t.Context(), l, "default")
	require.ErrorIs(t, err, ecosystem.ErrStorage)
}
