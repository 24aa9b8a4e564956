package adminpages_test

import (
	"bufio"
	"context"
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
	"go.uber.org/goleak"

	"github.com/countersign-dev/countersign/adapters/console/adminpages"
	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/system"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/internal/testkit/consoletest"
	"github.com/countersign-dev/countersign/internal/testkit/person"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func serve(t testing.TB, h *consoletest.TestCore) *consoletest.Web {
	t.Helper()
	life, end := context.WithCancel(context.Background())
	t.Cleanup(end)
	d := ui.NewCallRunner(life, h.App, func() string { return system.IDs{}.NewID("job_", 20) })
	d.Patience = time.Minute // a busy machine is no other page
	return consoletest.Serve(t, func(mux *http.ServeMux) {
		adminpages.NewActivitySection(life, d, h.App).Mount(mux, consoletest.Person())
		adminpages.NewApprovalSection(d, h.App).Mount(mux, consoletest.Person())
	})
}

func open(t testing.TB) (*consoletest.Agent, *consoletest.TestCore, *consoletest.Web) {
	t.Helper()
	h := consoletest.Open(t, t.TempDir())
	return h.Agent("s1"), h, serve(t, h)
}

// writes has a note written, with the user's approval.
func writes(t testing.TB, agent *consoletest.Agent, name string) {
	t.Helper()
	id := agent.Ask(t, "write_note", map[string]string{"name": name, "text": "text of " + name})
	_, err := agent.TestCore.Answer(t.Context(), confirm.Decision{ID: id, Approve: true, By: "terminal", Proof: person.AtTerminal})
	require.NoError(t, err)
	require.NoError(t, agent.Call("write_note", map[string]string{"name": name, "text": "text of " + name}).Err)
}

func TestNothingWasDone(t *testing.T) {
	t.Parallel()
	_, _, web := open(t)
	assert.Contains(t, web.Get("/activity").Words(), "No matching calls.")
	assert.Contains(t, web.Get("/audit").Words(), "No matching records.")
	assert.Empty(t, web.Get("/audit/export").Body)
}

func TestCallsAreListedAndFiltered(t *testing.T) {
	t.Parallel()
	agent, h, web := open(t)
	writes(t, agent, "first")
	id := agent.Ask(t, "write_note", map[string]string{"name": "second"})
	_, err := h.Answer(t.Context(), confirm.Decision{ID: id, By: "terminal", Proof: person.AtTerminal, Reason: "not <now>"})
	require.NoError(t, err)
	h.Agent("s2").Ask(t, "burn_note", map[string]string{"name": "third"})

	all := web.Get("/activity").Words()
	for _, want := range []string{"write note first write_note Completed", "claude-code/2.1 (s1) a user in a terminal", "write note second write_note Denied denied by a user: not <now>",
		"burn note third burn_note Waiting for approval"} {
		assert.Contains(t, all, want)
	}
	assert.Less(t, strings.Index(all, "note third"), strings.Index(all, "note first"), "newest first")
	for query, want := range map[string]string{"status=completed": "first", "status=denied": "second", "tool=burn_note": "third", "session=s2": "third", "status=pending_confirmation&tool=write_note": ""} {
		_, rows, _ := strings.Cut(web.Get("/activity?"+query).Words(), "Filter")
		for _, name := range []string{"first", "second", "third"} {
			assert.Equal(t, name == want, strings.Contains(rows, name), "%s: %s", query, rows)
		}
	}
	for query, status := range map[string]int{"status=lost": http.StatusBadRequest, "before=yesterday": http.StatusBadRequest} {
		assert.Equal(t, status, web.Get("/activity?"+query).Status, query)
	}
}

// TestAlwaysIsRevokedFromTheActivity: the call that was answered so says it, as long as it holds (packageflow contract §5.5).
func TestAlwaysIsRevokedFromTheActivity(t *testing.T) {
	t.Parallel()
	agent, h, web := open(t)
	id := agent.Ask(t, "write_note", map[string]string{"name": "first"})
	_, err := h.Answer(t.Context(), confirm.Decision{ID: id, Approve: true, Always: true, By: "terminal", Proof: person.AtTerminal})
	require.NoError(t, err)
	writes := func() error { return agent.Call("write_note", map[string]string{"name": "first"}).Err }
	require.NoError(t, writes())
	require.NoError(t, writes())
	assert.Contains(t, web.Get("/activity").Words(), ", session grant Revoke")
	assert.Equal(t, 1, strings.Count(web.Get("/activity").Body, "/settings/grants/"+id+"/revoke"))
	_, err = h.RevokeSessionGrant(t.Context(), id, "console")
	require.NoError(t, err)
	assert.NotContains(t, web.Get("/activity").Body, "revoke")
}

func TestCallsArePaged(t *testing.T) {
	t.Parallel()
	agent, _, web := open(t)
	for i := range 60 {
		agent.Ask(t, "write_note", map[string]string{"name": fmt.Sprintf("n%02d", i)})
		if i%5 == 4 {
			agent = agent.TestCore.Agent(fmt.Sprint("s", i))
		}
		if i == 19 {
			break
		}
	}
	for range 55 { // refused at once, because so many wait
		require.Error(t, agent.TestCore.Agent("last").Call("write_note", map[string]string{"name": "refused"}).Err)
	}
	page := web.Get("/activity")
	require.Contains(t, page.Words(), "Older")
	assert.Equal(t, 50, strings.Count(page.Body, "<tr><td>"))
	_, link, _ := strings.Cut(page.Body, `<p><a href="/activity?`)
	link, _, _ = strings.Cut(link, `"`)
	next := web.Get("/activity?" + strings.ReplaceAll(link, "&amp;", "&"))
	assert.Equal(t, 25, strings.Count(next.Body, "<tr><td>"))
	assert.NotContains(t, next.Words(), "Older")
	assert.NotContains(t, next.Body, "data-live", "older pages stay as they are")
}

func TestOneCall(t *testing.T) {
	t.Parallel()
	agent, h, web := open(t)
	writes(t, agent, "first")
	runs, err := h.Calls(t.Context(), app.RunFilter{})
	require.NoError(t, err)
	page := web.Get("/activity/" + runs[0].CallID)
	require.Eventually(t, func() bool { // what changed nothing, as asking, is recorded a moment later
		page = web.Get("/activity/" + runs[0].CallID)
		return strings.Contains(page.Words(), "confirm_token_required")
	}, time.Minute, 10*time.Millisecond)
	for _, want := range []string{"write note first Status Completed", "Tool write_note Risk low risk Client claude-code/2.1 (s1) Session s1", "Decision approved by a user in a terminal (tester, /dev/pts/0, here)", "Arguments name first text text of first",
		`Result written first`, "Audit records", "answer write_note approve", "intent write_note", "outcome write_note"} {
		assert.Contains(t, page.Words(), want)
	}
	assert.NotContains(t, page.Body, "data-live", "it has ended")
	assert.Equal(t, page.Words(), web.Get("/activity/"+runs[0].ConfirmationID).Words(), "it goes by its confirmation, too")

	id := agent.Ask(t, "burn_note", map[string]string{"name": "first"})
	waits := web.Get("/activity/" + id)
	assert.Contains(t, waits.Words(), "Plan a burnt note is gone Would be lost text of first")
	assert.Contains(t, waits.Words(), "Review")
	assert.Contains(t, waits.Body, "data-live")

	refused := agent.Call("burn_note", map[string]any{"name": 1})
	require.Error(t, refused.Err)
	failed := web.Get("/activity/" + refused.CallID)
	assert.Contains(t, failed.Words(), "Status Failed Reason rejected before it started")
	assert.Contains(t, failed.Words(), "code invalid_arguments problems field name message 'name' must be a string")
	assert.Equal(t, http.StatusNotFound, web.Get("/activity/nowhere").Status)
}

func TestHostileCallsAreText(t *testing.T) {
	t.Parallel()
	agent, h, web := open(t)
	agent.Client = "<script>alert(1)</script>"
	evil := `"><img src=x onerror=alert(1)>`
	id := agent.Ask(t, "write_note", map[string]string{"name": evil, "text": strings.Repeat("x", 10_000)})
	rec, err := h.CallRecord(t.Context(), id)
	require.NoError(t, err)
	require.NoError(t, h.Store.Append(t.Context(), audit.Event{Time: time.Now(), Tool: evil, Phase: "<b>", Verdict: evil, Code: evil, ApprovedBy: evil, Client: evil, CallID: evil}))
	for _, path := range []string{"/activity", "/activity/" + rec.CallID, "/audit", "/audit/1", "/audit?tool=" + "%22%3E%3Cimg+src%3Dx+onerror%3Dalert%281%29%3E"} {
		page := web.Get(path)
		assert.Equal(t, http.StatusOK, page.Status, path)
		assert.NotContains(t, page.Body, "<img", path)
		assert.NotContains(t, page.Body, "<script>alert", path)
		assert.NotContains(t, page.Body, "<b>", path)
	}
	assert.Less(t, len(web.Get("/activity").Body), 20<<10, "a list shows no arguments")
}

func TestTheAuditIsFilteredAndPaged(t *testing.T) {
	t.Parallel()
	_, h, web := open(t)
	events := make([]audit.Event, 130)
	for i := range events {
		events[i] = audit.Event{Time: time.Now(), Phase: audit.Outcome, CallID: fmt.Sprint("call_", i), Tool: []string{"input", "output"}[i%2], Verdict: "allow", DurationUS: 1500,
			Args: json.RawMessage(`{"name":"` + strings.Repeat("ab", 100) + `"}`)}
	}
	events[7].Code, events[9].Phase, events[9].ApprovedBy = "pack_not_found", audit.Answer, "console key_x"
	require.NoError(t, h.Store.Append(t.Context(), events...))

	page := web.Get("/audit")
	assert.Equal(t, 50, strings.Count(page.Body, "<tr><td>"))
	assert.Contains(t, page.Words(), "130 ")
	assert.Contains(t, page.Words(), "allow ok 1.5ms")
	assert.Contains(t, page.Body, `data-live="audit"`)
	assert.NotContains(t, page.Words(), strings.Repeat("ab", 100), "arguments are shortened")
	older := web.Get("/audit?before=81")
	assert.Contains(t, older.Words(), " 80 ")
	assert.NotContains(t, older.Body, "data-live")
	assert.Equal(t, 30, strings.Count(web.Get("/audit?before=31").Body, "<tr><td>"))
	for query, want := range map[string]int{"tool=input": 50, "tool=nowhere": 0, "failed=true": 1, "code=pack_not_found": 1, "phase=answer": 1, "text=CALL_128": 1, "text=key_x&phase=answer": 1} {
		assert.Equal(t, want, strings.Count(web.Get("/audit?"+query).Body, "<tr><td>"), query)
	}
	one := web.Get("/audit/10")
	assert.Contains(t, one.Words(), "seq 10")
	assert.Contains(t, one.Words(), strings.Repeat("ab", 100))
	for _, path := range []string{"/audit/131", "/audit/0", "/audit/x", "/audit/-1"} {
		assert.Equal(t, http.StatusNotFound, web.Get(path).Status, path)
	}
	assert.Equal(t, http.StatusNotFound, web.Get("/audit?before=x").Status)
}

func TestTheChainIsChecked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	h := consoletest.Open(t, dir)
	web := serve(t, h)
	require.NoError(t, h.Store.Append(t.Context(), make([]audit.Event, 300)...))
	assert.Contains(t, web.Get("/audit").Words(), "Not verified since the server started.")
	checked := web.Press(web.Get("/audit"), "Verify audit log")
	assert.Equal(t, "/audit", checked.Path)
	require.Eventually(t, func() bool { checked = web.Get("/audit"); return strings.Contains(checked.Words(), "is valid") }, time.Minute, 10*time.Millisecond)
	assert.Contains(t, checked.Words(), "The audit log is valid: 300 records, verified in ")

	db, err := sql.Open("sqlite", filepath.Join(dir, "countersign.db"))
	require.NoError(t, err)
	defer db.Close() //nolint:errcheck // it was only for this
	_, err = db.ExecContext(t.Context(), "UPDATE audit SET event = CAST(replace(CAST(event AS TEXT), '\"tool\":\"\"', '\"tool\":\"x\"') AS BLOB) WHERE seq = 200")
	require.NoError(t, err)
	web.Press(web.Get("/audit"), "Verify audit log")
	require.Eventually(t, func() bool { checked = web.Get("/audit"); return strings.Contains(checked.Words(), "was changed") }, time.Minute, 10*time.Millisecond)
	assert.Contains(t, checked.Words(), "audit record 200 was changed after it was written. The 199 records before it are valid")
	assert.Contains(t, web.Get("/audit?before=201").Words(), "200")
}

func TestTheAuditIsExported(t *testing.T) {
	t.Parallel()
	agent, h, web := open(t)
	writes(t, agent, "first")
	require.NoError(t, h.Store.Append(t.Context(), make([]audit.Event, 2500)...))
	got := web.Get("/audit/export")
	assert.Equal(t, "application/x-ndjson", got.Header.Get("Content-Type"))
	assert.Contains(t, got.Header.Get("Content-Disposition"), "attachment")
	lines := bufio.NewScanner(strings.NewReader(got.Body))
	lines.Buffer(nil, 1<<20)
	n := int64(0)
	for lines.Scan() {
		var r audit.Record
		require.NoError(t, json.Unmarshal(lines.Bytes(), &r))
		n++
		require.Equal(t, n, r.Seq)
	}
	assert.Greater(t, n, int64(2500))
}
