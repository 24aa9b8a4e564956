package shellcmd

import (
	"path"
	"slices"
	"strings"
)

// ScriptCall is a call of package.json scripts by a program, found in its command line (packageflow-security contract §4.6: they get the same verdict
// as the command itself).
type ScriptCall struct {
	Names   []string // of scripts; one that ends in * matches every script with that prefix
	Dirs    []string // where their package.json is looked for, from there upwards; "" is unknown
	Loose   bool     // such scripts need not exist: then something else runs, or nothing
	Unclear string   // why it is unknown which scripts run; empty if Names lists them
	Source  string   // the command, as it is written
}

// ScriptCalls returns the scripts that these programs start, as far as their command lines show.
func ScriptCalls(starts []start) []ScriptCall {
	var out []ScriptCall
	for _, s := range starts {
		for _, c := range callsOf(s) {
			c.Source = s.Source
			if c.Dirs == nil {
				c.Dirs = s.Dirs
			}
			out = append(out, c)
		}
	}
	return out
}

// UsesPackageManager reports whether a package manager, or a program that uses one, is among these programs: then its settings count.
func UsesPackageManager(starts []start) bool {
	return slices.ContainsFunc(starts, func(s start) bool {
		return managerOf(s.Name) != "" || slices.Contains([]string{"npx", "pnpx", "bunx", "npm-run-all", "npm-run-all2", "run-s", "run-p", "concurrently", "lerna", "turbo", "nx"}, s.Name)
	})
}

// managerOf returns the package manager that a program is; a program that is only known when it runs is assumed to be one.
func managerOf(name string) string {
	switch name {
	case "npm", "pnpm", "yarn", "bun":
		return name
	case "yarnpkg":
		return "yarn"
	case "npm-cli.js":
		return "npm"
	case "pnpm.cjs":
		return "pnpm"
	}
	return ""
}

const (
	unclearName  = "which script it starts is only known at run time; write the name"
	unclearPlace = "it starts scripts of other packages of the workspace, which are not shown; run them in a step with that package as its cwd"
	unclearShell = "its options change what runs the script, or which settings apply; remove them"
)

func callsOf(s start) []ScriptCall {
	texts := make([]string, len(s.Args))
	for i, a := range s.Args {
		texts[i] = a.First()
	}
	switch m := managerOf(s.Name); {
	case m != "":
		return spoken(m, s)
	case unknown(s.Name) && len(texts) > 0 && (texts[0] == "run" || texts[0] == "run-script"):
		return spoken("npm", s)
	case s.Name == "npm-run-all" || s.Name == "npm-run-all2" || s.Name == "run-s" || s.Name == "run-p":
		return inRow(texts)
	case s.Name == "lerna" || s.Name == "turbo" || s.Name == "nx":
		return []ScriptCall{{Unclear: unclearPlace}}
	case s.Name == "node":
		for i, text := range texts {
			if name, given := strings.CutPrefix(text, "--run="); given {
				return []ScriptCall{named([]string{name}, false)}
			}
			if text == "--run" && i+1 < len(texts) {
				return []ScriptCall{named(texts[i+1:i+2], false)}
			}
		}
	}
	for _, prefix := range []string{"npm:", "pnpm:", "yarn:", "bun:", "node:"} { // a command of concurrently
		if name, given := strings.CutPrefix(s.Name, prefix); given {
			return []ScriptCall{named([]string{strings.ReplaceAll(name, MarkGlob, "*")}, false)}
		}
	}
	return nil
}

// unknown reports whether a text is only known when it runs.
func unknown(text string) bool {
	return strings.ContainsAny(text, MarkUnknown+MarkGlob+markHome+"\uFDD2")
}

// named returns a call of scripts by these names.
func named(names []string, loose bool) ScriptCall {
	if slices.ContainsFunc(names, unknown) {
		return ScriptCall{Unclear: unclearName}
	}
	return ScriptCall{Names: names, Loose: loose}
}

