// Package mcphttp serves MCP over streamable HTTP: to agent hosts at one URL for both protocol eras (Endpoint), and without sessions to holders of
// the gateway's bearer token (GatewayHandler).
//
// # Endpoint
//
// Endpoint serves revisions 2024-11-05 to 2025-11-25, whose clients open sessions, and 2026-07-28, which has none. Package httpauth has already
// authenticated the client. Well-formed calls go straight to the server and are answered as JSON; everything else goes through the SDK's handler for
// its era, whose errors and streams apply. Only the credential that opened a session may use it.
//
// A client can narrow its tools with headers (Tighten), and set how long its calls wait if only users approve: X-MCP-Confirm-Wait for a whole
// request, countersign/confirm_wait_ms in a call's _meta for that call; 0 answers it at once, with the ID of the pending approval.
//
//   - endpoint.go: EndpointOptions, Endpoint and NewEndpoint; sessionful.go and stateless.go: the era with sessions and the one without
//   - call.go: parses a tools/call and decides whether it may bypass the SDK
//   - sessions.go, session.go: the table of sessions (SessionTable): their maximum number, owner and last use, and which of their
//     calls can be cancelled
//   - restrict.go: the headers that narrow toolsets, tools and mode
//   - reply.go: answers as JSON-RPC, because MCP clients expect it; plain HTTP errors become JSON-RPC errors
//
// # Gateway
//
// gateway.go has GatewayHandler and ServeGateway: MCP at /mcp and the health check at /health (opencode contract §10). Every request must be
// addressed to this machine under a name that no web page can take over, and must not come from a page of another origin. The health check needs no
// token.
//
// Its API may change at any time.
package mcphttp
