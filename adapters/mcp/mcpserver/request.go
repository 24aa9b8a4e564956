package mcpserver

import (
	"context"
	"encoding/json"
	"time"

	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Request is what a transport knows of one request and the SDK would not hand on.
type Request struct {
	Caller        Caller
	ID            json.RawMessage          // as the client wrote it; nil for a notification
	ProgressToken json.RawMessage          // as the client wrote it, or nil
	Wait          time.Duration            // as Options.Wait, which zero is
	Over          context.Context          //nolint:containedctx // ends with the client's session, and has the request cancelled; nil never does
	Cancelled     context.Context          //nolint:containedctx // ends when the client cancels the request in a way that the SDK does not see; nil never does
	Ending        <-chan struct{}          // closed when nobody listens for the answer any more; nil never is
	Opened        func(*mcp.ServerSession) // told of the session that the request has opened; may be nil
}

const requestKey = "countersign/request"

// Info carries the request through the SDK, on the only way that one leaves open: as what is known of its bearer.
func (q *Request) Info() *auth.TokenInfo {
	return &auth.TokenInfo{Extra: map[string]any{requestKey: q}}
}

// requestOf returns what a transport said with Info; nil when it said nothing.
func requestOf(extra *mcp.RequestExtra) *Request {
	if extra == nil || extra.TokenInfo == nil {
		return nil
	}
	q, _ := extra.TokenInfo.Extra[requestKey].(*Request)
	return q
}

// callerOf is on whose behalf a request is made: whom its transport names, or the only one there is.
func (s *Server) callerOf(extra *mcp.RequestExtra) Caller {
	if q := requestOf(extra); q != nil {
		return q.Caller
	}
	return Caller{Principal: s.opts.Principal, Session: s.opts.Session, Entry: s.opts.Entry}
}

// narrowed leaves of the list of tools what the caller is served, each as it is published to that caller.
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
