package mcpserver

import (
	"time"

	"github.com/countersign-dev/countersign/adapters/mcp/mcpserver/asking"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// question is the result that asks a person, when the outcome wants one and the client can show a form; else
// nil, and the outcome itself says what to do.
func (s *Server) question(req *mcp.CallToolRequest, call tool.Call, out tool.Outcome) *mcp.CallToolResult {
	if !wantsAnswer(out) || !asking.Possible(req.ClientCapabilities()) {
		return nil
	}
	sealed, err := s.seal.Close(asking.State{
		Confirmation: out.Issued.ID, Call: out.CallID, Subject: asking.Subject(call), Expires: out.Issued.ExpiresAt, Lasting: out.Issued.Lasting(),
	})
	if err != nil {
		s.opts.Log.Error("a confirmation cannot be sealed", "error", err)
		return nil
	}
	return &mcp.CallToolResult{
		InputRequests: mcp.InputRequestMap{asking.Key: asking.Form(out.Issued)},
		RequestState:  sealed,
	}
}

// wantsAnswer reports whether a person's answer would let the call pass. (A preview that offers a token for
// another tool has succeeded.)
func wantsAnswer(out tool.Outcome) bool { return out.Issued != nil && out.Err != nil }

// answered puts a person's answer into a call that comes back with one. Whatever is not an approval denies.
// A state without an answer is a new call, which asks again.
func (s *Server) answered(req *mcp.CallToolRequest, call *tool.Call) error {
	answer, given := req.Params.InputResponses[asking.Key]
	if !given {
		return nil
	}
	st, err := s.seal.Open(req.Params.RequestState, *call, time.Now())
	if err != nil {
		return invalid("requestState is not this call's, or has expired; call again without inputResponses and requestState")
	}
	result, _ := answer.(*mcp.ElicitResult)
	call.ID, call.Answer = st.Call, asking.Answer(st.Confirmation, st.Lasting, result)
	return nil
}
