//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// hostile starts programs that ignore being told to end, prints what is no text, and one line of 300 MB.
const hostile = `trap '' TERM
setsid sh -c 'trap "" TERM; while :; do sleep 1; done' &
sh -c 'trap "" TERM; while :; do sleep 1; done' &
head -c 65536 /dev/urandom
head -c 300000000 /dev/zero | tr '\0' 'x'
echo
echo the end >&2
`

// TestProjectsHostileScript: whatever a script does, the call is answered, the server stays small, and nothing is left.
func TestProjectsHostileScript(t *testing.T) {
	needs(t, "node", "npm")
	t.Parallel()
	w := newWorkshopFor(t, built(t))
	shop := w.shop(map[string]string{"hostile": "sh hostile.sh", "stubborn": "sh patient.sh"}, map[string]string{"hostile.sh": hostile, "patient.sh": patient})
	h := w.serve()
	h.begins("hostile", "run_script", args{"script_name": "hostile", "project_path": shop})
	h.begins("stubborn", "run_npm_script", args{"scriptName": "stubborn", "projectPath": shop, "timeoutMs": 12000})
	got := h.answers(2)
	value, failed := outcome(t, got["hostile"])
	require.Nil(t, failed)
	var r struct {
		ran
		Truncated bool
	}
	require.NoError(t, json.Unmarshal(value, &r))
	assert.Equal(t, 0, r.ExitCode)
	assert.Contains(t, r.Stderr, "the end")
	assert.True(t, r.Truncated)
	assert.Less(t, len(value), 300<<10)
	_, failed = outcome(t, got["stubborn"])
	require.NotNil(t, failed)
	assert.Equal(t, "EXECUTION_TIMEOUT", failed.Code, failed.Message)
	assert.Contains(t, failed.Details.Stdout, "started")
	assert.Empty(t, w.children(), "when it is answered, nothing is there")
	peak := status(t, h.cmd.Process.Pid, "VmHWM")
	t.Logf("the server had %d MB at most", peak>>20)
	assert.Less(t, peak, int64(80<<20))
	h.leaves()
}

// status returns a number of bytes that the system keeps of a process.
func status(t testing.TB, pid int, name string) int64 {
	t.Helper()
	for line := range strings.Lines(read(t, fmt.Sprintf("/proc/%d/status", pid))) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			var kb int64
			_, err := fmt.Sscan(rest, &kb)
			require.NoError(t, err)
			return kb << 10
		}
	}
	require.Fail(t, "the system does not keep "+name)
	return 0
}

// TestProjectsCrowd: fifty calls at once. Some run, and everyone who is turned away learns why and what to do.
func TestProjectsCrowd(t *testing.T) {
	needs(t, "node", "npm")
	t.Parallel()
	w := newWorkshop(t)
	shop := w.shop(map[string]string{"nap": "sleep 0.5"}, nil)
	w.must("policy", "set", "full_access", "--yes")
	h := w.serve()
	const crowd = 50
	began := time.Now()
	for i := range crowd {
		h.send(fmt.Sprint(i), "run_script", args{"script_name": "nap", "project_path": shop})
	}
	tally := map[string]int{}
	for name, r := range h.answers(crowd) {
		_, failed := outcome(t, r)
		if failed == nil {
			tally["ran"]++
			continue
		}
		tally[failed.Code]++
		switch failed.Code {
		case "RATE_LIMITED":
			assert.Positive(t, failed.Details.RetryAfter, name)
			assert.Contains(t, failed.Hint, "retryAfterMs")
		case "PROCESS_LIMIT":
			assert.Contains(t, failed.Message, "npm run nap", name)
			assert.Contains(t, failed.Hint, "list_background_processes")
		default:
			assert.Fail(t, "refused otherwise: "+failed.Code, failed.Message)
		}
	}
	t.Log(tally)
	assert.GreaterOrEqual(t, tally["ran"], 4)
	assert.LessOrEqual(t, tally["ran"]+tally["PROCESS_LIMIT"], 21+int(time.Since(began)/(2*time.Second)), "a burst of twenty, and what comes back meanwhile")
	assert.Positive(t, tally["RATE_LIMITED"])
	assert.Positive(t, tally["PROCESS_LIMIT"])
	w.deserted()
	h.leaves()
	statuses := map[string]int{}
	for _, r := range w.runs("run_script") {
		statuses[r.Status]++
	}
	assert.Equal(t, tally["ran"], statuses["completed"])
	assert.Equal(t, crowd, statuses["completed"]+statuses["failed"]+statuses["denied"], "%v", statuses)
}

