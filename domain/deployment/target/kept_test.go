package target_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/target"
)

func object(t *testing.T, text string) target.Object {
	o, err := target.ParseObject([]byte(text))
	require.NoError(t, err)
	return o
}

// TestServersAreDescribed: a server in an agent's dialect is described in the neutral form, which gives exactly the same server again.
func TestServersAreDescribed(t *testing.T) {
	dialect := func(agent string) target.Dialect {
		a, ok := target.FindAgent(agent)
		require.True(t, ok)
		return a.Rules[slices.IndexFunc(a.Rules, func(r target.AgentRule) bool { return r.Of == deployment.ModuleMCP })].Dialect
	}
	for _, c := range []struct{ agent, theirs, ours string }{
		{"claude_code", `{"type":"http","url":"u","headers":{"A":"${B}"}}`, `{"url":"u","headers":{"A":"${B}"}}`},
		{"claude_code", `{"type":"sse","url":"u"}`, `{"type":"sse","url":"u"}`},
		{"claude_code", `{"command":"c","args":[]}`, `{"command":"c","args":[]}`},
		{"claude_code", `{"type":"stdio","command":"c","env":{}}`, `{"type":"stdio","command":"c","env":{}}`},
		{"codex", `{"command":"c","env_vars":["T"],"env":{"A":"1"},"enabled":false}`, `{"command":"c","env":{"A":"1","T":"${T}"},"enabled":false}`},
		{"codex", `{"url":"u","bearer_token_env_var":"T","env_http_headers":{"X":"Y"}}`, `{"url":"u","headers":{"Authorization":"Bearer ${T}","X":"${Y}"}}`},
		{"cursor", `{"command":"c","env":{"A":"x-${env:B}-${env:C}"}}`, `{"command":"c","env":{"A":"x-${B}-${C}"}}`},
		{"opencode", `{"type":"local","command":["c","a"],"environment":{"A":"{env:B}"},"enabled":true}`, `{"command":"c","args":["a"],"env":{"A":"${B}"},"enabled":true}`},
		{"opencode", `{"type":"remote","url":"u"}`, `{"url":"u"}`},
		{"gemini_cli", `{"url":"u","timeout":5}`, `{"type":"sse","url":"u","timeout":5}`},
		{"gemini_cli", `{"httpUrl":"u"}`, `{"url":"u"}`},
	} {
		got, err := dialect(c.agent).Described(object(t, c.theirs))
		require.NoError(t, err, "%s %s", c.agent, c.theirs)
		text, err := target.EncodeValue(got)
		require.NoError(t, err)
		assert.JSONEq(t, c.ours, string(text), c.agent)
	}
	for agent, text := range map[string]string{"claude_code": `{"type":"local","command":"c"}`, "gemini_cli": `{"type":"stdio","command":"c"}`, "opencode": `{"command":["c"]}`, "cursor": `{}`} {
		_, err := dialect(agent).Described(object(t, text))
		assert.ErrorIs(t, err, target.ErrDialect, "%s %s", agent, text)
	}
}

