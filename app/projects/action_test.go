package projects_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/projectrig"
)

// TestActionRules: the stored rule of an action, a type, or all, combined with the level and the tool's own setting (packageflow-security contract
// §3.3).
func TestActionRules(t *testing.T) {
	r := projectrig.New(t)
	d := r.OpenCore(nil)
	_, of := d.Project("shop", shop)
	action := d.ByPerson("action_save", map[string]any{"type": "script", "name": "greet", "project": of, "script": map[string]any{"command": "true"}})["id"]
	risky := d.ByPerson("action_save", map[string]any{"type": "script", "name": "risky", "project": of, "script": map[string]any{"command": "git", "args": []string{"push", "--force"}}})["id"]
	rule := func(level any, of map[string]any) {
		d.ByPerson("action_rule_set", with(of, "permissionLevel", level))
	}
	const asks, denied = "CONFIRMATION_PENDING", "PERMISSION_DENIED"
	byID := map[string]any{"actionId": action}
	for name, c := range map[string]struct {
		level policy.Level
		set   policy.Setting
		rules map[string]map[string]any // level → whose
		run   any
		want  string
		from  string
	}{
		"none":                        {policy.ExecuteWithConfirm, 0, nil, action, asks, "default"},
		"none, full access":           {policy.FullAccess, 0, nil, action, "", "default"},
		"denied":                      {policy.FullAccess, 0, map[string]map[string]any{"deny": byID}, action, denied, "action"},
		"denied, though allowed":      {policy.FullAccess, policy.Allowed, map[string]map[string]any{"deny": byID}, action, denied, "action"},
		"denied by its type":          {policy.FullAccess, 0, map[string]map[string]any{"deny": {"actionType": "script"}}, action, denied, "type"},
		"denied by all":               {policy.FullAccess, 0, map[string]map[string]any{"deny": {}}, action, denied, "global"},
		"another type is":             {policy.FullAccess, 0, map[string]map[string]any{"deny": {"actionType": "webhook"}}, action, "", "default"},
		"its own outranks its type's": {policy.ExecuteWithConfirm, 0, map[string]map[string]any{"auto_approve": byID, "deny": {"actionType": "script"}}, action, "", "action"},
		"approved":                    {policy.ExecuteWithConfirm, 0, map[string]map[string]any{"auto_approve": byID}, action, "", "action"},
		"approved, the tool asks":     {policy.ExecuteWithConfirm, policy.AlwaysConfirm, map[string]map[string]any{"auto_approve": byID}, action, asks, "action"},
		"approved, the tool is shut":  {policy.ExecuteWithConfirm, policy.Blocked, map[string]map[string]any{"auto_approve": byID}, action, denied, "action"},
		"approved, read only":         {policy.ReadOnly, 0, map[string]map[string]any{"auto_approve": byID}, action, denied, "action"},
		"approved, of high risk":      {policy.ExecuteWithConfirm, 0, map[string]map[string]any{"auto_approve": {"actionId": risky}}, risky, asks, "action"},
		"asked, full access":          {policy.FullAccess, 0, map[string]map[string]any{"require_confirm": byID}, action, asks, "action"},
		"asked, the tool is allowed":  {policy.ExecuteWithConfirm, policy.Allowed, map[string]map[string]any{"require_confirm": {}}, action, asks, "global"},
	} {
		t.Run(name, func(t *testing.T) {
			for level, of := range c.rules {
				rule(level, of)
			}
			settings(t, d, c.level, map[string]policy.Setting{"run_script": c.set})
			assert.Equal(t, c.want, code(d.Fresh().Ask("run_script", map[string]any{"actionId": c.run})))
			assert.Equal(t, c.from, d.Do("get_action_permissions", map[string]any{"actionId": c.run})["resolvedFrom"])
			settings(t, d, policy.ExecuteWithConfirm, nil)
			for _, of := range c.rules {
				rule(absent, of)
			}
			assert.Empty(t, d.Do("get_action_permissions", nil)["permissions"], "rules are forgotten")
		})
	}
	d.ByPerson("action_switch", map[string]any{"actionId": action, "enabled": false})
	settings(t, d, policy.FullAccess, nil)
	assert.Equal(t, "ACTION_DISABLED", code(d.Ask("run_script", map[string]any{"actionId": action})))
	assert.Empty(t, d.Do("list_actions", map[string]any{"actionType": "script", "enabledOnly": true, "projectId": of})["actions"].([]any)[1:])
}

