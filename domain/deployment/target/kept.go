package target

import (
	_ "embed" // the tables
	"path"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/deployment"
)

// The tables of what agents store besides what modules make: where each file is, and why an import leaves it; and which of an agent's settings are a
// user's, and not the agent's own notes.
var (
	//go:embed tables/kept.tsv
	keptTable string
	//go:embed tables/settings.tsv
	settingsTable string
)

// Places returns all rules of all agents whose directories depend only on the environment, the home and the project, with these directories, whether
// or not the rules are enabled. For a configured agent, options may move the directories.
func Places(in Input) (out []ActiveRule) {
	for _, a := range AllAgents() {
		c := in.resolve(a)
		for _, r := range a.Rules {
			if r.Connects {
				continue
			}
			l := ActiveRule{AgentRule: r, Agent: a.Name, Options: c.Config.Options}
			var err error
			if l.Dir, l.Project, err = a.root(c, r); err == nil {
				if in.Has != nil && r.Shape == ShapeKeys {
					l.choose(c.Paths, in.Has)
				}
				out = append(out, l)
			}
		}
	}
	return out
}

func (in Input) resolve(a agent) ResolveContext {
	cfg := in.Targets[a.Name]
	cfg.Scope = deployment.ScopeBoth
	return ResolveContext{Config: cfg, Place: in.Place, Paths: Paths{Sep: in.Sep}}
}

// MarksOf returns the directories that exist once an agent has run.
func MarksOf(in Input, name string) []string {
	a, _ := FindAgent(name)
	marks, err := a.Marks(in.resolve(a))
	if err != nil {
		return nil
	}
	return marks
}

// The reasons why an import leaves something that agents store.
const (
	KeptCredentials = "credentials"       // never copied
	KeptState       = "state_or_cache"    // the agent's own notes: sessions, histories, caches
	KeptPersonal    = "personal"          // meant for this machine only
	KeptKind        = "kind_not_imported" // no type of module exists for it
	KeptUnread      = "not_read_by_host"  // the agent no longer reads it
	KeptShadow      = "shadows_another"   // the agent reads this file, and another one therefore not
	KeptCode        = "code"              // programs and plugins
)

// Kept is something that an agent stores and that no module is made of. The last component of Path may contain a *.
type Kept struct {
	Agent  string
	Scope  deployment.Scope
	Path   string // absolute
	Reason string
}

// KeptApart returns everything of that kind, in the order of the table.
func KeptApart(in Input) (out []Kept) {
	n := Paths{Sep: in.Sep}
	for _, a := range AllAgents() {
		c := in.resolve(a)
		for _, cells := range rows(keptTable, a.Name) {
			scope := deployment.Scope(cells[1])
			dir, _, err := a.root(c, AgentRule{root: cells[2], scope: scope})
			if err != nil {
				continue
			}
			for _, name := range strings.Fields(cells[3]) {
				out = append(out, Kept{a.Name, scope, n.Join(dir, name), cells[4]})
			}
		}
	}
	return out
}

// OwnSetting reports whether a key of an agent's settings is one that users set; the others are servers, which have a type of module of their own,
// and the agent's own notes.
func OwnSetting(agent, key string) bool {
	fits := func(patterns string) bool {
		return slices.ContainsFunc(strings.Fields(patterns), func(p string) bool {
			before, prefix := strings.CutSuffix(p, "*")
			return key == p || prefix && strings.HasPrefix(key, before)
		})
	}
	a, _ := FindAgent(agent)
	for _, r := range a.Rules {
		if r.Of == deployment.ModuleMCP && len(r.At) > 0 && r.At[0] == key {
			return false
		}
	}
	for _, c := range rows(settingsTable, agent) {
		return (c[1] == "" || fits(c[1])) && !fits(c[2])
	}
	return key != "$schema"
}

// RestOf returns the part of a path below the rule's directory, as the name that a module has there, if the path has the form that the rule gives to
// files.
func (r AgentRule) RestOf(below string) (name string, ok bool) {
	form := r.Path
	for _, of := range []string{"{key}", "{file}", "{stem}", "{prompt}"} {
		before, after, has := strings.Cut(form, of)
		if !has {
			continue
		}
		switch of {
		case "{file}":
			after = ".md"
		case "{prompt}":
			after = ".prompt.md"
		}
		base := path.Base(below)
		return below, strings.HasPrefix(below, before) && strings.HasSuffix(base, after) && base != after && !strings.HasPrefix(base, ".")
	}
	return "", false
}

// SplitHeader cuts Markdown into its frontmatter, including the blank lines after it, and the rest.
func SplitHeader(markdown []byte) (head, body []byte) {
	h, _ := split(string(markdown))
	return markdown[:len(h)], markdown[len(h):]
}

