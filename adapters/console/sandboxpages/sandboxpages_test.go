package sandboxpages_test

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/console/sandboxpages"
	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/adapters/local"
	"github.com/countersign-dev/countersign/internal/testkit/consolerig"
	"github.com/countersign-dev/countersign/internal/testkit/fakeserver"
	"github.com/countersign-dev/countersign/internal/testkit/sandboxrig"
)

// TestMain lets the test binary be the agent server, the gateway, and what supervises them.
func TestMain(m *testing.M) { sandboxrig.Main(m.Run) }

func mounts(runner *ui.CallRunner, mux *http.ServeMux, person func(httpauth.Handler) http.Handler) {
	sandboxpages.New(runner).Mount(mux, person)
}

// bench is a machine with projects keyed by git URL, and the user at its console.
type bench struct {
	*sandboxrig.Rig
	web *consolerig.Site
}

func newBench(t *testing.T) *bench {
	t.Helper()
	r := sandboxrig.New(t)
	return &bench{r, consolerig.New(t, r.Core, mounts)}
}

// project returns a started project, the path of its page, and its directory.
func (b *bench) project(name string) (at, url, dir string) {
	b.Rig.Rig.T.Helper()
	url, dir = b.Rig.Project(name, map[string]string{".gitignore": "cache\n"})
	return "/sandboxes/" + filepath.Base(dir), url, dir
}

func TestNothingThereYet(t *testing.T) {
	b := newBench(t)
	b.web.Get("/sandboxes").See("No sandbox projects").Miss("Gateway").Sound()
	assert.Contains(t, b.web.Get("/sandboxes/-/upkeep").See("0 projects", "not set").Sound().HTML, `<option value="opencode/big-pickle">`)
	for _, path := range []string{"/sandboxes/none", "/sandboxes/none/log", "/sandboxes/none/cleaned", "/sandboxes/none/cleanup", "/sandboxes/none/backups", "/sandboxes/none/server", "/sandboxes/none/work/x/manage", "/sandboxes/%2e%2e", "/sandboxes/%3Cb%3E"} {
		assert.Equal(t, http.StatusNotFound, b.web.Open(path).See("sandbox project not found").Status, path)
	}
	for _, path := range []string{"server", "destroy", "key", "create", "reset", "delete", "restore", "clean", "merge", "update", "push", "apply", "archive"} {
		assert.Equal(t, http.StatusNotFound, b.web.Send("/sandboxes/none/"+path, nil).Status, path)
	}
}

func TestNotServed(t *testing.T) {
	r := sandboxrig.New(t)
	web := consolerig.New(t, r.Rig.OpenCore(func(c *local.Config) { c.Options.Serve.Toolsets = []string{"packs"} }), mounts)
	for _, path := range []string{"/sandboxes", "/sandboxes/x", "/sandboxes/-/upkeep", "/sandboxes/x/log"} {
		p := web.Open(path)
		assert.Equal(t, http.StatusNotFound, p.Status, path)
		p.See("--toolsets sandboxes").Sound()
	}
	assert.Equal(t, http.StatusNotFound, web.Send("/sandboxes/-/start", nil).Status)
}

func TestServers(t *testing.T) {
	b := newBench(t)
	origin, _ := b.Origin("shop", nil)
	b.web.Get("/sandboxes").Press("Start project", "git_url", filepath.Join(b.Top, "nowhere")).Settled().See("code ")
	p := b.web.Get("/sandboxes").Press("Start project", "git_url", origin).Settled().See("the project runs", "http://127.0.0.1:4")
	at := regexp.MustCompile(`href="(/sandboxes/[^"]+)">Open `).FindStringSubmatch(p.HTML)[1]
	list := b.web.Get("/sandboxes").See("running", "origins-shop", "Gateway", "Active projects 1").Sound()
	assert.True(t, list.Has("Restart the gateway"))
	b.web.Get(at).See("healthy", "No sandboxes").Sound()
	b.web.Get(at+"/server").See("healthy", "1.18.33-fake", "Server log").Sound()
	b.web.Get(at + "/backups").See("No backups.").Sound()
	b.web.Get(at + "/cleanup").See("No sandboxes.").Sound()
	b.web.Get(at + "/log").See(b.Memory).Sound()

	before := b.Running()
	b.web.Get(at).Press("Restart the server of origins-shop").Settled().See("the project runs")
	require.NotEqual(t, before[0].PID, b.Running()[0].PID)
	b.web.Get(at).Press("Stop the server of origins-shop").Settled().See("stopped", "Health not running").Miss("Health healthy")
	b.web.Get("/sandboxes").Press("Start the server of origins-shop").Settled().See("the project runs")
	b.web.Get("/sandboxes").Press("Stop the gateway").Settled()
	b.web.Get("/sandboxes").See("stopped").Press("Restart the gateway").Settled()
	b.web.Get(at+"/server").Press("Show deploy key of origins-shop").See("ssh-ed25519", "Add the public key")

	b.web.Get(at + "/server").Press("Destroy origins-shop").Settled().See("No sandbox projects")
	assert.Empty(t, b.Running())
}

