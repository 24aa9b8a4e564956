package observe_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/deployfile/observe"
)

// TestOfIsWhatTheLibraryLists: many names, long ones and odd ones, and every kind that can be made here.
func TestOfIsWhatTheLibraryLists(t *testing.T) {
	dir := t.TempDir()
	for n := range 1000 {
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%0*d", 1+n%200, n)), nil, 0o600))
	}
	odd := []string{"...", " ", "new\nline", "ü"}
	if runtime.GOOS == "linux" {
		odd = append(odd, "\xff") // others have no such names
	}
	for _, name := range odd {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	require.NoError(t, os.Mkdir(filepath.Join(dir, "below"), 0o755))
	require.NoError(t, os.Symlink("nowhere", filepath.Join(dir, "link")))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	want := map[string]fs.FileMode{}
	for _, e := range entries {
		want[filepath.Join(dir, e.Name())] = e.Type()
	}
	listed, err := observe.ReadDir(dir)
	require.NoError(t, err)
	got := map[string]fs.FileMode{}
	for _, e := range listed {
		got[e.Path] = e.Kind
	}
	assert.Len(t, listed, len(got), "nothing comes twice")
	assert.Equal(t, want, got)
}

func TestWhatIsNoDirectory(t *testing.T) {
	dir := t.TempDir()
	listed, err := observe.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, listed)
	_, err = observe.ReadDir(filepath.Join(dir, "nothing"))
	assert.ErrorIs(t, err, fs.ErrNotExist)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	_, err = observe.ReadDir(filepath.Join(dir, "file"))
	assert.ErrorIs(t, err, syscall.ENOTDIR)
}
