package adminpages_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/console/adminpages"
	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/adapters/local"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/browser"
	"github.com/countersign-dev/countersign/internal/testkit/consolerig"
	"github.com/countersign-dev/countersign/internal/testkit/nopolicy"
	"github.com/countersign-dev/countersign/internal/testkit/person"
)

// openTool returns the catalogue of everything, in a home of its own.
func openTool(t *testing.T) (*consolerig.Site, *local.Local) {
	t.Helper()
	dir := t.TempDir()
	l, err := local.Open(local.Config{Trust: nopolicy.Trust(t.TempDir()), Dir: dir, Packs: local.Packs{Root: dir + "/packs", Source: dir}, Options: local.Defaults(), Env: func(string) string { return "" }})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return consolerig.New(t, l.App, func(runner *ui.CallRunner, mux *http.ServeMux, person func(httpauth.Handler) http.Handler) {
		adminpages.NewToolSection(runner, l.App).Mount(mux, person)
	}), l
}

func TestTheCatalogueSaysWhatPolicySays(t *testing.T) {
	s, _ := openTool(t)
	all := s.Get("/tools").Sound().Text()
	for _, want := range []string{"packs", "NPM/Package Scripts", "run_script", "amof_discard_ecosystem", "Asks rule strength", "deploy_apply", "users only"} {
		assert.Contains(t, all, want)
	}
	some := s.Get("/tools?q=" + url.QueryEscape("audit TAIL")).Text()
	assert.Contains(t, some, "audit_tail")
	assert.NotContains(t, some, "run_script")
	assert.Contains(t, s.Get("/tools?q="+url.QueryEscape(`<script>alert("x")</script>`)).HTML, "&lt;script&gt;")
	assert.Contains(t, s.Get("/tools?q=nothinglikeit").Text(), "No matching tools.")
}

func TestASwitchRulesAtOnceAndIsOnRecord(t *testing.T) {
	s, l := openTool(t)
	p := s.Get("/tools/run_script").Press("Set run_script", "setting", "blocked")
	assert.Regexp(t, `^/tools/run_script\?`, p.Path, "what narrows is stored at once")
	p.See("run_script changed from Default to Blocked.", "Denied rule tool_blocked").Sound()
	s.Get("/tools?q=run_script").See("Denied rule tool_blocked")
	p = s.Get("/tools?q=run_script").Press("Set run_script", "setting", "")
	p.See("change the settings, which allows more: run_script", "run_script: default for its class and the permission level instead of blocked")
	s.Get("/tools/run_script").See("Denied rule tool_blocked")
	p = p.Approve()
	assert.Regexp(t, `^/tools\?`, p.Path, "back to where it was turned")
	p.See("run_script changed from Blocked to Default.")
	s.Get("/tools/run_script").See("Asks rule strength")
	found, err := l.AuditSearch(t.Context(), audit.Filter{Tool: "change_settings", Phase: audit.Intent})
	require.NoError(t, err)
	require.Len(t, found, 2)
	assert.Equal(t, "console key_rig", found[0].Event.ApprovedBy)
	assert.Empty(t, found[1].Event.ApprovedBy, "what narrows needs nobody")
}

func TestNobodyOverwritesWhatHeHasNotSeen(t *testing.T) {
	s, l := openTool(t)
	seen := s.Get("/tools/run_script")
	person.Settings(t, l.App, func(set *app.Settings) error {
		set.Tools = map[string]policy.Setting{"run_script": policy.AlwaysConfirm, "run_workflow": policy.Blocked}
		return nil
	})
	p := seen.Press("Set run_script", "setting", "allowed")
	assert.Equal(t, http.StatusConflict, p.Status)
	p.See("not saved: the setting of run_script changed to Confirm since you opened the page")
	set, err := l.Settings(t.Context())
	require.NoError(t, err)
	assert.Equal(t, policy.AlwaysConfirm, set.Tools["run_script"])
	seen = s.Get("/tools/run_script")
	person.Settings(t, l.App, func(set *app.Settings) error { delete(set.Tools, "run_workflow"); return nil })
	seen.Press("Set run_script", "setting", "allowed").Approve().See("changed from Confirm to Allowed")
}

func TestNothingElseIsSet(t *testing.T) {
	s, _ := openTool(t)
	assert.Equal(t, http.StatusNotFound, s.Send("/tools/no_such_tool/setting", url.Values{"setting": {"allowed"}}).Status)
	assert.Equal(t, http.StatusBadRequest, s.Send("/tools/run_script/setting", url.Values{"setting": {"always"}}).Status)
	assert.Regexp(t, `^/tools/run_script\?`, s.Send("/tools/run_script/setting", url.Values{"setting": {"confirm"}, "from": {"//evil.example/"}}).Path, "it leads nowhere else")
	for _, path := range []string{"/tools/no_such_tool", "/tools/%3Cb%3E"} {
		p := s.Open(path)
		assert.Equal(t, http.StatusNotFound, p.Status)
		assert.NotContains(t, p.HTML, "<b>")
	}
	assert.NotContains(t, s.Get("/tools?set=x&was=confirm&is=allowed&done=job-1x").Text(), "to Allowed", "a link tells of no change")
}