// TestServersThatDoNotStart says why, with the last words of the server.
func TestServersThatDoNotStart(t *testing.T) {
	b := newBench(t)
	at, _, _ := b.project("shop")
	b.web.Get(at).Press("Stop the server of origins-shop").Settled()
	t.Setenv(fakeserver.Variable, "exit=3")
	b.web.Get(at).Press("Start the server of origins-shop").Settled().See("ended before it answered", "code sandbox_opencode_start_failed")
	b.web.Get(at+"/server").See("failed", "Last error").Sound()
}

func TestHostileLog(t *testing.T) {
	b := newBench(t)
	at, _, _ := b.project("shop")
	logs, err := filepath.Glob(filepath.Join(b.Memory, "*", "*-opencode.log"))
	require.NoError(t, err)
	if len(logs) == 0 {
		logs, err = filepath.Glob(filepath.Join(b.Memory, "*-opencode.log"))
		require.NoError(t, err)
	}
	require.Len(t, logs, 1)
	var text strings.Builder
	for range 20_000 {
		text.WriteString("\x1b[31mred\x1b[0m <script>alert(1)</script> \x00\xff and more of it on this line\n")
	}
	require.NoError(t, os.WriteFile(logs[0], []byte(text.String()+"the last line"), 0o600))
	few := b.web.Get(at+"/server").See("the last line", "red <script>alert(1)</script>", "KB are not shown").Safe("<script>alert").Sound()
	all := b.web.Get(at + "/log").See("the last line").Safe("<script>alert").Sound()
	assert.Less(t, len(few.HTML), 60_000)
	assert.Less(t, len(all.HTML), 400_000)

	require.NoError(t, os.Remove(logs[0]))
	b.web.Get(at + "/server").See("No output.")
	require.NoError(t, os.Mkdir(logs[0], 0o700))
	b.web.Get(at + "/server").See("code server_log_unreadable")
	assert.Equal(t, http.StatusServiceUnavailable, b.web.Open(at+"/log").Status)
	require.NoError(t, os.Remove(logs[0]))
}

