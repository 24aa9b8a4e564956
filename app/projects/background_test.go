package projects_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/projectrig"
)

// inBackground returns a script started in the background; more are further arguments.
func inBackground(d *projectrig.Core, dir, script string, more map[string]any) map[string]any {
	args := map[string]any{"projectPath": dir, "scriptName": script, "runInBackground": true}
	for name, value := range more {
		args[name] = value
	}
	return d.Do("run_npm_script", args)
}

func outputOf(d *projectrig.Core, id any, more map[string]any) map[string]any {
	return d.Do("get_background_process_output", with(more, "processId", id))
}

// TestReadingOn: reading a process's output by cursor while it prints misses nothing and repeats nothing.
func TestReadingOn(t *testing.T) {
	r := projectrig.New(t)
	d := r.OpenCore(nil)
	dir, _ := d.Project("shop", shop)
	r.Write(dir, "build.sh", `i=1; while [ $i -le 3000 ]; do echo "line $i"; i=$((i+1)); [ $((i % 250)) = 0 ] && sleep 0.02; done; exit 0`)
	began := inBackground(d, dir, "build", map[string]any{"successPattern": "^line 30$"})
	assert.Equal(t, []any{true, "[stdout] line 30"}, []any{began["pattern_matched"], began["matched_line"]})
	lines := began["initial_output"].([]any)
	require.Len(t, lines, 20)
	since := began["nextSeq"]
	for ended := false; !ended; {
		more := map[string]any{"sinceSeq": since, "tailLines": 100}
		out := outputOf(d, began["process_id"], more)
		assert.LessOrEqual(t, len(out["outputLines"].([]any)), 100)
		assert.EqualValues(t, 0, out["droppedLines"])
		lines, since = append(lines, out["outputLines"].([]any)...), out["nextSeq"]
		ended = out["status"] == "completed" && out["hasMore"] == false
	}
	require.Len(t, lines, 3000)
	for i, line := range lines {
		require.Equal(t, fmt.Sprintf("[stdout] line %d", i+1), line)
	}
	for tail, want := range map[int][]any{1: {"[stdout] line 3000"}, 2: {"[stdout] line 2999", "[stdout] line 3000"}} {
		assert.Equal(t, want, outputOf(d, began["process_id"], map[string]any{"tailLines": tail})["outputLines"])
	}
	assert.Len(t, outputOf(d, began["process_id"], nil)["outputLines"], 100, "by default")
	assert.Empty(t, outputOf(d, began["process_id"], map[string]any{"sinceSeq": 1 << 40})["outputLines"], "nothing comes after the end")
}

// TestReadingMuch: results stay below the caller's limit, and a reader who continues misses nothing that is kept.
func TestReadingMuch(t *testing.T) {
	r := projectrig.New(t)
	d := r.OpenCore(nil)
	dir, _ := d.Project("shop", shop)
	r.Write(dir, "build.sh", `awk 'BEGIN { for (i = 1; i <= 12000; i++) printf "%05d %500s|\n", i, "x" }' >&2; echo complete >&2`)
	assert.Empty(t, inBackground(d, dir, "check", nil)["matched_line"])
	id := inBackground(d, dir, "build", map[string]any{"successPattern": "complete"})["process_id"]
	r.Soon(func() bool { return processes(t, d)[0]["status"] == "completed" }, "it has printed everything")
	all := processes(t, d)
	assert.Equal(t, []any{true, nil}, []any{all[0]["patternMatched"], all[1]["patternMatched"]}, "whoever lists it, and of nothing that nobody waited for")
	o := d.Ask("get_background_process_output", map[string]any{"processId": id, "tailLines": 2000})
	require.Empty(t, code(o))
	assert.False(t, o.Truncated)
	newest := projectrig.Object(t, o.Value)
	assert.Equal(t, true, newest["hasMore"])
	assert.Contains(t, newest["outputLines"], "[stderr] complete")
	var seen []string
	var dropped, since float64
	for {
		o := d.Ask("get_background_process_output", map[string]any{"processId": id, "sinceSeq": since})
		require.False(t, o.Truncated)
		out := projectrig.Object(t, o.Value)
		dropped += out["droppedLines"].(float64)
		for _, line := range out["outputLines"].([]any) {
			seen = append(seen, line.(string))
		}
		since = out["nextSeq"].(float64)
		if out["hasMore"] == false {
			break
		}
	}
	assert.EqualValues(t, 12001, dropped+float64(len(seen)), "what is not shown is counted")
	assert.Greater(t, dropped, 9000.0, "a megabyte is kept")
	for i, line := range seen[:len(seen)-1] {
		require.True(t, strings.HasPrefix(line, fmt.Sprintf("[stderr] %05d ", int(dropped)+i+1)), "%d: %.20s", i, line)
	}
}

