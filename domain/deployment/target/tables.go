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
	make func() Agent
} {
	return []struct {
		name string
		make func() Agent
	}{
		{"codex", codex}, {"claude_code", claudeCode}, {"cursor", cursor}, {"vscode", vscode}, {"jetbrains", jetbrains}, {"zed", zed},
		{"opencode", openCode}, {"gemini_cli", geminiCLI}, {"export_dir", exportDir},
	}
}

// AgentAll are the tables in compiled order.
func AgentAll() []Agent {
	var all []Agent
	for _, t := range tables() {
		all = append(all, t.make())
	}
	return all
}

// AgentNames are the agents' names in compiled order.
func AgentNames() []string {
	var names []string
	for _, t := range tables() {
		names = append(names, t.name)
	}
	return names
}

// Find is the table of that name.
func Find(name string) (Agent, bool) {
	for _, t := range tables() {
		if t.name == name {
			return t.make(), true
		}
	}
	return Agent{}, false
}

func everyScope() []deployment.Scope {
	return []deployment.Scope{deployment.User, deployment.Project, deployment.Both}
}

func projectScopes() []deployment.Scope {
	return []deployment.Scope{deployment.Project, deployment.Both}
}

func codex() Agent {
	dialect := Dialect{URL: "url", Headers: "http_headers", Env: "env", NoEvents: true}
	own, shared := choice{"skills_dir", []string{"codex"}}, choice{"skills_dir", []string{"agents"}}
	return Agent{Name: "codex", Scopes: everyScope(),
		dirs:    []dir{{name: "codex_home", option: "codex_home", otherwise: "~/.codex", env: true}},
		choices: []choice{{"skills_dir", []string{"codex", "agents"}}},
		Rules: []Rule{
			{scope: deployment.User, Of: deployment.Instructions, option: "write_agents_global", on: true, root: "{codex_home}", Path: "AGENTS.md", Shape: Aggregate},
			{scope: deployment.User, Of: deployment.Prompt, option: "write_user_prompts", on: true, root: "{codex_home}/prompts", Scan: true, Path: "{file}"},
			{scope: deployment.User, Of: deployment.Skill, option: "write_user_skills", on: true, only: own, root: "{codex_home}/skills", Scan: true, Path: "{skill}", Shape: Directory},
			{scope: deployment.User, Of: deployment.Skill, option: "write_user_skills", on: true, only: shared, root: "{home}/.agents/skills", Scan: true, Path: "{skill}", Shape: Directory},
			{scope: deployment.Project, Of: deployment.Instructions, option: "write_agents_repo_root", on: true, root: "{project}", Path: "AGENTS.md", Shape: Aggregate},
			{scope: deployment.Project, Of: deployment.Skill, option: "write_repo_skills", on: true, only: own, root: "{project}/.codex/skills", Scan: true, Path: "{skill}", Shape: Directory},
			{scope: deployment.Project, Of: deployment.Skill, option: "write_repo_skills", on: true, only: shared, root: "{project}/.agents/skills", Scan: true, Path: "{skill}", Shape: Directory},
			servers(deployment.User, "{codex_home}", document{"config.toml", deployment.TOML}, "mcp_servers", dialect),
			servers(deployment.Project, "{project}/.codex", document{"config.toml", deployment.TOML}, "mcp_servers", dialect),
			settings(deployment.User, "{codex_home}", document{"config.toml", deployment.TOML}),
			settings(deployment.Project, "{project}/.codex", document{"config.toml", deployment.TOML}),
		}}
}

