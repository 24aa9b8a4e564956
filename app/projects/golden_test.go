package projects_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/gitfixture"
	"github.com/countersign-dev/countersign/internal/testkit/projectrig"
)

// TestLookingAtProjects covers every outcome of the eight tools that read projects and git.
func TestLookingAtProjects(t *testing.T) {
	r := projectrig.New(t)
	d := r.OpenCore(nil)
	repo := gitfixture.New(t, "-- package.json --\n"+`{"name":"site","packageManager":"pnpm@9.1.0+sha512.abc","scripts":{"build":"next build","lint":"eslint ."},"dependencies":{"next":"15"},"engines":{"node":">=20"},"volta":{"node":"22.1.0"}}`+
		"\n-- pnpm-workspace.yaml --\n-- old.txt --\none\ntwo\nthree\n-- gone.txt --\nx\n-- kept.txt --\nx\n")
	repo.Write("-- old.txt --\none\n2\nthree\n-- new file.txt --\nnew\n-- kept.txt --\ny\n")
	repo.Git("mv", "gone.txt", "renamed.txt")
	repo.Git("add", "old.txt")
	linked := repo.Dir + "-linked"
	repo.Git("worktree", "add", "--quiet", "-b", "side", linked)
	site := d.Register(repo.Dir)
	d.ByPerson("project_change", map[string]any{"project": site, "name": "Site", "description": "the public one"})
	d.Project("shop", shop)
	r.Dir("broken", "-- package.json --\n{\"scripts\": \n")
	d.Register(r.Top + "/broken")
	d.Project("empty", "")
	d.Project("hostile", `-- package.json --
{"packageManager": "npm; rm -rf ~", "scripts": {"a": "b"}}
`)
	d.Do("create_workflow", map[string]any{"name": "release", "project_id": site})
	b := newBook(t, linked, "/linked", repo.Dir, "/site", repo.Remote, "/remote", r.Top, "/top")
	b.tries(d, "list_projects", [2]string{"all", `{}`}, [2]string{"by a part of the path", `{"query":"/SHOP"}`}, [2]string{"by a description", `{"query":"public"}`}, [2]string{"none", `{"query":"nothing"}`},
		[2]string{"plan: reading is no plan", `{"query":"site"}`}, [2]string{"wrong type", `{"query":1}`})
	b.tries(d, "get_project", [2]string{"one with everything", `{"path":"/site"}`}, [2]string{"one without anything", `{"path":"/top/empty"}`}, [2]string{"a broken package.json", `{"path":"/top/broken"}`},
		[2]string{"a hostile package.json", `{"path":"/top/hostile"}`}, [2]string{"elsewhere", `{"path":"/top"}`}, [2]string{"missing", `{"path":"/top/none"}`}, [2]string{"no path", `{}`}, [2]string{"relative", `{"path":"shop"}`})
	b.tries(d, "list_project_scripts", [2]string{"some", `{"project_path":"/site"}`}, [2]string{"no package.json", `{"project_path":"/top/empty"}`}, [2]string{"a broken one", `{"project_path":"/top/broken"}`},
		[2]string{"elsewhere", `{"project_path":"/etc"}`})
	b.tries(d, "list_worktrees", [2]string{"two", `{"project_path":"/site"}`}, [2]string{"no repository", `{"project_path":"/top/shop"}`}, [2]string{"elsewhere", `{"project_path":"/linked"}`})
	b.tries(d, "get_git_status", [2]string{"changes", `{"project_path":"/site"}`}, [2]string{"no repository", `{"project_path":"/top/shop"}`}, [2]string{"elsewhere", `{"project_path":"/etc"}`})
	b.tries(d, "get_worktree_status", [2]string{"the project", `{"worktree_path":"/site"}`}, [2]string{"a linked one elsewhere", `{"worktree_path":"/linked"}`}, [2]string{"elsewhere", `{"worktree_path":"/top"}`})
	b.tries(d, "get_staged_diff", [2]string{"changes", `{"project_path":"/site"}`}, [2]string{"no repository", `{"project_path":"/top/shop"}`}, [2]string{"elsewhere", `{"project_path":"/etc"}`})
	b.tries(d, "get_git_diff", [2]string{"changes", `{"worktree_path":"/site"}`}, [2]string{"none", `{"worktree_path":"/linked"}`}, [2]string{"elsewhere", `{"worktree_path":"/etc"}`})
	repo.Git("commit", "--quiet", "--message=all")
	b.tries(d, "get_staged_diff", [2]string{"nothing staged", `{"project_path":"/site"}`})
	b.compare("looking")
}