// TestWaitingForALine: it ends when the line comes, when it can no longer come, and at the timeout; then the process keeps running.
func TestWaitingForALine(t *testing.T) {
	r := projectrig.New(t)
	d := r.OpenCore(nil)
	dir, _ := d.Project("shop", shop)
	var o tool.Outcome
	for limit := 300; ; limit *= 2 { // as long as it takes to start
		o = d.Confirmed("run_npm_script", map[string]any{"projectPath": dir, "scriptName": "dev", "runInBackground": true, "successPattern": "never", "successTimeoutMs": limit})
		require.Equal(t, "EXECUTION_TIMEOUT", code(o))
		require.Equal(t, false, details(o)["pattern_matched"])
		if said, _ := details(o)["initial_output"].([]any); slices.Contains(said, any("[stdout] starting")) {
			break
		}
		require.Less(t, limit, 60_000, "it never says anything")
	}
	id := details(o)["process_id"]
	require.Equal(t, id, processes(t, d)[0]["id"])
	assert.Equal(t, "running", processes(t, d)[0]["status"])

	ctx, cancel := context.WithCancel(t.Context())
	c := asked(t, d, "run_npm_script", map[string]any{"projectPath": dir, "scriptName": "dev", "runInBackground": true, "successPattern": "never"})
	c.Progress = func(tool.Progress) { cancel() }
	o = d.Call(ctx, c)
	assert.Equal(t, "USER_CANCELLED", code(o))
	assert.Equal(t, "running", processes(t, d)[0]["status"], "it was asked for, and runs")
	assert.Equal(t, details(o)["process_id"], processes(t, d)[0]["id"])

	r.Write(dir, "build.sh", "echo colour; printf '\\033[32mready\\033[0m in 3 ms\\n'; exit 0")
	out := inBackground(d, dir, "build", map[string]any{"successPattern": "^ready in \\d+ ms$"})
	assert.Equal(t, []any{"[stdout] colour", "[stdout] ready in 3 ms"}, out["initial_output"], "escapes are gone before the line is judged")
	out = inBackground(d, dir, "dev", nil)
	assert.Equal(t, []any{}, out["initial_output"])
}

// TestStopping: it stops a process with everything it started, gracefully or by killing, and reports if there was nothing left to stop.
func TestStopping(t *testing.T) {
	r := projectrig.New(t)
	d := r.OpenCore(nil)
	dir, _ := d.Project("shop", shop)
	r.Write(dir, "slow.sh", `trap '' TERM; sleep 300 & echo $! > child; echo started; while :; do sleep 0.05; done`)
	id := inBackground(d, dir, "slow", map[string]any{"successPattern": "started"})["process_id"]
	assert.Equal(t, "CONFIRMATION_PENDING", code(d.Ask("stop_background_process", map[string]any{"processId": id})))
	out := d.Do("stop_background_process", map[string]any{"processId": id, "force": true})
	assert.Equal(t, "stopped", out["status"])
	assert.Equal(t, false, out["alreadyExited"])
	assert.True(t, gone(t, r, dir, "child"))

	id = inBackground(d, dir, "dev", map[string]any{"successPattern": "warming"})["process_id"]
	call := asked(t, d, "stop_background_process", map[string]any{"processId": id})
	d.Do("stop_background_process", map[string]any{"processId": id})
	assert.Contains(t, outputOf(d, id, nil)["outputLines"], "[stdout] bye", "it was asked first")
	o := d.Call(t.Context(), call)
	require.Empty(t, code(o), "what was confirmed has come about meanwhile")
	assert.Equal(t, true, projectrig.Object(t, o.Value)["alreadyExited"])
	failed := details(d.Confirmed("run_npm_script", map[string]any{"projectPath": dir, "scriptName": "fail", "runInBackground": true, "successPattern": "never"}))["process_id"]
	out = d.Do("stop_background_process", map[string]any{"processId": failed})
	assert.Equal(t, []any{"failed", true, 3.0}, []any{out["status"], out["alreadyExited"], out["exitCode"]})
}

