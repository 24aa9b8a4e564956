package mcpserver_test

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/adapters/mcp/mcpserver"
	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// flows is a core with two tools of the same answers, one of a contract that says something beside its results.
type flows struct{}

func (flows) Specs() iter.Seq[tool.Spec] {
	spec := func(name tool.Name, contract tool.Contract) tool.Spec {
		return tool.Spec{Name: name, Contract: contract, Toolset: "demo", Class: policy.ClassRead, Effects: policy.Read, Input: json.RawMessage(`{"type":"object"}`)}
	}
	run := spec("run_script", present.Packageflow)
	run.Class, run.Effects, run.Category, run.Risk = policy.ClassWrite, policy.Read|policy.Exec, "NPM/Package Scripts", policy.RiskMedium
	return slices.Values([]tool.Spec{spec("list_projects", present.Packageflow), spec("list_toolsets", present.Control), run})
}

// Evaluate allows reading and asks for the rest.
func (flows) Evaluate(_ context.Context, c tool.Call) policy.Result {
	if c.Principal.ID != "tester" || c.Session != "s1" {
		return policy.Result{}
	}
	if c.Tool == "run_script" {
		return policy.Result{Verdict: policy.Confirm}
	}
	return policy.Result{Verdict: policy.Allow}
}

func (f flows) Call(_ context.Context, c tool.Call) tool.Outcome {
	o := tool.Outcome{CallID: "call_7f", Elapsed: 150 * time.Millisecond, Redactions: 1, Truncated: true}
	for s := range f.Specs() {
		if s.Name == c.Tool {
			o.Spec = s
		}
	}
	if len(c.Args) > 2 {
		o.Err = fault.New(fault.NotFound, "project_not_found", "no such project")
	} else {
		o.Value = json.RawMessage(`{"projects":[],"total":0}`)
	}
	return o
}

// TestMetaOfAContract: text, structured content without an output schema, flag and _meta of a result reach the client in every era
// (packageflow contract §2.3), and a contract without _meta gets none.
func TestMetaOfAContract(t *testing.T) {
	var _ mcpserver.Core = flows{}
	own := map[string]any{"callId": "call_7f", "durationMs": 150.0, "truncated": true, "redactions": 1.0}
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			s := connect(t, flows{}, era, nil, nil)
			r := call(t, s, "list_projects", map[string]any{})
			assert.False(t, r.IsError)
			assert.Equal(t, map[string]any{"projects": []any{}, "total": 0.0}, r.StructuredContent)
			assert.JSONEq(t, `{"projects":[],"total":0}`, text(r))
			for key, want := range own {
				assert.Equal(t, want, r.Meta[key], key)
			}

			r = call(t, s, "list_projects", map[string]any{"query": "x"})
			assert.True(t, r.IsError)
			assert.Equal(t, own["callId"], r.Meta["callId"])
			var failed struct{ Error present.Problem }
			require.NoError(t, json.Unmarshal([]byte(text(r)), &failed))
			assert.Equal(t, "PROJECT_NOT_FOUND", failed.Error.Code)
			assert.Contains(t, r.StructuredContent, "error")

			r = call(t, s, "list_toolsets", map[string]any{})
			for key := range own {
				assert.NotContains(t, r.Meta, key)
			}
		})
	}
}

// TestListingOfAContract: tools/list says of a tool what its contract lists, with the permission as it is now, and nothing of others.
func TestListingOfAContract(t *testing.T) {
	for _, era := range eras {
		s := connect(t, flows{}, era, func(o *mcpserver.Options) { o.Forecaster = flows{} }, nil)
		for range 2 {
			list, err := s.ListTools(context.Background(), nil)
			require.NoError(t, err)
			meta := map[string]any{}
			for _, tl := range list.Tools {
				meta[tl.Name] = map[string]any(tl.Meta)
			}
			assert.Equal(t, map[string]any{"permissionCategory": "read", "applicablePermissions": []any{"read"}, "permission": "allow"}, meta["list_projects"])
			assert.Equal(t, map[string]any{"category": "NPM/Package Scripts", "permissionCategory": "execute", "applicablePermissions": []any{"read", "execute"},
				"risk": "medium", "permission": "confirm"}, meta["run_script"])
			assert.Empty(t, meta["list_toolsets"])
		}
	}
	nobody := connect(t, flows{}, eras[0], func(o *mcpserver.Options) { o.Principal, o.Forecaster = policy.Principal{}, flows{} }, nil)
	list, err := nobody.ListTools(context.Background(), nil)
	require.NoError(t, err)
	for _, tl := range list.Tools {
		if tl.Name != "list_toolsets" {
			assert.Equal(t, "deny", tl.Meta["permission"])
		}
	}
}
