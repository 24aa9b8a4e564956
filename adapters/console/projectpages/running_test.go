package projectpages_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/testkit/consolerig"
)

// link returns the first link on the page that the pattern fits.
func link(t testing.TB, p consolerig.Page, pattern string) string {
	t.Helper()
	m := regexp.MustCompile(`href="(` + pattern + `)"`).FindStringSubmatch(p.Main())
	require.NotNil(t, m, "no link like %s on %s", pattern, p.Path)
	return m[1]
}

// until opens a page again until users read all of that on it at a time: what a process prints and what is said of it come by different ways.
func (b *bench) until(path string, wants ...string) (p consolerig.Page) {
	b.Rig.T.Helper()
	b.Rig.Soon(func() bool {
		p = b.Open(path)
		text := p.Text()
		return !slices.ContainsFunc(wants, func(want string) bool { return !strings.Contains(text, want) })
	}, strings.Join(wants, ", ")+" on "+path)
	return p
}

func TestBackgroundProcesses(t *testing.T) {
	b := newBench(t, nil)
	dir, at := b.project("shop")
	b.Get(at).Press("Run serve with options", "background", "true", "pattern", "listening", "patience", "20").Approve().See("runs in the background", "listening <now>").Safe("<now>")
	list := b.Get("/projects/processes").See("serve", "Running", dir, "console/1").Sound()
	p := b.Get(link(t, list, "/projects/processes/[^\"]+")).See("serve", "Running", "listening <now>").Safe("<now>").Sound()
	assert.Contains(t, p.HTML, `data-event="background-process-output"`)
	assert.Regexp(t, `data-stream="/api/v1/events\?events=background-process-output&amp;process=[^"]+&amp;since=1"`, p.HTML)

	b.Write(dir, "say", "\x1b[1mmore\x1b[0m of it\n")
	b.until(p.Path, "more of it").Safe("\x1b")
	stop := regexp.MustCompile(`Stop serve \(pid \d+\)`).FindString(p.HTML)
	ended := p.Press(stop).See("stop ").Approve()
	require.Contains(t, ended.Path, p.Path)
	ended.See("Stopped", "bye").Miss("Kill")
	assert.NotContains(t, ended.HTML, "data-stream", "nothing comes any more")

	b.Get(at).Press("Run in background serve").Approve()
	list = b.until("/projects/processes", "Running")
	kill := regexp.MustCompile(`Kill serve \(pid \d+\)`).FindString(list.HTML)
	list.Press(kill).Approve()
	b.until("/projects/processes", "Stopped").Miss("Running")
	b.Get("/projects/executions/"+url.PathEscape(strings.TrimPrefix(p.Path, "/projects/processes/"))).See("serve", "stopped")
}

// TestServicesOnTheProjectsPage: they are started and stopped from there, each after its plan was approved, and their logs are a press away.
func TestServicesOnTheProjectsPage(t *testing.T) {
	b := newBench(t, nil)
	dir, at := b.project("shop")
	b.Get(at).Miss("Start all")
	b.Write(dir, "services.yaml", "services:\n  web: {command: sh serve.sh}\n")
	b.Get(at).See("Not started").Sound().Press("Start service web").See("sh serve.sh").Approve()
	p := b.until(at, "Running").Miss("Start all")
	b.until(link(t, p, "/projects/processes/[^\"]+"), "listening <now>")
	p.Press("Stop all services of shop").See("web").Approve()
	b.until(at, "Stopped", "Start all")
}

// TestOthersProcesses: what another server's client has started is there too, and may be stopped: with the warning whose work that ends.
func TestOthersProcesses(t *testing.T) {
	b := newBench(t, nil)
	dir, _ := b.project("shop")
	other := b.Rig.OpenCore(nil)
	other.Client = "agent/2"
	other.Do("run_npm_script", map[string]any{"projectPath": dir, "scriptName": "serve", "runInBackground": true})
	list := b.Get("/projects/processes").See("serve", "agent/2")
	list.Press(regexp.MustCompile(`Stop serve \(pid \d+\)`).FindString(list.HTML)).See("started by another client", "high risk").Approve()
	b.until("/projects/processes", "Stopped")
}

