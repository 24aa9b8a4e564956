package httpauth_test

import (
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/access"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/internal/testkit/clock"
)

// shows returns what a browser says when somebody opens a page.
func shows() head {
	return head{"Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
}

func TestALogInFromItsLinkToItsEnd(t *testing.T) {
	t.Parallel()
	r := open(t)
	code := r.code(t, access.Scope{})
	link, err := url.Parse(httpauth.LoginURL("http://"+r.addr, code, `/approvals?id=1&x="`))
	require.NoError(t, err)
	for range 3 { // somebody's chat shows what is behind links
		res := r.ask(t, http.MethodGet, link.RequestURI(), "", shows())
		assert.Equal(t, http.StatusOK, res.StatusCode)
		assert.Equal(t, "text/html; charset=utf-8", res.Header.Get("Content-Type"))
		assert.Contains(t, res.body, `<form method="post" action="/login"><input type="hidden" name="code" value="`+code+`"><input type="hidden" name="next" value="/approvals?id=1&amp;x=&#34;">`)
		assert.Equal(t, 1, strings.Count(res.body, "<button>"))
		assert.NotContains(t, res.body, "<script")
		assert.NotContains(t, res.body, "style=")
		assert.Empty(t, res.Cookies())
		assert.Equal(t, http.StatusOK, r.ask(t, http.MethodHead, link.RequestURI(), "").StatusCode)
	}
	res := r.ask(t, http.MethodPost, "/login", link.RawQuery, r.ours()...)
	require.Equal(t, http.StatusSeeOther, res.StatusCode, res.body)
	assert.Equal(t, `/approvals?id=1&x="`, res.Header.Get("Location"))
	require.Len(t, res.Cookies(), 1)
	set := res.Cookies()[0]
	_, port, err := net.SplitHostPort(r.addr)
	require.NoError(t, err)
	assert.Equal(t, "countersign_"+port, set.Name)
	assert.Regexp(t, "^cb_[A-Za-z0-9_-]{43}$", set.Value)
	assert.True(t, set.HttpOnly)
	assert.Equal(t, http.SameSiteStrictMode, set.SameSite)
	assert.Equal(t, "/", set.Path)
	assert.Empty(t, set.Domain)
	assert.False(t, set.Secure)
	assert.Equal(t, 7*24*60*60, set.MaxAge)

	cookie := head{"Cookie", set.Name + "=" + set.Value}
	got := r.ask(t, http.MethodGet, "/page", "", cookie).seen(t)
	assert.Equal(t, policy.Principal{ID: "local", Grants: policy.All}, got.Principal)
	assert.True(t, got.Person)
	assert.Equal(t, confirm.Proof{Surface: confirm.SurfaceConsole, User: "ann", Credential: got.Credential}, got.Proof, "who logged it in, not what it says it is")
	assert.Equal(t, "console", got.Session)
	assert.NotEmpty(t, got.Form)
	assert.NotContains(t, got.Form, set.Value)
	assert.Empty(t, got.Toolsets)

	res = r.ask(t, http.MethodGet, "/logout", "", cookie, shows())
	assert.Contains(t, res.body, `<input type="hidden" name="form_token" value="`+got.Form+`">`)
	assert.Equal(t, http.StatusOK, r.ask(t, http.MethodGet, "/page", "", cookie).StatusCode, "looking at it logs nobody out")
	res = r.ask(t, http.MethodPost, "/logout", "form_token="+got.Form, append(r.ours(), cookie)...)
	assert.Equal(t, http.StatusOK, res.StatusCode)
	require.Len(t, res.Cookies(), 1)
	assert.Equal(t, set.Name, res.Cookies()[0].Name)
	assert.Negative(t, res.Cookies()[0].MaxAge)
	assert.Equal(t, http.StatusUnauthorized, r.ask(t, http.MethodGet, "/page", "", cookie).StatusCode, "the cookie is worth nothing, wherever it is")
}

// TestAPageWithoutCookie says how one gets in, and has a link for who came by one of another site.
func TestAPageWithoutCookie(t *testing.T) {
	t.Parallel()
	r := open(t)
	res := r.ask(t, http.MethodGet, `/page?a="<b>`, "", shows())
	assert.Equal(t, http.StatusUnauthorized, res.StatusCode)
	assert.Equal(t, "text/html; charset=utf-8", res.Header.Get("Content-Type"))
	assert.Contains(t, res.body, "<code>countersign login</code>")
	assert.Contains(t, res.body, `<a href="/page?a=&#34;&lt;b&gt;">`)
	res = r.ask(t, http.MethodGet, "/page", "")
	assert.Equal(t, "credential_missing", res.code(), "who shows nothing to anybody gets data")
	assert.Contains(t, res.body, "countersign login")
	res = r.ask(t, http.MethodGet, "/login", "", shows())
	assert.Equal(t, http.StatusOK, res.StatusCode)
	assert.Contains(t, res.body, "<code>countersign login</code>")
	assert.NotContains(t, res.body, "<form")
	res = r.ask(t, http.MethodPost, "/page", "a=b", shows(), head{"Origin", "http://evil.example.org"})
	assert.Equal(t, http.StatusForbidden, res.StatusCode)
	assert.NotContains(t, res.body, "countersign login", "a log-in is no way out of that")
	style := r.ask(t, http.MethodGet, "/login.css", "")
	assert.Equal(t, "text/css; charset=utf-8", style.Header.Get("Content-Type"))
	assert.Contains(t, style.body, "prefers-color-scheme: dark")
}

func TestLogInsThatAreRefused(t *testing.T) {
	t.Parallel()
	r := open(t)
	used, expired, secret := r.code(t, access.Scope{}), r.code(t, access.Scope{}), r.token(t, "ci", access.Scope{}, noEnd())
	require.Equal(t, http.StatusSeeOther, r.ask(t, http.MethodPost, "/login", "code="+used, r.ours()...).StatusCode)
	r.clock.Advance(access.LoginTTL - 1)
	last := r.code(t, access.Scope{})
	r.clock.Advance(1)
	for name, c := range map[string]struct {
		body, code string
	}{
		"reused":          {"code=" + used, "credential_used"},
		"expired":         {"code=" + expired, "credential_expired"},
		"unknown":         {"code=cl_x", "credential_unknown"},
		"empty":           {"code=", "credential_unknown"},
		"missing":         {"a=b", "credential_unknown"},
		"a token":         {"code=" + secret, "credential_unknown"},
		"the digest":      {"code=" + access.DigestOf(last).String(), "credential_unknown"},
		"a very long one": {"code=" + strings.Repeat("x", 5000), "credential_unknown"},
	} {
		res := r.ask(t, http.MethodPost, "/login", c.body, r.ours()...)
		assert.Equal(t, http.StatusUnauthorized, res.StatusCode, name)
		assert.Equal(t, c.code, res.code(), name)
		assert.Empty(t, res.Cookies(), name)
	}
	page := r.ask(t, http.MethodPost, "/login", "code="+used, append(r.ours(), shows())...)
	assert.Contains(t, page.body, "The login link was already used; create a new one.")
	assert.Contains(t, page.body, "<code>countersign login</code>")
	for name, heads := range map[string][]head{
		"another site's page":       {{"Origin", "http://evil.example.org"}},
		"a page that hides":         {{"Origin", "null"}},
		"nobody knows whose":        nil,
		"no page":                   {{"Sec-Fetch-Site", "none"}},
		"another site's navigation": {{"Sec-Fetch-Site", "cross-site"}},
		"another port's":            {{"Origin", "http://" + r.addr}, {"Sec-Fetch-Site", "same-site"}},
	} {
		res := r.ask(t, http.MethodPost, "/login", "code="+last, heads...)
		assert.Equal(t, http.StatusForbidden, res.StatusCode, name)
		assert.Equal(t, "origin_foreign", res.code(), name)
	}
	assert.Equal(t, http.StatusRequestEntityTooLarge, r.ask(t, http.MethodPost, "/login", "code="+last+"&x="+strings.Repeat("x", 9000), r.ours()...).StatusCode)
	assert.Equal(t, http.StatusUnauthorized, r.ask(t, http.MethodPost, "/login?code="+last, "a=b", r.ours()...).StatusCode, "a form's field, not the URL")
	assert.Equal(t, http.StatusMethodNotAllowed, r.ask(t, http.MethodPut, "/login", "code="+last, r.ours()...).StatusCode)
	require.Equal(t, http.StatusSeeOther, r.ask(t, http.MethodPost, "/login", "code="+last, head{"Sec-Fetch-Site", "same-origin"}).StatusCode, "none of that used it up")
}

func TestTwoBrowsersOneLogIn(t *testing.T) {
	t.Parallel()
	r := open(t)
	for range 3 {
		code := r.code(t, access.Scope{})
		var in, out atomic.Int64
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				switch res := r.ask(t, http.MethodPost, "/login", "code="+code, r.ours()...); {
				case res.StatusCode == http.StatusSeeOther:
					in.Add(1)
				case res.code() == "credential_used":
					out.Add(1)
				default:
					t.Error(res.Status, res.body)
				}
			})
		}
		wg.Wait()
		assert.Equal(t, []int64{1, 15}, []int64{in.Load(), out.Load()})
	}
}

