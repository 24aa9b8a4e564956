package ui

import (
	"encoding/json"
	"slices"

	"github.com/countersign-dev/countersign/adapters/present"
)

// without returns an object without the named members.
func without(fields []present.Field, names ...string) []present.Field {
	return slices.DeleteFunc(slices.Clone(fields), func(f present.Field) bool { return slices.Contains(names, f.Name) })
}

// texts returns the texts of an array.
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

// nothing reports whether a value is empty.
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
	case []present.Field:
		return len(v) == 0 || !slices.ContainsFunc(v, func(f present.Field) bool { return !nothing(f.Value) })
	}
	return false
}

// objects returns the objects of an array, and whether it contains nothing else.
func objects(items []any) (all [][]present.Field, only bool) {
	for _, item := range items {
		if o, ok := item.([]present.Field); ok {
			all = append(all, o)
		}
	}
	return all, len(all) == len(items) && len(items) > 0
}
