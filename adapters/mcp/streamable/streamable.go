// Package streamable serves MCP over streamable HTTP, without sessions, to whoever has the bearer token; and a health check to everybody on this
// machine.
//
// It refuses to know tools, and to serve pages of other origins or under other names than this machine's.
package streamable

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The limits of requests.
const (
	MaxBody       = 4 << 20 // bytes of one
	maxHeaders    = 64 << 10
	headerTimeout = 10 * time.Second
	idleTimeout   = 2 * time.Minute
	closing       = 3 * time.Second // for requests that are under way when serving ends; whoever tells us to end waits five
)

// Options says who is served.
type Options struct {
	Token  string                       // that a request must carry; empty refuses everybody
	Hosts  []string                     // names in the Host header besides this machine's own: "example.org", no port
	Health func() (servers, active int) // what the health check tells; nil for none
	Log    *slog.Logger
}

// Handler serves server at /mcp and the health check at /health (opencode contract §10). Every request must be addressed to this machine, by a name
// that no web page can make its own, and come from no page of another origin.
func Handler(server *mcp.Server, o Options) http.Handler {
	inner := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{
		Stateless: true, Logger: o.Log, MaxRequestBodyBytes: MaxBody, PropagateRequestCancellation: true,
	})
	mux := http.NewServeMux()
	mux.Handle("/mcp", bearer(o.Token, inner))
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { health(w, o) })
	return local(o.Hosts, mux)
}

// health is the answer of the contract, fields in its order.
func health(w http.ResponseWriter, o Options) {
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
	_ = json.NewEncoder(w).Encode(doc) // whoever asked may be gone
}

// bearer lets a request with the token pass. The time it takes tells nothing of how much of a token is right.
func bearer(token string, next http.Handler) http.Handler {
	want := sha256.Sum256([]byte(token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		have := sha256.Sum256([]byte(strings.TrimSpace(given)))
		if subtle.ConstantTimeCompare(have[:], want[:]) != 1 || !strings.EqualFold(scheme, "Bearer") || token == "" {
			w.Header().Set("WWW-Authenticate", `Bearer realm="countersign"`)
			http.Error(w, "this needs the bearer token; MCP_BEARER_TOKEN of the settings file is the one", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// local lets requests pass that are addressed to this machine under one of its names and do not come from another origin's page.
func local(hosts []string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := hostname(r.Host)
		if ip := net.ParseIP(name); (ip == nil || !ip.IsLoopback()) && name != "localhost" && !slices.Contains(hosts, name) {
			http.Error(w, "this is not served under that name", http.StatusForbidden)
			return
		}
		if origins := r.Header.Values("Origin"); len(origins) > 0 {
			origin, err := url.Parse(origins[0])
			if len(origins) > 1 || err != nil || origin.Host == "" || !strings.EqualFold(origin.Host, r.Host) {
				http.Error(w, "this is not served to pages of other origins", http.StatusForbidden)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// hostname is a Host header without its port, in lower case.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"))
}

// Serve serves h on l, which it closes, until ctx ends; requests that are under way then have a few seconds. That end is no error.
func Serve(ctx context.Context, l net.Listener, h http.Handler) error {
	base, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	server := &http.Server{
		Handler: h, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaders,
		BaseContext: func(net.Listener) context.Context { return base },
	}
	over := make(chan error, 1)
	go func() { over <- server.Serve(l) }()
	select {
	case err := <-over:
		return err
	case <-ctx.Done():
	}
	patience, done := context.WithTimeout(base, closing)
	defer done()
	err := server.Shutdown(patience)
	cancel() // those that are left end now
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close()
	}
	if ended := <-over; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	return err
}
