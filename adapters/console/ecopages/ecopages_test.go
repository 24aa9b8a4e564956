package ecopages_test

import (
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/local"
	"github.com/countersign-dev/countersign/domain/policy"
)

// pages returns all pages about the ecosystem shop.
func pages() []string {
	return []string{"/ecosystems/shop", "/ecosystems/shop/tickets", "/ecosystems/shop/runs", "/ecosystems/shop/releases", "/ecosystems/shop/environment", "/ecosystems/shop/manifest",
		"/ecosystems/shop/trash"}
}

func TestNothingIsThere(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	l := r.get("/ecosystems")
	assert.Contains(t, l.text(), "No ecosystems. Create one below.")
	assert.Contains(t, l.text(), "No active runs.")
	assert.Contains(t, l.text(), r.at("ws"))
	for _, path := range append(pages()[:2:2], "/ecosystems/shop/releases", "/ecosystems/shop/environment", "/ecosystems/shop/trash", "/ecosystems/shop/runs/abcdef12") {
		l := r.send(http.MethodGet, path, nil)
		assert.Equal(t, http.StatusNotFound, l.status, "%s: %s", path, l.text())
	}
	l = r.send(http.MethodGet, "/ecosystems/%3Cscript%3E", nil)
	assert.Equal(t, http.StatusBadRequest, l.status, "that is no name")
	assert.NotContains(t, l.html, "<script>")
	l = r.post("/ecosystems/shop/install")
	assert.Regexp(t, "^/work/", l.path)
	assert.Contains(t, l.text(), "ecosystem shop not found")
}

func TestEcosystemsAreNotServed(t *testing.T) {
	t.Parallel()
	r := newRoom(t, func(c *local.Config) { c.Toolsets = []string{"packs"} })
	for _, path := range append(pages(), "/ecosystems", "/ecosystems/-/policy") {
		l := r.send(http.MethodGet, path, nil)
		assert.Equal(t, http.StatusNotFound, l.status)
		assert.Contains(t, l.text(), "--toolsets ecosystems", path)
	}
	assert.Equal(t, http.StatusNotFound, r.post("/ecosystems/shop/discard").status)
}

// TestModes: the same button explains, shows and does, as the session's mode has it (amof contract).
func TestModes(t *testing.T) {
	t.Parallel()
	r := shop(t, false)
	r.mode("ask")
	l := r.get("/ecosystems/shop")
	assert.Contains(t, l.text(), "Mode ask explains it and changes nothing.", "of what is dangerous")
	assert.Contains(t, l.text(), "Set mode to execute", "what allows changes is offered")
	assert.Contains(t, r.get("/ecosystems/shop/manifest").text(), "Mode ask denies it.", "of what is safe")
	l = r.post("/ecosystems/shop/install")
	for _, words := range []string{"the mode is ask", "set_mode", "Plan", "all of it or nothing", "Alternatives"} {
		assert.Contains(t, l.text(), words)
	}
	assert.NotContains(t, l.html, "plan_hash", "there is nothing to approve")
	l = r.post("/ecosystems/shop/journal", "title", "Why", "body", "because")
	assert.Contains(t, l.text(), "the mode is ask")

	r.mode("plan")
	l = r.get("/ecosystems/shop")
	assert.Contains(t, l.text(), "Mode plan previews it and changes nothing.")
	assert.NotContains(t, l.html, "Preview:", "every button is one")
	l = r.post("/ecosystems/shop/install", "preview", l.hidden("preview"))
	assert.Contains(t, l.path, "/ecosystems/shop?done=")
	assert.Contains(t, l.text(), "Install shop: preview only, nothing was changed.")
	assert.Contains(t, l.text(), r.at("ws/worktrees/shop"), "the plan is shown: %s", l.text())
	assert.NoDirExists(t, r.at("ws/worktrees"))

	r.mode("execute")
	l = r.get("/ecosystems/shop")
	assert.Contains(t, l.text(), "Mode execute runs it after you approve.")
	l = r.post("/ecosystems/shop/install", "mode", "plan")
	assert.Contains(t, l.text(), "nothing was changed", "a preview is one call in mode plan")
	assert.NoDirExists(t, r.at("ws/worktrees"))
	l = r.post("/ecosystems/shop/install")
	require.Contains(t, l.html, "plan_hash", "it asks")
	l = r.post(l.path+"/answer", "decision", "deny", "reason", "not today", "plan_hash", l.hidden("plan_hash"))
	assert.Contains(t, l.text(), "denied")
	assert.NoDirExists(t, r.at("ws/worktrees"))
	assert.Contains(t, r.get("/ecosystems/-/policy").text(), "amof_discard_ecosystem dangerous explain dry-run execute type")

	l = r.post("/ecosystems/-/mode", "mode", "ask", "back", "https://elsewhere.example/ecosystems")
	assert.Contains(t, l.path, "/ecosystems?done=", "nobody is led elsewhere")
	l = r.post("/ecosystems/-/mode", "mode", "sudo", "back", "/ecosystems")
	assert.Contains(t, l.text(), "mode")
	assert.Regexp(t, "^/work/", l.path)
}

