package ui

import (
	"bytes"
	"encoding/json"
	"strings"
)

// deepest is the depth at which JSONValue shows JSON text instead.
const deepest = 6

// JSONValue returns any JSON document for users: objects as names and values, arrays as lists, multi-line texts as blocks, diffs as diffs.
func JSONValue(doc json.RawMessage) Node {
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	n, err := value(d, 0)
	if err != nil {
		return CodeBlock("value", Printable(string(doc)))
	}
	return n
}

// value returns the next value of d. Members keep their order.
func value(d *json.Decoder, depth int) (Node, error) {
	if depth >= deepest {
		var raw json.RawMessage
		err := d.Decode(&raw)
		return InlineCode(Printable(string(raw))), err
	}
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t := t.(type) {
	case json.Delim:
		if t == '[' {
			return list(d, depth)
		}
		return object(d, depth)
	case string:
		return textValue(t), nil
	case json.Number:
		return TextNode(t.String()), nil
	case bool:
		return TextNode(map[bool]string{true: "yes", false: "no"}[t]), nil
	}
	return TextNode("–"), nil
}

func list(d *json.Decoder, depth int) (Node, error) {
	var items Group
	for d.More() {
		n, err := value(d, depth+1)
		if err != nil {
			return nil, err
		}
		items = append(items, Li(n))
	}
	_, err := d.Token()
	if len(items) == 0 {
		return TextNode("none"), err
	}
	return Ul(items), err
}

func object(d *json.Decoder, depth int) (Node, error) {
	var facts []Fact
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		n, err := value(d, depth+1)
		if err != nil {
			return nil, err
		}
		word, _ := name.(string)
		facts = append(facts, Fact{strings.ReplaceAll(word, "_", " "), n})
	}
	_, err := d.Token()
	if len(facts) == 0 {
		return TextNode("nothing"), err
	}
	return Facts(facts...), err
}

// textValue returns a text in the form that suits its lines.
func textValue(s string) Node {
	switch {
	case strings.HasPrefix(s, "--- ") || strings.HasPrefix(s, "diff ") || strings.Contains(s, "\n@@ "):
		return Diff("diff", s)
	case strings.Contains(strings.TrimRight(s, "\n"), "\n"):
		return CodeBlock("text", s)
	case s == "":
		return TextNode("–")
	}
	return TextNode(s)
}
