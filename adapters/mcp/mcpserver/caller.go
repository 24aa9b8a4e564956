package mcpserver

import (
	"encoding/json"

	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// Caller is on whose behalf a request is made. The zero Caller may do nothing.
type Caller struct {
	Principal policy.Principal
	Session   string           // client instance: mode, grants and confirmations belong to it, and its calls take effect in their order
	Entry     string           // the host entry that the server was started from; empty where there is none, as over a network
	Client    string           // name and version, for the audit; empty: as the client names itself in the protocol
	Within    []tool.Narrowing // what it is served of what the operator serves
}

// Serves reports whether the caller is served the tool.
func (c Caller) Serves(s tool.Spec) bool { return tool.Covered(c.Within, s) }

// Published returns the tool as the caller is shown it.
func (c Caller) Published(s tool.Spec) tool.Spec {
	if tool.ReadsOnly(c.Within) {
		return s.ReadOnly()
	}
	return s
}

// Call returns a call of that tool on the caller's behalf. One that is served reading alone is granted no more than that.
func (c Caller) Call(name tool.Name, args json.RawMessage) tool.Call {
	if tool.ReadsOnly(c.Within) {
		c.Principal.Grants &= app.ReadOnlyPermissions
	}
	return tool.Call{Session: c.Session, Entry: c.Entry, Client: c.Client, Principal: c.Principal, Within: c.Within, Tool: name, Args: args}
}
