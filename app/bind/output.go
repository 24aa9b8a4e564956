package bind

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/countersign-dev/countersign/domain/tool"
)

// Output returns the schema of a tool's result, derived from its type on first use; nil if the result is not an object with members of its own. The
// schema describes what encoding/json writes for the type: fields with omitempty or omitzero are optional, pointers, slices and maps may be null, and
// types that marshal themselves as text are strings. Values of any type are left out, and every object is open: a contract may add members. No schema
// is a bare true, and none has two types, because not every client accepts these. (Neither of the two schema libraries covers all of this; they
// derive input schemas.)
func Output[Out any]() tool.Schema {
	t := reflect.TypeFor[Out]()
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || marshals(t) {
		return nil
	}
	return &output{doc: sync.OnceValue(func() json.RawMessage {
		s := deriver{}.object(t)
		doc, err := json.Marshal(s)
		if err != nil {
			panic(fmt.Sprintf("bind.Output: %v", err)) // as in SchemaOf
		}
		return doc
	})}
}

// output is a schema that is derived once.
type output struct{ doc func() json.RawMessage }

// JSON returns the schema.
func (o *output) JSON() json.RawMessage { return o.doc() }

// deriver derives the schemas of types; it contains the types whose derivation is in progress.
type deriver map[reflect.Type]bool

// marshals reports whether the type marshals itself.
func marshals(t reflect.Type) bool {
	return t.Implements(reflect.TypeFor[json.Marshaler]()) || reflect.PointerTo(t).Implements(reflect.TypeFor[json.Marshaler]())
}

// of returns the schema of a type, which accepts null if its zero value is null; nil for a type that can hold any value.
func (d deriver) of(t reflect.Type) *jsonschema.Schema {
	switch {
	case t.Kind() == reflect.Pointer:
		return nullable(d.of(t.Elem()))
	case t == reflect.TypeFor[time.Time]():
		return &jsonschema.Schema{Type: "string"}
	case marshals(t), t.Kind() == reflect.Interface:
		return nil
	case t.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		return &jsonschema.Schema{Type: "string"}
	}
	switch t.Kind() {
	case reflect.Bool:
		return &jsonschema.Schema{Type: "boolean"}
	case reflect.String:
		return &jsonschema.Schema{Type: "string"}
	case reflect.Float32, reflect.Float64:
		return &jsonschema.Schema{Type: "number"}
	case reflect.Struct:
		return d.object(t)
	case reflect.Map:
		return nullable(&jsonschema.Schema{Type: "object", AdditionalProperties: d.of(t.Elem())})
	case reflect.Array:
		return &jsonschema.Schema{Type: "array", Items: d.of(t.Elem())}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return nullable(&jsonschema.Schema{Type: "string"})
		}
		return nullable(&jsonschema.Schema{Type: "array", Items: d.of(t.Elem())})
	}
	if t.Kind() >= reflect.Int && t.Kind() <= reflect.Uintptr {
		return &jsonschema.Schema{Type: "integer"}
	}
	panic("bind.Output: " + t.String() + " has no JSON form")
}

// object returns the schema of an object. Inside itself, a recursive type is an object without members.
func (d deriver) object(t reflect.Type) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "object"}
	if d[t] {
		return s
	}
	d[t] = true
	defer delete(d, t)
	s.Properties = map[string]*jsonschema.Schema{}
	d.members(s, t, true, map[string]bool{})
	return s
}

// members adds the fields of a struct to an object, and then those of its embedded structs, unless its own fields hide them.
func (d deriver) members(s *jsonschema.Schema, t reflect.Type, certain bool, seen map[string]bool) {
	var embedded []reflect.StructField
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		switch {
		case name == "-" && options == "":
			continue
		case f.Anonymous && name == "" && inner.Kind() == reflect.Struct && !marshals(inner):
			embedded = append(embedded, f)
			continue
		case !f.IsExported():
			continue
		case name == "":
			name = f.Name
		}
		if seen[name] {
			continue
		}
		seen[name] = true
		may := strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero")
		of := d.of(f.Type)
		switch {
		case may:
			of = present(of)
		case certain:
			s.Required = append(s.Required, name)
		}
		if of != nil {
			s.Properties[name] = of
		}
	}
	for _, f := range embedded {
		if f.Type.Kind() == reflect.Pointer {
			d.members(s, f.Type.Elem(), false, seen)
		} else {
			d.members(s, f.Type, certain, seen)
		}
	}
}

// nullable returns a schema that also takes null.
func nullable(s *jsonschema.Schema) *jsonschema.Schema {
	if s == nil || s.AnyOf != nil {
		return s
	}
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{s, {Type: "null"}}}
}

// present returns the schema of a field that is omitted instead of null.
func present(s *jsonschema.Schema) *jsonschema.Schema {
	if s != nil && s.AnyOf != nil {
		return s.AnyOf[0]
	}
	return s
}

// OutputOf returns the schema of a tool whose result has one of several types.
func OutputOf(all ...tool.Schema) tool.Schema {
	return &output{doc: sync.OnceValue(func() json.RawMessage {
		text := []byte(`{"type":"object","anyOf":[`)
		for i, s := range all {
			if i > 0 {
				text = append(text, ',')
			}
			text = append(text, s.JSON()...)
		}
		return append(text, `]}`...)
	})}
}
