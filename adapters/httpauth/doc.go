// Package httpauth authenticates HTTP requests and limits what clients can use of a server: it checks the Host and Origin of every request, access
// tokens, one-time login links and browser cookies, and passes the request to a Handler with its Visitor, the identity behind it.
//
// A Guard wraps handlers: Around all routes, then Program (access tokens), Person (browsers) or Anyone for each. Options say which credentials and
// host names are accepted.
//
//   - visitor.go: Visitor, Handler, Credentials, the prefixes of secrets and Secret
//   - guard.go: Guard; login.go: the login and logout pages and the browser's cookie; host.go: Host and Origin checks (Host, ParseHost,
//     BaseURL)
//   - limits.go, body.go, writer.go: rates, requests in flight, request bodies read whole within a size and a time, and a time limit on
//     each piece of an answer, so that streams may be long and no client blocks one by not reading
//   - credentialwatch.go: a long request ends soon after its credential stops being valid
//   - refuse.go: headers of every answer, and refusals as a page or as JSON
//   - listen.go: Listen opens a listener, by default on the loopback interface; beyond this machine nothing is served without TLS
//     (Certificate, ErrUnprotected)
//   - serving.go: Serve serves HTTP on a listener within limits that no client can exceed. When its context ends, requests in progress have a
//     few seconds before they are cancelled. If there are too many connections, idle ones are closed
//
// Its API may change at any time.
package httpauth
