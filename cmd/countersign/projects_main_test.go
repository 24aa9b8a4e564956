//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// job is the main job on its way.
type job struct {
	*workshop
	hand       *hand
	shop, site string // directories
	ids        map[string]string
}

// TestProjectsMainJob: three real projects are registered, and an agent looks at them, runs their scripts, keeps a server going in the background,
// builds and runs a workflow, and sends a webhook, each after a confirmation that shows what will happen. All of it is on record.
func TestProjectsMainJob(t *testing.T) {
	needs(t, "node", "npm", "pnpm")
	t.Parallel()
	w := newWorkshopFor(t, built(t))
	w.projects("shop", "site", "relay")
	version, err := exec.Command("pnpm", "--version").Output()
	require.NoError(t, err)
	edit(t, w.at("site/package.json"), "PNPM", strings.TrimSpace(string(version)))
	for _, name := range []string{"shop", "site", "relay"} {
		w.must("project", "add", w.at(name))
	}
	j := &job{workshop: w, hand: w.serve(), shop: w.at("shop"), site: w.at("site"), ids: map[string]string{}}
	j.looks()
	j.runsScripts()
	j.keepsServer()
	execution := j.runsWorkflow()
	delivery := j.triggersWebhook()
	j.hand.leaves()
	j.isOnRecord(execution, delivery)
}

// looks: what there is, and what git says of it, is shown without asking anybody.
func (j *job) looks() {
	t, h := j.t, j.hand
	var list struct {
		Projects []struct {
			ID, Name, Path, ProjectType, CurrentBranch string
			PackageManager                             *string
		}
		Total int
	}
	h.sees(&list, "list_projects", args{})
	require.Equal(t, 3, list.Total)
	var seen []string
	for _, p := range list.Projects {
		manager := "none"
		if p.PackageManager != nil {
			manager = *p.PackageManager
		}
		seen = append(seen, strings.Join([]string{p.Name, p.ProjectType, manager, p.CurrentBranch, p.Path}, " "))
		j.ids[p.Name] = p.ID
	}
	assert.Equal(t, []string{"relay go none main " + j.at("relay"), "shop node npm main " + j.shop, "site node pnpm main " + j.site}, seen)

	var shop struct {
		ID, Name, CurrentBranch, PackageManager string
		Scripts                                 map[string]string
		GitRemote                               *string
	}
	h.sees(&shop, "get_project", args{"path": j.shop})
	assert.Equal(t, j.ids["shop"], shop.ID)
	assert.Equal(t, "node build.js", shop.Scripts["build"])
	assert.Nil(t, shop.GitRemote)

	write(t, j.at("shop/README.md"), "# The shop\n")
	write(t, j.at("shop/notes.txt"), "to do\n")
	j.git("shop", "add", "README.md")
	write(t, j.at("shop/build.js"), read(t, j.at("shop/build.js"))+"// more\n")
	var status struct {
		Status struct {
			Branch                      string
			Staged, Modified, Untracked []string
			Clean                       bool
		}
	}
	h.sees(&status, "get_git_status", args{"project_path": j.shop})
	assert.Equal(t, "main", status.Status.Branch)
	assert.Equal(t, [][]string{{"README.md"}, {"build.js"}, {"notes.txt"}}, [][]string{status.Status.Staged, status.Status.Modified, status.Status.Untracked})
	assert.False(t, status.Status.Clean)
	var diff struct {
		Diff         string
		FilesChanged int `json:"files_changed"`
		Insertions   int
		Deletions    int
	}
	h.sees(&diff, "get_staged_diff", args{"project_path": j.shop})
	assert.Contains(t, diff.Diff, "-# Shop\n+# The shop\n")
	assert.NotContains(t, diff.Diff, "// more")
	h.sees(&diff, "get_git_diff", args{"worktree_path": j.shop})
	assert.Contains(t, diff.Diff, "-# Shop\n+# The shop\n")
	assert.Equal(t, []int{1, 1, 1}, []int{diff.FilesChanged, diff.Insertions, diff.Deletions})

	elsewhere := h.fails("PATH_NOT_ALLOWED", "get_project", args{"path": j.at("shop/../stranger")})
	assert.NotEmpty(t, elsewhere.Hint)
}

// ran is what came of a script.
type ran struct {
	Success        bool
	Manager        string `json:"package_manager"`
	Argv           []string
	ExitCode       int `json:"exit_code"`
	Stdout, Stderr string
}

