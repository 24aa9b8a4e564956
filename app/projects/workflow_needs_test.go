package projects_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/internal/testkit/projectrig"
)

// together is a project whose steps end once both of them have begun.
const together = `
-- a.sh --
echo "a begins"; touch a.there; while [ ! -e b.there ]; do sleep 0.01; done; echo "a is done"
-- b.sh --
touch b.there; while [ ! -e a.there ]; do sleep 0.01; done
-- count.sh --
echo x >> tries; echo "try $(wc -l < tries)"; [ "$(wc -l < tries)" -ge "$1" ]
-- hang.sh --
echo $$ > pid; touch hanging; exec sleep 300
-- fail.sh --
while [ ! -e hanging ]; do sleep 0.01; done; exit 4
-- inner/where.sh --
pwd
-- src/one.txt --
1
`

// planOf returns the plan of a call.
func planOf(t *testing.T, d *projectrig.Core, args any) map[string]any {
	t.Helper()
	c := d.New("run_workflow", args)
	o := d.Call(t.Context(), c)
	require.NotNil(t, o.Request, "%v", o.Err)
	doc, err := json.Marshal(present.ContextOf(o.Request.Plan))
	require.NoError(t, err)
	return projectrig.Object(t, doc)
}

// TestStepsBesideOneAnother: a step runs as soon as its dependencies have succeeded; when one fails, those running with it are stopped with
// everything they started.
func TestStepsBesideOneAnother(t *testing.T) {
	r := projectrig.New(t)
	d := r.OpenCore(nil)
	dir, of := d.Project("shop", together)
	id := flowed(d, "flow", of, "a: sh a.sh")
	addStep(d, map[string]any{"workflow_id": id, "name": "b", "command": "sh b.sh", "settings": map[string]any{"needs": []string{}}})
	addStep(d, map[string]any{"workflow_id": id, "name": "c", "command": "echo c", "settings": map[string]any{"needs": []string{"b"}}})
	addStep(d, map[string]any{"workflow_id": id, "name": "all", "command": "ls a.there b.there"})
	assert.Equal(t, "INVALID_ARGUMENT", code(d.Ask("add_workflow_step", map[string]any{"workflow_id": id, "name": "x", "command": "true", "order": 0, "settings": map[string]any{"needs": []string{"b"}}})), "what it needs is behind it")
	assert.Equal(t, "INVALID_ARGUMENT", code(d.Ask("add_workflow_step", map[string]any{"workflow_id": id, "name": "x", "command": "true", "settings": map[string]any{"needs": []string{"nothing"}}})))
	steps := planOf(t, d, map[string]any{"workflow_id": id})["steps"].([]any)
	for i, want := range []any{nil, "no other step: starts immediately", "b", nil} {
		assert.Equal(t, want, steps[i].(map[string]any)["waits_for"])
	}
	answer, row := ran(t, d, id)
	assert.Equal(t, []string{"a:completed", "b:completed", "c:completed", "all:completed"}, stepsOf(row))
	assert.EqualValues(t, 4, answer["stepsExecuted"])
	summary := fmt.Sprint(answer["outputSummary"])
	assert.Less(t, strings.Index(summary, "[OK] a"), strings.Index(summary, "[RUN] all"))

	bad := flowed(d, "bad", of, "hang: sh hang.sh")
	addStep(d, map[string]any{"workflow_id": bad, "name": "fail", "command": "sh fail.sh", "settings": map[string]any{"needs": []string{}}})
	addStep(d, map[string]any{"workflow_id": bad, "name": "late", "command": "true", "settings": map[string]any{"needs": []string{"hang"}}})
	answer, row = ran(t, d.Fresh(), bad)
	assert.Equal(t, []string{"hang:failed", "fail:failed", "late:skipped"}, stepsOf(row))
	assert.Equal(t, "fail", answer["failedStep"].(map[string]any)["nodeName"])
	assert.Equal(t, []any{"failed", "non_zero_exit"}, []any{row["status"], row["reason"]})
	assert.Contains(t, row["steps"].([]any)[0].(map[string]any)["errorMessage"], "beside it failed")
	assert.True(t, gone(t, r, dir, "pid"), "what ran beside it has ended")
}

