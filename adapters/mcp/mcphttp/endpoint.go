package mcphttp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/adapters/mcp/mcpserver"
	"github.com/countersign-dev/countersign/adapters/mcp/stdio"
	"github.com/countersign-dev/countersign/adapters/mcp/wire"
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// EndpointOptions configures an Endpoint.
type EndpointOptions struct {
	Server   *mcpserver.Server // required
	Known    KnownNames        // the names that headers may use
	Sessions int               // maximum at a time, of both eras; zero is defaultMax
	Own      int               // maximum of one credential at a time, with a connection; zero is defaultOwn
	Idle     time.Duration     // after which an unused session ends; zero is defaultIdle, negative is never
	Requests int               // maximum of one session at a time; zero is defaultEach
	Log      *slog.Logger      // nil discards

	// EndSession is called for each client instance that ends, to delete its mode and grants: an *app.App's. It may be nil.
	EndSession func(ctx context.Context, principal, session string) error
}

// Endpoint serves MCP at one URL. It is safe for concurrent use; NewEndpoint makes it.
type Endpoint struct {
	opts     EndpointOptions
	life     context.Context //nolint:containedctx // of the server: its end cancels what runs
	sessions *SessionTable
	clients  *clients
	versions []string // of the protocol, with sessions
	newest   []string // without
	stateful http.Handler
	newer    http.Handler
}

// NewEndpoint returns an endpoint that serves until life ends. The caller must then call Close.
func NewEndpoint(life context.Context, o EndpointOptions) *Endpoint {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	e := &Endpoint{opts: o, life: life, clients: newClients()}
	e.sessions = NewSessionTable(life, SessionTableOptions{Max: o.Sessions, Own: o.Own, Idle: o.Idle, Each: o.Requests, Ended: e.ended})
	for _, v := range mcp.SupportedProtocolVersions() {
		if v < stdio.FirstModern {
			e.versions = append(e.versions, v)
		} else {
			e.newest = append(e.newest, v)
		}
	}
	handler := func(stateless bool) http.Handler {
		return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return o.Server.MCP() }, &mcp.StreamableHTTPOptions{
			Stateless: stateless, Logger: o.Log, PropagateRequestCancellation: true,
			DisableLocalhostProtection: true, MaxRequestBodyBytes: -1, // package httpauth checks both
		})
	}
	e.stateful, e.newer = handler(false), handler(true)
	return e
}

// ended deletes the state of a client instance in the core.
func (e *Endpoint) ended(s *Session) {
	if e.opts.EndSession == nil {
		return
	}
	if err := e.opts.EndSession(context.WithoutCancel(e.life), s.Principal, s.Instance); err != nil {
		e.opts.Log.Warn("session grants could not be deleted", "cause", err.Error())
	}
}

// Sessions returns the number of connected client instances.
func (e *Endpoint) Sessions() int { return e.sessions.Len() }

// leaving is how long cancelled calls may take to end: the programs that they run get five seconds to exit and are then killed.
const leaving = 8 * time.Second

// Close ends every session and waits until all of them are done, or fails with the context's error.
func (e *Endpoint) Close(ctx context.Context) error {
	patience, cancel := context.WithTimeout(ctx, leaving)
	defer cancel()
	if err := e.sessions.Close(patience); ctx.Err() != nil {
		return err
	} else if err != nil {
		e.opts.Log.Warn("cancelled calls did not stop and were abandoned")
	}
	return nil
}

// exchange is one request in progress.
type exchange struct {
	w       http.ResponseWriter
	r       *http.Request
	visitor httpauth.Identity
	request mcpserver.Request
	message wire.Message
	body    []byte
	version string // the header
	id      string // of the session
}

// The headers of the protocol.
const (
	headerVersion = "Mcp-Protocol-Version"
	headerSession = "Mcp-Session-Id"
	headerMethod  = "Mcp-Method"
	headerName    = "Mcp-Name"
	headerLast    = "Last-Event-Id"
)

// codeServer is the code of an error that depends on the state of the server.
const codeServer = -32000

// ServeVisitor serves one authenticated request; it is an httpauth.Handler.
func (e *Endpoint) ServeVisitor(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	x := &exchange{w: w, r: r, visitor: v, version: r.Header.Get(headerVersion), id: r.Header.Get(headerSession)}
	if r.Method == http.MethodPost && !x.read() {
		return
	}
	if e.life.Err() != nil {
		x.fail(http.StatusServiceUnavailable, codeServer, "the server is shutting down")
		return
	}
	tightened, err := Tighten(r.Header, e.opts.Known)
	if err == nil {
		x.request.Wait, err = confirmWait(r.Header)
	}
	if err != nil {
		x.fail(http.StatusBadRequest, wire.CodeInvalidRequest, fault.From(err).Message)
		return
	}
	x.request.ID = x.message.ID
	x.request.Caller = mcpserver.Caller{Client: v.Client}
	x.request.Caller.Principal, x.request.Caller.Within = tightened.Over(v.Principal, v.Within)
	if x.sessionless() {
		e.serveNewer(x)
		return
	}
	e.serveOlder(x)
}

// read reads the body, and reports whether it is a message that can be served.
func (x *exchange) read() bool {
	body := make([]byte, 0, max(min(x.r.ContentLength, 1<<20), 0)+1)
	for {
		n, err := x.r.Body.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		if err == io.EOF { //nolint:errorlint // a reader's own
			break
		}
		if err != nil {
			x.fail(http.StatusBadRequest, wire.CodeParseError, "the request body is incomplete")
			return false
		}
		if len(body) == cap(body) {
			body = slices.Grow(body, cap(body))
		}
	}
	x.body, x.message = body, wire.Whole(body)
	if x.message.Kind == wire.Bad {
		x.request.ID = x.message.ID
		x.fail(http.StatusBadRequest, int64(x.message.Code), x.message.Problem)
		return false
	}
	return true
}

func (x *exchange) fail(status int, code int64, message string) {
	WriteError(x.w, status, x.message.ID, code, message)
}

// sessionless reports a request of the era without sessions. It is identified by a header or, if it names no session, by its _meta, so that the
// client gets an error about missing headers.
func (x *exchange) sessionless() bool {
	if x.version != "" || x.id != "" || x.message.Kind != wire.Request {
		return x.version >= stdio.FirstModern
	}
	said, _ := wire.Text(wire.Members(wire.Members(x.message.Params, "_meta")[0], mcp.MetaKeyProtocolVersion)[0])
	return said >= stdio.FirstModern
}

// instance derives the name of a client instance from parts that stay secret: a session ID is almost a credential.
func instance(parts ...string) string {
	var all []byte
	for _, p := range parts {
		sum := canon.SumBytes("mcp.instance.part.v1", []byte(p))
		all = append(all, sum[:]...)
	}
	sum := canon.SumBytes("mcp.instance.v1", all)
	return "http_" + hex.EncodeToString(sum[:10])
}

// forward serves the request with a handler of the SDK.
func (x *exchange) forward(h http.Handler, body []byte) {
	x.send(h, body, x.w)
}

// send serves body with a handler of the SDK and writes the answer to w. It passes on what is known of the caller, but not its credential.
func (x *exchange) send(h http.Handler, body []byte, w http.ResponseWriter) {
	r := x.r.Clone(x.r.Context())
	r.Header.Set("Authorization", "Bearer known")
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	out := NewWriter(w, x.message.ID)
	defer out.Finish()
	known := func(context.Context, string, *http.Request) (*auth.TokenInfo, error) { return x.request.Info(), nil }
	auth.RequireBearerToken(known, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(h).ServeHTTP(out, r)
}