// TestOutputWhileItRuns: a page about work shows what its program prints while it does.
func TestOutputWhileItRuns(t *testing.T) {
	b := newBench(t, nil)
	dir, at := b.project("shop")
	b.Write(dir, "build.sh", "echo 'first \x1b[32mwords\x1b[0m'\nwhile [ ! -f go ]; do sleep 0.02; done\necho last words\n")
	asked := b.Get(at).Press("Run build")
	_, _, sent := asked.Filled("Approve: run script build of shop: tsc -p .")
	b.SendOff(asked.Path+"/answer", sent)
	p := b.until(asked.Path, "first words", "Running. You can leave this page").Safe("\x1b")
	b.Get(link(t, p, "/projects/processes/[^\"]+")).See("build", "Running", "first words").Miss("Stop", "Kill")
	b.Write(dir, "go", "")
	p.Settled().See("Done.", "last words")

	require.NoError(t, os.Remove(filepath.Join(dir, "go")))
	asked = b.Get(at).Press("Run build")
	b.SendOff(asked.Path+"/answer", sent) // the other question's plan is the same one: the script is
	b.until(asked.Path, "first words").Press("Cancel Run script build of shop").Settled().See("cancelled", "first words")
}

func TestWorkflows(t *testing.T) {
	b := newBench(t, nil)
	dir, at := b.project("shop")
	made := b.Get(at+"?tab=workflows").Press("Create workflow", "name", "Release <1>", "description", "all of it").Approve().See("has no steps yet")
	flow := link(t, made, "/projects/workflows/[^\"]+")
	b.Get(flow).See("Release <1>", "No steps yet").Safe("Release <1>").Sound()
	b.Get(flow + "?tab=executions").See("No executions yet").Sound()
	steps := flow + "?tab=steps"
	b.Get(steps).Press("Add step", "name", "wait", "command", "sh wait.sh").Approve()
	b.Get(steps).Press("Add step", "name", "first", "command", `echo begin "a&b"`, "order", "0", "timeout", "60").Approve()
	p := b.Get(steps).See(`1 first echo begin "a&b" 1m0s`, "2 wait sh wait.sh 5 min").Sound()
	p.Press("Add step", "name", "bad", "command", "rm -rf /").See("rm -rf /").Miss("Approve")
	p.Press("Add step", "name", "bad", "command", "echo", "cwd", "/etc").See("code ")

	require.Contains(t, b.Get(flow).Sound().See("No executions yet").HTML, `<title>wait, sh wait.sh<`, "the graph of the steps")
	template := p.Press("Use template", "template", regexp.MustCompile(`id="template".*?<option value="([^"]+)"`).FindStringSubmatch(p.HTML)[1])
	_, _, sent := template.Filled("Add step")
	assert.NotEmpty(t, sent.Get("command"), "a template fills the form")

	b.Write(dir, "wait.sh", "echo 'now <i>waiting</i>'\nwhile [ ! -f go ]; do sleep 0.02; done\necho over\n")
	asked := b.Get(flow).Press("Run workflow").See("run workflow", `echo begin "a&b"`, "sh wait.sh")
	_, _, answer := asked.Filled(label(asked))
	b.SendOff(asked.Path+"/answer", answer)
	b.until(asked.Path, "now <i>waiting</i>", "step 2 of 2: wait").Safe("<i>waiting")
	running := b.until(flow, "now <i>waiting</i>", "Running now", "Completed", "Running").Safe("<i>waiting").Sound()
	assert.Contains(t, running.HTML, `data-live="tick"`)
	assert.False(t, running.Has("Run workflow"))
	b.Get(link(t, running, "/projects/executions/[^\"]+")).See("Running", "now <i>waiting</i>", "2 wait")
	b.Write(dir, "go", "")
	asked.Site.Open(asked.Path).Settled().See("Execution completed: 2 of 2 steps", "over")
	b.Get(flow).See("Last execution", "Completed").Sound()
	past := b.Get(flow+"?tab=executions").See("Completed", "workflow").Sound()
	b.Get(link(t, past, "/projects/executions/[^\"]+")).See("[RUN] wait: sh wait.sh", "stdout: now <i>waiting</i>", "[OK] wait", "exit code 0").Safe("<i>waiting").Sound()
	b.Get("/projects/executions?type=workflow&state=completed").See("Release <1>").Sound()

	b.Write(dir, "wait.sh", "echo no >&2; exit 4\n")
	b.Get(flow).Press("Run workflow").Approve().See("exit code 4", "Execution partial")
	b.Get(flow+"?tab=executions").See("Failed", "exit code 4")
	assert.Regexp(t, `class="box bad" href="[^"]*"><title>wait, Failed, `, b.Get(flow).HTML)
	assert.Regexp(t, `class="box good" href="[^"]*"><title>first, Completed, `, b.Get(flow).HTML)
}

