package target

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// The command of this program that resolves references when a server starts, for hosts whose documents cannot express them. It is followed by --env
// NAME=TEXT for each variable, in whose text @{NAME} stands for a secret, then by -- and the server's own command, in whose arguments it also does
// with --args. Neither names nor texts are secret.
const (
	LauncherProgram = "countersign"
	LauncherCommand = "with-secrets"
	launcherArgs    = "--args"
	launcherEnv     = "--env"
	launcherEnd     = "--"
)

// launched returns a local server whose references are resolved by the launcher: those in its environment and in its arguments. It is false if there
// are others, or none.
func (d Dialect) launched(o Object) (Object, bool) {
	rest := maps.Clone(o)
	delete(rest, "env")
	delete(rest, "args")
	env, _ := o["env"].(map[string]any)
	own, _ := o["args"].([]any)
	names := References([]any{env, own})
	if len(References(rest)) > 0 || len(names) == 0 || o["env_vars"] != nil {
		return nil, false
	}
	form := referring()
	args, plain := []any{LauncherCommand}, map[string]any{}
	if len(References(own)) > 0 {
		if slices.ContainsFunc(own, launcherMarked) {
			return nil, false
		}
		args = append(args, launcherArgs)
		own = eachString(own, func(text string) string { return form.ReplaceAllString(text, "@{${1}${2}}") }).([]any)
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		text, _ := env[name].(string)
		switch {
		case len(References(text)) == 0:
			plain[name] = text
			continue
		case name == "" || strings.Contains(name, "=") || launcherMarked(text):
			return nil, false
		}
		args = append(args, launcherEnv, name+"="+form.ReplaceAllString(text, "@{${1}${2}}"))
	}
	args = append(append(args, launcherEnd), o["command"])
	out := maps.Clone(o)
	out["command"], out["args"] = LauncherProgram, append(args, own...)
	delete(out, "env")
	if len(plain) > 0 {
		out["env"] = plain
	}
	if d.References == ReferencesByName { // the launcher passes on what it is told to, and nothing else
		passed := make([]any, len(names))
		for i, name := range names {
			passed[i] = name
		}
		out["env_vars"] = passed
	}
	return out, true
}

// launcherMarked reports whether the launcher would take a text for one with a secret in it.
func launcherMarked(v any) bool {
	text, _ := v.(string)
	return strings.Contains(text, "@{")
}

// unlaunched returns the server that the launcher starts; any other server is unchanged.
func (d Dialect) unlaunched(o Object) Object {
	args, _ := o["args"].([]any)
	if o["command"] != LauncherProgram || len(args) < 2 || args[0] != LauncherCommand || slices.ContainsFunc(args, notText) {
		return o
	}
	form := regexp.MustCompile(`@\{([A-Za-z_][A-Za-z0-9_]*)(:-[^}]*)?\}`)
	plain := func(text string) string { return form.ReplaceAllString(text, "$${${1}${2}}") }
	env := map[string]any{}
	if others, is := o["env"].(map[string]any); is {
		maps.Copy(env, others)
	}
	i := 1
	filled := args[i] == launcherArgs
	if filled {
		i++
	}
	for ; i+1 < len(args) && args[i] == launcherEnv; i += 2 {
		name, text, _ := strings.Cut(args[i+1].(string), "=")
		env[name] = plain(text)
	}
	if i+1 >= len(args) || args[i] != launcherEnd {
		return o
	}
	out := maps.Clone(o)
	out["command"] = args[i+1]
	delete(out, "args")
	delete(out, "env")
	if len(env) > 0 {
		out["env"] = env
	}
	if more := args[i+2:]; len(more) > 0 {
		if filled {
			more = eachString(more, plain).([]any)
		}
		out["args"] = more
	}
	if d.References == ReferencesByName {
		delete(out, "env_vars")
	}
	return out
}

// Launched reports whether the dialect can express the server only with the launcher.
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
