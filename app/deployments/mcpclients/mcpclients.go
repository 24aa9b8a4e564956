package mcpclients

import (
	"context"
	"encoding/json"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/app/deployments/planner"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports"
	"github.com/countersign-dev/countersign/ports/deployport"
)

// The ways these tools fail that no other tool of deployments does.
var (
	ErrForeign = fault.New(fault.Conflict, "host_entry_foreign", "the host has another server of that name")
	ErrShared  = fault.New(fault.Invalid, "host_file_shared", "a token does not belong into a file that others share")
	ErrServer  = fault.New(fault.Unavailable, "host_server_missing", "no server of Countersign can be connected over HTTP here")
)

// TokenIssuer makes the tokens with which hosts reach a server over HTTP. Each has a name, and there is one of a name at a time.
type TokenIssuer interface {
	// Good reports whether secret is the token of that name for those toolsets (none: all), and still opens the server.
	Good(ctx context.Context, name, secret string, toolsets []string) (bool, error)
	// Renew makes a token of that name for those toolsets, in place of the one there is, and gives its secret.
	Renew(ctx context.Context, name string, toolsets []string) (secret string, err error)
	// Revoke ends the token of that name. None there is no error.
	Revoke(ctx context.Context, name string) error
	// Live reports whether there is a token of that name, with that secret unless that is empty.
	Live(ctx context.Context, name, secret string) (bool, error)
}

// PolicyInfo is what of the policy in force a connection has to know.
type PolicyInfo struct {
	ByCaller bool           // no person is asked
	By       string         // the layer that decided that
	Needs    policy.Proving // the strongest proof that is wanted for anything
}

// HostEnvironment is the computer as hosts see it.
type HostEnvironment struct {
	Home      string                                        // COUNTERSIGN_HOME, absolute
	Chosen    bool                                          // the environment names Home, which hosts do not pass on to servers
	System    string                                        // linux, darwin or windows
	Sep       byte                                          // of native paths
	Env       func(string) string                           // where hosts keep their documents
	Program   func() (path string, lasting bool, err error) // this executable, absolute; lasting: it will be there tomorrow
	Real      func(path string) (string, error)             // where a path leads, every symbolic link in it followed
	Installed func(program string) bool                     // a program of that name can be started
}

// Deps is what the use cases need. All of it is required, but Keys and Gateway: without Keys no host is connected over HTTP.
type Deps struct {
	Places    deployport.Places
	Machine   deployport.Machine
	Recovery  deployport.Recovery
	Documents deployport.Documents
	Differ    deployport.Differ
	Clock     ports.Clock
	Keys      TokenIssuer
	Gateway   func(ctx context.Context, sandbox string) (GatewayAccess, error) // nil: no host is connected to the gateway of sandboxes
	Here      HostEnvironment
	Default   []string // the toolsets that are served by themselves
	Rules     func(ctx context.Context) (PolicyInfo, error)
}

// GatewayAccess is how clients reach the gateway in front of the agent servers of sandboxes.
type GatewayAccess struct {
	URL    string
	Secret string // the bearer token, the same for every client
}

// GatewayName is what a host calls the gateway unless the call says otherwise.
const GatewayName = ProgramName + "-gateway"

type service struct{ Deps }

// The typed handles of the tools.
var (
	ConnectHost = tool.Ref[Input, planner.Report[ConnectResult]]{Name: "connect_host"}
	ListHosts   = tool.Ref[Query, planner.Report[HostList]]{Name: "list_hosts"}
)

// Entries is the tools.
func Entries(d Deps) []tool.Entry {
	s := &service{d}
	connect := tool.Spec{Title: "Connect a host", Class: policy.ClassWrite, Effects: policy.Read | policy.Write | policy.Delete, Confirm: policy.Simple, Human: policy.Simple, When: "unless it is connected so already",
		Risk: policy.RiskLow, People: true, Input: json.RawMessage(connectSchema),
		Description: "Put Countersign into an agent host's MCP configuration, or take it out of it, and leave the rest of the file as it is."}
	list := tool.Spec{Title: "List hosts", Class: policy.ClassRead, Effects: policy.Read, People: true, Input: json.RawMessage(listSchema),
		Description: "List the agent hosts that can be connected, whether each is on this machine and connected, and how to connect it by hand."}
	return []tool.Entry{bind.Command(ConnectHost, connect, s.prepare, s.commit), bind.Query(ListHosts, list, s.list)}
}
