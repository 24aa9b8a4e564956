package ecogit_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/gitcli/ecogit"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

var _ ecosystemport.Trash = (*ecogit.Trash)(nil)

// apart is os.Rename where everything is on a file system of its own: only what is beside each other can be renamed.
func apart(from, to string) error {
	if filepath.Dir(from) != filepath.Dir(to) {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: syscall.EXDEV}
	}
	return os.Rename(from, to)
}

func setup(t *testing.T) (ecosystem.Layout, ecosystemport.TrashEntry) {
	t.Helper()
	top := t.TempDir()
	root := filepath.Join(top, "w")
	l := ecosystem.Layout{Name: "demo", Root: root, Dir: filepath.Join(root, "ecosystems", "demo"), Data: filepath.Join(top, "data")}
	s := ecosystemport.TrashEntry{Ecosystem: "demo", Root: root, Workspace: filepath.Join(root, "worktrees", "demo"), At: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	require.NoError(t, os.MkdirAll(filepath.Join(s.Workspace, "d"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(s.Workspace, "d", "run"), []byte("x"), 0o755))
	require.NoError(t, os.Symlink("d/run", filepath.Join(s.Workspace, "link")))
	require.NoError(t, os.Chmod(filepath.Join(s.Workspace, "d"), 0o555))
	t.Cleanup(func() { _ = ecogit.RemoveTree(top) })
	return l, s
}

func TestThereAndBack(t *testing.T) {
	for name, rename := range map[string]func(string, string) error{"a move": nil, "a copy": apart} {
		t.Run(name, func(t *testing.T) {
			l, s := setup(t)
			a := ecogit.NewTrash(rename)
			s, err := a.Keep(t.Context(), l, s)
			require.NoError(t, err)
			assert.Equal(t, "demo-20260301T120000Z", s.ID)
			for range 2 { // each step may be repeated
				require.NoError(t, a.Take(t.Context(), l, s))
			}
			assert.NoDirExists(t, s.Workspace)
			require.NoError(t, os.MkdirAll(s.Workspace, 0o755))
			require.NoError(t, a.Take(t.Context(), l, s), "what is at home now is another")
			assert.DirExists(t, s.Workspace)
			for range 2 {
				require.NoError(t, a.Bring(t.Context(), l, s))
			}
			text, err := os.ReadFile(filepath.Join(s.Workspace, "link"))
			require.NoError(t, err)
			assert.Equal(t, "x", string(text))
			info, err := os.Stat(filepath.Join(s.Workspace, "d"))
			require.NoError(t, err)
			assert.Equal(t, fs.FileMode(0o555), info.Mode().Perm())
			left, err := os.ReadDir(filepath.Join(l.Data, "trash", s.ID))
			require.NoError(t, err)
			assert.Len(t, left, 1, "the record")
		})
	}
}

// TestACopyThatWasInterrupted is begun anew, or cleared away.
func TestACopyThatWasInterrupted(t *testing.T) {
	l, s := setup(t)
	a := ecogit.NewTrash(apart)
	s, err := a.Keep(t.Context(), l, s)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.Error(t, a.Take(ctx, l, s))
	assert.FileExists(t, filepath.Join(s.Workspace, "d", "run"))
	assert.NoDirExists(t, ecogit.TrashPath(l, s))

	require.NoError(t, os.MkdirAll(ecogit.TrashPath(l, s)+".partial/half", 0o755))
	require.NoError(t, a.Take(t.Context(), l, s))
	assert.NoDirExists(t, filepath.Join(ecogit.TrashPath(l, s), "half"))
	require.NoError(t, os.MkdirAll(filepath.Join(s.Workspace, "rest"), 0o755)) // as if clearing away had been interrupted
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(ecogit.TrashPath(l, s)), "taken"), nil, 0o600))
	require.NoError(t, a.Take(t.Context(), l, s))
	assert.NoDirExists(t, s.Workspace)
	assert.FileExists(t, filepath.Join(ecogit.TrashPath(l, s), "d", "run"))
}

func TestWhatIsInTheWay(t *testing.T) {
	l, s := setup(t)
	a := ecogit.NewTrash(nil)
	s, err := a.Keep(t.Context(), l, s)
	require.NoError(t, err)
	require.NoError(t, a.Take(t.Context(), l, s))
	require.NoError(t, os.MkdirAll(filepath.Join(s.Workspace, "mine"), 0o755))
	require.ErrorIs(t, a.Bring(t.Context(), l, s), ecosystem.ErrConflict)
	assert.DirExists(t, filepath.Join(s.Workspace, "mine"))
	assert.FileExists(t, filepath.Join(ecogit.TrashPath(l, s), "d", "run"))
}

// TestNamesAreUnique, whatever the clock says and whatever is there of an earlier time.
func TestNamesAreUnique(t *testing.T) {
	l, s := setup(t)
	a := ecogit.NewTrash(nil)
	require.NoError(t, os.MkdirAll(filepath.Join(l.Data, "archives", "demo-20260301T120000Z"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(l.Dir, "archives"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(l.Dir, "archives", "demo-20260301T120000Z-2.json"), nil, 0o600))
	for _, want := range []string{"demo-20260301T120000Z-3", "demo-20260301T120000Z-4"} {
		got, err := a.Keep(t.Context(), l, s)
		require.NoError(t, err)
		assert.Equal(t, want, got.ID)
	}
	other := l
	other.Root = "/elsewhere"
	entries, _, err := a.List(t.Context(), other)
	require.NoError(t, err)
	assert.Empty(t, entries, "another workspace's")
	require.NoError(t, os.WriteFile(filepath.Join(l.Data, "trash", "demo-20260301T120000Z-3", "record.json"), []byte("{"), 0o600))
	entries, archives, err := a.List(t.Context(), l)
	require.NoError(t, err)
	assert.Len(t, entries, 1)
	assert.Equal(t, []ecosystemport.Archived{{ID: "demo-20260301T120000Z-2", File: filepath.Join(l.Dir, "archives", "demo-20260301T120000Z-2.json")}}, archives)
}
