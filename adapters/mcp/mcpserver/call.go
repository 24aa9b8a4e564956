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

// request is a tools/call, whichever way it came.
type request struct {
	spec       tool.Spec
	call       tool.Call
	turn       *Ticket
	session    *mcp.ServerSession
	progress   *Reporter
	wait       time.Duration   // how long it waits for the user; less than nothing is not at all
	over       context.Context //nolint:containedctx // of the client's session; nil never ends
	forms      bool            // its client shows forms, and it came over standard input and output
	unanswered bool            // a form was shown already, and nobody has answered it
	ending     <-chan struct{} // closed when the client sends no more, or nobody listens any more
	late       <-chan struct{} // closed when the client has cancelled the call because it took too long
}

// newRequest makes a request of a caller out of what the transport knows. Whoever calls it stops its progress.
func (s *Server) newRequest(ctx context.Context, session *mcp.ServerSession, spec tool.Spec, from Caller, wire stdio.Call) *request {
	r := &request{
		spec: spec, ending: wire.Ending, late: wire.Late, session: session, wait: s.opts.Wait,
		progress: NewReporter(wire.ProgressToken, func(p *mcp.ProgressNotificationParams) {
			_ = session.NotifyProgress(ctx, p) // a client that cannot be told does not stop the call; its answer will meet the same fate
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

// began hears that a program runs. It may do so for an hour, so the call has taken effect as far as others are concerned: whoever comes
// later can look at it, and stop it.
func (r *request) began(p tool.Progress) {
	r.turn.Release()
	r.progress.Report(p)
}

// handler serves one tool for the SDK. A question to the user is a result, and the call comes again with the
// answer; so it works in the era without sessions. In the other the user is asked in between.
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
			// Another transport, or the second round of a call that has waited for the user meanwhile.
			r.turn = s.turnOf(r.call.Session, spec, r.call.Args)
			defer func() { r.turn.Release() }()
		}
		out := s.run(ctx, r)
		if s.waits(r, out) {
			form := s.form(ctx, r, &out)
			if form != nil && !canBeAsked(req.Session) {
				if question := s.question(r, out, form); question != nil {
					r.turn.Release() // nothing waits for the user
					return question, nil
				}
				form = nil
			}
			out = s.await(ctx, r, out, form)
		}
		return ToolResult(out), nil // the transport lets the next call go when it has sent this
	}
}

// received makes a request out of what came through the SDK.
func (s *Server) received(ctx context.Context, req *mcp.CallToolRequest, spec tool.Spec) (*request, error) {
	wire, known := stdio.CallOf(req.Extra)
	if !known {
		wire = stdio.Call{Arguments: req.Params.Arguments, ProgressToken: progressToken(req)}
	}
	q := requestOf(req.Extra)
	if q != nil {
		wire.ID, wire.ProgressToken, wire.Ending = q.ID, q.ProgressToken, q.Ending
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

// run calls the core when it is the call's turn, a slot is free, and its caller does not hold too many. The turn comes first: a slot is held
// only by calls that run, so that those waiting for their turn cannot keep the one before them from its slot.
func (s *Server) run(ctx context.Context, r *request) tool.Outcome {
	err := r.turn.Wait(ctx)
	if err == nil {
		err = s.shares.Take(ctx, r.call.Session)
	}
	if err == nil {
		defer s.shares.Release(r.call.Session)
		err = s.slots.Acquire(ctx, 1)
	}
	if err != nil { // it was cancelled before it began
		return tool.Outcome{CallID: r.call.ID, RequestID: r.call.RequestID, Spec: r.spec, Args: r.call.Args, Err: fault.From(err)}
	}
	defer s.slots.Release(1)
	return s.core.Call(ctx, r.call)
}

// Turn returns the place in the order of a request that has just arrived: of a tool's call in its toolset, of a
// read of resources, prompts and completions in the toolset they are made of, and nil for everything else. It
// is for transports that see the order in which requests arrive.
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

// turnOf returns a place in the order of one client instance's calls. Those of others are in none with it: what keeps them from each other are the
// locks and plans of what they change.
func (s *Server) turnOf(session string, spec tool.Spec, args json.RawMessage) *Ticket {
	return s.turns.Enqueue(queue(session, spec.Toolset), !spec.Reads(args) && !s.opts.Unordered)
}

func queue(session, toolset string) string { return session + "\n" + toolset }

// clientOf returns how the client of a session calls itself.
func clientOf(session *mcp.ServerSession) string {
	if session == nil {
		return ""
	}
	if p := session.InitializeParams(); p != nil && p.ClientInfo != nil {
		return join(p.ClientInfo.Name, p.ClientInfo.Version)
	}
	return ""
}

// clientIn returns how the client calls itself in a request, in the era without sessions. The SDK's own accessor
// encodes and decodes the whole entry for that.
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

// progressToken returns the request's token where the transport does not keep it as it was written.
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
