package consoletest

import (
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/domain/policy"
)

// poll is a short pause again and again, until it is stopped.
type poll struct{ stop <-chan struct{} }

func newPoll(stop <-chan struct{}) poll { return poll{stop} }

func (p poll) wait() bool {
	select {
	case <-p.stop:
		return false
	case <-time.After(5 * time.Millisecond):
		return true
	}
}

// Visitor returns the visitor of a browser that is logged in with that credential.
func Visitor(credential string) httpauth.Identity {
	return httpauth.Identity{Principal: policy.Principal{ID: "local", Grants: policy.All}, Session: httpauth.Session, Client: "console", Person: true,
		Credential: credential, Form: "form-" + credential}
}

// Person lets everybody in as a visitor: with the credential that the cookie "browser" names. A form that carries another browser's token is refused.
func Person(change ...func(*httpauth.Identity)) func(httpauth.Handler) http.Handler {
	return func(h httpauth.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			name := "key_one"
			if c, err := r.Cookie("browser"); err == nil {
				name = c.Value
			}
			v := Visitor(name)
			v.Origin = "http://" + r.Host
			for _, f := range change {
				f(&v)
			}
			if r.Method == http.MethodPost && r.PostFormValue(httpauth.FieldForm) != v.Form {
				http.Error(w, "this form is another browser's", http.StatusForbidden)
				return
			}
			w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
			h(w, r, v)
		})
	}
}

// Nobody rejects every request.
func Nobody(httpauth.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "log in first", http.StatusUnauthorized) })
}

// Web is a running server of pages, with a client.
type Web struct {
	URL string

	t      testing.TB
	client *http.Client
}

// Serve runs a server of the pages that mount adds.
func Serve(t testing.TB, mount func(mux *http.ServeMux)) *Web {
	t.Helper()
	mux := http.NewServeMux()
	mount(mux)
	s := httptest.NewServer(mux)
	t.Cleanup(func() {
		s.CloseClientConnections() // streams of events never end by themselves
		s.Close()
	})
	return (&Web{URL: s.URL, t: t}).As("key_one")
}

// As returns the same server asked by a browser of that credential.
func (w *Web) As(credential string) *Web {
	jar, err := cookiejar.New(nil)
	require.NoError(w.t, err)
	at, err := url.Parse(w.URL)
	require.NoError(w.t, err)
	jar.SetCookies(at, []*http.Cookie{{Name: "browser", Value: credential}})
	return &Web{URL: w.URL, t: w.t, client: &http.Client{Jar: jar}}
}

// Answer is what a server said.
type Answer struct {
	Status int
	Path   string // after redirections, with its parameters
	Body   string
	Header http.Header
}

// Get asks for a page.
func (w *Web) Get(path string) Answer {
	w.t.Helper()
	resp, err := w.client.Get(w.URL + path)
	require.NoError(w.t, err)
	return w.answer(resp)
}

// Post sends a form to a path, as it stands on no page: with the token of this browser and the fields name, value, name, value.
func (w *Web) Post(path string, fields ...string) Answer {
	w.t.Helper()
	at, err := url.Parse(w.URL)
	require.NoError(w.t, err)
	form := url.Values{httpauth.FieldForm: {"form-" + w.client.Jar.Cookies(at)[0].Value}}
	for i := 0; i+1 < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	resp, err := w.client.PostForm(w.URL+path, form)
	require.NoError(w.t, err)
	return w.answer(resp)
}

func (w *Web) answer(resp *http.Response) Answer {
	w.t.Helper()
	defer resp.Body.Close() //nolint:errcheck // it was read
	body, err := io.ReadAll(resp.Body)
	require.NoError(w.t, err)
	return Answer{Status: resp.StatusCode, Path: resp.Request.URL.RequestURI(), Body: string(body), Header: resp.Header}
}

// Settled returns the page once what it shows does not run any more.
func (w *Web) Settled(page Answer) Answer {
	w.t.Helper()
	for tick := newPoll(w.t.Context().Done()); strings.HasPrefix(page.Path, "/work/") && strings.Contains(page.Body, `data-live="tick"`); {
		require.True(w.t, tick.wait(), "it goes on running: %s", page.Words())
		page = w.Get(page.Path)
	}
	return page
}

// Words returns what users read of the page's content, its blanks and lines as one space each.
func (a Answer) Words() string {
	body := a.Body
	if _, main, ok := strings.Cut(body, "<main"); ok {
		body, _, _ = strings.Cut("<main"+main, "</main>")
	}
	return strings.Join(strings.Fields(html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(body, " "))), " ")
}

// Press sends the first form of the page that has a button of that name or value, with the values that its fields have, changed as fields say.
func (w *Web) Press(page Answer, button string, fields ...string) Answer {
	w.t.Helper()
	for _, form := range regexp.MustCompile(`(?s)<form method="post" action="([^"]*)".*?</form>`).FindAllStringSubmatch(page.Body, -1) {
		pressed := regexp.MustCompile(`<button[^>]*>` + regexp.QuoteMeta(html.EscapeString(button)) + `</button>`).FindString(form[0])
		if pressed == "" {
			continue
		}
		var sent []string
		for _, field := range regexp.MustCompile(`<input type="(?:hidden|text)"[^>]*>`).FindAllString(form[0], -1) {
			sent = append(sent, attribute(field, "name"), attribute(field, "value"))
		}
		for _, area := range regexp.MustCompile(`(?s)(<textarea[^>]*>)(.*?)</textarea>`).FindAllStringSubmatch(form[0], -1) {
			sent = append(sent, attribute(area[1], "name"), html.UnescapeString(area[2]))
		}
		for _, choice := range regexp.MustCompile(`(?s)(<select[^>]*>)(.*?)</select>`).FindAllStringSubmatch(form[0], -1) {
			for _, option := range regexp.MustCompile(`<option[^>]*>`).FindAllString(choice[2], -1) {
				if strings.Contains(option, " selected") {
					sent = append(sent, attribute(choice[1], "name"), attribute(option, "value"))
				}
			}
		}
		for _, box := range regexp.MustCompile(`<input type="checkbox"[^>]*>`).FindAllString(form[0], -1) {
			if strings.Contains(box, " checked") {
				sent = append(sent, attribute(box, "name"), attribute(box, "value"))
			}
		}
		if name := attribute(pressed, "name"); name != "" {
			sent = append(sent, name, attribute(pressed, "value"))
		}
		return w.Post(html.UnescapeString(form[1]), append(sent, fields...)...)
	}
	w.t.Fatalf("there is no button %q on %s:\n%s", button, page.Path, page.Words())
	return Answer{}
}

func attribute(tag, name string) string {
	m := regexp.MustCompile(` ` + name + `="([^"]*)"`).FindStringSubmatch(tag)
	if m == nil {
		return ""
	}
	return html.UnescapeString(m[1])
}