func TestSandboxes(t *testing.T) {
	b := newBench(t)
	at, _, dir := b.project("shop")
	b.web.Get(at).Press("Create sandbox", "box", "fix-login").Settled().See("fix-login", "sandbox/fix-login")
	b.web.Get(at).Press("Create sandbox", "box", "fix-login").Settled().See("code sandbox_exists")
	b.web.Get(at).Press("Create sandbox", "box", "no name").Settled().See("code ")
	asked := b.web.Get(at).Press("Create sandbox", "box", "second", "command", "printf '\\033[32m<b>port\\033[0m '$SANDBOX_PORT; exit 3").See("SANDBOX_PORT")
	asked.Approve().See("start command failed", "exit code 3", "<b>port 4").Safe("<b>port")

	tree := filepath.Join(dir, "worktrees", "fix-login")
	if _, err := os.Stat(tree); err != nil {
		tree = regexp.MustCompile(`<code>([^<]*/fix-login)</code>`).FindStringSubmatch(b.web.Get(at + "/work/fix-login/manage").HTML)[1]
	}
	b.web.Get(at+"/cleanup").See("kept", "less than 7 days").Sound()
	p := b.web.Get(at+"/work/fix-login/manage").See("fix-login", "clean", "SANDBOX_PORT", "SANDBOX_DB_NAME").Sound()
	b.Write(tree, "new <i>.txt", "work\n")
	b.Write(tree, "README.md", "changed\n")
	b.Write(tree, "cache", "ignored\n")
	b.web.Get(at).See("2 changed", "2 files, +2 −1").Sound()
	b.web.Get(at + "/cleanup").See("2 files have uncommitted changes").Sound()

	refused := p.Press("Delete sandbox fix-login").Settled().See("code sandbox_dirty", "new <i>.txt", "README.md").Safe("new <i>").Miss("Approve")
	assert.DirExists(t, tree)
	require.Contains(t, refused.Path, "/work/")
	b.web.Get(at+"/work/fix-login/manage").Press("Delete with force: sandbox fix-login").See("2 changes", "kept under backup refs").Approve().See("Backups")
	assert.NoDirExists(t, tree)

	kept := b.web.Get(at + "/backups").See("uncommitted changes").Sound()
	ref := regexp.MustCompile(`Restore (refs/[^"]+)`).FindStringSubmatch(kept.HTML)[1]
	kept.Press("Restore "+ref, "box", "again").Settled().See("the work was restored", "again")
	b.web.Get(at).See("again", "sandbox/again")

	b.web.Get(at+"/work/second/manage").Press("Change isolation of sandbox second", "isolate", "none").Settled().See("Change the isolation of sandbox second: done")
	b.web.Send(at+"/isolate", url.Values{"box": {"second"}, "isolate": {"chroot"}}).Settled().See("unknown isolation")
	b.web.Send(at+"/server", url.Values{"do": {"start"}, "sandbox": {"second"}}).Settled().See("Start the server of sandbox second in origins-shop", "code ")
	b.web.Get(at + "/work/second/manage").Press("Reset sandbox second").Settled().See("Reset sandbox second: done")
	b.web.Get(at+"/work/second/manage").Press("Reset sandbox second with ignored files").See("reset sandbox second", "clean_ignored").Approve().See("done")
	b.web.Get(at + "/work/second/manage").Press("Delete sandbox second").Settled().See("Delete sandbox second: done")
	b.web.Send(at+"/delete", url.Values{"box": {"nothing"}}).Settled().See("no sandbox \"nothing\"")
}

// TestMergeAndArchive shows the changes of a sandbox, merges exactly the approved commits and files, and archives the sandbox.
func TestMergeAndArchive(t *testing.T) {
	b := newBench(t)
	at, origin, dir := b.project("shop")
	tree := b.Do("opencode_sandbox_create", map[string]any{"git_url": origin, "name": "fix"})["worktree"].(map[string]any)["directory"].(string)
	b.Write(tree, "<i>.txt", "work <b>\n")
	b.Git(tree, "add", "-A")
	b.Git(tree, "commit", "-q", "-m", "Fix <em> it")
	b.Write(tree, "rough.txt", "rough\n")
	b.web.Get(at).See("fix").Safe("<em>")
	b.web.Get(at+"/work/fix").See("Fix <em> it", "added <i>.txt (+1 -0)", "work <b>", "?? rough.txt", "1 commit ahead, 0 behind", "rough").Safe("<em>").Safe("<i>").Safe("<b>").Sound()
	b.web.Get(at+"/work/fix/comments").See("No comments.").Press("Comment on sandbox fix", "text", "Why <b>?", "path", "<i>.txt", "line", "1").See("Why <b>?").Approve().See("Comment on sandbox fix: done")
	b.web.Get(at+"/work/fix/comments").See("<i>.txt:1", "Why <b>?").Safe("<b>").Safe("<i>").Press("Resolve comment 1").Settled().See("Resolve a comment on sandbox fix: done")
	b.web.Get(at + "/work/fix/comments").See("resolved").Sound()
	page := b.web.Get(at + "/work/fix/merge").Sound()
	page.Press("Merge sandbox fix").Settled().See("code sandbox_uncommitted", "rough.txt")
	page.Press("Merge sandbox fix", "method", "squash", "message", "Fixed", "committed_only", "true").See("merge sandbox/fix into main", "Fix <em> it", "work <b>").Safe("<em>").Approve().See("Merge sandbox fix: done")
	assert.Equal(t, "Fixed", b.Git(filepath.Join(dir, "repo"), "log", "-1", "--format=%s", "main"))
	require.NoError(t, os.Remove(filepath.Join(tree, "rough.txt")))
	page = b.web.Get(at + "/work/fix/merge").See("1 commit ahead, 1 behind")
	page.Press("Rebase sandbox fix").Settled().See("Update sandbox fix: done")
	b.web.Get(at + "/work/fix").See("No differences from the base")
	b.web.Get(at + "/work/fix/merge").Press("Archive sandbox fix").Settled().See("Archive sandbox fix: done")
	assert.NoDirExists(t, tree)
	for _, below := range []string{"", "/comments", "/merge", "/manage"} {
		assert.Equal(t, http.StatusNotFound, b.web.Open(at+"/work/fix"+below).Status)
	}
}