// TestWhereALogInLeads: to a page of this server, whatever the link says.
func TestWhereALogInLeads(t *testing.T) {
	t.Parallel()
	r := open(t)
	for next, want := range map[string]string{
		"":                          "/",
		"/approvals":                "/approvals",
		"/a%20b?c=d%26e#f":          "/a%20b?c=d%26e#f",
		"/x?u=https://evil.org":     "/x?u=https://evil.org",
		"https://evil.org":          "/",
		"//evil.org":                "/",
		"///evil.org":               "/",
		"/%2Fevil.org":              "/",
		`/\evil.org`:                "/",
		`\\evil.org`:                "/",
		"/\tevil":                   "/",
		"/a\r\nSet-Cookie: x=y":     "/",
		"javascript:alert(1)":       "/",
		"approvals":                 "/",
		"http:/x":                   "/",
		"/login?code=x":             "/",
		"/logout":                   "/",
		"/%zz":                      "/",
		"https://evil.org\\@" + "a": "/",
	} {
		res := r.ask(t, http.MethodPost, "/login", url.Values{"code": {r.code(t, access.Scope{})}, "next": {next}}.Encode(), r.ours()...)
		assert.Equal(t, http.StatusSeeOther, res.StatusCode, "%q", next)
		assert.Equal(t, want, res.Header.Get("Location"), "%q", next)
	}
}

