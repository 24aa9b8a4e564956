package projects_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/projectrig"
)

// flowed returns a workflow of the named project (none: global) with steps "name: command", or "name > workflow" with options for how it starts that:
// nowait, continue.
func flowed(d *projectrig.Core, name string, of any, steps ...string) string {
	id := d.Do("create_workflow", map[string]any{"name": name, "project_id": of})["workflowId"].(string)
	for _, s := range steps {
		if step, rest, starts := strings.Cut(s, " > "); starts {
			words := strings.Fields(rest)
			d.ByPerson("workflow_trigger_add", map[string]any{"workflow_id": id, "name": step, "target_workflow_id": words[0],
				"no_wait": strings.Contains(rest, " nowait"), "continue_on_failure": strings.Contains(rest, " continue")})
			continue
		}
		step, command, _ := strings.Cut(s, ": ")
		addStep(d, map[string]any{"workflow_id": id, "name": step, "command": command})
	}
	return id
}

func addStep(d *projectrig.Core, args map[string]any) { d.Do("add_workflow_step", args) }

// ran returns the results of a call: its answer, and its execution.
func ran(t *testing.T, d *projectrig.Core, id string) (answer, row map[string]any) {
	t.Helper()
	o := d.Confirmed("run_workflow", map[string]any{"workflow_id": id})
	if o.Err != nil {
		answer = details(o)
	} else {
		answer = projectrig.Object(t, o.Value)
	}
	return answer, d.Do("get_execution_status", map[string]any{"executionId": answer["executionId"]})
}

// stepsOf returns the steps of a row, as "name:status".
func stepsOf(row map[string]any) (steps []string) {
	for _, s := range row["steps"].([]any) {
		s := s.(map[string]any)
		steps = append(steps, fmt.Sprint(s["nodeName"], ":", s["status"]))
	}
	return steps
}

// TestStepsInOrder: steps are inserted at the given positions, and run in that order.
func TestStepsInOrder(t *testing.T) {
	r := projectrig.New(t)
	d := r.OpenCore(nil)
	_, shopID := d.Project("shop", shop)
	id := flowed(d, "flow", shopID, "b: echo b", "d: echo d")
	for _, s := range []struct {
		name string
		at   int
		want int
	}{{"a", 0, 0}, {"c", 2, 2}, {"e", 4, 4}} {
		out := d.Do("add_workflow_step", map[string]any{"workflow_id": id, "name": s.name, "command": "echo " + s.name, "order": s.at})
		assert.EqualValues(t, s.want, out["order"])
	}
	for _, at := range []int{-1, 6} {
		assert.Equal(t, "INVALID_ARGUMENT", code(d.Ask("add_workflow_step", map[string]any{"workflow_id": id, "name": "x", "command": "x", "order": at})))
	}
	answer, row := ran(t, d, id)
	assert.Equal(t, []string{"a:completed", "b:completed", "c:completed", "d:completed", "e:completed"}, stepsOf(row))
	assert.Equal(t, "completed", answer["status"])
	assert.EqualValues(t, 5, answer["stepsExecuted"])
	var lines []string
	for _, l := range row["output"].([]any) {
		l := l.(map[string]any)
		lines = append(lines, fmt.Sprint(l["stream"], " ", l["content"]))
	}
	assert.Equal(t, []string{"system [RUN] a: echo a (timeout: 300s)", "stdout a", "system [OK] a"}, lines[:3])
	assert.Len(t, lines, 15)
}

