package mcpclients

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/deployment/target"
)

// masked stands for a value that is not shown.
const masked = "[masked]"

// shortest is the shortest value that is masked wherever it stands: shorter ones are words of ordinary text.
const shortest = 4

// SecretValues are the texts in documents, each as the JSON of its whole value, that their owner would not show: environments and headers of servers, and
// whatever is named like a secret. The core redacts what looks like a secret; this is for those that do not. Longer ones come first.
func SecretValues(docs ...json.RawMessage) (out []string) {
	for _, doc := range docs {
		var all any
		if len(doc) > 0 && json.Unmarshal(doc, &all) == nil {
			out = gather(out, all, false)
		}
	}
	slices.SortFunc(out, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) }) // one that holds another goes first
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

// open reports a value that only stands for a token.
func open(value string) bool { return strings.TrimPrefix(value, "Bearer ") == TokenPlaceholder }

// ours reports what Countersign itself writes into environments and headers, and is no secret.
func ours(name string) bool { return name == HomeVariable || name == WaitHeader }

// private reports the name of a member whose value is not shown.
func private(name string) bool {
	name = strings.ToLower(name)
	switch name {
	case "env", "environment", "headers", "http_headers", "key":
		return true
	}
	return slices.ContainsFunc([]string{"token", "secret", "passw", "apikey", "api_key", "api-key", "privatekey", "private_key", "credential", "authorization",
		"cookie", "oauth"}, func(word string) bool { return strings.Contains(name, word) })
}

// RedactText is text without those values, as they may be written in it.
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

// RedactedEntry is an entry as it is shown: its environment and its headers by name alone; nil for none.
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

// The bounds of a diff that a person reads: bytes of a line, what is shown around a change in one that is longer, and of the change.
const (
	longLine = 400
	around   = 60
	longest  = 4000
)

// RedactedDiff is the difference of two texts for a person: unified, or, where a line of it would be too long to read, what they do not share.
func RedactedDiff(path, old, now string, unified func(oldName, newName string, old, new []byte) string) string {
	text := unified(path, path, []byte(old), []byte(now))
	for line := range strings.Lines(text) {
		if len(line) > longLine {
			return excerpt(path, old, now)
		}
	}
	return text
}

// excerpt is what two texts do not share, with a little around it.
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
