package target_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/target"
)

// TestWhatAgentsMDSaysIsWrittenOnce: CLAUDE.md imports AGENTS.md if both have the same content, and has its own content otherwise.
func TestWhatAgentsMDSaysIsWrittenOnce(t *testing.T) {
	one, two := module("instructions:one", deployment.ModuleInstructions, "AGENTS.md", "# one\n"), module("instructions:two", deployment.ModuleInstructions, "AGENTS.md", "# two\n")
	both := func(modules ...target.Module) sample {
		return with(modules).set("codex", deployment.ScopeBoth).set("claude_code", deployment.ScopeBoth, "write_instructions", true)
	}
	text := func(s sample, path string) string {
		t.Helper()
		return string(fileOf(t, s.render(t), path).Content.Data)
	}
	for name, s := range map[string]sample{
		"one module":      both(one),
		"several":         both(one, two),
		"several writers": both(one, two).set("opencode", deployment.ScopeProject).set("qwen", deployment.ScopeProject),
		"for Claude and Codex": func() sample {
			s := both(one, two)
			s.Modules[1].Targets = []string{"claude_code", "codex"}
			return s
		}(),
	} {
		assert.Equal(t, "@AGENTS.md\n", text(s, "/w/app/CLAUDE.md"), name)
		assert.Contains(t, text(s, "/h/.claude/CLAUDE.md"), "# one", "%s: no AGENTS.md stands beside the user's", name)
	}
	out := both(one, two).render(t)
	assert.Equal(t, []string{"instructions:one", "instructions:two"}, fileOf(t, out, "/w/app/CLAUDE.md").Modules)
	assert.Empty(t, out.Warnings)
	for name, s := range map[string]sample{
		"asked to copy":  both(one).set("claude_code", deployment.ScopeBoth, "write_instructions", true, "agents_md", "copy"),
		"a block alone":  both(one).set("codex", deployment.ScopeProject, "instructions_mode", "section"),
		"no AGENTS.md":   both(one).set("codex", deployment.ScopeUser),
		"not Claude's":   both(one, two).only("instructions:two", "codex"),
		"Claude's alone": both(one, two).only("instructions:two", "claude_code"),
		"a rule of its own": both(one, two).set("claude_code", deployment.ScopeBoth, "write_instructions", true, "modules",
			map[string]any{"instructions:two": map[string]any{"globs": []any{"**/*.ts"}}}),
	} {
		assert.Contains(t, text(s, "/w/app/CLAUDE.md"), "# one", name)
	}
	_, err := target.Render(both(one).set("claude_code", deployment.ScopeBoth, "agents_md", "maybe").Input)
	require.ErrorIs(t, err, deployment.ErrConfig)

	alone := both(one)
	alone.Chosen = []string{"claude_code"}
	out = alone.render(t)
	assert.Equal(t, "@AGENTS.md\n", string(fileOf(t, out, "/w/app/CLAUDE.md").Content.Data), "it does not depend on what is deployed together")
	assert.Equal(t, []string{"/w/app/CLAUDE.md imports AGENTS.md, which is written for codex; deploy that target too"}, out.Warnings)

	for _, s := range []sample{both(one), both(one, two)} {
		f := fileOf(t, s.render(t), "/w/app/CLAUDE.md")
		assert.Equal(t, target.Inverse{}, s.invert(t, f, f.Content.Data))
		got := s.invert(t, f, []byte("@AGENTS.md\n\nMine.\n"))
		assert.Equal(t, target.ReasonUnsupported, got.Reason, "what is written into it is no edit of a module")
		assert.Empty(t, got.Edits)
	}
}
