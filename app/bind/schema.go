package bind

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
	invopop "github.com/invopop/jsonschema"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// Problems is all problems of one call's arguments.
type Problems struct {
	Problems []Problem `json:"problems"`
}

// Problem is one problem. Field is a property's name, empty for the arguments as a whole. The fields after the message are for contracts with texts
// of their own (Lenient).
type Problem struct {
	Field   string `json:"field"`
	Message string `json:"message"`

	Kind        ProblemKind `json:"-"`
	Type        string      `json:"-"` // for a wrong value: the JSON type that is required
	Values      []string    `json:"-"` // for a value outside its choices: the given values, and the choices
	Choices     []string    `json:"-"`
	Description string      `json:"-"` // of the property
	Near        string      `json:"-"` // for an unknown property: the one that may be meant, and all that exist
	Known       []string    `json:"-"`
}

// ProblemKind is the kind of a Problem.
type ProblemKind uint8

// The kinds of problems. ProblemWrong is a value of another type or out of bounds, ProblemChoice a value outside its choices.
const (
	ProblemWrong ProblemKind = iota
	ProblemMissing
	ProblemUnknown
	ProblemChoice
)

// SchemaOf derives the published schema of an input type from its json and jsonschema tags: one flat object, draft 2020-12,
// without $schema, $id or references. Recursive types are not supported.
func SchemaOf[In any]() json.RawMessage { return schemaOf(new(In)) }

// schemaOf is SchemaOf for the type that in points to.
func schemaOf(in any) json.RawMessage {
	r := invopop.Reflector{Anonymous: true, DoNotReference: true, ExpandedStruct: true}
	s := r.Reflect(in)
	s.Version = ""
	doc, err := json.Marshal(s)
	if err != nil {
		panic(fmt.Sprintf("bind.SchemaOf: %v", err)) // a type without a schema is a programming error, found at wiring
	}
	return doc
}

// Types returns the JSON type of every property of a published object schema, parsed on first use: for tools whose contract enforces only names and
// types. It panics if the schema does not parse.
func Types(schema json.RawMessage) func() map[string]string {
	return sync.OnceValue(func() map[string]string {
		var doc struct {
			Properties map[string]struct {
				Type string `json:"type"`
			} `json:"properties"`
		}
		if err := json.Unmarshal(schema, &doc); err != nil {
			panic(fmt.Sprintf("bind.Types: %v", err)) // a programming error, as in SchemaOf
		}
		types := make(map[string]string, len(doc.Properties))
		for name, p := range doc.Properties {
			types[name] = p.Type
		}
		return types
	})
}

// Document is a published schema and its checks, compiled on the first call.
type Document struct {
	compiled func() (*compiled, error)
}

type compiled struct {
	properties map[string]property
	required   []string
	closed     bool                 // additionalProperties is false
	whole      *jsonschema.Resolved // nil if the properties say everything
}

type property struct {
	*jsonschema.Resolved
	schema *jsonschema.Schema
}

// NewDocument wraps a published object schema.
func NewDocument(schema json.RawMessage) *Document {
	return &Document{compiled: sync.OnceValues(func() (*compiled, error) { return compile(schema) })}
}

func compile(raw json.RawMessage) (*compiled, error) {
	var s jsonschema.Schema
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, fault.ErrInternal.WithCause(err)
	}
	c := &compiled{properties: map[string]property{}, required: s.Required, closed: s.AdditionalProperties != nil}
	for name, p := range s.Properties {
		one, err := p.CloneSchemas().Resolve(nil)
		if err != nil {
			return nil, fault.ErrInternal.WithCause(err)
		}
		c.properties[name] = property{one, p}
	}
	if s.OneOf != nil || s.AnyOf != nil || s.AllOf != nil || s.Not != nil || s.If != nil || s.DependentRequired != nil || s.DependentSchemas != nil {
		whole, err := s.Resolve(nil)
		if err != nil {
			return nil, fault.ErrInternal.WithCause(err)
		}
		c.whole = whole
	}
	return c, nil
}

// Check validates arguments against the schema. It returns ErrArguments with all Problems.
func (d *Document) Check(args json.RawMessage) error {
	c, err := d.compiled()
	if err != nil {
		return err
	}
	var fields map[string]any
	if err := json.Unmarshal(args, &fields); err != nil || fields == nil {
		return tool.ErrArguments.WithMessage("the arguments must be a JSON object")
	}
	return refusal(c.problems(fields))
}

// problems returns every problem of decoded arguments. A null counts as absent.
func (d *Document) problems(given map[string]json.RawMessage) ([]Problem, error) {
	c, err := d.compiled()
	if err != nil {
		return nil, err
	}
	fields := make(map[string]any, len(given))
	for name, text := range given {
		var value any
		if err := json.Unmarshal(text, &value); err != nil {
			return nil, tool.ErrArguments.WithCause(err)
		}
		if _, known := c.properties[name]; value != nil || !known {
			fields[name] = value
		}
	}
	return c.problems(fields), nil
}

