package local

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/deployfile"
	"github.com/countersign-dev/countersign/adapters/deployfile/observe"
	"github.com/countersign-dev/countersign/adapters/system"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/internal/testkit/memstore"
)

// TestJournalsOfOthers: a journal of an interrupted deployment is finished or taken back only where the audit knows that it was begun and is not over: not
// one that somebody wrote, and not one of an operation that is over.
func TestJournalsOfOthers(t *testing.T) {
	t.Parallel()
	root, home := t.TempDir(), t.TempDir()
	file, journal := filepath.Join(root, "a.txt"), filepath.Join(home, "state", "journal.json")
	var kept []byte
	die := false
	machine := func(o deployfile.Operations) *deployfile.Machine {
		return deployfile.NewMachine(deployfile.Options{Index: observe.OpenIndex(""), Clock: system.Clock{}, Operations: o, Step: func(step, _ string) {
			if step == "journalled" {
				kept, _ = os.ReadFile(journal)
				if die {
					panic("killed")
				}
			}
		}})
	}
	ours := machine(journals{memstore.New(), system.Clock{}})
	put := func(text string) {
		content := deployment.ContentOf([]byte(text))
		seen, err := observe.InspectPath(file)
		require.NoError(t, err)
		write := deployment.Write{Op: deployment.OpUpdate, Path: file, Root: root, Before: seen.Seen, Data: content,
			After: deployment.Seen{Kind: deployment.Regular, Sum: content.Sum, Size: content.Size, Mode: deployment.PlainMode}}
		if seen.Kind == deployment.Absent {
			write.Op = deployment.OpCreate
		}
		_, err = ours.Apply(t.Context(), deployment.Transaction{Kind: deployment.KindEdit, Place: deployment.Locations{Home: home}, Writes: []deployment.Write{write}}, nil)
		require.NoError(t, err)
	}
	is := func(text string) {
		t.Helper()
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Equal(t, text, string(data))
	}
	refused := func() {
		t.Helper()
		_, err := ours.Pending(t.Context(), home)
		assert.ErrorIs(t, err, deployment.ErrSnapshotDamaged)
		_, err = ours.Resume(t.Context(), home)
		assert.ErrorIs(t, err, deployment.ErrSnapshotDamaged)
		_, err = ours.Undo(t.Context(), home)
		assert.ErrorIs(t, err, deployment.ErrSnapshotDamaged)
	}

	put("one")
	put("two")
	require.NoError(t, os.WriteFile(journal, kept, 0o600)) // of what is over
	refused()
	is("two")
	other := machine(journals{memstore.New(), system.Clock{}})
	_, err := other.Resume(t.Context(), home)
	require.ErrorIs(t, err, deployment.ErrSnapshotDamaged, "an audit that knows nothing of it")
	require.NoError(t, os.Remove(journal))

	die = true
	assert.Panics(t, func() { put("three") })
	interrupted, err := ours.Pending(t.Context(), home)
	require.NoError(t, err)
	require.NotNil(t, interrupted, "what was interrupted here is known")
	mine, err := os.ReadFile(journal)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(journal, append(mine, ' '), 0o600))
	refused()
	require.NoError(t, os.WriteFile(journal, mine, 0o600))
	linked := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(home, linked))
	_, err = ours.Resume(t.Context(), linked) // one home, whatever way leads there
	require.NoError(t, err)
	is("three")
}

// TestRecordsOfOthers: of a home's records, only the list that was kept last counts, and the one before it is known as that.
func TestRecordsOfOthers(t *testing.T) {
	t.Parallel()
	home, j := t.TempDir(), journals{memstore.New(), system.Clock{}}
	kept := func(text string) (last, before bool) {
		t.Helper()
		last, before, err := j.Kept(t.Context(), home, []byte(text))
		require.NoError(t, err)
		return last, before
	}
	for _, text := range []string{"one", "two", "three"} {
		require.NoError(t, j.Keep(t.Context(), home, []byte(text)))
	}
	require.NoError(t, j.Begin(t.Context(), home, []byte("a journal")), "which is another thing")
	for text, want := range map[string][2]bool{"one": {false, false}, "two": {false, true}, "three": {true, true}, "a journal": {false, false}} {
		last, before := kept(text)
		assert.Equal(t, want, [2]bool{last, before}, text)
	}
	last, before, err := j.Kept(t.Context(), t.TempDir(), []byte("three"))
	require.NoError(t, err)
	assert.False(t, last || before, "another home has records of its own")
}
