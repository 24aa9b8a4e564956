// Package consolerig is a user of the console without scripts: it serves pages on a real server with a real core, and opens, reads, fills in and submits
// them as a browser does. It can send only what a form of a page sends.
package consolerig

import (
	"context"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpapi"
	"github.com/countersign-dev/countersign/adapters/httpapi/events"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/domain/policy"
)

// Form is what every form has to carry.
const Form = "form-of-this-browser"

// Site is a console.
type Site struct {
	T      testing.TB
	URL    string
	Mux    *http.ServeMux
	web    *http.Client
	runner *ui.CallRunner
	calm   time.Duration // the default wait of pages
}

// Person returns who sits at the console.
func Person() httpauth.Identity {
	return httpauth.Identity{Principal: policy.Principal{ID: "local", Grants: policy.All}, Session: "console", Client: "console/1", Person: true, Credential: "key_rig", Form: Form}
}

// LetIn lets everybody in as that user; forms that do not carry what they have to are refused.
func LetIn(v httpauth.Identity) func(httpauth.Handler) http.Handler {
	return func(h httpauth.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost && r.PostFormValue(httpauth.FieldForm) != v.Form {
				http.Error(w, "the form carries no proof", http.StatusForbidden)
				return
			}
			w.Header().Set("Content-Security-Policy", contentPolicy)
			h(w, r, v)
		})
	}
}

// contentPolicy is what pages may load: nothing but what this server has, and no script or style within them.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// Live serves the JSON API of the core beside the pages, so that scripts hear what happens: no page has to wait for it.
func (s *Site) Live(app httpapi.App, source events.Source) {
	s.T.Helper()
	s.runner.Patience = s.calm
	hub := events.NewHub(source, nil)
	s.T.Cleanup(hub.Close)
	api := httpapi.New(httpapi.Options{App: app, Hub: hub})
	person := Person()
	s.Mux.HandleFunc(httpapi.Prefix+"/", func(w http.ResponseWriter, r *http.Request) { api.Serve(w, r, person) })
	s.Mux.HandleFunc("GET /approvals/count", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "0") })
}

// patience is for pages of work that ends: a busy machine is no other page.
const patience = time.Minute

// SendOff is Send for work that goes on until the test has done something: its page does not wait for it.
func (s *Site) SendOff(path string, fields url.Values) Page {
	s.T.Helper()
	s.runner.Patience = time.Millisecond
	defer func() { s.runner.Patience = patience }()
	return s.Send(path, fields)
}

// Mounts adds pages to a mux.
type Mounts func(runner *ui.CallRunner, mux *http.ServeMux, person func(httpauth.Handler) http.Handler)

// New returns a console with those pages over a core, which ends with the test.
func New(t testing.TB, core ui.Core, mounts Mounts) *Site {
	t.Helper()
	life, end := context.WithCancel(context.Background())
	s := &Site{T: t, Mux: http.NewServeMux(), web: &http.Client{Transport: &http.Transport{}}}
	var ids atomic.Int64
	runner := ui.NewCallRunner(life, core, func() string { return fmt.Sprint("job-", ids.Add(1)) })
	s.runner, s.calm = runner, runner.Patience
	runner.Patience = patience
	person := LetIn(Person())
	runner.Mount(s.Mux, person)
	mounts(runner, s.Mux, person)
	s.Mux.Handle("/assets/", ui.AssetHandler())
	server := httptest.NewServer(s.Mux)
	s.URL = server.URL
	t.Cleanup(func() {
		end()
		server.CloseClientConnections()
		server.Close()
		s.web.CloseIdleConnections()
		runner.Wait(context.Background()) // what a page started may still write to the home
	})
	return s
}

// Page is a page that was answered with, after redirects.
type Page struct {
	Site   *Site
	Status int
	Path   string // with its parameters
	HTML   string
}

func (s *Site) do(req *http.Request) Page {
	s.T.Helper()
	resp, err := s.web.Do(req)
	require.NoError(s.T, err)
	defer func() { _ = resp.Body.Close() }()
	doc, err := io.ReadAll(resp.Body)
	require.NoError(s.T, err)
	return Page{Site: s, Status: resp.StatusCode, Path: resp.Request.URL.RequestURI(), HTML: string(doc)}
}

