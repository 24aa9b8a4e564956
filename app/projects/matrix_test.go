package projects_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/app/projects"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/gitfixture"
	"github.com/countersign-dev/countersign/internal/testkit/person"
	"github.com/countersign-dev/countersign/internal/testkit/projectrig"
)

// world has one of everything, and for each of the 32 tools valid arguments, every one of them set.
type world struct {
	*projectrig.Rig
	core *projectrig.Core
	args map[tool.Name]map[string]any
}

func newWorld(t *testing.T) world {
	t.Helper()
	r := projectrig.New(t)
	d := r.OpenCore(nil)
	repo := gitfixture.New(t, shop)
	r.Write(repo.Dir, "Procfile", "one: true")
	id := string(d.Register(repo.Dir))
	whole := gitfixture.New(t, "first\n-- package.json --\n{\"workspaces\":[\"one\"]}\n-- one/package.json --\n{\"name\":\"one\",\"scripts\":{\"build\":\"sh build.sh\"}}\n-- one/build.sh --\necho built")
	r.Write(whole.Dir, "one/new.js", "")
	d.Register(whole.Dir)
	server, _ := hooks(t)
	d.ByPerson("project_change", map[string]any{"project": id, "webhook_allow_loopback": true, "webhook_allow_hosts": []string{strings.TrimPrefix(server.URL, "http://")}})
	hook := d.ByPerson("action_save", map[string]any{"type": "webhook", "name": "tell", "project": id, "webhook": map[string]any{"url": server.URL + "/hook"}})["id"]
	inputs := []map[string]any{{"name": "WHO", "default": "x"}}
	flow := d.Do("create_workflow", map[string]any{"name": "flow", "project_id": id, "inputs": inputs})["workflowId"]
	d.Do("add_workflow_step", map[string]any{"workflow_id": flow, "name": "one", "command": "true"})
	process := d.Do("run_npm_script", map[string]any{"projectPath": repo.Dir, "scriptName": "build", "runInBackground": true})["process_id"]
	r.Soon(func() bool { return processes(t, d)[0]["status"] == "completed" }, "the script ends")
	execution := d.Fresh().Do("run_workflow", map[string]any{"workflow_id": flow})["executionId"]
	type args = map[string]any
	project, tree := args{"project_path": repo.Dir}, args{"worktree_path": repo.Dir}
	return world{Rig: r, core: d, args: map[tool.Name]map[string]any{
		"list_projects": {"query": "clone"}, "get_project": {"path": repo.Dir}, "list_project_scripts": project, "list_project_tasks": project, "list_worktrees": project, "get_git_status": project,
		"get_staged_diff": project, "get_worktree_status": tree, "get_git_diff": tree,
		"list_workflows": {"project_id": id}, "get_workflow": {"workflow_id": flow},
		"list_step_templates": {"category": "git", "query": "log", "include_builtin": true},
		"list_actions":        {"actionType": "webhook", "projectId": id, "enabledOnly": true}, "get_action": {"actionId": hook},
		"list_action_executions": {"actionId": hook, "actionType": "webhook", "status": "completed", "limit": 3},
		"get_execution_status":   {"executionId": execution}, "get_action_permissions": {"actionId": hook},
		"list_background_processes": {}, "get_background_process_output": {"processId": process, "tailLines": 5, "sinceSeq": 0},
		"run_script":              {"script_name": "build", "project_path": repo.Dir},
		"run_npm_script":          {"projectPath": repo.Dir, "scriptName": "build", "args": []string{"x"}, "timeoutMs": 60000, "runInBackground": true, "successPattern": "built", "successTimeoutMs": 20000},
		"run_task":                {"projectPath": whole.Dir, "task": "build", "members": []string{"one"}, "changedSince": "HEAD", "args": []string{"x"}, "timeoutMs": 60000, "runInBackground": true, "successPattern": "built", "successTimeoutMs": 20000},
		"run_workflow":            {"workflow_id": flow, "project_path": repo.Dir, "inputs": map[string]any{"WHO": "y"}, "force": true},
		"trigger_webhook":         {"webhook_id": hook, "payload": args{"a": 1}, "variables": map[string]string{"b": "c"}},
		"stop_background_process": {"processId": process, "force": true},
		"create_workflow":         {"name": "another", "description": "x", "project_id": id, "inputs": inputs},
		"add_workflow_step":       {"workflow_id": flow, "name": "two", "command": "true", "cwd": ".", "order": 1, "timeout": 60000, "settings": map[string]any{"needs": []string{"one"}, "retry": 1, "retry_delay_ms": 10, "files": []string{"*.js"}}},
		"change_workflow_step":    {"workflow_id": flow, "node_id": "one", "name": "one", "command": "true", "cwd": ".", "order": 0, "timeout": 60000, "settings": map[string]any{"needs": []string{}, "retry": 1, "retry_delay_ms": 10, "files": []string{}}},
		"services_up":             {"projectPath": repo.Dir, "file": "Procfile", "names": []string{"one"}, "restart": true, "attached": true},
		"services_down":           {"projectPath": repo.Dir, "file": "Procfile", "names": []string{"one"}},
		"list_services":           {"projectPath": repo.Dir, "file": "Procfile"},
		"create_step_template":    {"name": "mine", "command": "true", "category": "shell", "description": "x"},
	}}
}