// TestRulesAreOneEach: a later rule replaces the earlier one.
func TestRulesAreOneEach(t *testing.T) {
	r := projectrig.New(t)
	d := r.OpenCore(nil)
	action := d.ByPerson("action_save", map[string]any{"type": "script", "name": "greet", "script": map[string]any{"command": "true", "cwd": "/x"}})["id"]
	for _, level := range []string{"deny", "auto_approve", "require_confirm"} {
		for _, of := range []map[string]any{{"actionId": action}, {"actionType": "script"}, {}} {
			answer := d.ByPerson("action_rule_set", with(of, "permissionLevel", level))
			assert.Equal(t, level, answer["permissionLevel"])
		}
	}
	all := d.Do("get_action_permissions", nil)["permissions"].([]any)
	require.Len(t, all, 3)
	assert.Equal(t, action, all[0].(map[string]any)["actionId"], "actions first, then types, then all")
	assert.Equal(t, "script", all[1].(map[string]any)["actionType"])
	c := d.New("action_rule_set", map[string]any{"actionId": "none", "permissionLevel": "deny"})
	c.FromUser = true
	assert.Equal(t, "ACTION_NOT_FOUND", code(d.Call(t.Context(), c)))
	c.Args = json.RawMessage(`{"actionId":"a","actionType":"script","permissionLevel":"deny"}`)
	assert.Equal(t, "INVALID_ARGUMENT", code(d.Call(t.Context(), c)))
	d.ByPerson("action_remove", map[string]any{"actionId": action})
	assert.Len(t, d.Do("get_action_permissions", nil)["permissions"], 2, "its rule goes with it")
}

// TestWebhookBodies: they are made from the template and its variables, or are the given payload.
func TestWebhookBodies(t *testing.T) {
	r := projectrig.New(t)
	d := r.OpenCore(nil)
	_, of := d.Project("shop", shop)
	server, last := hooks(t)
	host := strings.TrimPrefix(server.URL, "http://")
	save := func(config map[string]any) any {
		return d.ByPerson("action_save", map[string]any{"type": "webhook", "name": "hook", "project": of, "webhook": with(config, "url", server.URL+"/{{path}}")})["id"]
	}
	template := save(map[string]any{"payloadTemplate": `{"text":"{{text}}","n":1}`, "headers": map[string]string{"X-Note": "{{text}}"}})
	assert.Equal(t, "URL_BLOCKED", code(d.Ask("trigger_webhook", map[string]any{"webhook_id": template})), "nobody allowed it yet")
	d.ByPerson("project_change", map[string]any{"project": of, "webhook_allow_hosts": []string{host}})
	assert.Equal(t, "URL_BLOCKED", code(d.Ask("trigger_webhook", map[string]any{"webhook_id": template})), "this machine takes another word")
	d.ByPerson("project_change", map[string]any{"project": of, "webhook_allow_loopback": true})
	for name, c := range map[string]struct {
		args         string
		path, body   string
		note, refuse string
	}{
		"variables":          {`"variables":{"path":"a b/c","text":"say \"hi\" \\ \n ü"}`, "/a%20b%2Fc", "", "", "INVALID_ARGUMENT"}, // no header holds a line break
		"a quiet variable":   {`"variables":{"path":"a b/c?","text":"say \"hi\" \\ ü"}`, "/a%20b%2Fc%3F", `{"text":"say \"hi\" \\ ü","n":1}`, `say "hi" \ ü`, ""},
		"a payload":          {`"variables":{"path":"p","text":"t"},"payload":{"b":[1,"{{text}}"],"a":null}`, "/p", `{"b":[1,"{{text}}"],"a":null}`, "t", ""},
		"too large":          {`"payload":{"a":"` + strings.Repeat("x", 257<<10) + `"}`, "", "", "", "INVALID_ARGUMENT"},
		"variables not text": {`"variables":{"path":7}`, "", "", "", "INVALID_ARGUMENT"},
	} {
		t.Run(name, func(t *testing.T) {
			o := d.Confirmed("trigger_webhook", fmt.Sprintf(`{"webhook_id":%q,%s}`, template, c.args))
			require.Equal(t, c.refuse, code(o), "%v", o.Err)
			if c.refuse != "" {
				return
			}
			request, body := last()
			assert.Equal(t, c.path, request.URL.EscapedPath())
			assert.Equal(t, c.body, body)
			assert.Equal(t, c.note, request.Header.Get("X-Note"))
			assert.Equal(t, "POST", request.Method)
			assert.NotContains(t, string(o.Value), "Set-Cookie")
		})
	}
}