func claudeCode() Agent {
	dialect := Dialect{HTTP: "http", SSE: "sse", URL: "url", Headers: "headers", Env: "env"}
	return Agent{Name: "claude_code", Scopes: everyScope(), Rules: []Rule{
		{scope: deployment.User, Of: deployment.Command, option: "write_user_commands", on: true, root: "{home}/.claude/commands", Scan: true, Path: "{file}"},
		{scope: deployment.Project, Of: deployment.Command, option: "write_repo_commands", on: true, root: "{project}/.claude/commands", Scan: true, Path: "{file}"},
		{scope: deployment.User, Of: deployment.Skill, option: "write_user_skills", root: "{home}/.claude/skills", Scan: true, Path: "{skill}", Shape: Directory},
		{scope: deployment.Project, Of: deployment.Skill, option: "write_repo_skills", root: "{project}/.claude/skills", Scan: true, Path: "{skill}", Shape: Directory},
		{scope: deployment.User, Of: deployment.Instructions, option: "write_instructions", root: "{home}/.claude", Path: "CLAUDE.md", Shape: Aggregate},
		{scope: deployment.Project, Of: deployment.Instructions, option: "write_instructions", root: "{project}", Path: "CLAUDE.md", Shape: Aggregate},
		servers(deployment.User, "{home}", document{".claude.json", deployment.JSON}, "mcpServers", dialect),
		servers(deployment.Project, "{project}", document{".mcp.json", deployment.JSON}, "mcpServers", dialect),
		settings(deployment.User, "{home}/.claude", document{"settings.json", deployment.JSON}),
		settings(deployment.Project, "{project}/.claude", document{"settings.json", deployment.JSON}),
	}}
}

func cursor() Agent {
	return Agent{Name: "cursor", Scopes: projectScopes(), Rules: []Rule{
		{scope: deployment.Project, Of: deployment.Instructions, option: "write_rules", on: true, root: "{project}/.cursor/rules", Scan: true, Path: "{key}.mdc", Shape: CursorMDC},
		{scope: deployment.Project, Of: deployment.Skill, option: "write_skills", root: "{project}/.cursor/skills", Scan: true, Path: "{skill}", Shape: Directory},
		{scope: deployment.Project, Of: deployment.Command, option: "write_commands", root: "{project}/.cursor/commands", Scan: true, Path: "{file}"},
		servers(deployment.Project, "{project}/.cursor", document{"mcp.json", deployment.JSON}, "mcpServers", Dialect{URL: "url", Headers: "headers", Env: "env"}),
	}}
}

func vscode() Agent {
	return Agent{Name: "vscode", Scopes: projectScopes(), Rules: []Rule{
		{scope: deployment.Project, Of: deployment.Instructions, option: "write_instructions", on: true, root: "{project}/.github", Path: "copilot-instructions.md", Shape: Aggregate},
		{scope: deployment.Project, Of: deployment.Prompt, option: "write_prompts", on: true, root: "{project}/.github/prompts", Scan: true, Path: "{prompt}"},
		{scope: deployment.Project, Of: deployment.Instructions, option: "instructions_files", root: "{project}/.github/instructions", Scan: true, Path: "{key}.instructions.md", Shape: CopilotMD},
		servers(deployment.Project, "{project}/.vscode", document{"mcp.json", deployment.JSONC}, "servers",
			Dialect{Stdio: "stdio", HTTP: "http", SSE: "sse", URL: "url", Headers: "headers", Env: "env"}),
		settings(deployment.Project, "{project}/.vscode", document{"settings.json", deployment.JSONC}),
	}}
}

func jetbrains() Agent {
	return Agent{Name: "jetbrains", Scopes: projectScopes(), Rules: []Rule{
		{scope: deployment.Project, Of: deployment.Instructions, option: "write_guidelines", on: true, root: "{project}/.junie", Scan: true, Path: "guidelines.md", Shape: Aggregate},
	}}
}

func zed() Agent {
	return Agent{Name: "zed", Scopes: projectScopes(), Rules: []Rule{
		{scope: deployment.Project, Of: deployment.Instructions, option: "write_rules", on: true, root: "{project}", Path: ".rules", Shape: Aggregate},
		settings(deployment.Project, "{project}/.zed", document{"settings.json", deployment.JSONC}),
	}}
}

