package httpauth

import (
	"errors"
	"net/http"
	"strings"

	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/domain/access"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// What pages may load: nothing from other hosts, and only script files of this server. No other page may embed them.
const (
	rest         = "; img-src 'self' data:; connect-src 'self'; font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
	pagePolicy   = "default-src 'none'; script-src 'self'; style-src 'self'" + rest
	inlineStyles = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'" + rest
)

// AllowInlineStyles allows inline styles in the answered page, which diagrams need. Inline scripts are never allowed.
func AllowInlineStyles(w http.ResponseWriter) {
	w.Header().Set("Content-Security-Policy", inlineStyles)
}

// always returns the headers of every answer. With no-referrer instead of same-origin, browsers would send Origin: null for our own forms.
func always() map[string][]string {
	return map[string][]string{
		"Content-Security-Policy":      {pagePolicy},
		"X-Content-Type-Options":       {"nosniff"},
		"Referrer-Policy":              {"same-origin"},
		"Cross-Origin-Opener-Policy":   {"same-origin"},
		"Cross-Origin-Resource-Policy": {"same-origin"},
		"Cache-Control":                {"no-store"},
	}
}

// statusOf returns the status of a refusal.
func statusOf(f *fault.Error) int {
	for _, own := range []struct {
		err    error
		status int
	}{
		{ErrMissing, http.StatusUnauthorized}, {access.ErrUnknown, http.StatusUnauthorized}, {access.ErrExpired, http.StatusUnauthorized},
		{access.ErrUsed, http.StatusUnauthorized}, {ErrFailures, http.StatusTooManyRequests}, {ErrInFlight, http.StatusTooManyRequests},
		{ErrTooLarge, http.StatusRequestEntityTooLarge}, {ErrTooSlow, http.StatusRequestTimeout},
	} {
		if errors.Is(f, own.err) {
			return own.status
		}
	}
	return present.HTTPStatus(f.Kind)
}

// refuse answers a rejected request: with a page if the client asks for one, else with JSON.
func (g *Guard) refuse(w http.ResponseWriter, r *http.Request, err error) {
	f := fault.From(err)
	status := statusOf(f)
	if !errors.Is(f, ErrMissing) && !errors.Is(f, ErrFailures) && g.noise.take(g.now()) {
		g.log.Warn("a request was denied", "code", string(f.Code), "method", r.Method, "host", r.Host, "path", r.URL.Path, "from", r.RemoteAddr)
	}
	head := w.Header()
	switch status {
	case http.StatusUnauthorized:
		challenge := `Bearer realm="countersign"`
		if !errors.Is(f, ErrMissing) {
			challenge += `, error="invalid_token"`
		}
		head.Set("WWW-Authenticate", challenge)
	case http.StatusTooManyRequests:
		head.Set("Retry-After", "1")
	}
	drain(w, r, g.limits.Body)
	if wantsPage(r) {
		writePage(w, status, refusal(r, status, f))
		return
	}
	head.Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(present.For(present.Control)(tool.Outcome{Err: f}).Body, '\n')) // the client may be gone
}

// wantsPage reports whether a browser displays the answer.
func wantsPage(r *http.Request) bool { return strings.Contains(r.Header.Get("Accept"), "text/html") }
