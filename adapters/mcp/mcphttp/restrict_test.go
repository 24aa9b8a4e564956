package mcphttp_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/mcp/mcphttp"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

var known = mcphttp.NewKnownNames([]tool.Toolset{{Name: "a", Served: []string{"a1", "a2"}, Hidden: []string{"a3"}}, {Name: "b"}})

func TestTighten(t *testing.T) {
	for _, c := range []struct {
		header http.Header
		want   mcphttp.Tightened
	}{
		{http.Header{}, mcphttp.Tightened{}},
		{http.Header{"X-Mcp-Toolsets": {"a, b"}}, mcphttp.Tightened{Narrowing: tool.Restriction{Toolsets: []string{"a", "b"}}}},
		{http.Header{"X-Mcp-Toolsets": {"a", "b,"}}, mcphttp.Tightened{Narrowing: tool.Restriction{Toolsets: []string{"a", "b"}}}},
		{http.Header{"X-Mcp-Toolsets": {"a,all"}, "X-Mcp-Tools": {"a1"}}, mcphttp.Tightened{}},
		{http.Header{"X-Mcp-Tools": {"a3"}, "X-Mcp-Exclude-Tools": {"a1,a2"}}, mcphttp.Tightened{Narrowing: tool.Restriction{Tools: []string{"a3"}, Exclude: []string{"a1", "a2"}}}},
		{http.Header{"X-Mcp-Readonly": {" TRUE "}}, mcphttp.Tightened{Narrowing: tool.Restriction{ReadOnly: true}}},
		{http.Header{"X-Mcp-Readonly": {"true", "false"}}, mcphttp.Tightened{Narrowing: tool.Restriction{ReadOnly: true}}},
		{http.Header{"X-Mcp-Readonly": {"0"}}, mcphttp.Tightened{}},
		{http.Header{"X-Mcp-Mode": {"execute", "Ask"}}, mcphttp.Tightened{Ceiling: policy.Ask}},
	} {
		got, err := mcphttp.Tighten(c.header, known)
		require.NoError(t, err, "%v", c.header)
		assert.Equal(t, c.want, got, "%v", c.header)
	}
	for _, h := range []http.Header{
		{"X-Mcp-Toolsets": {"c"}}, {"X-Mcp-Toolsets": {"a1"}}, {"X-Mcp-Toolsets": {""}}, {"X-Mcp-Toolsets": {","}}, {"X-Mcp-Tools": {"a"}}, {"X-Mcp-Tools": {"all"}}, {"X-Mcp-Tools": {"a1,A2"}},
		{"X-Mcp-Exclude-Tools": {"a9"}}, {"X-Mcp-Readonly": {""}}, {"X-Mcp-Readonly": {"true", "maybe"}}, {"X-Mcp-Mode": {""}}, {"X-Mcp-Mode": {"free"}},
	} {
		_, err := mcphttp.Tighten(h, known)
		require.ErrorIs(t, err, mcphttp.ErrHeader, "%v", h)
	}
}

// What a header says is laid over what a credential is for; neither can undo the other.
func TestTightenedOver(t *testing.T) {
	own := []tool.Restriction{{Toolsets: []string{"a"}}}
	tight, err := mcphttp.Tighten(http.Header{"X-Mcp-Toolsets": {"b"}, "X-Mcp-Mode": {"execute"}}, known)
	require.NoError(t, err)
	p, within := tight.Over(policy.Principal{ID: "x", Ceiling: policy.Plan}, own)
	assert.Equal(t, policy.Plan, p.Ceiling)
	assert.Len(t, own, 1)
	assert.False(t, tool.Covered(within, tool.Spec{Name: "a1", Toolset: "a"}))
	assert.False(t, tool.Covered(within, tool.Spec{Name: "b1", Toolset: "b"}))
	p, within = mcphttp.Tightened{}.Over(policy.Principal{ID: "x"}, own)
	assert.Equal(t, policy.ModeUnset, p.Ceiling)
	assert.Equal(t, own, within)
	p, _ = mcphttp.Tightened{Ceiling: policy.Ask}.Over(policy.Principal{ID: "x"}, nil)
	assert.Equal(t, policy.Ask, p.Ceiling)
}
