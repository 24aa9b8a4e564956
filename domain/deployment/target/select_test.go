package target_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/target"
	"github.com/countersign-dev/countersign/domain/fault"
)

func TestNamesAndScopes(t *testing.T) {
	assert.Equal(t, []string{"codex", "claude_code", "cursor", "vscode", "jetbrains", "zed", "opencode", "gemini_cli", "export_dir",
		"antigravity", "copilot_cli", "kilo", "cline", "devin", "amp", "qwen", "factory", "kiro", "goose", "warp", "pi", "ai_assistant"}, target.TargetNames())
	for _, name := range target.TargetNames() {
		want := []deployment.Scope{deployment.ScopeUser, deployment.ScopeProject, deployment.ScopeBoth}
		if name == "ai_assistant" { // it reads nothing in the home directory
			want = want[1:]
		}
		assert.Equal(t, want, target.TargetScopes(name), name)
	}
	assert.Nil(t, target.TargetScopes("emacs"))
}

func TestSorted(t *testing.T) {
	cfg := map[string]deployment.TargetConfig{"zed": {}, "codex": {}, "cursor": {}}
	for filter, want := range map[string][]string{"all": {"codex", "cursor", "zed"}, "": {"codex", "cursor", "zed"}, "zed": {"zed"}} {
		got, err := target.SelectTargets(cfg, filter)
		require.NoError(t, err)
		assert.Equal(t, want, got, filter)
	}
	_, err := target.SelectTargets(cfg, "vscode")
	require.ErrorIs(t, err, deployment.ErrConfig)
	details := fault.From(err).Details.(deployment.Details)
	assert.Equal(t, "vscode", details["target"])
	assert.Contains(t, details["hint"], "targets.vscode")

	_, err = target.SelectTargets(cfg, "emacs")
	require.ErrorIs(t, err, deployment.ErrTarget)
	details = fault.From(err).Details.(deployment.Details)
	assert.Equal(t, deployment.Details{
		"target": "emacs", "reason_code": "target_filter_unsupported",
		"next_actions": []string{"inspect_help_json", "retry_with_supported_target"},
		"allowed":      append([]string{"all"}, target.TargetNames()...),
	}, details)
}