func TestAllowedUnderReadOnlyIsWarnedOf(t *testing.T) {
	s, l := openTool(t)
	person.Settings(t, l.App, func(set *app.Settings) error {
		set.Level, set.Tools = policy.ReadOnly, map[string]policy.Setting{"run_script": policy.Allowed}
		return nil
	})
	s.Get("/tools/run_script").See("Allowed despite permission level read_only")
	s.Get("/tools/run_workflow").Miss("Allowed despite").See("Denied rule permission_level")
}

func TestATool(t *testing.T) {
	s, _ := openTool(t)
	s.Get("/tools/deploy_apply").See("Class dangerous", "Effects read, write, delete, network", "Required permission execute", "Approval yes or no, with plan", "Preview tool deploy",
		"repo string", "target string", `one of "all", "codex"`, `default "default"`, "Preview", "Call tool").Sound()
	s.Get("/tools/set_mode").See("mode string yes", `one of "ask", "plan", "execute"`, "Call tool").Miss("Preview")
	s.Get("/tools/list_toolsets").See("No arguments.", "Allowed rule read")
	s.Get("/tools/input").See("sections[]", "sections[].refs[]")
}

func TestADecisionIsSimulated(t *testing.T) {
	s, _ := openTool(t)
	s.Get("/tools/run_script?mode=plan").See("of this tool: Dry run only rule mode")
	s.Get("/tools/run_script?mode=ask").See("of this tool: Denied, with plan rule mode")
	s.Get("/tools/run_script").Press("Evaluate", "mode", "execute").See("of this tool: Asks rule strength")
	s.Get("/tools/run_script?mode=%3Cb%3E").See("of this tool: Asks")
}

func TestToolPageCallsCore(t *testing.T) {
	s, _ := openTool(t)
	s.Get("/tools/list_toolsets").Press("Call tool").Settled().See("ecosystems")
	p := s.Get("/tools/list_projects").Press("Call tool", "args", "[1] <b>")
	assert.Equal(t, http.StatusBadRequest, p.Status)
	p.See("JSON object", "[1] <b>").Safe("<b>").Sound()
	p = s.Get("/tools/get_project").Press("Call tool", "args", `{"path": "/no/such <b>place</b>"}`)
	assert.NotContains(t, p.HTML, "<b>place")
	s.Get("/tools/create_workflow").Press("Preview", "args", `{"name": "By hand"}`).Settled().See("Nothing was changed", "name By hand")
	s.Get("/tools/list_workflows").Press("Call tool", "args", `{}`).Settled().Miss("By hand")
	s.Get("/tools/create_workflow").Press("Call tool", "args", `{"name": "By hand"}`).See("By hand").Approve().See("Done.")
	s.Get("/tools/list_workflows").Press("Call tool", "args", `{}`).Settled().See("By hand")
}

func TestAPlanIsNeverCarriedOut(t *testing.T) {
	s, l := openTool(t)
	person.Settings(t, l.App, func(set *app.Settings) error { set.Level = policy.FullAccess; return nil })
	p := s.Get("/tools/amof_create_ecosystem").Press("Preview", "args", `{"name": "shop", "repos": [{"name": "api", "url": "https://example.com/api.git"}], "mode": "execute"}`).Settled()
	runs, err := l.Calls(t.Context(), app.RunFilter{})
	require.NoError(t, err)
	for _, r := range runs {
		assert.NotEqual(t, tool.StatusCompleted, r.Status, "%s: %s", r.Tool, p.Text())
	}
}

func TestNarrowVisitorsSeeWhatTheyAreServed(t *testing.T) {
	dir := t.TempDir()
	l, err := local.Open(local.Config{Trust: nopolicy.Trust(t.TempDir()), Dir: dir, Packs: local.Packs{Root: dir + "/packs", Source: dir}, Options: local.Defaults(), Env: func(string) string { return "" }})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	v := consolerig.Person()
	v.Within = []tool.Restriction{{Toolsets: []string{"packs"}, ReadOnly: true}}
	mux := http.NewServeMux()
	adminpages.NewToolSection(ui.NewCallRunner(t.Context(), l.App, func() string { return "x" }), l.App).Mount(mux, consolerig.LetIn(v))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	get := func(path string) (int, string) {
		resp, err := http.Get(server.URL + path)
		require.NoError(t, err)
		defer resp.Body.Close() //nolint:errcheck // it was read
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return resp.StatusCode, string(body)
	}
	_, list := get("/tools")
	assert.Contains(t, list, "/tools/output")
	assert.NotContains(t, list, "/tools/run_script")
	status, _ := get("/tools/run_script")
	assert.Equal(t, http.StatusNotFound, status)
}

func TestToolInABrowser(t *testing.T) {
	b := browser.Open(t)
	s, l := openTool(t)
	s.Live(l.App, l.App)
	p := b.Page(t, s.URL+"/tools")
	p.Shot("tools")
	p.Go(s.URL + "/tools?toolset=projects") // all of them are judged for a quarter of a minute
	p.Axe()
	p.Go(s.URL + "/tools/input")
	p.Axe()
	p.Shot("a tool")
	p.Dark(true)
	p.Narrow(true)
	p.Go(s.URL + "/tools/run_script")
	p.Axe()
	p.Shot("a tool, dark and narrow")
	p.Choose("#setting-run_script", "blocked")
	p.Press("Set run_script")
	p.WaitText(".notice", "run_script changed from Default to Blocked.")
	p.Axe()
}
