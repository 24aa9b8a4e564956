package projectpages_test

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/console/projectpages"
	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/adapters/local"
	"github.com/countersign-dev/countersign/internal/testkit/consolerig"
	"github.com/countersign-dev/countersign/internal/testkit/projectrig"
)

// TestMain lets the test binary be the supervisor of background processes.
func TestMain(m *testing.M) { projectrig.Main(m.Run) }

// bench is a machine with projects, and the user at its console.
type bench struct {
	*projectrig.Rig
	*consolerig.Site
	core *projectrig.Core
}

func mounts(runner *ui.CallRunner, mux *http.ServeMux, person func(httpauth.Handler) http.Handler) {
	projectpages.New(runner).Mount(mux, person)
}

func newBench(t *testing.T, change func(*local.Config)) *bench {
	t.Helper()
	r := projectrig.New(t)
	for name, value := range map[string]string{"GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.com", "GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@example.com", "GIT_CONFIG_GLOBAL": os.DevNull} {
		t.Setenv(name, value)
	}
	d := r.OpenCore(change)
	return &bench{Rig: r, Site: consolerig.New(t, d, mounts), core: d}
}

func (b *bench) git(dir string, args ...string) {
	b.Rig.T.Helper()
	out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput()
	require.NoError(b.Rig.T, err, "%s", out)
}

const shop = `
-- package.json --
{"name": "shop", "scripts": {"build": "tsc -p .", "fail": "exit 3", "serve": "node server.js", "echo": "echo"}, "engines": {"node": ">=22"}}
-- build.sh --
echo "built in $PWD"
echo "a warning" >&2
-- fail.sh --
printf '\033[31mit broke\033[0m <b>here</b>\n' >&2
exit 3
-- echo.sh --
for a in "$@"; do echo "[$a]"; done
-- serve.sh --
echo "listening <now>"
trap 'echo bye; exit 0' TERM
i=0
while [ ! -f stop ]; do i=$((i+1)); [ -f say ] && cat say && rm say; sleep 0.05; done
`

// project returns the shop as a registered project with a repository, and the path of its page.
func (b *bench) project(name string) (dir, at string) {
	b.Rig.T.Helper()
	dir, id := b.core.Project(name, shop)
	b.git(dir, "init", "-q", "-b", "main")
	b.git(dir, "add", "-A")
	b.git(dir, "commit", "-q", "-m", "first")
	return dir, "/projects/" + string(id)
}

func TestNothingThereYet(t *testing.T) {
	b := newBench(t, nil)
	for path, want := range map[string]string{
		"/projects": "No projects registered", "/projects/workflows": "No workflows yet", "/projects/processes": "No background processes",
		"/projects/actions": "No actions.", "/projects/executions": "No matching executions", "/projects/templates": "Create template",
	} {
		b.Get(path).See(want).Sound()
	}
	for _, path := range []string{"/projects/none", "/projects/workflows/wf-none", "/projects/processes/none", "/projects/actions/none", "/projects/executions/none"} {
		p := b.Open(path)
		assert.Equal(t, http.StatusNotFound, p.Status, "%s: %s", path, p.Text())
		p.See("Error")
	}
}

func TestNotServed(t *testing.T) {
	b := newBench(t, func(c *local.Config) { c.Options.Serve.Toolsets = []string{"packs"} })
	for _, path := range []string{"/projects", "/projects/workflows", "/projects/processes", "/projects/actions", "/projects/executions/x", "/projects/templates", "/projects/x"} {
		p := b.Open(path)
		assert.Equal(t, http.StatusNotFound, p.Status, path)
		p.See("--toolsets projects").Sound()
	}
	assert.Equal(t, http.StatusNotFound, b.Send("/projects/x/run", nil).Status)
}

// TestWithoutTheWorkbench: what only users do is served with its own toolset; without it, the pages show and run all the same.
func TestWithoutTheWorkbench(t *testing.T) {
	b := newBench(t, nil)
	_, at := b.project("shop")
	narrow := b.Rig.OpenCore(func(c *local.Config) { c.Options.Serve.Toolsets = []string{"projects"} })
	site := consolerig.New(t, narrow, mounts)
	site.Get("/projects").See("countersign project add").Sound()
	p := site.Get(at).See("shop", "tsc -p .").Sound()
	p.Miss("Settings")
	site.Get(at + "?tab=changes").See("No staged changes").Sound()
	p.Press("Run build").Approve().See("built in")
	assert.Equal(t, http.StatusNotFound, site.Open("/projects/none").Status)
}

