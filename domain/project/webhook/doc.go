// Package webhook implements the rules of stored actions and of outgoing and incoming webhooks: which request a stored webhook makes from variables
// and a payload, where requests may go, what is kept of a response, and which external requests may start a workflow.
//
//   - Action (action.go) is a program, a webhook or a workflow that may be triggered by name; ActionRule and ResolveLevel decide whether each may run
//     (packageflow contract §1.6, §1.7)
//   - Config (config.go) is a stored webhook; Config.Build (request.go) makes the exact request, with variables filled in (expand.go, url_template.go);
//     Outgoing (outgoing.go) is the webhook of a workflow, called when an execution ends (§1.9); NewResponse (response.go) returns what is kept of a
//     response, and Backoff the wait before a retry
//   - EgressRules (egress_rules.go) say where webhooks may go (packageflow-security contract §4.7): https to public addresses by default, other hosts only
//     if the user listed them, some never. A URL is split before anything is filled in, so that no value can move the boundary between host and
//     path, and hosts must be unambiguous (egress_url.go, idna.go). Addresses are checked before a connection and again with it
//   - Incoming (incoming.go) decides who may start a workflow from outside: token, signature and rate
//
// The package is pure: sockets, name servers, TLS and signatures are elsewhere, and the results of checking an address or a signature are arguments.
//
// Its API may change at any time.
package webhook
