package deployments_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/deployrig"
	"github.com/countersign-dev/countersign/internal/testkit/golden"
	"github.com/countersign-dev/countersign/ports/deployport"
)

func look(path string) deployport.Look { return deployport.Look{Paths: []string{path}} }

func TestYesComesFirst(t *testing.T) {
	w := maintenanceNewWorld(t)
	require.NoError(t, os.RemoveAll(w.repo))
	for _, name := range []string{"agents_doctor_fix", "agents_snapshots_prune", "agents_record", "agents_recover"} {
		w.Refused(deployment.ErrYes, name, args{})
	}
	w.Refused(deployment.ErrConfigMissing, "agents_doctor_fix", yes())
	for _, a := range []args{yes(), {"dry_run": true}} {
		w.Refused(tool.ErrArguments, "agents_record", a)
		w.Refused(tool.ErrArguments, "agents_recover", a)
	}
	w.Refused(tool.ErrArguments, "agents_recover", yes("kind", "forget"))
}

func TestDoctorFix(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	w := maintenanceNewWorld(t)
	for _, dir := range []string{w.project, w.user} {
		out, err := exec.Command("git", "init", "--quiet", dir).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	for _, dir := range []string{w.project, filepath.Join(w.user, ".codex")} { // as earlier versions left them
		w.Write(filepath.Join(dir, ".agentpack.manifest.codex.json"), "{}")
	}
	w.Write(filepath.Join(w.user, ".gitignore"), "*.log\r\n")
	dry := w.Quiet("agents_doctor_fix", args{"dry_run": true})
	assert.Contains(t, string(dry.Data), `"updated":true`)
	w.Golden("doctor_fix", "agents_doctor_fix", yes())
	assert.Equal(t, ".agentpack.manifest*.json\n", w.Text(filepath.Join(w.project, ".gitignore")))
	assert.Equal(t, "*.log\r\n.agentpack.manifest*.json\r\n", w.Text(filepath.Join(w.user, ".gitignore")))
	out := w.Quiet("agents_doctor_fix", yes())
	assert.Contains(t, string(out.Data), `"gitignore_fixes":[]`)
}

// TestDoctorFixLeavesAlone: it does not change a file in which a line would not help, or something that is not a file.
func TestDoctorFixLeavesAlone(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	w := maintenanceNewWorld(t)
	out, err := exec.Command("git", "init", "--quiet", w.project).CombinedOutput()
	require.NoError(t, err, "%s", out)
	ignore := filepath.Join(w.project, ".gitignore")
	assert.Contains(t, string(w.Quiet("agents_doctor_fix", yes()).Data), `"gitignore_fixes":[]`, "there is nothing to ignore")
	w.Write(filepath.Join(w.project, ".agentpack.manifest.codex.json"), "{}")
	w.Write(ignore, ".agentpack.manifest*.json\n!.agentpack.manifest.codex.json\n")
	answer := w.Quiet("agents_doctor_fix", yes())
	assert.Contains(t, string(answer.Data), `"updated":false`)
	assert.Contains(t, strings.Join(answer.Warnings, "\n"), "look for a rule that takes it back")
	require.NoError(t, os.Remove(ignore))
	require.NoError(t, os.Symlink("elsewhere", ignore))
	answer = w.Quiet("agents_doctor_fix", yes())
	assert.Contains(t, string(answer.Data), `"updated":false`)
	assert.Contains(t, strings.Join(answer.Warnings, "\n"), "by hand")
}

// prunes returns a world with four deployments a minute apart, oldest first.
func prunes(t *testing.T) (*maintenanceWorld, []string) {
	w := maintenanceNewWorld(t)
	var ids []string
	for _, text := range []string{"one\n", "two\n", "three\n", "four\n"} {
		ids = append(ids, w.deployed("AGENTS.md", text))
		w.clock.Advance(time.Minute)
	}
	return w, ids
}

func TestSnapshots(t *testing.T) {
	w, ids := prunes(t)
	w.Golden("snapshots_list", "agents_snapshots_list", args{})
	w.Golden("snapshots_show", "agents_snapshots_show", args{"id": ids[1]})
	w.Refused(deployment.ErrSnapshot, "agents_snapshots_show", args{"id": "17"})
	w.Refused(deployment.ErrSnapshot, "agents_snapshots_show", args{"id": "../journal"})
	w.Refused(tool.ErrArguments, "agents_snapshots_show", args{})
	w.Write(filepath.Join(w.home, "state", "snapshots", ids[0]+".json"), "{")
	out := w.Call("agents_snapshots_list", args{})
	assert.Len(t, out.Warnings, 1)
	w.Refused(deployment.ErrSnapshotDamaged, "agents_snapshots_show", args{"id": ids[0]})
}

// TestSnapshotsAreBounded: within the limit of the caller, it shows the newest of a list, and the first files.
func TestSnapshotsAreBounded(t *testing.T) {
	w, ids := prunes(t)
	run := func(name, raw string, limit int) (a deployrig.Answer, size int) {
		invocation, err := w.Entry(name).Handler.Decode(json.RawMessage(raw))
		require.NoError(t, err)
		scope := w.Scope()
		scope.MaxOutput = limit
		out, err := invocation.Commit(t.Context(), scope, nil)
		require.NoError(t, err)
		text, err := json.Marshal(out)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &a))
		return a, len(text)
	}
	const room = 16<<10 + 800
	var list struct {
		Snapshots []struct{ ID string }
		Omitted   int `json:"snapshots_omitted"`
	}
	out, size := run("agents_snapshots_list", `{}`, room)
	assert.Less(t, size, room)
	w.Decode(out, &list)
	require.Len(t, list.Snapshots, 2)
	assert.Equal(t, ids[2], list.Snapshots[0].ID)
	assert.Equal(t, 2, list.Omitted)
	var show struct {
		Changes []any `json:"file_changes"`
		Files   []any `json:"managed_files"`
		Omitted int   `json:"files_omitted"`
	}
	out, size = run("agents_snapshots_show", `{"id":"`+ids[0]+`"}`, room)
	assert.Less(t, size, room)
	w.Decode(out, &show)
	assert.Equal(t, 2, len(show.Changes)+len(show.Files)+show.Omitted)
	assert.Positive(t, show.Omitted)
}

