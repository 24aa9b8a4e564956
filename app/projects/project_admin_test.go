package projects_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/app/projects"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/projectrig"
)

// workbench returns the tools for users only.
func workbench() []tool.Name {
	return []tool.Name{"project_add", "project_change", "project_remove", "project_settings", "workflow_change", "workflow_remove", "workflow_step_remove",
		"workflow_trigger_add", "workflow_webhook_set", "workflow_incoming_set", "action_save", "action_switch", "action_remove", "action_rule_set", "step_template_remove"}
}

// TestOnlyPeopleRegister: agents neither see nor can call these tools, with any configuration and any settings.
func TestOnlyPeopleRegister(t *testing.T) {
	r := projectrig.New(t)
	d := r.OpenCore(nil)
	_, of := d.Project("shop", shop)
	var listed []string
	for _, set := range d.Toolsets() {
		if set.Name == projects.WorkbenchName {
			listed = set.Hidden
			assert.Empty(t, set.Served)
		}
	}
	slices.Sort(listed)
	want := workbench()
	slices.Sort(want)
	assert.Equal(t, fmt.Sprint(want), fmt.Sprint(listed), "this test knows all of them")
	for s := range d.Specs() {
		assert.NotContains(t, want, s.Name)
	}
	settings(t, d, policy.FullAccess, map[string]policy.Setting{"project_add": policy.Allowed, "action_rule_set": policy.Allowed})
	for _, name := range want {
		for _, args := range []string{`{}`, `{"path":"/tmp","project":"` + string(of) + `"}`} {
			o := d.Ask(name, args)
			assert.Equal(t, "UNKNOWN_TOOL", code(o), name)
			assert.ErrorIs(t, o.Err, tool.ErrUnknown)
		}
	}
}

// byPerson returns the result of the user's call, approved if needed.
func byPerson(t *testing.T, d *projectrig.Core, name tool.Name, args any) tool.Outcome {
	t.Helper()
	c := d.New(name, args)
	c.FromUser = true
	o := d.Call(t.Context(), c)
	if o.Request != nil && o.Err != nil {
		c.Token = o.Request.Token
		o = d.Call(t.Context(), c)
	}
	return o
}

// TestRegisteringProjects: only directories that can hold a project are accepted, each once.
func TestRegisteringProjects(t *testing.T) {
	r := projectrig.New(t)
	d := r.OpenCore(nil)
	dir := r.Dir("shop", shop)
	require.NoError(t, os.Symlink(dir, r.Top+"/link"))
	for what, path := range map[string]string{"the root": "/", "home": r.Home, "above home": r.Top, "the system's": "/etc", "our own": r.State, "within our own": r.State + "/processes", "missing": r.Top + "/missing",
		"a file": dir + "/package.json", "relative": "shop", "nothing": ""} {
		assert.Equal(t, "INVALID_ARGUMENT", code(byPerson(t, d, "project_add", map[string]any{"path": path})), what)
	}
	o := byPerson(t, d, "project_add", map[string]any{"path": r.Top + "/link", "name": " The shop ", "description": " sells "})
	require.NoError(t, o.Err)
	made := projectrig.Object(t, o.Value)
	assert.Equal(t, []any{dir, "The shop", "sells"}, []any{made["path"], made["name"], made["description"]}, "links are resolved")
	o = byPerson(t, d, "project_add", map[string]any{"path": dir})
	assert.Equal(t, "CONFLICT", code(o))
	assert.ErrorContains(t, o.Err, "The shop")
	for _, name := range []string{strings.Repeat("x", 257), "a\x00b"} {
		assert.Equal(t, "INVALID_ARGUMENT", code(byPerson(t, d, "project_add", map[string]any{"path": r.Dir("other", ""), "name": name})))
	}
	for _, word := range []any{made["id"], "the SHOP", dir, dir + "/"} {
		assert.Equal(t, made["id"], d.ByPerson("project_settings", map[string]any{"project": word})["id"], word)
	}
	assert.Equal(t, "PROJECT_NOT_FOUND", code(byPerson(t, d, "project_settings", map[string]any{"project": "none"})))
	d.ByPerson("project_add", map[string]any{"path": r.Dir("second", ""), "name": "the shop"})
	assert.Equal(t, "CONFLICT", code(byPerson(t, d, "project_settings", map[string]any{"project": "the shop"})), "which one?")
}

