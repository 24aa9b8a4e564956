package ui

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/domain/tool"
)

// planDeepest is the depth to which a plan is laid out; deeper values are shown as JSON.
const planDeepest = 6

// block returns an object: warnings, losses, commands, then names and values, then multi-line values.
func block(fields []present.Field, depth int) Node {
	if depth > planDeepest {
		return InlineCode(Printable(string(encode(fields))))
	}
	var marks, losses, commands, facts, wide Group
	for _, f := range fields {
		switch {
		case f.Name == "findings":
			marks = append(marks, findings(f.Value))
		case warns(f.Name):
			marks = append(marks, warnings(f.Value))
		case nothing(f.Value) || unseen(f.Name) || f.Name == "argv" && said(fields):
		case loses(f.Name) && lists(f.Value):
			losses = append(losses, loss(f, depth))
		case runs(f.Name) && !namedPlan(f) && command(f.Value) != "":
			commands = append(commands, run(f))
		default:
			n, across := shown(f, depth)
			if across {
				wide = append(wide, row(label(f.Name), n, true))
			} else {
				facts = append(facts, row(label(f.Name), n, false))
			}
		}
	}
	out := Group{marks, losses, commands}
	if len(facts)+len(wide) > 0 {
		out = append(out, dl(facts, wide))
	}
	return out
}

func row(name string, value Node, across bool) Node {
	return Div(If(across, Class("across")), dt(TextNode(name)), dd(value))
}

// shown returns a member for users, and whether it needs the full width.
func shown(f present.Field, depth int) (n Node, across bool) {
	switch v := f.Value.(type) {
	case string:
		return word(f.Name, v)
	case json.Number:
		return TextNode(quantity(f.Name, v)), false
	case bool:
		return TextNode("yes"), false
	case []any:
		return listPlan(f.Name, v, depth)
	case []present.Field:
		if name, path := present.Text(v, "name"), present.Text(v, "path"); name != "" && path != "" && len(v) <= 3 {
			return Group{TextNode(Printable(name) + " "), InlineCode(Printable(path))}, false
		}
		if present.Text(v, "method") != "" && present.Text(v, "url") != "" {
			return request(v, depth), true
		}
		return block(v, depth+1), true
	}
	return TextNode("–"), false
}

// word returns a text: a diff as a diff, several lines as a block, a secret as redacted, a time as a time.
func word(name, s string) (n Node, across bool) {
	switch kind := masked(s); {
	case kind != "":
		return Badge(Plain, "redacted: "+kind), false
	case diffs(s):
		return Diff(label(name), Printable(s)), true
	case strings.Contains(strings.TrimRight(s, "\n"), "\n") || name == "payload":
		return CodeBlock(label(name), Printable(pretty(s))), true
	case hexadecimal(s):
		return short(s), false
	}
	if at, err := time.Parse(time.RFC3339, s); err == nil {
		return When(at), false
	}
	if strings.HasPrefix(s, "/") || strings.Contains(s, "://") {
		return InlineCode(Printable(s)), false
	}
	return TextNode(Printable(s)), false
}

// pretty returns a JSON document indented, and any other text unchanged.
func pretty(s string) string {
	if v, err := present.Parse(json.RawMessage(s)); err == nil && strings.ContainsAny(s, "{[") && !nothing(v) {
		var doc bytes.Buffer
		if json.Indent(&doc, []byte(s), "", "  ") == nil {
			return doc.String()
		}
	}
	return s
}

// short returns the beginning of a hash; its title is the whole hash.
func short(s string) Node { return beginning(s, 12) }

// beginning returns the first n characters of a hash; its title is the whole hash.
func beginning(s string, n int) Node {
	s = Printable(s)
	return Code(titleAttr(s), TextNode(s[:min(n, len(s))]))
}

// longest is the maximum number of commits shown expanded; a summary precedes them.
const longest = 20

// listPlan returns an array: short texts in one line or one below the other, objects as a table, file changes and steps in their own form.
func listPlan(name string, items []any, depth int) (n Node, across bool) {
	if plain := texts(items); len(plain) == len(items) {
		if name == "steps" || name == "commands" {
			return numbered(plain), true
		}
		if total := len(strings.Join(plain, ", ")); total < 80 && !slices.ContainsFunc(plain, func(s string) bool { return strings.ContainsAny(s, ", \n") }) {
			return TextNode(Printable(strings.Join(plain, ", "))), false
		}
		return lines(plain), true
	}
	all, only := objects(items)
	switch {
	case only && present.Text(all[0], "path") != "" && present.Text(all[0], "root") != "":
		return files(all), true
	case only && name == "reads":
		return codeFiles(label(name), all), true
	case only && present.Text(all[0], "op") != "" && present.Text(all[0], "path") != "":
		return changes(label(name), all), true
	case only && (name == "steps" || present.Member(all[0], "command") != nil):
		return steps(all, depth), true
	case only && name == "commits" && len(all) > longest:
		return Disclosure(strconv.Itoa(len(all))+" commits", false, table(label(name), all, depth)), true
	case only:
		return table(label(name), all, depth), true
	}
	var out Group
	for _, item := range items {
		out = append(out, Li(plain(item, depth+1)))
	}
	return Ul(out), true
}

// lists reports whether v is an array with elements.
func lists(v any) bool {
	items, ok := v.([]any)
	return ok && len(items) > 0
}

// lines returns texts one below the other.
func lines(all []string) Node {
	return Ul(Map(all, func(s string) Node { return Li(TextNode(Printable(s))) }))
}

func numbered(all []string) Node {
	return Ol(Map(all, func(s string) Node { return Li(TextNode(Printable(s))) }))
}

// plain returns any value as complete names and values.
func plain(v any, depth int) Node {
	switch v := v.(type) {
	case []present.Field:
		if depth > planDeepest {
			return InlineCode(Printable(string(encode(v))))
		}
		facts := make([]Fact, 0, len(v))
		for _, f := range v {
			facts = append(facts, Fact{Name: label(f.Name), Value: plain(f.Value, depth+1)})
		}
		return Facts(facts...)
	case []any:
		if depth > planDeepest {
			return InlineCode(Printable(string(encode(v))))
		}
		if len(v) == 0 {
			return TextNode("none")
		}
		return Ul(Map(v, func(item any) Node { return Li(plain(item, depth+1)) }))
	case string:
		n, _ := word("", v)
		return n
	case json.Number:
		return TextNode(v.String())
	case bool:
		return TextNode(map[bool]string{true: "yes", false: "no"}[v])
	}
	return TextNode("–")
}

// encode returns a value as JSON again.
func encode(v any) []byte {
	var b strings.Builder
	write(&b, v)
	return []byte(b.String())
}

func write(b *strings.Builder, v any) {
	switch v := v.(type) {
	case []present.Field:
		b.WriteByte('{')
		for i, f := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			write(b, f.Name)
			b.WriteByte(':')
			write(b, f.Value)
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for i, item := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			write(b, item)
		}
		b.WriteByte(']')
	default:
		if doc, err := tool.Encode(v); err == nil { // decoded values always encode
			b.Write(doc)
		}
	}
}
