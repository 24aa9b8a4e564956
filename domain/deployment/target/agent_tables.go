package target

import (
	"github.com/countersign-dev/countersign/domain/deployment"
)

// The options that switch the rules with single keys; they are on, because such rules do nothing without modules of their types.
const (
	mcpOption      = "write_mcp"
	settingsOption = "write_settings"
)

// tables are how to make each table, in compiled order (agentpack contract §2.7, then what came since). Most callers want one of them.
func tables() []struct {
	name string
	make func() agent
} {
	return []struct {
		name string
		make func() agent
	}{
		{"codex", codex}, {"claude_code", claudeCode}, {"cursor", cursor}, {"vscode", vscode}, {"jetbrains", jetbrains}, {"zed", zed},
		{"opencode", openCode}, {"gemini_cli", geminiCLI}, {"export_dir", exportDir},
	}
}

// AllAgents are the tables in compiled order.
func AllAgents() []agent {
	var all []agent
	for _, t := range tables() {
		all = append(all, t.make())
	}
	return all
}

// TargetNames is every target there is, in compiled order: the order of listings (agentpack contract §2.7).
func TargetNames() []string {
	var names []string
	for _, t := range tables() {
		names = append(names, t.name)
	}
	return names
}

// FindAgent is the table of that name.
func FindAgent(name string) (agent, bool) {
	for _, t := range tables() {
		if t.name == name {
			return t.make(), true
		}
	}
	return agent{}, false
}

func everyScope() []deployment.Scope {
	return []deployment.Scope{deployment.ScopeUser, deployment.ScopeProject, deployment.ScopeBoth}
}

func projectScopes() []deployment.Scope {
	return []deployment.Scope{deployment.ScopeProject, deployment.ScopeBoth}
}

func codex() agent {
	dialect := Dialect{URL: "url", Headers: "http_headers", Env: "env", NoEvents: true}
	own, shared := choice{"skills_dir", []string{"codex"}}, choice{"skills_dir", []string{"agents"}}
	return agent{Name: "codex", Scopes: everyScope(),
		dirs:    []dir{{name: "codex_home", option: "codex_home", otherwise: "~/.codex", env: true}},
		choices: []choice{{"skills_dir", []string{"codex", "agents"}}},
		Rules: []AgentRule{
			{scope: deployment.ScopeUser, Of: deployment.ModuleInstructions, option: "write_agents_global", on: true, root: "{codex_home}", Path: "AGENTS.md", Shape: ShapeAggregate},
			{scope: deployment.ScopeUser, Of: deployment.ModulePrompt, option: "write_user_prompts", on: true, root: "{codex_home}/prompts", Scan: true, Path: "{file}"},
			{scope: deployment.ScopeUser, Of: deployment.ModuleSkill, option: "write_user_skills", on: true, only: own, root: "{codex_home}/skills", Scan: true, Path: "{skill}", Shape: ShapeDirectory},
			{scope: deployment.ScopeUser, Of: deployment.ModuleSkill, option: "write_user_skills", on: true, only: shared, root: "{home}/.agents/skills", Scan: true, Path: "{skill}", Shape: ShapeDirectory},
			{scope: deployment.ScopeProject, Of: deployment.ModuleInstructions, option: "write_agents_repo_root", on: true, root: "{project}", Path: "AGENTS.md", Shape: ShapeAggregate},
			{scope: deployment.ScopeProject, Of: deployment.ModuleSkill, option: "write_repo_skills", on: true, only: own, root: "{project}/.codex/skills", Scan: true, Path: "{skill}", Shape: ShapeDirectory},
			{scope: deployment.ScopeProject, Of: deployment.ModuleSkill, option: "write_repo_skills", on: true, only: shared, root: "{project}/.agents/skills", Scan: true, Path: "{skill}", Shape: ShapeDirectory},
			servers(deployment.ScopeUser, "{codex_home}", document{"config.toml", deployment.FormatTOML}, "mcp_servers", dialect),
			servers(deployment.ScopeProject, "{project}/.codex", document{"config.toml", deployment.FormatTOML}, "mcp_servers", dialect),
			settings(deployment.ScopeUser, "{codex_home}", document{"config.toml", deployment.FormatTOML}),
			settings(deployment.ScopeProject, "{project}/.codex", document{"config.toml", deployment.FormatTOML}),
		}}
}

