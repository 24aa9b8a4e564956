package httpauth

import (
	"context"
	"crypto/subtle"
	"log/slog"
	"net/http"
	"strings"
	"time"
	"unicode"

	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/access"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// The errors of rejected requests, besides those of package access.
var (
	ErrMissing  = fault.New(fault.Denied, "credential_missing", "authentication required")
	ErrForm     = fault.New(fault.Denied, "form_token_invalid", "invalid form token; reload the page and try again")
	ErrFailures = fault.New(fault.Denied, "credential_attempts_exceeded", "too many failed logins; wait a second and retry")
	ErrInFlight = fault.New(fault.Unavailable, "requests_exceeded", "too many concurrent requests with this credential; wait for some of them to finish")
)

// longestSecret is the maximum length of a secret, longestClient that of a client name.
const (
	longestSecret = 256
	longestClient = 120
)

// Options configures a Guard.
type Options struct {
	Credentials Credentials
	Owner       policy.Principal // the user of this machine, with the permissions from the server configuration
	Account     string           // that user's account name; empty is the owner's ID
	Hosts       []Host           // names in addition to this machine's own
	TLS         bool             // whether the server itself speaks TLS
	Limits      Limits
	Log         *slog.Logger     // nil: no log
	Now         func() time.Time // nil: the machine's clock
}

// Guard authenticates HTTP requests. It is safe for concurrent use; NewGuard makes it.
type Guard struct {
	credentials Credentials
	owner       policy.Principal
	account     string
	hosts       map[string]Host
	tls         bool
	limits      Limits
	log         *slog.Logger
	now         func() time.Time
	headers     map[string][]string
	failures    *bucket // rate of invalid credentials
	noise       *bucket // rate of logged refusals
	inFlight    inFlight
	life        context.Context
	end         context.CancelFunc
}

// NewGuard returns a Guard. It starts nothing.
func NewGuard(o Options) *Guard {
	g := &Guard{credentials: o.Credentials, owner: o.Owner, account: o.Account, hosts: map[string]Host{}, tls: o.TLS, limits: o.Limits.complete(), log: o.Log, now: o.Now}
	if g.log == nil {
		g.log = slog.New(slog.DiscardHandler)
	}
	if g.now == nil {
		g.now = time.Now
	}
	for _, h := range o.Hosts {
		g.hosts[h.Name] = h
	}
	g.headers = always()
	g.failures, g.noise = newBucket(g.limits.Failures), newBucket(g.limits.Failures)
	g.inFlight = inFlight{most: g.limits.InFlight, of: map[string]int{}}
	g.life, g.end = context.WithCancel(context.Background())
	return g
}

// End ends every event stream, so that a server can end. Other requests continue.
func (g *Guard) End() { g.end() }

// Middleware returns the handler for every request of a server: it checks the Host, the Origin and the body's deadline. It sets the headers of every
// answer, which next may replace.
func (g *Guard) Middleware(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out := newWriter(w, r, g.limits.WriteTime)
		head := w.Header()
		for name, values := range g.headers {
			head[name] = values
		}
		defer out.setDeadline() // the server sends the rest of the answer after this
		defer g.recovered(out, r)
		g.timed(w, r)
		p, err := g.placed(r)
		if err == nil {
			err = sent(r, p)
		}
		if err != nil {
			g.refuse(out, r, err)
			return
		}
		next.ServeHTTP(out, r)
	})
}

// recovered answers for a handler that panicked.
func (g *Guard) recovered(w *writer, r *http.Request) {
	p := recover()
	if p == nil {
		return
	}
	if p == any(http.ErrAbortHandler) {
		panic(p)
	}
	g.log.Error("a handler panicked", "path", r.URL.Path, "panic", p)
	if w.wrote {
		panic(http.ErrAbortHandler) // a partial answer must not look complete
	}
	g.refuse(w, r, fault.ErrInternal)
}

// who is the set of clients that a handler admits.
type who uint8

const (
	programs who = 1 << iota
	people
)

// RequireToken admits programs by their access tokens.
func (g *Guard) RequireToken(h Handler) http.Handler { return g.admitting(programs, h) }

// RequireBrowser admits users by the cookies of logged-in browsers.
func (g *Guard) RequireBrowser(h Handler) http.Handler { return g.admitting(people, h) }

// RequireAny admits programs and users.
func (g *Guard) RequireAny(h Handler) http.Handler { return g.admitting(programs|people, h) }

func (g *Guard) admitting(whom who, h Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v, err := g.visitor(r, whom)
		if err != nil {
			g.refuse(w, r, err)
			return
		}
		if !g.inFlight.begin(v.Credential) {
			g.refuse(w, r, ErrInFlight)
			return
		}
		defer g.inFlight.end(v.Credential)
		body, err := receive(r, g.limits.Body)
		if err == nil && v.Person && !safe(r.Method) {
			err = v.sentBy(r, body)
		}
		if err != nil {
			g.refuse(w, r, err)
			return
		}
		ctx, done := g.lasting(r, v)
		defer done()
		h(w, r.WithContext(ctx), v)
	})
}

