package deployfile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/deployment"
)

// foreign writes a snapshot as the original tool does (agentpack contract §4.5, Appendix C): of a file that held before and holds after.
func foreign(t *testing.T, h machineHost, id, path, before, after string) {
	dir := filepath.Join(h.Home, "state", "snapshots")
	h.Put(t, filepath.Join(dir, id+".json"), fmt.Sprintf(`{
  "kind": "deploy",
  "id": %q,
  "created_at": "2026-03-01T10:00:00.5Z",
  "targets": ["codex"],
  "managed_files": [{"target": "codex", "path": %q, "sha256": %q}],
  "changes": [{"target": "codex", "op": "update", "path": %q, "backup_path": "x", "before_sha256": %q, "after_sha256": %q}],
  "lockfile_sha256": null,
  "backup_root": "x"
}
`, id, path, deployment.SumOf([]byte(after)), path, deployment.SumOf([]byte(before)), deployment.SumOf([]byte(after))), 0o600)
	name := deployment.SumOf([]byte(path)).Short(16)
	h.Put(t, filepath.Join(dir, id, "state", "codex", name), after, 0o600)
	h.Put(t, filepath.Join(dir, id, "backup", "codex", name), before, 0o600)
}

func TestReadsSnapshotsOfTheOriginalTool(t *testing.T) {
	h := host(t)
	const id = "1772359200500000000"
	path := h.Path("root", "AGENTS.md")
	foreign(t, h, id, path, "before", "after")
	s, err := h.Snapshots.Load(t.Context(), h.Home, id)
	require.NoError(t, err)
	assert.Equal(t, deployment.StatusApplied, s.Status)
	assert.Equal(t, []deployment.Owned{{Target: "codex", Root: h.Path("root"), Path: path, Sum: deployment.SumOf([]byte("after")), Mode: deployment.PlainMode}}, s.Managed)
	assert.Equal(t, deployment.Seen{Kind: deployment.Regular, Sum: deployment.SumOf([]byte("before")), Mode: deployment.PlainMode}, s.Changes[0].Before)
	for _, text := range []string{"before", "after"} {
		data, err := h.Snapshots.Blob(t.Context(), h.Home, deployment.SumOf([]byte(text)))
		require.NoError(t, err)
		assert.Equal(t, text, string(data))
	}

	h.Put(t, path, "edited", 0o644)
	back := h.Deploy(t, []deployment.Root{h.Root("codex", "root")}, wish{Path: path, Text: "after"})
	back.Kind, back.RolledBackTo, back.Writes[0].Data = deployment.KindRollback, id, deployment.Content{Sum: deployment.SumOf([]byte("after"))}
	ours := h.Apply(t, back)
	assert.Equal(t, "-rw-r--r-- after", tree(t, h.Path("root"))[path], "its content is where the original tool put it")
	assert.True(t, deployment.LaterSnapshot(ours, id))

	freed, err := h.Snapshots.Prune(t.Context(), h.Home, []string{id})
	require.NoError(t, err)
	assert.Greater(t, freed, int64(len("before")+len("after")))
	assert.NoDirExists(t, filepath.Join(h.Home, "state", "snapshots", id))
	_, err = h.Snapshots.Blob(t.Context(), h.Home, deployment.SumOf([]byte("after")))
	require.NoError(t, err, "ours keeps what it needs itself")
	_, err = h.Snapshots.Blob(t.Context(), h.Home, deployment.SumOf([]byte("before")))
	assert.ErrorIs(t, err, deployment.ErrSnapshotDamaged)
}

func TestDamagedFilesOfTheOriginalToolAreNotTrusted(t *testing.T) {
	h := host(t)
	path := h.Path("root", "AGENTS.md")
	foreign(t, h, "5", path, "before", "after")
	h.Put(t, filepath.Join(h.Home, "state", "snapshots", "5", "state", "codex", deployment.SumOf([]byte(path)).Short(16)), "other", 0o600)
	_, err := h.Snapshots.Blob(t.Context(), h.Home, deployment.SumOf([]byte("after")))
	assert.ErrorIs(t, err, deployment.ErrSnapshotDamaged)
}

func TestDamagedState(t *testing.T) {
	h := host(t)
	roots := []deployment.Root{h.Root("codex", "root")}
	h.Put(t, h.Path("root", "mine"), "mine", 0o600)
	tx := h.Deploy(t, roots, wish{Path: h.Path("root", "mine"), Text: "x"})
	originals := filepath.Join(h.Home, "state", "originals.json")
	h.Put(t, originals, "{", 0o600)
	_, err := h.Machine.Apply(t.Context(), tx, nil)
	require.ErrorIs(t, err, deployment.ErrSnapshotDamaged, "what it lists is not given up")
	_, err = h.Snapshots.Prune(t.Context(), h.Home, nil)
	require.ErrorIs(t, err, deployment.ErrSnapshotDamaged)
	require.NoError(t, os.Remove(originals))

	journal := filepath.Join(h.Home, "state", "journal.json")
	h.Put(t, journal, "{", 0o600)
	_, err = h.Machine.Apply(t.Context(), tx, nil)
	require.ErrorIs(t, err, deployment.ErrSnapshotDamaged)
	_, err = h.Recovery.Pending(t.Context(), h.Home)
	require.ErrorIs(t, err, deployment.ErrSnapshotDamaged)
	_, err = h.Recovery.Undo(t.Context(), h.Home)
	require.ErrorIs(t, err, deployment.ErrSnapshotDamaged)
	assert.ErrorContains(t, err, journal)
	require.NoError(t, os.Remove(journal))

	h.Put(t, filepath.Join(h.Home, "state", "directories.json"), "{", 0o600)
	h.Apply(t, tx)
	data, err := os.ReadFile(h.Path("root", "mine"))
	require.NoError(t, err)
	assert.Equal(t, "x", string(data), "a list that only says what may be removed is not needed")
}

func TestLegacyManifestDoesNotComeBack(t *testing.T) {
	h := host(t)
	roots := []deployment.Root{h.Root("codex", "root")}
	h.Put(t, h.Path("root", "x"), "x", 0o644)
	h.Put(t, h.Path("root", ".agentpack.manifest.json"), fmt.Sprintf(`{"schema_version":1,"generated_at":"2026-03-01T10:00:00Z","tool":"codex","managed_files":[{"path":"x","sha256":%q}]}`,
		deployment.SumOf([]byte("x"))), 0o644)
	plan := h.Deploy(t, roots)
	h.Put(t, h.Path("root", ".agentpack.manifest.codex.json"), `{"schema_version":1,"generated_at":"2026-03-01T10:00:00Z","tool":"codex","managed_files":[]}`, 0o644)
	_, err := h.Machine.Apply(t.Context(), plan, nil)
	require.ErrorIs(t, err, deployment.ErrStale, "a manifest that came since was shown to nobody")
	h.Apply(t, h.Deploy(t, roots, wish{Path: h.Path("root", "x"), Text: "x"}))
	assert.NoFileExists(t, h.Path("root", ".agentpack.manifest.codex.json"))
	h.Apply(t, h.Deploy(t, roots))
	assert.NoFileExists(t, h.Path("root", "x"))
	assert.NoFileExists(t, h.Path("root", ".agentpack.manifest.json"))
	assert.Empty(t, h.Deploy(t, roots).Writes)
}
