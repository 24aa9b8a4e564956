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

// The errors of these tools that no other deployment tool has.
var (
	ErrForeign = fault.New(fault.Conflict, "host_entry_foreign", "the host has another server of that name")
	ErrShared  = fault.New(fault.Invalid, "host_file_shared", "a token does not belong in a file that others share")
	ErrServer  = fault.New(fault.Unavailable, "host_server_missing", "no server of Countersign can be connected over HTTP here")
)

// TokenIssuer creates the tokens with which hosts reach a server over HTTP. Names are unique.
type TokenIssuer interface {
	// Good reports whether secret is the valid token with that name for those toolsets (none: all).
	Good(ctx context.Context, name, secret string, toolsets []string) (bool, error)
	// Renew creates a token with that name for those toolsets, replacing the present one, and returns its secret.
	Renew(ctx context.Context, name string, toolsets []string) (secret string, err error)
	// Revoke revokes the token with that name. It is not an error if there is none.
	Revoke(ctx context.Context, name string) error
	// Live reports whether there is a valid token with that name, with that secret unless it is empty.
	Live(ctx context.Context, name, secret string) (bool, error)
}

// PolicyInfo is the part of the policy in force that a connection needs.
type PolicyInfo struct {
	ByCaller bool           // the user is not asked
	By       string         // the layer of settings that decides this
	Needs    policy.Proving // the strongest proof that is required for any call
}

// HostEnvironment is the machine as hosts see it.
type HostEnvironment struct {
	Home      string                                        // COUNTERSIGN_HOME, absolute
	Chosen    bool                                          // the environment sets Home; hosts do not pass that on to servers
	System    string                                        // linux, darwin or windows
	Sep       byte                                          // of native paths
	Env       func(string) string                           // where hosts keep their documents
	Program   func() (path string, lasting bool, err error) // this executable, absolute; lasting: it is not a temporary build
	Real      func(path string) (string, error)             // a path with every symbolic link resolved
	Installed func(program string) bool                     // a program of that name can be started
}

// Deps holds the dependencies of the use cases. All are required except Keys and Gateway: without Keys no host is connected over HTTP.
type Deps struct {
	Places    deployport.Locator
	Machine   deployport.Machine
	Recovery  deployport.Recovery
	Documents deployport.Documents
	Differ    deployport.Differ
	Clock     ports.Clock
	Keys      TokenIssuer
	Gateway   func(ctx context.Context, sandbox string) (GatewayAccess, error) // nil: no host is connected to the gateway of sandboxes
	Here      HostEnvironment
	Default   []string // the toolsets that are enabled by default
	Rules     func(ctx context.Context) (PolicyInfo, error)
}

// GatewayAccess is how clients reach the gateway in front of the agent servers of sandboxes.
type GatewayAccess struct {
	URL    string
	Secret string // the bearer token for that project or isolated sandbox, the same for every client
}

// GatewayName is the default name of the gateway in a host.
const GatewayName = ProgramName + "-gateway"

type service struct{ Deps }

// The typed handles of the tools.
var (
	ConnectHost = tool.Ref[Input, planner.Report[ConnectResult]]{Name: "connect_host"}
	ListHosts   = tool.Ref[Query, planner.Report[HostList]]{Name: "list_hosts"}
)

// Entries returns the tools.
func Entries(d Deps) []tool.Entry {
	s := &service{d}
	connect := tool.Spec{Title: "Connect a host", Class: policy.ClassWrite, Effects: policy.Read | policy.Write | policy.Delete, Confirm: policy.Simple, Human: policy.Simple, When: "unless it is already connected like this",
		Risk: policy.RiskLow, UserOnly: true, Input: json.RawMessage(connectSchema),
		Description: "Add Countersign to an agent host's MCP configuration, or remove it; the rest of the file stays unchanged."}
	list := tool.Spec{Title: "List hosts", Class: policy.ClassRead, Effects: policy.Read, UserOnly: true, Input: json.RawMessage(listSchema),
		Description: "List the agent hosts that can be connected, whether each is on this machine and connected, and how to connect it by hand."}
	return []tool.Entry{bind.Command(ConnectHost, connect, s.prepare, s.commit), bind.Query(ListHosts, list, s.list)}
}
