package target

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// references is the form in which an agent's documents refer to variables of the agent's environment, so that they contain no secrets.
type references string

// The forms of references. Modules use the first.
const (
	ReferencesPlain  references = "${}"     // ${NAME} and ${NAME:-default}, as in modules
	ReferencesEnv    references = "${env:}" // ${env:NAME}
	ReferencesBraces references = "{env:}"  // {env:NAME}
	ReferencesByName references = "names"   // no text is expanded; separate keys name variables
	ReferencesNone   references = "none"    // no known form
)

// referring returns a reference in a module: ${NAME} or ${NAME:-default}.
func referring() *regexp.Regexp {
	return regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)(:-[^}]*)?\}`)
}

// References returns the names of the variables that texts anywhere in a value refer to, sorted.
func References(value any) []string {
	names := map[string]bool{}
	form := referring()
	eachText(value, func(text string) {
		for _, found := range form.FindAllStringSubmatch(text, -1) {
			names[found[1]] = true
		}
	})
	return slices.Sorted(maps.Keys(names))
}

func eachText(value any, visit func(string)) {
	switch v := value.(type) {
	case string:
		visit(v)
	case []any:
		for _, one := range v {
			eachText(one, visit)
		}
	case Object:
		eachText(map[string]any(v), visit)
	case map[string]any:
		for _, one := range v {
			eachText(one, visit)
		}
	}
}

// translated returns a server with its references in the form of the dialect. It fails with ErrDialect if the dialect has none for one of them.
func (d Dialect) translated(o Object) (Object, error) {
	names := References(o)
	if len(names) == 0 || d.References == ReferencesPlain || d.References == "" {
		return o, nil
	}
	switch d.References {
	case ReferencesByName:
		return d.named(o)
	case ReferencesNone:
		if o["url"] != nil {
			return nil, ErrDialect.WithMessage("it refers to ${%s}, but the agent's documents do not support references to the environment; use a local server that connects to it, such as npx mcp-remote with the address and the header in args, or exclude the module from this target", names[0])
		}
		return nil, ErrDialect.WithMessage("it refers to ${%s}, but the agent's documents do not support references to the environment; move it to env or args, where it is resolved when the server starts, or exclude the module from this target", names[0])
	}
	form := referring()
	var bad error
	out := Object(eachString(map[string]any(o), func(text string) string {
		return form.ReplaceAllStringFunc(text, func(text string) string {
			found := form.FindStringSubmatch(text)
			if found[2] != "" && bad == nil {
				bad = ErrDialect.WithMessage("it refers to %s, but the agent does not support defaults in references; write ${%s}", text, found[1])
			}
			if d.References == ReferencesEnv {
				return "${env:" + found[1] + "}"
			}
			return "{env:" + found[1] + "}"
		})
	}).(map[string]any))
	return out, bad
}

// named returns the server with its references by name, as in Codex: env_vars passes on variables under their own names, env_http_headers and
// bearer_token_env_var fill headers. Nothing else can be expressed there.
func (d Dialect) named(o Object) (Object, error) {
	const bearer = "Bearer "
	out := maps.Clone(o)
	refuse := func(name, at string) error {
		return ErrDialect.WithMessage("it refers to ${%s} in %s, but the agent supports references only as env.%s with the value ${%s}, as a whole header, or as Authorization: Bearer ${%s}", name, at, name, name, name)
	}
	env, headers := map[string]any{}, map[string]any{}
	var passed []any
	taken := map[string]any{}
	table := func(key string) map[string]any { t, _ := o[key].(map[string]any); return t }
	for _, name := range slices.Sorted(maps.Keys(table("env"))) {
		value := table("env")[name]
		switch refs := References(value); {
		case len(refs) == 0:
			env[name] = value
		case value == "${"+name+"}":
			passed = append(passed, name)
		default:
			return nil, refuse(refs[0], "env."+name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(table("headers"))) {
		value, _ := table("headers")[name].(string)
		refs := References(value)
		switch {
		case len(refs) == 0:
			headers[name] = value
		case value == "${"+refs[0]+"}":
			taken[name] = refs[0]
		case strings.EqualFold(name, "Authorization") && value == bearer+"${"+refs[0]+"}":
			out["bearer_token_env_var"] = refs[0]
		default:
			return nil, refuse(refs[0], "headers."+name)
		}
	}
	put := func(key string, value any, there bool) {
		delete(out, key)
		if there {
			out[key] = value
		}
	}
	put("env", env, len(env) > 0)
	put("headers", headers, len(headers) > 0)
	if len(passed) > 0 {
		out["env_vars"] = passed
	}
	if len(taken) > 0 {
		out["env_http_headers"] = taken
	}
	rest := maps.Clone(out)
	for _, key := range []string{"env", "headers", "env_vars", "env_http_headers", "bearer_token_env_var"} {
		delete(rest, key)
	}
	for _, key := range slices.Sorted(maps.Keys(rest)) {
		if refs := References(rest[key]); len(refs) > 0 {
			return nil, refuse(refs[0], key)
		}
	}
	return out, nil
}

// plain returns a server of the dialect with its references as in modules.
func (d Dialect) plain(o Object) Object {
	form := `\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}`
	switch d.References {
	case ReferencesBraces:
		form = `\{env:([A-Za-z_][A-Za-z0-9_]*)\}`
	case ReferencesEnv:
	default:
		return o
	}
	return Object(eachString(map[string]any(o), func(text string) string { return regexp.MustCompile(form).ReplaceAllString(text, "$${$1}") }).(map[string]any))
}

// eachString returns a value with each of its texts replaced.
func eachString(value any, anew func(string) string) any {
	switch v := value.(type) {
	case string:
		return anew(v)
	case []any:
		out := make([]any, len(v))
		for i, one := range v {
			out[i] = eachString(one, anew)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, one := range v {
			out[key] = eachString(one, anew)
		}
		return out
	}
	return value
}
