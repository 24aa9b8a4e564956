package target_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/target"
)

// TestOptionsNobodyKnowsAreSaid: a mistyped option is ignored, as the format has it, and warned of with the name that was meant.
func TestOptionsNobodyKnowsAreSaid(t *testing.T) {
	in := target.Input{Sep: '/', Chosen: []string{"codex", "cursor"}, Place: deployment.Place{UserHome: "/h", ProjectRoot: "/p", Marked: true},
		Targets: map[string]deployment.TargetConfig{
			"codex":  {Scope: deployment.ScopeBoth, Options: deployment.Options{"write_user_promts": false, "codex_home": "~/.codex", "instructions_mode": "file"}},
			"cursor": {Scope: deployment.ScopeProject, Options: deployment.Options{"globs": "*.go", "write_rules": true, "color": "red"}},
		}}
	out, err := target.Render(in)
	require.NoError(t, err)
	require.Len(t, out.Warnings, 2)
	assert.Contains(t, out.Warnings[0], "target codex has no option write_user_promts, which is ignored; did you mean write_user_prompts?")
	assert.Contains(t, out.Warnings[1], "target cursor has no option color, which is ignored; it has: always_apply, description, globs")
}
