package mcpclients

import (
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/target"
	"github.com/countersign-dev/countersign/domain/fault"
)

// Host is an agent host. Its names, the locations of its documents and their dialect are in the table of its agent; what only concerns the connection
// is here.
type Host struct {
	Name, Title string
	Aliases     []string
	Program     string // its own command
	Next        string // how to make it read its configuration again
	Note        string // what a project's document needs in addition; may be empty

	agent  string                              // its table
	local  target.Object                       // keys of an entry that starts a program, besides the program
	remote target.Object                       // keys of an entry with a URL
	add    func(h Host, o Connection) []string // its own command that adds the entry; nil: it has none
	wait   time.Duration                       // how long the server waits for the user in an entry with these keys; zero: the default
	bare   time.Duration                       // the same in an entry made by the host's own command
}

// Locations is the locations of documents.
type Locations struct {
	Place  deployment.Locations
	System string              // linux, darwin or windows
	Env    func(string) string // it may move documents
	Paths  target.Paths
}

// Join returns a slash path below dir.
func (w Locations) Join(dir, below string) string { return w.Paths.Join(dir, below) }

// context returns what a table is resolved with.
func (w Locations) context() target.ResolveContext {
	place := w.Place
	place.Env = map[string]string{}
	for _, name := range target.Variables() {
		if value := w.Env(name); value != "" {
			place.Env[name] = value
		}
	}
	return target.ResolveContext{Place: place, Paths: w.Paths, System: w.System}
}

// codexStartup is how many seconds Codex waits for the server to start.
const codexStartup = 20

// AllHosts returns the hosts that can be connected, in the order of listings.
func AllHosts() []Host {
	hosts := []Host{
		{agent: "claude_code", local: millis(nil), remote: millis(nil), wait: dayWait, bare: dayWait,
			add: claudeCommand, Next: "start Claude Code again, or type /mcp in it",
			Note: "Claude Code asks everybody once whether it may use a project's servers"},
		{agent: "codex",
			local:  target.Object{"startup_timeout_sec": codexStartup, "tool_timeout_sec": int64(callLimit.Seconds())},
			remote: target.Object{"tool_timeout_sec": int64(callLimit.Seconds())}, wait: dayWait,
			add: codexCommand, Next: "start Codex again", Note: "Codex reads a project's file only where the project is trusted"},
		{agent: "cursor", Next: "Cursor asks to enable the server; its settings show it under MCP"},
		{agent: "vscode", wait: minutesWait, bare: minutesWait,
			add: codeCommand, Next: "VS Code asks to trust the server when it is started (command MCP: List Servers)"},
		{agent: "gemini_cli", local: millis(target.Object{"trust": false}), remote: millis(target.Object{"trust": false}), wait: dayWait, bare: dayWait,
			add: geminiCommand, Next: "start Gemini CLI again, or type /mcp reload in it"},
		{agent: "opencode", local: millis(target.Object{"enabled": true}), remote: millis(target.Object{"enabled": true}), wait: dayWait, Next: "start opencode again"},
	}
	for i := range hosts {
		table, _ := target.FindAgent(hosts[i].agent)
		hosts[i].Name = strings.ReplaceAll(table.Name, "_", "-")
		hosts[i].Title, hosts[i].Aliases, hosts[i].Program = table.Title, table.Aliases, table.Program
	}
	return hosts
}

// ErrHost is returned for an unknown host.
var ErrHost = fault.New(fault.Invalid, "host_unknown", "there is no such host")

// FindHost returns the host of that name or alias, or ErrHost.
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
	return Host{}, ErrHost.WithMessage("there is no host %q; %s", name, hint).WithDetails(deployment.ReasonDetails("host_unknown", "retry_with_supported_host").Add("allowed", names))
}

// ServersFile is the location and the dialect of a host's servers.
type ServersFile struct {
	Dir     string
	Names   []string // possible names; the first is used for a new document
	Format  deployment.Format
	At      []string // the keys that contain the servers
	Dialect target.Dialect

	rule target.ActiveRule // of the host's table
}

// in returns the same for the present document, which may have another shape.
func (d ServersFile) in(has func(key []string) bool) ServersFile {
	l := d.rule.InDocument(has)
	d.At, d.Dialect = l.At, l.Dialect
	return d
}

// at returns the path of a server in the document.
func (d ServersFile) at(name string) []string { return append(slices.Clone(d.At), name) }

// Document returns the host's document for a scope, UserScope or ProjectScope. It fails as the tables of agents do: without a home directory, or with
// an invalid one.
func (h Host) Document(w Locations, scope deployment.Scope) (ServersFile, error) {
	table, _ := target.FindAgent(h.agent)
	l, err := table.Servers(w.context(), scope)
	if err != nil {
		return ServersFile{}, err
	}
	return ServersFile{Dir: l.Dir, Names: l.Names, Format: l.Format, At: l.At, Dialect: l.Dialect, rule: l}, nil
}

// Marks returns directories that exist once the host has run; none if the home directory is not known.
func (h Host) Marks(w Locations) []string {
	table, _ := target.FindAgent(h.agent)
	dirs, err := table.Marks(w.context())
	if err != nil {
		return nil
	}
	return dirs
}