// TestInstructionsOfTheirOwn: a rule keeps its name and its frontmatter to the byte, is not in the file of all instructions, and is traced back.
func TestInstructionsOfTheirOwn(t *testing.T) {
	rule := module("instructions:go", deployment.ModuleInstructions, "AGENTS.md", "Gofmt.")
	for agent, file := range map[string]string{"claude_code": "go/style.md", "cursor": "style.mdc", "vscode": "go.instructions.md"} {
		more := module("instructions:go", deployment.ModuleInstructions, agent+"/"+file, "---\nx: 'y' # mine\n---\n\n").Tree[0]
		rule.Tree = append(rule.Tree, more)
	}
	rule.Tree.Sort()
	s := with([]target.Module{rule}, "claude_code", "cursor", "vscode")
	out := s.render(t)
	text := map[string]string{}
	for _, f := range out.Files {
		text[f.Path] = string(f.Content.Data)
	}
	const whole = "---\nx: 'y' # mine\n---\n\nGofmt."
	assert.Equal(t, map[string]string{"/w/app/.claude/rules/go/style.md": whole, "/h/.claude/rules/go/style.md": whole, "/w/app/.cursor/rules/style.mdc": whole,
		"/w/app/.github/instructions/go.instructions.md": whole, "/h/.copilot/instructions/go.instructions.md": whole}, text)

	file := out.Files[slices.IndexFunc(out.Files, func(f deployment.Desired) bool { return f.Target == "cursor" })]
	back, err := target.Invert(target.DriftedFile{Input: s.Input, File: file, Actual: []byte(whole + "\nMore.")})
	require.NoError(t, err)
	require.Len(t, back.Edits, 1)
	assert.Equal(t, "AGENTS.md", back.Edits[0].Path)
	assert.Equal(t, "Gofmt.\nMore.", string(back.Edits[0].Data))
	back, err = target.Invert(target.DriftedFile{Input: s.Input, File: file, Actual: []byte("x" + whole)})
	require.NoError(t, err)
	assert.Equal(t, target.ReasonHeaderChanged, back.Reason)
}

func TestNamesOfModules(t *testing.T) {
	skill := module("skill:project-x-local", deployment.ModuleSkill, "SKILL.md", "x")
	skill.Called = "local"
	command := module("command:git-tidy", deployment.ModuleCommand, "tidy.md", "---\ndescription: x\n---\nx")
	command.Called = "git/tidy.md"
	out := with([]target.Module{command, skill}, "gemini_cli").render(t)
	var paths []string
	for _, f := range out.Files {
		paths = append(paths, f.Path)
	}
	assert.Equal(t, []string{"/h/.gemini/commands/git/tidy.toml", "/h/.gemini/skills/local/SKILL.md", "/w/app/.gemini/commands/git/tidy.toml", "/w/app/.gemini/skills/local/SKILL.md"}, paths)
}

// TestKeptTables: every line of the tables is valid.
func TestKeptTables(t *testing.T) {
	in := with(nil).Input
	all := target.KeptApart(in)
	assert.Greater(t, len(all), 100)
	reasons := []string{target.KeptCredentials, target.KeptState, target.KeptPersonal, target.KeptKind, target.KeptUnread, target.KeptShadow, target.KeptCode}
	for _, k := range all {
		assert.Contains(t, reasons, k.Reason, k.Path)
		assert.True(t, strings.HasPrefix(k.Path, "/"), k.Path)
		assert.Contains(t, []deployment.Scope{deployment.ScopeUser, deployment.ScopeProject}, k.Scope, k.Path)
	}
	assert.Empty(t, target.CheckTables())
	assert.True(t, target.OwnSetting("claude_code", "permissions"))
	assert.False(t, target.OwnSetting("claude_code", "mcpServers"), "servers are modules of their own")
	assert.False(t, target.OwnSetting("codex", "projects"))
	assert.True(t, target.OwnSetting("vscode", "chat.tools.terminal"))
	assert.False(t, target.OwnSetting("vscode", "editor.fontSize"))
}

func TestCommandsOfTOML(t *testing.T) {
	text, err := target.CommandOfTOML([]byte("prompt = \"Say {{args}} !{ls}\"\ndescription = 'It \"says\"'\n"))
	require.NoError(t, err)
	assert.Equal(t, "---\ndescription: \"It \\\"says\\\"\"\n---\nSay $ARGUMENTS !`ls`", string(text))
	for _, bad := range []string{"description = 'x'\n", "prompt = 'x'\nmodel = 'y'\n", "prompt = 'say $ARGUMENTS'\n", "no"} {
		_, err := target.CommandOfTOML([]byte(bad))
		assert.ErrorIs(t, err, target.ErrText, bad)
	}
}
