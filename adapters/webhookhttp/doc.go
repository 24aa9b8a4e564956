// Package webhookhttp makes outgoing webhook requests, and lets signed requests from outside start workflows.
//
// # Outgoing
//
// NewClient (client.go, attempt.go, errors.go) returns a projectport.Webhooks. It sends over HTTP and HTTPS to addresses that were vetted
// first: it resolves a host's name once, judges every address, connects to one of those and to nothing else, follows no redirect, asks no
// proxy, keeps no cookie, and always verifies certificates. Rules and requests come from domain/project/webhook. Errors are in its own
// words, because the standard library's name addresses and repeat URLs.
//
// # Incoming
//
// NewServer (server.go, memory.go, serve.go) returns a handler of POST /webhook/{workflow} on the loopback interface, with a token, and with a signature
// where one is required (packageflow contract §1.9, packageflow-security contract §4.7). Workflows and tokens are asked for through the
// functions in ServerOptions. There is one server for all workflows, because it remembers recent requests and signatures: a signature
// starts one workflow only. Limits bound what a sender can occupy.
//
// Its API may change at any time.
package webhookhttp
