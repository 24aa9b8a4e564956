package mcpserver

import (
	"context"
	"maps"

	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Forecaster returns the verdict of policy for a call before it is made.
type Forecaster interface {
	Evaluate(ctx context.Context, c tool.Call) policy.Result
}

// permissions adds the current verdict to tools/list, for tools whose contract lists more than a description: allow, confirm or deny. No tool is
// hidden, because models invent ways around missing tools (packageflow contract §3.3).
func (s *Server) permissions(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		result, err := next(ctx, method, req)
		list, ok := result.(*mcp.ListToolsResult)
		if err != nil || !ok || s.opts.Forecaster == nil {
			return result, err
		}
		caller := s.callerOf(req.GetExtra())
		for i, t := range list.Tools {
			if len(t.Meta) == 0 {
				continue
			}
			said := *t // all requests share the SDK's value
			said.Meta = maps.Clone(t.Meta)
			said.Meta["permission"] = permission(s.opts.Forecaster.Evaluate(ctx, caller.Call(tool.Name(t.Name), nil)))
			list.Tools[i] = &said
		}
		return list, nil
	}
}

func permission(d policy.Result) string {
	switch d.Verdict {
	case policy.Allow, policy.DryRun:
		return "allow"
	case policy.Confirm:
		return "confirm"
	}
	return "deny"
}
