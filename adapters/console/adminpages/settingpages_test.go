package adminpages_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/console/adminpages"
	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/adapters/local"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/access"
	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/browser"
	"github.com/countersign-dev/countersign/internal/testkit/consolerig"
	"github.com/countersign-dev/countersign/internal/testkit/consoletest"
	"github.com/countersign-dev/countersign/internal/testkit/nopolicy"
	"github.com/countersign-dev/countersign/internal/testkit/person"
)

// openSetting returns the settings of a home of its own, up to a highest mode.
func openSetting(t *testing.T, ceiling policy.Mode) (*consolerig.Site, *local.Local, *app.Credentials) {
	t.Helper()
	dir := t.TempDir()
	o := local.Defaults()
	o.Policy.Ceiling = ceiling
	l, err := local.Open(local.Config{Trust: nopolicy.Trust(t.TempDir()), Dir: dir, Packs: local.Packs{Root: dir + "/packs", Source: dir}, Options: o, Env: func(string) string { return "" }})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	keeper := l.Admission()
	return consolerig.New(t, l.App, func(runner *ui.CallRunner, mux *http.ServeMux, person func(httpauth.Handler) http.Handler) {
		adminpages.NewSettingPages(runner, l.App, keeper).Mount(mux, person)
	}), l, keeper
}

func TestTheLevelIsSet(t *testing.T) {
	s, l, _ := openSetting(t, policy.Execute)
	seen := s.Get("/settings").Sound()
	p := seen.Press("Set permission level", "level", "read_only")
	p.See("The permission level changed from execute_with_confirm to read_only.")
	set, err := l.Settings(context.Background())
	require.NoError(t, err)
	assert.Equal(t, policy.ReadOnly, set.Level)
	late := seen.Press("Set permission level", "level", "full_access")
	assert.Equal(t, http.StatusConflict, late.Status)
	late.See("not saved: the permission level changed to read_only since you opened the page")
	for _, wrong := range []string{"", "everything"} {
		assert.Equal(t, http.StatusBadRequest, s.Send("/settings/level", url.Values{"level": {wrong}, "was": {"read_only"}}).Status, wrong)
	}
	person.Settings(t, l.App, func(set *app.Settings) error {
		set.Tools = map[string]policy.Setting{"run_script": policy.Allowed}
		return nil
	})
	assert.Contains(t, s.Get("/settings").Text(), "Allowed despite permission level read_only: run_script")
	found, err := l.AuditSearch(t.Context(), audit.Filter{Tool: "change_settings", Phase: audit.Intent, Text: `console/1`})
	require.NoError(t, err)
	assert.Len(t, found, 1, "it is in the audit, with who did it")
}

func TestASettingOfAToolIsForgotten(t *testing.T) {
	s, l, _ := openSetting(t, policy.Execute)
	person.Settings(t, l.App, func(set *app.Settings) error {
		set.Tools = map[string]policy.Setting{"run_script": policy.Allowed, "<b>gone</b>": policy.Blocked}
		return nil
	})
	seen := s.Get("/settings").Safe("<b>")
	seen.Press("Reset for run_script").See("run_script was reset to the permission level; before, it was allowed.").Miss("Reset for run_script")
	seen.Press("Reset for <b>gone</b>").See("change the settings, which allows more: <b>gone</b>").Safe("<b>").Approve().See("<b>gone</b> was reset to the permission level; before, it was blocked.").See("No overrides.")
	assert.Equal(t, http.StatusConflict, seen.Press("Reset for run_script").Status)
	for _, query := range []string{"set=level&was=read_only&is=full_access", "set=tool&was=%3Cb%3E&is=", "set=other&was=a&is=b"} {
		s.Get("/settings?"+query).Miss("changed from", "was reset to")
	}
}

