package docedit

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/tailscale/hujson"
)

// valueMaxDepth is how deeply a document and a value may nest.
const valueMaxDepth = canon.MaxDepth

// ErrValueFormat is returned for a document, or a value to set, that is not of its format. The message has the line and the column.
var ErrValueFormat = fault.New(fault.Invalid, "document_invalid", "invalid document")

// ErrValueShape is returned for a document, or a set of paths, without a safe edit: a path passes through something that is not an object, a key
// occurs twice, or the text cannot be changed without changing more than was asked.
var ErrValueShape = fault.New(fault.Conflict, "document_shape", "the document cannot be edited safely")

// unsafe is the ErrShape for keys whose edit would change something else as well.
func unsafe(paths ...[]string) error {
	names := make([]string, 0, len(paths))
	for _, path := range paths {
		names = append(names, keyText(path))
	}
	return ErrValueShape.WithMessage("%s cannot be edited without changing more of the document; write the tables around it as plain [table] sections or "+
		"objects, or make this change by hand", strings.Join(names, ", "))
}

// document is the content of a document. Its values are map[string]any, []any, string, bool, nil, json.Number in the form of number, and special;
// they are not modified.
type document struct {
	Root  map[string]any // never nil
	Twice [][]string     // the keys that are there more than once, with the last one winning in Root
}

// special is a TOML value that JSON has no kind for: a date, a time, infinity or NaN. It is no string, though JSON shows it as one.
type special string

// NewDocument returns the meaning of an object of JSON.
func NewDocument(object *hujson.Object) document {
	m := document{}
	m.Root = m.tree(hujson.Value{Value: object}, nil).(map[string]any)
	return m
}

// tree returns what a JSON value means; repeated keys below it are noted in m.
func (m *document) tree(v hujson.Value, path []string) any {
	switch v := v.Value.(type) {
	case *hujson.Object:
		object := make(map[string]any, len(v.Members))
		for _, member := range v.Members {
			key := Text(member.Name)
			below := append(slices.Clip(path), key)
			if _, there := object[key]; there {
				m.Twice = append(m.Twice, below)
			}
			object[key] = m.tree(member.Value, below)
		}
		return object
	case *hujson.Array:
		array := make([]any, 0, len(v.Elements))
		for i, element := range v.Elements {
			array = append(array, m.tree(element, append(slices.Clip(path), strconv.Itoa(i))))
		}
		return array
	case hujson.Literal:
		switch v.Kind() {
		case '"':
			return v.String()
		case '0':
			return number(string(v))
		case 't', 'f':
			return v.Bool()
		}
	}
	return nil
}

// Text returns the name of a member.
func Text(name hujson.Value) string {
	text, _ := name.Value.(hujson.Literal)
	return text.String()
}

// At returns the value at path, and whether there is one. A path through something that is no object fails with ErrShape.
func (m document) At(path []string) (any, bool, error) {
	var v any = m.Root
	for i, key := range path {
		object, ok := v.(map[string]any)
		if !ok {
			return nil, false, ErrValueShape.WithMessage("%s is %s, so it cannot contain %s; make it an object (a table), or remove it",
				keyText(path[:i]), kind(v), keyText(path[i:]))
		}
		if v, ok = object[key]; !ok {
			return nil, false, nil
		}
	}
	return v, true, nil
}

// Has reports whether there is a value at path.
func (m document) Has(path []string) bool {
	_, found, err := m.At(path)
	return found && err == nil
}

func kind(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case []any:
		return "a list"
	}
	return "a plain value"
}

// Unique fails with ErrShape if one of the objects that path passes through has a key twice.
func (m document) Unique(path []string) error {
	for _, key := range m.Twice {
		if len(key) <= len(path) && within(path, key[:len(key)-1]) {
			return repeated(key)
		}
	}
	return nil
}

// Unambiguous fails with ErrShape if path, or anything below it, depends on a key that is there twice.
func (m document) Unambiguous(path []string) error {
	for _, key := range m.Twice {
		if within(key, path) {
			return repeated(key)
		}
	}
	return m.Unique(path)
}

func repeated(key []string) error {
	return ErrValueShape.WithMessage("the document has the key %s twice; remove one of them", keyText(key))
}

// Absent lists the containers of path that are not there, outermost first.
func (m document) Absent(path []string) (missing [][]string) {
	for n := 1; n < len(path); n++ {
		if !m.Has(path[:n]) {
			missing = append(missing, slices.Clone(path[:n]))
		}
	}
	return missing
}

// With returns the document with value at path.
func (m document) With(path []string, value any) document {
	return document{Root: with(m.Root, path, value)}
}

func with(root map[string]any, path []string, value any) map[string]any {
	if root = maps.Clone(root); root == nil {
		root = map[string]any{}
	}
	if len(path) > 1 {
		below, _ := root[path[0]].(map[string]any)
		value = with(below, path[1:], value)
	}
	root[path[0]] = value
	return root
}

// Without returns the document without the key at path.
func (m document) Without(path []string) document {
	return document{Root: without(m.Root, path)}
}

func without(root map[string]any, path []string) map[string]any {
	root = maps.Clone(root)
	if len(path) == 1 {
		delete(root, path[0])
	} else if below, ok := root[path[0]].(map[string]any); ok {
		root[path[0]] = without(below, path[1:])
	}
	return root
}

// Pruned returns the document without the containers that are empty and were made, or stand on the way to a removed key: TOML has tables
// that exist only because something is in them.
func (m document) Pruned(removed, made [][]string) document {
	containers := slices.Clone(made)
	for _, path := range removed {
		containers = append(containers, path[:len(path)-1])
	}
	for _, path := range containers {
		for n := len(path); n > 0; n-- {
			v, _, err := m.At(path[:n])
			if object, ok := v.(map[string]any); err == nil && ok && len(object) == 0 {
				m = m.Without(path[:n])
			}
		}
	}
	return m
}

// Says reports whether two documents mean the same.
func (m document) Says(other document) bool { return SameValue(m.Root, other.Root) }

// SameValue reports whether two values mean the same.
func SameValue(a, b any) bool { return reflect.DeepEqual(a, b) }

// within reports whether path is outer or something below it.
func within(path, outer []string) bool {
	return len(path) >= len(outer) && slices.Equal(path[:len(outer)], outer)
}