// TestActionSecrets: they are in no view, plan, result, error, execution or audit record.
func TestActionSecrets(t *testing.T) {
	r := projectrig.New(t)
	d := r.OpenCore(nil)
	dir, of := d.Project("shop", shop)
	server, _ := hooks(t)
	d.ByPerson("project_change", map[string]any{"project": of, "webhook_allow_loopback": true, "webhook_allow_hosts": []string{strings.TrimPrefix(server.URL, "http://")}})
	secrets := []string{"k-123456789secret", "s3cr3tvalue", "topsecret-token", "ghp_0123456789abcdefghijABCDEFGHIJ"}
	hook := d.ByPerson("action_save", map[string]any{"type": "webhook", "name": "hook", "project": of,
		"webhook": map[string]any{"url": server.URL + "/broken?token=" + secrets[1], "headers": map[string]string{"X-Api-Key": secrets[0]}}})["id"]
	r.Write(dir, "leak.sh", `echo "my token is $API_TOKEN"; echo "$API_TOKEN" >&2; exit 1`)
	script := d.ByPerson("action_save", map[string]any{"type": "script", "name": "leak", "project": of,
		"script": map[string]any{"command": "sh", "args": []string{"leak.sh"}, "env": map[string]string{"API_TOKEN": secrets[2], "PATH_LIKE": "x"}}})["id"]
	var outcomes []tool.Outcome
	for _, call := range []struct {
		name tool.Name
		args map[string]any
	}{{"list_actions", nil}, {"get_action", map[string]any{"actionId": hook}}, {"get_action", map[string]any{"actionId": script}},
		{"trigger_webhook", map[string]any{"webhook_id": hook, "payload": map[string]any{"auth": secrets[3]}}}, {"run_script", map[string]any{"actionId": script, "args": []string{secrets[3]}}}} {
		outcomes = append(outcomes, d.Ask(call.name, call.args))
		if o := outcomes[len(outcomes)-1]; o.Request != nil {
			o.Request.Token = asked(t, d, call.name, call.args).Token
			outcomes = append(outcomes, d.Confirmed(call.name, call.args))
		}
	}
	assert.Equal(t, "high", outcomes[3].Request.Risk)
	outcomes = append(outcomes, d.Ask("list_action_executions", nil))
	var text strings.Builder
	for _, o := range outcomes {
		if o.Request != nil {
			fmt.Fprintln(&text, o.Request.Prompt, string(o.Request.Plan))
		}
		fmt.Fprintln(&text, string(o.Value), o.Err, details(o))
	}
	executions := projectrig.Object(t, outcomes[len(outcomes)-1].Value)["executions"].([]any)
	require.Len(t, executions, 2)
	for _, e := range executions {
		id := e.(map[string]any)["id"].(string)
		fmt.Fprintln(&text, d.Do("get_execution_status", map[string]any{"executionId": id}))
		row, err := r.Catalogue().Executions.Find(t.Context(), id)
		require.NoError(t, err)
		fmt.Fprintln(&text, "stored:", string(row.Result), row.Error, string(row.Parameters))
	}
	for record, err := range d.AuditTrail(t.Context(), 0) {
		require.NoError(t, err)
		if record.Event.Tool != "action_save" {
			fmt.Fprintln(&text, record.Event.Tool, string(record.Event.Args))
		}
	}
	for _, secret := range secrets {
		assert.NotContains(t, text.String(), secret)
	}
	assert.Contains(t, text.String(), "my token is [REDACTED")
}

// TestExecutionsAreListed: by action, type and status, the newest first, up to the limit.
func TestExecutionsAreListed(t *testing.T) {
	r := projectrig.New(t)
	d := r.OpenCore(nil)
	_, of := d.Project("shop", shop)
	save := func(name, command string) any {
		return d.ByPerson("action_save", map[string]any{"type": "script", "name": name, "project": of, "script": map[string]any{"command": "sh", "args": []string{command}}})["id"]
	}
	good, bad := save("good", "build.sh"), save("bad", "fail.sh")
	loud := save("loud", "loud.sh")
	for _, id := range []any{good, bad, good, bad, good} {
		d.Confirmed("run_script", map[string]any{"actionId": id})
	}
	d = d.Fresh()
	d.Do("run_workflow", map[string]any{"workflow_id": flowed(d, "flow", of, "one: true")})
	for filter, want := range map[string]string{
		`{}`: "flow good bad good bad good", `{"limit":2}`: "flow good +", `{"actionId":"` + bad.(string) + `"}`: "bad bad", `{"actionType":"workflow"}`: "flow", `{"status":"failed","limit":1}`: "bad +",
		`{"status":"completed","actionType":"script"}`: "good good good", `{"status":"queued"}`: "", `{"actionId":"none"}`: "",
	} {
		out := d.Do("list_action_executions", filter)
		var names []string
		for _, e := range out["executions"].([]any) {
			names = append(names, e.(map[string]any)["actionName"].(string))
		}
		if out["hasMore"] == true {
			names = append(names, "+")
		}
		assert.Equal(t, want, strings.Join(names, " "), filter)
	}
	o := d.Confirmed("run_script", map[string]any{"actionId": loud})
	require.Empty(t, code(o))
	assert.False(t, o.Truncated)
	id := projectrig.Object(t, o.Value)["executionId"]
	row := d.Ask("get_execution_status", map[string]any{"executionId": id})
	assert.False(t, row.Truncated)
	assert.Contains(t, string(row.Value), "line 19999")
	list := d.Do("list_action_executions", map[string]any{"actionId": loud})["executions"].([]any)[0].(map[string]any)
	assert.NotContains(t, list, "result", "a long one is not for lists")
}
