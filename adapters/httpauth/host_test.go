package httpauth_test

import (
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/domain/access"
)

// TestWhereRequestsMayGo: whatever name leads here, only this machine's own and the operator's are served (DNS rebinding).
func TestWhereRequestsMayGo(t *testing.T) {
	t.Parallel()
	r := open(t, func(s *setup) {
		for _, text := range []string{"Tools.Example.org", "192.168.1.5", "https://front.example.org:8443", "[fd00::1]"} {
			h, err := httpauth.ParseHost(text)
			require.NoError(t, err)
			s.guard.Hosts = append(s.guard.Hosts, h)
		}
	})
	_, port, err := net.SplitHostPort(r.addr)
	require.NoError(t, err)
	for _, host := range []string{r.addr, "localhost:" + port, "LOCALHOST", "127.0.0.1", "127.8.9.1:1", "[::1]:" + port, "[::1]", "[::ffff:127.0.0.1]", "tools.example.org",
		"TOOLS.example.org:9", "192.168.1.5:80", "front.example.org", "[fd00::1]:8317"} {
		assert.Equal(t, http.StatusOK, r.raw(t, "GET /healthz HTTP/1.1\r\nHost: "+host+"\r\n\r\n").StatusCode, host)
	}
	for _, host := range []string{"evil.example.org", "evil.example.org:" + port, "localhost.evil.org", "127.0.0.1.evil.org", "example.org", "192.168.1.6", "0.0.0.0:" + port, "[::]", "", "localhost.",
		"x.tools.example.org", "[::1%25lo]", "2130706433", "0x7f.1"} {
		for _, path := range []string{"/healthz", "/login", "/page", "/nothing"} {
			res := r.raw(t, "GET "+path+" HTTP/1.1\r\nHost: "+host+"\r\n\r\n")
			if res.StatusCode == http.StatusBadRequest && host == "[::1%25lo]" {
				continue // the server does not read it
			}
			assert.Equal(t, http.StatusForbidden, res.StatusCode, "%q", host)
			assert.Equal(t, "host_foreign", res.code(), "%q", host)
		}
	}
	assert.Equal(t, http.StatusForbidden, r.raw(t, "GET http://evil.example.org/healthz HTTP/1.1\r\nHost: ADDR\r\n\r\n").StatusCode, "what the request line says counts")
	assert.Equal(t, http.StatusForbidden, r.raw(t, "GET /healthz HTTP/1.0\r\n\r\n").StatusCode)
	assert.Equal(t, http.StatusBadRequest, r.raw(t, "GET /healthz HTTP/1.1\r\nHost: ADDR\r\nHost: evil.example.org\r\n\r\n").StatusCode)
	assert.Contains(t, r.log.String(), "host_foreign")
}

// TestNobodyFillsTheLog: of what is refused in a second, a few are written down.
func TestNobodyFillsTheLog(t *testing.T) {
	t.Parallel()
	r := open(t, func(s *setup) { s.guard.Limits.Failures = 0 })
	for range 50 {
		r.ask(t, http.MethodGet, "/healthz", "", head{"Host", "evil.example.org"})
	}
	assert.Equal(t, 10, strings.Count(r.log.String(), "host_foreign"))
}

func TestHostsAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]httpauth.Host{
		"example.org":                  {Name: "example.org"},
		" Example.ORG ":                {Name: "example.org"},
		"10.0.0.1":                     {Name: "10.0.0.1"},
		"::1":                          {Name: "::1"},
		"[fd00::1]":                    {Name: "fd00::1"},
		"https://Example.org":          {Name: "example.org", Origin: "https://example.org"},
		"https://example.org/":         {Name: "example.org", Origin: "https://example.org"},
		"https://example.org:443":      {Name: "example.org", Origin: "https://example.org"},
		"https://example.org:8443":     {Name: "example.org", Origin: "https://example.org:8443"},
		"my-host_1.internal":           {Name: "my-host_1.internal"},
		"https://[fd00::1]:8443":       {Name: "fd00::1", Origin: "https://[fd00::1]:8443"},
		"host-without-a-dot-is-fine-8": {Name: "host-without-a-dot-is-fine-8"},
	} {
		got, err := httpauth.ParseHost(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
	for _, text := range []string{"", " ", "*", "*.example.org", "example.org:80", "http://example.org", "https://", "https://a/b", "https://u@a", "https://a?b", "https://a#b", "a b", "a/b", "ü.de", "ftp://a", "[::1", "https://a:x"} {
		_, err := httpauth.ParseHost(text)
		require.ErrorIs(t, err, httpauth.ErrHostName, text)
	}
}

// TestWhosePagesMayAsk: a page of another origin gets nothing, with whatever credential its browser sends along.
func TestWhosePagesMayAsk(t *testing.T) {
	t.Parallel()
	r := open(t)
	secret := r.token(t, "ci", access.Scope{}, noEnd())
	_, port, err := net.SplitHostPort(r.addr)
	require.NoError(t, err)
	for _, origin := range []string{"http://" + r.addr, "HTTP://" + r.addr} {
		assert.Equal(t, http.StatusOK, r.ask(t, http.MethodPost, "/tool", "{}", bearer(secret), head{"Origin", origin}).StatusCode, origin)
	}
	for _, origin := range []string{"null", "https://" + r.addr, "http://localhost:" + port, "http://127.0.0.1", "http://127.0.0.1:1", "http://evil.example.org", "http://" + r.addr + "/", "", "http://" + r.addr + ".evil.org"} {
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodOptions} {
			for _, path := range []string{"/tool", "/healthz", "/login"} {
				res := r.ask(t, method, path, "", bearer(secret), head{"Origin", origin})
				assert.Equal(t, http.StatusForbidden, res.StatusCode, "%s %q", method, origin)
				assert.Empty(t, res.Header.Get("Access-Control-Allow-Origin"))
				if method != http.MethodOptions || path == "/tool" {
					assert.Equal(t, "origin_foreign", res.code(), "%s %q", method, origin)
				}
			}
		}
	}
	assert.Equal(t, http.StatusForbidden, r.ask(t, http.MethodPost, "/tool", "", bearer(secret), head{"Origin", "http://" + r.addr}, head{"Origin", "http://evil.example.org"}).StatusCode)
	for _, c := range []struct {
		method, site string
		status       int
	}{
		{http.MethodGet, "cross-site", http.StatusOK}, // a link somebody follows
		{http.MethodHead, "same-site", http.StatusOK},
		{http.MethodPost, "none", http.StatusOK},
		{http.MethodPost, "same-origin", http.StatusOK},
		{http.MethodPost, "same-site", http.StatusForbidden},
		{http.MethodPost, "cross-site", http.StatusForbidden},
		{http.MethodPost, "something new", http.StatusForbidden},
		{http.MethodPost, "", http.StatusForbidden},
		{http.MethodPut, "cross-site", http.StatusForbidden},
		{http.MethodDelete, "cross-site", http.StatusForbidden},
		{http.MethodPatch, "cross-site", http.StatusForbidden},
		{"BREW", "cross-site", http.StatusForbidden},
	} {
		assert.Equal(t, c.status, r.ask(t, c.method, "/tool", "", bearer(secret), head{"Sec-Fetch-Site", c.site}).StatusCode, "%+v", c)
	}
}

// TestBehindAProxy: what stands in front speaks TLS, so that origins and cookies are those of TLS.
func TestBehindAProxy(t *testing.T) {
	t.Parallel()
	r := open(t, func(s *setup) {
		s.guard.Hosts = []httpauth.Host{{Name: "cs.example.org", Origin: "https://cs.example.org"}}
	})
	front := []head{{"Host", "cs.example.org"}, {"Origin", "https://cs.example.org"}}
	assert.Equal(t, http.StatusForbidden, r.ask(t, http.MethodPost, "/login", "code=x", front[0], head{"Origin", "http://cs.example.org"}).StatusCode)
	res := r.ask(t, http.MethodPost, "/login", "code="+r.code(t, access.Scope{}), front...)
	require.Equal(t, http.StatusSeeOther, res.StatusCode, res.body)
	set := res.Header.Get("Set-Cookie")
	assert.True(t, strings.HasPrefix(set, "__Host-countersign_443=cb_"), set)
	assert.Contains(t, set, "; Secure")
	got := r.ask(t, http.MethodGet, "/page", "", front[0], head{"Cookie", strings.Split(set, ";")[0]}).seen(t)
	assert.True(t, got.Person)
}

