package opencode

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/domain/redact"
	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/ports/sandboxport"
)

// The limits of requests (opencode contract §16; the rest is ours).
const (
	messageTimeout = 300 * time.Second // until an agent has answered
	requestTimeout = 30 * time.Second  // of everything else
	maxAnswer      = 8 << 20           // bytes of a server's answer
	maxIdle        = 4                 // connections to one server that are kept open
)

// RouterOptions is where a Router finds servers and their passwords.
type RouterOptions struct {
	Table  string                                                     // path of opencode-mcp-tool-servers.json
	Secret func(ctx context.Context, variable string) (string, error) // the value of a password_env, from the settings file; nil for none
	Log    *slog.Logger
}

// Router is a sandboxport.Router. It is made by New and safe for concurrent use.
type Router struct {
	o      RouterOptions
	client *http.Client
	rules  *redact.Redactor
	mu     sync.Mutex
	seen   stamp
	table  table
}

// NewRouter returns a router. The table is read when somebody asks, and again whenever it has changed.
func NewRouter(o RouterOptions) *Router {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Router{o: o, rules: redact.New(redact.Options{}), client: &http.Client{
		// A proxy would be told the password, and so would whatever a redirection leads to.
		Transport: &http.Transport{
			DialContext: (&net.Dialer{Timeout: requestTimeout}).DialContext, MaxIdleConnsPerHost: maxIdle, IdleConnTimeout: time.Minute,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Table is sandboxport.Router.
func (r *Router) Table(ctx context.Context) (sandboxport.RouteTable, error) {
	if err := ctx.Err(); err != nil {
		return sandboxport.RouteTable{}, err
	}
	t := r.current()
	out := sandboxport.RouteTable{Default: t.standard, Problem: t.problem, Servers: make([]sandboxport.Route, 0, len(t.entries))}
	for _, e := range t.entries {
		out.Servers = append(out.Servers, e.route())
	}
	return out, nil
}

// Counts returns how many servers the table has, and how many of them are active: what the gateway says of its health.
func (r *Router) Counts() (servers, active int) {
	t := r.current()
	for _, e := range t.entries {
		if e.route().Active() {
			active++
		}
	}
	return len(t.entries), active
}

// Resolve is sandboxport.Router.
func (r *Router) Resolve(ctx context.Context, server string) (sandboxport.Route, error) {
	if err := ctx.Err(); err != nil {
		return sandboxport.Route{}, err
	}
	e, err := r.find(server)
	return e.route(), err
}

// find returns the entry that somebody means: an ID comes before a name, and a URL may be spelled in any way.
func (r *Router) find(server string) (entry, error) {
	t := r.current()
	if server == "" {
		if server = t.standard; server == "" {
			return entry{}, sandbox.ErrServer.Sayf("no server was named, and the table has no default one; say which with server, one of: %s", t.names())
		}
	}
	for _, e := range t.entries {
		if e.ID == server {
			return e, nil
		}
	}
	var named []entry
	for _, e := range t.entries {
		if e.ProjectName == server {
			named = append(named, e)
		}
	}
	if len(named) == 0 {
		named = t.spelled(server)
	}
	switch len(named) {
	case 1:
		return named[0], nil
	case 0:
		return entry{}, sandbox.ErrServer.Sayf("the server %.200q is not found in configuration; there are: %s", server, t.names())
	}
	ids := make([]string, len(named))
	for i, e := range named {
		ids[i] = e.ID
	}
	return entry{}, sandbox.ErrServer.Sayf("%d servers are called %.200q; say which by its id: %s", len(named), server, strings.Join(ids, ", "))
}

// spelled returns the entries whose repository is the one of a URL that is not canonical.
func (t table) spelled(server string) (found []entry) {
	url, err := git.ParseURL(server)
	if err != nil {
		return nil
	}
	for _, e := range t.entries {
		if e.ID == url.String() || e.GitURL == url.String() {
			found = append(found, e)
		}
	}
	return found
}
