package agentcmd_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/cli/agentcmd"
	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/domain/fault"
)

// drawn is what draw writes where nobody looks.
func drawn(t *testing.T, draw func(agentcmd.Screen) error) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, draw(agentcmd.Screen{Terminal: &command.Terminal{Out: &out, Err: &out}}))
	return out.String()
}

func TestCommandsForPeople(t *testing.T) {
	for in, want := range map[string]string{
		"missing; write them with countersign agents --target codex bootstrap --yes --json": "missing; write them with countersign agents --target codex bootstrap",
		"the agentpack config repo, with --yes --json":                                      "the agentpack config repo, with --yes --json",
		"two\nlines\x1b[2J": "two lines␣U+001B[2J",
	} {
		assert.Equal(t, want, agentcmd.Prose(in))
	}
}

func TestPlan(t *testing.T) {
	plan := json.RawMessage(`{"changes":[
		{"target":"codex","op":"create","path":"/h/a b\u001b"},
		{"target":"vscode","op":"update","path":"/p/b","update_kind":"adopt_update"},
		{"target":"vscode","op":"update","path":"/p/c","update_kind":"managed_update","state":"changed_upstream"},
		{"target":"vscode","op":"update","path":"/p/m","update_kind":"merge_update"},
		{"target":"vscode","op":"delete","path":"/p/d","delete_kind":"drifted_delete","state":"conflict"}],
		"changes_omitted":2,"summary":{"create":1,"update":3,"delete":1}}`)
	assert.Equal(t, `create  codex   /h/a b␣U+001B
update  vscode  /p/b  (overwrites a file that no deployment wrote)
update  vscode  /p/c  (changed upstream)
update  vscode  /p/m  (adds to the file and keeps the rest unchanged)
delete  vscode  /p/d  (both (conflict): deletes a file with edits made since it was deployed)
… and 2 more; countersign agents plan --all lists every one, preview --diff shows every line
Plan: +1 ~3 -1
`, drawn(t, func(s agentcmd.Screen) error { return s.Plan(plan, false) }))
	assert.Equal(t, `2 files are unmanaged:
  /p/b  overwrites a file that no deployment wrote
  /p/d  both (conflict): deletes a file with edits made since it was deployed
`, drawn(t, func(s agentcmd.Screen) error {
		p, err := agentcmd.DecodeData[present.Plan](plan)
		assert.True(t, s.Adoptions(p))
		assert.False(t, s.Adoptions(present.Plan{}))
		return err
	}))
}

// TestALongPlanIsAPage has what is there already before what is new, where not everything is shown.
func TestALongPlanIsAPage(t *testing.T) {
	p := present.Plan{Omitted: 900, Summary: present.Summary{Create: 999, Update: 1},
		Places: []present.Place{{Target: "codex", Path: "/h/.agents/skills", Summary: present.Summary{Create: 400}}, {Target: "cursor", Path: "/p/.cursor", Summary: present.Summary{Create: 599, Update: 1}}}}
	for i := range 99 {
		p.Changes = append(p.Changes, present.Change{Target: "codex", Op: "create", Path: fmt.Sprintf("/h/.agents/skills/%d", i)})
	}
	p.Changes = append(p.Changes, present.Change{Target: "cursor", Op: "update", Path: "/p/.cursor/z"})
	short := drawn(t, func(s agentcmd.Screen) error { s.Directories(p, "/p"); s.Changes(p, false); return nil })
	lines := strings.Split(strings.TrimSuffix(short, "\n"), "\n")
	assert.Equal(t, "writes into the project /p (600 files; --project-root names another)", lines[0])
	assert.Equal(t, "writes into /h/.agents/skills (codex, 400 files)", lines[1])
	assert.Equal(t, "update  cursor  /p/.cursor/z", lines[2])
	assert.Len(t, lines, 2+40+1)
	assert.Contains(t, lines[42], "… and 960 more; countersign agents plan --all")
	p.Omitted = 0
	assert.Equal(t, 100, strings.Count(drawn(t, func(s agentcmd.Screen) error { s.Changes(p, true); return nil }), "\n"))
}

func TestPreview(t *testing.T) {
	preview := json.RawMessage(`{"plan":{"changes":[],"summary":{"create":1,"update":1,"delete":1}},"diff":{"files":[
		{"target":"codex","op":"create","root_posix":"/h","path_posix":"a","unified":"--- a/a\n+++ b/a\n@@ -0,0 +1 @@\n+x"},
		{"target":"codex","op":"update","root_posix":"/h/","path_posix":"bin"},
		{"target":"codex","op":"delete","root_posix":"/h","path_posix":"gone"}]}}`)
	assert.Equal(t, `create codex /h/a
--- a/a
+++ b/a
@@ -0,0 +1 @@
+x
update codex /h/bin
(no text to show)
delete codex /h/gone
Plan: +1 ~1 -1
`, drawn(t, func(s agentcmd.Screen) error { return s.Preview(context.Background(), preview, false) }))
}

