package dualera_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/mcp/dualera"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

var known = dualera.KnownOf([]tool.Toolset{{Name: "a", Served: []string{"a1", "a2"}, Hidden: []string{"a3"}}, {Name: "b"}})

func TestTighten(t *testing.T) {
	for _, c := range []struct {
		header http.Header
		want   dualera.Tightened
	}{
		{http.Header{}, dualera.Tightened{}},
		{http.Header{"X-Mcp-Toolsets": {"a, b"}}, dualera.Tightened{Narrowing: tool.Narrowing{Toolsets: []string{"a", "b"}}}},
		{http.Header{"X-Mcp-Toolsets": {"a", "b,"}}, dualera.Tightened{Narrowing: tool.Narrowing{Toolsets: []string{"a", "b"}}}},
		{http.Header{"X-Mcp-Toolsets": {"a,all"}, "X-Mcp-Tools": {"a1"}}, dualera.Tightened{}},
		{http.Header{"X-Mcp-Tools": {"a3"}, "X-Mcp-Exclude-Tools": {"a1,a2"}}, dualera.Tightened{Narrowing: tool.Narrowing{Tools: []string{"a3"}, Exclude: []string{"a1", "a2"}}}},
		{http.Header{"X-Mcp-Readonly": {" TRUE "}}, dualera.Tightened{Narrowing: tool.Narrowing{ReadOnly: true}}},
		{http.Header{"X-Mcp-Readonly": {"true", "false"}}, dualera.Tightened{Narrowing: tool.Narrowing{ReadOnly: true}}},
		{http.Header{"X-Mcp-Readonly": {"0"}}, dualera.Tightened{}},
		{http.Header{"X-Mcp-Mode": {"execute", "Ask"}}, dualera.Tightened{Ceiling: policy.Ask}},
	} {
		got, err := dualera.Tighten(c.header, known)
		require.NoError(t, err, "%v", c.header)
		assert.Equal(t, c.want, got, "%v", c.header)
	}
	for _, h := range []http.Header{
		{"X-Mcp-Toolsets": {"c"}}, {"X-Mcp-Toolsets": {"a1"}}, {"X-Mcp-Toolsets": {""}}, {"X-Mcp-Toolsets": {","}}, {"X-Mcp-Tools": {"a"}}, {"X-Mcp-Tools": {"all"}}, {"X-Mcp-Tools": {"a1,A2"}},
		{"X-Mcp-Exclude-Tools": {"a9"}}, {"X-Mcp-Readonly": {""}}, {"X-Mcp-Readonly": {"true", "maybe"}}, {"X-Mcp-Mode": {""}}, {"X-Mcp-Mode": {"free"}},
	} {
		_, err := dualera.Tighten(h, known)
		require.ErrorIs(t, err, dualera.ErrHeader, "%v", h)
	}
}

// What a header says is laid over what a credential is for; neither can undo the other.
func TestTightenedOver(t *testing.T) {
	own := []tool.Narrowing{{Toolsets: []string{"a"}}}
	tight, err := dualera.Tighten(http.Header{"X-Mcp-Toolsets": {"b"}, "X-Mcp-Mode": {"execute"}}, known)
	require.NoError(t, err)
	p, within := tight.Over(policy.Principal{ID: "x", Ceiling: policy.Plan}, own)
	assert.Equal(t, policy.Plan, p.Ceiling)
	assert.Len(t, own, 1)
	assert.False(t, tool.Covered(within, tool.Spec{Name: "a1", Toolset: "a"}))
	assert.False(t, tool.Covered(within, tool.Spec{Name: "b1", Toolset: "b"}))
	p, within = dualera.Tightened{}.Over(policy.Principal{ID: "x"}, own)
	assert.Equal(t, policy.ModeUnset, p.Ceiling)
	assert.Equal(t, own, within)
	p, _ = dualera.Tightened{Ceiling: policy.Ask}.Over(policy.Principal{ID: "x"}, nil)
	assert.Equal(t, policy.Ask, p.Ceiling)
}
