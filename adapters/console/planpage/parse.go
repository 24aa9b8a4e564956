package planpage

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// field is a member of an object, in the place it stands.
type field struct {
	name  string
	value any // nil, bool, json.Number, string, []any or []field
}

// parse reads a JSON document, its objects' members in their order.
func parse(doc json.RawMessage) (any, error) {
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	return value(d)
}

func value(d *json.Decoder) (any, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t {
	case json.Delim('['):
		items := []any{}
		for d.More() {
			v, err := value(d)
			if err != nil {
				return nil, err
			}
			items = append(items, v)
		}
		_, err = d.Token()
		return items, err
	case json.Delim('{'):
		fields := []field{}
		for d.More() {
			name, err := d.Token()
			if err != nil {
				return nil, err
			}
			v, err := value(d)
			if err != nil {
				return nil, err
			}
			word, _ := name.(string)
			fields = append(fields, field{word, v})
		}
		_, err = d.Token()
		return fields, err
	}
	return t, nil
}

// member is an object's member of that name, or nil.
func member(fields []field, name string) any {
	for _, f := range fields {
		if f.name == name {
			return f.value
		}
	}
	return nil
}

// text is an object's member of that name where it is a text, and empty otherwise.
func text(fields []field, name string) string {
	s, _ := member(fields, name).(string)
	return s
}

// without is an object without members of those names.
func without(fields []field, names ...string) []field {
	return slices.DeleteFunc(slices.Clone(fields), func(f field) bool { return slices.Contains(names, f.name) })
}

// texts are the texts of an array.
func texts(v any) []string {
	items, _ := v.([]any)
	var out []string
	for _, item := range items {
		if s, ok := item.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// nothing reports a value that says nothing.
func nothing(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case bool:
		return !v
	case string:
		return v == ""
	case json.Number:
		return v == "0"
	case []any:
		return len(v) == 0
	case []field:
		return len(v) == 0 || !slices.ContainsFunc(v, func(f field) bool { return !nothing(f.value) })
	}
	return false
}

// objects are the objects of an array, and whether it has nothing else.
func objects(items []any) (all [][]field, only bool) {
	for _, item := range items {
		if o, ok := item.([]field); ok {
			all = append(all, o)
		}
	}
	return all, len(all) == len(items) && len(items) > 0
}

// commandLine is an argument vector as one would type it into a shell.
func commandLine(argv []string) string {
	words := make([]string, len(argv))
	for i, a := range argv {
		words[i] = a
		if a == "" || strings.ContainsFunc(a, special) {
			words[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}

func special(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=@%+,", r))
}