func TestRegisterChangeUnregister(t *testing.T) {
	b := newBench(t, nil)
	dir := b.Dir("shop", shop)
	p := b.Get("/projects").Press("Register project", "path", filepath.Join(b.Top, "nowhere"))
	p.See("nowhere") // refused, and told where
	require.Contains(t, p.Path, "/work/")
	b.Get("/projects").Press("Register project", "path", dir, "name", "Shop <b>", "description", "sells").See("Register project "+dir+": done", "Shop <b>", "not a git repository", "npm").Sound()

	at := regexp.MustCompile(`href="(/projects/[0-9a-f-]{36})"`).FindStringSubmatch(b.Get("/projects").HTML)[1]
	b.Get(at).See("Shop <b>", "sells", "not a git repository", ">=22").Sound().Safe("Shop <b>")
	b.Get(at + "?tab=changes").See("Not a git repository").Sound()
	settings := at + "?tab=settings"
	page := b.Get(settings).Sound().Safe("Shop <b>")
	page = page.Press("Save project", "name", "Shop two", "env", "CI\nDEBUG", "loopback", "true", "hosts", "127.0.0.1:8080").See("Shop two")
	_, _, sent := page.Filled("Save project")
	assert.Equal(t, []string{"Shop two", "sells", "CI\nDEBUG", "true", "127.0.0.1:8080"},
		[]string{sent.Get("name"), sent.Get("description"), sent.Get("env"), sent.Get("loopback"), sent.Get("hosts")})
	sent.Del("loopback")
	sent.Set("env", "")
	b.Send(at+"/settings", sent)
	_, _, sent = b.Get(settings).Filled("Save project")
	assert.Equal(t, []string{"", ""}, []string{sent.Get("env"), sent.Get("loopback")})
	b.Get(settings).Press("Save project", "env", "not a name").See("env_pass")

	asked := b.Get(settings).Press("Unregister project Shop two").See("unregister project \"Shop two\"")
	require.DirExists(t, dir)
	asked.Approve().See("No projects registered")
	require.DirExists(t, dir)
}

func TestScripts(t *testing.T) {
	b := newBench(t, nil)
	dir, at := b.project("shop")
	p := b.Get(at).See("Scripts", "build", "tsc -p .", "Run in background").Miss("services file").Sound()

	asked := p.Press("Run build").See("run script build of shop: tsc -p .")
	assert.Empty(t, b.Told(), "nothing runs before somebody says so")
	asked.Approve().See("Done.", "exit code 0", "built in "+dir, "a warning")
	require.Equal(t, [][]string{{"npm", "run", "build"}}, b.Told())

	b.Get(at).Press("Run build").Press("Deny: run script build of shop: tsc -p .", "reason", "not now").See("denied this call")
	assert.Len(t, b.Told(), 1)

	failed := b.Get(at).Press("Run fail").Approve().See("exit code 3", "it broke <b>here</b>")
	failed.Safe("<b>here</b>")

	b.Get(at).Press("Run echo with options", "args", "--flag=a b\r\n\r\n$(touch x); 'quote' \"<i>\"\r\n", "timeout", "20").Approve().
		See("[--flag=a b]", "[$(touch x); 'quote' \"<i>\"]").Safe("<i>")
	assert.NoFileExists(t, filepath.Join(dir, "x"))
	b.Get(at).Press("Run echo with options", "timeout", "soon").See("timeoutMs")
	b.Get(at).Press("Run serve").See("runs until it is stopped")
	b.Get(at).Press("Run echo with options", "pattern", "x").See("runInBackground")
	require.NoError(t, os.Remove(filepath.Join(dir, "package.json")))
	b.Get(at).See("No package.json with scripts").Miss("package_json_invalid")
}

