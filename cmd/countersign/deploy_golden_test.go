package main

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/testkit/golden"
)

// normalised is a document without what differs from run to run: places, versions, times, identifiers and tokens.
func (s *site) normalised(doc string) json.RawMessage {
	s.t.Helper()
	doc = strings.NewReplacer(s.state, "$AGENTPACK_HOME", s.project, "$PROJECT", s.home, "$HOME", s.base, "$BASE").Replace(doc)
	for _, r := range []struct{ pattern, with string }{
		{`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`, "TIME"}, {`\b\d{8}T\d{6}Z-\d{9}\b`, "TIME"}, {`\b1[78]\d{17}\b`, "SNAPSHOT"},
		{`"version":"[^"]*"`, `"version":"VERSION"`}, {`"confirm_token":"[^"]*"`, `"confirm_token":"TOKEN"`},
		{`"(confirm_plan_hash|expected_confirm_plan_hash)":"[0-9a-f]{64}"`, `"$1":"HASH"`}, {`\b[0-9a-f]{40}\b`, "COMMIT"}, {`cache/git/[0-9a-f]{64}`, "cache/git/URL"}, {`\bcf_[a-z2-7]{10,}\b`, "cf_ID"}, {`"plan_hash":"sha256:[0-9a-f]{64}"`, `"plan_hash":"HASH"`},
		{`(not part of this plan: [^":]*: )[^"]*…"`, `${1}PATHS…"`}, // where it is cut depends on how long this machine's paths are
	} {
		doc = regexp.MustCompile(r.pattern).ReplaceAllString(doc, r.with)
	}
	require.True(s.t, json.Valid([]byte(doc)), doc)
	return json.RawMessage(doc)
}

// TestEveryAnswer holds every tool's whole answer to a golden file, in the order of the main job: what is deployed, what drifts, what goes
// back.
func TestEveryAnswer(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.userFiles()
	a := s.agent()
	shows := func(name, tool string, in args) envelope {
		e := a.ask(tool, in)
		text, err := json.Marshal(e)
		require.NoError(t, err)
		golden.JSON(t, "deploy/"+name, s.normalised(string(text)))
		return e
	}
	shows("doctor", "doctor", nil)
	shows("plan", "plan", args{"target": "cursor"})
	shows("diff", "diff", args{"target": "cursor"})
	shows("preview", "preview", args{"target": "claude_code"})
	shows("preview_diff", "preview", args{"target": "codex", "diff": true})
	shows("status_before", "status", args{"target": "vscode"})
	shows("explain_plan", "explain", args{"kind": "plan"})
	shows("explain_diff", "explain", args{"kind": "diff", "target": "vscode"})
	offer := shows("deploy", "deploy", nil).answer(t)
	shows("deploy_apply_dry_run", "deploy_apply", args{"dry_run": true, "target": "cursor"})
	applied := shows("deploy_apply", "deploy_apply", args{"yes": true, "adopt": true, "confirm_token": offer.Token}).answer(t)
	shows("deploy_apply_no_changes", "deploy_apply", args{"yes": true, "confirm_token": a.does("deploy", nil).Token})
	shows("status_clean", "status", nil)
	shows("evolve_propose_no_drift", "evolve_propose", nil)
	shows("evolve_restore_no_missing", "evolve_restore", nil)

	edit(t, s.inProject("AGENTS.md"), "Ask before", "Always ask before")
	edit(t, s.inHome(".claude/commands/tidy.md"), "one line a file", "one line for every file")
	require.NoError(t, os.Remove(s.inHome(".agents/skills/review/SKILL.md")))
	write(t, s.inProject(".cursor/rules/mine.mdc"), "my own rule\n")
	edit(t, s.inRepo("agentpack.yaml"), "      write_user_skills: true\n", "")
	shows("status", "status", nil)
	shows("status_only", "status", args{"only": []string{"extra", "missing"}})
	shows("plan_drifted", "plan", nil)
	shows("explain_status", "explain", args{"kind": "status"})
	s.commitRepo()
	shows("evolve_propose_dry_run", "evolve_propose", args{"dry_run": true})
	shows("evolve_propose", "evolve_propose", args{"yes": true, "module_id": "instructions:base"})
	shows("evolve_restore_dry_run", "evolve_restore", args{"dry_run": true})
	shows("evolve_restore", "evolve_restore", args{"yes": true})
	shows("rollback", "rollback", args{"to": applied.Snapshot, "yes": true})
	shows("rollback_initial", "rollback", args{"to": "initial", "yes": true})
	assert.Equal(t, "my own rule\n", read(t, s.inProject(".cursor/rules/mine.mdc")))
}