// openCode reads its document as JSON with comments, whatever it is called.
func openCode() Agent {
	a := Agent{Name: "opencode", Scopes: everyScope(), dirs: []dir{{name: "config", option: "config_dir", otherwise: "~/.config/opencode"}}}
	dialect := Dialect{Stdio: "local", HTTP: "remote", SSE: "remote", URL: "url", Headers: "headers", Env: "environment", List: true}
	for _, at := range []struct {
		scope             deployment.Scope
		documents, assets string
	}{{deployment.User, "{config}", "{config}"}, {deployment.Project, "{project}", "{project}/.opencode"}} {
		a.Rules = append(a.Rules,
			Rule{scope: at.scope, Of: deployment.Instructions, option: "write_instructions", on: true, root: at.documents, Path: "AGENTS.md", Shape: Aggregate},
			Rule{scope: at.scope, Of: deployment.Command, option: "write_commands", on: true, root: at.assets + "/commands", Scan: true, Path: "{file}"},
			Rule{scope: at.scope, Of: deployment.Prompt, option: "write_commands", on: true, root: at.assets + "/commands", Scan: true, Path: "{file}"},
			Rule{scope: at.scope, Of: deployment.Skill, option: "write_skills", on: true, root: at.assets + "/skills", Scan: true, Path: "{skill}", Shape: Directory},
			servers(at.scope, at.documents, document{"opencode.json", deployment.JSONC}, "mcp", dialect),
			settings(at.scope, at.documents, document{"opencode.json", deployment.JSONC}))
	}
	return a
}

func geminiCLI() Agent {
	a := Agent{Name: "gemini_cli", Scopes: everyScope()}
	dialect := Dialect{URL: "httpUrl", Events: "url", Headers: "headers", Env: "env"}
	for _, at := range []struct {
		scope             deployment.Scope
		documents, assets string
	}{{deployment.User, "{home}/.gemini", "{home}/.gemini"}, {deployment.Project, "{project}", "{project}/.gemini"}} {
		a.Rules = append(a.Rules,
			Rule{scope: at.scope, Of: deployment.Instructions, option: "write_instructions", on: true, root: at.documents, Path: "GEMINI.md", Shape: Aggregate},
			Rule{scope: at.scope, Of: deployment.Command, option: "write_commands", on: true, root: at.assets + "/commands", Scan: true, Path: "{stem}.toml", Shape: GeminiTOML},
			Rule{scope: at.scope, Of: deployment.Prompt, option: "write_commands", on: true, root: at.assets + "/commands", Scan: true, Path: "{stem}.toml", Shape: GeminiTOML},
			Rule{scope: at.scope, Of: deployment.Skill, option: "write_skills", on: true, root: at.assets + "/skills", Scan: true, Path: "{skill}", Shape: Directory},
			servers(at.scope, at.assets, document{"settings.json", deployment.JSON}, "mcpServers", dialect),
			settings(at.scope, at.assets, document{"settings.json", deployment.JSON}))
	}
	return a
}

// exportDir writes the four contract types into a directory of its own, for agents that nobody made a table for.
func exportDir() Agent {
	a := Agent{Name: "export_dir", Scopes: everyScope(), scan: "scan_extras", dirs: []dir{{name: "root", option: "root", relative: true, split: true}}}
	for _, scope := range []deployment.Scope{deployment.User, deployment.Project} {
		a.Rules = append(a.Rules,
			Rule{scope: scope, Of: deployment.Instructions, root: "{root}", Scan: true, Path: "AGENTS.md", Shape: Aggregate},
			Rule{scope: scope, Of: deployment.Skill, root: "{root}", Scan: true, Path: "skills/{skill}", Shape: Directory},
			Rule{scope: scope, Of: deployment.Prompt, root: "{root}", Scan: true, Path: "prompts/{file}"},
			Rule{scope: scope, Of: deployment.Command, root: "{root}", Scan: true, Path: "commands/{file}"})
	}
	return a
}

// document is a file that keys are put into.
type document struct {
	name   string
	format deployment.Format
}

// servers is the rule for the MCP servers of one scope; at is the key that they stand below.
func servers(scope deployment.Scope, root string, doc document, at string, d Dialect) Rule {
	return Rule{scope: scope, Of: deployment.MCP, option: mcpOption, on: true, root: root, Path: doc.name, Shape: Keys, Format: doc.format, At: at, Dialect: d}
}

// settings is the rule for the settings of one scope.
func settings(scope deployment.Scope, root string, doc document) Rule {
	return Rule{scope: scope, Of: deployment.Settings, option: settingsOption, on: true, root: root, Path: doc.name, Shape: Keys, Format: doc.format}
}
