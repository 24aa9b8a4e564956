package mcpserver

import (
	"context"

	"github.com/countersign-dev/countersign/adapters/mcp/stdio"
	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/domain/tool"
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
		r := s.newRequest(ctx, session, spec, wire)
		defer r.progress.Stop()
		if r.turn == nil {
			r.turn = s.turnOf(spec, r.call.Args)
			defer r.turn.Release()
		}
		out := s.run(ctx, r)
		switch {
		case wantsAnswer(out) && canBeAsked(session):
			out = s.ask(ctx, r, out)
		case s.waits(out):
			out = s.await(ctx, r, out)
		}
		return answerWith(present.For(out.Spec.Contract)(out)), nil
	}
}

// answer is a result that is encoded in one pass. The SDK's own is encoded and checked four times, from the inside out.
type answer struct {
	mcp.ResultBase
	doc present.Document
}

func answerWith(doc present.Document) *answer {
	a := &answer{doc: doc}
	a.SetMeta(metaOf(doc.Meta))
	return a
}

// MarshalJSON is what that of the result with the same text, object and flag is, but for a false flag.
func (a *answer) MarshalJSON() ([]byte, error) {
	text, err := tool.Encode(a.doc.Text)
	if err != nil {
		return nil, err
	}
	body := make([]byte, 0, len(text)+len(a.doc.Object)+96)
	body = append(body, '{')
	if len(a.Meta) > 0 {
		meta, err := tool.Encode(a.Meta)
		if err != nil {
			return nil, err
		}
		body = append(append(append(body, `"_meta":`...), meta...), ',')
	}
	body = append(append(append(body, `"content":[{"type":"text","text":`...), text...), "}]"...)
	if len(a.doc.Object) > 0 {
		body = append(append(body, `,"structuredContent":`...), a.doc.Object...)
	}
	switch {
	case a.doc.Fail:
		body = append(body, `,"isError":true`...)
	case len(a.doc.Object) > 0: // contracts with an object state the flag always (agentpack contract §7.3)
		body = append(body, `,"isError":false`...)
	}
	return append(body, '}'), nil
}

// canBeAsked reports whether the client of a session takes questions: only the older era knows those.
func canBeAsked(session *mcp.ServerSession) bool {
	p := session.InitializeParams()
	return p != nil && p.ProtocolVersion < firstModern && canElicit(p.Capabilities)
}

const firstModern = "2026-07-28"

// ask puts the question of an outcome to a person and calls again with the answer. No answer denies.
func (s *Server) ask(ctx context.Context, r *request, out tool.Outcome) tool.Outcome {
	r.turn.Release() // nothing waits for a person
	form, err := r.session.Elicit(ctx, form(out.Issued))
	if err != nil {
		s.opts.Log.Debug("a form was not answered as it asks", "tool", r.call.Tool, "error", err)
		form, ctx = nil, context.WithoutCancel(ctx) // a call that was cancelled still denies
	}
	r.call.ID, r.call.Answer = out.CallID, answerOf(out.Issued.ID, out.Issued.Lasting(), form)
	return s.again(ctx, r)
}

// again is the next round of a call that a person was asked about: it has gone to the end of the line.
func (s *Server) again(ctx context.Context, r *request) tool.Outcome {
	r.turn = s.turnOf(r.spec, r.call.Args)
	defer r.turn.Release()
	return s.run(ctx, r)
}
