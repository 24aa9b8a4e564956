package target

import (
	_ "embed" // the tables
	"fmt"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/deployment"
)

// The tables of hosts: their names, the directories that can be moved, where each type of module goes and in which shape, and the dialect of MCP
// servers. A line begins with the host's name, the first line names the columns, and - is an empty cell. Only the lines of a host are read, when it
// is needed.
var (
	//go:embed tables/hosts.tsv
	hostTable string
	//go:embed tables/dirs.tsv
	dirTable string
	//go:embed tables/rules.tsv
	ruleTable string
	//go:embed tables/dialects.tsv
	dialectTable string
	//go:embed tables/lists.tsv
	listTable string
	//go:embed tables/events.tsv
	eventTable string
)

// nothing is an empty cell.
const nothing = "-"

// rows returns the lines of a table about one host, cut into cells.
func rows(table, host string) (out [][]string) {
	for line := range strings.Lines(table) {
		if rest, ok := strings.CutPrefix(line, host); !ok || rest[0] != '\t' {
			continue
		}
		cells := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		for i, c := range cells {
			if c == nothing {
				cells[i] = ""
			}
		}
		out = append(out, cells)
	}
	return out
}

// TargetNames returns every target, in the order of listings (agentpack contract §2.7).
func TargetNames() (names []string) {
	header := true
	for line := range strings.Lines(hostTable) {
		name, _, _ := strings.Cut(line, "\t")
		if !header {
			names = append(names, name)
		}
		header = false
	}
	return names
}

// AllAgents returns the tables of all agents, in the order of their table.
func AllAgents() (all []agent) {
	for _, name := range TargetNames() {
		a, _ := FindAgent(name)
		all = append(all, a)
	}
	return all
}

// FindAgent returns the table with that name.
func FindAgent(name string) (agent, bool) {
	hosts := rows(hostTable, name)
	if name == "" || name == "host" || len(hosts) == 0 {
		return agent{}, false
	}
	a := agent{Name: name}
	c := hosts[0]
	a.Title, a.Program, a.Aliases, a.scan, a.marks = c[1], c[2], strings.Fields(c[3]), c[6], strings.Fields(c[7])
	for _, scope := range strings.Fields(c[4]) {
		a.Scopes = append(a.Scopes, deployment.Scope(scope))
	}
	for _, text := range strings.Fields(c[5]) {
		a.choices = append(a.choices, choiceOf(text))
	}
	for _, c := range rows(dirTable, name) {
		d := dir{name: c[1], option: c[2], relative: strings.Contains(c[4], "relative"), split: strings.Contains(c[4], "split")}
		if c[3] != "" {
			d.bases = strings.Split(c[3], "|")
		}
		a.dirs = append(a.dirs, d)
	}
	dialects := rows(dialectTable, name)
	var lists [][]string
	for _, c := range rows(listTable, name) {
		lists = append(lists, strings.Split(c[1], "/"))
	}
	events := map[string]string{}
	for _, c := range rows(eventTable, name) {
		events[c[1]] = c[2]
	}
	for _, c := range rows(ruleTable, name) {
		r := ruleOf(c, dialects)
		if r.Of == deployment.ModuleSettings {
			r.Lists = lists
		}
		if r.Of == deployment.ModuleHooks {
			r.Events = events
		}
		a.Rules = append(a.Rules, r)
	}
	return a, true
}

// choiceOf parses option=value,value.
func choiceOf(text string) choice {
	option, values, _ := strings.Cut(text, "=")
	if option == "" {
		return choice{}
	}
	return choice{option, strings.Split(values, ",")}
}

// ruleOf parses a line of the table of rules.
func ruleOf(c []string, dialects [][]string) AgentRule {
	r := AgentRule{Of: deployment.ModuleType(c[1]), scope: deployment.Scope(c[2]), only: choiceOf(c[4]), Format: deployment.Format(c[8]), Connects: c[10] == "connect"}
	if !r.Connects {
		r.Style = c[10]
	}
	if c[3] != "" {
		r.option, r.on = c[3][1:], c[3][0] == '+'
	}
	r.root, r.Scan = strings.CutSuffix(c[5], "*")
	names := strings.Split(c[6], "|")
	r.Path, r.Names = names[0], names
	r.Shape = shape(slices.Index(shapeNames(), c[7]))
	for i, text := range strings.Split(c[9], "|") {
		at, keys, _ := strings.Cut(text, "?")
		if path := strings.Split(at, "/"); at != "" && i == 0 {
			r.At = path
		} else if at != "" {
			n := newer{at: path}
			for _, key := range strings.Split(keys, ",") {
				n.keys = append(n.keys, strings.Split(key, "/"))
			}
			r.Newer = append(r.Newer, n)
		}
	}
	if r.Of != deployment.ModuleMCP {
		return r
	}
	for _, d := range dialects {
		if d[1] == "" || d[1] == c[9] {
			r.Dialect = dialectOf(d)
		}
	}
	for i, n := range r.Newer {
		r.Newer[i].dialect = r.Dialect
		for _, d := range dialects {
			if d[1] == strings.Join(n.at, "/") {
				r.Newer[i].dialect = dialectOf(d)
			}
		}
	}
	return r
}

func dialectOf(c []string) Dialect {
	d := Dialect{Stdio: c[2], HTTP: c[3], SSE: c[4], URL: c[5], Events: c[6], Headers: c[7], Env: c[8], List: strings.Contains(c[9], "list"), Disabled: strings.Contains(c[9], "disabled"), Limits: strings.Contains(c[9], "limits"),
		References: references(c[10])}
	if d.SaysStdio = d.Stdio == "said"; d.SaysStdio {
		d.Stdio = ""
	}
	if c[4] == "none" {
		d.SSE, d.NoEvents = "", true
	}
	return d
}

