package mcpserver

import (
	"context"
	"encoding/json"
	"runtime/debug"

	"github.com/countersign-dev/countersign/adapters/mcp/stdio"
	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The ways of a tools/call past the SDK, which decodes params twice over stdio and a request over HTTP six times, with 32 KiB of garbage each time, and
// encodes and checks a result four times. A transport that has read a well-formed call hands it over as it is. Measured with and without, in turns, as
// times the SDK's bare server in the same run (medians on a busy machine with two processors):
//
//   - stdio, CPU of a trivial tool (BenchmarkToolsCall): 0.74 as it is; 0.89 with the method tools/call and a tool's name as its only params; 1.06 when
//     the SDK reads the call and writes its result. CPU of a read through the whole pipeline (BenchmarkCall of cmd/countersign, list_toolsets): 1.48 as
//     it is, 2.1 with the method and the name
//   - HTTP with sessions (BenchmarkCall of mcphttp): p50 of one client 0.76 as it is, 1.83 without; calls a second of 16 clients 1.7 and 0.57
//   - HTTP without sessions: p50 0.77 and 2.2; calls a second 1.6 and 0.53
//
// The product's goals are a p50 of at most 1.5 and twice the calls a second. Over HTTP the SDK would also answer with a stream where a document does.
//
// What a transport knows of a request and the SDK would not hand on travels as what is known of its bearer (stdio.Call, Request): of what the SDK hands
// from a transport to a handler, only that has room for more than text.

// Direct is a well-formed tools/call that a transport has parsed itself: without a progress token, and not a second round.
type Direct struct {
	*Request
	Tool        string
	Arguments   json.RawMessage // an object, or nil
	ConfirmWait json.RawMessage // value of MetaConfirmWait, or nil
	Sessionless bool            // it belongs to the era without sessions
}

// Direct reports whether calls of the tool can be direct: it is enabled, and its arguments do not occur in request headers, which the SDK compares.
func (s *Server) Direct(name string) bool { return s.plain[name] }

// CallDirect runs a call without the SDK and returns the result object that the SDK would produce. It reports false if the SDK must handle the call:
// the caller does not have the tool. An error is a *jsonrpc.Error.
func (s *Server) CallDirect(ctx context.Context, d *Direct) (result json.RawMessage, done bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.opts.Log.Error("a call panicked", "tool", d.Tool, "panic", p, "stack", string(debug.Stack()))
			result, done, err = nil, true, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "tools/call failed with an internal error; see the server log"}
		}
	}()
	spec, known := s.tools[d.Tool]
	if !known || !d.Caller.Serves(spec) {
		return nil, false, nil
	}
	r := s.newRequest(ctx, nil, spec, d.Caller, stdio.Call{ID: d.ID, Arguments: d.Arguments, Ending: d.Ending})
	r.over = d.Over
	if d.Wait != 0 {
		r.wait = d.Wait
	}
	out, err := s.carryOut(ctx, r, d.ConfirmWait)
	if err != nil {
		return nil, true, err
	}
	return s.directResult(out, d.Sessionless)
}

// directResult returns the outcome as the result of a call in either era.
func (s *Server) directResult(out tool.Outcome, sessionless bool) (result json.RawMessage, done bool, err error) {
	doc := present.For(out.Spec.Contract)(out)
	if sessionless {
		result, err = EncodeCompleteResult(doc, s.info)
	} else {
		result, err = EncodeResult(doc)
	}
	if err != nil {
		return nil, true, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the result of " + string(out.Spec.Name) + " cannot be encoded"}
	}
	return result, true, nil
}

// describedSelf returns what the SDK adds to the _meta of every result in the era without sessions.
func (s *Server) describedSelf() json.RawMessage {
	self, err := json.Marshal(map[string]any{mcp.MetaKeyServerInfo: s.implementation()})
	if err != nil { // plain data always marshals
		return nil
	}
	return self
}

// directParams is never sent: everything is in the request's stdio.Call.
type directParams struct{ mcp.ParamsBase }

// addDirect makes the SDK accept stdio.MethodDirect; direct handles it first.
func (s *Server) addDirect() error {
	return mcp.AddReceivingCustomMethod(s.sdk, stdio.MethodDirect,
		func(context.Context, *mcp.ServerSession, *directParams) (*mcp.CallToolResult, error) {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "method not found: " + stdio.MethodDirect}
		})
}

// direct serves a tools/call of the older era that the stdio transport has parsed. It asks the user during the call, as the SDK would in this era;
// but the SDK would fail, instead of denying, if the form returns something unexpected.
func (s *Server) direct(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		wire, known := stdio.CallOf(req.GetExtra())
		if !known || method != stdio.MethodDirect {
			return next(ctx, method, req)
		}
		spec, ok := s.tools[wire.Tool]
		if !ok {
			return nil, s.unknown(wire.Tool)
		}
		session, _ := req.GetSession().(*mcp.ServerSession)
		r := s.newRequest(ctx, session, spec, s.callerOf(nil), wire)
		defer r.progress.Stop()
		r.forms = canBeAsked(session)
		out, err := s.carryOut(ctx, r, wire.Meta)
		if err != nil {
			return nil, err
		}
		return NewResult(present.For(out.Spec.Contract)(out)), nil
	}
}

// carryOut runs a direct call in its turn and makes it wait for the user if only a user can approve it. said is the member of its _meta for the wait,
// if present.
func (s *Server) carryOut(ctx context.Context, r *request, said json.RawMessage) (tool.Outcome, error) {
	if said != nil {
		if err := r.waitAs(said); err != nil {
			return tool.Outcome{}, err
		}
	}
	if r.turn == nil {
		r.turn = s.turnOf(r.call.Session, r.spec, r.call.Args)
		defer r.turn.Release()
	}
	out := s.run(ctx, r)
	if s.waits(r, out) {
		form := s.form(ctx, r, &out) // none over a network
		out = s.await(ctx, r, out, form)
	}
	return out, nil
}

// canBeAsked reports whether the client of a session accepts requests: only the older era has them.
func canBeAsked(session *mcp.ServerSession) bool {
	p := session.InitializeParams()
	return p != nil && p.ProtocolVersion < stdio.FirstModern && SupportsForms(p.Capabilities)
}
