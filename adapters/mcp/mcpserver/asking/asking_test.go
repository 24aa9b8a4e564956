package asking_test

import (
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/mcp/mcpserver/asking"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// What is sealed is of use to the call it was sealed for alone: the same tool and arguments of the same caller, in time.
func TestSeal(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s := asking.NewSeal("secret")
	call := tool.Call{Tool: "wipe", Args: []byte(`{"name": "x"}`), Session: "s", Principal: policy.Principal{ID: "p"}}
	st := asking.State{Confirmation: "cf_1", Call: "call_1", Subject: asking.Subject(call), Expires: now.Add(time.Minute), Lasting: true}
	sealed, err := s.Close(st)
	require.NoError(t, err)
	got, err := s.Open(sealed, call, now)
	require.NoError(t, err)
	assert.Equal(t, st, got)
	same := call
	same.Args = []byte(`{"name":"x"}`)
	_, err = s.Open(sealed, same, now)
	require.NoError(t, err, "white space is no other call")
	for name, change := range map[string]func(c *tool.Call){
		"tool": func(c *tool.Call) { c.Tool = "wip" }, "arguments": func(c *tool.Call) { c.Args = []byte(`{"name":"y"}`) },
		"session": func(c *tool.Call) { c.Session = "t" }, "principal": func(c *tool.Call) { c.Principal.ID = "q" },
		"what runs together": func(c *tool.Call) { c.Session, c.Principal.ID = "", "ps" },
	} {
		other := call
		change(&other)
		_, err = s.Open(sealed, other, now)
		require.Error(t, err, name)
	}
	_, err = s.Open(sealed, call, now.Add(time.Minute))
	require.Error(t, err, "now ≥ expires_at is expired")
	_, err = asking.NewSeal("another").Open(sealed, call, now)
	require.Error(t, err)
	for _, broken := range []string{"", "!", sealed[1:], sealed[:len(sealed)-1], sealed[:20]} {
		_, err = s.Open(broken, call, now)
		require.Error(t, err, broken)
	}
}

func TestAnswer(t *testing.T) {
	accept := func(content map[string]any) *mcp.ElicitResult {
		return &mcp.ElicitResult{Action: "accept", Content: content}
	}
	for _, c := range []struct {
		form            *mcp.ElicitResult
		lasting         bool
		approve, always bool
	}{
		{nil, true, false, false}, {accept(nil), true, false, false}, {accept(map[string]any{"decision": "approve"}), false, true, false},
		{accept(map[string]any{"decision": "always"}), true, true, true}, {accept(map[string]any{"decision": "always"}), false, false, false},
		{accept(map[string]any{"decision": "APPROVE"}), true, false, false}, {accept(map[string]any{"decision": true}), true, false, false},
		{&mcp.ElicitResult{Action: "decline", Content: map[string]any{"decision": "approve"}}, true, false, false},
	} {
		a := asking.Answer("cf_1", c.lasting, c.form)
		assert.Equal(t, "cf_1", a.ID)
		assert.Equal(t, "elicitation", a.By)
		assert.Equal(t, c.approve, a.Approve, "%v", c.form)
		assert.Equal(t, c.always, a.Always, "%v", c.form)
	}
}

func TestPossible(t *testing.T) {
	assert.False(t, asking.Possible(nil))
	assert.False(t, asking.Possible(&mcp.ClientCapabilities{}))
	assert.True(t, asking.Possible(&mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{}}), "an empty one is forms")
	assert.True(t, asking.Possible(&mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{}}}))
	assert.False(t, asking.Possible(&mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{URL: &mcp.URLElicitationCapabilities{}}}))
}
