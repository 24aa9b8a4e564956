package mcpserver_test

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"testing"

	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/stdiotest"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// boxes is a core with two of the tools that had other names once.
type boxes struct{}

func (boxes) Specs() iter.Seq[tool.Spec] {
	spec := func(name tool.Name) tool.Spec {
		return tool.Spec{Name: name, Contract: present.Opencode, Toolset: "sandboxes", Class: policy.ClassRead, Effects: policy.Read, Input: json.RawMessage(`{"type":"object"}`)}
	}
	return slices.Values([]tool.Spec{spec("opencode_project_start"), spec("opencode_project_list")})
}

func (boxes) Call(_ context.Context, c tool.Call) tool.Outcome {
	return tool.Outcome{Spec: tool.Spec{Name: c.Tool, Contract: present.Opencode}, Value: json.RawMessage(`{"status":"success"}`)}
}

// refusals are the names that are not served, each with what is said beside that.
var refusals = map[string]string{
	"opencode_start":          ": renamed to opencode_project_start, which takes git_url only; project_name is derived from it",
	"opencode_list":           ": renamed to opencode_project_list; its projects have a git_url, which identifies them in every other tool",
	"opencode_stop":           "", // opencode_project_stop is not served here, so it is no way out
	"opencode_project_starts": "",
	"opencode_mcp_status":     "",
}

// TestOldNamesNameTheNewTool: a call by an old name is that of an unknown tool, and its refusal names the tool that took its place
// where that is served (opencode contract §20): over stdio, and in every era of the SDK's client.
func TestOldNamesNameTheNewTool(t *testing.T) {
	t.Run("stdio", func(t *testing.T) {
		r, w := serve(t, boxes{}, nil)
		c := stdiotest.Pipe(t, w, r)
		c.Send(hello)
		require.Equal(t, "0:ok", gist(t, c.Recv()))
		for name, note := range refusals {
			c.Send(callTool("1", name, `{"project_name":"shop"}`))
			var answer struct {
				Error struct {
					Code    int
					Message string
				}
			}
			require.NoError(t, json.Unmarshal(c.Recv(), &answer))
			assert.Equal(t, jsonrpc.CodeInvalidParams, answer.Error.Code)
			assert.Equal(t, `unknown tool "`+name+`"`+note, answer.Error.Message)
		}
		c.Send(callTool("2", "opencode_project_start", `{}`))
		require.Equal(t, "2:ok", gist(t, c.Recv()))
	})
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			s := connect(t, boxes{}, era, nil, nil)
			for name, note := range refusals {
				_, err := s.CallTool(context.Background(), &mcp.CallToolParams{Name: name})
				var wire *jsonrpc.Error
				require.ErrorAs(t, err, &wire)
				assert.EqualValues(t, jsonrpc.CodeInvalidParams, wire.Code)
				assert.Equal(t, `unknown tool "`+name+`"`+note, wire.Message)
			}
			assert.False(t, call(t, s, "opencode_project_list", map[string]any{}).IsError)
		})
	}
}
