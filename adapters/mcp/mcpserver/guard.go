package mcpserver

import (
	"context"
	"runtime/debug"
	"strings"

	"github.com/countersign-dev/countersign/adapters/mcp/stdio"
	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// guard wraps every method. In the SDK a panic ends the process, and the end of the server does not cancel calls in flight.
func (s *Server) guard(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (result mcp.Result, err error) {
		defer func() {
			if p := recover(); p != nil {
				s.opts.Log.Error("a method panicked", "method", method, "panic", p, "stack", string(debug.Stack()))
				result, err = nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: method + " failed with an internal error; see the server log"}
			}
		}()
		if s.lacks(method) {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "method not found: " + method + " is not supported here"}
		}
		switch method {
		case "initialize", "ping", stdio.MethodDirect: // need no list
		default:
			s.enlistTools()
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(s.life, cancel)()
		q := requestOf(req.GetExtra())
		if q != nil && q.Over != nil {
			defer context.AfterFunc(q.Over, cancel)()
		}
		if q != nil && q.Cancelled != nil {
			defer context.AfterFunc(q.Cancelled, cancel)()
		}
		if err := inOrder(ctx, req); err != nil {
			return nil, err
		}
		if err := s.unserved(req); err != nil {
			return nil, err
		}
		settle(req)
		result, err = next(ctx, method, req)
		if session, ok := req.GetSession().(*mcp.ServerSession); ok && err == nil && method == "initialize" && q != nil && q.Opened != nil {
			q.Opened(session)
		}
		return result, err
	}
}

// settle makes a handshake ask for an existing revision that has one. The SDK answers with the newest in that case, but checks the requested revision
// when it decides whether the client can be asked something.
func settle(req mcp.Request) {
	if p, ok := req.GetParams().(*mcp.InitializeParams); ok && p != nil {
		p.ProtocolVersion = stdio.LegacyVersion(p.ProtocolVersion)
	}
}

// unknown rejects a tool that is not enabled; the error names the enabled tool that replaced it, or how to enable it.
func (s *Server) unknown(name string) error {
	if now, note := present.Renamed(name); note != "" {
		if _, served := s.tools[string(now)]; served {
			return invalid("unknown tool %q: %s", name, note)
		}
	}
	if _, served := s.tools[name]; !served && s.opts.Unserved != nil {
		if note := s.opts.Unserved(name); note != "" {
			return invalid("unknown tool %q: %s", name, note)
		}
	}
	return invalid("unknown tool %q", name)
}

// unserved rejects a call that the SDK would reject; the SDK does not know old names and callers.
func (s *Server) unserved(req mcp.Request) error {
	call, ok := req.(*mcp.CallToolRequest)
	if !ok || call.Params == nil || s.fixtures[call.Params.Name] {
		return s.offers.Subscribable(req)
	}
	if spec, known := s.tools[call.Params.Name]; !known || !s.callerOf(call.Extra).Serves(spec) {
		return s.unknown(call.Params.Name)
	}
	return nil
}

// inOrder waits for the turn of a request that is not a tool call; tool calls wait where they run.
func inOrder(ctx context.Context, req mcp.Request) error {
	call, ok := stdio.CallOf(req.GetExtra())
	if !ok || call.Tool != "" || call.Turn == nil {
		return nil
	}
	return call.Turn.Wait(ctx)
}

// lacks reports whether a method belongs to a capability that is not announced. The SDK would return empty lists.
func (s *Server) lacks(method string) bool {
	area, _, _ := strings.Cut(method, "/")
	switch area {
	case "resources":
		return s.caps.Resources == nil
	case "prompts":
		return s.caps.Prompts == nil
	case "completion":
		return s.caps.Completions == nil
	case "logging":
		return s.fixtures == nil // only the conformance suite uses what the SDK calls deprecated
	}
	return false
}