// TestChangingProjects: only the given fields change, and unusable settings are errors.
func TestChangingProjects(t *testing.T) {
	r := projectrig.New(t)
	d := r.OpenCore(nil)
	_, id := d.Project("shop", shop)
	change := func(more map[string]any) tool.Outcome {
		return byPerson(t, d, "project_change", with(more, "project", id))
	}
	for _, bad := range []map[string]any{{"webhook_allow_hosts": []string{"169.254.169.254:80"}}, {"webhook_allow_hosts": []string{"localhost"}}, {"webhook_allow_hosts": []string{"*:443"}}} {
		assert.Equal(t, "URL_BLOCKED", code(change(bad)), bad)
	}
	for _, bad := range []map[string]any{{"env_pass": []string{"A B"}}, {"env_pass": []string{"A=1"}}, {"env_pass": []string{""}}, {"name": strings.Repeat("x", 257)}, {"description": strings.Repeat("x", 2049)}} {
		assert.Equal(t, "INVALID_ARGUMENT", code(change(bad)), bad)
	}
	require.NoError(t, change(map[string]any{"env_pass": []string{"NPM_TOKEN"}, "description": "d"}).Err)
	require.NoError(t, change(map[string]any{"webhook_allow_hosts": []string{"localhost:3000"}, "name": "N"}).Err)
	now := d.ByPerson("project_settings", map[string]any{"project": id})
	assert.Equal(t, []any{"N", "d", 3.0}, []any{now["name"], now["description"], now["revision"]})
	assert.Equal(t, map[string]any{"envPass": []any{"NPM_TOKEN"}, "webhookAllowHosts": []any{"localhost:3000"}}, now["settings"])
	require.NoError(t, change(map[string]any{"description": "", "env_pass": []string{}}).Err)
	now = d.ByPerson("project_settings", map[string]any{"project": id})
	assert.Equal(t, map[string]any{"webhookAllowHosts": []any{"localhost:3000"}}, now["settings"])
	assert.NotContains(t, now, "description")
}

// TestRemovingProjects: it removes their actions, leaves their workflows, and touches no file. It needs approval, again if things have changed.
func TestRemovingProjects(t *testing.T) {
	r := projectrig.New(t)
	d := r.OpenCore(nil)
	dir, id := d.Project("shop", shop)
	action := d.ByPerson("action_save", map[string]any{"type": "script", "name": "greet", "project": id, "script": map[string]any{"command": "true"}})["id"]
	flow := flowed(d, "flow", id, "one: true")
	c := d.New("project_remove", map[string]any{"project": id})
	c.FromUser = true
	o := d.Call(t.Context(), c)
	assert.Equal(t, "CONFIRMATION_PENDING", code(o))
	assert.Contains(t, string(o.Request.Plan), `"actions_forgotten":["greet"]`)
	c.Token = o.Request.Token
	d.ByPerson("action_save", map[string]any{"type": "script", "name": "more", "project": id, "script": map[string]any{"command": "true"}})
	assert.Equal(t, "CONFLICT", code(d.Call(t.Context(), c)))
	d.ByPerson("project_remove", map[string]any{"project": id})
	assert.Equal(t, "ACTION_NOT_FOUND", code(d.Ask("get_action", map[string]any{"actionId": action})))
	assert.NotContains(t, d.Do("get_workflow", map[string]any{"workflow_id": flow}), "projectId")
	assert.Equal(t, "INVALID_ARGUMENT", code(d.Ask("run_workflow", map[string]any{"workflow_id": flow})), "it says nowhere to run any more")
	assert.Equal(t, "PATH_NOT_ALLOWED", code(d.Ask("get_project", map[string]any{"path": dir})))
	assert.FileExists(t, dir+"/package.json")
}

