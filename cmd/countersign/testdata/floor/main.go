// Command floor is the yardstick of the benchmarks: the MCP SDK's own server and transport with one trivial raw tool, and nothing else.
// FLOOR_GOGC is its garbage collection target; without it, Go's default holds.
package main

import (
	"context"
	"encoding/json"
	"log"
	"os"
	"runtime/debug"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	if percent, err := strconv.Atoi(os.Getenv("FLOOR_GOGC")); err == nil {
		debug.SetGCPercent(percent)
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "floor", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "trivial", Description: "Says ok.", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "ok"}}}, nil
		})
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		log.Fatal(err)
	}
}