// TestWorkflowsWithin: they run as steps, are waited for or not, and pass on their failure or not.
func TestWorkflowsWithin(t *testing.T) {
	r := projectrig.New(t)
	d := r.OpenCore(nil)
	_, of := d.Project("shop", shop)
	good := flowed(d, "good", of, "g1: echo g1", "g2: echo g2")
	bad := flowed(d, "bad", of, "x1: echo x1", "x2: sh fail.sh", "x3: echo x3")
	for name, c := range map[string]struct {
		steps  []string
		want   []string
		status string
		failed string
		done   int
	}{
		"it waits":            {[]string{"a: echo a", "go > " + good, "b: echo b"}, []string{"a:completed", "go:completed", "g1:completed", "g2:completed", "b:completed"}, "completed", "", 5},
		"a failure is passed": {[]string{"a: echo a", "go > " + bad, "b: echo b"}, []string{"a:completed", "go:failed", "x1:completed", "x2:failed", "x3:skipped", "b:skipped"}, "partial", "x2", 4},
		"or not":              {[]string{"go > " + bad + " continue", "b: echo b"}, []string{"go:failed", "x1:completed", "x2:failed", "x3:skipped", "b:completed"}, "completed", "", 4},
		"nobody waits":        {[]string{"go > " + bad + " nowait", "b: echo b"}, []string{"go:completed", "x1:completed", "x2:failed", "x3:skipped", "b:completed"}, "completed", "", 4},
		"the first fails":     {[]string{"a: sh fail.sh", "b: echo b"}, []string{"a:failed", "b:skipped"}, "failed", "a", 1},
	} {
		t.Run(name, func(t *testing.T) {
			d := d.Fresh()
			answer, row := ran(t, d, flowed(d, name, of, c.steps...))
			assert.Equal(t, c.want, stepsOf(row))
			assert.Equal(t, c.status, answer["status"])
			assert.EqualValues(t, c.done, answer["stepsExecuted"])
			assert.EqualValues(t, len(c.want), answer["totalSteps"])
			if c.failed == "" {
				assert.NotContains(t, answer, "failedStep")
				assert.Equal(t, "completed", row["status"])
				return
			}
			assert.Equal(t, c.failed, answer["failedStep"].(map[string]any)["nodeName"])
			assert.Equal(t, []any{"failed", "non_zero_exit"}, []any{row["status"], row["reason"]})
			assert.Contains(t, row["errorMessage"], c.failed)
		})
	}
	order := fmt.Sprint(d.Do("run_workflow", map[string]any{"workflow_id": flowed(d, "late", of, "go > "+good+" nowait", "b: echo b")})["outputSummary"])
	assert.Less(t, strings.Index(order, "[OK] b"), strings.Index(order, "[RUN] g1"), "nobody waits for it, so it is last")
}

// TestTheHistoryKeepsHeadAndTail: of a step's output, with the number of omitted lines between them.
func TestTheHistoryKeepsHeadAndTail(t *testing.T) {
	r := projectrig.New(t)
	d := r.OpenCore(nil)
	_, of := d.Project("shop", shop)
	_, row := ran(t, d, flowed(d, "long", of, `count: i=0; while [ $i -lt 300 ]; do i=$((i+1)); echo "line $i"; done`))
	var said []string
	for _, l := range row["output"].([]any) {
		said = append(said, fmt.Sprint(l.(map[string]any)["content"]))
	}
	require.Len(t, said, 203, "200 lines, how the step began and ended, and what is left out")
	assert.Equal(t, []string{"line 1", "line 50", "… 100 lines left out here", "line 151", "line 300"}, []string{said[1], said[50], said[51], said[52], said[201]})
	assert.EqualValues(t, 100, row["outputDropped"])
}