// Open returns the page at a path, whatever its status.
func (s *Site) Open(path string) Page {
	s.T.Helper()
	req, err := http.NewRequestWithContext(s.T.Context(), http.MethodGet, s.URL+path, nil)
	require.NoError(s.T, err)
	return s.do(req)
}

// Get returns the page at a path, which is there.
func (s *Site) Get(path string) Page {
	s.T.Helper()
	p := s.Open(path)
	require.Equal(s.T, http.StatusOK, p.Status, "%s: %s", path, p.Text())
	return p
}

// Send posts fields to a path, with what a form carries.
func (s *Site) Send(path string, fields url.Values) Page {
	s.T.Helper()
	if fields == nil {
		fields = url.Values{}
	}
	fields.Set(httpauth.FieldForm, Form)
	req, err := http.NewRequestWithContext(s.T.Context(), http.MethodPost, s.URL+path, strings.NewReader(fields.Encode()))
	require.NoError(s.T, err)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return s.do(req)
}

var (
	tag    = regexp.MustCompile(`<[^>]*>`)
	marked = regexp.MustCompile(`</?mark>`) // stands within words
	blanks = regexp.MustCompile(`\s+`)
	forms  = regexp.MustCompile(`(?s)<form [^>]*>.*?</form>`)
	fields = regexp.MustCompile(`(?s)<input ([^>]*)>|<textarea ([^>]*)>(.*?)</textarea>|<select ([^>]*)>(.*?)</select>`)
	button = regexp.MustCompile(`(?s)<button ([^>]*)>(.*?)</button>`)
	option = regexp.MustCompile(`(?s)<option ([^>]*)>`)
	attr   = regexp.MustCompile(`([a-z-]+)(?:="([^"]*)")?`)
)

// Main returns the content of the page, as it is written.
func (p Page) Main() string {
	_, body, _ := strings.Cut(p.HTML, "<main")
	body, _, _ = strings.Cut(body, "</main>")
	return "<main" + body
}

// Text returns what users read in the content of the page.
func (p Page) Text() string {
	return strings.TrimSpace(html.UnescapeString(blanks.ReplaceAllString(tag.ReplaceAllString(marked.ReplaceAllString(p.Main(), ""), " "), " ")))
}

func attrs(text string) map[string]string {
	out := map[string]string{}
	for _, m := range attr.FindAllStringSubmatch(text, -1) {
		out[m[1]] = html.UnescapeString(m[2])
	}
	return out
}

// Has reports a button that is known by that name: its label for screen readers, or its text.
func (p Page) Has(name string) bool {
	_, _, found := p.form(name)
	return found
}

// form returns the form that has the button of that name, and what the button itself sends.
func (p Page) form(name string) (form string, sends map[string]string, found bool) {
	for _, f := range forms.FindAllString(p.Main(), -1) {
		for _, b := range button.FindAllStringSubmatch(f, -1) {
			a := attrs(b[1])
			known := a["aria-label"]
			if known == "" {
				known = html.UnescapeString(tag.ReplaceAllString(b[2], ""))
			}
			if known == name {
				return f, a, true
			}
		}
	}
	return "", nil, false
}

// Filled returns what the form with the button of that name sends, before anybody changes it.
func (p Page) Filled(name string) (action, method string, sent url.Values) {
	p.Site.T.Helper()
	form, sends, found := p.form(name)
	require.True(p.Site.T, found, "no button %q on %s: %s", name, p.Path, p.Text())
	head, _, _ := strings.Cut(form, ">")
	a := attrs(head)
	sent = url.Values{}
	if sends["name"] != "" {
		sent.Set(sends["name"], sends["value"])
	}
	for _, m := range fields.FindAllStringSubmatch(form, -1) {
		switch {
		case m[1] != "":
			f := attrs(m[1])
			if _, ticked := f["checked"]; f["type"] == "checkbox" && !ticked {
				continue
			}
			sent.Set(f["name"], f["value"])
		case m[2] != "":
			sent.Set(attrs(m[2])["name"], html.UnescapeString(m[3]))
		default:
			chosen := ""
			for i, o := range option.FindAllStringSubmatch(m[5], -1) {
				a := attrs(o[1])
				if _, selected := a["selected"]; selected || i == 0 {
					chosen = a["value"]
				}
			}
			sent.Set(attrs(m[4])["name"], chosen)
		}
	}
	return a["action"], a["method"], sent
}