type pruned struct {
	Pruned []string
	Freed  int64 `json:"freed_bytes"`
	Kept   int
}

func TestPrune(t *testing.T) {
	w, ids := prunes(t)
	for _, a := range []args{yes(), yes("keep", 0), yes("keep", -1)} {
		w.Refused(tool.ErrArguments, "agents_snapshots_prune", a)
	}
	w.Refused(deployment.ErrSnapshot, "agents_snapshots_prune", yes("ids", []string{"17"}))
	w.Refused(tool.ErrArguments, "agents_snapshots_prune", yes("ids", []string{ids[3]}))
	dry := w.Quiet("agents_snapshots_prune", args{"keep": 2, "dry_run": true})
	var got pruned
	w.Decode(dry, &got)
	assert.Equal(t, pruned{Pruned: ids[:2], Kept: 2}, got)
	out := w.Call("agents_snapshots_prune", yes("keep", 3, "ids", []string{ids[2]}))
	golden.JSON(t, "snapshots_prune", json.RawMessage(strings.Replace(string(out.Data), freed(out), "-1", 1)))
	w.Decode(out, &got)
	assert.Equal(t, []string{ids[0], ids[2]}, got.Pruned)
	assert.Positive(t, got.Freed)
	w.Refused(deployment.ErrSnapshot, "agents_snapshots_show", args{"id": ids[0]})
	w.Quiet("agents_snapshots_prune", yes("keep", 2))
	w.Write(filepath.Join(w.home, "state", "snapshots", ids[1]+".json"), "{")
	w.Decode(w.Call("agents_snapshots_prune", yes("ids", []string{ids[1]})), &got)
	assert.Equal(t, []string{ids[1]}, got.Pruned, "a record that cannot be read can be forgotten")
	w.Decode(w.Call("agents_snapshots_prune", yes("keep", 1)), &got)
	assert.Empty(t, got.Pruned)
	assert.Equal(t, 1, got.Kept)
}

func freed(a deployrig.Answer) string {
	var data struct {
		Freed json.Number `json:"freed_bytes"`
	}
	_ = json.Unmarshal(a.Data, &data)
	return data.Freed.String()
}

// TestPruneKeepsWhatIsUnderWay: it keeps the newest applied snapshot even if an interrupted one is newer.
func TestPruneKeepsWhatIsUnderWay(t *testing.T) {
	w, ids := prunes(t)
	w.interrupt("AGENTS.md", "five\n")
	var got pruned
	w.Decode(w.Call("agents_snapshots_prune", args{"keep": 1, "dry_run": true}), &got)
	assert.Equal(t, ids[:3], got.Pruned)
	assert.Equal(t, 2, got.Kept)
}

func TestPruneForgetsWhatWasShown(t *testing.T) {
	w, _ := prunes(t)
	b, err := w.Begin("agents_snapshots_prune", yes("keep", 2))
	require.NoError(t, err)
	w.deployed("AGENTS.md", "five\n")
	before := w.Shape()
	_, err = b.Commit()
	require.ErrorIs(t, err, deployment.ErrStale)
	assert.Equal(t, before, w.Shape())
}