// TestWorkflowsThatNeverEnd: cycles are errors that show the path, both when they are made and when they are run.
func TestWorkflowsThatNeverEnd(t *testing.T) {
	r := projectrig.New(t)
	d := r.OpenCore(nil)
	_, of := d.Project("shop", shop)
	a, b := flowed(d, "a", of, "x: true"), flowed(d, "b", of)
	add := func(to, target string) tool.Outcome {
		c := d.New("workflow_trigger_add", map[string]any{"workflow_id": to, "name": "go", "target_workflow_id": target})
		c.FromUser = true
		return d.Call(t.Context(), c)
	}
	require.NoError(t, add(b, a).Err)
	o := add(a, b)
	assert.Equal(t, "INVALID_ARGUMENT", code(o))
	assert.ErrorContains(t, o.Err, "a → b → a")
	assert.Equal(t, []any{a, b, a}, details(o)["cyclePath"])
	assert.Equal(t, "INVALID_ARGUMENT", code(add(a, a)))
	behind, empty := flowed(d, "behind", of), flowed(d, "empty", of)
	require.NoError(t, add(behind, empty).Err, "it may get steps")
	assert.Equal(t, "INVALID_ARGUMENT", code(add(behind, behind)), "behind one without steps too")
	assert.Equal(t, "WORKFLOW_NOT_FOUND", code(add(a, "none")))
	chain := a
	for i := range 4 {
		next := flowed(d.Fresh(), fmt.Sprint("deep", i), of, "go > "+chain)
		chain = next
	}
	answer, _ := ran(t, d, chain)
	assert.EqualValues(t, 5, answer["stepsExecuted"], "five deep")
	tooDeep := flowed(d, "deeper", of)
	o = add(tooDeep, chain)
	assert.Equal(t, "INVALID_ARGUMENT", code(o))
	assert.ErrorContains(t, o.Err, "at most 5")
}

// TestStepsThatTakeTooLong: timeouts, cancelled executions, and the progress that is reported.
func TestStepsThatTakeTooLong(t *testing.T) {
	r := projectrig.New(t)
	d := r.OpenCore(nil)
	dir, of := d.Project("shop", shop)
	id := flowed(d, "flow", of, "first: echo first", "second: echo second")
	addStep(d, map[string]any{"workflow_id": id, "name": "slow", "command": "sh slow.sh", "timeout": 300})
	addStep(d, map[string]any{"workflow_id": id, "name": "never", "command": "echo never"})
	var told []tool.Progress
	c := asked(t, d, "run_workflow", map[string]any{"workflow_id": id})
	c.Progress = func(p tool.Progress) { told = append(told, p) }
	o := d.Call(t.Context(), c)
	assert.Equal(t, "EXECUTION_TIMEOUT", code(o))
	require.Len(t, told, 6)
	for i, name := range []string{"first", "second", "slow"} {
		assert.Equal(t, tool.Progress{Done: int64(i), Total: 4, Message: fmt.Sprintf("step %d of 4: %s", i+1, name)}, told[2*i])
		assert.Regexp(t, "^step "+name+` runs as run_[0-9a-f]{8} \(pid \d+\)$`, told[2*i+1].Message)
	}
	row := d.Do("get_execution_status", map[string]any{"executionId": details(o)["executionId"]})
	assert.Equal(t, []any{"timed_out", "timeout"}, []any{row["status"], row["reason"]})
	assert.Equal(t, []string{"first:completed", "second:completed", "slow:failed", "never:skipped"}, stepsOf(row))
	slow := row["steps"].([]any)[2].(map[string]any)
	assert.GreaterOrEqual(t, slow["durationMs"], 300.0)
	assert.Contains(t, slow["errorMessage"], "300ms")
	assert.NotEmpty(t, slow["processId"])

	r.Write(dir, "child", "")
	id = flowed(d, "endless", of, "first: echo first", "slow: sh slow.sh", "never: echo never")
	ctx, cancel := context.WithCancel(t.Context())
	c = asked(t, d, "run_workflow", map[string]any{"workflow_id": id})
	c.Progress = func(p tool.Progress) {
		if p.Done == 1 {
			go func() {
				assert.Eventually(t, func() bool { return strings.HasSuffix(r.Read(dir, "child"), "\n") }, wait, tick)
				cancel()
			}()
		}
	}
	o = d.Call(ctx, c)
	assert.Equal(t, "USER_CANCELLED", code(o))
	assert.True(t, gone(t, r, dir, "child"))
	row = d.Do("get_execution_status", map[string]any{"executionId": details(o)["executionId"]})
	assert.Equal(t, []any{"cancelled", "cancelled"}, []any{row["status"], row["reason"]})
	assert.Equal(t, []string{"first:completed", "slow:failed", "never:skipped"}, stepsOf(row))
	assert.Contains(t, fmt.Sprint(row["output"]), "started", "what it printed until then is kept")
}

