//go:build linux

package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/testkit/stdiotest"
)

// everything returns what lies in a workshop's workspace root, AMOF_HOME and origins: kind and content by path.
func (c *ecosystemClient) everything() map[string]string {
	c.t.Helper()
	all := map[string]string{}
	for _, dir := range []string{"ws", "amof", "origin"} {
		err := filepath.WalkDir(c.at(dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				all[path] = d.Type().String()
				return err
			}
			text, err := os.ReadFile(path)
			sum := sha256.Sum256(text)
			all[path] = hex.EncodeToString(sum[:])
			return err
		})
		require.NoError(c.t, err)
	}
	return all
}

// another returns one more session of the crew, served by a process of its own.
func (c *ecosystemClient) another(env []string, arguments ...string) *ecosystemClient {
	c.t.Helper()
	w := *c.workshop
	w.env = append(append([]string{}, w.env...), env...)
	s := stdiotest.Start(c.t, w.command(append([]string{"mcp", "--toolsets", "ecosystems"}, arguments...)...))
	s.Initialize("2025-06-18")
	return &ecosystemClient{workshop: &w, Client: s}
}

// newTeam returns a crew with an ecosystem demo of provisioner noop, in a workspace with an AMOF_HOME of its own, with session mode execute.
func newTeam(t *testing.T) *ecosystemClient {
	t.Helper()
	c := newEcosystemClient(t)
	c.CloseStdin()
	require.Equal(t, 0, c.Wait())
	c = c.another([]string{"AMOF_HOME=" + c.at("amof")})
	c.mode("execute")
	c.make("demo")
	return c
}

func (c *ecosystemClient) make(name string) {
	c.t.Helper()
	c.does("none", "amof_create_ecosystem", args{"name": name, "provisioner": "noop", "repos": []any{args{"name": "api", "url": c.at("origin/api.git"), "branch": "main"}}})
}

func (c *ecosystemClient) mode(mode string) {
	c.t.Helper()
	require.Equal(c.t, "success", c.ask("amof_set_mode", args{"mode": mode}).Status)
}

// object returns an answer as it is.
func (c *ecosystemClient) object(tool string, in args) (stdiotest.Result, map[string]any) {
	c.t.Helper()
	r := c.Call(tool, in)
	require.Nil(c.t, r.Err, tool)
	var out map[string]any
	require.NoError(c.t, json.Unmarshal(r.Structured, &out))
	return r, out
}

func has(t testing.TB, what string, object any, keys string) {
	t.Helper()
	fields, ok := object.(map[string]any)
	require.True(t, ok, "%s: %v", what, object)
	for _, key := range strings.Fields(keys) {
		assert.Contains(t, fields, key, what)
	}
}

// seedRows are the matrix of the amof contract, word for word.
const seedRows = `| 1 | amof_list_ecosystems | read-only | yes | yes | yes | none |
| 2 | amof_get_server_status | read-only | yes | yes | yes | none |
| 8 | amof_install_ecosystem | dangerous | explain | dry-run | execute | simple |
| 10 | amof_push_ecosystem | dangerous | explain | dry-run | execute | simple |
| 11 | amof_spin_deploy | dangerous | explain | dry-run | execute | preview |
| 12 | amof_spin_destroy | dangerous | explain | dry-run | execute | type |
| 20 | amof_discard_ecosystem | dangerous | explain | dry-run | execute | type |
| 26 | amof_release_bump | dangerous | explain | dry-run | execute | preview |
| 27 | amof_release_promote | dangerous | explain | dry-run | execute | preview |`

// resultKeys are what answers have to have (amof contract §13).
var resultKeys = map[string]string{
	"amof_list_ecosystems":      "ecosystems count",
	"amof_get_server_status":    "running pid port api_base uptime_seconds version workspace_root queue",
	"amof_get_active_runs":      "runs count",
	"amof_get_global_telemetry": "total_runs by_status by_ecosystem by_action avg_duration_seconds active",
	"amof_switch_ecosystem":     "active_ecosystem scope breadcrumb",
	"amof_get_ecosystem_status": "workspace repos last_pushed spin",
	"amof_describe_ecosystem":   "name path description provisioner repos workspace guardrails kb_count journal_count index_time manifest_sha256",
	"amof_validate_manifest":    "valid errors warnings",
	"amof_ticket_list":          "active_ticket tickets count",
	"amof_get_run_status":       "run_id ecosystem action status created_at started_at finished_at exit_code event_count terminal last_message",
	"amof_get_run_logs":         "run_id events total truncated",
	"amof_summarize_run":        "run_id action ecosystem status duration_seconds log_events errors exit_code",
	"amof_release_status":       "current_version tag stage dirty version_drift branch commits_since_tag recent_commits next_versions",
	"amof_release_validate":     "ok status passed warnings errors",
	"amof_release_log":          "records source",
	"amof_list_runs":            "runs count",
}

