package deployfile_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/deployment"
)

// Upheaval prepares a host in which an operation has everything to do that there is: it deploys once, lets a person work on it, and gives the
// transaction that comes next.
func (h machineHost) Upheaval(t testing.TB) deployment.Transaction {
	t.Helper()
	roots := []deployment.Root{h.Root("codex", "root"), h.Root("claude_code", "second", "root")}
	in := func(elem ...string) string { return h.Path(append([]string{"root"}, elem...)...) }
	h.Put(t, in("adopted-early"), "mine", 0o640)
	h.Apply(t, h.Deploy(t, roots[:1], wish{Path: in("same"), Text: "same"}, wish{Path: in("update"), Text: "old"}, wish{Path: in("run"), Text: "old", Mode: deployment.ExecutableMode},
		wish{Path: in("dead", "deep", "x"), Text: "x"}, wish{Path: in("dead", "deep", "y"), Text: "y"}, wish{Path: in("half", "x"), Text: "x"},
		wish{Path: in("file"), Text: "file"}, wish{Path: in("adopted-early"), Text: "theirs"}, wish{Path: in("relinked"), Text: "was a file"}))
	require.NoError(t, os.Chmod(in("dead", "deep"), 0o750))
	h.Put(t, in("half", "note"), "mine", 0o600)
	h.Put(t, in("adopted"), "mine too", 0o606)
	require.NoError(t, os.Symlink("adopted", in("link")))
	require.NoError(t, os.Remove(in("relinked")))
	require.NoError(t, os.Symlink("/nowhere", in("relinked")))
	h.Apply(t, h.DeployAs(t, "/team", roots[:1], wish{Path: in("update"), Text: "old"}, wish{Path: in("team"), Text: "team"})) // one of which is taken over
	h.Put(t, h.Path("second", "root", "older"), "older", 0o644)
	h.Put(t, h.Path("second", "root", ".agentpack.manifest.claude_code.json"), `{"schema_version":1,"generated_at":"2026-03-01T10:00:00Z","tool":"claude_code",
		"managed_files":[{"path":"older","sha256":"`+deployment.SumOf([]byte("older")).String()+`"}]}`, 0o644)
	return h.Deploy(t, roots, wish{Path: in("same"), Text: "same"}, wish{Path: in("update"), Text: "new"}, wish{Path: in("run"), Text: "old"},
		wish{Path: in("file", "inner", "x"), Text: "was a file"}, wish{Path: in("adopted"), Text: "theirs now"}, wish{Path: in("link"), Text: "was a link"},
		wish{Path: in("adopted-early"), Text: "theirs"}, wish{Path: in("new", "dir", "exec"), Text: "#!", Mode: deployment.ExecutableMode},
		wish{Path: h.Path("second", "root", "skills", "s"), Text: "skill"})
}

// recovering is what every machine promises of operations that were interrupted. It needs a host that can Die.
func recovering(t *testing.T, open func(t *testing.T) machineHost) {
	for name, test := range map[string]func(t *testing.T, h machineHost){
		"nothing is pending":                 idle,
		"pending is told, and nothing else":  pending,
		"resume finishes":                    resumed,
		"undo takes back":                    undone,
		"what is neither is left alone":      leftAlone,
		"an edit is recovered and forgotten": editRecovered,
	} {
		t.Run(name, func(t *testing.T) {
			h := open(t)
			h.Put(t, h.Path("canary", "song"), "yellow", 0o640)
			before := tree(t, h.Path("canary"))
			test(t, h)
			assert.Equal(t, before, tree(t, h.Path("canary")), "nothing outside the roots is touched")
		})
	}
}

func idle(t *testing.T, h machineHost) {
	p, err := h.Recovery.Pending(t.Context(), h.Home)
	require.NoError(t, err)
	assert.Nil(t, p)
	left, err := h.Recovery.Resume(t.Context(), h.Home)
	require.NoError(t, err)
	assert.Empty(t, left)
	left, err = h.Recovery.Undo(t.Context(), h.Home)
	require.NoError(t, err)
	assert.Empty(t, left)
	assert.NoDirExists(t, h.Home, "looking makes nothing")
}

// someSteps is after the journal and before the end of Upheaval.
const someSteps = 12

func pending(t *testing.T, h machineHost) {
	tx := h.Upheaval(t)
	require.True(t, h.Die(t, tx, someSteps))
	p, err := h.Recovery.Pending(t.Context(), h.Home)
	require.NoError(t, err)
	require.NotNil(t, p)
	assert.Equal(t, deployment.KindDeploy, p.Kind)
	assert.Equal(t, len(tx.Writes)+1, p.Total, "the manifest that is taken over included")
	assert.Greater(t, p.Done, 0)
	assert.Less(t, p.Done, p.Total)
	again, err := h.Recovery.Pending(t.Context(), h.Home)
	require.NoError(t, err)
	assert.Equal(t, p, again)
	before := tree(t, h.Dir)
	_, err = h.Machine.Apply(t.Context(), tx, nil)
	require.ErrorIs(t, err, deployment.ErrInterrupted)
	assert.ErrorContains(t, err, p.ID)
	_, err = h.Snapshots.Prune(t.Context(), h.Home, nil)
	require.ErrorIs(t, err, deployment.ErrInterrupted)
	assert.Equal(t, before, tree(t, h.Dir))
	list, warnings, err := h.Snapshots.List(t.Context(), h.Home)
	require.NoError(t, err)
	assert.Empty(t, warnings)
	require.Len(t, list, 3)
	assert.Equal(t, deployment.StatusApplying, list[2].Status)
	s, err := h.Snapshots.Load(t.Context(), h.Home, p.ID)
	require.NoError(t, err)
	assert.Equal(t, list[2], s)
}

