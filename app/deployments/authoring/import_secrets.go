package authoring

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/target"
	"github.com/countersign-dev/countersign/domain/redact"
)

// ImportReference is a secret in a document that a module refers to instead. Its value is never shown.
type ImportReference struct {
	At       string `json:"at"`          // within the server: env.NAME, headers.NAME, args.2 or url
	Source   string `json:"source_path"` // the document, which is not changed
	Variable string `json:"variable"`    // environment variable that the module refers to
}

// private reports whether the name is that of a value that should not be shown.
func private(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc([]string{"token", "secret", "passw", "apikey", "api_key", "api-key", "private", "credential", "authorization", "cookie"},
		func(word string) bool { return strings.Contains(name, word) }) || strings.HasSuffix(name, "_key") || strings.HasSuffix(name, "_pat") || name == "pat"
}

// looksSecret reports whether a text looks like a secret.
func looksSecret(text string) bool {
	_, n := redact.New(redact.Options{}).Text(text)
	return n > 0
}

// secretive reports whether a value contains a secret.
func secretive(name string, value any) bool {
	switch v := value.(type) {
	case string:
		return private(name) && v != "" && !onlyReference(v) || looksSecret(v)
	case []any:
		return slices.ContainsFunc(v, func(one any) bool { return secretive("", one) })
	case map[string]any:
		for key, one := range v {
			if secretive(key, one) {
				return true
			}
		}
	}
	return false
}

// onlyReference reports whether the secret part of a text is a reference.
func onlyReference(text string) bool { return len(target.References(text)) > 0 && !looksSecret(text) }

// known reports whether a value is not secret where a secret is expected: empty, a switch, a reference or the path of a file.
func known(text string) bool {
	return text == "" || text == "true" || text == "false" || isReference(text) || pathForm.MatchString(text)
}

var pathForm = regexp.MustCompile(`^(~|\.{1,2})?/.*\.\w{2,5}$`)

// harmless reports whether a value of a variable is not secret although its name does not tell.
func harmless(text string) bool {
	switch strings.ToLower(text) {
	case "yes", "no", "on", "off", "debug", "info", "warn", "warning", "error", "trace", "production", "development", "test", "local", "stdio", "http", "https":
		return true
	}
	_, err := strconv.ParseFloat(text, 64)
	return err == nil && len(text) <= 6 || known(text)
}

// referenceForm is a reference to a single variable, in the form of one of the hosts.
var referenceForm = regexp.MustCompile(`^(\$\{?(env:|input:)?[A-Za-z_][\w-]*(:-[^}]*)?\}?|\{(env|file):[^}]+\}|%\w+%)$`)

func isReference(text string) bool { return referenceForm.MatchString(text) || onlyReference(text) }

// tells reports whether a secret follows the name: of a flag, of a URL parameter, or of a variable.
func tells(name string) bool {
	name = strings.ToLower(strings.TrimLeft(name, "-"))
	for _, end := range []string{"file", "path", "dir", "env", "var", "name", "type", "url", "uri", "command", "helper", "id", "tokens"} {
		if before, has := strings.CutSuffix(name, end); has && strings.HasSuffix(before, "-") || has && strings.HasSuffix(before, "_") {
			return false // it says where a secret is, or its kind
		}
	}
	if strings.HasPrefix(name, "max") || strings.HasPrefix(name, "num") || strings.HasPrefix(name, "no-") {
		return false
	}
	return slices.Contains([]string{"key", "auth", "pw", "pass", "bearer", "sig", "signature", "code", "sas"}, name) || private(name) || redact.IsSecretKey(name)
}

// referrer puts references in the place of the secrets of one server.
type referrer struct {
	name, source string
	refs         []ImportReference
	values       map[string]string // of the variables
}

// refer returns a reference to a variable of that name, or to the next one where that has another value.
func (r *referrer) refer(at, variable, value string) string {
	variable = variableOf(variable)
	for n, first := 2, variable; r.values[variable] != "" && r.values[variable] != value; n++ {
		variable = first + "_" + strconv.Itoa(n)
	}
	r.values[variable] = value
	r.refs = append(r.refs, ImportReference{at, r.source, variable})
	return "${" + variable + "}"
}

// referring returns a server with references instead of its secrets: in its environment, in its headers, behind arguments like --token and --header,
// and in the query of a URL. off says that it is switched off: then nothing of its environment is taken that may be a secret. It fails where a secret
// stands anywhere else.
func referring(server target.Object, name, source string, off bool) (target.Object, []ImportReference, error) {
	out := maps.Clone(server)
	r := &referrer{name, source, nil, map[string]string{}}
	for _, table := range []string{"env", "headers"} {
		values, ok := server[table].(map[string]any)
		if !ok {
			continue
		}
		with := map[string]any{}
		for _, key := range slices.Sorted(maps.Keys(values)) {
			text, is := values[key].(string)
			with[key] = values[key]
			switch {
			case !is, !secretive(key, text) && (!off || table != "env" || harmless(text)):
			case table == "headers":
				with[key] = r.header(table+"."+key, key, text)
			default:
				with[key] = r.refer(table+"."+key, key, text)
			}
		}
		out[table] = with
	}
	if args, ok := server["args"].([]any); ok {
		out["args"] = r.arguments(args)
	}
	if url, ok := server["url"].(string); ok {
		out["url"] = r.url("url", url)
	}
	command, _ := out["command"].(string)
	words := []any{}
	for word := range strings.FieldsSeq(command) { // one that is a whole command line
		words = append(words, word)
	}
	plain := &referrer{values: map[string]string{}}
	if plain.arguments(words); len(plain.refs) > 0 || secretive("", map[string]any(out)) {
		return nil, nil, deployment.ErrConfig.WithMessage("a secret stands where no reference can")
	}
	return out, r.refs, nil
}