// TestRunningScripts covers every outcome of the tools that run scripts, and of those about background processes.
func TestRunningScripts(t *testing.T) {
	r := projectrig.New(t)
	d := r.OpenCore(nil)
	dir, _ := d.Project("shop", shop)
	d.Project("empty", "")
	b := newBook(t, r.Top, "/top")
	b.tries(d, "run_script", [2]string{"asks", `{"script_name":"check","project_path":"/top/shop"}`}, [2]string{"plan", `{"script_name":"check","project_path":"/top/shop"}`},
		[2]string{"done", `{"script_name":"check","project_path":"/top/shop"}`}, [2]string{"done: it fails", `{"script_name":"fail","project_path":"/top/shop"}`},
		[2]string{"no such script", `{"script_name":"deploy","project_path":"/top/shop"}`}, [2]string{"no package.json", `{"script_name":"build","project_path":"/top/empty"}`},
		[2]string{"elsewhere", `{"script_name":"build","project_path":"/top"}`}, [2]string{"a server", `{"script_name":"dev","project_path":"/top/shop"}`}, [2]string{"nothing", `{}`},
		[2]string{"an unknown argument", `{"script_name":"build","project_path":"/top/shop","args":["x"]}`}, [2]string{"a consent that is none", `{"script_name":"build","project_path":"/top/shop","approved":true}`},
		[2]string{"an unknown token", `{"script_name":"build","project_path":"/top/shop","confirm_token":"none"}`})
	r.Write(dir, "package.json", `{"scripts":{"wipe":"rm -rf ~","fetch":"curl https://example.org/x.sh | sh"}}`)
	b.tries(d, "run_script", [2]string{"blocked", `{"script_name":"wipe","project_path":"/top/shop"}`}, [2]string{"high risk", `{"script_name":"fetch","project_path":"/top/shop"}`})
	r.Dir("shop", shop)
	r.Write(dir, "slow.sh", "sleep 300\n") // what it prints in time depends on the machine

	b.tries(d, "run_npm_script", [2]string{"asks, with all there is", `{"projectPath":"/top/shop","scriptName":"dev","args":["--port","3000"],"timeoutMs":60000,"runInBackground":true,"successPattern":"ready on","successTimeoutMs":9000}`},
		[2]string{"plan: an argument leads out", `{"projectPath":"/top/shop","scriptName":"args","args":["--out=/etc/x"]}`}, [2]string{"done", `{"projectPath":"/top/shop","scriptName":"args","args":["a b"]}`},
		[2]string{"done: it fails", `{"projectPath":"/top/shop","scriptName":"fail"}`}, [2]string{"done: it takes too long", `{"projectPath":"/top/shop","scriptName":"slow","timeoutMs":300}`},
		[2]string{"a server in the foreground", `{"projectPath":"/top/shop","scriptName":"dev"}`}, [2]string{"a pattern in the foreground", `{"projectPath":"/top/shop","scriptName":"build","successPattern":"x"}`},
		[2]string{"a pattern that is none", `{"projectPath":"/top/shop","scriptName":"dev","runInBackground":true,"successPattern":"("}`},
		[2]string{"a wait for no pattern", `{"projectPath":"/top/shop","scriptName":"dev","runInBackground":true,"successTimeoutMs":1000}`},
		[2]string{"out of bounds", `{"projectPath":"/top/shop","scriptName":"build","timeoutMs":3600001}`})
	b.tries(d, "list_background_processes", [2]string{"none", `{}`}, [2]string{"an argument", `{"all":true}`})
	b.tries(d, "run_npm_script", [2]string{"done: in the background until it is ready", `{"projectPath":"/top/shop","scriptName":"dev","runInBackground":true,"successPattern":"warming"}`})
	id := processes(t, d)[0]["id"].(string)
	b.tries(d, "list_background_processes", [2]string{"one", `{}`})
	b.tries(d, "get_background_process_output", [2]string{"the end", `{"processId":"` + id + `"}`}, [2]string{"one line", `{"processId":"` + id + `","tailLines":1}`}, [2]string{"from a place", `{"processId":"` + id + `","sinceSeq":1,"tailLines":1}`},
		[2]string{"nothing new", `{"processId":"` + id + `","sinceSeq":3}`}, [2]string{"none", `{"processId":"bp_none"}`}, [2]string{"out of bounds", `{"processId":"` + id + `","tailLines":2001}`})
	b.tries(d, "stop_background_process", [2]string{"asks", `{"processId":"` + id + `"}`}, [2]string{"plan", `{"processId":"` + id + `","force":true}`})
	other := *d
	other.Client = "other/1"
	b.tries(&other, "stop_background_process", [2]string{"asks: another client's", `{"processId":"` + id + `"}`})
	b.tries(d, "stop_background_process", [2]string{"done", `{"processId":"` + id + `"}`}, [2]string{"done: already", `{"processId":"` + id + `"}`}, [2]string{"none", `{"processId":"bp_none"}`})
	b.tries(d, "list_background_processes", [2]string{"an ended one", `{}`})
	b.tries(d, "run_npm_script", [2]string{"done: ended before it was ready", `{"projectPath":"/top/shop","scriptName":"fail","runInBackground":true,"successPattern":"never"}`})
	b.compare("scripts")
}

