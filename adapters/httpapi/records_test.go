package httpapi_test

import (
	"bufio"
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/local"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/internal/testkit/golden"
	"github.com/countersign-dev/countersign/internal/testkit/person"
)

// names returns the values of one member of a list's items.
func names(v map[string]any, list, member string) (all []string) {
	for _, one := range v[list].([]any) {
		all = append(all, fmt.Sprint(one.(map[string]any)[member]))
	}
	return all
}

func TestCallsAreListed(t *testing.T) {
	d := newDepot(t)
	for _, name := range []string{"a", "b", "c"} {
		d.send("POST /api/v1/tools/wipe", fmt.Sprintf(`{"name":%q}`, name), "")
		d.clock.Advance(time.Second)
	}
	v := d.asked()
	d.get(200, path(v, "approve"), shown(v, ""), "person")
	d.get(200, "POST /api/v1/tools/wipe", `{"name":"c"}`, "")
	d.story("calls", [3]string{"GET /api/v1/tool-calls?status=completed"}, [3]string{"GET /api/v1/tool-calls/cf_none"})
	all := d.get(200, "GET /api/v1/tool-calls", "", "")
	assert.Equal(t, []string{"completed", "pending_confirmation", "pending_confirmation"}, names(all, "toolCalls", "status"))
	assert.NotContains(t, all, "next")
	first := d.get(200, "GET /api/v1/tool-calls?limit=2", "", "")
	require.Len(t, first["toolCalls"], 2)
	rest := d.get(200, "GET /api/v1/tool-calls?limit=2&before="+first["next"].(string), "", "")
	assert.Equal(t, `{"name":"a"}`, compact(t, rest["toolCalls"].([]any)[0].(map[string]any)["arguments"]))
	assert.EqualValues(t, 1, rest["count"])
	assert.EqualValues(t, 0, d.get(200, "GET /api/v1/tool-calls?tool=raze", "", "")["count"])
	assert.EqualValues(t, 3, d.get(200, "GET /api/v1/tool-calls?conversationId=s1&tool=wipe", "", "")["count"])
	assert.EqualValues(t, 0, d.get(200, "GET /api/v1/tool-calls?conversationId=s2", "", "")["count"])
	assert.EqualValues(t, 0, d.get(200, "GET /api/v1/tool-calls", "", "narrow")["count"])
	id := all["toolCalls"].([]any)[0].(map[string]any)["callId"].(string)
	assert.Equal(t, id, d.get(200, "GET /api/v1/tool-calls/"+v["id"].(string), "", "")["callId"], "by the id of its confirmation as well")
	assert.Equal(t, "run_unknown", problem(t, d.get(404, "GET /api/v1/tool-calls/"+id, "", "narrow")))
	for _, query := range []string{"status=done", "limit=0", "limit=201", "limit=x", "before=yesterday"} {
		assert.Equal(t, "query_invalid", problem(t, d.get(400, "GET /api/v1/tool-calls?"+query, "", "")), query)
	}
}

func compact(t *testing.T, v any) string {
	t.Helper()
	doc, err := json.Marshal(v)
	require.NoError(t, err)
	return string(doc)
}