func TestWhatIsAnsweredInAdvance(t *testing.T) {
	s, l, _ := openSetting(t, policy.Execute)
	seen := s.Get("/settings")
	seen.Press("Save auto-approve list", "enabled", "true", "tools", "run_script\r\nrun_workflow, run_script\r\n").
		See("change the settings, which allows more: run_script, run_workflow", "run_script: runs without asking, unless its plan is of high risk", "run_workflow: runs without asking").Approve().
		See("Auto-approve changed from off (0 tools) to on (2 tools).")
	set, err := l.Settings(context.Background())
	require.NoError(t, err)
	assert.Equal(t, policy.AutoApprove{Enabled: true, Tools: []string{"run_script", "run_workflow"}}, set.Auto)
	assert.Equal(t, http.StatusConflict, seen.Press("Save auto-approve list", "tools", "run_workflow").Status)
	p := s.Send("/settings/auto", url.Values{"tools": {"run_scirpt"}})
	assert.Equal(t, http.StatusNotFound, p.Status)
	assert.Contains(t, p.Text(), "run_scirpt")
	s.Get("/settings").Press("Save auto-approve list", "tools", "")
	set, err = l.Settings(context.Background())
	require.NoError(t, err)
	assert.Empty(t, set.Auto.Tools)
}

func TestTheConsolesModeStaysBelowTheOperators(t *testing.T) {
	s, _, _ := openSetting(t, policy.Plan)
	s.Get("/settings").Press("Set console mode", "mode", "ask").Settled().See("The console mode changed from not set to ask.")
	_, _, sent := s.Get("/settings").Filled("Set console mode")
	assert.Equal(t, "ask", sent.Get("mode"))
	s.Get("/settings").Press("Set console mode", "mode", "plan").See("raise the mode of this session to plan").Approve().See("changed from ask to plan")
	p := s.Get("/settings").Press("Set console mode", "mode", "execute")
	assert.Contains(t, p.Text(), "mode_not_permitted")
	assert.Contains(t, s.Get("/settings").Text(), "The maximum mode is plan")
}

func TestALogInForAPartChangesNothingForAll(t *testing.T) {
	dir := t.TempDir()
	l, err := local.Open(local.Config{Trust: nopolicy.Trust(t.TempDir()), Dir: dir, Packs: local.Packs{Root: dir + "/packs", Source: dir}, Options: local.Defaults(), Env: func(string) string { return "" }})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	keeper := l.Admission()
	c, err := keeper.Issue(t.Context(), "test", access.Credential{Kind: access.Token, Name: "ci", Digest: access.DigestOf("secret")})
	require.NoError(t, err)
	own, err := keeper.Issue(t.Context(), "test", access.Credential{Kind: access.Browser, Name: "mine", Digest: access.DigestOf("cookie"), ExpiresAt: time.Now().Add(time.Hour)})
	require.NoError(t, err)
	for name, narrow := range map[string]func(*httpauth.Identity){
		"a toolset": func(v *httpauth.Identity) { v.Within = []tool.Restriction{{Toolsets: []string{"packs"}}} },
		"reading":   func(v *httpauth.Identity) { v.Within = []tool.Restriction{{ReadOnly: true}} },
		"a ceiling": func(v *httpauth.Identity) { v.Principal.Ceiling = policy.Plan },
		"no grants": func(v *httpauth.Identity) { v.Principal.Grants = policy.Read },
	} {
		t.Run(name, func(t *testing.T) {
			v := consolerig.Person()
			v.Credential = own.ID
			narrow(&v)
			mux := http.NewServeMux()
			adminpages.NewSettingPages(ui.NewCallRunner(t.Context(), l.App, func() string { return "x" }), l.App, keeper).Mount(mux, consolerig.LetIn(v))
			post := func(path string, fields url.Values) int {
				fields.Set(httpauth.FieldForm, consolerig.Form)
				r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(fields.Encode()))
				r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
				w := httptest.NewRecorder()
				mux.ServeHTTP(w, r)
				return w.Code
			}
			assert.Equal(t, http.StatusForbidden, post("/settings/level", url.Values{"level": {"full_access"}, "was": {"execute_with_confirm"}}))
			assert.Equal(t, http.StatusForbidden, post("/settings/auto", url.Values{"enabled": {"true"}, "tools": {"output"}, "was": {"false "}}))
			assert.Equal(t, http.StatusForbidden, post("/settings/credentials/"+c.ID+"/revoke", url.Values{}))
		})
	}
	v := consolerig.Person()
	v.Credential, v.Within = own.ID, []tool.Restriction{{ReadOnly: true}}
	mux := http.NewServeMux()
	adminpages.NewSettingPages(ui.NewCallRunner(t.Context(), l.App, func() string { return "x" }), l.App, keeper).Mount(mux, consolerig.LetIn(v))
	r := httptest.NewRequest(http.MethodPost, "/settings/credentials/"+own.ID+"/revoke", strings.NewReader(url.Values{httpauth.FieldForm: {consolerig.Form}}.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, r)
	assert.Equal(t, http.StatusSeeOther, w.Code, "everybody may leave")
}