// TestStepsTriedAgain: a failed step is retried as often as configured, and not more.
func TestStepsTriedAgain(t *testing.T) {
	r := projectrig.New(t)
	d := r.OpenCore(nil)
	dir, of := d.Project("shop", together)
	for enough, want := range map[string]string{"3": "completed", "4": "failed"} {
		id := flowed(d, "flow "+enough, of)
		addStep(d, map[string]any{"workflow_id": id, "name": "flaky", "command": "sh count.sh " + enough, "settings": map[string]any{"retry": 2, "retry_delay_ms": 1}})
		r.Write(dir, "tries", "")
		_, row := ran(t, d.Fresh(), id)
		step := row["steps"].([]any)[0].(map[string]any)
		assert.Equal(t, []any{want, 3.0}, []any{step["status"], step["tries"]})
		assert.Equal(t, 3, strings.Count(r.Read(dir, "tries"), "x"))
		said := fmt.Sprint(row["output"])
		for _, line := range []string{"try 1", "[RETRY] flaky: exit code 1; try 2 of 3 in 1ms", "try 3"} {
			assert.Contains(t, said, line)
		}
	}
}

// TestInputsOfWorkflows: inputs of an execution are shown, checked, and set in the environment; no shell reads them as code.
func TestInputsOfWorkflows(t *testing.T) {
	r := projectrig.New(t)
	d := r.OpenCore(nil)
	dir, of := d.Project("shop", together)
	inputs := []map[string]any{{"name": "VERSION"}, {"name": "COUNT", "type": "number", "default": "2"}}
	id := d.Do("create_workflow", map[string]any{"name": "release", "project_id": of, "inputs": inputs})["workflowId"].(string)
	addStep(d, map[string]any{"workflow_id": id, "name": "say", "command": `echo "<$VERSION|$COUNT>"`})
	child := d.Do("create_workflow", map[string]any{"name": "outer", "project_id": of, "inputs": []map[string]any{{"name": "VERSION", "default": "0"}}})["workflowId"].(string)
	d.ByPerson("workflow_trigger_add", map[string]any{"workflow_id": child, "name": "go", "target_workflow_id": id})
	for _, args := range []map[string]any{{}, {"VERSION": "1", "COUNT": "many"}, {"VERSION": "1", "WHAT": "x"}, {"VERSION": []string{"1"}}} {
		assert.Equal(t, "INVALID_ARGUMENT", code(d.Ask("run_workflow", map[string]any{"workflow_id": id, "inputs": args})), "%v", args)
	}
	evil := `1"; touch hacked; echo "$(touch hacked2)`
	args := map[string]any{"workflow_id": id, "inputs": map[string]any{"VERSION": evil, "COUNT": 3}}
	assert.Equal(t, map[string]any{"VERSION": evil, "COUNT": "3"}, planOf(t, d, args)["inputs"])
	out := d.Do("run_workflow", args)
	assert.Contains(t, out["outputSummary"], "  > <"+evil+"|3>")
	assert.Empty(t, r.Read(dir, "hacked")+r.Read(dir, "hacked2"))
	row := d.Do("get_execution_status", map[string]any{"executionId": out["executionId"]})
	assert.Equal(t, map[string]any{"VERSION": evil, "COUNT": "3"}, row["parameters"])

	// A token for one value is not valid for another.
	o := d.Ask("run_workflow", args)
	c := d.New("run_workflow", map[string]any{"workflow_id": id, "inputs": map[string]any{"VERSION": "2", "COUNT": 3}})
	c.Token = o.Request.Token
	assert.Error(t, d.Call(t.Context(), c).Err)

	d = d.Fresh()
	assert.Equal(t, "INVALID_ARGUMENT", code(d.Ask("run_workflow", map[string]any{"workflow_id": child, "inputs": map[string]any{"WHAT": "7"}})))
	out = d.Do("run_workflow", map[string]any{"workflow_id": child, "inputs": map[string]any{"VERSION": "7"}})
	assert.Contains(t, out["outputSummary"], "  > <7|2>", "a workflow that is started as a step has what its inputs name")
	for _, name := range []string{"PATH", "LD_PRELOAD", "no-name"} {
		assert.NotEmpty(t, code(d.Ask("create_workflow", map[string]any{"name": "x", "inputs": []map[string]any{{"name": name}}})), name)
	}
	d.ByPerson("workflow_change", map[string]any{"workflow_id": id, "inputs": []any{}})
	assert.NotContains(t, d.Do("get_workflow", map[string]any{"workflow_id": id}), "inputs")
}