func TestTheAuditIsListed(t *testing.T) {
	d := newDepot(t)
	for i := range 5 {
		d.send("POST /api/v1/tools/wipe", fmt.Sprintf(`{"name":"thing-%d"}`, i), "")
	}
	d.send("POST /api/v1/tools/look", `{"name":"x"}`, "narrow")
	require.NoError(t, d.app.Close(t.Context()))
	all := d.get(200, "GET /api/v1/audit", "", "")
	require.EqualValues(t, 11, all["count"], "five questions, five calls that asked, and one that was refused")
	assert.EqualValues(t, 11, all["next"])
	assert.Equal(t, []string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11"}, names(all, "records", "seq"))
	assert.Equal(t, []string{"10", "11"}, names(d.get(200, "GET /api/v1/audit?limit=2", "", ""), "records", "seq"))
	part := d.get(200, "GET /api/v1/audit?after=0&limit=4", "", "")
	assert.Equal(t, []string{"1", "2", "3", "4"}, names(part, "records", "seq"))
	part = d.get(200, fmt.Sprintf("GET /api/v1/audit?after=%v", part["next"]), "", "")
	assert.Equal(t, []string{"5", "6", "7", "8", "9", "10", "11"}, names(part, "records", "seq"))
	part = d.get(200, "GET /api/v1/audit?after=11", "", "")
	assert.EqualValues(t, 11, part["next"])
	assert.Equal(t, []any{}, part["records"])
	for query, want := range map[string]int{"text=thing-3": 1, "tool=wipe": 10, "failed=true": 6, "code=tool_unknown": 1, "phase=answer": 0, "phase=asked": 5, "before=3": 2, "after=0&tool=wipe": 10, "after=0&failed=true": 6} {
		assert.EqualValues(t, want, d.get(200, "GET /api/v1/audit?"+query, "", "")["count"], query)
	}
	for _, query := range []string{"limit=501", "after=-1", "after=x", "before=0"} {
		assert.Equal(t, "query_invalid", problem(t, d.get(400, "GET /api/v1/audit?"+query, "", "")), query)
	}
	assert.EqualValues(t, 0, d.get(200, "GET /api/v1/audit", "", "narrow")["count"])
}

// TestTheAuditIsVerifiedAndExported: what comes out is the chain, and a chain that was changed is said to be.
func TestTheAuditIsVerifiedAndExported(t *testing.T) {
	var dir string
	s := home(t, func(c *local.Config) { dir = c.Dir })
	v := s.get(200, "GET /api/v1/audit/verify", "", "")
	assert.Equal(t, []any{true, 0.0}, []any{v["intact"], v["records"]})
	r := s.send("GET /api/v1/audit/export", "", "")
	assert.Equal(t, 200, r.status)
	assert.Empty(t, r.body)
	for range 1200 {
		s.send("POST /api/v1/tools/get_policy", `{}`, "")
	}
	require.NoError(t, s.app.Close(t.Context()))
	v = s.get(200, "GET /api/v1/audit/verify", "", "")
	assert.Equal(t, []any{true, 1200.0}, []any{v["intact"], v["records"]})
	assert.EqualValues(t, 1200, v["keys"].([]any)[0].(map[string]any)["to"])
	assert.Equal(t, "home", v["anchors"].([]any)[0].(map[string]any)["kind"])
	r = s.send("GET /api/v1/audit/export", "", "")
	assert.Equal(t, "application/x-ndjson", r.header.Get("Content-Type"))
	var records []audit.Record
	for lines := bufio.NewScanner(bytes.NewReader(r.body)); lines.Scan(); {
		var one audit.Record
		require.NoError(t, json.Unmarshal(lines.Bytes(), &one))
		records = append(records, one)
	}
	n, err := audit.Verify(audit.Record{}, func(yield func(audit.Record, error) bool) {
		for _, one := range records {
			if !yield(one, nil) {
				return
			}
		}
	})
	require.NoError(t, err)
	assert.EqualValues(t, 1200, n)
	assert.Len(t, strings.Split(strings.TrimSpace(string(s.send("GET /api/v1/audit/export?after=1190", "", "").body)), "\n"), 10)
	assert.Equal(t, 400, s.send("GET /api/v1/audit/export?after=x", "", "").status)
	assert.Empty(t, s.send("HEAD /api/v1/audit/export", "", "").body)

	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "countersign.db"))
	require.NoError(t, err)
	defer db.Close()
	changed, err := db.ExecContext(t.Context(), `UPDATE audit SET event = CAST(replace(CAST(event AS TEXT), 'get_policy', 'nothing') AS BLOB) WHERE seq = 700`)
	require.NoError(t, err)
	rows, err := changed.RowsAffected()
	require.NoError(t, err)
	require.EqualValues(t, 1, rows)
	v = s.get(200, "GET /api/v1/audit/verify", "", "")
	assert.Equal(t, false, v["intact"])
	assert.EqualValues(t, 699, v["records"])
	assert.Equal(t, "audit_chain_broken", v["error"].(map[string]any)["code"])
}