// previewKeys are what previews have to have (amof contract §13).
var previewKeys = map[string]string{
	"amof_install_ecosystem": "workspace_dir branch repos steps conflicts disk_estimate_bytes",
	"amof_sync_ecosystem":    "repos",
	"amof_push_ecosystem":    "repos workspace_branch repos_affected",
	"amof_spin_deploy":       "provisioner script script_sha256 estimated_duration_seconds estimate_source current_state execute_hint",
	"amof_spin_destroy":      "provisioner script script_sha256 estimated_duration_seconds estimate_source current_state execute_hint destroys",
	"amof_archive_ecosystem": "repos workspace_branch archive_file removes keeps",
	"amof_discard_ecosystem": "branches directories dirty_files remote_untouched suggestion",
	"amof_release_bump":      "current next branch commits files tag will_push validation",
	"amof_release_promote":   "current next branch commits files tag will_push validation",
}

const envelopeKeys = "scope ecosystem breadcrumb run_id session_id timestamp"

type matrixRow struct {
	Num                                              int
	Tool, Scope, Safety, Ask, Plan, Execute, Confirm string
}

// policyRows reads the resource.
func (c *ecosystemClient) policyRows() (rows []matrixRow) {
	c.t.Helper()
	r := c.Request("resources/read", args{"uri": "countersign://ecosystems/policy"})
	require.Nil(c.t, r.Error)
	var body struct{ Contents []struct{ Text string } }
	require.NoError(c.t, json.Unmarshal(r.Result, &body))
	var doc struct{ Rows []matrixRow }
	require.NoError(c.t, json.Unmarshal([]byte(body.Contents[0].Text), &doc))
	return doc.Rows
}

// TestEcosystemMatrix: every row of the published matrix in each mode, against the answers and the files (amof contract §11 to §14).
func TestEcosystemMatrix(t *testing.T) {
	t.Parallel()
	c := newTeam(t)
	c.make("fresh")
	install := c.does("simple", "amof_install_ecosystem", args{"ecosystem": "demo"})
	c.does("none", "amof_ticket_start", args{"ecosystem": "demo", "ticket_id": "T-1"})
	c.git("ws/worktrees/demo/tickets/T-1/api", "commit", "-q", "--allow-empty", "-m", "feat: more")
	c.does("preview", "amof_spin_deploy", args{"ecosystem": "demo"})
	c.does("preview", "amof_release_bump", args{"ecosystem": "demo", "bump_type": "patch", "pre_release": "alpha"})
	var runs struct {
		Runs []struct {
			RunID string `json:"run_id"`
		}
	}
	require.NoError(t, json.Unmarshal(c.Call("amof_list_runs", nil).Structured, &runs))
	run := runs.Runs[len(runs.Runs)-1].RunID
	require.NotNil(t, install.ExitCode)
	in := map[string]args{"amof_install_ecosystem": {"ecosystem": "fresh"}, "amof_ticket_start": {"ticket_id": "T-2"}, "amof_ticket_switch": {"ticket_id": "main"}, "amof_ticket_end": {"ticket_id": "T-1"},
		"amof_create_journal": {"title": "t", "body": "b"}, "amof_get_run_status": {"run_id": run}, "amof_get_run_logs": {"run_id": run}, "amof_summarize_run": {"run_id": run},
		"amof_release_bump": {"bump_type": "minor"}, "amof_create_ecosystem": {"name": "other", "repos": []any{}}}
	rows := c.policyRows()
	require.Len(t, rows, 34)
	for _, line := range strings.Split(seedRows, "\n") {
		w := strings.Fields(strings.ReplaceAll(line, "|", " "))
		assert.Contains(t, rowWords(rows), strings.Join(w, " "))
	}
	for _, row := range rows {
		if row.Tool == "amof_cancel_run" {
			continue // of a run that is carried out: see the runs
		}
		a := args{}
		for k, v := range in[row.Tool] {
			a[k] = v
		}
		if row.Scope == "ecosystem" || row.Scope == "release" || row.Num == 5 {
			if a["ecosystem"] == nil {
				a["ecosystem"] = "demo"
			}
		}
		c.judge(row, a)
	}
	c.CloseStdin()
	assert.Equal(t, 0, c.Wait())
	c.deserted()
}

