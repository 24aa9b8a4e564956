package connecting

import (
	"cmp"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/plan"
	"github.com/countersign-dev/countersign/domain/deployment/target/agent"
	"github.com/countersign-dev/countersign/domain/deployment/target/entry"
	"github.com/countersign-dev/countersign/domain/deployment/target/native"
	"github.com/countersign-dev/countersign/domain/fault"
)

// host is an agent host. Where its documents lie and in what words they describe a server is in the table of its agent, as far as deployments
// go there; the rest is here.
type host struct {
	name, title string
	aliases     []string
	agent       string              // its table
	program     string              // its own command
	user        func(w world) spot  // its user's document, where the table has none or the environment moves it; nil: the table's
	marks       func(w world) []string // directories that are there once the host has run
	local       entry.Object        // keys of an entry that starts a program, besides the program
	remote      entry.Object        // keys of an entry that leads to a server
	add         func(o offer) []string // its own command that adds the entry; nil: it has none
	next        string              // what has it read its configuration again
	project     string              // what a project's file needs besides
}

// spot is a document that may go by several names in one directory; the first is its name when there is none yet.
type spot struct {
	dir   string
	names []string
}

// world is where documents lie.
type world struct {
	place deployment.Place
	here  Surroundings
	paths native.Paths
}

func (w world) join(dir, below string) string { return w.paths.Join(dir, below) }

// env is the directory that a variable names, or another. A relative one is nobody's.
func (w world) env(variable, otherwise string) string {
	if dir := strings.TrimSpace(w.here.Env(variable)); w.paths.Absolute(dir) {
		return w.paths.Clean(dir)
	}
	return otherwise
}

// config is the directory of the user's configuration, by the convention of the system for desktop programs.
func (w world) config() string {
	switch w.here.System {
	case "darwin":
		return w.join(w.place.UserHome, "Library/Application Support")
	case "windows":
		return w.env("APPDATA", w.join(w.place.UserHome, "AppData/Roaming"))
	}
	return w.xdg()
}

func (w world) xdg() string { return w.env("XDG_CONFIG_HOME", w.join(w.place.UserHome, ".config")) }

func (w world) gemini() string { return w.join(w.env("GEMINI_CLI_HOME", w.place.UserHome), ".gemini") }

// How long a call may take in hosts that would end it earlier: calls wait for people, and scripts for five minutes (packageflow contract §5.8).
const (
	codexStartup = 20 // seconds
	codexCall    = 330
	geminiCall   = 330_000 // milliseconds
)

// hosts are those that can be connected, in the order in which they are listed.
func hosts() []host {
	return []host{
		{name: "claude-code", title: "Claude Code", aliases: []string{"claude", "claude_code"}, agent: "claude_code", program: "claude",
			user: func(w world) spot { return spot{w.env("CLAUDE_CONFIG_DIR", w.place.UserHome), []string{".claude.json"}} },
			marks: func(w world) []string { return []string{w.env("CLAUDE_CONFIG_DIR", w.join(w.place.UserHome, ".claude"))} },
			add: claudeCommand, next: "start Claude Code again, or type /mcp in it", project: "Claude Code asks everybody once whether it may use a project's servers"},
		{name: "codex", title: "Codex", aliases: []string{"codex-cli"}, agent: "codex", program: "codex",
			marks: func(w world) []string { return []string{cmp.Or(w.place.CodexHome, w.join(w.place.UserHome, ".codex"))} },
			local: entry.Object{"startup_timeout_sec": codexStartup, "tool_timeout_sec": codexCall}, remote: entry.Object{"tool_timeout_sec": codexCall},
			add: codexCommand, next: "start Codex again", project: "Codex reads a project's file only where the project is trusted"},
		{name: "cursor", title: "Cursor", agent: "cursor", program: "cursor",
			user: func(w world) spot { return spot{w.join(w.place.UserHome, ".cursor"), []string{"mcp.json"}} },
			marks: func(w world) []string { return []string{w.join(w.place.UserHome, ".cursor")} },
			next:  "Cursor asks to enable the server; its settings show it under MCP"},
		{name: "vscode", title: "VS Code", aliases: []string{"vs-code", "code", "visual-studio-code"}, agent: "vscode", program: "code",
			user:  func(w world) spot { return spot{w.join(w.config(), "Code/User"), []string{"mcp.json"}} },
			marks: func(w world) []string { return []string{w.join(w.config(), "Code")} },
			add:   codeCommand, next: "VS Code asks to trust the server when it is started: command MCP: List Servers"},
		{name: "gemini-cli", title: "Gemini CLI", aliases: []string{"gemini", "gemini_cli"}, agent: "gemini_cli", program: "gemini",
			user:  func(w world) spot { return spot{w.gemini(), []string{"settings.json"}} },
			marks: func(w world) []string { return []string{w.gemini()} },
			local: entry.Object{"timeout": geminiCall, "trust": false}, remote: entry.Object{"timeout": geminiCall, "trust": false},
			add: geminiCommand, next: "start Gemini CLI again, or type /mcp in it"},
		{name: "opencode", title: "opencode", aliases: []string{"open-code"}, agent: "opencode", program: "opencode",
			user: func(w world) spot { return spot{w.join(w.xdg(), "opencode"), []string{"opencode.json", "opencode.jsonc"}} },
			marks: func(w world) []string { return []string{w.join(w.xdg(), "opencode")} },
			local: entry.Object{"enabled": true}, remote: entry.Object{"enabled": true}, next: "start opencode again"},
	}
}

// find is the host of that name or alias, or ErrHost.
func find(name string) (host, error) {
	all := hosts()
	var names []string
	for _, h := range all {
		if names = append(names, h.name); h.name == strings.ToLower(name) || slices.Contains(h.aliases, strings.ToLower(name)) {
			return h, nil
		}
	}
	hint := "there are: " + strings.Join(names, ", ")
	if near := fault.Nearest(name, names); near != "" {
		hint = "did you mean " + near + "? " + hint
	}
	return host{}, ErrHost.Sayf("there is no host %q; %s", name, hint).With(deployment.Reason("host_unknown", "retry_with_supported_host").Add("allowed", names))
}

// document is where a host keeps its servers, and in what words.
type document struct {
	spot
	format  plan.Format
	at      string // the key that servers stand below
	dialect entry.Dialect
}

// document is the host's for a scope.
func (h host) document(w world, scope deployment.Scope) (document, error) {
	table, _ := agent.Find(h.agent)
	asked := scope
	if !slices.Contains(table.Scopes, scope) { // deployments do not go there, but say everything else
		asked = deployment.Project
	}
	lines, err := table.Lines(agent.Setting{Config: deployment.TargetConfig{Scope: asked}, Place: w.place, Paths: w.paths})
	if err != nil {
		return document{}, err
	}
	i := slices.IndexFunc(lines, func(l agent.Line) bool { return l.Of == deployment.MCP })
	l := lines[i]
	d := document{spot: spot{l.Dir, []string{l.Path}}, format: l.Format, at: l.At, dialect: l.Dialect}
	switch {
	case scope == deployment.User && h.user != nil:
		d.spot = h.user(w)
	case h.name == "opencode":
		d.names = []string{"opencode.json", "opencode.jsonc"}
	}
	return d, nil
}