func TestSettings(t *testing.T) {
	s := home(t, humanOnly)
	person.Settings(t, s.app, func(set *app.Settings) error {
		set.Tools["create_workflow"] = policy.Allowed
		return nil
	})
	s.story("settings",
		[3]string{"GET /api/v1/settings", ""},
		[3]string{"PUT /api/v1/settings", `{"revision":1,"permission_level":"read_only","tool_permissions":{"create_workflow":"allowed","old_tool":"blocked","input":""},"auto_approve":{"enabled":false,"tools":["run_script"]}}`, "person"},
		[3]string{"GET /api/v1/settings", ""},
		[3]string{"PUT /api/v1/settings", `{"revision":0,"permission_level":"full_access"}`, "person"},
		[3]string{"PUT /api/v1/settings", `{"revision":2,"permission_level":"full_access","tool_permissions":{"old_tool":"blocked"}}`, ""},
		[3]string{"PUT /api/v1/settings", `{"revision":1,"permission_level":"whatever"}`, "person"},
		[3]string{"PUT /api/v1/settings", `{"permission_level":"full_access"}`, "person"},
		[3]string{"PUT /api/v1/settings", `{"revision":1}`, "person"},
		[3]string{"PUT /api/v1/settings", `{"revision":1,"permission_level":"full_access","level":1}`, "person"},
	)
}

// settingsOf returns a change of the settings as it is sent.
func settingsOf(revision int, more string) string {
	return fmt.Sprintf(`{"revision":%d,"permission_level":"execute_with_confirm"%s}`, revision, more)
}

// TestWhatSettingsOpenWaitsForAPerson, whoever sends it: a program's request is pending until somebody has approved it elsewhere and it is repeated, and
// what only narrows is stored at once.
func TestWhatSettingsOpenWaitsForAPerson(t *testing.T) {
	for name, change := range map[string]func(*local.Config){"people approve": humanOnly, "the caller approves": nil} {
		t.Run(name, func(t *testing.T) {
			s := home(t, change)
			s.get(200, "PUT /api/v1/settings", settingsOf(0, `,"tool_permissions":{"run_script":"blocked"},"max_mode":"execute"`), "")
			wider := `{"revision":1,"permission_level":"full_access","tool_permissions":{"run_script":"blocked"}}`
			for _, who := range []string{"", "person"} {
				r := s.send("PUT /api/v1/settings", wider, who)
				require.Equal(t, http.StatusPreconditionRequired, r.status, string(r.body))
				assert.Empty(t, r.header.Get("X-Confirm-Token"), "whoever sends it does not approve it")
				asked := object(t, r.body)["error"].(map[string]any)["details"].(map[string]any)["confirmation"].(map[string]any)
				assert.Equal(t, r.header.Get("X-Confirmation-Id"), asked["id"])
				assert.Equal(t, []any{"permission level full_access instead of execute_with_confirm"}, asked["plan"].(map[string]any)["opens"])
				assert.NotContains(t, string(r.body), "confirm_token\"")
				assert.Equal(t, http.StatusPreconditionRequired, s.send("PUT /api/v1/settings", wider, who).status, "repeating it approves nothing")
				assert.Equal(t, "approval_needs_person", problem(t, s.get(403, "POST /api/v1/confirmations/"+asked["id"].(string)+"/approve", fmt.Sprintf(`{"plan_hash":%q}`, asked["plan_hash"]), "")))
				assert.EqualValues(t, 1, s.get(200, "GET /api/v1/settings", "", "")["revision"])
				s.get(200, "POST /api/v1/confirmations/"+asked["id"].(string)+"/approve", fmt.Sprintf(`{"plan_hash":%q}`, asked["plan_hash"]), "another person")
				assert.EqualValues(t, 1, s.get(200, "GET /api/v1/settings", "", "")["revision"], "approving carries nothing out by itself")
				if who == "person" {
					break
				}
				s.get(409, "POST /api/v1/confirmations/"+asked["id"].(string)+"/deny", `{}`, "person")
			}
			saved := s.get(200, "PUT /api/v1/settings", wider, "person")
			assert.Equal(t, "full_access", saved["permission_level"])
			assert.Equal(t, "full_access", saved["in_force"].(map[string]any)["permission_level"])
			assert.Equal(t, "your settings", saved["in_force"].(map[string]any)["decided_by"].(map[string]any)["permission_level"])
			assert.Equal(t, "execute", saved["max_mode"], "what is not sent stays as it is")
			assert.Equal(t, "settings_conflict", problem(t, s.get(409, "PUT /api/v1/settings", wider, "")), "the program's was made from what is no more")
			for _, who := range []string{"narrow", "reader"} {
				assert.Equal(t, 403, s.send("PUT /api/v1/settings", `{"revision":2,"permission_level":"read_only"}`, who).status, "who reaches a part changes nothing for all")
			}
			tail := s.get(200, "GET /api/v1/audit?tool=change_settings&phase=answer", "", "")["records"].([]any)
			for _, r := range tail {
				assert.Equal(t, "console", r.(map[string]any)["event"].(map[string]any)["surface"])
			}
		})
	}
}

