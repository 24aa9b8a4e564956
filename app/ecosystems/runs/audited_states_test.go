package runs_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/system"
	"github.com/countersign-dev/countersign/app/ecosystems/runs"
	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/ecosystem"
)

// TestAuditedStates: an operation log is believed only where it is what the audit has last, or had before that; not one that somebody wrote, and not an
// old one that somebody put back.
func TestAuditedStates(t *testing.T) {
	r := newRig(t, "demo", "other")
	files, ctx := r.deps.States, t.Context()
	states := runs.AuditedStates{States: files, Audit: r.store, Clock: system.Clock{}, Operations: []string{"op/log"}}
	l, err := r.deps.Places.Layout(ctx, r.root, "demo")
	require.NoError(t, err)
	l2, err := r.deps.Places.Layout(ctx, r.root, "other")
	require.NoError(t, err)
	forged := func(doc string) { require.NoError(t, files.Note(ctx, l, "op/log", []byte(doc))) }
	noted := func() string {
		t.Helper()
		doc, err := states.Noted(ctx, l, "op/log")
		require.NoError(t, err)
		return string(doc)
	}
	refused := func(l ecosystem.Layout, why string) {
		t.Helper()
		doc, err := states.Noted(ctx, l, "op/log")
		assert.ErrorIs(t, err, ecosystem.ErrState, why)
		assert.Nil(t, doc, why)
	}

	forged("one")
	refused(l, "the audit knows nothing of it")
	require.NoError(t, files.Note(ctx, l, "op/log", nil))
	require.NoError(t, states.Note(ctx, l, "op/log", nil))
	assert.Empty(t, noted())
	begun, err := r.store.Search(ctx, audit.Filter{Phase: audit.Ended})
	require.NoError(t, err)
	assert.Empty(t, begun, "what was never begun does not end")

	require.NoError(t, states.Note(ctx, l, "op/log", []byte("one")))
	assert.Equal(t, "one", noted())
	forged("two")
	refused(l, "it says something else")
	require.NoError(t, files.Note(ctx, l2, "op/log", []byte("one")))
	refused(l2, "it is another ecosystem's")
	forged("one")

	require.NoError(t, states.Note(ctx, l, "op/log", []byte("two")))
	assert.Equal(t, "two", noted())
	forged("one")
	assert.Equal(t, "one", noted(), "a process may die between the audit and the file")
	require.NoError(t, states.Note(ctx, l, "op/log", []byte("three")))
	forged("one")
	refused(l, "an older step of the same operation")
	forged("three")

	require.NoError(t, states.Note(ctx, l, "op/log", nil))
	assert.NoFileExists(t, filepath.Join(l.State, "op", "log"))
	forged("three")
	assert.Empty(t, noted(), "what has ended is not gone on with")
	forged("two")
	refused(l, "nor an earlier step of it")
	require.NoError(t, os.RemoveAll(filepath.Join(l.State, "op")))

	require.NoError(t, states.Note(ctx, l, "state", []byte("any")))
	doc, err := states.Noted(ctx, l, "state")
	require.NoError(t, err)
	assert.Equal(t, "any", string(doc), "other notes are as they are")
}