// TestUnchangedStepsAreSkipped: a step that succeeded is skipped while its input files, its command and its inputs are unchanged.
func TestUnchangedStepsAreSkipped(t *testing.T) {
	r := projectrig.New(t)
	d := r.OpenCore(nil)
	dir, of := d.Project("shop", together)
	id := flowed(d, "flow", of)
	addStep(d, map[string]any{"workflow_id": id, "name": "build", "command": "sh count.sh 2", "settings": map[string]any{"files": []string{"src/**/*.txt"}}})
	addStep(d, map[string]any{"workflow_id": id, "name": "test", "command": "true"})
	before := d.Do("get_workflow", map[string]any{"workflow_id": id})["revision"]
	step := func(args ...any) string {
		d = d.Fresh()
		call := map[string]any{"workflow_id": id}
		for i := 0; i+1 < len(args); i += 2 {
			call[args[i].(string)] = args[i+1]
		}
		o := d.Confirmed("run_workflow", call)
		answer := details(o)
		if o.Err == nil {
			answer = projectrig.Object(t, o.Value)
		}
		row := d.Do("get_execution_status", map[string]any{"executionId": answer["executionId"]})
		first := row["steps"].([]any)[0].(map[string]any)
		if first["status"] == "skipped" {
			assert.Equal(t, "unchanged", first["reason"])
			assert.EqualValues(t, 1, answer["stepsExecuted"])
			assert.Contains(t, fmt.Sprint(answer["outputSummary"]), "[SKIP] build")
		}
		return fmt.Sprint(first["status"])
	}
	assert.Equal(t, "failed", step())
	assert.Equal(t, "completed", step(), "what failed is run again")
	assert.Equal(t, "skipped", step())
	assert.Equal(t, "completed", step("force", true))
	r.Write(dir, "src/two.txt", "2")
	assert.Equal(t, "completed", step(), "there is another file")
	r.Write(dir, "src/two.txt", "3")
	assert.Equal(t, "completed", step(), "one is another")
	r.Write(dir, "src/other.md", "3")
	assert.Equal(t, "skipped", step(), "that is none of them")
	assert.Equal(t, before, d.Do("get_workflow", map[string]any{"workflow_id": id})["revision"], "a run changes nothing that is run")
	d.Do("change_workflow_step", map[string]any{"workflow_id": id, "node_id": "build", "command": "sh count.sh 1"})
	assert.Equal(t, "completed", step(), "the command is another")
	r.Write(dir, "package.json", `{"scripts":{"build":"sh count.sh 1"}}`)
	d.Do("change_workflow_step", map[string]any{"workflow_id": id, "node_id": "build", "command": "npm run build || true"})
	assert.Equal(t, "completed", step())
	assert.Equal(t, "skipped", step())
	r.Write(dir, "package.json", `{"scripts":{"build":"sh count.sh 2"}}`)
	assert.Equal(t, "completed", step(), "the script is another")
}