// runsScripts: the confirmation shows the command that package.json has for the script, and is good for nothing but that command.
func (j *job) runsScripts() {
	t, h := j.t, j.hand
	build := args{"script_name": "build", "project_path": j.shop}
	p := h.asks("run_script", build)
	var shown struct {
		Command, Cwd string
		Argv         []string
		Manager      string `json:"package_manager"`
		Project      struct{ Name, Path string }
	}
	require.NoError(t, json.Unmarshal(p.Context, &shown))
	assert.Equal(t, "node build.js", shown.Command)
	assert.Equal(t, "npm", shown.Manager)
	assert.Equal(t, []string{"run", "build"}, shown.Argv[1:])
	assert.Equal(t, []string{j.shop, j.shop, "shop"}, []string{shown.Cwd, shown.Project.Path, shown.Project.Name})
	assert.Contains(t, p.Prompt, "node build.js")
	assert.Equal(t, "medium", p.Risk)
	assert.NoDirExists(t, j.at("shop/dist"), "nothing runs before somebody agreed")

	edit(t, j.at("shop/package.json"), "node build.js", "node build.js --minify")
	changed := h.fails("CONFLICT", "run_script", p.with(build))
	assert.Contains(t, changed.Details.Differences, difference{"$.context.command", "node build.js", "node build.js --minify"})
	assert.NoDirExists(t, j.at("shop/dist"))
	edit(t, j.at("shop/package.json"), "node build.js --minify", "node build.js")

	var made ran
	h.sees(&made, "run_script", p.with(build))
	assert.True(t, made.Success)
	assert.Equal(t, 0, made.ExitCode)
	assert.Contains(t, made.Stdout, "built 1 file with no arguments\n")
	assert.FileExists(t, j.at("shop/dist/bundle.js"))
	h.fails("CONFLICT", "run_script", p.with(build)) // a token is good once

	h.does(&made, "run_npm_script", args{"projectPath": j.shop, "scriptName": "build", "args": []string{"$(id)", "; rm -rf .", "--flag"}})
	assert.Contains(t, made.Stdout, "built 1 file with $(id)|; rm -rf .|--flag\n", "arguments are passed on as they are")

	h.does(&made, "run_script", args{"script_name": "lint", "project_path": j.site})
	assert.Equal(t, "pnpm", made.Manager)
	assert.Regexp(t, `linted with pnpm/\d`, made.Stdout, "it was pnpm that ran it")
	assert.Contains(t, made.Stderr, "no warnings")

	none := h.fails("SCRIPT_NOT_FOUND", "run_script", args{"script_name": "build", "project_path": j.at("relay")})
	assert.Contains(t, none.Message, "package.json")
	dev := h.fails("INVALID_ARGUMENT", "run_script", args{"script_name": "dev", "project_path": j.shop})
	assert.Contains(t, dev.Message, "runInBackground")
}

// background is a process in the background as its start is answered.
type background struct {
	ID      string `json:"process_id"`
	PID     int
	Status  string
	Matched bool     `json:"pattern_matched"`
	Initial []string `json:"initial_output"`
	Next    int64    `json:"nextSeq"`
}

var address = regexp.MustCompile(`http://127\.0\.0\.1:\d+/`)

// startsServer starts the shop's development server and returns where it listens.
func startsServer(h *hand, shop string) (background, string) {
	h.t.Helper()
	var b background
	h.does(&b, "run_npm_script", args{"projectPath": shop, "scriptName": "dev", "runInBackground": true, "successPattern": `^ready on http://[\d.]+:\d+`, "successTimeoutMs": 15000})
	require.True(h.t, b.Matched, "%+v", b)
	url := address.FindString(strings.Join(b.Initial, "\n"))
	require.NotEmpty(h.t, url, b.Initial)
	return b, url
}

func fetch(t testing.TB, url string) string {
	t.Helper()
	client := &http.Client{Timeout: time.Minute}
	defer client.CloseIdleConnections()
	response, err := client.Get(url)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return string(body)
}

