package mcpserver

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/adapters/mcp/stdio"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// request is a tools/call from any transport.
type request struct {
	spec       tool.Spec
	call       tool.Call
	turn       *Ticket
	session    *mcp.ServerSession
	progress   *Reporter
	wait       time.Duration   // how long it waits for the user; negative is not at all
	over       context.Context //nolint:containedctx // of the client's session; nil never ends
	forms      bool            // its client shows forms, and it arrived over standard input and output
	unanswered bool            // a form was shown but not answered
	ending     <-chan struct{} // closed when the client sends no more or has disconnected
	late       <-chan struct{} // closed when the client cancelled the call because it timed out
}

// newRequest creates a request of a caller from the transport's data. The caller of newRequest must stop its progress.
func (s *Server) newRequest(ctx context.Context, session *mcp.ServerSession, spec tool.Spec, from Caller, wire stdio.Call) *request {
	r := &request{
		spec: spec, ending: wire.Ending, late: wire.Late, session: session, wait: s.opts.Wait,
		progress: NewReporter(wire.ProgressToken, func(p *mcp.ProgressNotificationParams) {
			_ = session.NotifyProgress(ctx, p) // a failed notification does not stop the call; its answer will fail the same way
		}),
		call: from.Call(spec.Name, wire.Arguments),
	}
	r.call.RequestID = wire.ID
	if r.call.Client == "" {
		r.call.Client = clientOf(session)
	}
	r.turn, _ = wire.Turn.(*Ticket)
	if r.progress.Wanted() {
		r.call.Progress = r.progress.Report
	}
	if spec.Effects&policy.Exec != 0 {
		r.call.Progress = r.began
	}
	return r
}

// began handles the report that a program has started. It may run for an hour, so the call counts as having taken effect: later calls can inspect and
// stop it.
func (r *request) began(p tool.Progress) {
	r.turn.Release()
	r.progress.Report(p)
}

// handler serves one tool for the SDK. In the era without sessions an approval request is a result, and the call returns with the answer; in the
// other era the user is asked during the call.
func (s *Server) handler(spec tool.Spec) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if args := bytes.TrimSpace(req.Params.Arguments); len(args) > 0 && args[0] != '{' {
			return nil, invalid("params.arguments of %q must be an object", req.Params.Name)
		}
		r, err := s.received(ctx, req, spec)
		if err != nil {
			return nil, err
		}
		defer r.progress.Stop()
		if r.turn == nil || r.turn.Released() {
			// Another transport, or the second round of a call that waited for the user.
			r.turn = s.turnOf(r.call.Session, spec, r.call.Args)
			defer func() { r.turn.Release() }()
		}
		out := s.run(ctx, r)
		if s.waits(r, out) {
			form := s.form(ctx, r, &out)
			if form != nil && !canBeAsked(req.Session) {
				if question := s.question(r, out, form); question != nil {
					r.turn.Release() // calls do not wait for the user
					return question, nil
				}
				form = nil
			}
			out = s.await(ctx, r, out, form)
		}
		return ToolResult(out), nil // the transport starts the next call after sending this
	}
}

// received creates a request from a call that came through the SDK.
func (s *Server) received(ctx context.Context, req *mcp.CallToolRequest, spec tool.Spec) (*request, error) {
	wire, known := stdio.CallOf(req.Extra)
	if !known {
		wire = stdio.Call{Arguments: req.Params.Arguments, ProgressToken: progressToken(req)}
	}
	q := requestOf(req.Extra)
	if q != nil {
		wire.ID, wire.Ending = q.ID, q.Ending
		if q.ID != nil { // else the transport leaves reading the message to the SDK
			wire.ProgressToken = q.ProgressToken
		}
	}
	r := s.newRequest(ctx, req.Session, spec, s.callerOf(req.Extra), wire)
	if client := clientIn(req); client != "" {
		r.call.Client = client
	}
	if q != nil {
		r.over, r.wait = q.Over, cmp.Or(q.Wait, r.wait)
	}
	r.forms = known && q == nil && SupportsForms(req.ClientCapabilities())
	if asked, ok := req.Params.Meta[MetaConfirmWait]; ok {
		said, _ := json.Marshal(asked) // it was decoded from JSON
		if err := r.waitAs(said); err != nil {
			return nil, err
		}
	}
	return r, s.answered(req, r)
}

// run calls the core once it is the call's turn, a slot is free, and its caller is below its limit. The turn comes first: only running calls hold a
// slot, so that calls waiting for their turn cannot block the one before them.
func (s *Server) run(ctx context.Context, r *request) tool.Outcome {
	err := r.turn.Wait(ctx)
	if err == nil {
		err = s.shares.Take(ctx, r.call.Session)
	}
	if err == nil {
		defer s.shares.Release(r.call.Session)
		err = s.slots.Acquire(ctx, 1)
	}
	if err != nil { // it was cancelled before it started
		return tool.Outcome{CallID: r.call.ID, RequestID: r.call.RequestID, Spec: r.spec, Args: r.call.Args, Err: fault.From(err)}
	}
	defer s.slots.Release(1)
	return s.core.Call(ctx, r.call)
}

// Turn returns the queue position of a request that has just arrived: for a tool call in its toolset, for a read of resources, prompts and
// completions in the toolset behind them, nil for everything else. It is for transports that see the order in which requests arrive.
func (s *Server) Turn(method, name string, args json.RawMessage) stdio.Turn {
	if spec, ok := s.tools[name]; ok {
		return s.turnOf(s.opts.Session, spec, args)
	}
	switch method {
	case "resources/list", "resources/read", "prompts/get", "completion/complete":
		return s.turns.Enqueue(queue(s.opts.Session, s.opts.Source), false)
	}
	return nil
}

// turnOf returns a position in the queue of one client instance's calls. Calls of other instances have other queues: the locks and plans of what they
// change keep them apart.
func (s *Server) turnOf(session string, spec tool.Spec, args json.RawMessage) *Ticket {
	return s.turns.Enqueue(queue(session, spec.Toolset), !spec.Reads(args) && !s.opts.Unordered)
}

func queue(session, toolset string) string { return session + "\n" + toolset }

// clientOf returns the name that the client of a session gave itself.
func clientOf(session *mcp.ServerSession) string {
	if session == nil {
		return ""
	}
	if p := session.InitializeParams(); p != nil && p.ClientInfo != nil {
		return join(p.ClientInfo.Name, p.ClientInfo.Version)
	}
	return ""
}

// clientIn returns the client's name in a request, in the era without sessions. The SDK's own accessor encodes and decodes the whole entry for that.
func clientIn(req *mcp.CallToolRequest) string {
	info, _ := req.Params.Meta[mcp.MetaKeyClientInfo].(map[string]any)
	name, _ := info["name"].(string)
	version, _ := info["version"].(string)
	return join(name, version)
}

func join(name, version string) string { return strings.TrimSpace(name + " " + version) }

func invalid(format string, args ...any) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf(format, args...)}
}

// progressToken returns the request's token if the transport does not keep it as written.
func progressToken(req *mcp.CallToolRequest) json.RawMessage {
	token := req.Params.GetProgressToken()
	if token == nil {
		return nil
	}
	raw, err := json.Marshal(token)
	if err != nil {
		return nil
	}
	return raw
}