func TestSettingInABrowser(t *testing.T) {
	b := browser.Open(t)
	s, l, keeper := openSetting(t, policy.Execute)
	s.Live(l.App, l.App)
	_, err := keeper.Issue(t.Context(), "test", access.Credential{Kind: access.Token, Name: "ci", Digest: access.DigestOf("secret")})
	require.NoError(t, err)
	p := b.Page(t, s.URL+"/settings")
	p.Axe()
	p.Shot("settings")
	p.Choose("#level", "read_only")
	p.Press("Set permission level")
	p.WaitText(".notice", "changed from execute_with_confirm to read_only")
	p.Dark(true)
	p.Narrow(true)
	p.Axe()
	p.Shot("settings, dark and narrow")
}

// TestWhatIsAlwaysAllowedIsRevoked: it is listed with whose it is, and is over once it is revoked.
func TestWhatIsAlwaysAllowedIsRevoked(t *testing.T) {
	h := consoletest.Open(t, t.TempDir())
	s := consolerig.New(t, h.App, func(runner *ui.CallRunner, mux *http.ServeMux, person func(httpauth.Handler) http.Handler) {
		adminpages.NewSettingPages(runner, h.App, nobody{}).Mount(mux, person)
	})
	s.Get("/settings").See("No session grants.")
	agent := h.Agent("<i>s1</i>")
	id := agent.Ask(t, "write_note", map[string]string{"name": "x"})
	_, err := h.Answer(t.Context(), confirm.Decision{ID: id, Approve: true, Always: true, By: "terminal", Proof: person.AtTerminal})
	require.NoError(t, err)
	p := s.Get("/settings").Safe("<i>").Sound()
	p.See("write_note", "write note x (this plan only)", "terminal")
	_, err = agent.TestCore.RevokeSessionGrant(t.Context(), "cf_other", "test")
	require.ErrorIs(t, err, confirm.ErrNoSessionGrant)
	held, err := h.SessionGrants(t.Context())
	require.NoError(t, err)
	require.Len(t, held, 1)
	p.Press("Revoke of write_note "+held[0].About()).See("Session grant revoked. The next call asks for approval.", "No session grants.")
	all, err := h.SessionGrants(t.Context())
	require.NoError(t, err)
	assert.Empty(t, all)
	assert.Equal(t, http.StatusNotFound, p.Press("Revoke of write_note "+held[0].About()).Status)
}

// TestWhatIsAllowedUntilADateIsRevoked: it is listed with who may ask for it and how often it was used.
func TestWhatIsAllowedUntilADateIsRevoked(t *testing.T) {
	h := consoletest.Open(t, t.TempDir())
	s := consolerig.New(t, h.App, func(runner *ui.CallRunner, mux *http.ServeMux, person func(httpauth.Handler) http.Handler) {
		adminpages.NewSettingPages(runner, h.App, nobody{}).Mount(mux, person)
	})
	agent := h.Agent("s1")
	id := agent.Ask(t, "write_note", map[string]string{"name": "<i>x</i>"})
	_, err := h.Answer(t.Context(), confirm.Decision{ID: id, Approve: true, Until: &confirm.Until{For: confirm.DatedUsual}, By: "terminal", Proof: person.AtTerminal})
	require.NoError(t, err)
	p := s.Get("/settings").Safe("<i>").Sound()
	p.See("Dated grants", "write_note", "clients without an agent host, with these arguments", "terminal tester", "never")
	p.Press("Revoke of write_note").See("Session grant revoked. The next call asks for approval.")
	all, err := h.SessionGrants(t.Context())
	require.NoError(t, err)
	assert.Empty(t, all)
}

// nobody is credentials of which there are none.
type nobody struct{ adminpages.Credentials }

func (nobody) List(context.Context) ([]access.Credential, error) { return nil, nil }

