package docedit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/tailscale/hujson"
)

// change is one value to set: where, as a tree that keeps the order of its keys, and what it means.
type change struct {
	Path  []string
	Node  hujson.Value
	Value any
}

// newChange reads a JSON value. It fails with ErrFormat if raw is none, has a key twice, or nests too deeply.
func newChange(path []string, raw json.RawMessage) (change, error) {
	var compact bytes.Buffer
	if err := json.Compact(&compact, raw); err != nil || nesting(raw) > valueMaxDepth {
		return change{}, ErrValueFormat.WithMessage("the value for %s is not JSON, or nests deeper than %d levels", keyText(path), valueMaxDepth)
	}
	node, err := hujson.Parse(compact.Bytes())
	if err != nil {
		return change{}, ErrValueFormat.WithMessage("the value for %s is not JSON", keyText(path))
	}
	var m document
	value := m.tree(node, nil)
	if len(m.Twice) > 0 {
		return change{}, ErrValueFormat.WithMessage("the value for %s has the key %s twice; keep one of them", keyText(path), keyText(m.Twice[0]))
	}
	return change{Path: slices.Clone(path), Node: node, Value: value}, nil
}

// Table reports whether the value is an object.
func (c change) Table() bool {
	_, table := c.Value.(map[string]any)
	return table
}

// nesting returns how deeply brackets nest in JSON, outside of strings and comments. Parsers follow nesting with the stack, so this is asked first.
func nesting(doc []byte) (deepest int) {
	depth := 0
	for i := 0; i < len(doc); i++ {
		switch doc[i] {
		case '{', '[':
			depth++
			deepest = max(deepest, depth)
		case '}', ']':
			depth--
		case '"':
			for i++; i < len(doc) && doc[i] != '"'; i++ {
				if doc[i] == '\\' {
					i++
				}
			}
		case '/':
			if bytes.HasPrefix(doc[i:], []byte("//")) {
				i += max(bytes.IndexByte(doc[i:], '\n'), 1)
			} else if bytes.HasPrefix(doc[i:], []byte("/*")) {
				i += len("/*") + max(bytes.Index(doc[i+len("/*"):], []byte("*/")), 0) + len("*")
			}
		}
	}
	return deepest
}

// number brings a JSON number into one form per value. Integers are text of any length; what has a fraction or an exponent is a float
// and stays one.
func number(text string) json.Number {
	if !strings.ContainsAny(text, ".eE") {
		if text == "-0" {
			text = "0"
		}
		return json.Number(text)
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil { // beyond what a float holds
		return json.Number(strings.ToLower(text))
	}
	return float(f)
}

// float returns the Number of a finite float.
func float(f float64) json.Number {
	text := strconv.FormatFloat(f, 'g', -1, 64)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return json.Number(text)
}

// canonical returns a value as canonical JSON, except that it may have floats.
func canonical(v any) (json.RawMessage, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, ErrValueFormat.WithCause(err)
	}
	raw := bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
	if exact, err := canon.Canonical(raw); err == nil {
		return exact, nil
	}
	return raw, nil // it has floats
}

// keyText returns how a path is written in TOML, and in messages: bare keys where TOML allows them, quoted ones elsewhere, dots between.
func keyText(path []string) string {
	keys := make([]string, 0, len(path))
	for _, key := range path {
		bare := key != ""
		for _, c := range []byte(key) {
			bare = bare && (c == '-' || c == '_' || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z')
		}
		if !bare {
			key = quoted(key)
		}
		keys = append(keys, key)
	}
	return strings.Join(keys, ".")
}

// quoted is text as a string that both JSON and TOML read, on one line.
func quoted(s string) string {
	var out strings.Builder
	out.WriteByte('"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			out.WriteString(`\` + string(c))
		case c == '\n':
			out.WriteString(`\n`)
		case c == '\r':
			out.WriteString(`\r`)
		case c == '\t':
			out.WriteString(`\t`)
		case c < ' ' || c == 0x7f || c == '\u2028' || c == '\u2029':
			fmt.Fprintf(&out, `\u%04x`, c)
		default:
			out.WriteRune(c)
		}
	}
	out.WriteByte('"')
	return out.String()
}

// withoutQuotes takes what a parser quotes from the document out of its message: it may be a secret with a slip in it.
func withoutQuotes(message string) string {
	if head, _, found := strings.Cut(message, "invalid literal: "); found {
		return head + "a string, number or word is not well formed"
	}
	const short = 4 // a character with its quotes, escaped perhaps
	var out strings.Builder
	for {
		i := strings.IndexAny(message, "'\"`")
		if i < 0 {
			return out.String() + message
		}
		n := strings.IndexByte(message[i+1:], message[i])
		if n < 0 {
			return out.String() + message[:i] + "…"
		}
		quoted := message[i : i+n+2]
		if utf8.RuneCountInString(quoted) > short {
			quoted = "…"
		}
		out.WriteString(message[:i] + quoted)
		message = message[i+n+2:]
	}
}
