package sandboxpages_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/testkit/browser"
)

// TestSandboxesInABrowser: every page is judged by axe and kept as a picture; a worktree with work is deleted only after it was shown and confirmed.
func TestSandboxesInABrowser(t *testing.T) {
	b := newBench(t)
	chromium := browser.Open(t)
	at, url, _ := b.project("shop")
	b.web.Live(b.Local, b.Local)
	dirs := map[string]string{}
	for _, name := range []string{"fix-login", "search", "old"} {
		dirs[name] = b.Do("opencode_sandbox_create", map[string]any{"git_url": url, "name": name})["worktree"].(map[string]any)["directory"].(string)
	}
	b.age(t, "old")
	b.Write(dirs["fix-login"], "only here.txt", "work\n")
	p := chromium.Page(t, b.web.URL+"/sandboxes")
	look := func(path, name, want string) {
		p.Go(b.web.URL + path)
		p.WaitText("main", want)
		p.Axe()
		p.Shot(name)
	}
	look("/sandboxes", "sandboxes", "origins-shop")
	look("/sandboxes/-/upkeep", "upkeep", "1 projects")
	look(at+"/log", "log", "opencode.log")
	look(at, "project", "1 changed")
	look(at+"/cleanup", "cleanup", "can be deleted")
	look(at+"/server", "server", "Destroy project")
	look(at+"/work/fix-login", "work", "only here.txt")
	look(at+"/work/fix-login/comments", "comments", "No comments.")
	look(at+"/work/fix-login/merge", "merge", "Archive")
	look(at+"/work/fix-login/manage", "manage", "Isolation")
	p.Dark(true)
	look(at, "project dark", "healthy")
	p.Dark(false)
	p.Narrow(true)
	look(at, "project narrow", "healthy")
	for _, path := range []string{"/sandboxes", "/sandboxes/-/upkeep", at, at + "/cleanup", at + "/backups", at + "/server", at + "/work/fix-login", at + "/work/fix-login/merge", at + "/work/fix-login/manage"} {
		p.Go(b.web.URL + path)
		var wide bool
		p.Eval("document.documentElement.scrollWidth > document.documentElement.clientWidth + 1", &wide)
		assert.False(t, wide, "%s is wider than a phone", path)
	}
	p.Shot("manage narrow")
	p.Narrow(false)

	p.Go(b.web.URL + at + "/work/fix-login/manage")
	p.Press("Delete sandbox fix-login")
	p.WaitText("h1", "Delete sandbox fix-login")
	p.WaitText("main", "only here.txt") // refused, with the list
	p.Axe()
	p.Shot("refused")
	require.DirExists(t, dirs["fix-login"])
	p.Press("Back")
	p.WaitText("h1", "origins-shop")
	p.Go(b.web.URL + at + "/work/fix-login/manage")
	p.Click("main .hazard details:last-of-type summary")
	p.Press("Delete with force: sandbox fix-login")
	p.WaitText("h1", "Delete sandbox fix-login")
	p.Axe()
	p.Shot("forced")
	require.DirExists(t, dirs["fix-login"])
	p.WaitFor(`performance.now() > 1500 && !("held" in document.body.dataset)`) // what has just moved under a pointer takes no press
	p.Press("Approve: delete sandbox fix-login of origins-shop with unsaved work: 1 change (kept under backup refs)")
	p.WaitFor(`/the sandbox was deleted|Delete sandbox fix-login: done/.test(document.querySelector("main").innerText)`) // on a page of its own if it took long
	p.Go(b.web.URL + at + "/backups")
	p.WaitText("main", "uncommitted changes")
	p.Axe()
	require.NoDirExists(t, dirs["fix-login"])
	p.Go(b.web.URL + at + "/cleanup")
	p.Press("Delete 1 sandbox: project origins-shop")
	p.WaitText("h1", "Cleanup of origins-shop")
	p.WaitText("main", "done")
	p.Axe()
	p.Shot("cleaned")
	require.NoDirExists(t, dirs["old"])
	require.DirExists(t, dirs["search"])
}
