package opencode

import (
	"context"
	"crypto/subtle"
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
	// Listens fails where another program listens at the port of the server with that ID. It is called for each new connection before anything is sent,
	// because a program that takes the port of a server that has ended would be told its password. Nil asks nothing.
	Listens func(ctx context.Context, id string) error
	Log     *slog.Logger
}

// askedKey is the key, in the context of a request, of the ID of the server that it is for.
type askedKey struct{}

// Router is a sandboxport.Router. It is made by New and safe for concurrent use.
type Router struct {
	o      RouterOptions
	client *http.Client
	rules  *redact.Redactor
	mu     sync.Mutex
	seen   stamp
	table  table
}

// NewRouter returns a router. It reads the server table when it is used, and again when the file has changed.
func NewRouter(o RouterOptions) *Router {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Router{o: o, rules: redact.New(redact.Options{}), client: &http.Client{
		// A proxy would be told the password, and so would whatever a redirection leads to.
		Transport: &http.Transport{
			DialContext: o.dial, MaxIdleConnsPerHost: maxIdle, IdleConnTimeout: time.Minute,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// dial connects to the server that a request is for, and to no program that has taken its port.
func (o RouterOptions) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{Timeout: requestTimeout}).DialContext(ctx, network, address)
	if id, _ := ctx.Value(askedKey{}).(string); err == nil && id != "" && o.Listens != nil {
		if err := o.Listens(ctx, id); err != nil {
			_ = conn.Close()
			return nil, err
		}
	}
	return conn, err
}

// Table is sandboxport.Router.
func (r *Router) Table(ctx context.Context, scope string) (sandboxport.RouteTable, error) {
	if err := ctx.Err(); err != nil {
		return sandboxport.RouteTable{}, err
	}
	t := r.current().within(scope)
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
func (r *Router) Resolve(ctx context.Context, q sandboxport.RouteRequest) (sandboxport.Route, error) {
	if err := ctx.Err(); err != nil {
		return sandboxport.Route{}, err
	}
	e, err := r.find(q)
	return e.route(), err
}

// Scope returns the ID of the server that a token derived from the gateway's lets in to, or for that of a project, to the project's servers. It compares in constant time.
func (r *Router) Scope(token, given string) (id string, known bool) {
	for _, e := range r.current().entries {
		own := sandbox.GatewayToken(token, e.ID, e.KeyID)
		if own != "" && subtle.ConstantTimeCompare([]byte(own), []byte(given)) == 1 {
			id, known = e.ID, true
		}
	}
	return id, known
}

// find returns the entry for a request, within its scope. An isolated sandbox has its own server, and the project's server is never used for it.
func (r *Router) find(q sandboxport.RouteRequest) (entry, error) {
	t := r.current().within(q.Scope)
	own := func(e entry) bool { return sandbox.SandboxKey(e.Sandbox) == sandbox.SandboxKey(q.Sandbox) }
	e, err := t.find(q.Server)
	if q.Sandbox == "" || err == nil && e.Sandbox != "" && own(e) {
		return e, err
	}
	if err == nil && e.Sandbox != "" {
		return entry{}, sandbox.ErrServer.WithMessage("the server %s works only in sandbox %s; name its project for another sandbox", e.called(), e.Sandbox)
	}
	url := e.GitURL
	if err != nil { // the project itself may never have had a server
		for _, one := range t.entries {
			if one.Sandbox != "" && own(one) && (one.GitURL == q.Server || one.ProjectName == q.Server+"/"+one.Sandbox) {
				return one, nil
			}
		}
		return entry{}, err
	}
	for _, one := range t.entries {
		if one.Sandbox != "" && own(one) && one.GitURL == url {
			return one, nil
		}
	}
	return e, nil
}

// find returns the entry of a server: an ID takes precedence over a name, and a URL may have any equivalent form.
func (t table) find(server string) (entry, error) {
	if server == "" {
		if server = t.standard; server == "" {
			return entry{}, sandbox.ErrServer.WithMessage("no server was named, and no default is configured; set server to one of: %s", t.names())
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
		return entry{}, sandbox.ErrServer.WithMessage("the server %.200q is not found in configuration; the servers are: %s", server, t.names())
	}
	ids := make([]string, len(named))
	for i, e := range named {
		ids[i] = e.ID
	}
	return entry{}, sandbox.ErrServer.WithMessage("%d servers have the name %.200q; use an id: %s", len(named), server, strings.Join(ids, ", "))
}

// spelled returns the entries whose repository is the one of a URL that is not canonical.
func (t table) spelled(server string) (found []entry) {
	url, err := git.ParseURL(server)
	if err != nil {
		return nil
	}
	for _, e := range t.entries {
		if e.ID == url.String() || e.GitURL == url.String() && e.Sandbox == "" {
			found = append(found, e)
		}
	}
	return found
}
