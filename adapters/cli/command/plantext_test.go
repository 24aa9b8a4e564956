package command_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/countersign-dev/countersign/adapters/cli/command"
)

func TestEveryKindOfPlanIsLaidOut(t *testing.T) {
	for name, c := range map[string]struct{ plan, want string }{
		"with a context": {`{"tool":"t","summary":"s","context":{"script":"build","warnings":["careful"]}}`, "  script  build\n  ! careful"},
		"a deployment": {`{"data":{"applied":false,"changes":[{"op":"create","path":"/h/a","target":"codex","reason":"file missing","after_sha256":"00"},
			{"op":"delete","path":"/h/b","target":"codex","reason":"no longer managed"}],"profile":"default","summary":{"create":1,"delete":1,"update":0},"targets":["codex"]},"warnings":["mind the gap"]}`, `
  counts   1 to create, 1 to delete
  targets  codex
  changes
    | delete /h/b for codex (no longer managed)
    | create /h/a for codex (file missing)
  ! mind the gap`},
		"a file of two targets, and what somebody wrote": {`{"data":{"changes":[{"op":"create","path":"/h/n","target":"codex"},{"op":"update","path":"/w/AGENTS.md","target":"codex","state":"edited_here","update_kind":"drifted_update"},
			{"op":"update","path":"/w/AGENTS.md","target":"opencode","state":"edited_here","update_kind":"drifted_update"}],"profile":"work","reason":"dry_run","summary":{"create":1,"delete":0,"update":2}}}`, `
  counts   1 to create, 1 to update
  profile  work
  changes
    | update /w/AGENTS.md for codex, opencode (edited here: overwrites edits)
    | create /h/n for codex`},
		"an import": {`{"data":{"applied":false,"conflicts":[{"count":1,"hint":"Rename one.","kind":"duplicate","module_id":"skill:a","sample_paths":["/h/a","/h/A"]}],"home_root":"/h","home_root_posix":"/h",
			"next_actions":["countersign agents preview"],"left_out":[{"source_path":"/h/oc.json","key":"$schema","reason":"stays_in_the_document"}],
			"options":[{"target":"cursor","new":true},{"target":"claude_code","options":{"write_instructions":true}}],
			"plan":[{"op":"create","module_id":"skill:a","module_type":"skill","source_path":"/h/a","dest_path":"/r/a","scope":"user","also_at":["/h/c"]},
				{"op":"skip_invalid","module_id":"command:x","module_type":"command","source_path":"/h/x.md","skip_reason":"invalid_module_source"},
				{"op":"create","module_id":"mcp:gh","module_type":"mcp","source_path":"/h/.claude.json","key":"mcpServers.gh","disabled":true,"aside_reason":"holds_references_to_set","references":[{"at":"env.T"}]}],
			"project":{"origin_url":null,"project_id":"1","project_root":"/w/shop","project_root_posix":"/w/shop"},"reason":"dry_run","repo":"/r","repo_posix":"/r",
			"summary":{"candidates":3,"create":2,"skipped_existing_module":0,"skipped_invalid":1,"disabled":1}}}`, `
  counts   3 found, 2 to create, 1 unusable, 1 switched off
  project  /w/shop
  repo     /r
  changes
    | import mcp:gh from /h/.claude.json mcpServers.gh (switched off: holds references to set; refers to 1 secret)
    | leave /h/oc.json $schema (stays in the document)
    | leave command:x from /h/x.md (invalid module source)
    | import skill:a from /h/a (also at /h/c)
  configures
    | cursor: new
    | claude_code: write_instructions: true
  ! skill:a: duplicate: /h/a, /h/A. Rename one.`},
		"a proposal": {`{"data":{"candidates":[{"module_id":"instructions:a","path":"/h/CLAUDE.md","path_posix":"/h/CLAUDE.md","state":"edited_here","target":"claude_code","unified":"--- a/AGENTS.md\n+++ b/AGENTS.md\n@@ -1 +1 @@\n-x\n+y\n"}],
			"created":false,"reason":"dry_run","skipped":[{"module_id":"instructions:go","path":"/h/go.md","reason":"header_changed","reason_code":"header_changed","reason_message":"the frontmatter was changed","next_actions":[],"state":"edited_here","target":"claude_code"}],
			"summary":{"drifted_proposeable":1,"drifted_skipped":1,"skipped_missing":0}}}`, `
  counts  1 to propose, 1 left out
  changes
    | propose instructions:a from /h/CLAUDE.md for claude_code (edited here)
    | leave instructions:go from /h/go.md for claude_code (the frontmatter was changed)
  diff
    | /h/CLAUDE.md
    | --- a/AGENTS.md
    | +++ b/AGENTS.md
    | @@ -1 +1 @@
    | -x
    | +y`},
		"files with their diffs": {`{"data":{"files":[{"op":"update","path":"a","root":"/h","unified":"--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+y\n"},{"op":"delete","path":"b","root":"/h"}]}}`, `
  changes
    | update /h/a
    | delete /h/b
  diff
    | --- a/a
    | +++ b/a
    | @@ -1 +1 @@
    | -x
    | +y`},
		"an ecosystem": {`{"tool":"amof_discard_ecosystem","action":"discard","ecosystem":"demo","summary":"discard of demo","preview":{"branches":[{"name":"api","commit":"1a2b"}],"dirty_files":["api/a.txt"],
			"dirty_count":1,"stashes":0,"remote_untouched":true},"facts":{"x":"y"},"warnings":["1 file is not committed"],"explanation":{"what":"removes the workspace","irreversible":false,"affects":[],"alternatives":["archive"]},
			"current_state":{"a":1},"risk":{"level":"high","irreversible":false,"reasons":["work is lost"]},"execute_hint":"h","preview_hash":"sha256:00"}`, `
  ecosystem         demo
  dirty files       api/a.txt
  dirty count       1
  stashes           0
  remote untouched  yes
  what              removes the workspace
  alternatives      archive
  because           work is lost
  branches
    1. api
        commit  1a2b
  ! 1 file is not committed`},
		"arguments":   {`{"tool":"t","input":{"a":1}}`, "  input\n    a  1"},
		"no object":   {`[1]`, `[1]`},
		"no document": {"x\x1b[2Jy", "x␣U+001B[2Jy"},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, strings.TrimPrefix(c.want, "\n"), command.PlanText(json.RawMessage(c.plan)))
		})
	}
}

func TestLinesOfDiffsAreTold(t *testing.T) {
	laid := "  file  /a\n  note\n    | + no diff\n  diff\n    | --- a\n    | +++ b\n    | @@ -1 +1 @@\n    |  same\n    | -old\n    | +new\n  ! careful\n    | -after"
	var got []string
	command.Tinted(laid, func(line string, tint command.Tint) { got = append(got, fmt.Sprint(uint8(tint))) })
	h, a, r, c := fmt.Sprint(uint8(command.Heading)), fmt.Sprint(uint8(command.Added)), fmt.Sprint(uint8(command.Removed)), fmt.Sprint(uint8(command.Changed))
	assert.Equal(t, []string{"0", "0", "0", "0", h, h, h, "0", r, a, c, "0"}, got)
}