// TestCredentialsAreMadeByPeopleAlone: no program makes one, and the user is asked.
func TestCredentialsAreMadeByPeopleAlone(t *testing.T) {
	s := home(t, humanOnly)
	body := `{"name":"ci","kind":"token","digest":"` + strings.Repeat("ab", 32) + `"}`
	assert.Equal(t, 404, s.send("POST /api/v1/tools/create_credential", body, "").status)
	assert.Equal(t, 403, s.send("POST /api/v1/tools/create_credential", body, "narrow person").status)
	r := s.send("POST /api/v1/tools/create_credential", body, "person")
	require.Equal(t, http.StatusPreconditionRequired, r.status, string(r.body))
	v := s.asked()
	assert.Equal(t, 403, s.send("POST /api/v1/confirmations/"+v["id"].(string)+"/approve", shown(v, ""), "narrow person").status, "nobody has done by others what is closed to himself")
	s.get(200, "POST /api/v1/confirmations/"+v["id"].(string)+"/approve", shown(v, ""), "person")
	assert.Equal(t, "ci", s.get(200, "POST /api/v1/tools/create_credential", body, "person")["name"])
}

// TestTheCatalogue is what is served to whoever asks, with what policy says to that visitor.
func TestTheCatalogue(t *testing.T) {
	s := home(t, nil)
	all := s.get(200, "GET /api/v1/tools", "", "")
	list := names(all, "tools", "name")
	assert.EqualValues(t, len(list), all["count"])
	assert.IsIncreasing(t, list)
	assert.Greater(t, len(list), 90)
	assert.NotContains(t, list, "project_add")
	person := names(s.get(200, "GET /api/v1/tools", "", "person"), "tools", "name")
	assert.IsIncreasing(t, person)
	assert.Contains(t, person, "project_add")
	narrow := names(s.get(200, "GET /api/v1/tools", "", "narrow"), "tools", "toolset")
	assert.Subset(t, []string{"control", "packs"}, narrow)
	assert.Equal(t, []string{"input", "output"}, names(s.get(200, "GET /api/v1/tools?toolset=packs", "", ""), "tools", "name"))
	golden.JSON(t, "tool", s.send("GET /api/v1/tools/run_script", "", "").body)
	assert.Equal(t, "tool_unknown", problem(t, s.get(404, "GET /api/v1/tools/run_script", "", "narrow")))
	assert.Equal(t, "tool_unknown", problem(t, s.get(404, "GET /api/v1/tools/project_add", "", "")))
	s.get(200, "GET /api/v1/tools/project_add", "", "person")

	sets := names(s.get(200, "GET /api/v1/toolsets", "", ""), "toolsets", "name")
	assert.Subset(t, sets, []string{"control", "packs", "deployments", "projects", "sandboxes", "ecosystems"})
	for _, set := range s.get(200, "GET /api/v1/toolsets", "", "narrow")["toolsets"].([]any) {
		assert.Contains(t, []string{"control", "packs"}, set.(map[string]any)["name"])
	}
	s.get(200, "PUT /api/v1/settings", `{"revision":0,"permission_level":"execute_with_confirm","tool_permissions":{"run_script":"confirm"}}`, "person")
	after := s.get(200, "GET /api/v1/tools/run_script", "", "")["decision"].(map[string]any)
	assert.Equal(t, "confirm", after["verdict"])
}
