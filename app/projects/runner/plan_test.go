package runner_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/app/projects/runner"
	"github.com/countersign-dev/countersign/domain/policy"
)

// TestScopes: a session grant covers any content of the files; a grant across sessions covers them only as they are.
func TestScopes(t *testing.T) {
	plan := func(context map[string]any) runner.Plan {
		p, err := runner.NewPlan("run_script", "run it", context, policy.Assessment{Scope: "shop/test"})
		require.NoError(t, err)
		return p
	}
	of := func(command, sum string) (session, dated string) {
		less := plan(map[string]any{"command": command})
		p := plan(map[string]any{"command": command, "reads": sum}).BoundBut(less)
		session, dated = p.Scopes()
		assert.Equal(t, session, p.Assessment().Scope)
		return session, dated
	}
	session, dated := of("test", "1")
	edited, datedEdited := of("test", "2")
	other, _ := of("test --all", "1")
	assert.Equal(t, session, edited)
	assert.NotEqual(t, dated, datedEdited)
	assert.NotEqual(t, session, other)
	assert.NotEqual(t, session, dated)
	one, two := plan(nil).Bound().Scopes()
	assert.Equal(t, one, two, "where there are no files, there is one scope")
}
