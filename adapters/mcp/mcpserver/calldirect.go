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

// Direct is a tools/call that a transport has read by itself and found well-formed: without a progress token, and no second round.
type Direct struct {
	*Request
	Tool        string
	Arguments   json.RawMessage // an object, or nil
	ConfirmWait json.RawMessage // what MetaConfirmWait says, or nil
	Sessionless bool            // it is of the era without sessions
}

// Direct reports whether calls of the tool can be direct: it is served, and its arguments have no place among a request's headers, which the SDK
// compares.
func (s *Server) Direct(name string) bool { return s.plain[name] }

// CallDirect carries a call out without the SDK and returns the object of its result, as the SDK would have it. It reports false when the SDK has to
// go on with it: the caller is not served the tool. An error is a *jsonrpc.Error.
//
// (The SDK decodes a request over HTTP six times and more, with 32 KiB of garbage each time.)
func (s *Server) CallDirect(ctx context.Context, d *Direct) (result json.RawMessage, done bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.opts.Log.Error("a call panicked", "tool", d.Tool, "panic", p, "stack", string(debug.Stack()))
			result, done, err = nil, true, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "tools/call failed in an unforeseen way; the server's log has more"}
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
	if d.ConfirmWait != nil {
		if err := r.waitAs(d.ConfirmWait); err != nil {
			return nil, true, err
		}
	}
	r.turn = s.turnOf(r.call.Session, spec, r.call.Args)
	defer func() { r.turn.Release() }()
	out := s.run(ctx, r)
	if s.waits(r, out) {
		out = s.await(ctx, r, out, nil) // no form counts over a network
	}
	return s.directResult(out, d.Sessionless)
}

// directResult is the outcome as the result of a call in either era.
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

// describedSelf is what the SDK adds to the _meta of every result in the era without sessions.
func (s *Server) describedSelf() json.RawMessage {
	self, err := json.Marshal(map[string]any{mcp.MetaKeyServerInfo: s.implementation()})
	if err != nil { // plain data always marshals
		return nil
	}
	return self
}