func TestGit(t *testing.T) {
	b := newBench(t, nil)
	dir, at := b.project("shop")
	b.Get(at).See("clean", "main")
	b.Get(at+"?tab=changes").See("No staged changes", "No unstaged changes").Sound()
	b.Get("/projects").See("clean", "main")
	b.Write(dir, "a <b>.txt", "one\n")
	b.git(dir, "add", "-A")
	b.Write(dir, "build.sh", "echo other\n")
	b.Write(dir, "new\x1b[31m.txt", "two\n")
	b.git(dir, "worktree", "add", "-q", filepath.Join(b.Top, "tree"), "-b", "side")
	b.Get(at).See("1 staged, 1 modified, 1 untracked").Sound()
	changes := b.Get(at+"?tab=changes").See("Whole file a <b>.txt", "+one").Sound()
	assert.NotContains(t, changes.HTML, "a <b>.txt")
	b.Get(at+"?tab=branches").See("Worktrees", "side").Sound()
	b.Get("/projects").See("1 staged, 1 modified, 1 untracked")

	tree := b.Get(at+"?worktree="+url.QueryEscape(filepath.Join(b.Top, "tree"))).See("Worktree "+filepath.Join(b.Top, "tree"), "clean", "side", "tsc -p .").Sound()
	tree.Press("Run build").Approve().See("built in " + filepath.Join(b.Top, "tree"))
	outside := b.Get(at + "?worktree=" + url.QueryEscape("/etc")).See("code path_not_allowed")
	outside.Miss("passwd")
}

func TestHostileProjects(t *testing.T) {
	b := newBench(t, nil)
	const evil = `<script>alert("1")</script>`
	dir := b.Dir("evil", "")
	scripts := map[string]string{evil: "echo " + evil, "bidi": "echo \u202egnp.exe", "quote'\"": "true", "wide 日本語": "true"}
	var members []string
	for name, command := range scripts {
		members = append(members, fmt.Sprintf("%q: %q", name, command))
	}
	b.Write(dir, "package.json", `{"scripts": {`+strings.Join(members, ",")+`}, "description": "\u001b[31mred"}`)
	at := "/projects/" + string(b.core.Register(dir))
	b.core.ByPerson("project_change", map[string]any{"project": dir, "name": evil, "description": evil})
	b.Get("/projects").See(evil).Safe(evil).Sound()
	p := b.Get(at).See(evil, "echo ␣U+202Egnp.exe", "quote'\"", "日本語").Safe(evil).Sound()
	p.Press("Run " + evil).Safe(evil)
	w := b.core.Do("create_workflow", map[string]any{"name": evil, "description": evil})
	b.Get("/projects/workflows").See(evil).Safe(evil).Sound()
	b.Get("/projects/workflows/" + w["workflowId"].(string)).Safe(evil).Sound()
	a := b.core.ByPerson("action_save", map[string]any{"type": "script", "name": evil, "script": map[string]any{"command": "true", "args": []string{evil}}})
	b.Get("/projects/actions").See(evil).Safe(evil).Sound()
	b.Get("/projects/actions/" + a["id"].(string)).Safe(evil).Sound()
	for _, query := range []string{"?q=" + url.QueryEscape(evil), "?q=%00%ff", "?q=" + strings.Repeat("x", 5000)} {
		assert.Less(t, b.Open("/projects"+query).Safe(evil).Status, 500, query)
		assert.Less(t, b.Open("/projects/templates"+query).Safe(evil).Status, 500, query)
	}
	assert.Equal(t, http.StatusBadRequest, b.Open("/projects/executions?state=%3Cb%3E").Status)
	p = b.Open("/projects/%2e%2e%2fetc?worktree=%00")
	assert.Equal(t, http.StatusNotFound, p.Status)
}

// TestMuchOutput: what is longer than a page shows is cut, and said to be.
func TestMuchOutput(t *testing.T) {
	b := newBench(t, nil)
	dir, at := b.project("shop")
	b.Write(dir, "build.sh", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); echo \"line $i of what is printed, which is not short <b>\"; done\n")
	p := b.Get(at).Press("Run build").Approve().See("Done.", "line 20000 of", "the middle is left out")
	p.Safe("<b>")
	assert.Less(t, len(p.HTML), 400_000)
	b.Get(at).Press("Run in background build").Approve().See("View output")
	b.Rig.Soon(func() bool { return strings.Contains(b.Open("/projects/processes").Text(), "Completed") }, "it ends")
	one := b.Get(regexp.MustCompile(`href="(/projects/processes/[^"]+)"`).FindStringSubmatch(b.Get("/projects/processes").HTML)[1]).
		See("19700 earlier lines are not shown", "line 20000 of").Miss("line 19000 of").Sound()
	all := b.Get(one.Path+"?all=yes").See("18000 earlier lines", "line 19000 of")
	assert.Less(t, len(all.HTML), 400_000)
}