// TestACookieElsewhereIsNone: stolen, and shown under another name of this machine or to another server of the same credentials.
func TestACookieElsewhereIsNone(t *testing.T) {
	t.Parallel()
	r := open(t)
	cookie := r.browser(t, access.Scope{})
	_, port, err := net.SplitHostPort(r.addr)
	require.NoError(t, err)
	secret := strings.SplitN(cookie.value, "=", 2)[1]
	assert.Equal(t, http.StatusOK, r.ask(t, http.MethodGet, "/page", "", cookie).StatusCode)
	for _, host := range []string{"localhost:" + port, "127.0.0.2:" + port, "[::1]:" + port} {
		res := r.ask(t, http.MethodGet, "/page", "", cookie, head{"Host", host})
		assert.Equal(t, http.StatusUnauthorized, res.StatusCode, host)
		assert.Equal(t, "credential_unknown", res.code(), host)
	}
	res := r.ask(t, http.MethodGet, "/page", "", head{"Cookie", "countersign_9=" + secret}, head{"Host", "127.0.0.1:9"})
	assert.Equal(t, "credential_unknown", res.code(), "another port")
	assert.Equal(t, "credential_missing", r.ask(t, http.MethodGet, "/page", "", head{"Cookie", "countersign_9=" + secret}).code(), "another server's cookie is none of ours")
	assert.Equal(t, "credential_missing", r.ask(t, http.MethodGet, "/page", "", head{"Cookie", "countersign_" + port + "=" + strings.Repeat("x", 5000)}).code())

	// Another server of this host name has set a cookie of the same name.
	name := "countersign_" + port
	assert.Equal(t, http.StatusOK, r.ask(t, http.MethodGet, "/page", "", head{"Cookie", name + "=tossed; " + name + "=" + secret}).StatusCode)
	assert.Equal(t, http.StatusUnauthorized, r.ask(t, http.MethodGet, "/page", "", head{"Cookie", strings.Repeat(name+"=tossed; ", 50) + name + "=" + secret}).StatusCode, "of many, few are looked at")
}

