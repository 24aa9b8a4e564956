package canon_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/canon"
)

// change and plan have the shape of the largest thing that is hashed: a deployment's plan.
type change struct {
	Op     string     `json:"op"`
	Target string     `json:"target"`
	Path   string     `json:"path"`
	Before canon.Hash `json:"before"`
	After  canon.Hash `json:"after"`
	Size   int64      `json:"size"`
	Reason string     `json:"reason,omitempty"`
}

type plan struct {
	Profile string   `json:"profile"`
	Changes []change `json:"changes"`
}

func bigPlan(changes int) plan {
	p := plan{Profile: "default"}
	for i := range changes {
		p.Changes = append(p.Changes, change{
			Op: "update", Target: "claude_code", Path: fmt.Sprintf(".claude/skills/skill-%04d/SKILL.md", i), Size: int64(i) * 37,
			Before: canon.SumBytes("before", fmt.Append(nil, i)), After: canon.SumBytes("after", fmt.Append(nil, i)), Reason: "content differs <&>",
		})
	}
	return p
}

var sum canon.Hash

func BenchmarkSum1000Changes(b *testing.B) {
	p := bigPlan(1000)
	b.ReportAllocs()
	for b.Loop() {
		sum, _ = canon.Sum("deployment.plan.v1", p)
	}
}

func BenchmarkSumOneChange(b *testing.B) {
	p := bigPlan(1)
	b.ReportAllocs()
	for b.Loop() {
		sum, _ = canon.Sum("deployment.plan.v1", p)
	}
}

// sumBudget is how many allocations one change of a plan may cost; eight are needed, all by encoding/json and the hashes' text.
const sumBudget = 10

func TestSumStaysWithinItsBudget(t *testing.T) {
	p := bigPlan(1000)
	allocs := testing.AllocsPerRun(5, func() {
		var err error
		sum, err = canon.Sum("deployment.plan.v1", p)
		require.NoError(t, err)
	})
	assert.Less(t, allocs/1000, float64(sumBudget), "allocations for one change of a plan")
}
