package mcpclients

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/target"
)

// ProgramName is the name of this program if no path can be given.
const ProgramName = "countersign"

// The command of this program that hosts start, and its flags.
const (
	serveCommand = "mcp"
	hostFlag     = "--host"
	waitFlag     = "--confirm-wait"
	toolsetsFlag = "--toolsets"
)

// HomeVariable is the environment variable that moves Countersign's home. Hosts start servers with few variables of their own.
const HomeVariable = "COUNTERSIGN_HOME"

// TokenPlaceholder replaces a token that is created when the entry is written, or that must not be shown.
const TokenPlaceholder = "<token>"

// Connection describes how a host is to reach Countersign.
type Connection struct {
	Name     string // of the server in the host
	Scope    deployment.Scope
	Program  string
	Toolsets []string // enabled toolsets; empty: the default ones
	Home     string   // home of Countersign, if it must be given
	URL      string   // over HTTP; then there is no program
	Secret   string   // of the token, over HTTP
	Kept     []string // the arguments of the present entry: those that no other field names are kept
}

// args returns the arguments with which this program serves a host, with that timeout for decisions of the user; zero is the default. Of the present
// entry, the timeout and whatever else the user has added are kept, and so are its toolsets unless others are named.
func (o Connection) args(h Host, wait time.Duration) []string {
	args := slices.Clone(o.Kept)
	if !slices.Contains(args, serveCommand) {
		args = slices.Insert(args, 0, serveCommand)
	}
	at := slices.Index(args, serveCommand) + 1
	put := func(flag, value string, anew bool) {
		have, found := valuesOf(args, flag)
		switch {
		case len(have) > 0 && (!anew || len(have) == 1 && have[0] == value):
			at = max(at, found+1)
			return
		case value == "":
			return
		}
		if len(have) > 0 {
			args = without(args, flag)
			at = min(at, len(args))
		}
		args = slices.Insert(args, at, flag, value)
		at += 2
	}
	put(hostFlag, h.Entry(o.Name, o.Scope), true)
	if wait > 0 {
		put(waitFlag, spell(wait), false)
	}
	if sets := strings.Join(o.Toolsets, ","); sets != strings.Join(EntryToolsets(o.Kept), ",") { // in any spelling
		put(toolsetsFlag, sets, true)
	}
	return args
}

// valuesOf returns the values of a flag in arguments, as --flag VALUE or --flag=VALUE, and the position of the last of them.
func valuesOf(args []string, flag string) (values []string, last int) {
	for i := 0; i < len(args); i++ {
		if value, ok := strings.CutPrefix(args[i], flag+"="); ok {
			values, last = append(values, value), i
		} else if args[i] == flag && i+1 < len(args) {
			i++
			values, last = append(values, args[i]), i
		}
	}
	return values, last
}

// without returns arguments without a flag and its values.
func without(args []string, flag string) (out []string) {
	for i := 0; i < len(args); i++ {
		switch {
		case args[i] == flag:
			i++
		case !strings.HasPrefix(args[i], flag+"="):
			out = append(out, args[i])
		}
	}
	return out
}

// EntryArguments returns those of an entry that serves this program's tools over stdin and stdout, and nil for any other.
func EntryArguments(o target.Object) []string {
	argv := EntryCommand(o)
	if len(argv) == 0 || !IsCountersignEntry(o) && !slices.Contains(argv[1:], serveCommand) {
		return nil
	}
	return argv[1:]
}

// EntryToolsets returns the toolsets that arguments name; none where they name none.
func EntryToolsets(args []string) (out []string) {
	values, _ := valuesOf(args, toolsetsFlag)
	for _, name := range strings.Split(strings.Join(values, ","), ",") {
		if name = strings.TrimSpace(name); name != "" {
			out = append(out, name)
		}
	}
	return out
}

// EntryHome returns the home of Countersign's that an entry names; empty where it names none.
func EntryHome(o target.Object, d target.Dialect) string {
	home, _ := member(o[d.Env], HomeVariable).(string)
	return home
}

// headers returns those of requests over HTTP.
func (o Connection) headers(h Host) map[string]any {
	out := map[string]any{"Authorization": o.authorization()}
	if wait := h.Wait(true); wait > 0 {
		out[WaitHeader] = spell(wait)
	}
	return out
}

// Remote reports whether the connection is over HTTP.
func (o Connection) Remote() bool { return o.URL != "" }

func (o Connection) authorization() string { return "Bearer " + o.Secret }

// Server returns the connection as an entry in the host's dialect.
func (o Connection) Server(h Host, d target.Dialect) (target.Object, error) {
	neutral, extra := target.Object{"command": o.Program, "args": anyOf(o.args(h, h.Wait(false)))}, h.local
	if o.Home != "" {
		neutral["env"] = map[string]any{HomeVariable: o.Home}
	}
	if o.Remote() {
		neutral, extra = target.Object{"url": o.URL, "headers": o.headers(h)}, h.remote
	}
	for key, value := range extra {
		neutral[key] = value
	}
	return d.Server(neutral)
}