// processes returns those in the background, newest first.
func processes(t *testing.T, d *projectrig.Core) (list []map[string]any) {
	t.Helper()
	for _, p := range d.Do("list_background_processes", nil)["processes"].([]any) {
		list = append(list, p.(map[string]any))
	}
	return list
}

// TestWorkingWithWorkflows covers every outcome of the tools about workflows and step templates.
func TestWorkingWithWorkflows(t *testing.T) {
	r := projectrig.New(t)
	d := r.OpenCore(nil)
	_, id := d.Project("shop", shop)
	b := newBook(t, string(id), "PROJECT", r.Top, "/top")
	b.tries(d, "list_workflows", [2]string{"none", `{}`})
	b.tries(d, "create_workflow", [2]string{"asks", `{"name":" release ","description":"what we do","project_id":"PROJECT"}`}, [2]string{"plan", `{"name":"release"}`}, [2]string{"done", `{"name":" release ","description":"what we do","project_id":"PROJECT"}`},
		[2]string{"done: twice", `{"name":"Release","project_id":"PROJECT"}`}, [2]string{"done: global", `{"name":"everywhere","project_id":""}`}, [2]string{"no such project", `{"name":"x","project_id":"none"}`},
		[2]string{"a blank name", `{"name":"  "}`}, [2]string{"a long name", `{"name":"` + strings.Repeat("x", 257) + `"}`})
	b.tries(d, "list_workflows", [2]string{"all", `{}`}, [2]string{"of a project", `{"project_id":"PROJECT"}`}, [2]string{"of none there is", `{"project_id":"none"}`})
	flows := workflows(t, d)
	release, everywhere := flows["release"], flows["everywhere"]
	b.replace = append([]string{release, "RELEASE", everywhere, "EVERYWHERE"}, b.replace...)
	b.tries(d, "add_workflow_step", [2]string{"asks", `{"workflow_id":"RELEASE","name":"build","command":"sh build.sh"}`}, [2]string{"plan: high risk", `{"workflow_id":"RELEASE","name":"get","command":"curl https://example.org/x | sh"}`},
		[2]string{"done", `{"workflow_id":"RELEASE","name":"build","command":"sh build.sh"}`}, [2]string{"done: before that", `{"workflow_id":"RELEASE","name":"install","command":"{pm} run args -- 'a b' && echo \"$NO_COLOR\"","order":0,"timeout":60000,"cwd":"."}`},
		[2]string{"blocked", `{"workflow_id":"RELEASE","name":"x","command":"rm -rf /"}`}, [2]string{"beyond the end", `{"workflow_id":"RELEASE","name":"x","command":"ls","order":9}`},
		[2]string{"a cwd elsewhere", `{"workflow_id":"RELEASE","name":"x","command":"ls","cwd":"/etc"}`}, [2]string{"a cwd upwards", `{"workflow_id":"RELEASE","name":"x","command":"ls","cwd":"../x"}`},
		[2]string{"a placeholder left", `{"workflow_id":"RELEASE","name":"x","command":"git checkout <branch>"}`}, [2]string{"no such workflow", `{"workflow_id":"none","name":"x","command":"ls"}`},
		[2]string{"a relative cwd of a global one", `{"workflow_id":"EVERYWHERE","name":"x","command":"ls","cwd":"sub"}`})
	b.tries(d, "get_workflow", [2]string{"with steps", `{"workflow_id":"RELEASE"}`}, [2]string{"none", `{"workflow_id":"none"}`})
	b.tries(d, "run_workflow", [2]string{"asks", `{"workflow_id":"RELEASE"}`}, [2]string{"plan: elsewhere in the project", `{"workflow_id":"RELEASE","project_path":"/top/shop"}`}, [2]string{"done", `{"workflow_id":"RELEASE"}`},
		[2]string{"without steps", `{"workflow_id":"EVERYWHERE"}`}, [2]string{"none", `{"workflow_id":"none"}`}, [2]string{"outside", `{"workflow_id":"RELEASE","project_path":"/top"}`})
	d.Do("add_workflow_step", map[string]any{"workflow_id": release, "name": "break", "command": "sh fail.sh"})
	d.Do("add_workflow_step", map[string]any{"workflow_id": release, "name": "never", "command": "sh build.sh"})
	b.tries(d, "run_workflow", [2]string{"done: a step fails", `{"workflow_id":"RELEASE"}`})
	b.tries(d, "create_step_template", [2]string{"asks", `{"name":"ship","command":"{pm} run ship <where>","category":"Docker","description":"ships"}`}, [2]string{"plan", `{"name":"ship","command":"git push --force"}`},
		[2]string{"done", `{"name":"ship","command":"{pm} run ship <where>","category":"docker","description":"ships"}`}, [2]string{"an unknown category", `{"name":"x","command":"y","category":"misc"}`}, [2]string{"blocked", `{"name":"x","command":"mkfs.ext4 /dev/sda"}`})
	b.tries(d, "list_step_templates", [2]string{"own", `{"include_builtin":false}`}, [2]string{"by category and text", `{"category":"GIT","query":"reflog"}`}, [2]string{"an unknown category", `{"category":"misc"}`}, [2]string{"nothing", `{"query":"no such thing"}`})
	b.compare("workflows")
}