// label returns the name of the button that approves.
func label(p consolerig.Page) string {
	m := regexp.MustCompile(`aria-label="(Approve: [^"]*)"`).FindStringSubmatch(p.HTML)
	return strings.NewReplacer("&#34;", `"`, "&#39;", "'", "&lt;", "<", "&gt;", ">", "&amp;", "&").Replace(m[1])
}

func TestChangingWorkflows(t *testing.T) {
	b := newBench(t, nil)
	b.project("shop")
	id := b.core.Do("create_workflow", map[string]any{"name": "child"})["workflowId"].(string)
	b.core.Do("add_workflow_step", map[string]any{"workflow_id": id, "name": "hello", "command": "echo hello"})
	flow := link(t, b.Get("/projects/workflows").Press("Create workflow", "name", "parent").Approve(), "/projects/workflows/[^\"]+")
	b.Get(flow+"?tab=steps").Press("Add workflow as a step", "name", "start it", "nowait", "true").See("does not wait for it")
	p := b.Get(flow+"?tab=settings").Press("Save workflow", "name", "Parent", "description", "of one", "history", "7").See("Parent")
	_, _, sent := p.Filled("Save workflow")
	assert.Equal(t, "7", sent.Get("history"))

	b.Get(flow).See("of one")
	webhooks := flow + "?tab=webhooks"
	p = b.Get(webhooks).Press("Save webhook", "url", "https://hooks.example.com/a?token=s3cr3t", "headers", "Authorization: Bearer abc123\nX-Kind: release", "trigger", "onFailure")
	p.See("https://hooks.example.com/a?token=", "on failure", "Header Authorization").Miss("s3cr3t", "abc123")
	b.Send(flow+"/webhook", url.Values{"url": {" "}}).See("URL of the completion webhook is missing")
	b.Get(webhooks).See("on failure").Press("Remove webhook of completed executions").See("No completion webhook")

	opened := b.Get(webhooks).Press("Enable incoming webhook", "signed", "true").See("Copy these values now", "Token", "Signing secret")
	token := regexp.MustCompile(`Token</dt><dd><code>([0-9a-f]{64})</code>`).FindStringSubmatch(opened.HTML)
	require.NotNil(t, token)
	p = b.Get(webhooks).See("Requests must be signed").Miss(token[1])
	b.Get(flow + "?tab=steps").Press("Remove step start it").Approve()
	b.Get(flow).See("No steps yet")
	b.Get(webhooks).See("off because the workflow changed").Press("Disable incoming webhook").See("Incoming webhook disabled")
	b.Get(flow + "?tab=settings").Press("Delete workflow Parent").Approve().See("Delete workflow Parent: done").Miss("of one")
	assert.Equal(t, http.StatusNotFound, b.Open(flow).Status)
}

func TestTemplates(t *testing.T) {
	b := newBench(t, nil)
	b.Get("/projects/templates").Press("Find", "category", "docker").See("docker").Miss("eslint")
	b.Get("/projects/templates").Press("Create template", "name", "Mine <b>", "command", "{pm} run <what>", "category", "testing").Approve().See("Mine <b>", "{pm} run <what>").Safe("Mine <b>")
	b.Get("/projects/templates?q=Mine").Press("Remove template Mine <b>").Approve().See("Remove template: done").Miss("Mine")
	assert.Equal(t, http.StatusBadRequest, b.Open("/projects/templates?category=nothing").Status)
}