// inRow returns what npm-run-all and similar programs start: names and patterns, each perhaps followed by arguments.
func inRow(texts []string) []ScriptCall {
	var names []string
	for _, text := range texts {
		if text == "--" {
			break
		}
		text = strings.ReplaceAll(text, MarkGlob, "*")
		fields := strings.Fields(text)
		if len(fields) == 0 || text[0] == '-' || text[0] == '!' || strings.Trim(text, "0123456789") == "" {
			continue
		}
		name, _, pattern := strings.Cut(fields[0], "*")
		if pattern {
			name += "*"
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		return nil
	}
	return []ScriptCall{named(names, false)}
}

// line is a parsed command line of a package manager.
type line struct {
	verbs    []Arg  // what is not an option
	dir      string // of another package, as it is written
	unclear  string
	unparsed int // options that may have had the next word as their value
}

// spoken returns what a package manager starts.
func spoken(manager string, s start) []ScriptCall {
	l := taken(manager, s.Args)
	at := 0
	if manager == "npm" { // what is none of its commands is nothing
		at = slices.IndexFunc(l.verbs, func(a Arg) bool { return unknown(a.First()) || len(verb(manager, a.First())) > 0 })
	}
	if at < 0 || len(l.verbs) == 0 {
		if manager == "yarn" && len(l.verbs) == 0 {
			return l.at(s, named(lifecycle("install"), true))
		}
		return nil
	}
	var calls []ScriptCall
	for ; at < len(l.verbs) && (len(calls) == 0 || l.unparsed > 0); at++ {
		word, rest := l.verbs[at].First(), l.verbs[at+1:]
		if len(calls) > 0 {
			l.unparsed--
		}
		calls = append(calls, l.meant(manager, word, rest, s.Fed)...)
		if len(verb(manager, word)) > 0 {
			break
		}
	}
	return l.at(s, calls...)
}

// meant returns what one command of a package manager starts.
func (l *line) meant(manager, word string, rest []Arg, fed bool) []ScriptCall {
	kind := verb(manager, word)
	switch {
	case unknown(word):
		return []ScriptCall{{Unclear: unclearName}}
	case len(kind) == 0 && manager == "npm":
		return nil
	case len(kind) > 0 && kind[0] == "elsewhere":
		return []ScriptCall{{Unclear: unclearPlace}}
	case manager != "npm" && (len(kind) == 0 || kind[0] != "run"): // what is a command of one may be a script to another
		return []ScriptCall{named(slices.DeleteFunc(slices.Concat(kind, []string{word}), func(name string) bool { return name == "" }), true)}
	case kind[0] == "":
		return nil
	case kind[0] != "run":
		return []ScriptCall{named(kind, true)}
	case len(rest) == 0 && fed:
		return []ScriptCall{{Unclear: unclearName}}
	case len(rest) == 0:
		return nil
	}
	calls := []ScriptCall{named(rest[0].Sure, false)}
	for _, a := range rest[1:min(len(rest), 1+l.unparsed)] {
		calls = append(calls, named(a.Sure, true))
	}
	return calls
}

// at adds the directory that the options name, and what they leave unclear, to calls.
func (l *line) at(s start, calls ...ScriptCall) []ScriptCall {
	for i := range calls {
		if l.unclear != "" {
			calls[i].Unclear = l.unclear
		}
		if l.dir == "" {
			continue
		}
		for _, dir := range s.Dirs {
			switch {
			case unknown(l.dir), dir == "" && !path.IsAbs(l.dir):
				dir = ""
			case path.IsAbs(l.dir):
				dir = path.Clean(l.dir)
			default:
				dir = path.Join(dir, l.dir)
			}
			calls[i].Dirs = append(calls[i].Dirs, dir)
		}
	}
	return calls
}

// taken parses a command line. npm reads its own options up to --, the others up to the script's name.
func taken(manager string, args []Arg) (l line) {
	for i := 0; i < len(args); i++ {
		text := args[i].First()
		name, value, joined := strings.Cut(text, "=")
		if text == "--" || manager != "npm" && len(l.verbs) > 0 && !(len(l.verbs) == 1 && len(verb(manager, l.verbs[0].First())) > 0) {
			l.verbs = append(l.verbs, args[i:]...)
			l.verbs = slices.DeleteFunc(l.verbs, func(a Arg) bool { return a.First() == "--" })
			return l
		}
		if len(text) < 2 || text[0] != '-' {
			l.verbs = append(l.verbs, args[i])
			continue
		}
		kind := optionOf(manager, name)
		if kind.valued && !joined {
			if i++; i < len(args) {
				value = args[i].First()
			}
		}
		switch {
		case kind.dir:
			l.dir = value
		case kind.unclear != "":
			l.unclear = kind.unclear
		case !joined && !kind.plain && !kind.valued:
			l.unparsed++
		}
	}
	return l
}

// option is the effect of a package manager's option.
type option struct {
	valued, dir, plain bool
	unclear            string
}

func optionOf(manager, name string) option {
	switch name {
	case "-s", "--silent", "--if-present", "-q", "--quiet", "-d", "-y", "--yes", "--offline", "--prefer-offline", "--no-audit", "--no-fund", "--frozen-lockfile", "--immutable",
		"--ignore-scripts", "--verbose", "--color", "--no-color", "--parallel", "--stream", "--bun", "-b", "--watch", "--hot", "-g", "--global", "--force", "-f", "-D", "--save-dev", "-v", "--version", "-h", "--help", "--json", "--no-bail", "--production":
		return option{plain: true}
	case "--loglevel", "--reporter", "--registry", "--cache", "--network-timeout", "--mutex", "--omit", "--include", "--tag":
		return option{valued: true}
	case "-C", "--prefix", "--dir", "--cwd":
		return option{valued: true, dir: true}
	case "-w", "--workspace", "-F", "--filter", "--filter-prod":
		return option{valued: manager != "pnpm" || name != "-w", unclear: unclearPlace}
	case "-r", "--recursive", "--workspaces", "-ws", "--workspace-root", "--include-workspace-root", "--top-level":
		return option{unclear: unclearPlace}
	}
	long := strings.TrimPrefix(name, "--")
	for _, full := range []string{"script-shell", "node-options", "userconfig", "globalconfig", "shell-emulator", "use-node-version", "config", "preload"} {
		if long != name && len(long) >= 4 && strings.HasPrefix(full, long) || strings.HasPrefix(long, "config.") { // npm takes the beginning of a name for it
			return option{valued: true, unclear: unclearShell}
		}
	}
	for _, full := range []string{"prefix", "workspaces"} {
		if long != name && len(long) >= 4 && strings.HasPrefix(full, long) {
			return option{valued: true, unclear: unclearPlace}
		}
	}
	return option{}
}

// verb returns what a package manager's command starts: "run" a script by name, "elsewhere" those of other packages, or the scripts with these names,
// if they exist. It is nil for an unknown command, and one empty name for one that starts no script.
func verb(manager, word string) []string {
	switch word {
	case "rum", "urn":
		if manager != "npm" {
			return nil
		}
		return []string{"run"}
	case "run", "run-script":
		return []string{"run"}
	case "test", "t", "tst":
		if manager == "bun" {
			return []string{""} // its own test runner
		}
		return []string{"test"}
	case "start", "stop":
		return []string{word}
	case "restart":
		return []string{"restart", "stop", "start"}
	case "workspace", "workspaces", "recursive", "multi", "m":
		return []string{"elsewhere"}
	case "install", "i", "ci", "add", "install-test", "it", "cit", "clean-install", "rebuild", "rb", "update", "up", "upgrade", "link", "remove", "rm", "uninstall", "un", "dedupe", "prune", "in", "isntall", "ic":
		return lifecycle("install")
	case "pack", "publish":
		return lifecycle(word)
	case "version":
		return []string{"preversion", "version", "postversion"}
	case "exec", "x", "dlx", "create", "init", "help", "info", "view", "why", "audit", "outdated", "config", "set", "get", "cache", "list", "ls", "login", "logout", "whoami", "bin", "root", "node",
		"explain", "doctor", "ping", "search", "pkg", "store", "env", "import", "patch", "fetch", "fund", "completion", "query", "sbom", "build", "repl":
		if word == "build" && manager != "bun" || word == "node" && manager != "yarn" {
			return nil
		}
		return []string{""}
	}
	return nil
}

// lifecycle returns the scripts that run with installing and packing.
func lifecycle(of string) []string {
	switch of {
	case "install":
		return []string{"preinstall", "install", "postinstall", "prepublish", "preprepare", "prepare", "postprepare", "dependencies"}
	case "pack":
		return []string{"prepack", "prepare", "postpack"}
	}
	return []string{"prepublishOnly", "prepack", "prepare", "postpack", "publish", "postpublish"}
}
