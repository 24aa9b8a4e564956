// Package httpapi is the JSON API below /api/v1: every tool under its name, pending approvals, call records, the audit log, the settings, and an
// event stream.
//
// API serves the routes; New makes it from Options. Package httpauth has already authenticated the client. A tool answers in the JSON of its contract
// (package present). Approval requests are decided here only from the user's browser; programs cannot approve (ErrPerson). Call records have the form
// of the packageflow contract, ToolExecutionState; events follow packageflow-security contract §5.4.
//
//   - httpapi.go: Prefix, Options, API; route.go: the table of routes; pathmatch.go: patterns with {name}
//   - call.go: calling a tool, and its headers; catalogue.go: tools and toolsets, with the verdict of policy for this caller
//   - confirmation.go, grants.go: approval requests and session grants; records.go: call records and the audit log; settings.go: settings, and
//     the effective policy with the layer that decided each part. A change that only narrows is stored at once; one that widens is
//     stored once the user has approved it and the request is repeated
//   - eventstream.go: the Hub of package events as server-sent events. Package httpauth ends a stream whose client does not read, or whose
//     credential expired
//   - exchange.go: one request and its answer (Exchange): bodies read within limits, answers written one way, errors in one form (Refusal)
//   - openapi.go, openapi_route.go, schema.go, openapi_document.go: the OpenAPI 3.1 document, generated from the registry of tools and the other
//     routes. It contains nothing about a tool that its registry entry does not. The same tools give the same bytes
//   - metrics.go, metricfamily.go: metrics in the text format of Prometheus (Metrics): calls by tool and status, their duration, requests by
//     route and status, pending approvals, and the process itself. Labels are names of existing tools and routes and codes of the
//     catalogue, never client input. There is no state outside a Metrics
package httpapi