// Described translates a server from the dialect to the neutral description of modules. It fails with ErrDialect if writing it in the dialect would
// not give the same value again.
func (d Dialect) Described(value Object) (Object, error) {
	original, out := value, Object{}
	value = d.older(value)
	for key, v := range value {
		switch key {
		case "type", "command", "args", d.URL, d.Events, d.Headers, d.Env:
		default:
			out[key] = v
		}
	}
	say := func(key string, v any, there bool) {
		if there && key != "" {
			out[key] = v
		}
	}
	args, given := value["args"]
	command, local := value["command"]
	if list, ok := command.([]any); d.List && ok && len(list) > 0 {
		command, args, given = list[0], list[1:], len(list) > 1
	}
	say("command", command, local)
	say("args", args, given)
	env, has := value[d.Env]
	say("env", env, has)
	headers, has := value[d.Headers]
	say("headers", headers, has)
	url, far := value[d.URL]
	say("url", url, far)
	if d.Events != "" {
		if url, streams := value[d.Events]; streams && !far {
			out["url"], out["type"] = url, events
		}
	}
	if kind, said := value["type"].(string); said {
		switch {
		case far && d.SSE != "" && kind == d.SSE && d.SSE != d.HTTP:
			out["type"] = events
		case local && (kind != d.Stdio || d.SaysStdio):
			out["type"] = kind
		}
	}
	out = d.plain(out)
	if by := d.unlaunched(out); d.Launched(by) {
		out = by
	} else if d.References == ReferencesByName {
		out = unnamed(out)
	}
	again, err := d.Server(out)
	if err != nil {
		return nil, ErrDialect.WithMessage("it cannot be written as a server module: %v", err).WithCause(err)
	}
	if was, err := EncodeValue(original); err != nil || !equalJSON(again, was) {
		return nil, ErrDialect.WithMessage("deploying it would change how it is written")
	}
	return out, nil
}

func equalJSON(v any, text []byte) bool {
	is, err := EncodeValue(v)
	return err == nil && string(is) == string(text)
}

// unnamed returns a server in which the references that Codex has by name are ${NAME}.
func unnamed(o Object) Object {
	table := func(key string) map[string]any {
		out := map[string]any{}
		if t, ok := o[key].(map[string]any); ok {
			for name, v := range t {
				out[name] = v
			}
		}
		return out
	}
	env, headers := table("env"), table("headers")
	out := Object{}
	for key, v := range o {
		out[key] = v
	}
	if names, ok := o["env_vars"].([]any); ok && !slices.ContainsFunc(names, notText) {
		for _, name := range names {
			env[name.(string)] = "${" + name.(string) + "}"
		}
		delete(out, "env_vars")
		out["env"] = env
	}
	if named, ok := o["env_http_headers"].(map[string]any); ok {
		for header, name := range named {
			if text, is := name.(string); is {
				headers[header] = "${" + text + "}"
			}
		}
		delete(out, "env_http_headers")
		out["headers"] = headers
	}
	if name, ok := o["bearer_token_env_var"].(string); ok {
		headers["Authorization"] = "Bearer ${" + name + "}"
		delete(out, "bearer_token_env_var")
		out["headers"] = headers
	}
	return out
}

// CommandOfTOML returns the Markdown of a TOML command that no module made. It fails with ErrText if that would give another TOML command again.
func CommandOfTOML(toml []byte) ([]byte, error) {
	values, err := parse(string(toml))
	if err != nil {
		return nil, err
	}
	text := "---\ndescription: " + quote(values["description"]) + "\n---\n" + fromGemini("", values["prompt"])
	again, err := CommandToTOML([]byte(text))
	if err != nil {
		return nil, err
	}
	meant, err := parse(string(again))
	if err != nil {
		return nil, err
	}
	for key := range values {
		if key != "prompt" && key != "description" {
			return nil, ErrText.WithMessage("the command has the key %q, which a command in Markdown cannot have", key)
		}
	}
	if _, body := split(text); values["prompt"] == "" || meant["prompt"] != values["prompt"] || meant["description"] != values["description"] || toGemini(body) != values["prompt"] {
		return nil, ErrText.WithMessage("the command has content that a command in Markdown cannot have")
	}
	return []byte(text), nil
}

// Switch returns the option that the rule needs, and the option's default; empty: none.
func (r AgentRule) Switch() (option string, on bool) { return r.option, r.on }

// Choice returns the option, and the value of it, that the rule applies to; empty: none.
func (r AgentRule) Choice() (option, value string) {
	if len(r.only.values) == 0 {
		return "", ""
	}
	return r.only.option, r.only.values[0]
}

// FirstChoice reports whether the rule applies to no value of an option, or to the default.
func (l ActiveRule) FirstChoice() bool {
	a, _ := FindAgent(l.Agent)
	i := slices.IndexFunc(a.choices, func(c choice) bool { return c.option == l.only.option })
	return i < 0 || slices.Contains(l.only.values, a.choices[i].values[0])
}

// AgentOf returns the Markdown of an agent that no module made: what only its host understands is under the host's name in the frontmatter. It fails
// with ErrText if something in it cannot be expressed. called is the name if the file has none.
func AgentOf(host, called string, isTOML bool, doc []byte, frontmatter deployment.FrontmatterFunc) ([]byte, error) {
	fields, body := map[string]any{}, ""
	if isTOML {
		values, err := parse(string(doc))
		if err != nil {
			return nil, err
		}
		body = values["developer_instructions"]
		for key, value := range values {
			switch key {
			case "developer_instructions":
			case "name", "description":
				fields[key] = value
			default:
				return nil, ErrText.WithMessage("the agent has the key %q, which modules do not support for Codex", key)
			}
		}
	} else {
		var err error
		if fields, _, err = frontmatter(doc); err != nil {
			return nil, err
		}
		_, body = split(string(doc))
	}
	if fields["name"] == nil && len(fields) > 0 {
		fields["name"] = called
	}
	var b strings.Builder
	b.WriteString("---\n")
	own := map[string]any{}
	for key, value := range fields {
		if key != "name" && key != "description" {
			own[key] = value
		}
	}
	head := map[string]any{host: own}
	if len(own) == 0 {
		delete(head, host)
	}
	for _, key := range []string{"name", "description", host} {
		value, there := fields[key]
		if key == host {
			value, there = head[host], len(own) > 0
		}
		if !there {
			continue
		}
		text, err := EncodeValue(value)
		if err != nil {
			return nil, err
		}
		b.WriteString(key + ": " + string(text) + "\n")
	}
	return []byte(b.String() + "---\n\n" + body), nil
}