// tools returns the 32, by name.
func (w world) tools(t *testing.T) map[tool.Name]tool.Spec {
	t.Helper()
	specs := map[tool.Name]tool.Spec{}
	for s := range w.core.Specs() {
		if s.Toolset == projects.Name {
			specs[s.Name] = s
		}
	}
	require.ElementsMatch(t, slices.Collect(maps.Keys(w.args)), slices.Collect(maps.Keys(specs)))
	require.Len(t, specs, 32)
	return specs
}

// settings stores settings as the user does.
func settings(t *testing.T, d *projectrig.Core, level policy.Level, tools map[string]policy.Setting, auto ...string) {
	t.Helper()
	person.Settings(t, d.App, func(s *app.Settings) error {
		s.Level, s.Tools, s.Auto = level, tools, policy.AutoApprove{Enabled: len(auto) > 0, Tools: auto}
		return nil
	})
}

// TestDecisions calls each tool with each level and each setting of its own: 384 decisions (packageflow-security contract §3.3).
func TestDecisions(t *testing.T) {
	w := newWorld(t)
	levels := []policy.Level{policy.ReadOnly, policy.ExecuteWithConfirm, policy.FullAccess}
	table := map[string]map[policy.Setting]string{ // by level: read only, confirm, full
		"read": {0: "aaa", policy.Allowed: "aaa", policy.AlwaysConfirm: "ccc", policy.Blocked: "ddd"},
		"":     {0: "dca", policy.Allowed: "aaa", policy.AlwaysConfirm: "ccc", policy.Blocked: "ddd"},
	}
	specs, decided := w.tools(t), 0
	for i, level := range levels {
		for _, set := range []policy.Setting{0, policy.Allowed, policy.AlwaysConfirm, policy.Blocked} {
			tools := map[string]policy.Setting{}
			for name := range specs {
				tools[string(name)] = set
			}
			if set == 0 {
				tools = nil
			}
			d := w.core.Fresh()
			settings(t, d, level, tools)
			for _, name := range slices.Sorted(maps.Keys(specs)) {
				row := table[""]
				if specs[name].Class == policy.ClassRead {
					row = table["read"]
				}
				o := d.Ask(name, w.args[name])
				got := map[string]string{"": "a", "CONFIRMATION_PENDING": "c", "PERMISSION_DENIED": "d"}[code(o)]
				assert.Equal(t, string(row[set][i]), got, "%s under %s, itself %s: %v %s", name, level, set, o.Err, o.Decision.Rule)
				assert.Equal(t, got == "c", o.Request != nil && !o.Request.Token.IsZero(), "a token comes with the question")
				assert.NotEmpty(t, o.Decision.Rule, "every decision names its source")
				decided++
			}
		}
	}
	assert.Equal(t, 384, decided)
}