// TestEveryAnswerCarriesTheHeaders: refusals and pages that are not there as well.
func TestEveryAnswerCarriesTheHeaders(t *testing.T) {
	t.Parallel()
	r := open(t)
	want := map[string]string{
		"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; form-action 'self'; " +
			"base-uri 'none'; frame-ancestors 'none'",
		"X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
		"Cache-Control": "no-store",
	}
	secret, cookie := r.token(t, "ci", access.Scope{}, noEnd()), r.browser(t, access.Scope{})
	for path, heads := range map[string][]head{"/healthz": nil, "/login": nil, "/login.css": nil, "/nothing": nil, "/tool": nil, "/tool?": {bearer(secret)}, "/page": {cookie}, "/page?": nil,
		"/boom": {bearer(secret)}, "/any": {{"Origin", "null"}}, "/logout": {cookie}} {
		res := r.ask(t, http.MethodGet, path, "", heads...)
		for name, value := range want {
			assert.Equal(t, []string{value}, res.Header.Values(name), "%s of %s", name, path)
		}
	}
	res := r.ask(t, http.MethodGet, "/open", "")
	assert.Equal(t, "max-age=60", res.Header.Get("Cache-Control"), "what a handler says goes")
	assert.Contains(t, res.Header.Get("Content-Security-Policy"), "style-src 'self' 'unsafe-inline'; ")
	assert.Contains(t, res.Header.Get("Content-Security-Policy"), "script-src 'self'; ")
	res = r.ask(t, http.MethodGet, "/healthz", "")
	assert.NotContains(t, res.Header.Get("Content-Security-Policy"), "unsafe-inline", "of one answer alone")
}

func TestHowABrowserGetsHere(t *testing.T) {
	t.Parallel()
	at := func(ip string, port int) net.Addr { return &net.TCPAddr{IP: net.ParseIP(ip), Port: port} }
	name, front := httpauth.Host{Name: "cs.example.org"}, httpauth.Host{Name: "cs.example.org", Origin: "https://cs.example.org:8443"}
	for _, c := range []struct {
		at     net.Addr
		names  []httpauth.Host
		secure bool
		want   string
	}{
		{at("127.0.0.1", 8317), nil, false, "http://127.0.0.1:8317"},
		{at("::1", 8317), nil, false, "http://[::1]:8317"},
		{at("127.0.0.1", 80), nil, false, "http://127.0.0.1"},
		{at("192.0.2.1", 443), nil, true, "https://192.0.2.1"},
		{at("::", 8317), nil, true, "https://127.0.0.1:8317"},
		{at("0.0.0.0", 8317), []httpauth.Host{name}, true, "https://cs.example.org:8317"},
		{at("0.0.0.0", 8317), []httpauth.Host{front, name}, false, "https://cs.example.org:8443"},
		{at("::1", 8317), []httpauth.Host{{Name: "fd00::1"}}, true, "https://[fd00::1]:8317"},
	} {
		assert.Equal(t, c.want, httpauth.BaseURL(c.at, c.names, c.secure))
	}
}

func TestAnAddressIsItsOwnName(t *testing.T) {
	t.Parallel()
	at := func(ip string) net.Addr { return &net.TCPAddr{IP: net.ParseIP(ip), Port: 8317} }
	name, own := httpauth.Host{Name: "cs.example.org"}, httpauth.Host{Name: "192.0.2.1"}
	assert.Equal(t, []httpauth.Host{name, own}, httpauth.ReachableHosts(at("192.0.2.1"), []httpauth.Host{name}))
	assert.Equal(t, []httpauth.Host{own}, httpauth.ReachableHosts(at("192.0.2.1"), []httpauth.Host{own}))
	assert.Equal(t, []httpauth.Host{name}, httpauth.ReachableHosts(at("0.0.0.0"), []httpauth.Host{name}), "all of them are no name")
	assert.Equal(t, []httpauth.Host{{Name: "::1"}}, httpauth.ReachableHosts(at("::1"), nil))
}

func TestCookiesByTheNameOfTheirServer(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]string{"http://127.0.0.1:8317": "countersign_8317", "https://cs.example.org": "__Host-countersign_443", "http://[::1]": "countersign_80"} {
		assert.Equal(t, want, httpauth.CookieName(base))
	}
}