func TestCredentialsAreListedAndRevoked(t *testing.T) {
	s, _, keeper := openSetting(t, policy.Execute)
	ctx := context.Background()
	assert.Contains(t, s.Get("/settings").Text(), "No credentials.")
	digest := access.DigestOf("secret")
	c, err := keeper.Issue(ctx, "test", access.Credential{Kind: access.Token, Name: `<i>ci</i>`, Digest: digest, ExpiresAt: time.Now().Add(time.Hour),
		Scope: access.Scope{Toolsets: []string{"packs"}, ReadOnly: true, Ceiling: policy.Plan}})
	require.NoError(t, err)
	p := s.Get("/settings")
	assert.Contains(t, p.Text(), "packs; read-only; maximum mode plan")
	assert.NotContains(t, p.HTML, "<i>ci")
	p = p.Press("Revoke token <i>ci</i>")
	assert.Contains(t, p.Text(), "No credentials.")
	_, err = keeper.Admit(ctx, access.Token, digest)
	require.ErrorIs(t, err, access.ErrUnknown)
	assert.Equal(t, http.StatusNotFound, s.Send("/settings/credentials/key_none/revoke", nil).Status)
	assert.NotEmpty(t, c.ID)
}

// TestWhatOpensSomethingIsAskedAbout: nothing is stored before the page that shows what it would open was answered.
func TestWhatOpensSomethingIsAskedAbout(t *testing.T) {
	s, l, _ := openSetting(t, policy.Execute)
	settings := func() app.Settings {
		set, err := l.Settings(t.Context())
		require.NoError(t, err)
		return set
	}
	asks := s.Get("/settings").Press("Set permission level", "level", "full_access").Sound()
	asks.See("change the settings, which allows more: permission level full_access", "permission level full_access instead of execute_with_confirm", "high risk",
		"Required proof a decision in a terminal or in the console").Miss("permission level: full_access, was not set")
	assert.Zero(t, settings().Revision)
	assert.NotContains(t, asks.HTML, `value="always"`)
	asks.Press("Deny: change the settings, which allows more: permission level full_access").See("the user denied this call")
	assert.Zero(t, settings().Revision)

	asks = s.Get("/settings").Press("Set approver", "approval", "caller")
	asks.See("the user is no longer asked: clients approve plans themselves, with the token that they receive")
	asks.Approve().See("The approver changed from not set to caller.", "caller: clients approve their own calls your settings")
	in, err := l.PolicyInForce(t.Context())
	require.NoError(t, err)
	assert.True(t, in.Approval.ByCaller())
	found, err := l.AuditSearch(t.Context(), audit.Filter{Tool: "change_settings", Phase: audit.Answer})
	require.NoError(t, err)
	require.Len(t, found, 2)
	assert.Equal(t, []string{"approve", "console", "console key_rig"}, []string{found[0].Event.Verdict, found[0].Event.Surface, found[0].Event.ApprovedBy})

	s.Get("/settings").Press("Set approver", "approval", "human").See("changed from caller to human.", "human: you approve, in a terminal or in the console your settings")
	stale := s.Get("/settings")
	stale.Press("Set maximum mode", "max_mode", "plan").See("The maximum mode changed from not set to plan.", "Maximum mode plan your settings")
	assert.Equal(t, http.StatusConflict, stale.Press("Set maximum mode", "max_mode", "ask").Status)
	s.Get("/settings").Press("Set maximum mode", "max_mode", "").See("calls may go up to mode execute instead of plan").Approve().See("changed from plan to not set.")

	s.Get("/settings").Press("Require proof", "key", "high", "proof", "person").See("The proof for high changed from a decision by the user to a decision in a terminal or in the console.",
		"Proof for high a decision in a terminal or in the console your settings")
	assert.Equal(t, http.StatusNotFound, s.Get("/settings").Press("Require proof", "key", "no_such_tool", "proof", "touch").Status)
	s.Get("/settings").Press("Remove for high").See("approving high needs a decision by the user instead of").Approve().See("No required proof.")

	s.Get("/settings").Press("Save host forms", "entries", "codex\r\n").See("the form of the host entry codex approves plans below high risk", "any process of this user can start that entry").
		Approve().See("The list of host forms changed from not set to codex.")
	s.Get("/settings").Press("Save host forms", "entries", "").See("changed from codex to not set.")
}