// TestCleanUp deletes only clean and old sandboxes; a sandbox that gets changes after the page was shown is kept.
func TestCleanUp(t *testing.T) {
	b := newBench(t)
	at, url, _ := b.project("shop")
	dirs := map[string]string{}
	for _, name := range []string{"old", "older", "young", "worked"} {
		made := b.Do("opencode_sandbox_create", map[string]any{"git_url": url, "name": name})
		dirs[name] = made["worktree"].(map[string]any)["directory"].(string)
	}
	b.age(t, "old", "older", "worked")
	b.Write(dirs["worked"], "new.txt", "work\n")
	p := b.web.Get(at+"/cleanup").See("old can be deleted it is clean", "older can be deleted", "young kept it is less than 7 days old", "worked kept 1 file has uncommitted changes").Sound()
	b.Write(dirs["older"], "late.txt", "work\n") // after the page was made
	after := p.Press("Delete 2 sandboxes: project origins-shop").See("Delete sandbox old done")
	after.Miss("Delete sandbox older done")
	assert.NoDirExists(t, dirs["old"])
	assert.DirExists(t, dirs["older"])
	b.web.Get(at + "/cleanup").See("older kept 1 file has uncommitted changes").Miss("can be deleted")
	after.Site.Send(at+"/clean", nil).See("No sandboxes to delete.")
}

// age sets the creation time of sandboxes to 30 days ago.
func (b *bench) age(t *testing.T, names ...string) {
	t.Helper()
	const file = "opencode-state.json"
	text := b.Read(b.Memory, file)
	for _, name := range names {
		made := regexp.MustCompile(`("` + name + `": ?\{[^{}]*"created_at": ?")[^"]*`)
		require.Regexp(t, made, text)
		text = made.ReplaceAllString(text, "${1}"+time.Now().Add(-30*24*time.Hour).UTC().Format(time.RFC3339))
	}
	require.NoError(t, os.WriteFile(filepath.Join(b.Memory, file), []byte(text), 0o600))
}

func TestDestroyWithWork(t *testing.T) {
	b := newBench(t)
	at, url, dir := b.project("shop")
	made := b.Do("opencode_sandbox_create", map[string]any{"git_url": url, "name": "fix"})
	b.Write(made["worktree"].(map[string]any)["directory"].(string), "only.txt", "here\n")
	b.web.Get(at+"/server").Press("Destroy origins-shop").Settled().See("code sandbox_unpushed_work", "only.txt").Miss("Approve")
	asked := b.web.Get(at+"/server").Press("Destroy with force: origins-shop").Settled().See("lose unsaved work in 1 place", "only.txt", "to approve")
	assert.DirExists(t, dir)
	typed := regexp.MustCompile(`name="(typed_value)"`).FindStringSubmatch(asked.HTML)[1]
	asked.Approve(typed, "origins-shop").See("No sandbox projects")
	assert.NoDirExists(t, dir)
}

func TestUpkeep(t *testing.T) {
	b := newBench(t)
	_, origin, _ := b.project("shop")
	twin := filepath.Join(b.Top, "other", "twin.git")
	require.NoError(t, os.MkdirAll(filepath.Dir(twin), 0o755))
	b.Git(b.Top, "clone", "-q", "--bare", origin, twin)
	b.Do("opencode_project_start", map[string]any{"git_url": twin})
	b.web.Get("/sandboxes/-/upkeep").See("2 projects, 1 repositories", "origins-shop", "other-twin", "keep ").Sound()

	server := b.Running()[0]
	process, err := os.FindProcess(server.PID)
	require.NoError(t, err)
	require.NoError(t, process.Kill())
	b.Soon(func() bool { return len(b.Running()) < 3 }, "it is gone")
	b.web.Get("/sandboxes/-/upkeep").Press("Clean up orphans").Settled().See("orphans were found")
	b.web.Get("/sandboxes/-/upkeep").Press("Clean up orphans").Settled().See("0 orphans were found", "No orphans.")

	set := b.web.Get("/sandboxes/-/upkeep").Press("Set model", "model", "anthropic/claude-fake-1").Settled().See("anthropic/claude-fake-1").Sound()
	set.Press("Set model", "model", "<b>").Settled().See("code ").Safe("<b>")
}
