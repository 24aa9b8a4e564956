package deployment

import (
	"bytes"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

const (
	settings = "settings: permissions, hooks, servers"
	hook     = "a hook"
)

// HandoverOf describes in a few words what a file gives an agent besides text, judged by its path and whether it is executable; it returns "" for a
// file that is only read. The path has slashes.
func HandoverOf(file string, mode fs.FileMode) string {
	dirs := strings.Split(strings.ToLower(file), "/")
	name := dirs[len(dirs)-1]
	dirs = within(dirs[:len(dirs)-1])
	has := func(names ...string) bool {
		return slices.ContainsFunc(dirs, func(dir string) bool { return slices.Contains(names, dir) })
	}
	switch {
	case slices.Contains([]string{".mcp.json", "mcp.json", ".claude.json", "mcp_config.json", "mcp-config.json"}, name):
		return "MCP servers"
	case slices.Contains([]string{"settings.json", "settings.local.json", "config.toml", "opencode.json", "opencode.jsonc", "config.json", "permissions.json", "requirements.toml",
		"settings.jsonc", "kilo.json", "kilo.jsonc", "cli.json", "cli-config.json", "permissions-config.json", "allowlist.json"}, name):
		return settings
	case has("hooks") || strings.HasPrefix(name, "hooks."):
		return hook
	case has("plugins", "plugin", "extensions", ".claude-plugin") || name == "plugin.json":
		return "a plugin"
	case has("tool", "tools") && program(name):
		return "a tool"
	case mode&0o111 != 0 || program(name):
		return "a program"
	}
	return ""
}

// IsRestrictive reports whether an agent may be able to do more without the file: settings contain prohibitions, and a hook may forbid something.
func IsRestrictive(file string) bool {
	what := HandoverOf(file, 0)
	return what == settings || what == hook
}

// within returns the directories that belong to the agent: those from the last one that begins with a dot, else the last two. The location of the
// project is irrelevant.
func within(dirs []string) []string {
	for i := len(dirs) - 1; i >= 0; i-- {
		if strings.HasPrefix(dirs[i], ".") {
			return dirs[i:]
		}
	}
	return dirs[max(0, len(dirs)-2):]
}

// program reports whether an agent would run the file rather than read it.
func program(name string) bool {
	return slices.Contains([]string{".sh", ".bash", ".zsh", ".js", ".mjs", ".cjs", ".ts", ".mts", ".py", ".rb", ".pl", ".ps1", ".bat", ".cmd", ".exe"}, path.Ext(name))
}

// MayHandOver reports whether the text of a file may give an agent more than text: a command, a prompt, a skill or an agent.
func MayHandOver(file string) bool {
	dirs := within(strings.Split(strings.ToLower(path.Dir(file)), "/"))
	return slices.ContainsFunc(dirs, func(dir string) bool {
		return slices.Contains([]string{"commands", "command", "prompts", "skills", "skill", "agents", "agent", "modes", "mode", "workflows"}, dir)
	})
}

// TextHandover describes in a few words what the text of such a file gives an agent: shell commands that run as soon as it is used, permission to run
// some, hooks or servers of its own. It returns "" for none.
func TextHandover(doc []byte) string {
	if RunsShell(doc) || bytes.Contains(doc, []byte("!{")) {
		return "a command that runs programs"
	}
	head, ok := bytes.CutPrefix(bytes.TrimPrefix(doc, []byte("\ufeff")), []byte("---"))
	if !ok {
		return ""
	}
	head, _, _ = bytes.Cut(head, []byte("\n---"))
	lower := bytes.ToLower(head)
	leave := func(word string) bool { return bytes.Contains(lower, []byte(word)) }
	if !slices.ContainsFunc([]string{"tools", "permission", "hooks", "mcpservers"}, leave) {
		return "" // most contain none of it, and compiling the expression takes longer than reading a file
	}
	if regexp.MustCompile(`(?mi)^\s*"?(allowed-tools|tools|permission|permissions|permissionMode|hooks|mcpServers)"?\s*:`).Match(head) {
		return "permission to use tools without asking"
	}
	return ""
}
