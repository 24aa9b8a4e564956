//go:build conformance

package mcpserver

import "github.com/modelcontextprotocol/go-sdk/mcp"

// Fixture is a tool that only the official conformance suite calls. It bypasses the call pipeline, so no release has one.
type Fixture struct {
	Tool    mcp.Tool
	Handler mcp.ToolHandler
}

// Fit adds fixtures to the server before it serves requests, and announces their capabilities.
func (s *Server) Fit(announce func(*mcp.ServerCapabilities), all ...Fixture) {
	announce(s.caps)
	s.fixtures = map[string]bool{}
	for _, f := range all {
		s.fixtures[f.Tool.Name] = true
		s.sdk.AddTool(&f.Tool, f.Handler)
	}
}
