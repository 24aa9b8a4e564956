//go:build linux

package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// patient is a script that says so, has a child in a group of its own, and waits for a gate that nobody opens. Neither heeds SIGTERM.
const patient = `trap '' TERM
setsid sh -c 'trap "" TERM; while :; do sleep 1; done' &
echo started
echo x > started.gate
while [ ! -e never.gate ]; do sleep 0.1; done
`

// exists reports whether there is such a file.
func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// starts returns every way in which the next Countersign process may start.
func starts() map[string]func(*workshop) {
	return map[string]func(*workshop){
		"server": func(w *workshop) { w.serve() },
		"cli":    func(w *workshop) { w.must("runs") },
	}
}

// TestProjectsServerKilledDuringScript: nothing of the script survives the next start, whichever it is, and the run has failed.
func TestProjectsServerKilledDuringScript(t *testing.T) {
	needs(t, "node", "npm")
	for name, start := range starts() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorkshop(t)
			shop := w.shop(map[string]string{"patient": "sh patient.sh"}, map[string]string{"patient.sh": patient})
			h := w.serve()
			h.begins("run", "run_script", args{"script_name": "patient", "project_path": shop})
			eventually(t, "the script runs", func() bool { return exists(w.at("shop/started.gate")) })
			h.Kill()
			require.NotEmpty(t, w.children(), "a killed server ends nothing")
			start(w)
			w.deserted()
			runs := w.runs("run_script")
			require.Len(t, runs, 1)
			assert.Equal(t, []string{"failed", "interrupted"}, []string{runs[0].Status, runs[0].Reason})
			require.NotNil(t, runs[0].Result)
			assert.Contains(t, runs[0].Result.Error, "interrupted: its process stopped")
			w.must("audit", "verify")
		})
	}
}