// TestChangingWorkflows covers renaming, removing steps, and deleting.
func TestChangingWorkflows(t *testing.T) {
	r := projectrig.New(t)
	d := r.OpenCore(nil)
	_, of := d.Project("shop", shop)
	id := flowed(d, "flow", of, "a: true", "b: true", "c: true")
	nodes := d.Do("get_workflow", map[string]any{"workflow_id": id})["nodes"].([]any)
	d.ByPerson("workflow_step_remove", map[string]any{"workflow_id": id, "node_id": nodes[1].(map[string]any)["id"]})
	assert.Equal(t, "INVALID_ARGUMENT", code(byPerson(t, d, "workflow_step_remove", map[string]any{"workflow_id": id, "node_id": "none"})))
	d.ByPerson("workflow_change", map[string]any{"workflow_id": id, "name": "other", "max_history": 7})
	now := d.Do("get_workflow", map[string]any{"workflow_id": id})
	assert.Equal(t, []any{"other", 7.0, 2.0}, []any{now["name"], now["maxHistory"], now["nodeCount"]})
	for i, n := range now["nodes"].([]any) {
		assert.EqualValues(t, i, n.(map[string]any)["order"])
	}
	for _, bad := range []map[string]any{{"max_history": 501}, {"max_history": 0}, {"name": strings.Repeat("x", 257)}} {
		assert.Equal(t, "INVALID_ARGUMENT", code(byPerson(t, d, "workflow_change", with(bad, "workflow_id", id))), bad)
	}
	d.ByPerson("workflow_remove", map[string]any{"workflow_id": id})
	assert.Equal(t, "WORKFLOW_NOT_FOUND", code(byPerson(t, d, "workflow_remove", map[string]any{"workflow_id": id})))
}

// TestWebhooksOfWorkflows: invalid ones are errors; the token of an incoming one is stored as a digest.
func TestWebhooksOfWorkflows(t *testing.T) {
	r := projectrig.New(t)
	d := r.OpenCore(nil)
	_, of := d.Project("shop", shop)
	id := flowed(d, "flow", of, "a: true")
	outgoing := func(more map[string]any) string {
		return code(byPerson(t, d, "workflow_webhook_set", with(more, "workflow_id", id)))
	}
	assert.Equal(t, "URL_BLOCKED", outgoing(map[string]any{"url": "ftp://example.org"}))
	assert.Equal(t, "INVALID_ARGUMENT", outgoing(map[string]any{"url": "https://example.org", "headers": map[string]string{"Host": "x"}}))
	assert.Equal(t, "INVALID_ARGUMENT", outgoing(map[string]any{"url": "https://example.org", "trigger": "sometimes"}))
	assert.Empty(t, outgoing(map[string]any{"url": "https://example.org/x"}))
	assert.Equal(t, "always", d.Do("get_workflow", map[string]any{"workflow_id": id})["webhook"].(map[string]any)["trigger"])
	assert.Empty(t, outgoing(nil))
	assert.NotContains(t, d.Do("get_workflow", map[string]any{"workflow_id": id}), "webhook")

	incoming := func(more map[string]any) tool.Outcome {
		return byPerson(t, d, "workflow_incoming_set", with(more, "workflow_id", id))
	}
	const token, secret = "a-token-of-more-than-twenty", "a-secret-of-more-than-twenty"
	for _, bad := range []map[string]any{{"enabled": true}, {"enabled": true, "token": "short"}, {"enabled": true, "token": token, "require_signature": true}, {}} {
		assert.Equal(t, "INVALID_ARGUMENT", code(incoming(bad)), bad)
	}
	o := incoming(map[string]any{"enabled": true, "token": token, "secret": secret, "require_signature": true})
	require.NoError(t, o.Err)
	now := d.Do("get_workflow", map[string]any{"workflow_id": id})
	hook := now["incomingWebhook"].(map[string]any)
	assert.Equal(t, now["revision"], hook["approvedRevision"], "as it is now")
	stored, err := r.Catalogue().Workflows.Find(t.Context(), id)
	require.NoError(t, err)
	assert.NotContains(t, stored.Incoming.TokenDigest, token)
	for _, text := range []string{fmt.Sprint(now), string(o.Value)} {
		assert.NotContains(t, text, token)
		assert.NotContains(t, text, secret)
		assert.NotContains(t, text, stored.Incoming.TokenDigest)
	}
	require.NoError(t, incoming(map[string]any{"enabled": false}).Err)
	assert.NotContains(t, d.Do("get_workflow", map[string]any{"workflow_id": id}), "incomingWebhook")
}

