// Package mcpserver serves MCP: it publishes the enabled tools of an *app.App, calls them, and answers with their outcome in the form of
// each tool's contract.
//
// The SDK's server does the protocol, and every transport shares one Server. Contracts and capabilities pass through: schemas go out as
// they are published, results as package present encodes them. Nothing here needs a session, because one of the two protocol eras has none.
// When the context given to New ends, calls in flight are cancelled.
//
// # Calls
//
//   - server.go: Options, Server, New; serve.go: serving stdio, with the time limit on initialize
//   - guard.go: the middleware around every method; a tool that is not enabled is refused by naming the tool that replaced it, or how to
//     enable it
//   - call.go, directcall.go: a tools/call, by way of the SDK or past it, from a transport that has read a well-formed one itself
//     (Direct)
//   - caller.go, request.go: on whose behalf a request is made (Caller), and what the transport knows of it (Request). The zero Caller may
//     do nothing
//   - scheduler.go: the order of calls. Calls take effect as if in the order of their arrival within a queue: reads run together, anything else
//     alone
//   - concurrency.go: how many things one client may run at once (Shares)
//   - progress.go: progress notifications of one call (Reporter): rising, not too often, every message once and in order, and never after
//     the answer
//   - results.go: outcomes encoded as results of tools/call in one pass; the SDK's own results are encoded and checked four times
//
// # Approvals
//
//   - approvalwait.go: a call waits until the user has decided, in the client's form or elsewhere, as long as COUNTERSIGN_CONFIRM_WAIT or the
//     call's _meta says
//   - confirm.go, elicitation.go: an approval request as an elicitation form, and the answer read back. Nothing is decided here: whether a form
//     counts, and whether an approval is good, and good once, is decided in the core
//   - callstate.go: what a call carries through the client while the user decides. It is sealed with a key that lives as long as the process:
//     the client repeats it, but cannot make one, and nobody else can use it
//   - permissions.go: in tools/list, how policy would answer a call now
//
// # Resources and prompts
//
//   - resources.go, resources_serve.go: resources, prompts and completions, served to each caller as far as it is served the tool that makes
//     them. They are read by calling tools on behalf of who asks, so nobody reads here what its own calls would be refused
//   - packresources.go: context packs as countersign://packs/{id}, completions of their ids and names, and the prompt handoff, which passes
//     a pack on. It calls the tools input and output as the client itself could, so policy and contract hold for resources too. Changes are
//     announced for calls through this process; those of other processes are not seen
//   - policyresource.go: the mode policy of ecosystems as the resource amof_policy, by calling the tool of that name
//   - fixtures.go: tools of the official conformance suite. They bypass the call pipeline, so no release has any
package mcpserver
