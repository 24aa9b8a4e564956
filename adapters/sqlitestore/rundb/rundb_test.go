package rundb_test

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/sqlitestore"
	"github.com/countersign-dev/countersign/adapters/sqlitestore/rundb"
	"github.com/countersign-dev/countersign/domain/toolrun"
	"github.com/countersign-dev/countersign/internal/testkit/runtest"
	"github.com/countersign-dev/countersign/ports"
)

func openAt(t testing.TB, path string) *sqlitestore.Store {
	s := sqlitestore.Open(path)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	return s
}

func open(t testing.TB) ports.Runs {
	return rundb.New(openAt(t, filepath.Join(t.TempDir(), "countersign.db")))
}

func TestRuns(t *testing.T) { runtest.Runs(t, open) }

func BenchmarkRuns(b *testing.B) { runtest.BenchmarkRuns(b, open) }

// TestReadsMakeNoDatabase: looking for what is not there leaves no file.
func TestReadsMakeNoDatabase(t *testing.T) {
	dir := t.TempDir()
	runs := rundb.New(openAt(t, filepath.Join(dir, "countersign.db")))
	_, err := runs.List(t.Context(), ports.RunFilter{})
	require.NoError(t, err)
	_, err = runs.Purge(t.Context(), 0, runtest.Run(1).At)
	require.NoError(t, err)
	require.ErrorIs(t, runs.Change(t.Context(), "call_1", toolrun.Denial(toolrun.Expired, runtest.Run(1).At)), toolrun.ErrUnknown)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, entries)
}

// TestOneProcessSeesTheOthers: two stores of one database, as two processes have it.
func TestOneProcessSeesTheOthers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "countersign.db")
	one, other := rundb.New(openAt(t, path)), rundb.New(openAt(t, path))
	r := runtest.Run(1)
	require.NoError(t, one.Add(t.Context(), r))
	require.NoError(t, other.Change(t.Context(), r.ConfirmationID, func(r *toolrun.Record) error { return r.Start("call_2", "token", "other", r.At) }))
	got, err := one.Load(t.Context(), "call_2")
	require.NoError(t, err)
	assert.Equal(t, toolrun.Executing, got.Status)
}

// TestTheDatabaseItselfHoldsTheStates: whoever writes, a record cannot go where it may not, and what has ended cannot be rewritten.
func TestTheDatabaseItselfHoldsTheStates(t *testing.T) {
	store := openAt(t, filepath.Join(t.TempDir(), "countersign.db"))
	runs := rundb.New(store)
	say := func(query string, args ...any) error {
		return store.Change(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, query, args...)
			return err
		})
	}
	legal := map[toolrun.Status][]toolrun.Status{
		toolrun.PendingConfirmation: {toolrun.PendingConfirmation, toolrun.Executing, toolrun.Denied},
		toolrun.Executing:           {toolrun.Executing, toolrun.Completed, toolrun.Failed},
	}
	n := 0
	for _, from := range toolrun.Statuses() {
		for _, to := range toolrun.Statuses() {
			n++
			r := runtest.Run(n)
			r.Status = from
			if from == toolrun.Completed {
				r.Status = toolrun.Executing
			}
			require.NoError(t, runs.Add(t.Context(), r))
			if from == toolrun.Completed {
				require.NoError(t, say(`UPDATE runs SET status = 'completed' WHERE call_id = ?`, r.CallID))
			}
			err := say(`UPDATE runs SET status = ? WHERE call_id = ?`, to.String(), r.CallID)
			allowed := false
			for _, ok := range legal[from] {
				allowed = allowed || ok == to
			}
			assert.Equal(t, allowed, err == nil, "%s to %s: %v", from, to, err)
		}
	}
	require.Error(t, say(`UPDATE runs SET body = '{}' WHERE status = 'denied'`))
	require.Error(t, say(`UPDATE runs SET status = 'approved' WHERE status = 'executing'`))
}