func claudeCode() agent {
	dialect := Dialect{HTTP: "http", SSE: "sse", URL: "url", Headers: "headers", Env: "env"}
	return agent{Name: "claude_code", Scopes: everyScope(), Rules: []AgentRule{
		{scope: deployment.ScopeUser, Of: deployment.ModuleCommand, option: "write_user_commands", on: true, root: "{home}/.claude/commands", Scan: true, Path: "{file}"},
		{scope: deployment.ScopeProject, Of: deployment.ModuleCommand, option: "write_repo_commands", on: true, root: "{project}/.claude/commands", Scan: true, Path: "{file}"},
		{scope: deployment.ScopeUser, Of: deployment.ModuleSkill, option: "write_user_skills", root: "{home}/.claude/skills", Scan: true, Path: "{skill}", Shape: ShapeDirectory},
		{scope: deployment.ScopeProject, Of: deployment.ModuleSkill, option: "write_repo_skills", root: "{project}/.claude/skills", Scan: true, Path: "{skill}", Shape: ShapeDirectory},
		{scope: deployment.ScopeUser, Of: deployment.ModuleInstructions, option: "write_instructions", root: "{home}/.claude", Path: "CLAUDE.md", Shape: ShapeAggregate},
		{scope: deployment.ScopeProject, Of: deployment.ModuleInstructions, option: "write_instructions", root: "{project}", Path: "CLAUDE.md", Shape: ShapeAggregate},
		servers(deployment.ScopeUser, "{home}", document{".claude.json", deployment.FormatJSON}, "mcpServers", dialect),
		servers(deployment.ScopeProject, "{project}", document{".mcp.json", deployment.FormatJSON}, "mcpServers", dialect),
		settings(deployment.ScopeUser, "{home}/.claude", document{"settings.json", deployment.FormatJSON}),
		settings(deployment.ScopeProject, "{project}/.claude", document{"settings.json", deployment.FormatJSON}),
	}}
}

func cursor() agent {
	return agent{Name: "cursor", Scopes: projectScopes(), Rules: []AgentRule{
		{scope: deployment.ScopeProject, Of: deployment.ModuleInstructions, option: "write_rules", on: true, root: "{project}/.cursor/rules", Scan: true, Path: "{key}.mdc", Shape: ShapeCursorMDC},
		{scope: deployment.ScopeProject, Of: deployment.ModuleSkill, option: "write_skills", root: "{project}/.cursor/skills", Scan: true, Path: "{skill}", Shape: ShapeDirectory},
		{scope: deployment.ScopeProject, Of: deployment.ModuleCommand, option: "write_commands", root: "{project}/.cursor/commands", Scan: true, Path: "{file}"},
		servers(deployment.ScopeProject, "{project}/.cursor", document{"mcp.json", deployment.FormatJSON}, "mcpServers", Dialect{URL: "url", Headers: "headers", Env: "env"}),
	}}
}

func vscode() agent {
	return agent{Name: "vscode", Scopes: projectScopes(), Rules: []AgentRule{
		{scope: deployment.ScopeProject, Of: deployment.ModuleInstructions, option: "write_instructions", on: true, root: "{project}/.github", Path: "copilot-instructions.md", Shape: ShapeAggregate},
		{scope: deployment.ScopeProject, Of: deployment.ModulePrompt, option: "write_prompts", on: true, root: "{project}/.github/prompts", Scan: true, Path: "{prompt}"},
		{scope: deployment.ScopeProject, Of: deployment.ModuleInstructions, option: "instructions_files", root: "{project}/.github/instructions", Scan: true, Path: "{key}.instructions.md", Shape: ShapeCopilotMD},
		servers(deployment.ScopeProject, "{project}/.vscode", document{"mcp.json", deployment.FormatJSONC}, "servers",
			Dialect{Stdio: "stdio", HTTP: "http", SSE: "sse", URL: "url", Headers: "headers", Env: "env"}),
		settings(deployment.ScopeProject, "{project}/.vscode", document{"settings.json", deployment.FormatJSONC}),
	}}
}

func jetbrains() agent {
	return agent{Name: "jetbrains", Scopes: projectScopes(), Rules: []AgentRule{
		{scope: deployment.ScopeProject, Of: deployment.ModuleInstructions, option: "write_guidelines", on: true, root: "{project}/.junie", Scan: true, Path: "guidelines.md", Shape: ShapeAggregate},
	}}
}

func zed() agent {
	return agent{Name: "zed", Scopes: projectScopes(), Rules: []AgentRule{
		{scope: deployment.ScopeProject, Of: deployment.ModuleInstructions, option: "write_rules", on: true, root: "{project}", Path: ".rules", Shape: ShapeAggregate},
		settings(deployment.ScopeProject, "{project}/.zed", document{"settings.json", deployment.FormatJSONC}),
	}}
}

