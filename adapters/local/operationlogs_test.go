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
		_, err = ours.Apply(t.Context(), deployment.Transaction{Kind: deployment.KindEdit, Place: deployment.Place{Home: home}, Writes: []deployment.Write{write}}, nil)
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
