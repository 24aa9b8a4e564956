package projects_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/projectrig"
)

// rows returns the workflows as stored in the database, by ID, to the byte.
func rows(t *testing.T, r *projectrig.Rig) map[string]string {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(r.State, "countersign.db"))
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	found, err := db.Query("SELECT seq, id, ifnull(project_id, ''), updated_at, body FROM workflows")
	require.NoError(t, err)
	defer func() { require.NoError(t, found.Close()) }()
	out := map[string]string{}
	for found.Next() {
		var seq, at int64
		var id, of string
		var body []byte
		require.NoError(t, found.Scan(&seq, &id, &of, &at, &body))
		out[id] = fmt.Sprint(seq, of, at, string(body))
	}
	require.NoError(t, found.Err())
	return out
}

// TestOtherWorkflowsStay: a change of one workflow leaves the others unchanged to the byte.
func TestOtherWorkflowsStay(t *testing.T) {
	r := projectrig.New(t)
	d := r.OpenCore(nil)
	_, of := d.Project("shop", shop)
	one, two := flowed(d, "one", of, "a: true"), flowed(d, "two", of, "a: true")
	d.ByPerson("workflow_webhook_set", map[string]any{"workflow_id": one, "url": "https://example.org/x", "headers": map[string]string{"X-Api-Key": "k-123456789"}})
	d.ByPerson("workflow_incoming_set", map[string]any{"workflow_id": one, "enabled": true, "token": "a-token-of-more-than-twenty"})
	before := rows(t, r)
	for what, do := range map[string]func(){
		"create":   func() { flowed(d, "three", of) },
		"add":      func() { addStep(d, map[string]any{"workflow_id": two, "name": "b", "command": "true"}) },
		"run":      func() { d.Do("run_workflow", map[string]any{"workflow_id": two}) },
		"template": func() { d.Do("create_step_template", map[string]any{"name": "x", "command": "true"}) },
		"rename":   func() { d.ByPerson("workflow_change", map[string]any{"workflow_id": two, "name": "other"}) },
	} {
		do()
		assert.Equal(t, before[one], rows(t, r)[one], what)
	}
	was := rows(t, r)
	flowed(d, "four", of)
	now := rows(t, r)
	require.Len(t, now, len(was)+1)
	for id, row := range was {
		assert.Equal(t, row, now[id])
	}
}

// TestStepsAtOnce: twenty approved steps for one position in one workflow, concurrently. Each is added or rejected, and the orders are dense.
func TestStepsAtOnce(t *testing.T) {
	r := projectrig.New(t)
	d := r.OpenCore(nil)
	_, of := d.Project("shop", shop)
	id := flowed(d, "flow", of, "first: true")
	first := 0
	calls := make([]tool.Call, 20)
	cores := []*projectrig.Core{d, d.Fresh(), d.Fresh()}
	for i := range calls {
		calls[i] = asked(t, cores[i%3], "add_workflow_step", map[string]any{"workflow_id": id, "name": fmt.Sprint("step ", i), "command": "true", "order": first})
	}
	codes := make([]string, len(calls))
	var all sync.WaitGroup
	for i, c := range calls {
		all.Go(func() { codes[i] = code(cores[i%3].Call(t.Context(), c)) })
	}
	all.Wait()
	added := 0
	for i, got := range codes {
		if got == "" {
			added++
			continue
		}
		assert.Equal(t, "CONFLICT", got, i)
	}
	assert.Equal(t, 1, added, "each was shown the workflow with its one step")
	for i := range calls { // until all are in it, one after the other and concurrently
		all.Go(func() {
			for codes[i] != "" {
				codes[i] = code(cores[i%3].Confirmed("add_workflow_step", map[string]any{"workflow_id": id, "name": fmt.Sprint("step ", i), "command": "true", "order": first}))
			}
		})
	}
	all.Wait()
	names := map[string]int{}
	for i, n := range d.Do("get_workflow", map[string]any{"workflow_id": id})["nodes"].([]any) {
		n := n.(map[string]any)
		require.EqualValues(t, i, n["order"])
		names[n["name"].(string)]++
	}
	assert.Len(t, names, 21)
}