// TestAutoApproval: it approves what only the level asks, for the listed tools, and nothing of high risk.
func TestAutoApproval(t *testing.T) {
	w := newWorld(t)
	build := w.args["run_script"]
	workflow := w.args["create_workflow"]
	for name, c := range map[string]struct {
		level   policy.Level
		set     policy.Setting
		auto    []string
		script  string
		another string // the result of the tool that is not listed
	}{
		"the level asks":        {policy.ExecuteWithConfirm, 0, []string{"run_script"}, "", "CONFIRMATION_PENDING"},
		"the tool asks":         {policy.ExecuteWithConfirm, policy.AlwaysConfirm, []string{"run_script"}, "CONFIRMATION_PENDING", "CONFIRMATION_PENDING"},
		"it is blocked":         {policy.ExecuteWithConfirm, policy.Blocked, []string{"run_script"}, "PERMISSION_DENIED", "CONFIRMATION_PENDING"},
		"the level forbids":     {policy.ReadOnly, 0, []string{"run_script"}, "PERMISSION_DENIED", "PERMISSION_DENIED"},
		"an empty list":         {policy.ExecuteWithConfirm, 0, nil, "CONFIRMATION_PENDING", "CONFIRMATION_PENDING"},
		"names are exact":       {policy.ExecuteWithConfirm, 0, []string{"Run_Script", " run_script"}, "CONFIRMATION_PENDING", "CONFIRMATION_PENDING"},
		"everything is allowed": {policy.FullAccess, 0, nil, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := w.core.Fresh()
			settings(t, d, c.level, map[string]policy.Setting{"run_script": c.set}, c.auto...)
			assert.Equal(t, c.script, code(d.Ask("run_script", build)))
			assert.Equal(t, c.another, code(d.Ask("create_workflow", workflow)))
		})
	}
	settings(t, w.core, policy.ExecuteWithConfirm, nil, "run_script", "trigger_webhook")
	assert.Equal(t, "CONFIRMATION_PENDING", code(w.core.Ask("trigger_webhook", w.args["trigger_webhook"])), "a request to this very machine is of high risk")
}

// TestArguments passes each argument of each tool in every invalid way, and in the other casing (packageflow contract §2.2).
func TestArguments(t *testing.T) {
	w := newWorld(t)
	tried := 0
	for name, spec := range w.tools(t) {
		var schema struct {
			Properties map[string]struct{ Type string }
			Required   []string
		}
		require.NoError(t, json.Unmarshal(spec.Input, &schema))
		delete(schema.Properties, "confirm_token")
		delete(schema.Properties, "typed_value")
		given := w.args[name]
		require.ElementsMatch(t, slices.Collect(maps.Keys(schema.Properties)), slices.Collect(maps.Keys(given)), "%s: the test gives each argument", name)
		t.Run(string(name), func(t *testing.T) {
			d := w.core.Fresh()
			try := func(args map[string]any) tool.Outcome {
				tried++
				c := d.New(name, args)
				c.Mode = policy.Plan
				o := d.Call(t.Context(), c)
				if code(o) == "RATE_LIMITED" {
					d = d.Fresh()
					return d.Call(t.Context(), c)
				}
				return o
			}
			want := try(given)
			require.NoError(t, want.Err)
			refused := func(say string, args map[string]any) {
				o := try(args)
				assert.Equal(t, "INVALID_ARGUMENT", code(o), "%v: %s", args, o.Value)
				if say != "" && o.Err != nil {
					assert.ErrorContains(t, o.Err, say)
				}
			}
			refused("not supported", with(given, "unheard_of", true))
			for argument, p := range schema.Properties {
				wrong := map[string]any{"string": 7, "integer": "7", "boolean": "true", "array": "x", "object": []int{1}}[p.Type]
				refused(argument, with(given, argument, wrong))
				refused(argument, with(given, argument, nil))
				if slices.Contains(schema.Required, argument) {
					refused(argument, with(given, argument, absent))
					if p.Type == "string" {
						empty := try(with(given, argument, ""))
						assert.Contains(t, []string{"INVALID_ARGUMENT", "PATH_NOT_ALLOWED", "SCRIPT_NOT_FOUND"}, code(empty), "an empty %s", argument)
					}
				}
				other := otherCasing(argument)
				if other == argument {
					continue
				}
				refused("not supported", with(given, strings.ToUpper(argument), given[argument]))
				got := try(with(with(given, argument, absent), other, given[argument]))
				if assert.NoError(t, got.Err, "%s for %s", other, argument) {
					assert.Equal(t, string(want.Value), string(got.Value), "%s for %s", other, argument)
				}
				require.NoError(t, try(with(given, other, given[argument])).Err, "the same value in both")
				refused("different values", with(given, other, fmt.Sprint(given[argument], "x")))
			}
		})
	}
	assert.Greater(t, tried, 300)
}

