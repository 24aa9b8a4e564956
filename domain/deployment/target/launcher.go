package target

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// The command of this program that resolves references when a server starts, for hosts whose documents cannot say them. It is followed by --env NAME=TEXT for
// each variable, in whose text @{NAME} stands for a secret, then by -- and the server's own command. Neither names nor texts are secret.
const (
	LauncherProgram = "countersign"
	LauncherCommand = "with-secrets"
	launcherEnv     = "--env"
	launcherEnd     = "--"
)

// launched is a local server whose references are resolved by the launcher. Only those in its environment can be: what stands in a command line every program
// of the machine can read. It is false where there are others.
func (d Dialect) launched(o Object) (Object, bool) {
	rest := maps.Clone(o)
	delete(rest, "env")
	env, _ := o["env"].(map[string]any)
	if len(References(rest)) > 0 || len(References(env)) == 0 || o["env_vars"] != nil {
		return nil, false
	}
	form := referring()
	args, plain := []any{LauncherCommand}, map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		text, _ := env[name].(string)
		switch {
		case len(References(text)) == 0:
			plain[name] = text
			continue
		case name == "" || strings.Contains(name, "=") || strings.Contains(text, "@{"):
			return nil, false
		}
		args = append(args, launcherEnv, name+"="+form.ReplaceAllString(text, "@{${1}${2}}"))
	}
	args = append(append(args, launcherEnd), o["command"])
	own, _ := o["args"].([]any)
	out := maps.Clone(o)
	out["command"], out["args"] = LauncherProgram, append(args, own...)
	delete(out, "env")
	if len(plain) > 0 {
		out["env"] = plain
	}
	if d.References == ReferencesByName { // it hands on what it is told to, and nothing else
		var names []any
		for _, name := range References(env) {
			names = append(names, name)
		}
		out["env_vars"] = names
	}
	return out, true
}

// unlaunched is the server that the launcher starts; any other server is as it is.
func (d Dialect) unlaunched(o Object) Object {
	args, _ := o["args"].([]any)
	if o["command"] != LauncherProgram || len(args) < 2 || args[0] != LauncherCommand || slices.ContainsFunc(args, notText) {
		return o
	}
	form := regexp.MustCompile(`@\{([A-Za-z_][A-Za-z0-9_]*)(:-[^}]*)?\}`)
	env := map[string]any{}
	if plain, is := o["env"].(map[string]any); is {
		maps.Copy(env, plain)
	}
	i := 1
	for ; i+1 < len(args) && args[i] == launcherEnv; i += 2 {
		name, text, _ := strings.Cut(args[i+1].(string), "=")
		env[name] = form.ReplaceAllString(text, "$${${1}${2}}")
	}
	if i+1 >= len(args) || args[i] != launcherEnd {
		return o
	}
	out := maps.Clone(o)
	out["command"], out["env"] = args[i+1], env
	delete(out, "args")
	if more := args[i+2:]; len(more) > 0 {
		out["args"] = more
	}
	if d.References == ReferencesByName {
		delete(out, "env_vars")
	}
	return out
}

// Launched reports a server in neutral words that the dialect has only by the launcher.
func (d Dialect) Launched(o Object) bool {
	kind, err := transport(o)
	if err != nil || kind != stdio {
		return false
	}
	if _, err = d.translated(o); !isDialect(err) {
		return false
	}
	_, ok := d.launched(o)
	return ok
}
