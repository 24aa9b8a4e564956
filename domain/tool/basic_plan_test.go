package tool_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// TestBasicPlan: what extends the plan is shown as the plan is, and the hash is over that and nothing else, so that stored plans still have theirs.
func TestBasicPlan(t *testing.T) {
	raised := policy.Assessment{Strength: policy.Preview, Scope: "shop"}
	p, err := tool.NewBasicPlan("project.plan.v1", "run_script", "run build", map[string]any{"script": "build"}, tool.PlanOptions{Assessment: raised})
	require.NoError(t, err)
	extended := struct {
		tool.BasicPlan
		about string
	}{p, "shop"}
	shown, err := json.Marshal(extended)
	require.NoError(t, err)
	assert.Equal(t, `{"tool":"run_script","summary":"run build","context":{"script":"build"}}`, string(shown))
	stored, err := canon.Sum("project.plan.v1", json.RawMessage(shown))
	require.NoError(t, err)
	assert.Equal(t, stored, extended.Hash())
	assert.Equal(t, "sha256:064ed904f9d86d1a16cbd1b41c4ce1f98e93f8c5e0feb4fbfa155133ff28b914", p.Hash().String())
	assert.Equal(t, raised, extended.Assessment())
	assert.Equal(t, "run build", extended.Prompt())

	scoped := p.WithScope("shop@1")
	assert.Equal(t, p.Hash(), scoped.Hash(), "who is asked is not what is shown")
	assert.Equal(t, "shop@1", scoped.Assessment().Scope)
	other, err := tool.NewBasicPlan("sandbox.plan.v1", "run_script", "run build", map[string]any{"script": "build"}, tool.PlanOptions{Assessment: raised})
	require.NoError(t, err)
	assert.NotEqual(t, p.Hash(), other.Hash(), "plans of two capabilities are two")
}