// TestSavingActions: actions that could not run, or would be dangerous, are rejected when they are saved.
func TestSavingActions(t *testing.T) {
	r := projectrig.New(t)
	d := r.OpenCore(nil)
	_, of := d.Project("shop", shop)
	script := func(config map[string]any) map[string]any {
		return map[string]any{"type": "script", "name": "x", "project": of, "script": config}
	}
	for what, c := range map[string]struct {
		args map[string]any
		want string
	}{
		"no config":            {map[string]any{"type": "script", "name": "x"}, "INVALID_ARGUMENT"},
		"two configs":          {with(script(map[string]any{"command": "true"}), "webhook", map[string]any{"url": "https://example.org"}), "INVALID_ARGUMENT"},
		"a shell line":         {script(map[string]any{"command": "rm -rf x"}), "INVALID_ARGUMENT"},
		"a blocked program":    {script(map[string]any{"command": "rm", "args": []string{"-rf", "/"}}), "COMMAND_BLOCKED"},
		"variables of loaders": {script(map[string]any{"command": "true", "env": map[string]string{"LD_PRELOAD": "x"}}), "PERMISSION_DENIED"},
		"PATH":                 {script(map[string]any{"command": "true", "env": map[string]string{"PATH": "/evil"}}), "PERMISSION_DENIED"},
		"no variable":          {script(map[string]any{"command": "true", "env": map[string]string{"A B": "x"}}), "INVALID_ARGUMENT"},
		"an unknown key":       {script(map[string]any{"command": "true", "shell": true}), "INVALID_ARGUMENT"},
		"no such project":      {with(script(map[string]any{"command": "true"}), "project", "none"), "PROJECT_NOT_FOUND"},
		"no such workflow":     {map[string]any{"type": "workflow", "name": "x", "workflow": map[string]any{"workflowId": "none"}}, "WORKFLOW_NOT_FOUND"},
		"no such action":       {with(script(map[string]any{"command": "true"}), "id", "none"), "ACTION_NOT_FOUND"},
		"user in the URL":      {map[string]any{"type": "webhook", "name": "x", "webhook": map[string]any{"url": "https://a:b@example.org"}}, "URL_BLOCKED"},
		"a host of variables":  {map[string]any{"type": "webhook", "name": "x", "webhook": map[string]any{"url": "https://{{host}}/x"}}, "URL_BLOCKED"},
		"unverified":           {map[string]any{"type": "webhook", "name": "x", "webhook": map[string]any{"url": "https://example.org", "verifySsl": false}}, "INVALID_ARGUMENT"},
		"a broken template":    {map[string]any{"type": "webhook", "name": "x", "webhook": map[string]any{"url": "https://example.org", "payloadTemplate": "{"}}, "INVALID_ARGUMENT"},
	} {
		assert.Equal(t, c.want, code(byPerson(t, d, "action_save", c.args)), what)
	}
	saved := d.ByPerson("action_save", script(map[string]any{"command": "true"}))
	assert.Equal(t, []any{"script", "x", true, 1.0}, []any{saved["actionType"], saved["name"], saved["isEnabled"], saved["revision"]})
	again := d.ByPerson("action_save", with(with(script(map[string]any{"command": "false"}), "id", saved["id"]), "disabled", true))
	assert.Equal(t, []any{saved["id"], false, 2.0}, []any{again["id"], again["isEnabled"], again["revision"]})
	settings(t, d, policy.ExecuteWithConfirm, map[string]policy.Setting{"action_save": policy.AlwaysConfirm})
	c := d.New("action_save", script(map[string]any{"command": "true", "env": map[string]string{"A_TOKEN": "one-secret-value"}}))
	c.FromUser = true
	o := d.Call(t.Context(), c)
	require.NotNil(t, o.Request)
	assert.NotContains(t, string(o.Request.Plan), "one-secret-value")
	c.Token, c.Args = o.Request.Token, []byte(strings.Replace(string(c.Args), "one-secret-value", "two-secret-value", 1))
	assert.Equal(t, "CONFLICT", code(d.Call(t.Context(), c)), "what is not shown is confirmed all the same")
	settings(t, d, policy.ExecuteWithConfirm, nil)
	d.ByPerson("action_remove", map[string]any{"actionId": saved["id"]})
	assert.Equal(t, "ACTION_NOT_FOUND", code(byPerson(t, d, "action_remove", map[string]any{"actionId": saved["id"]})))
	template := d.Do("create_step_template", map[string]any{"name": "mine", "command": "true"})["templateId"]
	d.ByPerson("step_template_remove", map[string]any{"templateId": template})
	for _, id := range []any{template, "git-reflog"} {
		assert.Equal(t, "INVALID_ARGUMENT", code(byPerson(t, d, "step_template_remove", map[string]any{"templateId": id})), "built-in ones stay")
	}
}
