package system_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/system"
)

// TestEveryChangeIsTold: with the system's help and without it, what is written, made, renamed, removed or linked below a directory is told of, at any depth;
// what lies in a directory that is passed over is not.
func TestEveryChangeIsTold(t *testing.T) {
	for name, o := range map[string]system.WatchOptions{
		"told by the system": {Skip: []string{".git"}, Quiet: time.Millisecond, Poll: time.Hour},
		"looked through":     {Skip: []string{".git"}, Quiet: time.Millisecond, Poll: time.Millisecond, Still: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "repo")
			at := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
			write := func(name, text string) func() error {
				return func() error { return os.WriteFile(at(name), []byte(text), 0o600) }
			}
			require.NoError(t, os.MkdirAll(at(".git/refs"), 0o755))
			require.NoError(t, write("a", "1")())
			ctx, stop := context.WithCancel(t.Context())
			changes := system.WatchTree(ctx, dir, o)
			for _, change := range []func() error{
				write("a", "22"),
				func() error { return os.MkdirAll(at("b/c"), 0o755) },
				write("b/c/d", "3"),
				func() error { return os.Rename(at("b/c"), at("b/e")) },
				write("b/e/d", "44"),
				func() error { return os.Symlink("a", at("l")) },
				func() error { return os.Remove(at("b/e/d")) },
				func() error { return os.RemoveAll(at("b")) },
			} {
				require.NoError(t, write(".git/index", time.Now().String())())
				require.NoError(t, change())
				_, open := <-changes
				require.True(t, open)
				settled(t, changes)
			}
			stop()
			for range changes { // it is closed
			}
		})
	}
}

// settled takes what is told while one change becomes several, as when a directory and then what is in it is seen.
func settled(t *testing.T, changes <-chan struct{}) {
	t.Helper()
	select {
	case <-changes:
	default:
	}
}

// TestADirectoryThatIsNotThereYet is waited for, and so is one that was taken away.
func TestADirectoryThatIsNotThereYet(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "repo")
	ctx, stop := context.WithCancel(t.Context())
	changes := system.WatchTree(ctx, dir, system.WatchOptions{Poll: time.Millisecond, Quiet: time.Millisecond})
	require.NoError(t, os.Mkdir(dir, 0o755))
	<-changes
	require.NoError(t, os.Remove(dir))
	<-changes
	stop()
	for range changes {
	}
}

// TestADirectoryTellsAtOnce: of what happens in it, until it is closed; one that is not there cannot be watched.
func TestADirectoryTellsAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d, err := system.WatchDirectory(dir)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a"), nil, 0o600))
	<-d.Events()
	require.NoError(t, d.Close())
	for range d.Events() { // it is closed
	}
	_, err = system.WatchDirectory(filepath.Join(dir, "none"))
	require.Error(t, err)
}