func TestTheCeilingIsShown(t *testing.T) {
	t.Parallel()
	r := newRoom(t, func(c *local.Config) { c.Options.Policy.Ceiling = policy.Plan })
	l := r.get("/ecosystems")
	assert.Contains(t, l.text(), "The maximum mode of this server is plan")
	assert.NotContains(t, l.html, `value="execute"`)
	l = r.post("/ecosystems/-/mode", "mode", "execute", "back", "/ecosystems")
	assert.Contains(t, l.text(), "above max_mode plan")
}

// TestTheWholeLife is an ecosystem of three real repositories from its beginning to its end, by forms alone.
func TestTheWholeLife(t *testing.T) {
	t.Parallel()
	r := shop(t, true)
	l := r.get("/ecosystems")
	assert.Regexp(t, `shop installed 3 api, web, lib 0 0 noop a shop`, l.text())
	l = r.get("/ecosystems/shop")
	for _, words := range []string{"read-only", "0 ahead, 0 behind", "workspace/shop", "No tickets.", "Commits since"} {
		assert.Contains(t, l.text(), words)
	}

	assert.Contains(t, r.get("/ecosystems/shop/manifest").text(), "The manifest is valid.")
	l = r.post("/ecosystems/shop/use")
	assert.Contains(t, l.path, "/ecosystems/shop/manifest?done=")
	assert.Contains(t, r.get("/ecosystems").text(), "shop selected")

	l = r.post("/ecosystems/shop/journal", "title", "Why two queues", "body", "first line\r\nsecond line")
	assert.Contains(t, l.text(), "Add a journal entry to shop")
	assert.Contains(t, r.get("/ecosystems/shop/manifest").text(), "1 entry")
	files, err := os.ReadDir(r.at("ws/ecosystems/shop/journal"))
	require.NoError(t, err)
	text, err := os.ReadFile(r.at("ws/ecosystems/shop/journal/" + files[0].Name()))
	require.NoError(t, err)
	assert.Contains(t, string(text), "first line\nsecond line", "as it was typed, with the lines of this machine")

	r.tickets()
	r.pushes()
	r.follows()
	r.releases()
	r.environmentActions()
	r.ends()
}

func (r *room) tickets() {
	t := r.t
	l := r.post("/ecosystems/shop/ticket-start", "ticket_id", "T-1", "repos.api", "true")
	require.Contains(t, l.path, "/ecosystems/shop/tickets?done=", l.text())
	assert.Contains(t, l.text(), "T-1 active started")
	assert.DirExists(t, r.at("ws/worktrees/shop/tickets/T-1/api"))
	assert.NoDirExists(t, r.at("ws/worktrees/shop/tickets/T-1/web"), "only the one that was ticked")
	l = r.post("/ecosystems/shop/ticket-start", "ticket_id", "T-2")
	assert.Contains(t, l.text(), "T-2 active")
	assert.Contains(t, r.get("/ecosystems").text(), "2, T-2 active", "both are counted")
	l = r.post("/ecosystems/shop/ticket-switch", "ticket_id", "T-1")
	assert.Contains(t, l.text(), "T-1 active")
	l = r.post("/ecosystems/shop/ticket-start", "ticket_id", "T-1")
	assert.Regexp(t, "^/work/", l.path, "it is there already")
	l = r.post("/ecosystems/shop/ticket-sync", "ticket_id", "T-1")
	assert.Contains(t, l.text(), "T-1")
	l = r.post("/ecosystems/shop/ticket-merge", "ticket_id", "T-9")
	assert.Contains(t, l.text(), "T-9", "there is no such ticket")
	l = r.post("/ecosystems/shop/ticket-end", "ticket_id", "T-2", "cleanup", "local")
	require.Contains(t, l.html, "plan_hash", "what is cleaned up is confirmed: %s", l.text())
	l = r.post(l.path+"/answer", "decision", "approve", "plan_hash", l.hidden("plan_hash"))
	assert.NotContains(t, r.get("/ecosystems/shop/tickets").text(), "T-2 started")
	assert.NoDirExists(t, r.at("ws/worktrees/shop/tickets/T-2/web"))
}