func (c *compiled) problems(fields map[string]any) []Problem {
	var problems []Problem
	for _, name := range c.required {
		if _, ok := fields[name]; !ok {
			problems = append(problems, Problem{Field: name, Message: fmt.Sprintf("'%s' is required", name), Kind: ProblemMissing, Description: c.description(name)})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if p, ok := c.problem(name, fields[name]); ok {
			problems = append(problems, p)
		}
	}
	if len(problems) == 0 && c.whole != nil {
		if err := c.whole.Validate(fields); err != nil { // oneOf, dependent fields and the like
			problems = append(problems, Problem{Message: plainly(err)})
		}
	}
	return problems
}

func (c *compiled) description(name string) string {
	if p, ok := c.properties[name]; ok {
		return p.schema.Description
	}
	return ""
}

// refusal returns ErrArguments with every problem; nil if there is none.
func refusal(problems []Problem) error {
	if len(problems) == 0 {
		return nil
	}
	var say []string
	for _, p := range problems {
		say = append(say, p.Message)
	}
	return tool.ErrArguments.WithMessage("%s", strings.Join(say, "; ")).WithDetails(Problems{Problems: problems})
}

func (c *compiled) problem(name string, value any) (Problem, bool) {
	p, known := c.properties[name]
	if !known {
		if !c.closed {
			return Problem{}, false
		}
		say, known := fmt.Sprintf("'%s' is not supported", name), slices.Sorted(maps.Keys(c.properties))
		near := fault.Nearest(name, known)
		if near != "" {
			say += fmt.Sprintf("; did you mean '%s'?", near)
		}
		return Problem{Field: name, Message: say, Kind: ProblemUnknown, Near: near, Known: known}, true
	}
	if err := p.Validate(value); err != nil {
		out := Problem{Field: name, Message: fmt.Sprintf("'%s' %s", name, p.wanted(err)), Type: p.schema.Type, Description: p.schema.Description}
		if out.Choices, out.Values = p.choices(value); len(out.Values) > 0 {
			out.Kind = ProblemChoice
		}
		return out, true
	}
	return Problem{}, false
}

// choices returns the choices of a property of type string or list of strings, and those of the value's items that are not among them.
func (p property) choices(value any) (all, wrong []string) {
	enum, values := p.schema.Enum, []any{value}
	if list, ok := value.([]any); ok && p.schema.Items != nil {
		enum, values = p.schema.Items.Enum, list
	}
	for _, e := range enum {
		all = append(all, fmt.Sprint(e))
	}
	for _, v := range values {
		text, ok := v.(string)
		if !ok {
			return all, nil // a value of another type
		}
		if len(all) > 0 && !slices.Contains(all, text) {
			wrong = append(wrong, text)
		}
	}
	return all, wrong
}

// decode is strict: unknown fields and a second JSON value are errors. Whole floats (2.0) are integers, as in JSON Schema.
func decode(args json.RawMessage, in any) error {
	if fractional(args) {
		args = wholeNumbers(args)
	}
	dec := json.NewDecoder(bytes.NewReader(args))
	dec.DisallowUnknownFields()
	if err := dec.Decode(in); err != nil {
		return tool.ErrArguments.WithMessage("the arguments cannot be read: %v", err)
	}
	return nil
}

// fractional reports whether a number in args is written with a fraction or an exponent.
func fractional(args json.RawMessage) bool {
	text := false
	for i := 0; i < len(args); i++ {
		switch c := args[i]; {
		case text && c == '\\':
			i++
		case c == '"':
			text = !text
		case !text && i > 0 && (c == '.' || c == 'e' || c == 'E') && args[i-1] >= '0' && args[i-1] <= '9':
			return true
		}
	}
	return false
}

func wholeNumbers(args json.RawMessage) json.RawMessage {
	dec := json.NewDecoder(bytes.NewReader(args))
	dec.UseNumber()
	var tree any
	if dec.Decode(&tree) != nil {
		return args
	}
	doc, err := json.Marshal(whole(tree))
	if err != nil {
		return args
	}
	return doc
}

func whole(v any) any {
	switch v := v.(type) {
	case json.Number:
		if digits, zeros, ok := strings.Cut(v.String(), "."); ok && strings.Trim(zeros, "0") == "" {
			return json.Number(digits)
		}
	case []any:
		for i := range v {
			v[i] = whole(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = whole(v[k])
		}
	}
	return v
}

// withConfirmation adds the two properties that the schema of every tool with approvals has; the core removes them before a tool sees them.
func withConfirmation(schema json.RawMessage) json.RawMessage {
	const more = `"confirm_token":{"type":"string","description":"token of the confirmation asked for"},` +
		`"typed_value":{"type":"string","description":"what a person typed, where a name must be typed"}`
	at := bytes.Index(schema, []byte(`"properties":{`))
	if at < 0 {
		return schema
	}
	at += len(`"properties":{`)
	sep := ","
	if schema[at] == '}' {
		sep = ""
	}
	return json.RawMessage(string(schema[:at]) + more + sep + string(schema[at:]))
}
