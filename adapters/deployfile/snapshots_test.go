package deployfile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/deployment"
)

func records(t *testing.T, h machineHost) {
	root := []deployment.Root{h.Root("codex", "root"), h.Root("zed", "other")}
	h.Put(t, h.Path("root", "mine"), "mine", 0o600)
	tx := h.Deploy(t, root, wish{Path: h.Path("root", "mine"), Text: "theirs"}, wish{Path: h.Path("other", "é \"q\" <b>"), Text: "z", Mode: deployment.ExecutableMode})
	tx.Profile, tx.Lock = "work", deployment.SumOf([]byte("lock"))
	at := h.Clock.Now()
	id := h.Apply(t, tx)
	s, err := h.Snapshots.Load(t.Context(), h.Home, id)
	require.NoError(t, err)
	assert.Equal(t, deployment.KindDeploy, s.Kind)
	assert.Equal(t, deployment.StatusApplied, s.Status)
	assert.Equal(t, at, s.CreatedAt)
	assert.Equal(t, []string{"codex", "zed"}, s.Targets)
	assert.Equal(t, root, s.Roots)
	assert.Equal(t, "work", s.Profile)
	assert.Equal(t, h.Dir, s.ProjectRoot)
	assert.Equal(t, tx.Lock, s.Lock)
	assert.Equal(t, tx.Owned, s.Managed)
	require.Len(t, s.Changes, 2)
	for i, w := range tx.Writes {
		assert.Equal(t, w.Path, s.Changes[i].Path)
		assert.Equal(t, w.Before, s.Changes[i].Before)
		assert.Equal(t, w.After.Sum, s.Changes[i].After.Sum)
	}
	for _, c := range s.Changes {
		data, err := h.Snapshots.Blob(t.Context(), h.Home, c.After.Sum)
		require.NoError(t, err)
		assert.Equal(t, text(t, c.Path), string(data))
	}
	data, err := h.Snapshots.Blob(t.Context(), h.Home, deployment.SumOf([]byte("mine")))
	require.NoError(t, err)
	assert.Equal(t, "mine", string(data))
	kept, done, err := h.Snapshots.Open(t.Context(), h.Home)
	require.NoError(t, err)
	defer done()
	for range 2 {
		data, err = kept.Blob(t.Context(), h.Home, deployment.SumOf([]byte("mine")))
		require.NoError(t, err)
		assert.Equal(t, "mine", string(data))
		_, err = kept.Blob(t.Context(), h.Home, deployment.SumOf([]byte("never seen")))
		require.ErrorIs(t, err, deployment.ErrSnapshotDamaged)
		_, err = kept.Blob(t.Context(), h.Path("another home"), deployment.SumOf([]byte("mine")))
		require.ErrorIs(t, err, deployment.ErrSnapshotDamaged)
	}
	list, warnings, err := h.Snapshots.List(t.Context(), h.Home)
	require.NoError(t, err)
	assert.Empty(t, warnings)
	assert.Equal(t, []deployment.Snapshot{s}, list)
	h.Clock.Advance(-time.Hour)
	second := h.Apply(t, h.Deploy(t, root))
	assert.True(t, deployment.LaterSnapshot(second, id), "an identifier is greater than every earlier one, whatever the clock says")
	_, err = h.Snapshots.Blob(t.Context(), h.Home, deployment.SumOf([]byte("never seen")))
	assert.ErrorIs(t, err, deployment.ErrSnapshotDamaged)
}