func (r *room) pushes() {
	t := r.t
	r.write("ws/worktrees/shop/tickets/T-1/api/main.txt", "better\n")
	l := r.get("/ecosystems/shop/tickets")
	assert.Contains(t, l.text(), "dirty")
	l = r.post("/ecosystems/shop/push", "commit_all", "true", "message", "feat: <b>better</b>", "repos.api", "true")
	assert.Contains(t, l.text(), "<b>better</b>", "the plan has the message")
	assert.NotContains(t, l.html, "<b>better", "and nothing of it is markup")
	l = r.post(l.path+"/answer", "decision", "approve", "plan_hash", l.hidden("plan_hash"))
	require.Regexp(t, `/ecosystems/shop/runs\?done=`, l.path, l.text())
	assert.Regexp(t, `Push shop: Queued push as run [0-9a-f]{8}`, l.text())
	assert.Contains(t, l.text(), "Follow run")
	r.quiet("shop")
	assert.Contains(t, r.git("origin/api.git", "log", "--oneline", "feature/T-1"), "better")
	r.does("", "/ecosystems/shop/exec", "command", "cat\r\nmain.txt", "repos.api", "true")
	assert.Contains(t, r.quiet("shop").text(), "exec success")
	l = r.post("/ecosystems/shop/sync")
	assert.Contains(t, l.text(), "Sync shop: Queued sync")
	l = r.quiet("shop")
	assert.NotContains(t, l.html, "badge bad", l.text())
}

// follows looks at a run and its log.
func (r *room) follows() {
	t := r.t
	runs := r.get("/ecosystems/shop/runs?action=push").html
	m := regexp.MustCompile(`href="(/ecosystems/shop/runs/[0-9a-f-]{36})"`).FindStringSubmatch(runs)
	require.NotNil(t, m, runs)
	l := r.get(m[1])
	for _, words := range []string{"Status success", "Exit code 0", "Result", "pushed", "lines in total"} {
		assert.Contains(t, l.text(), words)
	}
	assert.NotContains(t, l.html, "data-live", "it is over: nothing follows")
	later := regexp.MustCompile(`href="([^"]*since=[^"]*)"`).FindStringSubmatch(l.html)
	require.NotNil(t, later)
	assert.Contains(t, r.get(entity.Replace(later[1])).text(), "No matching log lines.")
	assert.NotEqual(t, r.get(m[1]+"?tail=1").text(), l.text())
	assert.Contains(t, r.get(m[1]+"?tail=1").text(), "Show earlier lines")
	assert.Contains(t, r.get(m[1]+"?level=error").text(), "No matching log lines.")
	assert.Equal(t, http.StatusBadRequest, r.send(http.MethodGet, m[1]+"?level=nonsense", nil).status)
	short := m[1][:len("/ecosystems/shop/runs/")+8]
	assert.Equal(t, l.text(), r.get(short).text(), "the beginning of an id is enough")
	assert.Contains(t, r.get("/ecosystems/other/runs/"+m[1][len("/ecosystems/shop/runs/"):]).path, "/ecosystems/shop/runs/", "a run is shown where it belongs")
}

func (r *room) releases() {
	t := r.t
	r.post("/ecosystems/shop/ticket-switch", "ticket_id", "main")
	r.does("", "/ecosystems/shop/bump", "bump_type", "patch", "pre_release", "alpha")
	r.quiet("shop")
	l := r.get("/ecosystems/shop/releases")
	assert.Contains(t, l.text(), "Current version v0.0.1-alpha.1")
	assert.Contains(t, l.text(), "Next stage Stable")
	r.does("", "/ecosystems/shop/promote", "target", "rc")
	r.quiet("shop")
	r.does("", "/ecosystems/shop/promote")
	r.quiet("shop")
	l = r.get("/ecosystems/shop/releases")
	assert.Contains(t, l.text(), "Current version v0.0.1 ")
	assert.Contains(t, l.text(), "v0.0.1-rc.1")
	assert.Contains(t, l.text(), "there is no next stage")
	assert.Contains(t, r.git("ws/worktrees/shop/repos/web", "tag", "--list"), "v0.0.1\n")
}

