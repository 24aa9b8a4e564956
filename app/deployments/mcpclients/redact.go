package mcpclients

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/deployment/target"
)

// masked replaces a value that is not shown.
const masked = "[masked]"

// shortest is the shortest value that is masked everywhere: shorter ones are words of ordinary text.
const shortest = 4

// SecretValues returns the texts in documents, each as the JSON of its whole value, that must not be shown: environments and headers of servers, and
// whatever has the name of a secret. The core redacts what looks like a secret; this is for the others. Longer ones come first.
func SecretValues(docs ...json.RawMessage) (out []string) {
	for _, doc := range docs {
		var all any
		if len(doc) > 0 && json.Unmarshal(doc, &all) == nil {
			out = gather(out, all, false)
		}
	}
	slices.SortFunc(out, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) }) // one that contains another comes first
	return slices.Compact(out)
}

// gather collects the texts at or below names of secrets.
func gather(out []string, v any, secret bool) []string {
	switch v := v.(type) {
	case string:
		if secret && len(v) >= shortest && !open(v) {
			out = append(out, v)
		}
	case []any:
		for _, one := range v {
			out = gather(out, one, secret)
		}
	case map[string]any:
		for name, one := range v {
			out = gather(out, one, !ours(name) && (secret || private(name)))
		}
	}
	return out
}

// open reports whether a value is only a placeholder for a token.
func open(value string) bool { return strings.TrimPrefix(value, "Bearer ") == TokenPlaceholder }

// ours reports whether Countersign itself writes the value into environments and headers, so that it is not secret.
func ours(name string) bool { return name == HomeVariable || name == WaitHeader }

// private reports whether the name is that of a member whose value is not shown.
func private(name string) bool {
	name = strings.ToLower(name)
	switch name {
	case "env", "environment", "headers", "http_headers", "key":
		return true
	}
	return slices.ContainsFunc([]string{"token", "secret", "passw", "apikey", "api_key", "api-key", "privatekey", "private_key", "credential", "authorization",
		"cookie", "oauth"}, func(word string) bool { return strings.Contains(name, word) })
}

// RedactText returns text without those values, as they may be written in it.
func RedactText(text string, hidden []string) string {
	for _, value := range hidden {
		if quoted, err := json.Marshal(value); err == nil {
			text = strings.ReplaceAll(text, string(quoted), `"`+masked+`"`)
		}
		text = strings.ReplaceAll(text, `"`+value+`"`, `"`+masked+`"`)
		text = strings.ReplaceAll(text, `'`+value+`'`, `'`+masked+`'`)
	}
	return text
}

// RedactedEntry returns an entry for display: only the names of its environment and headers; nil for none.
func RedactedEntry(o target.Object) json.RawMessage {
	if o == nil {
		return nil
	}
	text, err := target.EncodeValue(veil(map[string]any(o), false))
	if err != nil {
		return nil
	}
	return text
}

func veil(v any, secret bool) any {
	switch v := v.(type) {
	case string:
		if secret && !open(v) {
			return masked
		}
	case []any:
		out := make([]any, len(v))
		for i, one := range v {
			out[i] = veil(one, secret)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, one := range v {
			out[name] = veil(one, !ours(name) && (secret || private(name)))
		}
		return out
	}
	return v
}

// The limits of a diff for users: bytes of a line, the context of a change in a longer line, and the change.
const (
	longLine = 400
	around   = 60
	longest  = 4000
)

// RedactedDiff returns the difference of two texts for users: unified, or, if a line of it would be too long to read, the parts that differ.
func RedactedDiff(path, old, now string, unified func(oldName, newName string, old, new []byte) string) string {
	text := unified(path, path, []byte(old), []byte(now))
	for line := range strings.Lines(text) {
		if len(line) > longLine {
			return excerpt(path, old, now)
		}
	}
	return text
}

// excerpt returns the parts of two texts that differ, with a little context.
func excerpt(path, old, now string) string {
	same := 0
	for same < min(len(old), len(now)) && old[same] == now[same] {
		same++
	}
	rest := 0
	for rest < min(len(old), len(now))-same && old[len(old)-1-rest] == now[len(now)-1-rest] {
		rest++
	}
	part := func(text string) string {
		from, to := max(same-around, 0), min(len(text)-rest+around, len(text))
		to = min(to, from+longest)
		return strings.ToValidUTF8("…"+strings.Join(strings.Fields(text[from:to]), " ")+"…", "")
	}
	out := "--- " + path + "\n+++ " + path + "\n@@ within a long line @@\n"
	if old != "" {
		out += "-" + part(old) + "\n"
	}
	return out + "+" + part(now) + "\n"
}
