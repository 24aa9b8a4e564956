package deployment_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/countersign-dev/countersign/domain/deployment"
)

func TestOf(t *testing.T) {
	for file, want := range map[string]string{
		"/p/.mcp.json": "MCP servers", "/h/.claude.json": "MCP servers", "/p/.vscode/mcp.json": "MCP servers", "/h/.claude/settings.json": "settings: permissions, hooks, servers",
		"/h/.codex/config.toml": "settings: permissions, hooks, servers", "/p/opencode.json": "settings: permissions, hooks, servers", "/h/.claude/hooks/guard.json": "a hook",
		"/p/.opencode/plugin/x.ts": "a plugin", "/p/.claude/skills/x/scripts/run.sh": "a program", "/p/.claude/skills/x/run": "", "/p/AGENTS.md": "", "/src/plugins/hooks/shop/sub/AGENTS.md": "", "/p/.claude/commands/x.md": "",
		"C:/Users/a/.claude/Settings.json": "settings: permissions, hooks, servers",
	} {
		assert.Equal(t, want, deployment.HandoverOf(file, deployment.PlainMode), file)
	}
	assert.Equal(t, "a program", deployment.HandoverOf("/p/.claude/skills/x/run", deployment.ExecutableMode))
}

// TestRestrains: the loss of a file that may have forbidden something is reported; the loss of a program is not.
func TestRestrains(t *testing.T) {
	for file, want := range map[string]bool{"/h/.claude/settings.json": true, "/p/.claude/hooks/guard.sh": true, "/p/.claude/skills/x/run.sh": false, "/p/.mcp.json": false, "/p/AGENTS.md": false} {
		assert.Equal(t, want, deployment.IsRestrictive(file), file)
	}
}

func TestText(t *testing.T) {
	for text, want := range map[string]string{
		"---\ndescription: x\n---\n!`git status`": "a command that runs programs", "prompt = \"!{git diff}\"": "a command that runs programs",
		"---\nallowed-tools: Bash(git:*)\n---\nlook": "permission to use tools without asking", "---\nname: x\ntools:\n  bash: true\n---\n": "permission to use tools without asking",
		"---\ndescription: tools: none\n---\nallowed-tools: in the text": "", "plain words! and more": "", "": "",
	} {
		assert.Equal(t, want, deployment.TextHandover([]byte(text)), text)
	}
	assert.True(t, deployment.MayHandOver("/p/.claude/commands/x.md"))
	assert.False(t, deployment.MayHandOver("/p/AGENTS.md"))
}
