//go:build conformance

//lint:file-ignore SA1019 the suite still asks for what is deprecated in the protocol

package main

import (
	"context"

	"github.com/countersign-dev/countersign/adapters/mcp/mcphttp"
	"github.com/countersign-dev/countersign/adapters/mcp/mcpserver"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// suiteEndpoint serves the suite's fixtures until life ends, to anybody.
func suiteEndpoint(life context.Context) *mcphttp.Endpoint {
	s := mcpserver.New(life, core{}, mcpserver.Options{
		Version: "conformance", Principal: policy.Principal{ID: "suite", Grants: policy.All}, Resources: resources{life}, Completer: nothing{},
	})
	s.Fit(announce, append(append(contents(), questions()...), append(rounds(), changes(s.MCP())...)...)...)
	addBinary(s.MCP())
	addPrompts(s.MCP())
	return mcphttp.NewEndpoint(life, mcphttp.EndpointOptions{Server: s})
}

// announce is what the suite wants to be told that there is.
func announce(c *mcp.ServerCapabilities) {
	c.Logging = &mcp.LoggingCapabilities{}
	c.Tools.ListChanged = true
	c.Prompts = &mcp.PromptCapabilities{ListChanged: true}
}

// fixture returns a tool with a schema, which may be empty for one without arguments.
func fixture(name, about, schema string, h mcp.ToolHandler) mcpserver.Fixture {
	if schema == "" {
		schema = `{"type":"object"}`
	}
	return mcpserver.Fixture{Tool: mcp.Tool{Name: name, Description: about, InputSchema: rawSchema(schema)}, Handler: h}
}

// say returns a result of that text.
func say(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// failed returns a result that says why there is none.
func failed(err error) *mcp.CallToolResult {
	r := say(err.Error())
	r.IsError = true
	return r
}