// TestConsentIsNoArgument: an argument that looks like an approval is not one, in any spelling.
func TestConsentIsNoArgument(t *testing.T) {
	w := newWorld(t)
	for _, word := range []string{"confirmToken", "typedValue", "confirm", "approved", "yes", "dryRun", "force_run", "person"} {
		o := w.core.Ask("run_script", with(w.args["run_script"], word, "x"))
		assert.Equal(t, "INVALID_ARGUMENT", code(o), word)
	}
	o := w.core.Ask("run_script", with(w.args["run_script"], "confirmToken", "x"))
	assert.ErrorContains(t, o.Err, "confirm_token")
}

// TestEitherForm: run_script and trigger_webhook accept either casing, and only one form at a time.
func TestEitherForm(t *testing.T) {
	w := newWorld(t)
	hook, d := w.args["trigger_webhook"]["webhook_id"], w.core
	for _, args := range []string{`{"actionId":%q}`, `{"action_id":%q}`, `{"webhookId":%q}`, `{"webhook_id":%[1]q,"actionId":%[1]q}`} {
		assert.Equal(t, "CONFIRMATION_PENDING", code(d.Ask("trigger_webhook", fmt.Sprintf(args, hook))), args)
	}
	for _, args := range []string{`{"actionId":"a","action_id":"b"}`, `{"webhookId":"a","actionId":"b"}`, `{"webhook_id":"a","webhookId":"b"}`, `{"actionId":null}`, `{"actionId":7}`, `{"actionId":""}`, `[]`, `null`, `"x"`} {
		assert.Equal(t, "INVALID_ARGUMENT", code(d.Ask("trigger_webhook", args)), args)
	}
	for _, args := range []string{`{"actionId":"a","action_id":"b"}`, `{"actionId":"a","scriptName":"b"}`, `{"action_id":"a","project_path":"/b"}`, `{"actionId":"a","x":1}`, `{"actionId":"a","args":"x"}`, `{"actionId":null}`, `{"actionId":""}`} {
		assert.Equal(t, "INVALID_ARGUMENT", code(d.Ask("run_script", args)), args)
	}
}

// absent removes an argument.
const absent = absence(0)

type absence int

// with returns the arguments with one of them changed.
func with(args map[string]any, name string, value any) map[string]any {
	out := maps.Clone(args)
	if out == nil {
		out = map[string]any{}
	}
	if out[name] = value; value == absent {
		delete(out, name)
	}
	return out
}

// otherCasing computes the other casing independently of the tools.
func otherCasing(name string) string {
	if strings.Contains(name, "_") {
		words := strings.Split(name, "_")
		for i, word := range words[1:] {
			words[i+1] = strings.ToUpper(word[:1]) + word[1:]
		}
		return strings.Join(words, "")
	}
	var out strings.Builder
	for _, r := range name {
		if r >= 'A' && r <= 'Z' {
			out.WriteString("_" + strings.ToLower(string(r)))
		} else {
			out.WriteRune(r)
		}
	}
	return out.String()
}
