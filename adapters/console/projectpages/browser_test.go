package projectpages_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/testkit/browser"
)

// TestProjectsInABrowser: every page is judged by axe and kept as a picture; what programs print appears while they run.
func TestProjectsInABrowser(t *testing.T) {
	b := newBench(t, nil)
	chromium := browser.Open(t)
	dir, at := b.project("shop")
	b.Site.Live(b.core.Local, b.core.Local)
	b.git(dir, "worktree", "add", "-q", filepath.Join(b.Top, "tree"), "-b", "side")
	b.Write(dir, "staged.txt", "one\ntwo\n")
	b.git(dir, "add", "-A")
	b.Write(dir, "build.sh", "echo building\nwhile [ ! -f go ]; do sleep 0.02; done\necho built\n")
	id := b.core.Do("create_workflow", map[string]any{"name": "Release", "project_id": filepath.Base(at)})["workflowId"].(string)
	for _, s := range [][2]string{{"greet", "echo hello"}, {"build", "sh build.sh"}} {
		b.core.Do("add_workflow_step", map[string]any{"workflow_id": id, "name": s[0], "command": s[1]})
	}
	hook := b.core.ByPerson("action_save", map[string]any{"type": "webhook", "name": "Tell all", "project": dir, "webhook": map[string]any{
		"url": "https://hooks.example.com/x?token=s3cr3t", "headers": map[string]string{"Authorization": "Bearer abc"}, "payloadTemplate": `{"text": "{{text}}"}`}})["id"].(string)
	p := chromium.Page(t, b.URL+"/projects")
	// approve presses once the page has come to rest: what has just moved under a pointer takes no press.
	approve := func(what string) {
		p.WaitFor(`performance.now() > 1500 && !("held" in document.body.dataset)`)
		p.Press("Approve: " + what)
	}
	look := func(path, name, want string) {
		p.Go(b.URL + path)
		p.WaitText("main", want)
		p.Axe()
		p.Shot(name)
		var wide bool
		p.Eval("document.documentElement.scrollWidth > document.documentElement.clientWidth + 1", &wide)
		assert.False(t, wide, "%s is wider than its window", name)
	}
	look("/projects", "projects", "shop")
	look(at, "project", "tsc -p .")
	p.Dark(true)
	look(at, "project dark", "tsc -p .")
	p.Dark(false)
	p.Narrow(true)
	look(at, "project narrow", "tsc -p .")
	p.Narrow(false)
	git := at + "?tab=changes"
	look(git, "git", "Whole file build.sh: modified")
	p.Narrow(true)
	look(git, "git narrow", "Whole file build.sh: modified")
	p.Narrow(false)
	p.Press("Stage all files of shop")
	p.WaitText("h1", "Stage changes in shop")
	p.WaitText("main", "+while [ ! -f go ]")
	p.Axe()
	p.Shot("git stage to be confirmed")
	b.Write(dir, "services.yaml", "services:\n  db: {command: sh serve.sh}\n  web: {command: sh serve.sh, depends_on: [db]}\n")
	look(at, "project with services", "Start all")
	for tab, want := range map[string]string{"branches": "side", "workflows": "Release", "actions": "Tell all", "executions": "No executions yet", "settings": "Unregister project"} {
		look(at+"?tab="+tab, "project "+tab, want)
	}
	for tab, want := range map[string]string{"steps": "Add step", "inputs": "No inputs.", "webhooks": "Incoming webhook", "settings": "Delete workflow"} {
		look("/projects/workflows/"+id+"?tab="+tab, "workflow "+tab, want)
	}
	look("/projects/actions", "actions", "Tell all")
	look("/projects/actions/"+hook, "webhook", "{{text}}")
	look("/projects/templates?category=git", "templates", "git")

	// A workflow: its steps and its output appear while it runs, on the page of the call and on its own.
	look("/projects/workflows/"+id, "workflow", "Release")
	p.Press("Run workflow")
	p.WaitText("h1", "Run workflow Release")
	p.Axe()
	p.Shot("workflow to be confirmed")
	approve(`run workflow "Release": 2 steps`)
	p.WaitText("main", "stdout] building")
	p.Axe()
	p.Shot("workflow runs")
	other := chromium.Apart(t).Page(t, b.URL+"/projects/workflows/"+id)
	other.WaitText("main", "Running now")
	other.WaitText("main", "stdout] building")
	other.Axe()
	b.Write(dir, "go", "")
	p.WaitText("main", "2 of 2 steps")
	other.WaitText("main", "Completed")
	p.Press("View steps and output")
	p.WaitText("main", "stdout: built")
	p.Axe()
	p.Shot("execution")
	look("/projects/workflows/"+id, "workflow completed", "Last execution")
	p.Narrow(true)
	p.Dark(true)
	look("/projects/workflows/"+id, "workflow narrow dark", "Last execution")
	look("/projects/workflows/"+id+"?tab=steps", "workflow steps narrow dark", "Add step")
	p.Dark(false)
	p.Narrow(false)
	look("/projects/executions", "history", "Release")

	// A background process: its output comes by itself, and its end.
	look("/projects/processes", "no processes", "No background processes")
	p.Go(b.URL + at)
	p.Press("Run in background serve")
	p.WaitText("h1", "Run script serve of shop")
	approve("run script serve of shop: node server.js")
	p.WaitText("main", "View output")
	p.WaitFor("!document.body.dataset.live") // nothing moves any more
	p.Press("View output")
	p.WaitFor("location.pathname.startsWith('/projects/processes/')")
	p.WaitText("[role=log]", "listening <now>")
	for _, words := range []string{"first words", "\x1b[32mother\x1b[0m <b>words</b>", "last words"} {
		b.Write(dir, "say", words+"\n")
		b.Rig.Soon(func() bool { _, err := os.Stat(filepath.Join(dir, "say")); return os.IsNotExist(err) }, "it is said")
	}
	p.WaitText("[role=log]", "last words")
	log := p.Text("[role=log]")
	assert.Contains(t, log, "[stdout] other <b>words</b>")
	assert.Regexp(t, `(?s)^\[stdout\] listening <now>\s+\[stdout\] first words\s+\[stdout\] other <b>words</b>\s+\[stdout\] last words\s*$`, log, "each line once")
	p.Axe()
	p.Shot("process")
	list := chromium.Apart(t).Page(t, b.URL+"/projects/processes")
	list.WaitText("main", "Running")
	list.Axe()
	b.Write(dir, "stop", "")
	list.WaitText("main", "Completed") // nobody has touched the page
	list.Shot("processes")
	p.WaitText("main", "exit code 0")

	require.NoError(t, os.Remove(filepath.Join(dir, "stop")))
	p.Scripts(false)
	p.Go(b.URL + at)
	p.Press("Run echo")
	p.WaitText("h1", "Run script echo of shop")
	approve("run script echo of shop: echo")
	p.WaitText("main", "Done.")
}