// TestChangesComeFromOurOwnPages: a cookie alone changes nothing.
func TestChangesComeFromOurOwnPages(t *testing.T) {
	t.Parallel()
	r := open(t)
	cookie, other := r.browser(t, access.Scope{}), r.browser(t, access.Scope{})
	form := r.ask(t, http.MethodGet, "/page", "", cookie).seen(t).Form
	foreign := r.ask(t, http.MethodGet, "/page", "", other).seen(t).Form
	require.NotEqual(t, form, foreign)
	ours := func(more ...head) []head { return append(append(r.ours(), cookie), more...) }
	multipart := "--b\r\nContent-Disposition: form-data; name=\"form_token\"\r\n\r\n" + form + "\r\n--b\r\nContent-Disposition: form-data; name=\"field\"\r\n\r\nsix\r\n--b--\r\n"
	for name, c := range map[string]struct {
		method, path, body string
		heads              []head
		code               string
	}{
		"a form":                              {http.MethodPost, "/page", "field=six&form_token=" + form, ours(), ""},
		"a header":                            {http.MethodPost, "/page", `{"a":"b"}`, ours(head{httpauth.HeaderForm, form}), ""},
		"a form with a file":                  {http.MethodPost, "/page", multipart, ours(head{"Content-Type", "multipart/form-data; boundary=b"}), ""},
		"a header, without body":              {http.MethodDelete, "/any", "", ours(head{httpauth.HeaderForm, form}), ""},
		"the origin alone":                    {http.MethodPost, "/page", "form_token=" + form, []head{cookie, {"Origin", "http://" + r.addr}}, ""},
		"nothing":                             {http.MethodPost, "/page", "field=six", ours(), "form_token_invalid"},
		"an empty one":                        {http.MethodPost, "/page", "form_token=", ours(), "form_token_invalid"},
		"in the URL":                          {http.MethodPost, "/page?form_token=" + form, "field=six", ours(), "form_token_invalid"},
		"another browser's":                   {http.MethodPost, "/page", "form_token=" + foreign, ours(), "form_token_invalid"},
		"nearly":                              {http.MethodPost, "/page", "form_token=" + form + "x", ours(), "form_token_invalid"},
		"as JSON":                             {http.MethodPost, "/page", `{"form_token=":"` + form + `"}`, ours(head{"Content-Type", "application/json"}), "form_token_invalid"},
		"as text":                             {http.MethodPost, "/page", "form_token=" + form, ours(head{"Content-Type", "text/plain"}), "form_token_invalid"},
		"a broken form":                       {http.MethodPost, "/page", "form_token=" + form + "&%zz", ours(), "form_token_invalid"},
		"a broken form with a file":           {http.MethodPost, "/page", multipart[:40], ours(head{"Content-Type", "multipart/form-data; boundary=b"}), "form_token_invalid"},
		"without a body":                      {http.MethodPut, "/any", "", ours(), "form_token_invalid"},
		"another site's page":                 {http.MethodPost, "/page", "form_token=" + form, []head{cookie, {"Origin", "http://evil.example.org"}}, "origin_foreign"},
		"another site's page, it is said":     {http.MethodPost, "/page", "form_token=" + form, ours(head{"Sec-Fetch-Site", "cross-site"}), "origin_foreign"},
		"nobody says whose":                   {http.MethodPost, "/page", "form_token=" + form, []head{cookie}, "origin_foreign"},
		"nobody's: a person, or who plays it": {http.MethodPost, "/page", "form_token=" + form, []head{cookie, {"Sec-Fetch-Site", "none"}}, "origin_foreign"},
	} {
		t.Run(name, func(t *testing.T) {
			check(t, r.ask(t, c.method, c.path, c.body, c.heads...), c.code)
		})
	}
	got := r.ask(t, http.MethodPost, "/page", "field=six&form_token="+form, ours()...).seen(t)
	assert.Equal(t, "field=six&form_token="+form, got.Body, "a handler reads the body in its own way")
	assert.Equal(t, "six", got.Field)
}

