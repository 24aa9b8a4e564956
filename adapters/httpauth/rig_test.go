package httpauth_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/access"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/internal/testkit/clock"
	"github.com/countersign-dev/countersign/internal/testkit/ids"
	"github.com/countersign-dev/countersign/internal/testkit/logbuf"
	"github.com/countersign-dev/countersign/internal/testkit/memstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a guarded server on a real socket: /page for users, /tool for programs, /any for both, /stream that lasts, /boom that panics, /open
// for everybody.
type rig struct {
	addr   string
	guard  *httpauth.Guard
	keeper *app.Credentials
	clock  *clock.Fake
	log    *logbuf.Buffer
	client *http.Client // follows no redirect, and keeps no cookie
	begun  chan struct{}
	ended  chan struct{}
	goOn   chan struct{}
	scheme string
	stop   func()
}

// setup is what a test may have otherwise.
type setup struct {
	guard  httpauth.Options
	server httpauth.ListenOptions
	addr   string
	roots  *x509.CertPool
}

// tls has the server speak it, with a certificate for 127.0.0.1.
func (s *setup) tls(t testing.TB) {
	t.Helper()
	fake := httptest.NewUnstartedServer(nil)
	fake.StartTLS()
	s.server.TLS = &tls.Config{Certificates: fake.TLS.Certificates}
	s.roots = x509.NewCertPool()
	s.roots.AddCert(fake.Certificate())
	fake.Close()
	s.guard.TLS = true
}

func open(t testing.TB, changes ...func(*setup)) *rig {
	t.Helper()
	r := &rig{clock: &clock.Fake{}, log: &logbuf.Buffer{}, begun: make(chan struct{}, 100), ended: make(chan struct{}, 100), goOn: make(chan struct{}), scheme: "http"}
	store := memstore.New()
	r.keeper = app.NewCredentials(app.CredentialsConfig{Credentials: store.Credentials(), Clock: r.clock, IDs: &ids.Sequence{}, Audit: store, Log: slog.New(slog.DiscardHandler)})
	s := setup{addr: "127.0.0.1:0", server: httpauth.ListenOptions{Grace: 5 * time.Second},
		guard: httpauth.Options{Credentials: r.keeper, Owner: policy.Principal{ID: "local", Grants: policy.All}, Account: "ann", Now: r.clock.Now,
			Log: slog.New(slog.NewTextHandler(r.log, nil)), Limits: httpauth.Limits{Recheck: 10 * time.Millisecond, Failures: 1000}}}
	for _, change := range changes {
		change(&s)
	}
	r.guard = httpauth.NewGuard(s.guard)
	s.server.Ending = r.guard.End
	l, err := net.Listen("tcp", s.addr)
	require.NoError(t, err)
	r.addr = l.Addr().String()
	ctx, stop := context.WithCancel(context.Background())
	over := make(chan error, 1)
	go func() { over <- httpauth.Serve(ctx, l, r.handler(), s.server) }()
	transport := &http.Transport{}
	if s.server.TLS != nil {
		r.scheme, transport = "https", &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: s.roots}}
	}
	r.client = &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	r.stop = sync.OnceFunc(func() {
		stop()
		assert.NoError(t, <-over)
		r.client.CloseIdleConnections()
	})
	t.Cleanup(r.stop)
	return r
}

// seen is what a handler says of its visitor and request.
type seen struct {
	Principal  policy.Principal
	Session    string
	Client     string
	Person     bool
	Credential string
	Form       string
	Proof      confirm.Proof
	Toolsets   []string
	ReadOnly   bool
	Body       string
	Field      string
}

func (r *rig) handler() http.Handler {
	mux := http.NewServeMux()
	r.guard.Mount(mux)
	tell := func(w http.ResponseWriter, q *http.Request, v httpauth.Identity) {
		s := seen{Principal: v.Principal, Session: v.Session, Client: v.Client, Person: v.Person, Credential: v.Credential, Form: v.Form, Proof: v.Proof()}
		for _, n := range v.Within {
			s.Toolsets, s.ReadOnly = n.Toolsets, n.ReadOnly
		}
		if body, err := io.ReadAll(q.Body); err == nil {
			s.Body = string(body)
		}
		s.Field = q.PostFormValue("field")
		_ = json.NewEncoder(w).Encode(s)
	}
	mux.Handle("/page", r.guard.RequireBrowser(tell))
	mux.Handle("/tool", r.guard.RequireToken(tell))
	mux.Handle("/any", r.guard.RequireAny(tell))
	mux.Handle("/stream", r.guard.RequireAny(func(w http.ResponseWriter, q *http.Request, _ httpauth.Identity) {
		fmt.Fprintln(w, "hello")
		_ = http.NewResponseController(w).Flush()
		r.begun <- struct{}{}
		<-q.Context().Done()
		r.ended <- struct{}{}
	}))
	mux.Handle("/late", r.guard.RequireToken(func(w http.ResponseWriter, _ *http.Request, _ httpauth.Identity) {
		for range 3 {
			<-r.goOn
			fmt.Fprintln(w, "a line")
			_ = http.NewResponseController(w).Flush()
		}
		<-r.goOn
	}))
	mux.Handle("/flood", r.guard.RequireToken(func(w http.ResponseWriter, _ *http.Request, _ httpauth.Identity) {
		for piece := make([]byte, 64<<10); ; {
			if _, err := w.Write(piece); err != nil {
				r.ended <- struct{}{}
				return
			}
		}
	}))
	mux.Handle("/boom", r.guard.RequireToken(func(w http.ResponseWriter, q *http.Request, _ httpauth.Identity) {
		if q.URL.RawQuery == "late" {
			fmt.Fprint(w, "half")
			_ = http.NewResponseController(w).Flush()
		}
		panic("oh")
	}))
	mux.HandleFunc("/open", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Cache-Control", "max-age=60")
		httpauth.AllowInlineStyles(w)
		fmt.Fprint(w, "open")
	})
	return r.guard.Middleware(mux)
}