// TestHistory: as many executions of a workflow are kept as configured; an execution changes nothing of the workflow except its time.
func TestHistory(t *testing.T) {
	r := projectrig.New(t)
	d := r.OpenCore(nil)
	_, of := d.Project("shop", shop)
	id, other := flowed(d, "flow", of, "one: true"), flowed(d, "other", of, "one: true")
	d.ByPerson("workflow_change", map[string]any{"workflow_id": id, "max_history": 2})
	before := d.Do("get_workflow", map[string]any{"workflow_id": id})
	assert.NotContains(t, before, "lastExecutedAt")
	ran(t, d, other)
	var last string
	for range 4 {
		answer, _ := ran(t, d, id)
		last = answer["executionId"].(string)
	}
	after := d.Do("get_workflow", map[string]any{"workflow_id": id})
	assert.NotEmpty(t, after["lastExecutedAt"])
	delete(after, "lastExecutedAt")
	assert.Equal(t, before, after, "the revision among it")
	history := d.Do("list_action_executions", map[string]any{"actionType": "workflow"})
	assert.EqualValues(t, 3, history["total"], "two of this one, one of the other")
	newest := history["executions"].([]any)[0].(map[string]any)
	assert.Equal(t, []any{last, "completed", "flow", "mcp", "rig/1", string(of)},
		[]any{newest["id"], newest["status"], newest["actionName"], newest["triggeredBy"], newest["sourceClient"], newest["projectId"]})
	assert.NotContains(t, newest, "steps")
	assert.NotContains(t, newest, "output")
	assert.EqualValues(t, 2, d.Do("list_action_executions", map[string]any{"actionId": id})["total"])
}

// TestHistoryHoldsNoSecrets: in any part.
func TestHistoryHoldsNoSecrets(t *testing.T) {
	r := projectrig.New(t)
	d := r.OpenCore(nil)
	dir, of := d.Project("shop", shop)
	const token = "ghp_0123456789abcdefghijABCDEFGHIJ"
	r.Write(dir, ".env", "DB_PASSWORD=correct-horse-battery\n")
	id := flowed(d, "flow", of, "say: echo token "+token, "tell: sed s/.*=/password/ .env", "fail "+token+": sh fail.sh")
	answer, row := ran(t, d, id)
	stored := storedExecution(t, r, answer["executionId"].(string))
	for name, text := range map[string]string{"answer": fmt.Sprint(answer), "row": fmt.Sprint(row), "stored output and errors": stored} {
		assert.NotContains(t, text, "ghp_0123", name)
		assert.NotContains(t, text, "correct-horse", name)
	}
	assert.Contains(t, stored, "[RUN] say: echo token [REDACTED:github_token]")
}