// TestEverybodySees: a background process outlives the server that started it, and other clients read and stop it.
func TestEverybodySees(t *testing.T) {
	r := projectrig.New(t)
	first := r.OpenCore(nil)
	dir, _ := first.Project("shop", shop)
	id := inBackground(first, dir, "dev", map[string]any{"successPattern": "warming"})["process_id"]
	foreground := first.Do("run_script", map[string]any{"script_name": "build", "project_path": dir})["process_id"]
	require.NoError(t, first.Close())
	second := r.OpenCore(nil)
	second.Client, second.Session = "other/2", "other"
	list := processes(t, second)
	require.Len(t, list, 1, "what somebody waits for is nobody else's")
	assert.Equal(t, []any{id, "dev", dir, "running", "rig/1"}, []any{list[0]["id"], list[0]["scriptName"], list[0]["projectPath"], list[0]["status"], list[0]["client"]})
	assert.Contains(t, outputOf(second, id, nil)["outputLines"], "[stdout] warming")
	assert.Equal(t, "PROCESS_NOT_FOUND", code(second.Ask("get_background_process_output", map[string]any{"processId": foreground})))
	assert.Equal(t, "PROCESS_NOT_FOUND", code(second.Ask("stop_background_process", map[string]any{"processId": foreground})))
	assert.Equal(t, "running", second.Do("get_execution_status", map[string]any{"executionId": id})["status"])

	o := second.Ask("stop_background_process", map[string]any{"processId": id})
	assert.Equal(t, "high", o.Request.Risk, "it is somebody else's")
	c := asked(t, second, "stop_background_process", map[string]any{"processId": id})
	c.Always = true
	require.Empty(t, code(second.Call(t.Context(), c)))
	id = inBackground(r.OpenCore(nil), dir, "dev", nil)["process_id"]
	assert.Equal(t, "CONFIRMATION_PENDING", code(second.Ask("stop_background_process", map[string]any{"processId": id})), "and always asked")
	recovered, err := second.Recover(t.Context())
	require.NoError(t, err)
	assert.Empty(t, recovered, "nobody took what is looked after")
}

// TestTwentyAtMost: that many processes run in the background of one machine, whichever server starts them.
func TestTwentyAtMost(t *testing.T) {
	r := projectrig.New(t)
	d := r.OpenCore(nil)
	dir, _ := d.Project("shop", shop)
	r.Write(dir, "dev.sh", "exec sleep 300")
	for range 10 {
		inBackground(d, dir, "dev", nil)
	}
	d = d.Fresh()
	for range 10 {
		inBackground(d, dir, "dev", nil)
	}
	args := map[string]any{"projectPath": dir, "scriptName": "dev", "runInBackground": true}
	assert.Equal(t, "PROCESS_LIMIT", code(d.Confirmed("run_npm_script", args)))
	d.Do("stop_background_process", map[string]any{"processId": processes(t, d)[0]["id"], "force": true})
	assert.Empty(t, code(d.Confirmed("run_npm_script", args)))
}

// TestTimeLimitInBackground: the supervisor enforces it.
func TestTimeLimitInBackground(t *testing.T) {
	r := projectrig.New(t)
	d := r.OpenCore(nil)
	dir, _ := d.Project("shop", shop)
	id := inBackground(d, dir, "slow", map[string]any{"timeoutMs": 200})["process_id"]
	r.Soon(func() bool { return processes(t, d)[0]["status"] == "timed_out" }, "its time is up")
	assert.Equal(t, "timed_out", outputOf(d, id, nil)["status"])
}