func (r *room) environmentActions() {
	t := r.t
	r.does("", "/ecosystems/shop/deploy", "args", "--region\r\neu")
	l := r.quiet("shop")
	assert.NotContains(t, l.html, "badge bad", l.text())
	l = r.get("/ecosystems/shop/environment")
	assert.Contains(t, l.text(), "Status deployed")
	assert.Contains(t, l.text(), "Provisioner noop")
	l = r.post("/ecosystems/shop/ask", "action", "status")
	assert.Contains(t, l.path, "/ecosystems/shop/environment?done=", l.text())
	l = r.post("/ecosystems/shop/destroy")
	require.Contains(t, l.html, `name="typed_value"`, "it is typed: %s", l.text())
	back := r.post(l.path+"/answer", "decision", "approve", "plan_hash", l.hidden("plan_hash"), "typed_value", "shot")
	assert.Equal(t, l.path, back.path, "what was typed does not fit: it asks again")
	back = r.post(l.path+"/answer", "decision", "approve", "plan_hash", l.hidden("plan_hash"), "typed_value", "shop")
	assert.Contains(t, back.path, "/ecosystems/shop/runs", back.text())
	r.quiet("shop")
	assert.Contains(t, r.get("/ecosystems/shop/environment").text(), "Status none")
}

func (r *room) ends() {
	t := r.t
	r.git("ws/worktrees/shop/repos/web", "commit", "-q", "--allow-empty", "-m", "only here")
	r.write("ws/worktrees/shop/repos/web/new.txt", "not committed\n")
	l := r.post("/ecosystems/shop/discard")
	for _, words := range []string{"new.txt", "feature/T-1", "type shop"} {
		assert.Contains(t, l.text(), words, "what would be lost is listed")
	}
	l = r.post(l.path+"/answer", "decision", "approve", "plan_hash", l.hidden("plan_hash"), "typed_value", "shop")
	require.Contains(t, l.path, "/ecosystems/shop/", l.text())
	r.quiet("shop")
	assert.NoDirExists(t, r.at("ws/worktrees/shop"))
	l = r.get("/ecosystems/shop/tickets")
	assert.Contains(t, l.text(), "Not installed")
	assert.Contains(t, r.get("/ecosystems/shop/releases").text(), "not installed")
	l = r.get("/ecosystems/shop/trash")
	assert.Regexp(t, `unpushed commits?`, l.text())
	id := l.hidden("trash_id")
	require.NotEmpty(t, id, l.text())
	r.post("/ecosystems/shop/restore", "trash_id", id)
	if l := r.quiet("shop"); !assert.DirExists(t, r.at("ws/worktrees/shop"), l.text()) {
		return
	}
	assert.FileExists(t, r.at("ws/worktrees/shop/repos/web/new.txt"))
	l = r.post("/ecosystems/shop/archive")
	assert.Contains(t, l.text(), "new.txt", "what is not committed is not archived")
	r.git("ws/worktrees/shop/repos/web", "add", "-A")
	r.git("ws/worktrees/shop/repos/web", "commit", "-q", "-m", "new")
	r.does("", "/ecosystems/shop/archive", "message", "season is over", "offline", "true")
	r.quiet("shop")
	l = r.get("/ecosystems/shop/trash")
	assert.Contains(t, l.text(), "archives/shop-")
	r.mode("ask")
	l = r.post("/ecosystems/shop/restore")
	assert.Contains(t, l.text(), "the mode is ask")
}

// TestARunIsFollowedAndCancelled shows an active run live with its queue position, and cancels it.
func TestARunIsFollowedAndCancelled(t *testing.T) {
	t.Parallel()
	r := shop(t, true)
	manifest, err := os.ReadFile(r.at("ws/ecosystems/shop/ecosystem.yaml"))
	require.NoError(t, err)
	r.write("ws/ecosystems/shop/ecosystem.yaml", strings.Replace(string(manifest), "provisioner: noop", "spin:\n  deploy: \"echo working; sleep 60\"\n  destroy: \"true\"", 1))
	l := r.does("", "/ecosystems/shop/deploy")
	m := regexp.MustCompile(`href="(/ecosystems/shop/runs/[0-9a-f-]{36})"`).FindStringSubmatch(l.html)
	require.NotNil(t, m, l.text())
	require.Eventually(t, func() bool { l = r.get(m[1]); return strings.Contains(l.text(), "working") }, time.Minute, 20*time.Millisecond, "the log is shown while it runs")
	assert.Contains(t, l.html, "data-live=", "and followed")
	assert.Contains(t, l.text(), "Status running")
	assert.Contains(t, r.get("/ecosystems").text(), "shop spin deploy running")
	r.post("/ecosystems/shop/sync")
	assert.Contains(t, r.get("/ecosystems/shop/runs").text(), "queued position 2 in the queue")
	l = r.post("/ecosystems/shop/cancel", "run_id", m[1][len("/ecosystems/shop/runs/"):])
	assert.Contains(t, l.path, m[1]+"?done=")
	r.quiet("shop")
	l = r.get(m[1])
	assert.Contains(t, l.text(), "Status cancelled")
	assert.NotContains(t, l.html, "data-live=")
}

