package packs

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/pack"
)

// ErrArguments is returned for arguments that do not fit the tool; its message names the argument.
var ErrArguments = fault.New(fault.Invalid, "pack_arguments_invalid", "the arguments do not fit the tool")

// Args is one call's arguments before an action reads them. Strings are trimmed and count as absent when blank, integers are
// unsigned 64 bits and count as absent otherwise, null is absent (context-pack contract §2).
type Args map[string]json.RawMessage

// ParseArgs reads a JSON object; nothing at all is an empty one.
func ParseArgs(raw json.RawMessage) (Args, error) {
	a := Args{}
	if len(raw) == 0 {
		return a, nil
	}
	if err := json.Unmarshal(raw, &a); err != nil || a == nil {
		return nil, ErrArguments.WithMessage("the arguments must be a JSON object")
	}
	return a, nil
}

// Has reports whether the key is there at all, even as null.
func (a Args) Has(key string) bool { _, ok := a[key]; return ok }

// Given reports whether the key is there and not null.
func (a Args) Given(key string) bool {
	v, ok := a[key]
	return ok && string(v) != "null"
}

// Text returns a trimmed string, empty when absent.
func (a Args) Text(key string) string {
	var s string
	if json.Unmarshal(a[key], &s) != nil {
		return ""
	}
	return strings.TrimSpace(s)
}

// Optional is Text for an optional field.
func (a Args) Optional(key string) pack.Optional { return pack.Optional(a.Text(key)) }

// Number returns an integer from 0 to 2^64-1; anything else, such as 5.0 or -1, is absent.
func (a Args) Number(key string) (uint64, bool) {
	n, err := strconv.ParseUint(string(a[key]), 10, 64)
	return n, err == nil
}

// Flag is a JSON true.
func (a Args) Flag(key string) bool { return string(a[key]) == "true" }

// Count is Number as an int, large ones clipped.
func (a Args) Count(key string) (int, bool) {
	n, ok := a.Number(key)
	return int(min(n, 1<<40)), ok
}

// IsRead reports whether a call of the tool input with these arguments lists or gets (context-pack contract §2: without an action it
// lists).
func IsRead(raw json.RawMessage) bool {
	var a struct{ Action *string }
	if len(raw) > 0 && json.Unmarshal(raw, &a) != nil {
		return false
	}
	return a.Action == nil || *a.Action == "list" || *a.Action == "get"
}

// Lines returns line_start and line_end; an invalid number is reported as it was written.
func (a Args) Lines() (start, end int, err error) {
	for key, to := range map[string]*int{"line_start": &start, "line_end": &end} {
		n, _ := a.Number(key)
		if n > pack.MaxLine {
			return 0, 0, ErrArguments.WithMessage("'%s' %d: lines count from 1 to %d", key, n, pack.MaxLine)
		}
		*to = int(n)
	}
	return start, end, nil
}

// Identifier returns id, else name; empty when neither is given.
func (a Args) Identifier() string {
	if id := a.Text("id"); id != "" {
		return id
	}
	return a.Text("name")
}

// Tags returns the list, nil when the key is absent. A key that is there must hold an array of non-blank strings, so null is refused.
func (a Args) Tags() (*[]string, error) {
	if !a.Has("tags") {
		return nil, nil
	}
	return tagList(a["tags"])
}

func tagList(raw json.RawMessage) (*[]string, error) {
	var list []*string
	if err := json.Unmarshal(raw, &list); err != nil || list == nil {
		return nil, ErrArguments.WithMessage("'tags' must be an array of strings")
	}
	tags := make([]string, len(list))
	for i, t := range list {
		if t != nil {
			tags[i] = strings.TrimSpace(*t)
		}
		if tags[i] == "" {
			return nil, ErrArguments.WithMessage("'tags' holds a blank or missing tag at position %d", i+1)
		}
	}
	return &tags, nil
}

// Cleared returns the fields to empty, each of which must be one of allowed and not be given a value in the same call.
func (a Args) Cleared(allowed ...string) (map[string]bool, error) {
	out := map[string]bool{}
	if !a.Given("clear") {
		return out, nil
	}
	var names []string
	if err := json.Unmarshal(a["clear"], &names); err != nil {
		return nil, ErrArguments.WithMessage("'clear' must be an array of field names")
	}
	for _, n := range names {
		switch {
		case !slices.Contains(allowed, n):
			return nil, ErrArguments.WithMessage("'clear' cannot empty %q here; it can empty %s", n, strings.Join(allowed, ", "))
		case a.Text(n) != "" || n == "tags" && a.Has("tags"):
			return nil, ErrArguments.WithMessage("'%s' is both given and cleared", n)
		}
		out[n] = true
	}
	return out, nil
}

// Shape is the part of the published schema about names and JSON types; nothing else of it is enforced, because coercions are the contract's.
type Shape struct {
	types func() map[string]string
}

// NewShape parses a published object schema when a call first needs it. It panics, at wiring, if the schema is not JSON.
func NewShape(schema string) Shape {
	if !json.Valid([]byte(schema)) {
		panic("packs: a published schema does not parse")
	}
	return Shape{types: bind.Types(json.RawMessage(schema))}
}

// Check reports every unknown name and every wrong JSON type at once. The action itself reports lax names, with more detail.
func (s Shape) Check(a Args, lax ...string) error {
	var problems []string
	types := s.types()
	for _, name := range slices.Sorted(maps.Keys(a)) {
		want, known := types[name]
		switch {
		case !known:
			say := "'" + name + "' is not supported"
			if near := fault.Nearest(name, slices.Collect(maps.Keys(types))); near != "" {
				say += "; use '" + near + "'"
			}
			problems = append(problems, say)
		case a.Given(name) && !slices.Contains(lax, name) && typeOf(a[name]) != want:
			problems = append(problems, "'"+name+"' must be of JSON type "+want+", not "+typeOf(a[name]))
		}
	}
	if len(problems) == 0 {
		return nil
	}
	return ErrArguments.WithMessage("%s", strings.Join(problems, "; "))
}

// typeOf returns the JSON type of a value; every number counts as integer, because the action decides which numbers are valid.
func typeOf(v json.RawMessage) string {
	switch v[0] {
	case '"':
		return "string"
	case '{':
		return "object"
	case '[':
		return "array"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "integer"
}

// Need reports a required argument that is absent or blank.
func (s Shape) Need(a Args, name string) error {
	ok := a.Given(name)
	switch s.types()[name] {
	case "string":
		ok = a.Text(name) != ""
	case "integer":
		_, ok = a.Number(name)
	}
	if !ok {
		return RequiredError(name)
	}
	return nil
}

// RequiredError is the error for an absent argument.
func RequiredError(name string) error { return ErrArguments.WithMessage("'%s' is required", name) }
