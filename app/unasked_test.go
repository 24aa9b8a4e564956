package app_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/policy"
)

// TestAnAnswerKnowsThatNoPersonIsAsked: of calls that could change something, where the caller approves.
func TestAnAnswerKnowsThatNoPersonIsAsked(t *testing.T) {
	t.Parallel()
	for _, approval := range []policy.Approval{policy.ApprovalHuman, policy.ApprovalCaller} {
		h := open(t, func(o *app.Options) { o.Policy.Approval = approval })
		assert.False(t, h.call("get_policy", `{}`).Unasked, "a read asks nobody anyway")
		assert.Equal(t, approval.ByCaller(), h.call("write_note", `{"name":"a"}`).Unasked)
	}
}
