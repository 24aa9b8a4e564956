package sqlitestore_test

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/sqlitestore"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports"
	"github.com/countersign-dev/countersign/ports/porttest"
)

func callOpenAt(t testing.TB, path string) *sqlitestore.Store {
	s := sqlitestore.Open(path)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	return s
}

func openCall(t testing.TB) ports.Runs {
	return sqlitestore.NewRuns(callOpenAt(t, filepath.Join(t.TempDir(), "countersign.db")))
}

func TestRuns(t *testing.T) { porttest.Runs(t, openCall) }

func BenchmarkRuns(b *testing.B) { porttest.BenchmarkRuns(b, openCall) }

// TestReadsMakeNoDatabase: looking for what is not there leaves no file.
func TestCallReadsMakeNoDatabase(t *testing.T) {
	dir := t.TempDir()
	runs := sqlitestore.NewRuns(callOpenAt(t, filepath.Join(dir, "countersign.db")))
	_, err := runs.List(t.Context(), ports.RunFilter{})
	require.NoError(t, err)
	_, err = runs.Purge(t.Context(), 0, porttest.Run(1).At)
	require.NoError(t, err)
	require.ErrorIs(t, runs.Change(t.Context(), "call_1", tool.Denial(tool.ReasonExpired, porttest.Run(1).At)), tool.ErrRecordUnknown)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, entries)
}

// TestOneProcessSeesTheOthers: two stores of one database, as two processes have it.
func TestCallOneProcessSeesTheOthers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "countersign.db")
	one, other := sqlitestore.NewRuns(callOpenAt(t, path)), sqlitestore.NewRuns(callOpenAt(t, path))
	r := porttest.Run(1)
	require.NoError(t, one.Add(t.Context(), r))
	require.NoError(t, other.Change(t.Context(), r.ConfirmationID, func(r *tool.Record) error { return r.Start("call_2", "token", "other", r.At) }))
	got, err := one.Load(t.Context(), "call_2")
	require.NoError(t, err)
	assert.Equal(t, tool.StatusExecuting, got.Status)
}

// TestTheDatabaseItselfHoldsTheStates: whoever writes, a record cannot go where it may not, and what has ended cannot be rewritten.
func TestTheDatabaseItselfHoldsTheStates(t *testing.T) {
	store := callOpenAt(t, filepath.Join(t.TempDir(), "countersign.db"))
	runs := sqlitestore.NewRuns(store)
	say := func(query string, args ...any) error {
		return store.Change(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, query, args...)
			return err
		})
	}
	legal := map[tool.Status][]tool.Status{
		tool.StatusPendingConfirmation: {tool.StatusPendingConfirmation, tool.StatusExecuting, tool.StatusDenied},
		tool.StatusExecuting:           {tool.StatusExecuting, tool.StatusCompleted, tool.StatusFailed},
	}
	n := 0
	for _, from := range tool.Statuses() {
		for _, to := range tool.Statuses() {
			n++
			r := porttest.Run(n)
			r.Status = from
			if from == tool.StatusCompleted {
				r.Status = tool.StatusExecuting
			}
			require.NoError(t, runs.Add(t.Context(), r))
			if from == tool.StatusCompleted {
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