// sentBy fails unless a page of the client's browser sent the request.
func (v Identity) sentBy(r *http.Request, body []byte) error {
	switch {
	case !told(r):
		return ErrOrigin.WithMessage("the request has no Origin; changes are accepted only from pages of this server")
	case subtle.ConstantTimeCompare([]byte(formOf(r, body)), []byte(v.Form)) != 1:
		return ErrForm
	}
	return nil
}

// visitor returns the identity of the request from its credential. An invalid token is rejected even with a valid cookie.
func (g *Guard) visitor(r *http.Request, whom who) (Identity, error) {
	if given := r.Header["Authorization"]; len(given) > 0 && whom&programs != 0 {
		scheme, secret, _ := strings.Cut(given[0], " ")
		secret = strings.TrimSpace(secret)
		if len(given) > 1 || !strings.EqualFold(scheme, "Bearer") || secret == "" || len(secret) > longestSecret {
			return Identity{}, missing(r, whom)
		}
		return g.program(r, secret)
	}
	if whom&people != 0 {
		return g.person(r, whom)
	}
	return Identity{}, missing(r, whom)
}

// program returns the identity of a program's token.
func (g *Guard) program(r *http.Request, secret string) (Identity, error) {
	v := Identity{kind: access.Token, digest: access.DigestOf(secret)}
	c, err := g.admit(r.Context(), v)
	if err != nil {
		return Identity{}, err
	}
	v.Principal = policy.Principal{ID: "token:" + c.Name, Ceiling: c.Scope.Ceiling}
	v.Session = c.ID
	g.reach(&v, r, c)
	return v, nil
}

// person returns the identity of a browser's cookie. A browser may send several of one name: other servers of this host name can set some.
func (g *Guard) person(r *http.Request, whom who) (Identity, error) {
	p, err := g.placed(r)
	if err != nil {
		return Identity{}, err
	}
	err = missing(r, whom)
	for i, cookie := range r.CookiesNamed(cookieName(p)) {
		if i == 3 || len(cookie.Value) > longestSecret {
			break
		}
		v := Identity{kind: access.Browser, digest: browserDigest(p, cookie.Value), Account: g.account, Person: true, Session: Session, Form: formToken(cookie.Value), Origin: p.origin()}
		var c access.Credential
		if c, err = g.admit(r.Context(), v); err == nil {
			v.Principal = policy.Principal{ID: g.owner.ID, Ceiling: c.Scope.Ceiling}
			g.reach(&v, r, c)
			return v, nil
		}
	}
	return Identity{}, err
}

// admit returns the credential of a client. Only a limited number of invalid ones is checked per second.
func (g *Guard) admit(ctx context.Context, v Identity) (access.Credential, error) {
	c, err := g.credentials.Admit(ctx, v.kind, v.digest)
	if err != nil && fault.From(err).Kind == fault.Denied && !g.failures.take(g.now()) {
		err = ErrFailures
	}
	return c, err
}

// reach sets the client's permissions: never more than the server configuration or the credential allows.
func (g *Guard) reach(v *Identity, r *http.Request, c access.Credential) {
	v.Credential, v.Client = c.ID, clientOf(r)
	if v.Principal.Grants = g.owner.Grants; c.Scope.ReadOnly {
		v.Principal.Grants &= app.ReadOnlyPermissions
	}
	if len(c.Scope.Toolsets) > 0 || c.Scope.ReadOnly {
		v.Within = []tool.Restriction{c.Scope.Narrowing()}
	}
}

// clientOf returns the client's description of itself, in one line.
func clientOf(r *http.Request) string {
	said := strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return -1
		}
		return c
	}, r.UserAgent())
	if len(said) > longestClient {
		said = strings.ToValidUTF8(said[:longestClient], "")
	}
	return said
}

// missing returns the error that explains how to get a credential.
func missing(r *http.Request, whom who) error {
	switch {
	case whom&programs == 0:
		return ErrMissing.WithMessage("this browser is not logged in; run countersign login for a login link")
	case inQuery(r):
		return ErrMissing.WithMessage("tokens in URLs are not accepted; revoke this one, because URLs are logged, and send a new one as Authorization: Bearer TOKEN")
	}
	return ErrMissing.WithMessage("access token required; create one with countersign token create NAME and send it as Authorization: Bearer TOKEN")
}

// inQuery reports a token in the request's URL.
func inQuery(r *http.Request) bool {
	_, rest, found := strings.Cut(r.URL.RawQuery, "="+TokenPrefix)
	return found && len(rest) >= secretLength
}