// TestWhatIsWrongWithAManifestIsShown, down to a file that is none.
func TestWhatIsWrongWithAManifestIsShown(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.write("ws/ecosystems/shop/ecosystem.yaml", "name: shop\ndescription: \"<script>alert(1)</script> \\u202egnp.exe\"\nrepos:\n  - {name: api, url: /srv/api.git, path: ../out}\n  - {name: api, url: /srv/api.git}\nwhatever: 1\n")
	l := r.get("/ecosystems/shop")
	for _, words := range []string{"error", "warning", "whatever", "../out", "<script>alert(1)</script>"} {
		assert.Contains(t, l.text(), words)
	}
	assert.NotContains(t, l.html, "<script>alert")
	assert.NotContains(t, l.html, "\u202e", "nothing is written from right to left")
	r.write("ws/ecosystems/shop/ecosystem.yaml", "- no\n- manifest: [\n")
	l = r.get("/ecosystems/shop")
	assert.Contains(t, l.text(), "error")
	assert.Contains(t, r.get("/ecosystems").text(), "has problems")
}

// TestHostileTexts: what agents and repositories choose is shown as what it is.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	r := shop(t, true)
	evil := `<img src=x onerror=alert(1)>"'&amp;`
	r.write("ws/worktrees/shop/repos/api/"+strings.ReplaceAll(evil, "/", "_"), "x\n")
	r.git("ws/worktrees/shop/repos/api", "add", "-A")
	r.git("ws/worktrees/shop/repos/api", "commit", "-q", "-m", evil+" \u202e subject")
	r.git("ws/worktrees/shop/repos/web", "checkout", "-q", "-b", `feature/<b>"x'&y`)
	r.git("origin/api.git", "tag", "v0.0.1")
	r.post("/ecosystems/shop/journal", "title", evil, "body", evil)
	for _, path := range append(pages(), "/ecosystems", "/ecosystems/shop/runs?status="+url.QueryEscape(`"><b>`), "/ecosystems/shop/environment?environment="+url.QueryEscape(evil)) {
		l := r.send(http.MethodGet, path, nil)
		assert.NotContains(t, l.html, "<img", path)
		assert.NotContains(t, l.html, "<b>", path)
		assert.NotContains(t, l.html, "\u202e", path)
	}
	assert.Contains(t, r.get("/ecosystems/shop").text(), `feature/<b>"x'&y`)
	l := r.post("/ecosystems/shop/discard")
	assert.NotContains(t, l.html, "<img")
	l = r.post("/ecosystems/shop/ticket-start", "ticket_id", evil)
	assert.Regexp(t, "^/work/", l.path, "that is no ticket")
	assert.NotContains(t, l.html, "<img")
	l = r.post("/ecosystems/shop/journal", "title", "long", "body", strings.Repeat("ä ", 1<<19))
	assert.Regexp(t, "^/work/", l.path, "that is too long")
	l = r.post("/ecosystems/-/create", "name", evil, "repos", evil)
	assert.Equal(t, http.StatusBadRequest, l.status)
	assert.Contains(t, l.text(), "invalid repository line")
	assert.NotContains(t, l.html, "<img")
	l = r.post("/ecosystems/-/create", "name", "../../etc", "repos", "a=/b")
	assert.Regexp(t, "^/work/", l.path, "that is no name: %s", l.text())
	assert.NoDirExists(t, r.at("etc"))
	l = r.post("/ecosystems/-/create", "name", "shop", "repos", "a=/b writable")
	assert.Equal(t, http.StatusBadRequest, l.status)
}

// TestAPreviewMakesNoEcosystem previews a new ecosystem, and lists a retired one.
func TestAPreviewMakesNoEcosystem(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.mode("execute")
	l := r.post("/ecosystems/-/create", "name", "shop", "repos", "api="+r.at("origin/api.git"), "mode", "plan")
	assert.Contains(t, l.text(), "Create shop: preview only, nothing was changed.")
	assert.NoFileExists(t, r.at("ws/ecosystems/shop/ecosystem.yaml"))
	r.write("ws/ecosystems/old/ecosystem.yaml", "name: old\nretired: true\nrepos:\n  - {name: api, url: /srv/api.git, branch: main}\n")
	assert.NotContains(t, r.get("/ecosystems").text(), "old")
	assert.Contains(t, r.get("/ecosystems?retired=true").text(), "old not installed retired")
	l = r.get("/ecosystems/old")
	assert.Contains(t, l.text(), "Not installed: the repositories are not cloned yet.")
	assert.Contains(t, r.get("/ecosystems/old/manifest").text(), "Retired yes")
}