// Press sends the form with the button of that name, after fields were filled in: names and values by turns. What is filled in has to be a field
// of the form.
func (p Page) Press(name string, filled ...string) Page {
	p.Site.T.Helper()
	action, method, sent := p.Filled(name)
	form, _, _ := p.form(name)
	for i := 0; i+1 < len(filled); i += 2 {
		require.Contains(p.Site.T, form, `name="`+filled[i]+`"`, "the form of %q has no such field", name)
		sent.Set(filled[i], filled[i+1])
	}
	if method == "get" {
		return p.Site.Open(action + "?" + sent.Encode())
	}
	return p.Site.Send(action, sent)
}

// Approve presses the button that lets what is asked about happen, and waits for what comes of it.
func (p Page) Approve(filled ...string) Page {
	p.Site.T.Helper()
	require.Contains(p.Site.T, p.Path, "/work/", "it does not ask: %s", p.Text())
	for _, m := range button.FindAllStringSubmatch(p.Main(), -1) {
		if a := attrs(m[1]); strings.TrimSpace(m[2]) == "Approve" {
			name := a["aria-label"]
			if name == "" {
				name = "Approve"
			}
			return p.Press(name, filled...).Settled()
		}
	}
	require.Fail(p.Site.T, "nothing to approve", "%s: %s", p.Path, p.Text())
	return p
}

// Settled returns the page once what it shows does not run any more.
func (p Page) Settled() Page {
	p.Site.T.Helper()
	require.Eventually(p.Site.T, func() bool {
		if !p.Runs() {
			return true
		}
		p = p.Site.Open(p.Path)
		return !p.Runs()
	}, time.Minute, 20*time.Millisecond, "it goes on running")
	return p
}

// Runs reports a page about work that goes on.
func (p Page) Runs() bool {
	return strings.HasPrefix(p.Path, "/work/") && strings.Contains(p.HTML, `data-live="tick"`)
}

// See fails the test unless users read all of that on the page.
func (p Page) See(texts ...string) Page {
	p.Site.T.Helper()
	text := p.Text()
	for _, want := range texts {
		require.Contains(p.Site.T, text, want, "on %s", p.Path)
	}
	return p
}

// Miss fails the test when users read any of that on the page.
func (p Page) Miss(texts ...string) Page {
	p.Site.T.Helper()
	text := p.Text()
	for _, not := range texts {
		require.NotContains(p.Site.T, text, not, "on %s", p.Path)
	}
	return p
}

// Safe fails the test when something that others wrote is more than text: hostile is such a text as it was given.
func (p Page) Safe(hostile string) Page {
	p.Site.T.Helper()
	require.NotContains(p.Site.T, p.HTML, hostile, "on %s", p.Path)
	require.NotContains(p.Site.T, p.HTML, "\x1b", "on %s", p.Path)
	return p
}

// Sound fails the test when identifiers are not unique, or fields are without labels.
func (p Page) Sound() Page {
	p.Site.T.Helper()
	seen := map[string]bool{}
	for _, m := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(p.HTML, -1) {
		require.False(p.Site.T, seen[m[1]], "%s has two things with the id %q", p.Path, m[1])
		seen[m[1]] = true
	}
	for _, m := range fields.FindAllStringSubmatch(p.Main(), -1) {
		f := attrs(m[1] + m[2] + m[4])
		if f["type"] == "hidden" {
			continue
		}
		require.Contains(p.Site.T, p.HTML, `<label for="`+html.EscapeString(f["id"])+`"`, "%s: field %q has no label", p.Path, f["name"])
	}
	require.Equal(p.Site.T, 1, strings.Count(p.HTML, "<h1"), "%s has one heading of the first rank", p.Path)
	return p
}