func rowWords(rows []matrixRow) (lines []string) {
	for _, r := range rows {
		text, _ := json.Marshal(r.Num)
		lines = append(lines, strings.Join([]string{string(text), r.Tool, r.Safety, r.Ask, r.Plan, r.Execute, r.Confirm}, " "))
	}
	return lines
}

// judge calls the tool of a row in each mode.
func (c *ecosystemClient) judge(row matrixRow, in args) {
	c.t.Helper()
	for _, m := range []struct{ mode, does string }{{"ask", row.Ask}, {"plan", row.Plan}, {"execute", row.Execute}} {
		if m.does == "execute" && row.Confirm == "none" {
			continue // it would run: the main job and the hostile tests have it
		}
		c.mode(m.mode)
		before := c.everything()
		r, out := c.object(row.Tool, in)
		name := row.Tool + " in " + m.mode
		has(c.t, name, out["_context"], envelopeKeys)
		has(c.t, name, out, "suggested_actions")
		switch m.does {
		case "yes":
			assert.False(c.t, r.IsError, "%s: %s", name, r.Text)
			has(c.t, name, out, resultKeys[row.Tool])
		case "blocked", "explain":
			assert.True(c.t, r.IsError, name)
			assert.Equal(c.t, []any{"blocked", "mode_forbids_mutation", "ask", row.Tool}, []any{out["status"], out["code"], out["mode"], out["tool"]}, name)
			has(c.t, name, out, "required_mode ecosystem explanation current_state guidance")
			has(c.t, name, out["explanation"], "what irreversible affects alternatives")
			assert.Equal(c.t, map[string]any{"tool": "amof_set_mode", "arguments": map[string]any{"mode": "plan"}}, out["guidance"], name)
			if m.does == "explain" {
				assert.NotEmpty(c.t, out["current_state"], name)
			}
		case "dry-run":
			assert.False(c.t, r.IsError, "%s: %s", name, r.Text)
			assert.Equal(c.t, []any{"dry_run", false, "plan", row.Tool}, []any{out["status"], out["executed"], out["mode"], out["tool"]}, name)
			has(c.t, name, out, "ecosystem preview preview_hash warnings would_require execute_hint")
			has(c.t, name, out["preview"], previewKeys[row.Tool])
			assert.Equal(c.t, map[string]any{"mode": "execute", "confirmation": row.Confirm}, out["would_require"], name)
		case "execute":
			c.asks(name, row, r, out)
		}
		assert.Equal(c.t, before, c.everything(), "%s changes nothing", name)
	}
}

func (c *ecosystemClient) asks(name string, row matrixRow, r stdiotest.Result, out map[string]any) {
	c.t.Helper()
	assert.False(c.t, r.IsError, "%s: %s", name, r.Text)
	assert.Equal(c.t, []any{"confirmation_required", false, "execute", row.Tool}, []any{out["status"], out["executed"], out["mode"], out["tool"]}, name)
	has(c.t, name, out, "ecosystem confirmation preview risk confirm_with cancel_with")
	has(c.t, name, out["preview"], previewKeys[row.Tool])
	has(c.t, name, out["risk"], "level irreversible reasons")
	has(c.t, name, out["confirmation"], "token type prompt type_target created_at expires_at expires_in_seconds single_use arguments preview_hash")
	asked := out["confirmation"].(map[string]any)
	assert.Equal(c.t, []any{row.Confirm, 300.0, true}, []any{asked["type"], asked["expires_in_seconds"], asked["single_use"]}, name)
	assert.Regexp(c.t, `^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`, asked["token"], name)
	if row.Confirm == "type" {
		assert.Equal(c.t, "demo", asked["type_target"], name)
	}
}
