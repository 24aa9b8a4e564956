package mcpserver

import (
	"encoding/json"

	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// Caller is the identity of a request. The zero Caller may do nothing.
type Caller struct {
	Principal policy.Principal
	Session   string             // client instance: mode, grants and approval requests belong to it, and its calls take effect in order
	Entry     string             // the host entry that the server was started from; empty if there is none, as over a network
	Client    string             // name and version, for the audit log; empty: the name that the client states in the protocol
	Within    []tool.Restriction // restricts its tools
}

// Serves reports whether the caller has the tool.
func (c Caller) Serves(s tool.Spec) bool { return tool.Covered(c.Within, s) }

// Published returns the tool as published to the caller.
func (c Caller) Published(s tool.Spec) tool.Spec {
	if tool.ReadsOnly(c.Within) {
		return s.ReadOnly()
	}
	return s
}

// Call returns a call of that tool by the caller. A caller that may only read gets only read permissions.
func (c Caller) Call(name tool.Name, args json.RawMessage) tool.Call {
	if tool.ReadsOnly(c.Within) {
		c.Principal.Grants &= app.ReadOnlyPermissions
	}
	return tool.Call{Session: c.Session, Entry: c.Entry, Client: c.Client, Principal: c.Principal, Restrictions: c.Within, Tool: name, Args: args}
}
