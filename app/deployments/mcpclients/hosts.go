package mcpclients

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/target"
	"github.com/countersign-dev/countersign/domain/fault"
)

// Host is an agent host. Where its documents lie and in what words they describe a server is in the table of its agent, as far as deployments
// go there; the rest is here.
type Host struct {
	Name, Title string
	Aliases     []string
	Program     string // its own command
	Next        string // what has it read its configuration again
	Note        string // what a project's document needs besides; may be empty

	agent  string                              // its table
	user   func(w Locations) spot              // its user's document, where the table has none or the environment moves it; nil: the table's
	marks  func(w Locations) []string          // directories that are there once the host has run
	local  target.Object                       // keys of an entry that starts a program, besides the program
	remote target.Object                       // keys of an entry that leads to a server
	add    func(h Host, o Connection) []string // its own command that adds the entry; nil: it has none
	wait   time.Duration                       // how long the server waits for a person in an entry with these keys; zero: as long as it does by itself
	bare   time.Duration                       // the same in an entry that the host's own command has made
}

// spot is a document that may go by several names in one directory.
type spot struct {
	dir   string
	names []string
}

// Locations is where documents lie.
type Locations struct {
	Place  deployment.Place
	System string              // linux, darwin or windows
	Env    func(string) string // it may move documents
	Paths  target.Paths
}

// Join is a slash path below dir.
func (w Locations) Join(dir, below string) string { return w.Paths.Join(dir, below) }

// home is a slash path below the user's home.
func (w Locations) home(below string) string { return w.Join(w.Place.UserHome, below) }

// env is the directory that a variable names, or another. A relative one is nobody's.
func (w Locations) env(variable, otherwise string) string {
	if dir := strings.TrimSpace(w.Env(variable)); w.Paths.Absolute(dir) {
		return w.Paths.Clean(dir)
	}
	return otherwise
}

// config is the directory of the user's configuration, by the convention of the system for desktop programs.
func (w Locations) config() string {
	switch w.System {
	case "darwin":
		return w.home("Library/Application Support")
	case "windows":
		return w.env("APPDATA", w.home("AppData/Roaming"))
	}
	return w.xdg()
}

func (w Locations) xdg() string { return w.env("XDG_CONFIG_HOME", w.home(".config")) }

func (w Locations) gemini() string {
	return w.Join(w.env("GEMINI_CLI_HOME", w.Place.UserHome), ".gemini")
}

// codexStartup is how many seconds Codex waits for the server to start.
const codexStartup = 20

