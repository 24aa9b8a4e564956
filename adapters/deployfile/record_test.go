package deployfile_test

import (
	"encoding/json"
	"io/fs"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/adapters/deployfile"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/internal/testkit/golden"
)

func sum(text string) deployment.Sum { return deployment.SumOf([]byte(text)) }

func full() deployment.Snapshot {
	return deployment.Snapshot{
		ID: "1772359200500000000", Kind: deployment.KindRollback, Status: deployment.StatusApplied, CreatedAt: time.Date(2026, 3, 1, 10, 0, 0, 5e8, time.UTC),
		Targets: []string{"claude_code", "codex"}, Roots: []deployment.Root{{Target: "codex", Path: "/w/codex", ScanExtras: true}}, ProjectRoot: "/w", Profile: "work",
		Managed: []deployment.Owned{
			{Target: "codex", Root: "/w/codex", Path: "/w/codex/AGENTS.md", Sum: sum("a"), Mode: deployment.PlainMode, Modules: []string{"instructions:a", "instructions:b"}},
			{Target: "codex", Root: "/w/codex", Path: "/w/codex/run \"é\" <x>", Sum: sum("b"), Mode: deployment.ExecutableMode, Owner: deployment.OwnerBootstrap,
				Part: &deployment.Part{Format: deployment.FormatTOML, Keys: []deployment.Key{{Path: []string{"mcp", "x"}, Value: json.RawMessage(`{"a":1}`), Module: "m"}}}, PartSum: sum("p"),
				Made: [][]string{{"mcp"}}, Created: true},
		},
		Changes: []deployment.SnapshotRecord{
			{Target: "codex", Op: deployment.OpCreate, Path: "/w/codex/new", After: deployment.Seen{Kind: deployment.Regular, Sum: sum(""), Mode: 0o644}},
			{Target: "codex", Op: deployment.OpUpdate, Path: "/w/codex/AGENTS.md", Before: deployment.Seen{Kind: deployment.Regular, Sum: sum("old"), Size: 3, Mode: 0o600},
				After: deployment.Seen{Kind: deployment.Regular, Sum: sum("a"), Size: 1, Mode: 0o600}},
			{Target: "codex", Op: "rollback_restore", Path: "/w/codex/link", Before: deployment.Seen{Kind: deployment.Regular, Sum: sum("x"), Size: 1}, After: deployment.Seen{Kind: deployment.Link, Link: "../x"}},
			{Target: "codex", Op: deployment.OpDelete, Path: "/w/codex/gone", Before: deployment.Seen{Kind: deployment.Link, Link: "y", Sum: sum("y")}},
		},
		RolledBackTo: "17", Lock: sum("lock"),
	}
}

func where(s deployment.Sum) string { return "/h/state/vault/1.zip#" + s.Short(8) }

func TestForm(t *testing.T) {
	data := deployfile.EncodeSnapshot(deployfile.SnapshotRecord{Snapshot: full(), BackupRoot: "/h/state/vault", Where: where}).As(deployment.StatusApplied)
	require.True(t, json.Valid(data))
	golden.Text(t, "snapshot.json", string(data))
	small := deployment.Snapshot{ID: "1", Kind: deployment.KindDeploy, CreatedAt: time.Unix(0, 0)}
	data = deployfile.EncodeSnapshot(deployfile.SnapshotRecord{Snapshot: small}).As(deployment.StatusApplying)
	require.True(t, json.Valid(data))
	golden.Text(t, "empty.json", string(data))
}

func TestComesBackAsItWas(t *testing.T) {
	want := full()
	d, err := deployfile.DecodeSnapshot(deployfile.EncodeSnapshot(deployfile.SnapshotRecord{Snapshot: want, Where: where}).As(deployment.StatusUndone))
	require.NoError(t, err)
	assert.False(t, d.Foreign)
	want.Status = deployment.StatusUndone
	assert.Equal(t, want, d.Snapshot)
}

