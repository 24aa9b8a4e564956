package target_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/target"
)

// TestOptionsNobodyKnowsAreSaid: a mistyped option is ignored, as the format requires, with a warning that suggests the right name.
func TestOptionsNobodyKnowsAreSaid(t *testing.T) {
	in := target.Input{Sep: '/', Chosen: []string{"codex", "cursor"}, Place: deployment.Locations{UserHome: "/h", ProjectRoot: "/p", Marked: true},
		Targets: map[string]deployment.TargetConfig{
			"codex":  {Scope: deployment.ScopeBoth, Options: deployment.Options{"write_user_promts": false, "codex_home": "~/.codex", "instructions_mode": "file"}},
			"cursor": {Scope: deployment.ScopeProject, Options: deployment.Options{"globs": "*.go", "write_rules": true, "color": "red"}},
		}}
	out, err := target.Render(in)
	require.NoError(t, err)
	require.Len(t, out.Warnings, 2)
	assert.Contains(t, out.Warnings[0], "target codex has an unknown option write_user_promts, which is ignored; did you mean write_user_prompts?")
	assert.Contains(t, out.Warnings[1], "target cursor has an unknown option color, which is ignored; it has: always_apply, description, gitignore, globs")
}

// TestWhatNoOptionWritesIsSaid: a warning names a target that omits a module because its option is off by default, until the option is set.
func TestWhatNoOptionWritesIsSaid(t *testing.T) {
	in := target.Input{Sep: '/', Chosen: []string{"claude_code"}, Place: deployment.Locations{UserHome: "/h", ProjectRoot: "/p", Marked: true},
		Modules: []target.Module{{Module: deployment.Module{ID: "skill:a", Type: deployment.ModuleSkill}}, {Module: deployment.Module{ID: "skill:b", Type: deployment.ModuleSkill}},
			{Module: deployment.Module{ID: "skill:c", Type: deployment.ModuleSkill, Targets: []string{"codex"}}}}}
	for name, c := range map[string]struct {
		scope   deployment.Scope
		options deployment.Options
		want    []string
	}{
		"not set":   {deployment.ScopeBoth, nil, []string{"claude_code does not get skill:a and 1 more; set write_user_skills: true and write_repo_skills: true in the options of claude_code in agentpack.yaml, or false for no warning"}},
		"one scope": {deployment.ScopeProject, deployment.Options{"write_user_skills": false}, []string{"claude_code does not get skill:a and 1 more; set write_repo_skills: true in the options of claude_code in agentpack.yaml, or false for no warning"}},
		"set":       {deployment.ScopeUser, deployment.Options{"write_user_skills": false}, nil},
	} {
		in.Targets = map[string]deployment.TargetConfig{"claude_code": {Scope: c.scope, Options: c.options}}
		out, err := target.Render(in)
		require.NoError(t, err, name)
		assert.Equal(t, c.want, out.Unset, name)
		assert.Empty(t, out.Warnings, name)
	}
}
