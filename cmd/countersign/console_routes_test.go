//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// route is a way into the server.
type route struct {
	method, path string
	people       bool // for browsers alone
	programs     bool // for programs alone
}

var (
	links  = regexp.MustCompile(`<a [^>]*href="(/[^"]*)"`)
	posts  = regexp.MustCompile(`<form method="post" action="(/[^"]*)"`)
	tabs   = regexp.MustCompile(`\btab=[a-z-]+`)
	idents = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}|\b[a-z]{2,6}_[A-Za-z0-9_-]{6,}|\b[0-9a-f]{12,}\b|[A-Z0-9]{20,}|T\d{6}Z|\d+`)
)

// shape returns a path without what tells pages of one kind apart.
func shape(path string) string {
	path, query, _ := strings.Cut(path, "?")
	if tab := tabs.FindString(query); tab != "" { // a page of its own
		path += "?" + tab
	}
	path = regexp.MustCompile(`^/tools/[^/]+`).ReplaceAllString(path, "/tools/*") // one for every tool
	return idents.ReplaceAllString(path, "*")
}

// pages returns the pages that somebody who is logged in can come to by following links, the first of each kind and a few more, and where their forms send
// to.
func (v *visitor) pages(each int) (pages, forms []string) {
	v.t.Helper()
	seen, kinds, sent := map[string]bool{}, map[string]int{}, map[string]bool{}
	for todo := []string{"/"}; len(todo) > 0; todo = todo[1:] {
		status, text := v.send(http.MethodGet, todo[0], nil)
		require.Equal(v.t, http.StatusOK, status, "%s: %s", todo[0], text)
		if todo[0] != "/" && strings.HasPrefix(v.kind, "text/html") {
			pages = append(pages, todo[0])
		}
		for _, m := range posts.FindAllStringSubmatch(text, -1) {
			path := html.UnescapeString(m[1])
			if kind := shape(path); !sent[kind] {
				sent[kind] = true
				forms = append(forms, path)
			}
		}
		for _, m := range links.FindAllStringSubmatch(text, -1) {
			path, _, _ := strings.Cut(html.UnescapeString(m[1]), "#")
			if strings.HasPrefix(path, "/api/") || strings.HasPrefix(path, "/assets/") || path == "" || path == "/" || path == "/logout" || seen[path] || kinds[shape(path)] >= each {
				continue
			}
			seen[path] = true
			kinds[shape(path)]++
			todo = append(todo, path)
		}
	}
	return pages, forms
}

// routes returns all of the server's: what users come to, the API as its own document describes it, and MCP.
func (b *consoleFixture) routes(v *visitor) []route {
	b.t.Helper()
	all := []route{{http.MethodPost, "/mcp", false, true}, {http.MethodGet, "/mcp", false, true}, {http.MethodDelete, "/mcp", false, true}, {http.MethodGet, "/approvals/count", true, false},
		{http.MethodPost, "/logout", true, false}, {http.MethodPost, "/approvals/cf_none", true, false}, {http.MethodPost, "/work/none/answer", true, false}, {http.MethodPost, "/work/none/cancel", true, false}}
	pages, forms := v.pages(1)
	for _, path := range pages {
		all = append(all, route{http.MethodGet, path, true, false})
	}
	for _, path := range forms {
		all = append(all, route{http.MethodPost, path, true, false})
	}
	status, text := v.send(http.MethodGet, "/api/v1/openapi.json", nil)
	require.Equal(b.t, http.StatusOK, status)
	var doc struct {
		Paths map[string]map[string]json.RawMessage
	}
	require.NoError(b.t, json.Unmarshal([]byte(text), &doc))
	for path, methods := range doc.Paths {
		if !strings.HasPrefix(path, "/api/v1") {
			path = "/api/v1" + path
		}
		path = regexp.MustCompile(`\{[^}]*\}`).ReplaceAllString(path, "none")
		for method := range methods {
			if method = strings.ToUpper(method); slices.Contains([]string{"GET", "POST", "PUT", "DELETE", "PATCH"}, method) {
				all = append(all, route{method, path, false, false})
			}
		}
	}
	return all
}

// knock asks for a route in some way, and gives the status. Nothing is followed.
func (b *consoleFixture) knock(r route, change func(*http.Request)) int {
	b.t.Helper()
	body := ""
	if r.method != http.MethodGet {
		body = "{}"
	}
	req, err := http.NewRequestWithContext(b.t.Context(), r.method, b.pages()+r.path, strings.NewReader(body))
	require.NoError(b.t, err)
	req.Header.Set("Content-Type", map[bool]string{true: "application/x-www-form-urlencoded", false: "application/json"}[r.people])
	req.Header.Set("Accept", map[bool]string{true: "text/html", false: "application/json, text/event-stream"}[r.people])
	change(req)
	answer, err := http.DefaultTransport.RoundTrip(req)
	require.NoError(b.t, err)
	require.NoError(b.t, answer.Body.Close())
	return answer.StatusCode
}

// TestEveryRouteIsGuarded: whatever the way in, nobody comes in from another origin, under another name, without a credential, with the cookie of another
// host name, or, to change something, without what the page's form carries.
func TestEveryRouteIsGuarded(t *testing.T) {
	needs(t, "npm")
	t.Parallel()
	b := newBureau(t)
	b.furnish()
	v := b.visitor()
	at, err := url.Parse(b.pages())
	require.NoError(t, err)
	cookies := v.http.Jar.Cookies(at)
	require.NotEmpty(t, cookies)
	var made struct{ Token string }
	b.asCaller(&made, "token", "create", "robot")
	form := v.form("/settings").Get("form_token")
	require.NotEmpty(t, form)

	login := func(r *http.Request) {
		for _, c := range cookies {
			r.AddCookie(c)
		}
	}
	bearer := func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+made.Token) }
	own := func(r *http.Request) { r.Header.Set("Origin", b.pages()) }
	ways := map[string]struct {
		only   func(route) bool
		change []func(*http.Request)
		want   []int
	}{
		"without a credential":              {nil, nil, []int{401}},
		"with a token that is none":         {func(r route) bool { return !r.people }, []func(*http.Request){func(r *http.Request) { r.Header.Set("Authorization", "Bearer cs_none") }}, []int{401, 429}},
		"with a token where people go":      {func(r route) bool { return r.people }, []func(*http.Request){bearer}, []int{401}},
		"with a cookie where programs go":   {func(r route) bool { return r.programs }, []func(*http.Request){login, own}, []int{401}},
		"by a foreign name":                 {nil, []func(*http.Request){login, bearer, func(r *http.Request) { r.Host = "evil.example:" + at.Port() }}, []int{403}},
		"by a name that ends like ours":     {nil, []func(*http.Request){login, bearer, func(r *http.Request) { r.Host = "127.0.0.1.evil.example" }}, []int{403}},
		"from a foreign page":               {nil, []func(*http.Request){login, bearer, func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") }}, []int{403}},
		"from a page of nowhere":            {nil, []func(*http.Request){login, bearer, func(r *http.Request) { r.Header.Set("Origin", "null") }}, []int{403}},
		"from another port of this machine": {nil, []func(*http.Request){login, bearer, func(r *http.Request) { r.Header.Set("Origin", "http://127.0.0.1:1") }}, []int{403}},
		"with another name's cookie": {func(r route) bool { return r.people }, []func(*http.Request){login, func(r *http.Request) {
			r.Host = "127.0.0.1:" + at.Port()
			r.Header.Set("Origin", "http://127.0.0.1:"+at.Port())
		}}, []int{401, 429}},
		"without the form": {func(r route) bool { return r.people && r.method == http.MethodPost }, []func(*http.Request){login, own}, []int{403}},
		"with the form of another browser": {func(r route) bool { return r.people && r.method == http.MethodPost }, []func(*http.Request){login, own, func(r *http.Request) {
			r.Header.Set("X-Form-Token", strings.Repeat("x", len(form)))
		}}, []int{403}},
		"with the form, and no word of its page": {func(r route) bool { return r.people && r.method == http.MethodPost }, []func(*http.Request){login, func(r *http.Request) { r.Header.Set("X-Form-Token", form) }}, []int{403}},
	}
	routes := b.routes(v)
	t.Logf("%d routes", len(routes))
	assert.Greater(t, len(routes), 60)
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			for _, r := range routes {
				if way.only != nil && !way.only(r) {
					continue
				}
				status := b.knock(r, func(req *http.Request) {
					for _, change := range way.change {
						change(req)
					}
				})
				assert.Contains(t, way.want, status, "%s %s", r.method, r.path)
			}
		})
	}
	for _, open := range []string{"/healthz", "/login", "/login.css", "/assets/style.css", "/assets/console.js"} {
		assert.Equal(t, http.StatusOK, b.knock(route{http.MethodGet, open, false, false}, func(*http.Request) {}), open)
		assert.Equal(t, http.StatusForbidden, b.knock(route{http.MethodGet, open, false, false}, func(r *http.Request) { r.Host = "evil.example" }), open)
	}
	status, _ := v.send(http.MethodGet, "/approvals", nil)
	assert.Equal(t, http.StatusOK, status, "whoever belongs here comes in, still")
	assert.Equal(t, http.StatusOK, b.knock(route{http.MethodGet, "/api/v1/tools", false, false}, bearer))
}

// TestEveryPageInABrowser opens one page of each kind, on a machine with something of everything: each is judged by axe and kept as a picture.
func TestEveryPageInABrowser(t *testing.T) {
	needs(t, "npm")
	t.Parallel()
	b := newBureau(t)
	p := b.person("/approvals")
	b.furnish()
	agent := b.agent("site", "projects")
	answer := agent.later("run_script", args{"project_path": b.at("shop"), "script_name": "hi"})
	b.questions(1)
	paths, _ := b.visitor().pages(1)
	assert.Greater(t, len(paths), 40)
	for i, path := range paths {
		p.Go(b.pages() + path)
		assert.Equal(t, 1, p.Count("h1"), path)
		p.Axe()
		p.Shot(fmt.Sprintf("page %03d %s", i, strings.ReplaceAll(shape(path), "?", " ")))
		p.Narrow(true)
		p.Narrow(false)
	}
	for _, dark := range []string{"/approvals", "/activity", "/deployments"} {
		p.Dark(true)
		p.Go(b.pages() + dark)
		p.Axe()
		p.Shot("dark " + dark)
	}
	b.withdraw(b.questions(1)[0].ID)
	_, failed := outcome(t, answer())
	require.NotNil(t, failed)
}