func check(t *testing.T, res answer, code string) {
	t.Helper()
	if code == "" {
		assert.True(t, res.seen(t).Person)
		return
	}
	assert.Equal(t, http.StatusForbidden, res.StatusCode)
	assert.Equal(t, code, res.code(), res.body)
}

// TestAProgramNeedsNoForm: no browser sends its token by itself.
func TestAProgramNeedsNoForm(t *testing.T) {
	t.Parallel()
	r := open(t)
	assert.Equal(t, http.StatusOK, r.ask(t, http.MethodPost, "/any", "{}", bearer(r.token(t, "ci", access.Scope{}, noEnd()))).StatusCode)
}

func TestABrowserIsIdleOrOld(t *testing.T) {
	t.Parallel()
	r := open(t)
	idle, busy := r.browser(t, access.Scope{}), r.browser(t, access.Scope{})
	r.stream(t.Context(), idle) // an open page is no use
	r.clock.Advance(access.BrowserIdle - 1)
	assert.Equal(t, http.StatusOK, r.ask(t, http.MethodGet, "/page", "", busy).StatusCode)
	r.clock.Advance(1)
	<-r.ended
	assert.Equal(t, "credential_expired", r.ask(t, http.MethodGet, "/page", "", idle).code())
	for hours := time.Duration(0); hours < access.BrowserTTL-2*access.BrowserIdle; hours += access.BrowserIdle / 2 {
		require.Equal(t, http.StatusOK, r.ask(t, http.MethodGet, "/page", "", busy).StatusCode)
		r.clock.Advance(access.BrowserIdle / 2)
	}
	require.Equal(t, http.StatusOK, r.ask(t, http.MethodGet, "/page", "", busy).StatusCode)
	r.clock.Set(clock.Epoch.Add(access.BrowserTTL - 1))
	assert.Equal(t, http.StatusOK, r.ask(t, http.MethodGet, "/page", "", busy).StatusCode)
	r.clock.Advance(1)
	assert.Equal(t, "credential_expired", r.ask(t, http.MethodGet, "/page", "", busy).code(), "a week is enough")
}

func TestALogInForLookingAlone(t *testing.T) {
	t.Parallel()
	r := open(t)
	got := r.ask(t, http.MethodGet, "/page", "", r.browser(t, access.Scope{ReadOnly: true, Ceiling: policy.Ask})).seen(t)
	assert.Equal(t, policy.Principal{ID: "local", Grants: app.ReadOnlyPermissions, Ceiling: policy.Ask}, got.Principal)
	assert.True(t, got.ReadOnly)
}

// TestTwoServersOfOneMachine: their cookies have other names, so that a browser keeps both.
func TestTwoServersOfOneMachine(t *testing.T) {
	t.Parallel()
	one, other := open(t), open(t)
	a, b := one.browser(t, access.Scope{}), other.browser(t, access.Scope{})
	both := head{"Cookie", a.value + "; " + b.value}
	assert.Equal(t, http.StatusOK, one.ask(t, http.MethodGet, "/page", "", both).StatusCode)
	assert.Equal(t, http.StatusOK, other.ask(t, http.MethodGet, "/page", "", both).StatusCode)
}