func TestRecord(t *testing.T) {
	w := maintenanceNewWorld(t)
	event := map[string]any{"moduleId": "skill:x", "ok": false, "durationMs": 12, "target": "codex", "command_id": "deploy", "gitRev": "abc",
		"snapshotId": "17", "note": "a < b"}
	dry := w.Quiet("agents_record", args{"event": event, "dry_run": true})
	out := w.Golden("record", "agents_record", yes("event", event, "machine", "Other Box"))
	var data map[string]any
	w.Decode(dry, &data)
	assert.Equal(t, "box-1", data["machine_id"])
	w.Decode(out, &data)
	w.clock.Advance(1500 * time.Millisecond)
	w.Call("agents_record", yes("event", map[string]any{"targets": []string{"zed", "codex", "zed"}, "success": true, "ok": false, "module_id": 7}))
	w.Call("agents_record", yes("event", []int{1, 2}))
	golden.Text(t, "events", w.Text(filepath.Join(w.home, "state", "logs", "events.jsonl")))

	first, err := w.Begin("agents_record", yes("event", event))
	require.NoError(t, err)
	w.clock.Advance(time.Hour)
	second, err := w.Begin("agents_record", yes("event", event))
	require.NoError(t, err)
	assert.Equal(t, first.Plan.Hash(), second.Plan.Hash(), "a confirmation is good whenever it is given")
	other, err := w.Begin("agents_record", yes("event", map[string]any{}))
	require.NoError(t, err)
	assert.NotEqual(t, first.Plan.Hash(), other.Plan.Hash())
}

func TestScore(t *testing.T) {
	w := maintenanceNewWorld(t)
	w.Golden("score_none", "agents_score", args{})
	log := filepath.Join(w.home, "state", "logs", "events.jsonl")
	lines := []string{
		`{"schema_version":1,"recorded_at":"2026-01-01T00:00:00Z","module_id":"skill:a","success":false,"event":{}}`,
		`{"schema_version":1,"recorded_at":"2026-01-03T00:00:00Z","module_id":"skill:a","event":{"success":true}}`,
		`{"schema_version":1,"recorded_at":"2026-01-02T00:00:00+01:00","module_id":"skill:a","event":{}}`,
		``,
		`{"schema_version":1,"recorded_at":"2026-01-02T00:00:00Z","event":{"moduleId":"prompt:b","ok":false}}`,
		`{"schema_version":1,"recorded_at":"2026-01-02T00:00:00Z","module_id":"instructions:base","success":true,"event":{"module_id":"prompt:b","success":false}}`,
		`{"schema_version":1,"recorded_at":"2026-01-02T00:00:00Z","event":{"note":"of no module"}}`,
		`{"schema_version":2,"module_id":"skill:a"}`, `{"module_id":"skill:a"}`, `[1]`, `{"schema`, "\xff",
	}
	w.Write(log, strings.Join(lines, "\n")+"\n")
	w.Golden("score", "agents_score", args{})
	w.Write(log, strings.Repeat("no\n", 25))
	out := w.Call("agents_score", args{})
	assert.Len(t, out.Warnings, 21)
	w.Write(filepath.Join(w.repo, "agentpack.yaml"), "no: manifest\n")
	w.Call("agents_score", args{})
}

func TestRecover(t *testing.T) {
	for _, kind := range []string{"resume", "undo"} {
		t.Run(kind, func(t *testing.T) {
			w := maintenanceNewWorld(t)
			w.Golden("pending_none", "agents_pending", args{})
			w.Quiet("agents_recover", yes("kind", kind))
			w.deployed("AGENTS.md", "one\n")
			w.interrupt("AGENTS.md", "two\n")
			w.Golden("pending", "agents_pending", args{"repo": w.repo})
			dry := w.Quiet("agents_recover", args{"kind": kind, "dry_run": true})
			out := w.Golden("recover_"+kind, "agents_recover", yes("kind", kind))
			assert.JSONEq(t, string(dry.Data), string(out.Data))
			want := map[string]string{"resume": "two\n", "undo": "one\n"}[kind]
			assert.Equal(t, want, w.Text(filepath.Join(w.user, ".codex", "AGENTS.md")))
			assert.Contains(t, string(w.Call("agents_pending", args{}).Data), `"interrupted":null`)
		})
	}
}

func TestRecoverLeavesEditsAlone(t *testing.T) {
	w := maintenanceNewWorld(t)
	w.deployed("AGENTS.md", "one\n")
	w.interrupt("AGENTS.md", "two\n")
	b, err := w.Begin("agents_recover", yes("kind", "resume"))
	require.NoError(t, err)
	w.Write(filepath.Join(w.user, ".codex", "AGENTS.md"), "mine\n")
	out, err := b.Commit()
	require.NoError(t, err)
	assert.Contains(t, string(out.Data), `"left":["/w/user/.codex/AGENTS.md"]`)
	assert.Len(t, out.Warnings, 1)
	assert.Equal(t, "mine\n", w.Text(filepath.Join(w.user, ".codex", "AGENTS.md")))
	_, err = b.Commit()
	require.ErrorIs(t, err, deployment.ErrStale, "it is not the interrupted one any more")
}