func TestStatusIsByRoot(t *testing.T) {
	status := json.RawMessage(`{"drift":[
		{"kind":"modified","state":"edited_here","target":"vscode","root":"/p","path":"/p/x/a"},
		{"kind":"missing","state":"missing","target":"codex","root":"/h","path":"/h/b"},
		{"kind":"extra","target":"vscode","root":"/p","path":"/p/c"},
		{"kind":"extra","state":"changed_upstream","target":"vscode","root":"/p","path":"/p/e"},
		{"kind":"missing","state":"not_deployed","target":"zed","path":"/q/d"},
		{"kind":"modified","state":"conflict","target":"zed","path":"/q/f"}],
		"summary":{"extra":2},"summary_by_state":{"up_to_date":7,"edited_here":1,"conflict":1,"changed_upstream":3,"not_wanted":1,"unmanaged":1,"missing":1,"not_deployed":1},
		"next_actions":["countersign agents preview --diff --json","countersign agents evolve propose --yes --json"]}`)
	assert.Equal(t, `codex  /h
  missing           b
vscode  /p
  edited here       x/a
  extra             c
  no longer wanted  e
zed  (no root)
  not deployed yet  /q/d
  both (conflict)   /q/f
Files: 7 up to date, 2 changed upstream, 1 no longer wanted, 1 edited here, 1 both (conflict), 1 missing, 1 not deployed yet, 1 extra
next: countersign agents preview --diff
next: countersign agents evolve propose
`, drawn(t, func(s agentcmd.Screen) error { return s.Status(status) }))
	assert.Equal(t, "Files: none\n", drawn(t, func(s agentcmd.Screen) error { return s.Status(json.RawMessage(`{}`)) }))
}

// TestProposal: every edit with its lines and how its file stands; no advice undoes an edit.
func TestProposal(t *testing.T) {
	proposal := json.RawMessage(`{"reason":"dry_run","candidates":[{"module_id":"prompt:a","path":"/h/a","state":"edited_here","unified":"--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+y\n"}],
		"skipped":[{"path":"/h/b","state":"missing","reason_message":"it is not there","next_actions":["countersign agents evolve restore --yes --json","countersign agents deploy --apply --yes --json"]},
		{"path":"/h/c","state":"conflict","reason_message":"at the same lines","next_actions":["countersign agents preview --diff --json"]}]}`)
	assert.Equal(t, `propose  prompt:a  /h/a  (edited here)
--- a/a
+++ b/a
@@ -1 +1 @@
-x
+y
skip     /h/b  (missing)  it is not there
skip     /h/c  (both (conflict))  at the same lines
next: countersign agents evolve restore
`, drawn(t, func(s agentcmd.Screen) error { return s.Proposal(proposal) }))
}

// TestAConflictAlone: whoever has nothing but a conflict is told how to resolve it, once for a file of two targets.
func TestAConflictAlone(t *testing.T) {
	const one = `{"path":"/h/c","state":"conflict","reason":"conflict","reason_message":"at the same lines","next_actions":["countersign agents preview --diff --json"],
		"suggestions":[{"action":"Put yours beside theirs","reason":"then it is proposed"},{"action":"Change the module","reason":"then it is deployed"}]}`
	assert.Equal(t, `skip     /h/c  (both (conflict))  at the same lines
nothing to propose: no edit can become an overlay change
to resolve a conflict: put yours beside theirs; then it is proposed
or: change the module; then it is deployed
next: countersign agents preview --diff
`, drawn(t, func(s agentcmd.Screen) error {
		return s.Proposal(json.RawMessage(`{"reason":"no_proposeable_drift","skipped":[` + one + `,` + one + `]}`))
	}))
}

// TestDirectories: before the files come the directories, first of all the project one stands in.
func TestDirectories(t *testing.T) {
	p := present.Plan{Changes: []present.Change{{Target: "codex", Path: "/h/.codex/prompts/a.md"}, {Target: "codex", Path: "/h/.codex/AGENTS.md"}, {Target: "cursor", Path: "/w/shop/.cursor/rules/a.mdc"},
		{Target: "vscode", Path: "/w/shopping/x.md"}}}
	assert.Equal(t, "writes into the project /w/shop (1 file; --project-root names another)\nwrites into /h/.codex (codex)\nwrites into /w/shopping (vscode)\n",
		drawn(t, func(s agentcmd.Screen) error { s.Directories(p, "/w/shop"); return nil }))
	assert.Equal(t, "writes into /h/.codex (codex)\nwrites into /w/shop/.cursor/rules (cursor)\nwrites into /w/shopping (vscode)\n",
		drawn(t, func(s agentcmd.Screen) error { s.Directories(p, ""); return nil }), "where one stands in no project, no directory is called one")
	assert.Empty(t, drawn(t, func(s agentcmd.Screen) error { s.Directories(present.Plan{}, "/w/shop"); return nil }))
}