// TestEverythingIsOnRecord: each call that changes or runs something leaves its intent, its outcome, and a call record with the right status; a
// denied one leaves an outcome (packageflow-security contract §4.3, §5.2).
func TestEverythingIsOnRecord(t *testing.T) {
	w := newWorld(t)
	d := w.core.Fresh()
	failing := with(w.args["run_script"], "script_name", "fail")
	type want struct {
		status tool.Status
		reason tool.Reason
		phases string
		code   string
	}
	done := want{tool.StatusCompleted, "", "intent outcome", ""}
	for _, c := range []struct {
		name tool.Name
		args map[string]any
		want want
	}{
		{"run_script", w.args["run_script"], done}, {"run_npm_script", w.args["run_npm_script"], done}, {"run_workflow", w.args["run_workflow"], done}, {"trigger_webhook", w.args["trigger_webhook"], done},
		{"stop_background_process", w.args["stop_background_process"], done}, {"create_workflow", w.args["create_workflow"], done}, {"add_workflow_step", w.args["add_workflow_step"], done},
		{"create_step_template", w.args["create_step_template"], done},
		{"run_script", failing, want{tool.StatusFailed, tool.ReasonErrored, "intent outcome", "execution_failed"}},
		{"run_script", with(failing, "script_name", "none"), want{tool.StatusFailed, tool.ReasonRejected, "outcome", "script_not_found"}},
		{"run_script", with(failing, "project_path", "/etc"), want{tool.StatusFailed, tool.ReasonRejected, "outcome", "path_not_allowed"}},
		{"run_script", with(failing, "unknown", "x"), want{tool.StatusFailed, tool.ReasonRejected, "outcome", "invalid_arguments"}},
		{"list_projects", nil, want{0, "", "outcome", ""}}, {"get_project", map[string]any{"path": "/etc"}, want{0, "", "outcome", "path_not_allowed"}},
	} {
		t.Run(string(c.name)+" "+c.want.code, func(t *testing.T) {
			d := d.Fresh()
			o := d.Confirmed(c.name, c.args)
			require.NoError(t, d.Close())
			d = d.Fresh()
			phases, last := "", ""
			for record, err := range d.AuditTrail(t.Context(), 0) {
				require.NoError(t, err)
				if record.Event.CallID == o.CallID {
					phases += " " + string(record.Event.Phase)
					last = record.Event.Code
					assert.Equal(t, string(c.name), record.Event.Tool)
				}
			}
			assert.Equal(t, " "+c.want.phases, phases)
			assert.Equal(t, c.want.code, last)
			run, err := d.CallRecord(t.Context(), o.CallID)
			if c.want.status == tool.StatusNone {
				assert.ErrorIs(t, err, tool.ErrRecordUnknown, "who only reads leaves no record of a run")
				return
			}
			require.NoError(t, err)
			assert.Equal(t, []any{c.want.status, c.want.reason, string(c.name)}, []any{run.Status, run.Reason, run.Tool})
			assert.Equal(t, c.want.code == "", run.Result.Success)
		})
	}
	count, err := d.VerifyAudit(t.Context())
	require.NoError(t, err)
	assert.Greater(t, count, int64(30))
	runs, err := d.Calls(t.Context(), app.RunFilter{Status: tool.StatusExecuting})
	require.NoError(t, err)
	assert.Empty(t, runs)
}

// TestRateOfExecution: twenty at once and thirty a minute, a request and its decision counted once; reading continues.
func TestRateOfExecution(t *testing.T) {
	w := newWorld(t)
	d := w.core.Fresh()
	var last tool.Outcome
	counted := 0
	for ; counted < 40; counted++ {
		if last = d.Confirmed("run_script", w.args["run_script"]); last.Err != nil {
			break
		}
	}
	assert.Equal(t, "RATE_LIMITED", code(last))
	assert.GreaterOrEqual(t, counted, 20)
	assert.LessOrEqual(t, counted, 25, "some come back while they run")
	assert.Greater(t, details(last)["retryAfterMs"], 0.0)
	assert.LessOrEqual(t, details(last)["retryAfterMs"], 2000.0)
	for range 50 {
		require.Empty(t, code(d.Ask("get_background_process_output", w.args["get_background_process_output"])))
		require.Empty(t, code(d.Ask("list_projects", nil)))
	}
	assert.Equal(t, "CONFIRMATION_PENDING", code(d.Ask("create_workflow", w.args["create_workflow"])), "what stores something is not limited")
	assert.Equal(t, "INVALID_ARGUMENT", code(d.Ask("run_script", nil)), "what is wrong says so first")
	stranger := d.New("run_script", w.args["run_script"])
	stranger.Principal.ID = "other"
	assert.Equal(t, "CONFIRMATION_PENDING", code(d.Call(t.Context(), stranger)), "each principal has its own")
}
