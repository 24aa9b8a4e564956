package adminpages

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/adapters/console/ui"
)

// deepest is the maximum depth of nested objects that are shown as rows.
const deepest = 4

// schema is the part of a JSON schema that is shown as a table. The complete schema is below the table.
type schema struct {
	Type        any               `json:"type"` // a word, or several
	Description string            `json:"description"`
	Properties  json.RawMessage   `json:"properties"`
	Required    []string          `json:"required"`
	Items       json.RawMessage   `json:"items"`
	Enum        []json.RawMessage `json:"enum"`
	Const       json.RawMessage   `json:"const"`
	Default     json.RawMessage   `json:"default"`
	Minimum     json.Number       `json:"minimum"`
	Maximum     json.Number       `json:"maximum"`
	MinLength   json.Number       `json:"minLength"`
	MaxLength   json.Number       `json:"maxLength"`
	MinItems    json.Number       `json:"minItems"`
	MaxItems    json.Number       `json:"maxItems"`
	Pattern     string            `json:"pattern"`
}

// arguments returns the schema of a tool's arguments as a table.
func arguments(doc json.RawMessage) ui.Node {
	return ui.DataTable("Arguments", []string{"Argument", "Type", "Required", "Description"}, rows(doc, "", 0), "No arguments.")
}

func rows(doc json.RawMessage, prefix string, depth int) []ui.Node {
	var s schema
	if depth > deepest || json.Unmarshal(doc, &s) != nil {
		return nil
	}
	var out []ui.Node
	for _, name := range toolNames(s.Properties) {
		var properties map[string]json.RawMessage
		if json.Unmarshal(s.Properties, &properties) != nil {
			return out
		}
		var p schema
		if json.Unmarshal(properties[name], &p) != nil { // true or false, without details
			p = schema{}
		}
		needed := ""
		if slices.Contains(s.Required, name) {
			needed = "yes"
		}
		out = append(out, ui.Row(ui.InlineCode(prefix+name), ui.TextNode(p.kind()), ui.TextNode(needed), ui.Group{ui.TextNode(p.Description), p.bounds()}))
		out = append(out, rows(properties[name], prefix+name+".", depth+1)...)
		if len(p.Items) > 0 {
			out = append(out, rows(p.Items, prefix+name+"[].", depth+1)...)
		}
	}
	return out
}

// toolNames returns the names of an object's members, in their order.
func toolNames(object json.RawMessage) []string {
	d := json.NewDecoder(bytes.NewReader(object))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	var out []string
	for d.More() {
		t, err := d.Token()
		name, ok := t.(string)
		var skip json.RawMessage
		if err != nil || !ok || d.Decode(&skip) != nil {
			return out
		}
		out = append(out, name)
	}
	return out
}

// kind returns the type in words: "list of string".
func (s schema) kind() string {
	var kind string
	switch t := s.Type.(type) {
	case string:
		kind = t
	case []any:
		var all []string
		for _, one := range t {
			all = append(all, fmt.Sprint(one))
		}
		kind = strings.Join(all, " or ")
	}
	if kind != "array" {
		return kind
	}
	var items schema
	if len(s.Items) == 0 || json.Unmarshal(s.Items, &items) != nil || items.kind() == "" {
		return "list"
	}
	return "list of " + items.kind()
}

// bounds returns the limits of a value.
func (s schema) bounds() ui.Node {
	var said []string
	say := func(format string, n json.Number) {
		if n != "" {
			said = append(said, fmt.Sprintf(format, n))
		}
	}
	if len(s.Enum) > 0 {
		all := make([]string, len(s.Enum))
		for i, e := range s.Enum {
			all[i] = string(e)
		}
		said = append(said, "one of "+strings.Join(all, ", "))
	}
	if len(s.Const) > 0 {
		said = append(said, "always "+string(s.Const))
	}
	if len(s.Default) > 0 {
		said = append(said, "default "+string(s.Default))
	}
	say("at least %s", s.Minimum)
	say("at most %s", s.Maximum)
	say("at least %s characters", s.MinLength)
	say("at most %s characters", s.MaxLength)
	say("at least %s entries", s.MinItems)
	say("at most %s entries", s.MaxItems)
	if s.Pattern != "" {
		said = append(said, "pattern "+s.Pattern)
	}
	if len(said) == 0 {
		return nil
	}
	return ui.TextNode(" (" + strings.Join(said, "; ") + ")")
}