// shapeNames returns the names of the shapes in the table, in their order.
func shapeNames() []string {
	return []string{"verbatim", "tree", "aggregate", "cursor-rule", "copilot-rule", "claude-rule", "toml-command", "prompt-skill", "agent-md", "agent-toml", "keys"}
}

// CheckTables reports every invalid line of the tables: a cell too many or too few, an unknown name.
func CheckTables() (problems []string) {
	say := func(table string, line int, format string, args ...any) {
		problems = append(problems, fmt.Sprintf("%s, line %d: %s", table, line, fmt.Sprintf(format, args...)))
	}
	each := func(name, table string, columns int, check func(line int, c []string)) {
		n := 0
		for text := range strings.Lines(table) {
			n++
			c := strings.Split(strings.TrimSuffix(text, "\n"), "\t")
			switch {
			case len(c) != columns:
				say(name, n, "%d cells where there are %d columns", len(c), columns)
			case slices.Contains(c, ""):
				say(name, n, "a cell is empty; write %s", nothing)
			case n > 1 && name != "hosts" && !slices.Contains(TargetNames(), c[0]):
				say(name, n, "there is no host %s", c[0])
			case n > 1:
				check(n, c)
			}
		}
	}
	scopes := []string{string(deployment.ScopeUser), string(deployment.ScopeProject), string(deployment.ScopeBoth)}
	each("hosts", hostTable, 8, func(line int, c []string) {
		for _, s := range strings.Fields(c[4]) {
			if !slices.Contains(scopes, s) {
				say("hosts", line, "there is no scope %s", s)
			}
		}
	})
	each("dirs", dirTable, 5, func(line int, c []string) {
		for _, base := range strings.Split(c[3], "|") {
			if base = base[strings.LastIndexByte(base, ':')+1:]; c[3] != nothing && !strings.HasPrefix(base, "~") && !strings.HasPrefix(base, "$") {
				say("dirs", line, "%s begins neither with ~ nor with a variable", base)
			}
		}
	})
	each("rules", ruleTable, 11, func(line int, c []string) {
		a, _ := FindAgent(c[0])
		name, _, _ := strings.Cut(strings.TrimPrefix(c[5], "{"), "}")
		switch {
		case !slices.Contains(deployment.ModuleTypes(), deployment.ModuleType(c[1])):
			say("rules", line, "there is no module type %s", c[1])
		case !slices.Contains(scopes[:2], c[2]):
			say("rules", line, "there is no scope %s", c[2])
		case c[3] != nothing && c[3][0] != '+' && c[3][0] != '?':
			say("rules", line, "the option %s begins neither with + nor with ?", c[3])
		case c[4] != nothing && !slices.ContainsFunc(a.choices, func(o choice) bool {
			return o.option == choiceOf(c[4]).option && slices.Contains(o.values, choiceOf(c[4]).values[0])
		}):
			say("rules", line, "there is no choice %s", c[4])
		case name != "home" && name != "project" && !slices.ContainsFunc(a.dirs, func(d dir) bool { return d.name == name }):
			say("rules", line, "there is no directory %s", name)
		case !slices.Contains(shapeNames(), c[7]):
			say("rules", line, "there is no form %s", c[7])
		case (c[7] == "keys") != (c[8] != nothing):
			say("rules", line, "keys, and nothing else, need the format of a document")
		case strings.HasPrefix(c[10], "@") && (c[7] != "aggregate" || !slices.ContainsFunc(a.choices, func(o choice) bool { return o.option == importOption })):
			say("rules", line, "only one file of all instructions imports another one, of a host with the option %s", importOption)
		case c[8] != nothing && !slices.Contains([]deployment.Format{deployment.FormatJSON, deployment.FormatJSONC, deployment.FormatTOML}, deployment.Format(c[8])):
			say("rules", line, "there is no format %s", c[8])
		}
	})
	each("lists", listTable, 2, func(int, []string) {})
	each("events", eventTable, 3, func(line int, c []string) {
		if !slices.Contains(deployment.HookEvents(), c[1]) {
			say("events", line, "there is no event %s", c[1])
		}
	})
	each("kept", keptTable, 5, func(line int, c []string) {
		a, _ := FindAgent(c[0])
		name, _, _ := strings.Cut(strings.TrimPrefix(c[2], "{"), "}")
		reasons := []string{KeptCredentials, KeptState, KeptPersonal, KeptKind, KeptUnread, KeptShadow, KeptCode}
		switch {
		case !slices.Contains(scopes[:2], c[1]):
			say("kept", line, "there is no scope %s", c[1])
		case name != "home" && name != "project" && !slices.ContainsFunc(a.dirs, func(d dir) bool { return d.name == name }):
			say("kept", line, "there is no directory %s", name)
		case !slices.Contains(reasons, c[4]):
			say("kept", line, "there is no reason %s", c[4])
		}
	})
	each("settings", settingsTable, 3, func(int, []string) {})
	each("dialects", dialectTable, 11, func(line int, c []string) {
		for _, word := range strings.Fields(c[9]) {
			if c[9] != nothing && !slices.Contains([]string{"list", "disabled", "limits"}, word) {
				say("dialects", line, "there is no way to write servers that is called %s", word)
			}
		}
		if !slices.Contains([]references{ReferencesPlain, ReferencesEnv, ReferencesBraces, ReferencesByName, ReferencesNone}, references(c[10])) {
			say("dialects", line, "there is no form of references %s", c[10])
		}
	})
	return problems
}
