package sqlitestore_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/sqlitestore"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/ports/porttest"
)

// A database that something has emptied is not a new one: it is neither read as one nor begun anew.
func TestAnEmptiedDatabaseIsAFault(t *testing.T) {
	for name, leave := range map[string]func(dir string) error{
		"keys": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "keys", "audit.key"), make([]byte, 32), 0o600)
		},
		"anchors": func(dir string) error { return os.WriteFile(filepath.Join(dir, "anchors.json"), []byte("{}"), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "countersign.db")
			seed(t, path)
			require.NoError(t, os.RemoveAll(filepath.Join(dir, "keys")))
			require.NoError(t, os.Mkdir(filepath.Join(dir, "keys"), 0o700))
			require.NoError(t, leave(dir))
			require.NoError(t, os.Truncate(path, 0))
			for range 2 {
				s := sqlitestore.Open(path)
				_, err := s.Tail(t.Context(), 5)
				require.ErrorIs(t, err, sqlitestore.ErrEmptied)
				assert.ErrorContains(t, err, "is empty (0 bytes)")
				require.ErrorIs(t, s.Append(t.Context(), porttest.Event("call_1")), sqlitestore.ErrEmptied)
				require.NoError(t, s.Close())
			}
			info, err := os.Stat(path)
			require.NoError(t, err)
			assert.Zero(t, info.Size(), "it was left as it is")
		})
	}
}

// One of which only the beginning is left is said to be damaged, and not written over.
func TestATruncatedDatabaseIsAFault(t *testing.T) {
	for _, size := range []int64{10, 100, 4096, 3 * 4096} {
		path := filepath.Join(t.TempDir(), "countersign.db")
		seed(t, path)
		require.NoError(t, os.Truncate(path, size))
		before := snapshot(t, path)
		s := openAt(t, path)
		_, err := s.Tail(t.Context(), 5)
		require.Error(t, err, size)
		assert.Equal(t, fault.Unavailable, fault.From(err).Kind, "%d: %v", size, err)
		require.Error(t, s.Append(t.Context(), porttest.Event("call_1")), size)
		assert.Equal(t, before, snapshot(t, path), size)
	}
}

// No other process ever sees a database of zero bytes while one is made.
func TestADatabaseIsNeverMadeEmpty(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "keys"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "keys", "secret.key"), make([]byte, 32), 0o600))
	path := filepath.Join(dir, "countersign.db")
	errs := make(chan error, 8)
	for range cap(errs) {
		go func() {
			s := sqlitestore.Open(path)
			defer s.Close() //nolint:errcheck // what it wrote is asked for below
			errs <- s.Append(t.Context(), porttest.Event("call_1"))
		}()
	}
	for range cap(errs) {
		require.NoError(t, <-errs)
	}
	assert.EqualValues(t, cap(errs), porttest.Verify(t, openAt(t, path)))
	left, err := filepath.Glob(path + ".new*")
	require.NoError(t, err)
	assert.Empty(t, left)
}
