package sandboxport

import (
	"context"
	"encoding/json"

	"github.com/countersign-dev/countersign/domain/sandbox"
)

// Router sends requests to agent servers by the gateway's table (opencode contract §10). A changed table counts from the next call on.
type Router interface {
	// Table returns the servers that the scope (sandbox.Covers) takes in. While the table cannot be read, they are the last ones read, and Problem gives the reason.
	Table(ctx context.Context, scope string) (RouteTable, error)
	// Resolve returns the server with the request's ID or project name, or the default one for an empty name; for an isolated sandbox of the project, the server of its
	// own. It fails with sandbox.ErrServer, also for servers outside of the request's scope.
	Resolve(ctx context.Context, r RouteRequest) (Route, error)
	// Call sends a request to a server. It fails like Resolve, with sandbox.ErrNotRunning for a server that is not active, sandbox.ErrNotFound for an unknown
	// sandbox, sandbox.ErrUnhealthy if there is no complete answer, sandbox.ErrAuth, sandbox.ErrTimeout, and sandbox.ErrRequest, sandbox.ErrRefused or
	// sandbox.ErrAnswer with the server's message. Neither answers nor errors contain a password of a server.
	Call(ctx context.Context, r RouteRequest) (RouteAnswer, error)
}

// RouteTable is the displayed form of the servers.
type RouteTable struct {
	Default string // ID; empty for none
	Servers []Route
	Problem string // why this is not what the file says
}

// Route is one server of a RouteTable.
type Route struct {
	ID          string
	Name        string // of the project
	Title       string
	Description string
	Status      string // active or inactive
	Sandbox     string // isolated, in which alone it works; empty for a project's
	Isolation   string // of that sandbox
}

// Active reports whether the server accepts requests.
func (r Route) Active() bool { return r.Status == "active" }

// RouteRequest is a request to a server. Act decides which fields it uses.
type RouteRequest struct {
	Act     sandbox.Act
	Scope   string // ID of a server: nothing beyond that one, or for a project's, beyond the project is reached (sandbox.Covers); empty for all
	Server  string // ID or project name; empty for the default one
	Sandbox string // the worktree to work in; empty for the clone
	ID      string // of a session, a permission, a question
	Title   string
	Text    string
	Agent   string
	Model   string // provider/model
	Reply   string // once, always, reject
	Answers [][]string
	Limit   int // of a list; 0 is the server's own
}

// RouteAnswer is a server's answer: Body is its JSON, nil if it was empty.
type RouteAnswer struct {
	Server Route
	Body   json.RawMessage
}