func originals(t *testing.T, h machineHost) {
	root := []deployment.Root{h.Root("codex", "root")}
	h.Put(t, h.Path("root", "mine"), "first", 0o600)
	require.NoError(t, os.Symlink("mine", h.Path("root", "link")))
	first := h.Apply(t, h.Deploy(t, root, wish{Path: h.Path("root", "mine"), Text: "1"}, wish{Path: h.Path("root", "link"), Text: "1"}, wish{Path: h.Path("root", "new"), Text: "1"}))
	h.Put(t, h.Path("root", "mine"), "edited", 0o600)
	second := h.Apply(t, h.Deploy(t, root, wish{Path: h.Path("root", "mine"), Text: "2"}, wish{Path: h.Path("root", "new"), Text: "2"}, wish{Path: h.Path("root", "link"), Text: "1"}))
	all, err := h.Snapshots.Originals(t.Context(), h.Home)
	require.NoError(t, err)
	require.Len(t, all, 2, "what was not there has no original, and only the first one counts")
	assert.Equal(t, deployment.Original{Path: h.Path("root", "link"), Snapshot: first, Seen: deployment.Seen{Kind: deployment.Link, Link: "mine", Sum: deployment.SumOf([]byte("first"))}},
		withoutSize(all[0]))
	assert.Equal(t, deployment.Original{Path: h.Path("root", "mine"), Snapshot: first,
		Seen: deployment.Seen{Kind: deployment.Regular, Sum: deployment.SumOf([]byte("first")), Size: 5, Mode: 0o600}}, all[1])
	_, err = h.Snapshots.Prune(t.Context(), h.Home, []string{first, second})
	require.NoError(t, err)
	data, err := h.Snapshots.Blob(t.Context(), h.Home, deployment.SumOf([]byte("first")))
	require.NoError(t, err, "originals are kept for ever")
	assert.Equal(t, "first", string(data))
	_, err = h.Snapshots.Blob(t.Context(), h.Home, deployment.SumOf([]byte("edited")))
	assert.ErrorIs(t, err, deployment.ErrSnapshotDamaged, "and what only the snapshots needed is not")
}

// withoutSize forgets the size of what a link leads to: it is nobody's business.
func withoutSize(o deployment.Original) deployment.Original {
	o.Size = 0
	return o
}

func edits(t *testing.T, h machineHost) {
	h.Put(t, h.Path("repo", "agentpack.yaml"), "version: 1\n", 0o644)
	data := deployment.ContentOf([]byte("version: 1\nprofiles: {}\n"))
	tx := deployment.Transaction{Kind: deployment.KindEdit, Place: deployment.Locations{Home: h.Home}, Writes: []deployment.Write{
		{Op: deployment.OpUpdate, Path: h.Path("repo", "agentpack.yaml"), Root: h.Path("repo"), Data: data,
			Before: deployment.Seen{Kind: deployment.Regular, Sum: deployment.SumOf([]byte("version: 1\n")), Mode: 0o644}, After: deployment.Seen{Kind: deployment.Regular, Sum: data.Sum, Mode: deployment.PlainMode}},
		{Op: deployment.OpCreate, Path: h.Path("repo", "overlays", "x", "f"), Root: h.Path("repo"), Data: data, After: deployment.Seen{Kind: deployment.Regular, Sum: data.Sum, Mode: deployment.PlainMode}},
	}}
	id := h.Apply(t, tx)
	assert.Empty(t, id)
	assert.Equal(t, string(data.Data), text(t, h.Path("repo", "agentpack.yaml")))
	assert.Equal(t, string(data.Data), text(t, h.Path("repo", "overlays", "x", "f")))
	list, _, err := h.Snapshots.List(t.Context(), h.Home)
	require.NoError(t, err)
	assert.Empty(t, list)
	all, err := h.Snapshots.Originals(t.Context(), h.Home)
	require.NoError(t, err)
	assert.Empty(t, all)
	pending, err := h.Recovery.Pending(t.Context(), h.Home)
	require.NoError(t, err)
	assert.Nil(t, pending)
}

func inverse(t *testing.T, h machineHost) {
	root := []deployment.Root{h.Root("codex", "root")}
	h.Put(t, h.Path("root", "mine"), "mine", 0o604)
	h.Put(t, h.Path("root", "own", "run.sh"), "#!", 0o711)
	require.NoError(t, os.Symlink("own/run.sh", h.Path("root", "link")))
	before := tree(t, h.Path("root"))
	id := h.Apply(t, h.Deploy(t, root, wish{Path: h.Path("root", "mine"), Text: "x"}, wish{Path: h.Path("root", "own", "run.sh"), Text: "x"}, wish{Path: h.Path("root", "link"), Text: "x"},
		wish{Path: h.Path("root", "new", "er", "x"), Text: "x", Mode: deployment.ExecutableMode}))
	assert.NotEqual(t, before, tree(t, h.Path("root")))
	back := h.Apply(t, h.Inverse(t, id, root, nil))
	assert.Equal(t, before, tree(t, h.Path("root")))
	s, err := h.Snapshots.Load(t.Context(), h.Home, back)
	require.NoError(t, err)
	assert.Equal(t, deployment.KindRollback, s.Kind)
	assert.Equal(t, deployment.InitialSnapshot, s.RolledBackTo)
}