// header returns the value of a header with a reference instead of its secret.
func (r *referrer) header(at, name, value string) string {
	if scheme, secret, ok := strings.Cut(value, " "); ok && strings.EqualFold(name, "Authorization") {
		return scheme + " " + r.refer(at, r.name+"_token", strings.TrimSpace(secret))
	}
	return r.refer(at, r.name+"_"+name, value)
}

// assigned is a flag, or a variable, with its value behind an equals sign.
var assigned = regexp.MustCompile(`^(--?[A-Za-z][\w.-]*|[A-Za-z_]\w*)=(.+)$`)

// arguments returns those of a program with references instead of their secrets.
func (r *referrer) arguments(args []any) []any {
	out := slices.Clone(args)
	flag := "" // whose value comes next
	for i, arg := range args {
		text, is := arg.(string)
		at, of := "args."+strconv.Itoa(i), flag
		if flag = ""; !is {
			continue
		}
		parts := assigned.FindStringSubmatch(text)
		name, value := "", text
		if parts != nil {
			name, value = parts[1], parts[2]
		}
		switch {
		case of == "" && parts == nil && strings.HasPrefix(text, "-"):
			flag = text
			continue
		case of == "" && parts == nil:
			out[i] = r.url(at, text)
			continue
		case parts == nil || of != "" && !strings.HasPrefix(text, "-"):
			name, value = of, text
		}
		if strings.HasPrefix(value, "-") && name == of { // the flag before has no value
			flag = value
			continue
		}
		before := strings.TrimSuffix(text, value)
		key, inner, colon := strings.Cut(value, ":")
		header := name == "-H" || name == "--header" || name == "--headers"
		switch {
		case header && colon && tells(strings.TrimSpace(key)) && !isReference(strings.TrimSpace(inner)) && strings.TrimSpace(inner) != "":
			blank := inner[:len(inner)-len(strings.TrimLeft(inner, " "))]
			out[i] = before + key + ":" + blank + r.header(at, strings.TrimSpace(key), strings.TrimSpace(inner))
		case header, known(value):
		case tells(name):
			out[i] = before + r.refer(at, r.variable(name), value)
		case parts != nil && of != "": // -e NAME=value
			if inner := assigned.FindStringSubmatch(value); inner != nil && tells(inner[1]) && !known(inner[2]) {
				out[i] = inner[1] + "=" + r.refer(at, inner[1], inner[2])
			}
		default:
			out[i] = before + r.url(at, value)
		}
	}
	return out
}

// variable returns what the value of a flag is called: the flag's name below the server's, a variable's name as it is.
func (r *referrer) variable(name string) string {
	if !strings.HasPrefix(name, "-") {
		return name
	}
	return r.name + "_" + strings.TrimLeft(name, "-")
}

// url returns an address with references instead of its password and of the secrets in its query. Any other text stays as it is.
func (r *referrer) url(at, text string) string {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok || strings.ContainsAny(scheme, " \t") {
		return text
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	host, path := rest[:end], rest[end:]
	if i := strings.LastIndexByte(host, '@'); i >= 0 {
		if user, password, has := strings.Cut(host[:i], ":"); has && !known(password) {
			host = user + ":" + r.refer(at, r.name+"_password", password) + host[i:]
		}
	}
	path, fragment, marked := strings.Cut(path, "#")
	if marked {
		fragment = "#" + fragment
	}
	before, query, asked := strings.Cut(path, "?")
	if !asked {
		return scheme + "://" + host + path + fragment
	}
	pairs := strings.Split(query, "&")
	for n, pair := range pairs {
		if name, value, has := strings.Cut(pair, "="); has && tells(name) && !known(value) {
			pairs[n] = name + "=" + r.refer(at, r.name+"_"+name, value)
		}
	}
	return scheme + "://" + host + before + "?" + strings.Join(pairs, "&") + fragment
}

// variableOf returns a name as that of a variable.
func variableOf(name string) string {
	var b strings.Builder
	for i, r := range strings.ToUpper(name) {
		switch {
		case r >= 'A' && r <= 'Z' || r == '_' || i > 0 && r >= '0' && r <= '9':
			b.WriteRune(r)
		default:
			b.WriteByte('_')
		}
	}
	return b.String()
}

// longestText is how large a file may be that is looked through for secrets.
const longestText = 1 << 20

// secretless fails where a text of the candidate holds what looks like a secret: what is imported is shared.
func secretless(c *candidate, read func(deployment.Content) ([]byte, error)) error {
	if c.module.Type == deployment.ModuleMCP || c.module.Type == deployment.ModuleSettings {
		return nil // looked through value by value
	}
	for _, f := range c.tree {
		if f.Content.Size > longestText {
			continue
		}
		data, err := read(f.Content)
		if err != nil {
			return err
		}
		if deployment.IsText(data) && looksSecret(string(data)) {
			return deployment.ErrConfig.WithMessage("%s holds what looks like a secret; write a reference like ${NAME} instead, and import again", f.Path)
		}
	}
	return nil
}