// AllHosts are those that can be connected, in the order in which they are listed.
func AllHosts() []Host {
	return []Host{
		{Name: "claude-code", Title: "Claude Code", Aliases: []string{"claude", "claude_code"}, Program: "claude", agent: "claude_code",
			user: func(w Locations) spot {
				return spot{w.env("CLAUDE_CONFIG_DIR", w.Place.UserHome), []string{".claude.json"}}
			},
			marks: func(w Locations) []string { return []string{w.env("CLAUDE_CONFIG_DIR", w.home(".claude"))} },
			local: millis(nil), remote: millis(nil), wait: dayWait, bare: dayWait,
			add: claudeCommand, Next: "start Claude Code again, or type /mcp in it",
			Note: "Claude Code asks everybody once whether it may use a project's servers"},
		{Name: "codex", Title: "Codex", Aliases: []string{"codex-cli", "codex_cli"}, Program: "codex", agent: "codex",
			marks:  func(w Locations) []string { return []string{cmp.Or(w.Place.CodexHome, w.home(".codex"))} },
			local:  target.Object{"startup_timeout_sec": codexStartup, "tool_timeout_sec": int64(callLimit.Seconds())},
			remote: target.Object{"tool_timeout_sec": int64(callLimit.Seconds())}, wait: dayWait,
			add: codexCommand, Next: "start Codex again", Note: "Codex reads a project's file only where the project is trusted"},
		{Name: "cursor", Title: "Cursor", Program: "cursor", agent: "cursor",
			user:  func(w Locations) spot { return spot{w.home(".cursor"), []string{"mcp.json"}} },
			marks: func(w Locations) []string { return []string{w.home(".cursor")} },
			Next:  "Cursor asks to enable the server; its settings show it under MCP"},
		{Name: "vscode", Title: "VS Code", Aliases: []string{"vs-code", "code", "visual-studio-code"}, Program: "code", agent: "vscode",
			user:  func(w Locations) spot { return spot{w.Join(w.config(), "Code/User"), []string{"mcp.json"}} },
			marks: func(w Locations) []string { return []string{w.Join(w.config(), "Code")} },
			wait:  minutesWait, bare: minutesWait,
			add: codeCommand, Next: "VS Code asks to trust the server when it is started (command MCP: List Servers)"},
		{Name: "gemini-cli", Title: "Gemini CLI", Aliases: []string{"gemini", "gemini_cli"}, Program: "gemini", agent: "gemini_cli",
			user:  func(w Locations) spot { return spot{w.gemini(), []string{"settings.json"}} },
			marks: func(w Locations) []string { return []string{w.gemini()} },
			local: millis(target.Object{"trust": false}), remote: millis(target.Object{"trust": false}), wait: dayWait, bare: dayWait,
			add: geminiCommand, Next: "start Gemini CLI again, or type /mcp reload in it"},
		{Name: "opencode", Title: "opencode", Aliases: []string{"open-code"}, Program: "opencode", agent: "opencode",
			user:  func(w Locations) spot { return spot{w.Join(w.xdg(), "opencode"), openCodeNames()} },
			marks: func(w Locations) []string { return []string{w.Join(w.xdg(), "opencode")} },
			local: millis(target.Object{"enabled": true}), remote: millis(target.Object{"enabled": true}), wait: dayWait, Next: "start opencode again"},
	}
}

func openCodeNames() []string { return []string{"opencode.json", "opencode.jsonc"} }

// ErrHost reports a host that nobody knows.
var ErrHost = fault.New(fault.Invalid, "host_unknown", "there is no such host")

// FindHost is the host of that name or alias, or ErrHost.
func FindHost(name string) (Host, error) {
	all := AllHosts()
	var names []string
	for _, h := range all {
		if names = append(names, h.Name); h.Name == strings.ToLower(name) || slices.Contains(h.Aliases, strings.ToLower(name)) {
			return h, nil
		}
	}
	hint := "there are: " + strings.Join(names, ", ")
	if near := fault.Nearest(name, names); near != "" {
		hint = "did you mean " + near + "? " + hint
	}
	return Host{}, ErrHost.Sayf("there is no host %q; %s", name, hint).With(deployment.ReasonDetails("host_unknown", "retry_with_supported_host").Add("allowed", names))
}

// ServersFile is where a host keeps its servers, and in what words.
type ServersFile struct {
	Dir     string
	Names   []string // it may go by several; the first is its name when there is none yet
	Format  deployment.Format
	At      string // the key that servers stand below
	Dialect target.Dialect
}

// Document is the host's for a scope, User or Project. It fails as the tables of agents do: without a home directory, or with one that cannot be.
func (h Host) Document(w Locations, scope deployment.Scope) (ServersFile, error) {
	table, _ := target.FindAgent(h.agent)
	asked := scope
	if !slices.Contains(table.Scopes, scope) { // deployments do not go there, but know everything else
		asked = deployment.ScopeProject
	}
	lines, err := table.Lines(target.ResolveContext{Config: deployment.TargetConfig{Scope: asked}, Place: w.Place, Paths: w.Paths})
	if err != nil {
		return ServersFile{}, err
	}
	l := lines[slices.IndexFunc(lines, func(l target.ActiveRule) bool { return l.Of == deployment.ModuleMCP })]
	d := ServersFile{Dir: l.Dir, Names: []string{l.Path}, Format: l.Format, At: l.At, Dialect: l.Dialect}
	switch {
	case scope == deployment.ScopeUser && h.user != nil:
		at := h.user(w)
		d.Dir, d.Names = at.dir, at.names
	case h.Name == "opencode":
		d.Names = openCodeNames()
	}
	return d, nil
}

// Marks are directories that are there once the host has run.
func (h Host) Marks(w Locations) []string { return h.marks(w) }