// closed reports whether nobody listens there any more.
func closed(url string) bool {
	conn, err := net.DialTimeout("tcp", strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/"), time.Second)
	if err == nil {
		_ = conn.Close()
	}
	return err != nil
}

// readsOn reads the output of a process from where it was left until a line has that text, without ever seeing a line twice.
func readsOn(h *hand, id string, from int64, text string) int64 {
	h.t.Helper()
	eventually(h.t, "a line with "+text, func() bool {
		var chunk struct {
			Lines   []string `json:"outputLines"`
			Next    int64    `json:"nextSeq"`
			Dropped int64    `json:"droppedLines"`
		}
		h.sees(&chunk, "get_background_process_output", args{"processId": id, "sinceSeq": from})
		require.Equal(h.t, from+int64(len(chunk.Lines)), chunk.Next)
		require.Zero(h.t, chunk.Dropped)
		from = chunk.Next
		return slices.ContainsFunc(chunk.Lines, func(line string) bool { return strings.Contains(line, text) })
	})
	return from
}

// keepsServer: a server runs on while the agent does other things, can be read, and ends with everything it started.
func (j *job) keepsServer() {
	t, h := j.t, j.hand
	b, url := startsServer(h, j.shop)
	assert.Equal(t, "running", b.Status)
	assert.Equal(t, "hello from the shop\n", fetch(t, url+"cart"))
	next := readsOn(h, b.ID, b.Next, "GET /cart is request 1")
	fetch(t, url+"pay")
	readsOn(h, b.ID, next, "GET /pay is request 2")

	var list struct {
		Processes []struct{ ID, Status, ScriptName, ProjectPath string }
	}
	h.sees(&list, "list_background_processes", args{})
	require.Len(t, list.Processes, 1)
	assert.Equal(t, []string{b.ID, "running", "dev", j.shop}, []string{list.Processes[0].ID, list.Processes[0].Status, list.Processes[0].ScriptName, list.Processes[0].ProjectPath})
	assert.GreaterOrEqual(t, len(j.children()), 3, "npm, the server and the worker it has sent into a group of its own")

	stop := args{"processId": b.ID}
	p := h.asks("stop_background_process", stop)
	assert.Contains(t, string(p.Context), `"script":"dev"`)
	assert.False(t, closed(url), "nothing ends before somebody agreed")
	var stopped struct {
		Success bool
		Status  string
	}
	h.sees(&stopped, "stop_background_process", p.with(stop))
	assert.True(t, stopped.Success)
	assert.Equal(t, "stopped", stopped.Status)
	assert.True(t, closed(url))
	assert.Empty(t, j.children(), "when it is said to have ended, nothing of it is there")
}

// steps returns those of the workflow that is run: all but the first wait for somebody to open a gate.
func steps() []args {
	return []args{
		{"name": "build", "command": "{pm} run build"},
		{"name": "wait for review", "command": "node wait.js review.gate"},
		{"name": "count files", "command": "node wait.js count.gate && ls dist | wc -l"},
		{"name": "wait for release", "command": "node wait.js release.gate"},
	}
}

// workflow makes a workflow of these steps, which belongs to a project.
func (h *hand) workflow(project string, steps []args) string {
	h.t.Helper()
	var made struct {
		ID string `json:"workflowId"`
	}
	h.does(&made, "create_workflow", args{"name": "release", "project_id": project})
	for i, step := range steps {
		var added struct {
			ID    string `json:"nodeId"`
			Order int
		}
		in := maps.Clone(step)
		in["workflow_id"] = made.ID
		h.does(&added, "add_workflow_step", in)
		assert.Equal(h.t, i, added.Order)
	}
	return made.ID
}

// runsWorkflow: every step is announced when it begins, long before the answer, and the history has its output.
func (j *job) runsWorkflow() (execution string) {
	t, h := j.t, j.hand
	id := h.workflow(j.ids["shop"], steps())
	p := h.asks("run_workflow", args{"workflow_id": id})
	for _, command := range []string{`"npm run build"`, `"node wait.js review.gate"`, `"node wait.js release.gate"`} {
		assert.Contains(t, string(p.Context), command, "the confirmation shows every command")
	}
	h.send("release", "run_workflow", p.with(args{"workflow_id": id}))
	announced := func(step int, name string) {
		t.Helper()
		for {
			m := h.hears()
			require.Empty(t, m.ID, "the answer came before the gate was opened")
			require.Equal(t, "notifications/progress", m.Method)
			require.Equal(t, "release", m.Params.Token)
			require.InDelta(t, 4, m.Params.Total, 0)
			if strings.Contains(m.Params.Message, name) {
				require.InDelta(t, step-1, m.Params.Progress, 0)
				return
			}
		}
	}
	announced(1, "build")
	announced(2, "wait for review")
	var running struct{ Processes []json.RawMessage }
	h.sees(&running, "list_background_processes", args{}) // a session is not deaf while a workflow runs
	write(t, j.at("shop/review.gate"), "")
	announced(3, "count files")
	write(t, j.at("shop/count.gate"), "")
	announced(4, "wait for release")
	write(t, j.at("shop/release.gate"), "")
	value, failed := outcome(t, h.answers(1)["release"])
	require.Nil(t, failed)
	var done struct {
		Success                   bool
		ExecutionID               string `json:"executionId"`
		StepsExecuted, TotalSteps int
		Status                    string
		Summary                   []string `json:"outputSummary"`
	}
	require.NoError(t, json.Unmarshal(value, &done))
	assert.True(t, done.Success)
	assert.Equal(t, []any{4, 4, "completed"}, []any{done.StepsExecuted, done.TotalSteps, done.Status})
	assert.Contains(t, done.Summary, "  > release.gate is there")
	return done.ExecutionID
}

// triggersWebhook: a webhook on this machine is out of reach until the project's settings name it, and is sent what was shown.
func (j *job) triggersWebhook() (execution string) {
	t, h := j.t, j.hand
	type delivery struct{ method, path, body, kind, key string }
	got := make(chan delivery, 4)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- delivery{r.Method, r.URL.Path, string(body), r.Header.Get("Content-Type"), r.Header.Get("X-Api-Key")}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"queued":true}`)
	}))
	defer receiver.Close()
	host := strings.TrimPrefix(receiver.URL, "http://")
	var action struct{ ID string }
	j.typed(&action, "action", "save", "webhook", "deploy", "--project", j.shop, "--url", receiver.URL+"/deploy", "--header", "X-Api-Key=k-0815-4711-very-secret")
	trigger := args{"webhook_id": action.ID, "payload": args{"version": "1.4.0", "by": "agent"}}
	blocked := h.fails("URL_BLOCKED", "trigger_webhook", trigger)
	assert.NotEmpty(t, blocked.Message)
	j.must("project", "set", j.shop, "--webhook-host", host, "--webhook-loopback")

	p := h.asks("trigger_webhook", trigger)
	assert.Contains(t, string(p.Context), receiver.URL+"/deploy")
	assert.Contains(t, string(p.Context), `\"version\":\"1.4.0\"`)
	assert.NotContains(t, string(p.Context), "k-0815-4711-very-secret")
	assert.Empty(t, got, "nothing is sent before somebody agreed")
	var sent struct {
		Success     bool
		ExecutionID string `json:"executionId"`
		Result      struct {
			Status int    `json:"statusCode"`
			Body   string `json:"responseBody"`
		}
	}
	h.sees(&sent, "trigger_webhook", p.with(trigger))
	assert.Equal(t, []any{true, 200, `{"queued":true}`}, []any{sent.Success, sent.Result.Status, sent.Result.Body})
	require.Len(t, got, 1)
	d := <-got
	assert.JSONEq(t, `{"version":"1.4.0","by":"agent"}`, d.body)
	assert.Equal(t, []string{"POST", "/deploy", "application/json", "k-0815-4711-very-secret"}, []string{d.method, d.path, d.kind, d.key})

	var state struct{ ID, ActionType, ActionName, Status string }
	h.sees(&state, "get_execution_status", args{"executionId": sent.ExecutionID})
	assert.Equal(t, []string{sent.ExecutionID, "webhook", "deploy", "completed"}, []string{state.ID, state.ActionType, state.ActionName, state.Status})
	return sent.ExecutionID
}

