package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/countersign-dev/countersign/adapters/mcp/mcpserver/progress"
	"github.com/countersign-dev/countersign/adapters/mcp/mcpserver/turns"
	"github.com/countersign-dev/countersign/adapters/mcp/stdio"
	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// request is a tools/call, whichever way it came.
type request struct {
	spec     tool.Spec
	call     tool.Call
	turn     *turns.Ticket
	session  *mcp.ServerSession
	progress *progress.Reporter
	ending   <-chan struct{} // closed when the client sends no more
}

// newRequest makes a request out of what the transport knows. The caller stops its progress.
func (s *Server) newRequest(ctx context.Context, session *mcp.ServerSession, spec tool.Spec, wire stdio.Call) *request {
	r := &request{
		spec: spec, ending: wire.Ending, session: session,
		progress: progress.New(wire.ProgressToken, func(p *mcp.ProgressNotificationParams) {
			_ = session.NotifyProgress(ctx, p) // a client that cannot be told does not stop the call; its answer will meet the same fate
		}),
		call: tool.Call{
			RequestID: wire.ID, Session: s.opts.Session, Client: clientOf(session), Principal: s.opts.Principal,
			Tool: spec.Name, Args: wire.Arguments,
		},
	}
	r.turn, _ = wire.Turn.(*turns.Ticket)
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

// handler serves one tool for the SDK. A question to a person is a result, and the call comes again with the
// answer; so it works in both eras and on every transport.
func (s *Server) handler(spec tool.Spec) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		wire, known := stdio.CallOf(req.Extra)
		if !known {
			wire = stdio.Call{Arguments: req.Params.Arguments, ProgressToken: progressToken(req)}
		}
		if args := bytes.TrimSpace(wire.Arguments); len(args) > 0 && args[0] != '{' {
			return nil, invalid("params.arguments of %q must be an object", req.Params.Name)
		}
		r := s.newRequest(ctx, req.Session, spec, wire)
		defer r.progress.Stop()
		if client := clientIn(req); client != "" {
			r.call.Client = client
		}
		if err := s.answered(req, &r.call); err != nil {
			return nil, err
		}
		if r.turn == nil || r.turn.Released() {
			// Another transport, or the second round of a call that has waited for a person meanwhile.
			r.turn = s.turnOf(spec, r.call.Args)
			defer r.turn.Release()
		}
		out := s.run(ctx, r)
		if question := s.question(req, r.call, out); question != nil {
			r.turn.Release() // nothing waits for a person
			return question, nil
		}
		if s.waits(out) {
			out = s.await(ctx, r, out)
		}
		return result(out), nil // the transport lets the next call go when it has sent this
	}
}

// run calls the door when it is the call's turn and a slot is free. The turn comes first: a slot is held
// only by calls that run, so that those waiting for their turn cannot keep the one before them from its slot.
func (s *Server) run(ctx context.Context, r *request) tool.Outcome {
	err := r.turn.Wait(ctx)
	if err == nil {
		err = s.slots.Acquire(ctx, 1)
	}
	if err != nil { // it was cancelled before it began
		return tool.Outcome{CallID: r.call.ID, RequestID: r.call.RequestID, Spec: r.spec, Args: r.call.Args, Err: fault.From(err)}
	}
	defer s.slots.Release(1)
	return s.door.Call(ctx, r.call)
}

// Turn is the place in the order of a request that has just arrived: of a tool's call in its toolset, of a
// read of resources, prompts and completions in the toolset they are made of, and nil for everything else. It
// is for transports that see the order in which requests arrive.
func (s *Server) Turn(method, name string, args json.RawMessage) stdio.Turn {
	if spec, ok := s.tools[name]; ok {
		return s.turnOf(spec, args)
	}
	switch method {
	case "resources/list", "resources/read", "prompts/get", "completion/complete":
		return s.turns.Take(s.opts.Source, false)
	}
	return nil
}

func (s *Server) turnOf(spec tool.Spec, args json.RawMessage) *turns.Ticket {
	return s.turns.Take(spec.Toolset, !spec.Reads(args) && !s.opts.Unordered)
}

// result is an outcome in the tool's contract.
func result(out tool.Outcome) *mcp.CallToolResult {
	doc := present.For(out.Spec.Contract)(out)
	r := &mcp.CallToolResult{Meta: metaOf(doc.Meta), Content: []mcp.Content{&mcp.TextContent{Text: doc.Text}}, IsError: doc.Fail}
	if len(doc.Object) > 0 {
		r.StructuredContent = doc.Object
	}
	return r
}

// metaOf is what a contract says beside its results and tools, in the form that the SDK adds its own to; nil stays nil.
func metaOf(doc json.RawMessage) mcp.Meta {
	if len(doc) == 0 {
		return nil
	}
	var meta mcp.Meta
	_ = json.Unmarshal(doc, &meta) // a presenter writes objects
	return meta
}

// clientOf is how the client of a session calls itself.
func clientOf(session *mcp.ServerSession) string {
	if session == nil {
		return ""
	}
	if p := session.InitializeParams(); p != nil && p.ClientInfo != nil {
		return join(p.ClientInfo.Name, p.ClientInfo.Version)
	}
	return ""
}

// clientIn is how the client calls itself in a request, in the era without sessions. The SDK's own accessor
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

// progressToken is the request's token where the transport does not keep it as it was written.
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
