package mcphttp

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/adapters/mcp/mcpserver"
)

// MaxGatewayBody is the maximum size of a request body, in bytes.
const MaxGatewayBody = 4 << 20

// GatewayOptions configures a GatewayHandler.
type GatewayOptions struct {
	Token string // that lets in to all servers; if empty, every request is refused
	// Within returns who the caller with another token is. It may be nil, and must compare in constant time.
	Within func(token string) (caller mcpserver.Caller, known bool)
	Hosts  []string                     // accepted Host headers besides this machine's own names: "example.org", no port
	Health func() (servers, active int) // data of the health check; nil for none
	Log    *slog.Logger
}

// GatewayHandler serves server at /mcp and the health check at /health (opencode contract §10). Every request must be addressed to this machine under
// a name that no web page can take over, and must not come from a page of another origin.
func GatewayHandler(server *mcp.Server, o GatewayOptions) http.Handler {
	inner := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{
		Stateless: true, Logger: o.Log, MaxRequestBodyBytes: MaxGatewayBody, PropagateRequestCancellation: true,
	})
	mux := http.NewServeMux()
	mux.Handle("/mcp", bearer(o, inner))
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { health(w, o) })
	names := make([]httpauth.Host, len(o.Hosts))
	for i, name := range o.Hosts {
		names[i] = httpauth.Host{Name: name}
	}
	return httpauth.NewGuard(httpauth.Options{Hosts: names, Log: o.Log}).Middleware(mux)
}

// health writes the answer of the contract, with its fields in order.
func health(w http.ResponseWriter, o GatewayOptions) {
	doc := struct {
		Status  string `json:"status"`
		Servers int    `json:"servers"`
		Active  int    `json:"active"`
	}{Status: "ok"}
	if o.Health != nil {
		doc.Servers, doc.Active = o.Health()
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(doc) // the client may be gone
}

// bearer passes requests that have a token to next. It compares in constant time.
func bearer(o GatewayOptions, next http.Handler) http.Handler {
	want := sha256.Sum256([]byte(o.Token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		given = strings.TrimSpace(given)
		have := sha256.Sum256([]byte(given))
		if whole := subtle.ConstantTimeCompare(have[:], want[:]) == 1; !whole || !strings.EqualFold(scheme, "Bearer") || o.Token == "" {
			if o.Token != "" && o.Within != nil && given != "" && strings.EqualFold(scheme, "Bearer") {
				if caller, known := o.Within(given); known {
					as(caller, next).ServeHTTP(w, r)
					return
				}
			}
			w.Header().Set("WWW-Authenticate", `Bearer realm="countersign"`)
			http.Error(w, "a bearer token is required; list the tokens with countersign sandbox gateway access", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// as has next serve requests of that caller.
func as(caller mcpserver.Caller, next http.Handler) http.Handler {
	known := func(context.Context, string, *http.Request) (*auth.TokenInfo, error) {
		return (&mcpserver.Request{Caller: caller}).Info(), nil
	}
	return auth.RequireBearerToken(known, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(next)
}

// ServeGateway serves h on l, which it closes, until ctx ends; requests in progress then have a few seconds. That end is not an error.
func ServeGateway(ctx context.Context, l net.Listener, h http.Handler) error {
	return httpauth.Serve(ctx, l, h, httpauth.ListenOptions{WriteTime: -1}) // streams are long, and no handler of h limits their time
}