// isOnRecord: whoever comes later finds all of it, and the record proves that nobody touched it.
func (j *job) isOnRecord(execution, delivery string) {
	t := j.t
	did := map[string]int{}
	for _, r := range j.workshop.runs("") {
		did[r.Tool+" "+r.Status]++
	}
	want := map[string]int{
		"project_add completed": 3, "action_save completed": 1, "project_change completed": 1,
		"run_script completed": 2, "run_npm_script completed": 2, "stop_background_process completed": 1,
		"create_workflow completed": 1, "add_workflow_step completed": 4, "run_workflow completed": 1, "trigger_webhook completed": 1,
		// The script that there is not, the one that never ends, and the webhook that was out of reach.
		"run_script failed": 2, "trigger_webhook failed": 1,
	}
	assert.Equal(t, want, did)

	var audited struct {
		Records []struct{ Event struct{ Tool, Phase string } }
	}
	j.typed(&audited, "audit", "list", "--limit", "500")
	seen := map[string]bool{}
	for _, r := range audited.Records {
		seen[r.Event.Tool+" "+r.Event.Phase] = true
	}
	for line := range want {
		tool, status, _ := strings.Cut(line, " ")
		assert.True(t, seen[tool+" outcome"], tool)
		assert.True(t, seen[tool+" intent"] || status != "completed", tool)
	}
	for _, tool := range []string{"list_projects", "get_project", "get_git_status", "get_staged_diff", "get_git_diff", "get_background_process_output", "get_execution_status"} {
		assert.True(t, seen[tool+" outcome"], tool)
	}
	var proof struct{ Intact bool }
	j.typed(&proof, "audit", "verify")
	assert.True(t, proof.Intact)
	assert.NotContains(t, j.must("audit", "export")+j.must("runs", "list", "--limit", "200", "--json"), "k-0815-4711-very-secret")

	var history struct{ Executions []struct{ ID string } }
	var envelope struct{ Output string } // of the contract, which tools call keeps
	j.typed(&envelope, "tools", "call", "list_action_executions")
	require.NoError(j.t, json.Unmarshal([]byte(envelope.Output), &history))
	assert.Contains(t, fmt.Sprint(history), execution)
	assert.Contains(t, fmt.Sprint(history), delivery)
	assert.Empty(t, j.children())
	assert.DirExists(t, filepath.Join(j.home, ".countersign"))
}
