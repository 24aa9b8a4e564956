package mcpserver

import (
	"context"
	"fmt"
	"time"

	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// form returns the form in which the client asks the user about the outcome, if a form counts: over standard input and output, if the user enabled
// forms for this host entry, for low risk, and if the form can show everything. The client's own name is not evidence. If forms are enabled but none
// is offered, the outcome says why.
func (s *Server) form(ctx context.Context, r *request, out *tool.Outcome) *mcp.ElicitParams {
	if !r.forms || r.unanswered || r.call.Entry == "" {
		return nil
	}
	if on, err := s.opts.People.FormsOn(ctx, r.call.Entry); err != nil || !on {
		return nil
	}
	form, why := ApprovalForm(out.Request)
	if f := fault.From(out.Err); form == nil {
		out.Err = f.WithMessage("%s (%s)", f.Message, why)
	}
	return form
}

// question returns the result that asks the user, for the era in which a request is a result and the call returns with the answer.
func (s *Server) question(r *request, out tool.Outcome, form *mcp.ElicitParams) *mcp.CallToolResult {
	sealed, err := s.seal.Close(CallState{Confirmation: out.Request.ID, Call: out.CallID, Subject: CallSubject(r.call), Expires: out.Request.ExpiresAt,
		Lasting: out.Request.AllowsSessionGrant(), Entry: r.call.Entry, Offered: true})
	if err != nil {
		s.opts.Log.Error("an approval request cannot be sealed", "error", err)
		return nil
	}
	return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{QuestionKey: form}, RequestState: sealed}
}

// answered puts the user's answer into a call that returns with one. An unanswered form leaves the request open, and the call waits for a decision
// elsewhere. A state without an answer is a new call, which asks again; an answer without an offered form is rejected.
func (s *Server) answered(req *mcp.CallToolRequest, r *request) error {
	answer, given := req.Params.InputResponses[QuestionKey]
	if !given {
		return nil
	}
	if !r.forms {
		return invalid("this call has no open form; call again without inputResponses and requestState")
	}
	st, err := s.seal.Open(req.Params.RequestState, r.call, time.Now())
	if err != nil {
		return invalid("requestState belongs to another call or has expired; call again without inputResponses and requestState")
	}
	result, _ := answer.(*mcp.ElicitResult)
	r.call.ID, r.call.Decision = st.Call, ParseAnswer(st.Confirmation, st.Entry, st.Lasting, result)
	r.unanswered = r.call.Decision == nil
	return nil
}

// wantsAnswer reports whether the user's approval would let the call run. (A preview that offers a token for another tool has succeeded.)
func wantsAnswer(out tool.Outcome) bool {
	return out.Request != nil && out.Err != nil && out.Request.Pending
}

// show opens the form at the client, in the era that supports requests during a call, and returns the user's answer; nil if the form was not
// answered. stop closes it once the request was decided elsewhere.
func (s *Server) show(ctx context.Context, r *request, i *tool.ApprovalRequest, form *mcp.ElicitParams) (said <-chan *confirm.Decision, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	answers, over := make(chan *confirm.Decision, 1), make(chan struct{})
	go func() {
		defer close(over)
		filled, err := s.elicit(ctx, r, form)
		if err != nil {
			s.opts.Log.Debug("a form response is invalid", "tool", r.call.Tool, "error", err)
			filled = nil
		}
		answers <- ParseAnswer(i.ID, r.call.Entry, i.AllowsSessionGrant(), filled)
	}()
	return answers, func() {
		cancel()
		<-over
	}
}

// elicit calls the SDK's method and turns a panic into an error.
func (s *Server) elicit(ctx context.Context, r *request, form *mcp.ElicitParams) (filled *mcp.ElicitResult, err error) {
	defer func() {
		if p := recover(); p != nil {
			filled, err = nil, fmt.Errorf("panic: %v", p)
		}
	}()
	return r.session.Elicit(ctx, form)
}