// TestTheEndIsTold: the workflow's webhook is called as configured, and its result is in the execution.
func TestTheEndIsTold(t *testing.T) {
	r := projectrig.New(t)
	d := r.OpenCore(nil)
	_, of := d.Project("shop", shop)
	server, last := hooks(t)
	d.ByPerson("project_change", map[string]any{"project": of, "webhook_allow_loopback": true, "webhook_allow_hosts": []string{strings.TrimPrefix(server.URL, "http://")}})
	good, bad := flowed(d, "good", of, "one: true"), flowed(d, "bad", of, "one: sh fail.sh")
	hook := func(id, path, trigger string) {
		d.ByPerson("workflow_webhook_set", map[string]any{"workflow_id": id, "url": server.URL + path + "?token=s3cr3tvalue", "trigger": trigger, "headers": map[string]string{"X-Api-Key": "k-123456789"}})
	}
	for _, c := range []struct {
		id, path, trigger string
		called            bool
	}{{good, "/1", "onSuccess", true}, {bad, "/2", "onSuccess", false}, {good, "/3", "onFailure", false}, {bad, "/4", "onFailure", true}, {good, "/5", "always", true}, {bad, "/6", "always", true}, {good, "/broken", "always", true}} {
		hook(c.id, c.path, c.trigger)
		answer, row := ran(t, d, c.id)
		request, body := last()
		output := fmt.Sprint(row["output"])
		assert.NotContains(t, output, "s3cr3tvalue")
		if !c.called {
			assert.NotContains(t, output, "[WEBHOOK]")
			continue
		}
		assert.Equal(t, c.path, request.URL.Path)
		assert.Equal(t, "k-123456789", request.Header.Get("X-Api-Key"))
		sent := projectrig.Object(t, json.RawMessage(body))
		assert.Equal(t, map[string]any{"id": c.id, "name": map[bool]string{true: "good", false: "bad"}[c.id == good]}, sent["workflow"])
		execution := sent["execution"].(map[string]any)
		assert.Equal(t, []any{answer["executionId"], row["status"]}, []any{execution["id"], execution["status"]})
		assert.Equal(t, c.id == bad, sent["error"] != nil)
		if c.path == "/broken" {
			assert.Contains(t, output, "418")
			assert.Equal(t, "completed", row["status"], "the run is no worse for it")
			continue
		}
		assert.Contains(t, output, "[WEBHOOK] told "+server.URL+c.path+"?token=[REDACTED:webhook]")
	}
	view := d.Do("get_workflow", map[string]any{"workflow_id": good})["webhook"].(map[string]any)
	assert.NotContains(t, fmt.Sprint(view), "s3cr3tvalue")
	assert.NotContains(t, fmt.Sprint(view), "k-123456789")
	d.ByPerson("project_change", map[string]any{"project": of, "webhook_allow_loopback": false})
	_, row := ran(t, d.Fresh(), good)
	assert.Contains(t, fmt.Sprint(row["output"]), "[WEBHOOK] ")
	assert.NotContains(t, fmt.Sprint(row["output"]), "told", "what is not allowed any more is not called")
}

// TestKilledServer: any reader sees at which step it was killed, and nothing keeps running.
func TestKilledServer(t *testing.T) {
	r := projectrig.New(t)
	d := r.OpenCore(nil)
	dir, of := d.Project("shop", shop)
	id := flowed(d, "flow", of, "first: echo first", "slow: sh slow.sh", "never: echo never")
	server := r.Elsewhere("run_workflow", map[string]any{"workflow_id": id})
	r.Soon(func() bool { return strings.HasSuffix(r.Read(dir, "child"), "\n") }, "its second step runs")
	list := func(more map[string]any) []any {
		return d.Do("list_action_executions", more)["executions"].([]any)
	}
	execution := list(nil)[0].(map[string]any)
	assert.Equal(t, "running", execution["status"])
	row := d.Do("get_execution_status", map[string]any{"executionId": execution["id"]})
	assert.Equal(t, []string{"first:completed", "slow:running", "never:pending"}, stepsOf(row))
	call := row["callId"]

	require.NoError(t, server.Process.Kill())
	assert.Error(t, server.Wait())
	assert.Len(t, list(map[string]any{"status": "failed"}), 1, "a filter finds it as what it is")
	assert.Empty(t, list(map[string]any{"status": "running"}))
	row = d.Do("get_execution_status", map[string]any{"executionId": execution["id"]})
	assert.Equal(t, []any{"failed", "interrupted"}, []any{row["status"], row["reason"]})
	assert.Contains(t, row["errorMessage"], "step slow was running")
	assert.Equal(t, []string{"first:completed", "slow:failed", "never:skipped"}, stepsOf(row))
	of2 := d.Do("get_execution_status", map[string]any{"executionId": call})
	assert.Equal(t, []any{"failed", "interrupted"}, []any{of2["status"], of2["reason"]}, "its call as well")

	r.Soon(func() bool { return gone(t, r, dir, "child") }, "it ends with whoever ran it")
	recovered, err := r.OpenCore(nil).Recover(t.Context())
	require.NoError(t, err)
	require.Len(t, recovered, 1)
}