func anyOf(texts []string) []any {
	out := make([]any, len(texts))
	for i, t := range texts {
		out[i] = t
	}
	return out
}

// Command returns the host's own command that adds the entry; nil if there is none.
func (h Host) Command(o Connection) []string {
	if h.add == nil {
		return nil
	}
	return h.add(h, o)
}

// environment returns the flag for a variable, where one is needed.
func (o Connection) environment(flag string) []string {
	if o.Home == "" {
		return nil
	}
	return []string{flag, HomeVariable + "=" + o.Home}
}

// headerFlags returns the headers of requests over HTTP, each with the flag for one.
func (o Connection) headerFlags(h Host, flag string) (out []string) {
	headers := o.headers(h)
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		out = append(out, flag, fmt.Sprintf("%s: %s", name, headers[name]))
	}
	return out
}

func claudeCommand(h Host, o Connection) []string {
	argv := []string{"claude", "mcp", "add", "--scope", string(o.Scope)}
	if o.Remote() {
		return slices.Concat(argv, []string{"--transport", "http", o.Name, o.URL}, o.headerFlags(h, "--header")) // --header takes all that follows
	}
	return slices.Concat(argv, []string{o.Name}, o.environment("--env"), []string{"--", o.Program}, o.args(h, h.bare)) // --env takes all that follows
}

func codexCommand(h Host, o Connection) []string {
	if o.Scope != deployment.ScopeUser {
		return nil // it only writes the user's file
	}
	argv := []string{"codex", "mcp", "add", o.Name}
	if o.Remote() {
		return append(argv, "--url", o.URL, "--bearer-token-env-var", "COUNTERSIGN_TOKEN")
	}
	return slices.Concat(argv, o.environment("--env"), []string{"--", o.Program}, o.args(h, h.bare))
}

func geminiCommand(h Host, o Connection) []string {
	argv := []string{"gemini", "mcp", "add", "-s", string(o.Scope), "--timeout", strconv.FormatInt(callLimit.Milliseconds(), 10)}
	if o.Remote() {
		return slices.Concat(argv, []string{"-t", "http"}, o.headerFlags(h, "-H"), []string{o.Name, o.URL})
	}
	argv = slices.Concat(argv, o.environment("-e"), []string{o.Name, o.Program})
	args := o.args(h, h.bare)
	for i, arg := range args {
		if strings.HasPrefix(arg, "-") { // Gemini would take it for one of its flags
			return slices.Concat(argv, []string{"--"}, args[i:])
		}
		argv = append(argv, arg)
	}
	return argv
}

func codeCommand(h Host, o Connection) []string {
	if o.Scope != deployment.ScopeUser {
		return nil
	}
	server := target.Object{"name": o.Name, "command": o.Program, "args": anyOf(o.args(h, h.bare))}
	if o.Home != "" {
		server["env"] = map[string]any{HomeVariable: o.Home}
	}
	if o.Remote() {
		server = target.Object{"name": o.Name, "type": "http", "url": o.URL, "headers": o.headers(h)}
	}
	text, err := target.EncodeValue(server)
	if err != nil {
		return nil
	}
	return []string{"code", "--add-mcp", string(text)}
}

// EntryCommand returns the program and the arguments that an entry starts; none for one that leads to a server.
func EntryCommand(o target.Object) []string {
	switch c := o["command"].(type) {
	case string:
		more, _ := o["args"].([]any)
		return append([]string{c}, textsOf(more)...)
	case []any:
		return textsOf(c)
	}
	return nil
}

func textsOf(list []any) (out []string) {
	for _, one := range list {
		if text, ok := one.(string); ok {
			out = append(out, text)
		}
	}
	return out
}

// IsCountersignEntry reports whether an entry starts a server of Countersign's, from any path.
func IsCountersignEntry(o target.Object) bool {
	argv := EntryCommand(o)
	if len(argv) == 0 {
		return false
	}
	name := argv[0][strings.LastIndexAny(argv[0], `/\`)+1:]
	switch strings.TrimSuffix(strings.ToLower(name), ".exe") {
	case ProgramName:
		return slices.Contains(argv[1:], serveCommand) && argv[1] != target.LauncherCommand
	case ProgramName + "-mcp":
		return true
	}
	return false
}

// EntryEndpoint returns the URL of an entry over HTTP, and the secret of its token.
func EntryEndpoint(o target.Object, d target.Dialect) (url, secret string) {
	for _, key := range []string{d.Events, d.URL} {
		if text, ok := o[key].(string); ok && key != "" {
			url = text
		}
	}
	headers, _ := o[d.Headers].(map[string]any)
	value, _ := headers["Authorization"].(string)
	secret, _ = strings.CutPrefix(value, "Bearer ")
	return url, secret
}

// DescribeEntry describes an entry in a few words: what it starts, or its URL.
func DescribeEntry(o target.Object, d target.Dialect) string {
	if argv := EntryCommand(o); len(argv) > 0 {
		return "starts " + strings.Join(argv, " ")
	}
	if url, _ := EntryEndpoint(o, d); url != "" {
		return "leads to " + url
	}
	return "says neither what to start nor where to go"
}