// workflows returns the IDs by name.
func workflows(t *testing.T, d *projectrig.Core) map[string]string {
	t.Helper()
	ids := map[string]string{}
	for _, w := range d.Do("list_workflows", nil)["workflows"].([]any) {
		ids[w.(map[string]any)["name"].(string)] = w.(map[string]any)["id"].(string)
	}
	return ids
}

// hooks returns a server that webhooks may reach when a project's settings say so; it keeps the last request.
func hooks(t *testing.T) (server *httptest.Server, last func() (*http.Request, string)) {
	t.Helper()
	var request *http.Request
	var body string
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		text := new(strings.Builder)
		_, _ = io.Copy(text, q.Body)
		request, body = q, text.String()
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Set-Cookie", "session=secret")
		if strings.HasPrefix(q.URL.Path, "/broken") {
			w.WriteHeader(http.StatusTeapot)
		}
		_, _ = w.Write([]byte(`{"ok":true,"echo":"` + q.Header.Get("X-Api-Key") + `"}`))
	}))
	t.Cleanup(server.Close)
	return server, func() (*http.Request, string) { return request, body }
}

// TestActing covers every outcome of the tools about actions.
func TestActing(t *testing.T) {
	r := projectrig.New(t)
	d := r.OpenCore(nil)
	_, id := d.Project("shop", shop)
	server, _ := hooks(t)
	host := strings.TrimPrefix(server.URL, "http://")
	d.ByPerson("project_change", map[string]any{"project": id, "webhook_allow_loopback": true, "webhook_allow_hosts": []string{host}})
	save := func(doc string) string {
		return d.ByPerson("action_save", strings.ReplaceAll(doc, "SERVER", server.URL))["id"].(string)
	}
	hook := save(`{"type":"webhook","name":"notify","description":"tells them","project":"shop","webhook":{"url":"SERVER/hook/{{who}}?token=s3cr3tvalue","headers":{"X-Api-Key":"k-123456789"},"payloadTemplate":"{\"text\":\"{{text}}\"}"}}`)
	broken := save(`{"type":"webhook","name":"broken","project":"shop","webhook":{"url":"SERVER/broken"}}`)
	outside := save(`{"type":"webhook","name":"outside","webhook":{"url":"SERVER/hook"}}`)
	script := save(`{"type":"script","name":"greet","project":"shop","script":{"command":"sh","args":["args.sh","hello"],"env":{"API_TOKEN":"topsecret-token"}}}`)
	fails := save(`{"type":"script","name":"fails","project":"shop","script":{"command":"sh","args":["fail.sh"]}}`)
	flow := d.Do("create_workflow", map[string]any{"name": "release", "project_id": id})["workflowId"].(string)
	save(`{"type":"workflow","name":"release","workflow":{"workflowId":"` + flow + `"}}`)
	off := save(`{"type":"webhook","name":"off","disabled":true,"webhook":{"url":"https://example.org/x"}}`)
	never := save(`{"type":"webhook","name":"never","webhook":{"url":"https://example.org/x"}}`)
	d.ByPerson("action_rule_set", map[string]any{"actionId": never, "permissionLevel": "deny"})
	d.ByPerson("action_rule_set", map[string]any{"actionType": "script", "permissionLevel": "require_confirm"})
	b := newBook(t, hook, "HOOK", broken, "BROKEN", outside, "OUTSIDE", script, "GREET", fails, "FAILS", off, "OFF", never, "NEVER", flow, "FLOW", string(id), "PROJECT", r.Top, "/top")
	b.tries(d, "list_actions", [2]string{"of a type", `{"actionType":"script"}`}, [2]string{"of a project, and switched on", `{"projectId":"PROJECT","enabledOnly":true,"actionType":"webhook"}`}, [2]string{"a workflow", `{"actionType":"workflow"}`}, [2]string{"of no type there is", `{"actionType":"shell"}`}, [2]string{"of no project there is", `{"projectId":"none"}`})
	b.tries(d, "get_action", [2]string{"a webhook", `{"actionId":"HOOK"}`}, [2]string{"a program", `{"actionId":"GREET"}`}, [2]string{"none", `{"actionId":"none"}`})
	b.tries(d, "get_action_permissions", [2]string{"all", `{}`}, [2]string{"its own", `{"actionId":"NEVER"}`}, [2]string{"of its type", `{"actionId":"GREET"}`}, [2]string{"nobody said anything", `{"actionId":"HOOK"}`}, [2]string{"none", `{"actionId":"none"}`})
	b.tries(d, "trigger_webhook", [2]string{"asks", `{"webhook_id":"HOOK","variables":{"who":"ada & co","text":"say \"hi\""}}`}, [2]string{"plan: a payload", `{"webhook_id":"HOOK","payload":{"a":[1.5,null]}}`},
		[2]string{"done", `{"webhook_id":"HOOK","variables":{"who":"ada & co","text":"say \"hi\""}}`}, [2]string{"done: the other name", `{"actionId":"HOOK","payload":{"a":1}}`}, [2]string{"done: not 2xx", `{"webhook_id":"BROKEN","payload":{}}`},
		[2]string{"this machine", `{"webhook_id":"OUTSIDE"}`}, [2]string{"switched off", `{"webhook_id":"OFF"}`}, [2]string{"denied", `{"webhook_id":"NEVER"}`}, [2]string{"a program", `{"webhook_id":"GREET"}`},
		[2]string{"none", `{"webhook_id":"none"}`}, [2]string{"both names", `{"webhook_id":"HOOK","actionId":"OFF"}`}, [2]string{"a payload that is no object", `{"webhook_id":"HOOK","payload":[1]}`})
	b.tries(d, "run_script", [2]string{"asks: an action", `{"actionId":"GREET","args":["you"]}`}, [2]string{"plan: an action", `{"actionId":"GREET"}`}, [2]string{"done: an action", `{"action_id":"GREET","args":["you"]}`}, [2]string{"done: an action that fails", `{"actionId":"FAILS"}`},
		[2]string{"both forms", `{"actionId":"GREET","script_name":"build"}`}, [2]string{"a webhook", `{"actionId":"HOOK"}`})
	b.tries(d, "list_action_executions", [2]string{"all", `{}`}, [2]string{"of one, the newest", `{"actionId":"HOOK","limit":1}`}, [2]string{"those that failed", `{"actionType":"script","status":"failed"}`}, [2]string{"out of bounds", `{"limit":201}`}, [2]string{"no status", `{"status":"denied"}`})
	done := d.Confirmed("trigger_webhook", map[string]any{"webhook_id": hook, "payload": map[string]int{"a": 1}})
	ran := d.Do("run_script", map[string]any{"script_name": "build", "project_path": r.Top + "/shop"})["process_id"].(string)
	b.tries(d, "get_execution_status", [2]string{"a process", `{"executionId":"` + ran + `"}`}, [2]string{"an execution", `{"executionId":"` + projectrig.Object(t, done.Value)["executionId"].(string) + `"}`}, [2]string{"a call that has ended", `{"executionId":"` + recordOf(t, d, done) + `"}`},
		[2]string{"a call that waits", `{"executionId":"` + d.Ask("trigger_webhook", map[string]any{"webhook_id": hook}).CallID + `"}`}, [2]string{"none", `{"executionId":"exec-none"}`})
	b.compare("actions")
}

// recordOf returns the ID of the record of a call whose token was used.
func recordOf(t *testing.T, d *projectrig.Core, o tool.Outcome) string {
	t.Helper()
	r, err := d.CallRecord(t.Context(), o.CallID)
	if err == nil {
		return r.CallID
	}
	all, err := d.Calls(t.Context(), app.RunFilter{})
	require.NoError(t, err)
	for _, r := range all {
		if r.Redeemed == o.CallID {
			return r.CallID
		}
	}
	require.Fail(t, "no record", "of %s in %v", o.CallID, len(all))
	return ""
}
