package sandboxport

import (
	"context"
	"encoding/json"

	"github.com/countersign-dev/countersign/domain/sandbox"
)

// Router sends requests to agent servers by the gateway's table (opencode contract §10). A changed table counts from the next call on.
type Router interface {
	// Table returns the servers. While the table cannot be read, they are the last ones read, and Problem gives the reason.
	Table(ctx context.Context) (RouteTable, error)
	// Resolve returns the server with that ID or project name, or the default one for an empty name. It fails with sandbox.ErrServer.
	Resolve(ctx context.Context, server string) (Route, error)
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
}

// Active reports whether the server accepts requests.
func (r Route) Active() bool { return r.Status == "active" }

// RouteRequest is a request to a server. Act decides which fields it uses.
type RouteRequest struct {
	Act     sandbox.Act
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