func TestAnySnapshotComesBack(t *testing.T) {
	text := rapid.StringMatching(`[a-z/ "\\é<\n\x00]{1,12}`)
	mode := rapid.Uint32Max(0o777)
	seen := rapid.Custom(func(r *rapid.T) deployment.Seen {
		switch rapid.IntRange(0, 2).Draw(r, "kind") {
		case 0:
			return deployment.Seen{Kind: deployment.Regular, Sum: sum(text.Draw(r, "content")), Size: rapid.Int64Min(0).Draw(r, "size"), Mode: fs.FileMode(mode.Draw(r, "mode"))}
		case 1:
			return deployment.Seen{Kind: deployment.Link, Link: text.Draw(r, "link"), Sum: sum(text.Draw(r, "content"))}
		}
		return deployment.Seen{}
	})
	change := rapid.Custom(func(r *rapid.T) deployment.SnapshotRecord {
		return deployment.SnapshotRecord{Target: text.Draw(r, "target"), Op: deployment.Op(text.Draw(r, "op")), Path: text.Draw(r, "path"), Before: seen.Draw(r, "before"), After: seen.Draw(r, "after")}
	})
	rapid.Check(t, func(r *rapid.T) {
		s := deployment.Snapshot{ID: rapid.StringMatching(`[0-9]{1,19}`).Draw(r, "id"), Kind: deployment.KindDeploy, CreatedAt: time.Unix(rapid.Int64Range(0, 1<<32).Draw(r, "at"), 7).UTC(),
			Targets: rapid.SliceOfN(text, 1, 3).Draw(r, "targets"), Changes: rapid.SliceOfN(change, 1, 5).Draw(r, "changes"), Profile: text.Draw(r, "profile")}
		encoded := deployfile.EncodeSnapshot(deployfile.SnapshotRecord{Snapshot: s, Where: where})
		j := deployfile.Journal{Snapshot: s, Made: rapid.SliceOfN(text, 1, 3).Draw(r, "made"), Pruned: []deployfile.Folder{{Path: text.Draw(r, "pruned"), Mode: fs.FileMode(mode.Draw(r, "mode"))}},
			State: []deployfile.Text{{Name: "a", Before: nil, After: []byte(text.Draw(r, "state"))}, {Name: "b", Before: []byte{}, After: nil}}}
		for range s.Changes {
			j.Roots = append(j.Roots, text.Draw(r, "root"))
		}
		j.Status = deployment.StatusApplying
		data, err := deployfile.EncodeJournal(j, encoded)
		require.NoError(r, err)
		back, err := deployfile.DecodeJournal(data)
		require.NoError(r, err)
		require.Equal(r, j, back)
	})
}

func TestOfTheOriginalTool(t *testing.T) {
	d, err := deployfile.DecodeSnapshot([]byte(`{"id":"7","created_at":"2026-03-01T10:00:00.5Z","targets":["codex"],
		"changes":[{"target":"codex","op":"delete","path":"/a","before_sha256":"` + sum("x").String() + `"}],"lockfile_sha256":null,"backup_root":"b"}`))
	require.NoError(t, err)
	assert.True(t, d.Foreign)
	assert.Equal(t, deployment.KindDeploy, d.Kind, "the kind that is left out")
	assert.Equal(t, deployment.StatusApplied, d.Status)
	assert.Equal(t, []deployment.SnapshotRecord{{Target: "codex", Op: deployment.OpDelete, Path: "/a", Before: deployment.Seen{Kind: deployment.Regular, Sum: sum("x"), Mode: deployment.PlainMode}}}, d.Changes)
}