// TestStepsAreChanged: they are also moved, and a rejected change has no effect.
func TestStepsAreChanged(t *testing.T) {
	r := projectrig.New(t)
	d := r.OpenCore(nil)
	_, of := d.Project("shop", together)
	id := flowed(d, "flow", of, "a: echo a", "b: echo b", "c: echo c")
	names := func() (out []string) {
		for i, n := range d.Do("get_workflow", map[string]any{"workflow_id": id})["nodes"].([]any) {
			n := n.(map[string]any)
			assert.EqualValues(t, i, n["order"])
			out = append(out, fmt.Sprint(n["name"], " ", n["config"].(map[string]any)["command"]))
		}
		return out
	}
	change := func(args map[string]any) string {
		args["workflow_id"] = id
		return code(d.Confirmed("change_workflow_step", args))
	}
	assert.Empty(t, change(map[string]any{"node_id": "c", "order": 0}))
	assert.Empty(t, change(map[string]any{"node_id": "b", "command": "echo changed", "name": "B", "cwd": "src", "timeout": 5000}))
	assert.Equal(t, []string{"c echo c", "a echo a", "B echo changed"}, names())
	assert.Empty(t, change(map[string]any{"node_id": "B", "settings": map[string]any{"needs": []string{"a"}, "retry": 2}}))
	d = d.Fresh()
	before := names()
	for _, args := range []map[string]any{{"node_id": "x", "name": "y"}, {"node_id": "B"}, {"node_id": "B", "order": 0}, {"node_id": "B", "order": 3}, {"node_id": "a", "order": 2}, {"node_id": "a", "cwd": "../elsewhere"},
		{"node_id": "a", "command": "echo <what>"}, {"node_id": "B", "settings": map[string]any{"needs": []string{"B"}}}, {"node_id": "a", "settings": map[string]any{"needs": []string{}, "needs_all": true}}, {"node_id": "a", "settings": map[string]any{"retry": 11}}} {
		assert.NotEmpty(t, change(args), "%v", args)
	}
	assert.Equal(t, "COMMAND_BLOCKED", change(map[string]any{"node_id": "a", "command": "rm -rf /"}))
	assert.Equal(t, before, names())

	// What was shown is what changes.
	o := d.Ask("change_workflow_step", map[string]any{"workflow_id": id, "node_id": "a", "command": "echo one"})
	addStep(d, map[string]any{"workflow_id": id, "name": "d", "command": "echo d"})
	c := d.New("change_workflow_step", map[string]any{"workflow_id": id, "node_id": "a", "command": "echo one"})
	c.Token = o.Request.Token
	require.Error(t, d.Call(t.Context(), c).Err)
	assert.True(t, slices.Contains(names(), "a echo a"))
}

// TestWorkflowsOfNoProject: they run in the given directory, which must be in a registered project.
func TestWorkflowsOfNoProject(t *testing.T) {
	r := projectrig.New(t)
	d := r.OpenCore(nil)
	dir, _ := d.Project("shop", together)
	id := flowed(d, "flow", "", "here: pwd")
	addStep(d, map[string]any{"workflow_id": id, "name": "inner", "command": "sh where.sh", "cwd": "inner"})
	assert.Equal(t, "INVALID_ARGUMENT", code(d.Ask("run_workflow", map[string]any{"workflow_id": id})))
	out := d.Do("run_workflow", map[string]any{"workflow_id": id, "project_path": dir})
	assert.Contains(t, out["outputSummary"], "  > "+dir)
	assert.Contains(t, out["outputSummary"], "  > "+dir+"/inner")
	assert.Equal(t, "PATH_NOT_ALLOWED", code(d.Ask("run_workflow", map[string]any{"workflow_id": id, "project_path": r.Top})))
	assert.NotEmpty(t, code(d.Ask("add_workflow_step", map[string]any{"workflow_id": id, "name": "out", "command": "pwd", "cwd": "../out"})))
}
