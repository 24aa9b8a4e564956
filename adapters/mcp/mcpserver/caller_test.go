package mcpserver_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/countersign-dev/countersign/adapters/mcp/mcpserver"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

func TestAReaderIsGrantedReading(t *testing.T) {
	both := tool.Spec{Name: "both", Title: "Both", Class: policy.ClassScratch, Reading: &tool.ReadOnlyVariant{Title: "Read"}}
	c := mcpserver.Caller{Principal: policy.Principal{ID: "p", Grants: policy.All}, Session: "s", Client: "c 1"}
	call := c.Call("both", []byte(`{}`))
	assert.Equal(t, tool.Call{Principal: c.Principal, Session: "s", Client: "c 1", Tool: "both", Args: []byte(`{}`)}, call)
	assert.Equal(t, "Both", c.Published(both).Title)
	assert.True(t, c.Serves(both))

	c.Within = []tool.Restriction{{Toolsets: []string{"x"}}, {ReadOnly: true}}
	call = c.Call("both", nil)
	assert.Equal(t, app.ReadOnlyPermissions, call.Principal.Grants)
	assert.Equal(t, c.Within, call.Restrictions, "the door looks again")
	assert.Equal(t, "Read", c.Published(both).Title)
	assert.False(t, c.Serves(both))
	c.Principal.Grants = policy.Read
	assert.Equal(t, policy.Read, c.Call("both", nil).Principal.Grants, "and never more than it had")
}
