// Package httpauth authenticates HTTP requests and bounds what clients can take of a server: it checks the Host and Origin of every
// request, access tokens, one-time login links and the cookies of browsers, and hands the request to a Handler with its Visitor, the
// credential behind it.
//
// A Guard wraps handlers: Around all routes, then Program (access tokens), Person (browsers) or Anyone for each. Options say which
// credentials and host names are accepted.
//
//   - visitor.go: Visitor, Handler, Credentials, the prefixes of secrets and Secret
//   - guard.go: Guard; login.go: the login and logout pages and the browser's cookie; host.go: Host and Origin checks (Host, ParseHost,
//     BaseURL)
//   - limits.go, body.go, writer.go: rates, requests in flight, request bodies read whole within a size and a time, and a time limit on
//     each piece of an answer, so that streams may last and no client holds one up by not reading
//   - credentialwatch.go: a long request ends soon after its credential stops being valid
//   - refuse.go: headers of every answer, and refusals as a page or as JSON
//   - listen.go: Listen opens a listener, by default on the loopback interface; beyond this machine nothing is served without TLS
//     (Certificate, ErrUnprotected)
//   - serving.go: Serve serves HTTP on a listener within limits that no client can lift. When its context ends, requests under way have a
//     few seconds before they are cancelled. Where there are too many connections, idle ones make room
//
// Its API may change at any time.
package httpauth
