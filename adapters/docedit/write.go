package docedit

import (
	"strconv"
	"strings"

	"github.com/tailscale/hujson"
)

// writer writes JSON values as TOML.
type writer struct {
	nl   string
	path []string // what the value is for; named when it has no TOML form
}

// section returns a table with its own header, and those below it, without the last line end. Plain values come first, because a line
// belongs to the header above it.
func (w writer) section(path []string, table *hujson.Object) (string, error) {
	text := "[" + keyText(path) + "]"
	var below strings.Builder
	for _, m := range table.Members {
		key := Text(m.Name)
		if inner, ok := m.Value.Value.(*hujson.Object); ok && len(inner.Members) > 0 {
			section, err := w.section(append(path[:len(path):len(path)], key), inner)
			if err != nil {
				return "", err
			}
			below.WriteString(w.nl + w.nl + section)
			continue
		}
		value, err := w.inline(m.Value)
		if err != nil {
			return "", err
		}
		text += w.nl + keyText([]string{key}) + " = " + value
	}
	return text + below.String(), nil
}

// inline returns a value on one line.
func (w writer) inline(v hujson.Value) (string, error) {
	switch v := v.Value.(type) {
	case *hujson.Object:
		parts := make([]string, 0, len(v.Members))
		for _, m := range v.Members {
			value, err := w.inline(m.Value)
			if err != nil {
				return "", err
			}
			parts = append(parts, keyText([]string{Text(m.Name)})+" = "+value)
		}
		if len(parts) == 0 {
			return "{}", nil
		}
		return "{ " + strings.Join(parts, ", ") + " }", nil
	case *hujson.Array:
		parts := make([]string, 0, len(v.Elements))
		for _, element := range v.Elements {
			value, err := w.inline(element)
			if err != nil {
				return "", err
			}
			parts = append(parts, value)
		}
		return "[" + strings.Join(parts, ", ") + "]", nil
	case hujson.Literal:
		return w.literal(v)
	}
	return "", unsafe(w.path)
}

func (w writer) literal(v hujson.Literal) (string, error) {
	switch v.Kind() {
	case '"':
		return quoted(v.String()), nil
	case '0':
		text := string(number(string(v)))
		if _, err := strconv.ParseInt(text, 10, 64); err == nil {
			return text, nil
		}
		if _, err := strconv.ParseFloat(text, 64); err == nil && strings.ContainsAny(text, ".e") {
			return text, nil
		}
		return "", ErrValueShape.WithMessage("the value for %s has a number that does not fit into a TOML integer of 64 bits", keyText(w.path))
	case 'n':
		return "", ErrValueShape.WithMessage("the value for %s has a null, which TOML does not support; omit that key", keyText(w.path))
	}
	return string(v), nil
}