func resumed(t *testing.T, h machineHost) {
	tx := h.Upheaval(t)
	require.True(t, h.Die(t, tx, someSteps))
	p, err := h.Recovery.Pending(t.Context(), h.Home)
	require.NoError(t, err)
	left, err := h.Recovery.Resume(t.Context(), h.Home)
	require.NoError(t, err)
	assert.Empty(t, left)
	for _, w := range tx.Writes {
		if w.After.Kind == deployment.Absent {
			assert.False(t, isFile(w.Path), w.Path)
			continue
		}
		assert.Equal(t, string(w.Data.Data), text(t, w.Path))
	}
	s, err := h.Snapshots.Load(t.Context(), h.Home, p.ID)
	require.NoError(t, err)
	assert.Equal(t, deployment.StatusApplied, s.Status)
	idleAgain(t, h)
}

func undone(t *testing.T, h machineHost) {
	tx := h.Upheaval(t)
	before := tree(t, h.Dir)
	require.True(t, h.Die(t, tx, someSteps))
	p, err := h.Recovery.Pending(t.Context(), h.Home)
	require.NoError(t, err)
	left, err := h.Recovery.Undo(t.Context(), h.Home)
	require.NoError(t, err)
	assert.Empty(t, left)
	assert.Equal(t, before, tree(t, h.Dir))
	s, err := h.Snapshots.Load(t.Context(), h.Home, p.ID)
	require.NoError(t, err)
	assert.Equal(t, deployment.StatusUndone, s.Status)
	originals, err := h.Snapshots.Originals(t.Context(), h.Home)
	require.NoError(t, err)
	assert.Len(t, originals, 1, "that of the first deployment")
	idleAgain(t, h)
	h.Apply(t, tx)
}

func isFile(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && !info.IsDir()
}

func idleAgain(t *testing.T, h machineHost) {
	t.Helper()
	p, err := h.Recovery.Pending(t.Context(), h.Home)
	require.NoError(t, err)
	assert.Nil(t, p)
}

func leftAlone(t *testing.T, h machineHost) {
	for name, mend := range map[string]func() ([]string, error){
		"resume": func() ([]string, error) { return h.Recovery.Resume(t.Context(), h.Home) },
		"undo":   func() ([]string, error) { return h.Recovery.Undo(t.Context(), h.Home) },
	} {
		root := []deployment.Root{h.Root("codex", name)}
		h.Put(t, h.Path(name, "update"), "mine", 0o600)
		tx := h.Deploy(t, root, wish{Path: h.Path(name, "update"), Text: "theirs"}, wish{Path: h.Path(name, "new", "x"), Text: "x"}, wish{Path: h.Path(name, "other"), Text: "x"})
		require.True(t, h.Die(t, tx, 7))
		h.Put(t, h.Path(name, "update"), "edited since", 0o600)
		require.NoError(t, os.RemoveAll(h.Path(name, "new")))
		require.NoError(t, os.Symlink(h.Path("canary"), h.Path(name, "new")))
		left, err := mend()
		require.NoError(t, err)
		assert.Equal(t, []string{h.Path(name, "new", "x"), h.Path(name, "update")}, left)
		assert.Equal(t, "edited since", text(t, h.Path(name, "update")))
		assert.Equal(t, name == "resume", isFile(h.Path(name, "other")), "the rest is done")
		idleAgain(t, h)
	}
}

func editRecovered(t *testing.T, h machineHost) {
	path := h.Path("repo", "agentpack.yaml")
	h.Put(t, path, "old", 0o640)
	data := deployment.ContentOf([]byte("new"))
	tx := deployment.Transaction{Kind: deployment.KindEdit, Place: deployment.Locations{Home: h.Home}, Writes: []deployment.Write{
		{Op: deployment.OpUpdate, Path: path, Root: h.Path("repo"), Data: data, Before: deployment.Seen{Kind: deployment.Regular, Sum: deployment.SumOf([]byte("old")), Mode: 0o640},
			After: deployment.Seen{Kind: deployment.Regular, Sum: data.Sum, Mode: deployment.PlainMode}},
		{Op: deployment.OpCreate, Path: h.Path("repo", "modules", "x"), Root: h.Path("repo"), Data: data, After: deployment.Seen{Kind: deployment.Regular, Sum: data.Sum, Mode: deployment.PlainMode}},
	}}
	before := tree(t, h.Path("repo"))
	require.True(t, h.Die(t, tx, 6))
	left, err := h.Recovery.Undo(t.Context(), h.Home)
	require.NoError(t, err)
	assert.Empty(t, left)
	assert.Equal(t, before, tree(t, h.Path("repo")))
	require.True(t, h.Die(t, tx, 6))
	_, err = h.Recovery.Resume(t.Context(), h.Home)
	require.NoError(t, err)
	assert.Equal(t, "new", text(t, path))
	assert.Equal(t, "new", text(t, h.Path("repo", "modules", "x")))
	list, warnings, err := h.Snapshots.List(t.Context(), h.Home)
	require.NoError(t, err)
	assert.Empty(t, warnings)
	assert.Empty(t, list)
	kept, err := os.ReadDir(filepath.Join(h.Home, "state", "vault"))
	require.NoError(t, err)
	assert.Empty(t, kept, "nothing needs what it kept")
}
