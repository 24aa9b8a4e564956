package mcphttp

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/adapters/mcp/wire"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// closing is how long the answer to the end of a session waits for its running calls.
const closing = 5 * time.Second

// serveOlder serves a request of the era with sessions.
func (e *Endpoint) serveOlder(x *exchange) {
	switch {
	case x.r.Method == http.MethodDelete:
		e.end(x)
	case x.r.Method == http.MethodPost && x.id == "":
		e.open(x)
	case x.r.Method == http.MethodPost:
		s, verdict := e.sessions.Enter(x.id, x.visitor.Credential)
		if verdict != SessionEntered {
			x.refuse(verdict)
			return
		}
		defer s.Leave()
		e.inSession(x, s)
	case x.r.Method == http.MethodGet && x.id != "":
		s, verdict := e.sessions.EnterStream(x.id, x.visitor.Credential)
		if verdict != SessionEntered {
			x.refuse(verdict)
			return
		}
		defer s.LeaveStream()
		x.forward(e.stateful, nil)
	default:
		x.forward(e.stateful, x.body)
	}
}

// refuse answers a request whose session cannot be used.
func (x *exchange) refuse(v EnterResult) {
	switch v {
	case SessionBusy:
		x.w.Header().Set("Retry-After", "1")
		x.fail(http.StatusTooManyRequests, codeServer, "this session has too many concurrent requests; wait for some of them to finish")
	case SessionsFull:
		x.w.Header().Set("Retry-After", "60")
		x.fail(http.StatusServiceUnavailable, codeServer, "the limit of sessions is reached; end one, or try again later")
	default: // plain, for the reason stated at writer
		http.Error(x.w, "session not found", http.StatusNotFound)
	}
}

// open serves a request without a session: the handshake of a new one, or a request for which the SDK has an error.
func (e *Endpoint) open(x *exchange) {
	if x.message.Kind == wire.Batch {
		x.fail(http.StatusBadRequest, wire.CodeInvalidRequest, "an array cannot open a session")
		return
	}
	if !e.sessions.Reserve(x.visitor.Credential) {
		x.refuse(SessionsFull)
		return
	}
	defer e.sessions.Unreserve(x.visitor.Credential)
	x.request.Opened = func(s *mcp.ServerSession) { e.opened(x, s) }
	x.forward(e.stateful, x.body)
}

func (e *Endpoint) opened(x *exchange, s *mcp.ServerSession) {
	f := SessionInfo{ID: s.ID(), Owner: x.visitor.Credential, Principal: x.visitor.Principal.ID, Instance: instance("session", s.ID()), Client: x.visitor.Client}
	if p := s.InitializeParams(); p != nil {
		if p.ClientInfo != nil {
			f.Client = shortened(strings.TrimSpace(p.ClientInfo.Name + " " + p.ClientInfo.Version))
		}
	}
	e.sessions.Open(f, s)
}

// end ends a session: its calls are cancelled, and its grants are deleted before the answer.
func (e *Endpoint) end(x *exchange) {
	if x.id == "" {
		x.fail(http.StatusBadRequest, wire.CodeInvalidRequest, "the header Mcp-Session-Id must name the session to end")
		return
	}
	s := e.sessions.Find(x.id, x.visitor.Credential)
	if s == nil {
		x.refuse(SessionUnknown)
		return
	}
	s.End()
	late := time.NewTimer(closing)
	defer late.Stop()
	select {
	case <-s.Done():
	case <-late.C: // it ends by itself
	}
	x.w.WriteHeader(http.StatusNoContent)
}

// inSession serves a request of a session.
func (e *Endpoint) inSession(x *exchange, s *Session) {
	x.request.Caller.Session, x.request.Caller.Client = s.Instance, s.Client
	x.request.Over, x.request.Ending = s.Life(), x.r.Context().Done()
	switch {
	case x.message.Kind == wire.Batch && (x.version == "" || x.version < firstWithoutBatches):
		e.batch(x)
		return
	case x.message.Kind == wire.Request && x.message.Method == methodCancelled:
		if id, ok := key(wire.Members(x.message.Params, "requestId")[0]); ok {
			s.Cancel(id) // the SDK looks for the ID among its own calls
		}
	}
	if c, ok := x.callOf(); ok && x.direct(&c, e.opts.Server) && c.version == nil && (x.version == "" || slices.Contains(e.versions, x.version)) {
		if id, ok := key(x.message.ID); ok {
			e.callDirect(x, s, &c, id)
			return
		}
	}
	x.forward(e.stateful, x.body)
}

// callDirect runs a call of a session. The call continues if its connection is lost, which does not cancel it in this era; the cancel notification
// names the request ID.
func (e *Endpoint) callDirect(x *exchange, s *Session, c *call, id string) {
	ctx, cancel := context.WithCancel(s.Life())
	defer cancel()
	cancelled, tell := context.WithCancel(context.Background()) // cancelled only by the notification
	if !s.Begin(id, func() { tell(); cancel() }) {
		x.fail(http.StatusBadRequest, wire.CodeInvalidRequest, "a request with this id is in progress")
		return
	}
	defer s.Finish(id)
	result, done, err := e.opts.Server.CallDirect(ctx, &c.Direct)
	if !done {
		x.request.Cancelled = cancelled // so that the notification reaches it in every phase
		x.forward(e.stateful, x.body)
		return
	}
	x.answer(result, err)
}

// firstWithoutBatches is the first revision that does not accept an array of messages.
const firstWithoutBatches = "2025-06-18"

// batch serves an array and answers its requests together. The SDK would wait forever for an answer to a notification among them.
func (e *Endpoint) batch(x *exchange) {
	calls, items := []json.RawMessage{}, []json.RawMessage{}
	if err := json.Unmarshal(x.body, &items); err != nil || len(items) != len(x.message.Items) {
		x.fail(http.StatusBadRequest, wire.CodeParseError, "the array is invalid")
		return
	}
	for i, m := range x.message.Items {
		switch {
		case m.Kind == wire.Bad:
			x.fail(http.StatusBadRequest, int64(m.Code), m.Problem)
			return
		case m.Kind == wire.Request && m.ID != nil:
			calls = append(calls, items[i])
		default:
			x.send(e.stateful, items[i], &unheard{header: http.Header{}})
		}
	}
	if len(calls) == 0 {
		x.w.WriteHeader(http.StatusAccepted)
		return
	}
	body, err := json.Marshal(calls)
	if err != nil { // they were just read
		x.fail(http.StatusInternalServerError, codeServer, "the array is invalid")
		return
	}
	x.forward(e.stateful, body)
}

// unheard is a ResponseWriter that discards the answer.
type unheard struct{ header http.Header }

// Header returns the header, which is discarded.
func (u *unheard) Header() http.Header { return u.header }

// Write discards p.
func (u *unheard) Write(p []byte) (int, error) { return len(p), nil }

// WriteHeader discards the status.
func (u *unheard) WriteHeader(int) {}