func prune(t *testing.T, h machineHost) {
	root := []deployment.Root{h.Root("codex", "root")}
	wish := func(shared, own string) []wish {
		return []wish{{Path: h.Path("root", "shared"), Text: shared}, {Path: h.Path("root", "own"), Text: own}}
	}
	large := strings.Repeat("large ", 5000)
	first := h.Apply(t, h.Deploy(t, root, wish("shared", "one"+large)...))
	second := h.Apply(t, h.Deploy(t, root, wish("shared", "two")...))
	third := h.Apply(t, h.Deploy(t, root, wish("shared", "three")...))
	freed, err := h.Snapshots.Prune(t.Context(), h.Home, []string{first, second})
	require.NoError(t, err)
	assert.Greater(t, freed, int64(len(large)))
	list, _, err := h.Snapshots.List(t.Context(), h.Home)
	require.NoError(t, err)
	require.Len(t, list, 1)
	assert.Equal(t, third, list[0].ID)
	for _, f := range list[0].Managed {
		data, err := h.Snapshots.Blob(t.Context(), h.Home, f.Sum)
		require.NoError(t, err)
		assert.Equal(t, text(t, f.Path), string(data))
	}
	two, err := h.Snapshots.Blob(t.Context(), h.Home, deployment.SumOf([]byte("two")))
	require.NoError(t, err, "what the third overwrote")
	assert.Equal(t, "two", string(two))
	_, err = h.Snapshots.Blob(t.Context(), h.Home, deployment.SumOf([]byte("one"+large)))
	assert.ErrorIs(t, err, deployment.ErrSnapshotDamaged)
	_, err = h.Snapshots.Prune(t.Context(), h.Home, []string{third, first})
	assert.ErrorIs(t, err, deployment.ErrSnapshot, "one that is not there")
	_, err = h.Snapshots.Load(t.Context(), h.Home, third)
	require.NoError(t, err, "then none is pruned")
	h.Apply(t, h.Deploy(t, root, wish("shared", "four")...))
}

func identifiers(t *testing.T, h machineHost) {
	h.Put(t, filepath.Join(h.Home, "state", "secret.json"), `{"id":"1","kind":"deploy"}`, 0o600)
	for _, id := range []string{"", "..", "../secret", "1/../../secret", "/etc/passwd", "12 ", "a.b", strings.Repeat("1", 200), "404", "\x00"} {
		_, err := h.Snapshots.Load(t.Context(), h.Home, id)
		assert.ErrorIs(t, err, deployment.ErrSnapshot, "%q", id)
		_, err = h.Snapshots.Prune(t.Context(), h.Home, []string{id})
		assert.ErrorIs(t, err, deployment.ErrSnapshot, "%q", id)
	}
	assert.FileExists(t, filepath.Join(h.Home, "state", "secret.json"))
	h.Put(t, filepath.Join(h.Home, "state", "snapshots", "7.json"), `{"id":"8","kind":"deploy"}`, 0o600)
	h.Put(t, filepath.Join(h.Home, "state", "snapshots", "9.json"), `{`, 0o600)
	for _, id := range []string{"7", "9"} {
		_, err := h.Snapshots.Load(t.Context(), h.Home, id)
		assert.ErrorIs(t, err, deployment.ErrSnapshotDamaged)
	}
	list, warnings, err := h.Snapshots.List(t.Context(), h.Home)
	require.NoError(t, err)
	assert.Empty(t, list)
	assert.Len(t, warnings, 2, "what cannot be read is said")
}