// receiver returns a server that takes requests and remembers what they brought.
func receiver(t *testing.T) (*httptest.Server, func() []string) {
	var mu sync.Mutex
	var got []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		got = append(got, r.Header.Get("Authorization")+" "+string(body))
		mu.Unlock()
		_, _ = io.WriteString(w, "thanks <b>\x1b[31m")
	}))
	t.Cleanup(s.Close)
	return s, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return append([]string(nil), got...)
	}
}

func TestWebhooks(t *testing.T) {
	b := newBench(t, nil)
	dir, at := b.project("shop")
	to, got := receiver(t)
	b.core.ByPerson("project_change", map[string]any{"project": dir, "webhook_allow_loopback": true, "webhook_allow_hosts": []string{to.Listener.Addr().String()}})
	b.core.ByPerson("action_save", map[string]any{"type": "webhook", "name": "Tell <all>", "project": dir, "webhook": map[string]any{
		"url": to.URL + "/x?token=s3cr3tvalue&of={{who}}", "headers": map[string]string{"Authorization": "Bearer hunter2hunter2"}, "payloadTemplate": `{"text": "{{text}}", "who": "{{who}}"}`}})
	p := b.Get(link(t, b.Get(at+"?tab=actions").See("Tell <all>", "webhook"), "/projects/actions/[^\"]+")).See("Tell <all>", "Value of {{who}}", "Value of {{text}}", `{"text": "{{text}}"`).
		Miss("hunter2", "s3cr3tvalue").Safe("Tell <all>").Sound()
	asked := p.Press("Send request", "var.who", "Ada", "var.text", `say "hi" <b>`).See("send webhook", "Ada", "127.0.0.1").Miss("hunter2", "s3cr3tvalue")
	assert.Empty(t, got())
	done := asked.Approve().See("Done.", "200", "thanks <b>").Safe("<b>")
	require.Len(t, got(), 1)
	assert.Equal(t, `Bearer hunter2hunter2 {"text": "say \"hi\" <b>", "who": "Ada"}`, got()[0])
	b.Get(link(t, done, "/projects/executions/[^\"]+")).See("webhook Tell <all>", "Completed", "Ada", "200").Miss("hunter2").Sound()

	b.Get(p.Path).Press("Send request", "payload", `["no object"]`).See("not a JSON object")
	b.Get(p.Path).Press("Send request", "payload", `{"all": "mine"}`).Approve().See("Done.")
	var sent map[string]string
	require.NoError(t, json.Unmarshal([]byte(strings.TrimPrefix(got()[1], "Bearer hunter2hunter2 ")), &sent))
	assert.Equal(t, map[string]string{"all": "mine"}, sent)

	settings := p.Path + "?tab=settings"
	b.Get(settings).See("always ask").Sound().Press("Disable Tell <all>")
	b.Get(p.Path).See("This action is disabled", "Enable it in the settings").Sound()
	b.Get(settings).Press("Enable Tell <all>")
	b.Get(settings).Press("Set rule", "level", "deny").See("never run", "rule for this action")
	b.Get(p.Path).Press("Send request").Miss("Approve").See("code ")
	assert.Len(t, got(), 2)
	b.Get("/projects/actions").See("never run").Press("Set rule", "type", "webhook", "level", "auto_approve").See("run without asking", "all actions of type webhook").Sound()
	b.Get(settings).Press("Set rule", "level", "").See("run without asking", "rule for its type")
	b.Get("/projects/actions?type=script").See("No actions.")
	b.Get(settings).Press("Remove action Tell <all>").Approve().See("No actions.")
}

