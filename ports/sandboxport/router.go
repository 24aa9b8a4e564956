package sandboxport

import (
	"context"
	"encoding/json"

	"github.com/countersign-dev/countersign/domain/sandbox"
)

// Router asks agent servers for something, by the gateway's table of them (opencode contract §10). A changed table counts from the next call on.
type Router interface {
	// Table is the servers there are. While the table cannot be read they are those it had before, and Problem says why.
	Table(ctx context.Context) (RouteTable, error)
	// Resolve is the server that somebody named, by ID or project name, or the default one for an empty name; sandbox.ErrServer.
	Resolve(ctx context.Context, server string) (Route, error)
	// Call asks a server. It fails like Resolve, with sandbox.ErrNotRunning for a server that is not active, sandbox.ErrNotFound for a sandbox that is
	// not there, sandbox.ErrUnhealthy when nobody answers or the answer breaks off, sandbox.ErrAuth, sandbox.ErrTimeout, and sandbox.ErrRequest,
	// sandbox.ErrRefused or sandbox.ErrAnswer with what the server said. Neither answers nor failures have a password of a server in them.
	Call(ctx context.Context, r RouteRequest) (RouteAnswer, error)
}

// RouteTable is the servers as they may be shown.
type RouteTable struct {
	Default string // ID; empty for none
	Servers []Route
	Problem string // why this is not what the file says
}

// Route is a server in it.
type Route struct {
	ID          string
	Name        string // of the project
	Title       string
	Description string
	Status      string // active or inactive
}

// Active reports whether the server can be asked.
func (r Route) Active() bool { return r.Status == "active" }

// RouteRequest is what a server is asked for. Which fields count depends on Act.
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

// RouteAnswer is what a server answered: Body is its JSON, nil when it said nothing.
type RouteAnswer struct {
	Server Route
	Body   json.RawMessage
}