// stress is how long several processes work at one home.
const stress = 10 * time.Second

// TestProjectsManyAtOnce: two servers and the command line read and change one home as fast as they can. None of them ever hears that
// it is in use, and nothing of what they did is lost.
func TestProjectsManyAtOnce(t *testing.T) {
	needs(t, "node", "npm")
	t.Parallel()
	w := newWorkshop(t)
	shop := w.shop(map[string]string{"hello": "echo hello"}, nil)
	var made, ran atomic.Int64
	end := time.Now().Add(stress)
	var actors sync.WaitGroup
	for _, name := range []string{"one server", "another server"} {
		actors.Go(func() {
			t.Run(name, func(t *testing.T) {
				h := w.in(t).serve()
				for i := 0; time.Now().Before(end); i++ {
					h.hammers(shop, i, &made, &ran)
				}
				h.leaves()
			})
		})
	}
	t.Run("command line", func(t *testing.T) {
		w := w.in(t)
		for i := 0; time.Now().Before(end); i++ {
			w.must("workflow", "create", fmt.Sprint("typed ", i), "--project", shop, "--yes")
			made.Add(1)
			for _, line := range []string{"runs", "workflow list", "project list", "ps", "audit verify", "tools call list_action_executions"} {
				assert.NotRegexp(t, inUse, w.must(strings.Fields(line)...))
			}
		}
	})
	actors.Wait()
	var list struct{ Total int64 }
	w.typed(&list, "workflow", "list")
	assert.Equal(t, made.Load(), list.Total)
	assert.Positive(t, ran.Load())
	w.must("audit", "verify")
	t.Logf("%d workflows made, %d scripts run", made.Load(), ran.Load())
}

// inUse is what a database says that cannot be shared.
const inUse = `(?i)(^|[^a-z0-9])(busy|locked|sqlite|database)`

// in returns the workshop for a part of a test.
func (w *workshop) in(t testing.TB) *workshop {
	part := *w
	part.t = t
	return &part
}

// hammers does one round of everything that reads and writes.
func (h *hand) hammers(shop string, round int, made, ran *atomic.Int64) {
	h.t.Helper()
	var id struct {
		ID string `json:"workflowId"`
	}
	h.does(&id, "create_workflow", args{"name": fmt.Sprint(h.t.Name(), " ", round)})
	made.Add(1)
	h.does(&struct{}{}, "add_workflow_step", args{"workflow_id": id.ID, "name": "step", "command": "echo step"})
	value, failed := outcome(h.t, h.Call("run_script", args{"script_name": "hello", "project_path": shop}))
	require.Nil(h.t, value)
	if failed.Code == "CONFIRMATION_PENDING" {
		h.sees(&struct{}{}, "run_script", failed.Details.Confirmation.with(args{"script_name": "hello", "project_path": shop}))
		ran.Add(1)
	} else {
		require.Equal(h.t, "RATE_LIMITED", failed.Code, failed.Message)
	}
	for _, tool := range []string{"list_projects", "list_workflows", "list_action_executions", "list_background_processes", "list_confirmations", "get_policy", "audit_tail"} {
		r := h.Call(tool, args{})
		require.Nil(h.t, r.Err)
		require.False(h.t, r.IsError, "%s: %s", tool, r.Text)
		require.NotRegexp(h.t, inUse, r.Text)
	}
}