func (r *rig) url(path string) string { return r.scheme + "://" + r.addr + path }

// token issues a token and is its secret.
func (r *rig) token(t testing.TB, name string, scope access.Scope, expires time.Time) string {
	t.Helper()
	secret := httpauth.Secret(httpauth.TokenPrefix)
	_, err := r.keeper.Issue(t.Context(), "terminal", access.Credential{Kind: access.Token, Name: name, Scope: scope, ExpiresAt: expires, Digest: access.DigestOf(secret)})
	require.NoError(t, err)
	return secret
}

// code issues a one-time log-in.
func (r *rig) code(t testing.TB, scope access.Scope) string {
	t.Helper()
	code := httpauth.Secret(httpauth.LoginPrefix)
	_, err := r.keeper.Issue(t.Context(), "terminal", access.Credential{Kind: access.Login, Name: "console", Scope: scope, Digest: access.DigestOf(code)})
	require.NoError(t, err)
	return code
}

// answer is what came back.
type answer struct {
	*http.Response
	body string
}

// code returns the code of the refusal that the answer is.
func (a answer) code() string {
	var f struct{ Code string }
	_ = json.Unmarshal([]byte(a.body), &f)
	return f.Code
}

func (a answer) seen(t testing.TB) seen {
	t.Helper()
	require.Equal(t, http.StatusOK, a.StatusCode, a.body)
	var s seen
	require.NoError(t, json.Unmarshal([]byte(a.body), &s))
	return s
}

// head is one header of a request.
type head struct{ name, value string }

func bearer(secret string) head { return head{"Authorization", "Bearer " + secret} }

// ask sends a request. A form makes it a POST from a page of this server's, as a browser sends it.
func (r *rig) ask(t testing.TB, method, path, body string, heads ...head) answer {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), method, r.url(path), strings.NewReader(body))
	require.NoError(t, err)
	for _, h := range heads {
		if h.name == "Host" {
			q.Host = h.value
			continue
		}
		q.Header.Add(h.name, h.value)
	}
	if q.Header.Get("Content-Type") == "" && strings.Contains(body, "=") {
		q.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	res, err := r.client.Do(q)
	require.NoError(t, err)
	return read(t, res)
}

func read(t testing.TB, res *http.Response) answer {
	t.Helper()
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	res.Body.Close()
	return answer{res, string(body)}
}

// ours returns what a browser says of a form of this server's own page.
func (r *rig) ours() []head {
	return []head{{"Origin", "http://" + r.addr}, {"Sec-Fetch-Site", "same-origin"}}
}

// browser logs a browser in and is its cookie, as it sends it.
func (r *rig) browser(t testing.TB, scope access.Scope) head {
	t.Helper()
	res := r.ask(t, http.MethodPost, "/login", url.Values{"code": {r.code(t, scope)}}.Encode(), r.ours()...)
	require.Equal(t, http.StatusSeeOther, res.StatusCode, res.body)
	require.Len(t, res.Cookies(), 1)
	return head{"Cookie", res.Cookies()[0].Name + "=" + res.Cookies()[0].Value}
}

// dial returns a raw connection.
func (r *rig) dial(t testing.TB) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", r.addr)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	return conn
}

// raw sends bytes as they are and reads one answer.
func (r *rig) raw(t testing.TB, text string) answer {
	t.Helper()
	conn := r.dial(t)
	_, err := io.WriteString(conn, strings.ReplaceAll(text, "ADDR", r.addr))
	require.NoError(t, err)
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	return read(t, res)
}

// stream opens a stream and reads it until it ends, or ctx. It has begun when stream returns.
func (r *rig) stream(ctx context.Context, h head) {
	go func() {
		q, _ := http.NewRequestWithContext(ctx, http.MethodGet, r.url("/stream"), nil)
		q.Header.Set(h.name, h.value)
		q.Header.Set("Accept", "text/event-stream")
		if res, err := r.client.Do(q); err == nil {
			_, _ = io.Copy(io.Discard, res.Body)
			res.Body.Close()
		}
	}()
	<-r.begun
}