// TestProjectsHostEndsDuringScript: the host goes, or gives the call up, while a script runs that does not heed being told to end.
// Nothing of it is left when the server is.
func TestProjectsHostEndsDuringScript(t *testing.T) {
	needs(t, "node", "npm")
	t.Parallel()
	w := newWorkshop(t)
	shop := w.shop(map[string]string{"patient": "sh patient.sh"}, map[string]string{"patient.sh": patient})
	script := args{"script_name": "patient", "project_path": shop}
	h := w.serve()
	h.begins("given up", "run_script", script)
	eventually(t, "the script runs", func() bool { return exists(w.at("shop/started.gate")) })
	h.Send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"given up"}}`)
	_, failed := outcome(t, h.answers(1)["given up"])
	require.NotNil(t, failed)
	assert.Equal(t, "USER_CANCELLED", failed.Code)
	w.deserted()

	require.NoError(t, os.Remove(w.at("shop/started.gate")))
	h.begins("left", "run_script", script)
	eventually(t, "the script runs", func() bool { return exists(w.at("shop/started.gate")) })
	h.CloseStdin()
	h.Wait()
	assert.Empty(t, w.children())
	for _, r := range w.runs("run_script") {
		assert.Equal(t, "failed cancelled", r.Status+" "+r.Reason)
	}
}

// state is an execution of a workflow.
type state struct {
	ID, Status, Reason string
	Error              string `json:"errorMessage"`
	Steps              []struct {
		Name   string `json:"nodeName"`
		Status string
		Error  string `json:"errorMessage"`
	}
}

func (s state) steps() (out []string) {
	for _, step := range s.Steps {
		out = append(out, step.Name+" "+step.Status)
	}
	return out
}

// TestProjectsServerKilledDuringWorkflow: the run has failed with the step that was at work, what came after it was skipped, and nothing
// of it runs on.
func TestProjectsServerKilledDuringWorkflow(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	w.shop(nil, map[string]string{"patient.sh": patient})
	h := w.serve()
	var list struct{ Projects []struct{ ID string } }
	h.sees(&list, "list_projects", args{})
	id := h.workflow(list.Projects[0].ID, []args{
		{"name": "one", "command": "echo one"}, {"name": "two", "command": "sh patient.sh"},
		{"name": "three", "command": "echo three > three.txt"}, {"name": "four", "command": "echo four"},
	})
	h.begins("release", "run_workflow", args{"workflow_id": id})
	eventually(t, "the second step runs", func() bool { return exists(w.at("shop/started.gate")) })
	h.Kill()

	next := w.serve()
	var history struct{ Executions []state }
	next.sees(&history, "list_action_executions", args{"actionType": "workflow"})
	require.Len(t, history.Executions, 1)
	var s state
	next.sees(&s, "get_execution_status", args{"executionId": history.Executions[0].ID})
	assert.Equal(t, []string{"failed", "interrupted"}, []string{s.Status, s.Reason})
	assert.Contains(t, s.Error, "step two")
	assert.Equal(t, []string{"one completed", "two failed", "three skipped", "four skipped"}, s.steps())
	assert.Equal(t, "interrupted", s.Steps[1].Error)
	w.deserted()
	assert.NoFileExists(t, w.at("shop/three.txt"))
	runs := w.runs("run_workflow")
	require.Len(t, runs, 1)
	assert.Equal(t, []string{"failed", "interrupted"}, []string{runs[0].Status, runs[0].Reason})
	assert.Contains(t, w.must("workflow", "history"), "failed")
	next.leaves()
}

// TestProjectsEverythingKilled: the server and the supervisor of a background process are killed. The next start ends what is left, and says so.
func TestProjectsEverythingKilled(t *testing.T) {
	needs(t, "node", "npm")
	t.Parallel()
	w := newWorkshop(t)
	w.projects("shop")
	w.must("project", "add", w.at("shop"))
	h := w.serve()
	b, url := startsServer(h, w.at("shop"))
	supervisors := w.supervisors()
	require.Len(t, supervisors, 1)
	require.NoError(t, supervisors[0].kill())
	h.Kill()
	eventually(t, "the supervisor is gone", func() bool { return len(w.supervisors()) == 0 })
	require.False(t, closed(url), "the development server is an orphan now")

	next := w.serve()
	w.deserted()
	eventually(t, "its port is free", func() bool { return closed(url) }) // a dying process loses its name before its sockets
	list := processes(next)
	require.Len(t, list, 1)
	assert.Equal(t, []string{b.ID, "failed"}, []string{list[0].ID, list[0].Status})
	assert.Contains(t, list[0].Reason, "lost")
	var stopped struct {
		Success, AlreadyExited bool
	}
	next.does(&stopped, "stop_background_process", args{"processId": b.ID})
	assert.True(t, stopped.AlreadyExited)
	next.leaves()
}

// process is a line of list_background_processes.
type process struct{ ID, Status, Reason, ScriptName string }

func processes(h *hand) []process {
	h.t.Helper()
	var list struct{ Processes []process }
	h.sees(&list, "list_background_processes", args{})
	return list.Processes
}

// TestProjectsBackgroundOutlivesItsServer: a process in the background belongs to the machine, not to the server that started it.
func TestProjectsBackgroundOutlivesItsServer(t *testing.T) {
	needs(t, "node", "npm")
	t.Parallel()
	w := newWorkshop(t)
	w.projects("shop")
	w.must("project", "add", w.at("shop"))
	h := w.serve()
	b, url := startsServer(h, w.at("shop"))
	h.leaves()
	assert.Equal(t, "hello from the shop\n", fetch(t, url+"alone"))
	assert.Contains(t, w.must("ps"), b.ID)
	eventually(t, "its log says so", func() bool { return strings.Contains(w.must("logs", "dev"), "GET /alone is request 1") })

	next := w.serve()
	list := processes(next)
	require.Len(t, list, 1)
	assert.Equal(t, []string{b.ID, "running"}, []string{list[0].ID, list[0].Status})
	readsOn(next, b.ID, b.Next, "GET /alone is request 1")
	var stopped struct{ Status string }
	next.does(&stopped, "stop_background_process", args{"processId": b.ID})
	assert.Equal(t, "stopped", stopped.Status)
	assert.True(t, closed(url))
	w.deserted()
	next.leaves()
}

// TestProjectsDamage: what a project's files can be, and what becomes of its directory. Every refusal names the thing and says what to do.
func TestProjectsDamage(t *testing.T) {
	needs(t, "node", "npm")
	t.Parallel()
	w := newWorkshop(t)
	shop := w.shop(map[string]string{"build": "echo built"}, nil)
	good := read(t, w.at("shop/package.json"))
	outside := w.at("outside")
	write(t, w.at("outside/package.json"), good)
	h := w.serve()
	run := args{"script_name": "build", "project_path": shop}

	huge := `{"name":"shop","scripts":{"build":"echo built"},"filler":"` + strings.Repeat("x", 50<<20) + `"}`
	write(t, w.at("shop/package.json"), huge)
	p := h.fails("INVALID_ARGUMENT", "run_script", run)
	assert.Contains(t, p.Message, "package.json exceeds the limit")

	write(t, w.at("shop/package.json"), `{"scripts":{"build":"echo shown","build":"echo hidden"}}`)
	shown := h.asks("run_script", run) // what npm would run, and that there is more to it
	assert.Contains(t, shown.Prompt, "echo hidden")
	assert.Contains(t, string(shown.Context), "more than once")

	for name, text := range map[string]string{"no JSON": "{", "no object": "[]", "scripts of another kind": `{"scripts":["build"]}`, "binary": "\x00\xff\xfe"} {
		write(t, w.at("shop/package.json"), text)
		value, failed := outcome(t, h.Call("run_script", run))
		require.NotNil(t, failed, "%s: %s", name, value)
		assert.Contains(t, []string{"INVALID_ARGUMENT", "SCRIPT_NOT_FOUND"}, failed.Code, name)
		assert.Contains(t, failed.Message, "package.json", name)
	}
	write(t, w.at("shop/package.json"), good)

	require.NoError(t, os.Symlink(outside, w.at("shop/way-out")))
	p = h.fails("PATH_NOT_ALLOWED", "run_script", args{"script_name": "build", "project_path": w.at("shop/way-out")})
	assert.Contains(t, p.Hint, "list_projects")
	p = h.fails("PATH_NOT_ALLOWED", "run_script", args{"script_name": "build", "project_path": w.at("shop/../outside")})
	assert.Contains(t, p.Hint, "list_projects")
	require.NoError(t, os.Remove(w.at("shop/package.json")))
	require.NoError(t, os.Symlink(w.at("outside/package.json"), w.at("shop/package.json")))
	p = h.fails("INVALID_ARGUMENT", "run_script", run)
	assert.Contains(t, p.Message, "link")

	require.NoError(t, os.RemoveAll(shop))
	for _, c := range []struct{ tool, argument string }{{"get_project", "path"}, {"get_git_status", "project_path"}, {"list_project_scripts", "project_path"}} {
		p = h.fails("PATH_NOT_ALLOWED", c.tool, args{c.argument: shop})
		assert.Contains(t, p.Message, shop, c.tool)
	}
	h.fails("PATH_NOT_ALLOWED", "run_script", run)
	var list struct {
		Projects []struct {
			Name          string
			CurrentBranch *string
		}
	}
	h.sees(&list, "list_projects", args{})
	assert.Len(t, list.Projects, 1, "the list goes on working, and shows it")
	require.NoError(t, os.Symlink(outside, shop))
	h.fails("PATH_NOT_ALLOWED", "run_script", run)
	h.leaves()
	assert.Empty(t, w.children())
	for _, r := range w.runs("run_script") {
		assert.NotEqual(t, "completed", r.Status)
	}
}