func TestProgramsAndWorkflowsAsActions(t *testing.T) {
	b := newBench(t, nil)
	dir, _ := b.project("shop")
	b.core.ByPerson("action_save", map[string]any{"type": "script", "name": "Echo", "project": dir, "script": map[string]any{"command": "sh", "args": []string{"echo.sh", "one"}, "env": map[string]string{"MODE": "v4lue"}}})
	p := b.Get(link(t, b.Get("/projects/actions"), "/projects/actions/[^\"]+")).See("sh echo.sh one", "MODE").Miss("v4lue").Sound()
	done := p.Press("Run program", "args", "two words\nthree").Approve().See("Done.", "[one] [two words] [three]")
	b.Get(link(t, done, "/projects/executions/[^\"]+")).See("script Echo", "[two words]").Sound()
	b.Get(p.Path + "?tab=executions").See("Completed").Sound()

	id := b.core.Do("create_workflow", map[string]any{"name": "flow"})["workflowId"].(string)
	b.core.Do("add_workflow_step", map[string]any{"workflow_id": id, "name": "hello", "command": "echo hello", "cwd": dir})
	a := b.core.ByPerson("action_save", map[string]any{"type": "workflow", "name": "Flow", "workflow": map[string]any{"workflowId": id}})
	b.Get("/projects/actions/"+a["id"].(string)).See("Flow", id).Press("Run workflow").See("echo hello").Approve()
	b.Get("/projects/workflows/" + id).See("Completed").Sound()
}

// TestActionsAreAdded adds an action of each type from the forms of the console.
func TestActionsAreAdded(t *testing.T) {
	b := newBench(t, nil)
	_, at := b.project("shop")
	b.core.Do("create_workflow", map[string]any{"name": "Release"})
	actions := at + "?tab=actions"
	b.Get(actions).Sound().See("No actions.").Press("Add program", "name", "Echo", "command", "sh", "args", "echo.sh\r\ntwo words", "env", "MODE=v4lue", "timeout", "20").See("Add action Echo: done", "sh echo.sh")
	p := b.Get(link(t, b.Get(actions), "/projects/actions/[^\"]+")).See("MODE", "20s").Miss("v4lue")
	p.Press("Run program").Approve().See("[two words]")
	b.Get("/projects/actions").Press("Add webhook", "name", "Tell", "url", "https://hooks.example.com/x", "headers", "X-Kind: release\nBearer hunter2hunter2").See("line 2 is not NAME:VALUE").Miss("hunter2")
	b.Get("/projects/actions").Miss("Tell")
	b.Get("/projects/actions").Sound().Press("Add webhook", "name", "Tell", "url", "https://hooks.example.com/{{who}}", "headers", "Authorization: Bearer hunter2hunter2", "retries", "2", "project", filepath.Base(at)).See("Tell").Miss("hunter2")
	b.Get(actions).See("Tell", "Echo").Press("Add workflow action", "name", "Flow").See("Flow")
	b.Get(actions).Press("Add webhook", "name", "Bad", "url", "no address").See("code ")
}

// TestPendingCallsAreHistoryToo: a call of an agent that waits for the user is found by its state.
func TestPendingCallsAreHistoryToo(t *testing.T) {
	b := newBench(t, nil)
	dir, _ := b.project("shop")
	a := b.core.ByPerson("action_save", map[string]any{"type": "script", "name": "Echo", "project": dir, "script": map[string]any{"command": "true"}})
	o := b.core.Ask("run_script", map[string]any{"actionId": a["id"]})
	require.Error(t, o.Err)
	list := b.Get("/projects/executions?state=pending_confirm").See("Echo", "Waiting for approval")
	b.Get(link(t, list, "/projects/executions/[^\"]+")).See("Call ", "run_script").Sound()
}