// TestForHowLongReadsAreKept: a person approves the days, which is what the audit needs to remove reads; to keep them longer needs nobody.
func TestForHowLongReadsAreKept(t *testing.T) {
	s, l, _ := openSetting(t, policy.Execute)
	_, err := l.Record().Prune(t.Context(), 30, 1)
	require.Error(t, err)
	s.Get("/settings").Press("Set audit retention", "days", "30").See("records of reads go from the audit after 30 days for good, and were kept for all time").
		Approve().See("Reads are now kept for 30 days; before, for all time.", "kept for 30 days")
	_, err = l.Record().Prune(t.Context(), 30, 1)
	require.NoError(t, err)
	for _, wrong := range []string{"-1", "x", "99999999"} {
		assert.Equal(t, http.StatusBadRequest, s.Get("/settings").Press("Set audit retention", "days", wrong).Status, wrong)
	}
	s.Get("/settings").Press("Set audit retention", "days", "90").See("Reads are now kept for 90 days; before, for 30 days.")
	_, err = l.Record().Prune(t.Context(), 90, 1)
	require.NoError(t, err)
	_, err = l.Record().Prune(t.Context(), 30, 1)
	require.Error(t, err, "that is not what holds any more")
	s.Get("/settings").Press("Set audit retention", "days", "30").See("were kept for 90 days")
}

// TestALayerAboveDecides: the page says which, and what users' settings wanted in vain.
func TestALayerAboveDecides(t *testing.T) {
	dir := t.TempDir()
	o := local.Defaults()
	o.Below = []policy.Layer{{Name: "COUNTERSIGN_MAX_MODE", Ceiling: policy.Plan}, {Name: "config.yaml", Approval: policy.ApprovalCaller}}
	l, err := local.Open(local.Config{Trust: nopolicy.Trust(t.TempDir()), Dir: dir, Packs: local.Packs{Root: dir + "/packs", Source: dir}, Options: o, Env: func(string) string { return "" }})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	s := consolerig.New(t, l.App, func(runner *ui.CallRunner, mux *http.ServeMux, person func(httpauth.Handler) http.Handler) {
		adminpages.NewSettingPages(runner, l.App, nobody{}).Mount(mux, person)
	})
	s.Get("/settings").See("Maximum mode plan COUNTERSIGN_MAX_MODE", "Approver human: you approve, in a terminal or in the console built in",
		"config.yaml sets approval to caller, which is ignored: built in sets human, and a layer can only narrow the layers above it.")
}

// TestATokenIsMadeOnceItIsApproved: the page shows it for a while, and nothing else holds it.
func TestATokenIsMadeOnceItIsApproved(t *testing.T) {
	began := time.Now()
	s, l, keeper := openSetting(t, policy.Execute)
	asks := s.Get("/settings").Press("Create token", "name", "ci <b>", "toolsets", "packs, control", "max_mode", "plan", "lasts", "24h")
	asks.See("make a token for ci <b>", "whoever has it calls the tools of control, packs, up to mode plan, until ", "high risk").Safe("<b>").Sound()
	all, err := keeper.List(t.Context())
	require.NoError(t, err)
	require.Empty(t, all)
	done := asks.Approve()
	secret := regexp.MustCompile(httpauth.TokenPrefix + `[A-Za-z0-9_-]{43}`).FindString(done.Text())
	require.NotEmpty(t, secret, done.Text())
	c, err := keeper.Admit(t.Context(), access.Token, access.DigestOf(secret))
	require.NoError(t, err)
	assert.Equal(t, access.Scope{Toolsets: []string{"control", "packs"}, Ceiling: policy.Plan}, c.Scope)
	assert.False(t, c.ExpiresAt.Before(began.Add(24*time.Hour).Truncate(time.Second)))
	assert.False(t, c.ExpiresAt.After(time.Now().Add(24*time.Hour)))
	for r, err := range l.AuditTrail(t.Context(), 0) {
		require.NoError(t, err)
		doc, err := json.Marshal(r)
		require.NoError(t, err)
		assert.NotContains(t, string(doc), secret)
	}
	assert.Equal(t, http.StatusNotFound, s.Get("/settings").Press("Create token", "name", "x", "toolsets", "no-such").Status)
	assert.Contains(t, s.Get("/settings").Press("Create token", "name", "ci <b>").Text(), "there is a token")
}
