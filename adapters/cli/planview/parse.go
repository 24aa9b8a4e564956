package planview

import (
	"bytes"
	"encoding/json"
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
			fields = append(fields, field{name.(string), v})
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

// nothing reports a value that says nothing.
func nothing(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case bool:
		return !v
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case []field:
		return len(v) == 0
	}
	return false
}