// TestRealNPM runs a script with the npm of this machine.
func TestRealNPM(t *testing.T) {
	b := newBench(t, nil)
	npm := ""
	for _, dir := range filepath.SplitList(os.Getenv("PATH"))[1:] { // the rig's own is first
		if found, err := exec.LookPath(filepath.Join(dir, "npm")); err == nil {
			npm = found
			break
		}
	}
	if npm == "" {
		t.Skip("npm is not installed")
	}
	require.NoError(t, os.Remove(filepath.Join(b.Home, "bin", "npm")))
	require.NoError(t, os.Symlink(npm, filepath.Join(b.Home, "bin", "npm")))
	_, id := b.core.Project("real", "-- package.json --\n{\"name\": \"real\", \"private\": true, \"scripts\": {\"hello\": \"node hello.js\"}}\n-- hello.js --\nconsole.log('\\x1b[32mhello from node\\x1b[0m', process.argv.slice(2))\n")
	b.Get("/projects/"+string(id)).Press("Run hello with options", "args", "a b").Approve().See("Done.", "hello from node [ 'a b' ]").Safe("\x1b")
}

// TestGitIsWorkedWithOnItsPage: hunks ticked one by one, committed, a branch made, changes laid aside.
func TestGitIsWorkedWithOnItsPage(t *testing.T) {
	b := newBench(t, nil)
	dir, at := b.project("shop")
	desk, branches := at+"?tab=changes", at+"?tab=branches"
	assert.Equal(t, desk, b.Get(strings.Replace(at, "/projects/", "/projects/git/", 1)).Path, "the path of older links")
	b.git(dir, "config", "user.name", "Ada")
	b.git(dir, "config", "user.email", "ada@example.com")
	b.Rig.Write(dir, "build.sh", "echo first\necho \"built in $PWD\"\necho \"a warning\" >&2\necho 4\necho 5\n")
	b.git(dir, "commit", "-q", "-a", "-m", "longer")
	b.Rig.Write(dir, "new.txt", "new <b>file</b>\n")
	b.Rig.Write(dir, "fail.sh", "exit 4\n")
	b.Get(at).See("View changes")
	page := b.Get(desk).See("new.txt", "+new <b>file</b>", "No staged changes").Sound().Safe("<b>file</b>")
	page.Press("Stage selected", "file", "fail.sh").Approve()
	page = b.Get(desk).See("Whole file fail.sh: modified").Sound()
	page.Press("Commit", "message", "fail otherwise").See("fail otherwise", "exit 4").Approve()
	b.Get(desk).See("No staged changes")
	b.Get(branches).Press("Create and switch", "name", "topic").Approve()
	b.Get(branches).See("topic").Sound()
	b.Get(desk).See("topic").Press("Stash changes", "message", "for later").Approve()
	b.Get(desk).See("No unstaged changes").Sound()
	b.Get(branches).See("for later").Sound().Press("Pop stash@{0}").Approve().See("No stashes")
	b.Get(desk).See("new.txt")
	b.Get(desk).Press("Stage all files of shop").Approve()
	b.Get(desk).Press("Unstage all files of shop").Approve()
	assert.Equal(t, http.StatusNotFound, b.Send(strings.Replace(at, "/projects/", "/projects/git/", 1)+"/gc", nil).Status)
}

// TestTasksAreRunFromTheProjectsPage, in the directory and in the members of its workspace.
func TestTasksAreRunFromTheProjectsPage(t *testing.T) {
	b := newBench(t, nil)
	b.Rig.Write(filepath.Join(b.Home, "bin"), "make", "#!/bin/sh\necho \"made $* <b>\"\n")
	require.NoError(t, os.Chmod(filepath.Join(b.Home, "bin", "make"), 0o755))
	_, id := b.core.Project("works", "-- package.json --\n{\"name\": \"works\", \"workspaces\": [\"packages/*\"]}\n-- packages/ui/package.json --\n{\"name\": \"ui\", \"scripts\": {\"test\": \"sh test.sh\"}}\n-- packages/ui/test.sh --\necho tested ui\n"+
		"-- Makefile --\ninclude more.mk\ndeploy:\n\t./deploy.sh <now>\n")
	at := "/projects/" + string(id)
	b.Get(at).See("tasks of other files", "./deploy.sh <now>", "includes more.mk", "packages/ui").Sound().Safe("<now>").
		Press("Run task deploy").See("make may run more than is shown: Makefile includes more.mk").Approve().See("made deploy <b>", "deploy: completed").Sound()
	b.Get(at).Press("Run in members", "task", "test").Approve().See("ui: completed", "tested ui")
}