func TestDamage(t *testing.T) {
	for _, text := range []string{``, `[]`, `{}`, `{"id":"../x"}`, `{"id":"1","lockfile_sha256":"xyz"}`, `{"id":"1","changes":[{"before_mode":"9"}]}`, `{"id":"1","changes":[{"before_mode":"7777"}]}`} {
		_, err := deployfile.DecodeSnapshot([]byte(text))
		assert.ErrorIs(t, err, deployment.ErrSnapshotDamaged, text)
		_, err = deployfile.DecodeJournal([]byte(text))
		assert.ErrorIs(t, err, deployment.ErrSnapshotDamaged, text)
	}
	for _, text := range []string{
		`{"schema_version":2,"snapshot":{"id":"1"}}`,
		`{"schema_version":1,"snapshot":{"id":"1","changes":[{}]},"bases":["/"],"within":[]}`,
		`{"schema_version":1,"snapshot":{"id":"1","changes":[{}]},"bases":["/"],"within":[1]}`,
		`{"schema_version":1,"snapshot":{"id":"1","changes":[{}]},"bases":["/"],"within":[-1]}`,
	} {
		_, err := deployfile.DecodeJournal([]byte(text))
		assert.ErrorIs(t, err, deployment.ErrSnapshotDamaged, text)
	}
	_, err := deployfile.DecodeOriginals([]byte("{"))
	assert.ErrorIs(t, err, deployment.ErrSnapshotDamaged)
	_, err = deployfile.DecodePaths([]byte("{"))
	assert.ErrorIs(t, err, deployment.ErrSnapshotDamaged)
}

func TestRegistries(t *testing.T) {
	all := []deployment.Original{
		{Path: "/b", Seen: deployment.Seen{Kind: deployment.Regular, Sum: sum("b"), Size: 1, Mode: 0o600}, Snapshot: "2"},
		{Path: "/a \"é\"", Seen: deployment.Seen{Kind: deployment.Link, Link: "x"}, Snapshot: "1"},
	}
	data := deployfile.EncodeOriginals(all)
	golden.Text(t, "originals.json", string(data))
	back, err := deployfile.DecodeOriginals(data)
	require.NoError(t, err)
	slices.Reverse(all)
	assert.Equal(t, all, back, "sorted by path")
	paths, err := deployfile.DecodePaths(deployfile.EncodePaths([]string{"/a", "/b c"}))
	require.NoError(t, err)
	assert.Equal(t, []string{"/a", "/b c"}, paths)
	none, err := deployfile.DecodePaths(nil)
	require.NoError(t, err)
	assert.Empty(t, none)
}

func TestIdentifiers(t *testing.T) {
	for _, id := range []string{"1", "1772359200500000000", "word", "A-b_9"} {
		assert.True(t, deployfile.ValidID(id), id)
	}
	for _, id := range []string{"", ".", "..", "a/b", `a\b`, "a b", "é", "a.b", "1\x00", "-\n", "111111111111111111111111111111111111111111111111111111111111111111111111"} {
		assert.False(t, deployfile.ValidID(id), "%q", id)
	}
	ids := []string{"b", "10", "9", "a", "1", "01"}
	slices.SortFunc(ids, deployfile.CompareIDs)
	assert.Equal(t, []string{"01", "1", "9", "10", "a", "b"}, ids)
}

// FuzzDecode reads any bytes: what can be read is written down and read again as the same.
func FuzzDecode(f *testing.F) {
	f.Add(deployfile.EncodeSnapshot(deployfile.SnapshotRecord{Snapshot: full(), Where: where}).As(deployment.StatusApplied))
	f.Add([]byte(`{"id":"7","changes":[{"before_sha256":""}],"managed_files":[{}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := deployfile.DecodeSnapshot(data)
		if err != nil {
			assert.ErrorIs(t, err, deployment.ErrSnapshotDamaged)
			return
		}
		if y := d.CreatedAt.UTC().Year(); y < 0 || y > 9999 {
			return // a time that no text can be made of
		}
		again, err := deployfile.DecodeSnapshot(deployfile.EncodeSnapshot(deployfile.SnapshotRecord{Snapshot: d.Snapshot}).As(d.Status))
		require.NoError(t, err)
		assert.Equal(t, len(d.Managed), len(again.Managed))
		assert.Equal(t, d.ID, again.ID)
		for i, c := range d.Changes {
			assert.Equal(t, c, again.Changes[i])
		}
	})
}
