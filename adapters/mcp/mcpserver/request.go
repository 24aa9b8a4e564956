package mcpserver

import (
	"context"
	"encoding/json"
	"time"

	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Request is what a transport knows of a request but the SDK does not pass on.
type Request struct {
	Caller        Caller
	ID            json.RawMessage          // as the client wrote it; nil for a notification
	ProgressToken json.RawMessage          // as the client wrote it, or nil
	Wait          time.Duration            // as Options.Wait; zero uses that one
	Over          context.Context          //nolint:containedctx // ends with the client's session, and has the request cancelled; nil never does
	Cancelled     context.Context          //nolint:containedctx // ends when the client cancels the request in a way that the SDK does not see; nil never does
	Ending        <-chan struct{}          // closed when the client no longer waits for the answer; nil: never
	Opened        func(*mcp.ServerSession) // called with the session that the request opened; may be nil
}

const requestKey = "countersign/request"

// Info passes the request through the SDK by the only available way: as information about its bearer token.
func (q *Request) Info() *auth.TokenInfo {
	return &auth.TokenInfo{Extra: map[string]any{requestKey: q}}
}

// requestOf returns the Request that a transport passed with Info; nil if there is none.
func requestOf(extra *mcp.RequestExtra) *Request {
	if extra == nil || extra.TokenInfo == nil {
		return nil
	}
	q, _ := extra.TokenInfo.Extra[requestKey].(*Request)
	return q
}

// callerOf returns the identity of a request: the transport's, or the server's only one.
func (s *Server) callerOf(extra *mcp.RequestExtra) Caller {
	if q := requestOf(extra); q != nil {
		return q.Caller
	}
	return Caller{Principal: s.opts.Principal, Session: s.opts.Session, Entry: s.opts.Entry}
}

// narrowed reduces the list of tools to those of the caller, as published to it.
func (s *Server) narrowed(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		result, err := next(ctx, method, req)
		by := s.callerOf(req.GetExtra())
		list, ok := result.(*mcp.ListToolsResult)
		if err != nil || !ok || len(by.Within) == 0 {
			return result, err
		}
		readOnly, left := tool.ReadsOnly(by.Within), make([]*mcp.Tool, 0, len(list.Tools))
		for _, t := range list.Tools {
			spec, known := s.tools[t.Name]
			switch {
			case !known || !by.Serves(spec):
			case readOnly && spec.Reading != nil:
				left = append(left, describe(by.Published(spec)))
			default:
				left = append(left, t)
			}
		}
		list.Tools = left
		return list, nil
	}
}
