package mcpserver

import (
	"context"

	"github.com/countersign-dev/countersign/adapters/mcp/stdio"
	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// directParams are never sent: everything is in the request's stdio.Call.
type directParams struct{ mcp.ParamsBase }

// addDirect lets the SDK take stdio.MethodDirect. What it does with it, direct does before.
func (s *Server) addDirect() error {
	return mcp.AddReceivingCustomMethod(s.sdk, stdio.MethodDirect,
		func(context.Context, *mcp.ServerSession, *directParams) (*mcp.CallToolResult, error) {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "method not found: " + stdio.MethodDirect}
		})
}

// direct serves a tools/call of the older era that the stdio transport has read already. A question to a
// person is asked in between: the SDK would do just that for this era, but give up, instead of denying, when
// the form comes back otherwise than it asks.
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
		if wire.Meta != nil {
			if err := r.waitAs(wire.Meta); err != nil {
				return nil, err
			}
		}
		if r.turn == nil {
			r.turn = s.turnOf(r.call.Session, spec, r.call.Args)
			defer r.turn.Release()
		}
		out := s.run(ctx, r)
		if s.waits(r, out) {
			out = s.await(ctx, r, out, s.form(ctx, r, &out))
		}
		return NewResult(present.For(out.Spec.Contract)(out)), nil
	}
}

// canBeAsked reports whether the client of a session takes questions: only the older era knows those.
func canBeAsked(session *mcp.ServerSession) bool {
	p := session.InitializeParams()
	return p != nil && p.ProtocolVersion < stdio.FirstModern && SupportsForms(p.Capabilities)
}
