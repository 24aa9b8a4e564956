// Package connecting is the tools that put Countersign itself into the MCP configuration of agent hosts, for people alone: list_hosts and
// connect_host.
//
// # What they promise
//
// Hosts are claude-code, codex, cursor, vscode, gemini-cli and opencode, each with one document for its user and one for a project
// (packageflow contract §5.8, packageflow-security contract §5.7). connect_host adds, changes or takes away one entry in one of them. It shows
// the file, the entry and a diff first, values that are secrets masked, and then writes exactly that: every other byte of the document stays,
// its mode too, a symbolic link is written through, a copy of what was there lies in COUNTERSIGN_HOME/backups, and the file is replaced in one
// step or not at all. A file that was changed since the plan stops it (deployment.ErrStale); so does one that does not parse, that may not be
// written, or that is no file.
//
// The entry starts this program over stdio: by its absolute path for a user, by its plain name for a project, whose file others share. With a
// url it leads to a server that runs, with a token made for that host (connect:HOST); no token is ever written into a project's file (ErrShared).
// The entry names itself to the server (--host), raises the host's limit on the time of a call as far as the host reads one, and says how long the server
// waits for a person, which is less. Over HTTP the token lets in for the toolsets that are served by themselves, unless others are named; "all" is every one.
// An entry that starts the program instead of leading to the server has no token any more: it is revoked, and the plan says so. Whatever an entry
// opens, its plan says; where people approve, one at a terminal or in the console is asked about it, whatever was allowed beforehand.
//
// An entry of somebody else under the same name is left alone (ErrForeign) unless force replaces it, and the plan shows it then. Keys of an
// entry of ours that are not ours stay, and so do its arguments: the toolsets unless others are named, how long it waits, and whatever else somebody
// has added. What is as it should be is connected already, and nothing is written or asked.
//
// remove takes the entry away, with what was made for it, so that a document nobody else has touched since is what it was before, byte for byte.
//
// Answers are {data, warnings}, as of every tool of deployments.
//
// It refuses to know file formats, the file system and how a server is reached.
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

// Keys makes the tokens with which hosts reach a server over HTTP. Each has a name, and there is one of a name at a time.
type Keys interface {
	// Good reports whether secret is the token of that name for those toolsets (none: all), and still opens the server.
	Good(ctx context.Context, name, secret string, toolsets []string) (bool, error)
	// Renew makes a token of that name for those toolsets, in place of the one there is, and gives its secret.
	Renew(ctx context.Context, name string, toolsets []string) (secret string, err error)
	// Revoke ends the token of that name. None there is no error.
	Revoke(ctx context.Context, name string) error
	// Live reports whether there is a token of that name, with that secret unless that is empty.
	Live(ctx context.Context, name, secret string) (bool, error)
}

// Rules is what of the policy in force a connection has to know.
type Rules struct {
	ByCaller bool           // no person is asked
	By       string         // the layer that decided that
	Needs    policy.Proving // the strongest proof that is wanted for anything
}

// Surroundings is the computer as hosts see it.
type Surroundings struct {
	Home      string                                        // COUNTERSIGN_HOME, absolute
	Chosen    bool                                          // the environment names Home, which hosts do not pass on to servers
	System    string                                        // linux, darwin or windows
	Sep       byte                                          // of native paths
	Env       func(string) string                           // where hosts keep their documents
	Program   func() (path string, lasting bool, err error) // this executable, absolute; lasting: it will be there tomorrow
	Real      func(path string) (string, error)             // where a path leads, every symbolic link in it followed
	Installed func(program string) bool                     // a program of that name can be started
}

// Deps is what the use cases need. All of it is required, but Keys: without them no host is connected over HTTP.
type Deps struct {
	Places    deployport.Places
	Machine   deployport.Machine
	Recovery  deployport.Recovery
	Documents deployport.Documents
	Differ    deployport.Differ
	Clock     ports.Clock
	Keys      Keys
	Here      Surroundings
	Default   []string // the toolsets that are served by themselves
	Rules     func(ctx context.Context) (Rules, error)
}

type service struct{ Deps }

// The typed handles of the tools.
var (
	ConnectHost = tool.Ref[Input, planner.Report]{Name: "connect_host"}
	ListHosts   = tool.Ref[Query, planner.Report]{Name: "list_hosts"}
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