// openCode reads its document as JSON with comments, whatever it is called.
func openCode() agent {
	a := agent{Name: "opencode", Scopes: everyScope(), dirs: []dir{{name: "config", option: "config_dir", otherwise: "~/.config/opencode"}}}
	dialect := Dialect{Stdio: "local", HTTP: "remote", SSE: "remote", URL: "url", Headers: "headers", Env: "environment", List: true}
	for _, at := range []struct {
		scope             deployment.Scope
		documents, assets string
	}{{deployment.ScopeUser, "{config}", "{config}"}, {deployment.ScopeProject, "{project}", "{project}/.opencode"}} {
		a.Rules = append(a.Rules,
			AgentRule{scope: at.scope, Of: deployment.ModuleInstructions, option: "write_instructions", on: true, root: at.documents, Path: "AGENTS.md", Shape: ShapeAggregate},
			AgentRule{scope: at.scope, Of: deployment.ModuleCommand, option: "write_commands", on: true, root: at.assets + "/commands", Scan: true, Path: "{file}"},
			AgentRule{scope: at.scope, Of: deployment.ModulePrompt, option: "write_commands", on: true, root: at.assets + "/commands", Scan: true, Path: "{file}"},
			AgentRule{scope: at.scope, Of: deployment.ModuleSkill, option: "write_skills", on: true, root: at.assets + "/skills", Scan: true, Path: "{skill}", Shape: ShapeDirectory},
			servers(at.scope, at.documents, document{"opencode.json", deployment.FormatJSONC}, "mcp", dialect),
			settings(at.scope, at.documents, document{"opencode.json", deployment.FormatJSONC}))
	}
	return a
}

func geminiCLI() agent {
	a := agent{Name: "gemini_cli", Scopes: everyScope()}
	dialect := Dialect{URL: "httpUrl", Events: "url", Headers: "headers", Env: "env"}
	for _, at := range []struct {
		scope             deployment.Scope
		documents, assets string
	}{{deployment.ScopeUser, "{home}/.gemini", "{home}/.gemini"}, {deployment.ScopeProject, "{project}", "{project}/.gemini"}} {
		a.Rules = append(a.Rules,
			AgentRule{scope: at.scope, Of: deployment.ModuleInstructions, option: "write_instructions", on: true, root: at.documents, Path: "GEMINI.md", Shape: ShapeAggregate},
			AgentRule{scope: at.scope, Of: deployment.ModuleCommand, option: "write_commands", on: true, root: at.assets + "/commands", Scan: true, Path: "{stem}.toml", Shape: ShapeGeminiTOML},
			AgentRule{scope: at.scope, Of: deployment.ModulePrompt, option: "write_commands", on: true, root: at.assets + "/commands", Scan: true, Path: "{stem}.toml", Shape: ShapeGeminiTOML},
			AgentRule{scope: at.scope, Of: deployment.ModuleSkill, option: "write_skills", on: true, root: at.assets + "/skills", Scan: true, Path: "{skill}", Shape: ShapeDirectory},
			servers(at.scope, at.assets, document{"settings.json", deployment.FormatJSON}, "mcpServers", dialect),
			settings(at.scope, at.assets, document{"settings.json", deployment.FormatJSON}))
	}
	return a
}

// exportDir writes the four contract types into a directory of its own, for agents that nobody made a table for.
func exportDir() agent {
	a := agent{Name: "export_dir", Scopes: everyScope(), scan: "scan_extras", dirs: []dir{{name: "root", option: "root", relative: true, split: true}}}
	for _, scope := range []deployment.Scope{deployment.ScopeUser, deployment.ScopeProject} {
		a.Rules = append(a.Rules,
			AgentRule{scope: scope, Of: deployment.ModuleInstructions, root: "{root}", Scan: true, Path: "AGENTS.md", Shape: ShapeAggregate},
			AgentRule{scope: scope, Of: deployment.ModuleSkill, root: "{root}", Scan: true, Path: "skills/{skill}", Shape: ShapeDirectory},
			AgentRule{scope: scope, Of: deployment.ModulePrompt, root: "{root}", Scan: true, Path: "prompts/{file}"},
			AgentRule{scope: scope, Of: deployment.ModuleCommand, root: "{root}", Scan: true, Path: "commands/{file}"})
	}
	return a
}

// document is a file that keys are put into.
type document struct {
	name   string
	format deployment.Format
}

// servers is the rule for the MCP servers of one scope; at is the key that they stand below.
func servers(scope deployment.Scope, root string, doc document, at string, d Dialect) AgentRule {
	return AgentRule{scope: scope, Of: deployment.ModuleMCP, option: mcpOption, on: true, root: root, Path: doc.name, Shape: ShapeKeys, Format: doc.format, At: at, Dialect: d}
}

// settings is the rule for the settings of one scope.
func settings(scope deployment.Scope, root string, doc document) AgentRule {
	return AgentRule{scope: scope, Of: deployment.ModuleSettings, option: settingsOption, on: true, root: root, Path: doc.name, Shape: ShapeKeys, Format: doc.format}
}
