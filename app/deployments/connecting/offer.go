package connecting

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/target/entry"
)

// The command of this program that hosts start, what it is called where no path can be given, and its flag for toolsets.
const (
	serveCommand = "mcp"
	programName  = "countersign"
	toolsetsFlag = "--toolsets"
)

// homeVariable is the environment variable that moves Countersign's home. Hosts start servers with few variables of their own.
const homeVariable = "COUNTERSIGN_HOME"

// placeholder stands for a token that is made when the entry is written, or that is nobody's to see.
const placeholder = "<token>"

// offer is how a host is to reach Countersign.
type offer struct {
	name    string // of the server, as the host calls it
	scope   deployment.Scope
	program string
	args    []string
	env     map[string]any
	url     string // over HTTP; then there is no program
	secret  string // of the token, over HTTP
}

func (o offer) remote() bool { return o.url != "" }

func (o offer) bearer() string { return "Bearer " + o.secret }

// server is the offer as an entry in the words of a host.
func (o offer) server(h host, d entry.Dialect) (entry.Object, error) {
	neutral, extra := entry.Object{"command": o.program, "args": list(o.args)}, h.local
	if len(o.env) > 0 {
		neutral["env"] = o.env
	}
	if o.remote() {
		neutral, extra = entry.Object{"url": o.url, "headers": map[string]any{"Authorization": o.bearer()}}, h.remote
	}
	for key, value := range extra {
		neutral[key] = value
	}
	return d.Server(neutral)
}

func list(texts []string) []any {
	out := make([]any, len(texts))
	for i, t := range texts {
		out[i] = t
	}
	return out
}

// The hosts' own commands that add the entry.

func claudeCommand(o offer) []string {
	argv := []string{"claude", "mcp", "add", "--scope", string(o.scope)}
	if o.remote() {
		return append(argv, "--transport", "http", o.name, o.url, "--header", "Authorization: "+o.bearer())
	}
	for key, value := range o.env {
		argv = append(argv, "--env", key+"="+value.(string))
	}
	return slices.Concat(argv, []string{o.name, "--", o.program}, o.args)
}

func codexCommand(o offer) []string {
	if o.scope != deployment.User {
		return nil // it writes its user's file alone
	}
	argv := []string{"codex", "mcp", "add", o.name}
	if o.remote() {
		return append(argv, "--url", o.url, "--bearer-token-env-var", "COUNTERSIGN_TOKEN")
	}
	for key, value := range o.env {
		argv = append(argv, "--env", key+"="+value.(string))
	}
	return slices.Concat(argv, []string{"--", o.program}, o.args)
}

func geminiCommand(o offer) []string {
	argv := []string{"gemini", "mcp", "add", "-s", string(o.scope)}
	if o.remote() {
		return append(argv, "-t", "http", "-H", "Authorization: "+o.bearer(), o.name, o.url)
	}
	for key, value := range o.env {
		argv = append(argv, "-e", key+"="+value.(string))
	}
	argv = append(argv, o.name, o.program)
	for i, arg := range o.args {
		if strings.HasPrefix(arg, "-") { // what looks like a flag would be taken for one of Gemini's
			return slices.Concat(argv, []string{"--"}, o.args[i:])
		}
		argv = append(argv, arg)
	}
	return argv
}

func codeCommand(o offer) []string {
	if o.scope != deployment.User {
		return nil
	}
	server := entry.Object{"name": o.name, "command": o.program, "args": list(o.args)}
	if len(o.env) > 0 {
		server["env"] = o.env
	}
	if o.remote() {
		server = entry.Object{"name": o.name, "type": "http", "url": o.url, "headers": map[string]any{"Authorization": o.bearer()}}
	}
	text, err := entry.Value(server)
	if err != nil {
		return nil
	}
	return []string{"code", "--add-mcp", string(text)}
}

// starts is the program and the arguments that an entry starts; none for one that leads to a server.
func starts(o entry.Object) (argv []string) {
	switch c := o["command"].(type) {
	case string:
		argv = append(argv, c)
		more, _ := o["args"].([]any)
		return append(argv, textsOf(more)...)
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

// ours reports an entry that starts a server of Countersign's, wherever that program lies.
func ours(o entry.Object) bool {
	argv := starts(o)
	if len(argv) == 0 {
		return false
	}
	name := argv[0][strings.LastIndexAny(argv[0], `/\`)+1:]
	switch strings.TrimSuffix(strings.ToLower(name), ".exe") {
	case programName:
		return slices.Contains(argv[1:], serveCommand)
	case programName + "-mcp":
		return true
	}
	return false
}

// leads is where an entry leads over HTTP, and the secret of the token it shows there.
func leads(o entry.Object, d entry.Dialect) (url, secret string) {
	for _, key := range []string{d.URL, d.Events} {
		if text, ok := o[key].(string); ok && key != "" {
			url = text
		}
	}
	headers, _ := o[d.Headers].(map[string]any)
	bearer, _ := headers["Authorization"].(string)
	secret, _ = strings.CutPrefix(bearer, "Bearer ")
	return url, secret
}

// said is what an entry says in one line: what it starts, or where it leads.
func said(o entry.Object, d entry.Dialect) string {
	if argv := starts(o); len(argv) > 0 {
		return "starts " + strings.Join(argv, " ")
	}
	if url, _ := leads(o, d); url != "" {
		return "leads to " + url
	}
	text, err := json.Marshal(o)
	if err != nil {
		return "says nothing"
	}
	return "says " + string(text)
}