func TestPolicies(t *testing.T) {
	lint := json.RawMessage(`{"root":"/r","issues":[{"rule":"skill_frontmatter","path_posix":"a/SKILL.md","message":"has none"}],"summary":{"violations":1,"files_scanned":3}}`)
	assert.Equal(t, "skill_frontmatter  a/SKILL.md  has none\n1 violation in /r, 3 files looked at\n", drawn(t, func(s agentcmd.Screen) error { return s.Lint(lint) }))
	audit := json.RawMessage(`{"modules":[{"id":"skill:x","type":"skill","resolved_version":"c0ffee","sha256":"0123456789abcdef","files":2,"bytes":10}],
		"change_summary":{"base_ref":"HEAD^","modules_added":["a"],"modules_removed":[{"id":"b"}],"modules_changed":[{"id":"c"}]}}`)
	assert.Equal(t, "MODULE   TYPE   VERSION  SHA256        FILES  BYTES\nskill:x  skill  c0ffee   0123456789ab  2      10\nsince HEAD^: 1 added, 1 removed, 1 changed\n",
		drawn(t, func(s agentcmd.Screen) error { return s.Audit(audit) }))
}

func TestRebaseAndImport(t *testing.T) {
	rebase := json.RawMessage(`{"module_id":"skill:x","overlay_dir":"/o","report":{"updated":["a"],"deleted":["b"],"skipped":["c"],"conflicts":["d"]}}`)
	assert.Equal(t, "update    a\ndelete    b\nskip      c\nconflict  d\nwould rebase the overlay of skill:x in /o\n",
		drawn(t, func(s agentcmd.Screen) error { return s.Rebased(rebase, false) }))
	found := json.RawMessage(`{"applied":false,"repo":"/r","conflicts":[{"kind":"dest_path_exists","count":1,"sample_paths":["/r/x"],"hint":"move it"}],"next_actions":["countersign agents --repo /r --profile project-1 preview --diff --json"],
		"plan":[{"op":"create","module_id":"prompt:a","source_path":"/h/a.md","dest_path":"/r/a.md"},
		{"op":"create","disabled":true,"aside_reason":"holds_references_to_set","module_id":"mcp:gh","source_path":"/h/.claude.json","key":"mcpServers.gh","also_at":["/h/x"],"dest_path":"/r/gh","references":[{"at":"env.TOKEN","variable":"TOKEN","source_path":"/h/.claude.json"}]},
		{"op":"skip_invalid","module_id":"skill:b","source_path":"/h/b","dest_path":"/r/b","skip_reason":"invalid_module_source"}],
		"left_out":[{"source_path":"/h/.claude/CLAUDE.md","reason":"kind_not_imported"},{"source_path":"/h/s.json","key":"env","reason":"literal_secret"}],
		"options":[{"target":"zed","new":true,"options":{"b":"x","a":true}}],
		"summary":{"candidates":3,"create":2,"disabled":1,"skipped_existing_module":0,"skipped_invalid":1,"left_out":3}}`)
	assert.Equal(t, `create  prompt:a  /h/a.md -> /r/a.md
create  mcp:gh  /h/.claude.json mcpServers.gh, /h/x -> /r/gh
        switched off: holds references to set
        env.TOKEN is a secret: the module says ${TOKEN}, and the value stays in /h/.claude.json alone
skip    skill:b  /h/b (invalid module source)
target  zed (new)  a: true  b: x
left out  /h/.claude/CLAUDE.md (kind not imported)
left out  /h/s.json env (literal secret)
left out  1 more
conflict  dest path exists: /r/x
          move it
would import 2 modules of 3 found into /r (1 switched off); 0 there already, 1 not usable; 3 left out
next: countersign agents --repo /r import --apply
`, drawn(t, func(s agentcmd.Screen) error { return s.Import(found) }))
}

// TestWhatIsNotUnderstood is a fault, never a panic and never an empty page.
func TestWhatIsNotUnderstood(t *testing.T) {
	s := agentcmd.Screen{Terminal: &command.Terminal{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}}}
	for _, data := range []string{``, `[]`, `{"changes":1,"drift":1,"roots":1,"snapshots":1,"modules":1,"restored":1,"plan":1,"pruned":1,"issues":1,"candidates":1,"report":1,"commands":1,"id":1,"applied":1}`} {
		raw := json.RawMessage(data)
		for name, err := range map[string]error{
			"plan": s.Plan(raw, false), "preview": s.Preview(context.Background(), raw, false), "status": s.Status(raw), "doctor": s.Doctor(raw, false, false), "explain": s.Explained(raw),
			"deployed": s.Deployed(raw), "snapshots": s.Snapshots(raw), "snapshot": s.Snapshot(raw), "pruned": s.Pruned(raw, true), "score": s.Score(raw), "lint": s.Lint(raw),
			"audit": s.Audit(raw), "import": s.Import(raw), "proposal": s.Proposal(raw), "restored": s.Restored(raw, true), "rebased": s.Rebased(raw, true), "synced": s.Synced(raw, true),
		} {
			assert.Equal(t, fault.Internal, fault.From(err).Kind, "%s of %s", name, data)
		}
	}
}
