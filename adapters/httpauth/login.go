package httpauth

import (
	_ "embed"
	"html"
	"net/http"
	"net/url"
	"strings"

	"github.com/countersign-dev/countersign/domain/access"
	"github.com/countersign-dev/countersign/domain/fault"
)

// The paths that the guard itself serves.
const (
	loginPath  = "/login"
	logoutPath = "/logout"
	healthPath = "/healthz"
	stylePath  = "/login.css"
)

// LoginURL returns the page of the server at base that logs a browser in with a one-time code and then goes to the page wanted; empty is the first
// page.
func LoginURL(base, code, wanted string) string {
	query := url.Values{"code": {code}}
	if wanted != "" {
		query.Set("next", wanted)
	}
	return base + loginPath + "?" + query.Encode()
}

// maxLoginForm is the maximum size of the login form, in bytes.
const maxLoginForm = 8 << 10

//go:embed login.css
var style string

// Mount adds the guard's own pages: /healthz without authentication, login and logout.
func (g *Guard) Mount(mux *http.ServeMux) {
	mux.HandleFunc("GET "+healthPath, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"status":"ok"}` + "\n")) // the client may be gone
	})
	mux.HandleFunc("GET "+stylePath, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/css; charset=utf-8")
		_, _ = w.Write([]byte(style)) // the client may be gone
	})
	mux.HandleFunc("GET "+loginPath, g.offer)
	mux.HandleFunc("POST "+loginPath, g.logIn)
	mux.Handle("GET "+logoutPath, g.RequireBrowser(func(w http.ResponseWriter, _ *http.Request, v Identity) {
		writePage(w, http.StatusOK, page{title: "Log out", text: []string{"This browser is logged in to Countersign."},
			form: logoutPath, fields: [][2]string{{FieldForm, v.Form}}, button: "Log this browser out"})
	}))
	mux.Handle("POST "+logoutPath, g.RequireBrowser(g.logOut))
}

// offer shows a one-time login without using it: link previewers do not submit forms.
func (g *Guard) offer(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	if query.Get("code") == "" {
		writePage(w, http.StatusOK, page{title: "Log in", text: []string{"To log this browser in, run this in a terminal, and open the link it prints:"},
			command: "countersign login"})
		return
	}
	writePage(w, http.StatusOK, page{title: "Log in", text: []string{"This link works for one browser. A logged-in browser can approve what agents do on this machine."},
		form: loginPath, fields: [][2]string{{"code", query.Get("code")}, {"next", query.Get("next")}}, button: "Log this browser in"})
}

// logIn exchanges a one-time login for a cookie.
func (g *Guard) logIn(w http.ResponseWriter, r *http.Request) {
	p, err := g.placed(r)
	if err == nil && !told(r) {
		err = ErrOrigin.WithMessage("the request has no Origin; log in from the page that the link opens")
	}
	if err == nil {
		_, err = receive(r, maxLoginForm)
	}
	if err != nil {
		g.refuse(w, r, err)
		return
	}
	code, secret := r.PostFormValue("code"), Secret(browserPrefix)
	if code == "" || len(code) > longestSecret {
		err = access.ErrUnknown
	} else {
		_, err = g.credentials.Exchange(r.Context(), access.DigestOf(code), browserDigest(p, secret))
	}
	if err != nil {
		if fault.From(err).Kind == fault.Denied && !g.failures.take(g.now()) {
			err = ErrFailures
		}
		g.refuse(w, r, err)
		return
	}
	http.SetCookie(w, cookie(p, secret, int(access.BrowserTTL.Seconds())))
	w.Header().Set("Location", wanted(r.PostFormValue("next")))
	w.WriteHeader(http.StatusSeeOther)
}

// logOut ends the browser's credential.
func (g *Guard) logOut(w http.ResponseWriter, r *http.Request, v Identity) {
	p, err := g.placed(r)
	if err == nil {
		_, err = g.credentials.Revoke(r.Context(), "browser", v.Credential)
	}
	if err != nil {
		g.refuse(w, r, err)
		return
	}
	http.SetCookie(w, cookie(p, "", -1))
	writePage(w, http.StatusOK, page{title: "Logged out", text: []string{"This browser is logged out. To log it in again, run this in a terminal:"}, command: "countersign login"})
}

// cookie contains the browser's secret. Its name includes the port, because cookies belong to a host name regardless of port: servers of one machine
// must not log each other's users out.
func cookie(p place, secret string, maxAge int) *http.Cookie {
	return &http.Cookie{Name: cookieName(p), Value: secret, Path: "/", MaxAge: maxAge, Secure: p.secure, HttpOnly: true, SameSite: http.SameSiteStrictMode}
}

// CookieName returns the name of the browser cookie of the server at base, for documentation.
func CookieName(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return ""
	}
	_, port := split(u.Host)
	return cookieName(place{secure: u.Scheme == "https", port: portOf(port, u.Scheme == "https")})
}

func cookieName(p place) string {
	name := "countersign_" + p.port
	if p.secure {
		name = "__Host-" + name
	}
	return name
}

// wanted returns the page to go to: a path of this server, else the first page.
func wanted(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.IsAbs() || u.Host != "" || u.User != nil || !strings.HasPrefix(next, "/") || strings.HasPrefix(u.Path, "//") || strings.ContainsAny(next, "\\\r\n\t") {
		return "/"
	}
	if u.Path == loginPath || u.Path == logoutPath {
		return "/"
	}
	return u.String()
}

// page is one of the guard's own pages.
type page struct {
	title   string
	text    []string
	command string      // to run in a terminal
	form    string      // target of its form; empty: no form
	fields  [][2]string // hidden ones
	button  string
	again   string // a link to the page itself
}

// refusal returns the page for a rejected request.
func refusal(r *http.Request, status int, f *fault.Error) page {
	p := page{title: "Request denied", text: []string{sentence(f.Message)}}
	if status != http.StatusUnauthorized {
		return p
	}
	p.title, p.command = "Log in first", "countersign login"
	if r.Method == http.MethodGet && r.URL.Path != loginPath {
		p.again = wanted(r.URL.RequestURI()) // cookies are not sent with links from other sites
	}
	return p
}

// sentence returns a message with a capital letter and a final period.
func sentence(message string) string {
	if message == "" {
		return ""
	}
	return strings.ToUpper(message[:1]) + strings.TrimSuffix(message[1:], ".") + "."
}

// writePage writes the page, which loads only its style sheet.
func writePage(w http.ResponseWriter, status int, p page) {
	var b strings.Builder
	b.WriteString(`<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">` +
		`<meta name="color-scheme" content="light dark"><title>` + html.EscapeString(p.title) + ` · Countersign</title><link rel="stylesheet" href="` + stylePath +
		`"></head><body><main><h1>` + html.EscapeString(p.title) + `</h1>`)
	for _, text := range p.text {
		b.WriteString(`<p>` + html.EscapeString(text) + `</p>`)
	}
	if p.command != "" {
		b.WriteString(`<pre><code>` + html.EscapeString(p.command) + `</code></pre>`)
	}
	if p.form != "" {
		b.WriteString(`<form method="post" action="` + html.EscapeString(p.form) + `">`)
		for _, field := range p.fields {
			b.WriteString(`<input type="hidden" name="` + html.EscapeString(field[0]) + `" value="` + html.EscapeString(field[1]) + `">`)
		}
		b.WriteString(`<button>` + html.EscapeString(p.button) + `</button></form>`)
	}
	if p.again != "" {
		b.WriteString(`<p>If this browser is logged in and came here by a link of another site: <a href="` + html.EscapeString(p.again) + `">open the page</a>.</p>`)
	}
	b.WriteString("</main></body></html>\n")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(b.String())) // the client may be gone
}
