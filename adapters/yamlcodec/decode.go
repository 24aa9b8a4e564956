package yamlcodec

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/spelling"
	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"
)

// Bounds on what Decode accepts. A document beyond them is refused before it is understood.
const (
	DefaultMaxBytes = 16 << 20
	MaxDepth        = 64  // nesting of collections
	maxAliases      = 100 // references to anchors
	maxProblems     = 20  // reported at once
	maxQuoted       = 60  // bytes of a document repeated in a message
	unknownLine     = 0   // the library could not say where
	textTag         = "!!str"
)

// ErrInvalid reports a document that is not YAML of the expected form. Its message lists what is wrong and where; its details are
// Problems.
var ErrInvalid = fault.New(fault.Invalid, "yaml_invalid", "the document is not YAML of the expected form")

// Problem is one thing wrong with a document. Line and Column count from 1; Column counts characters.
type Problem struct {
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Message string `json:"message"`
}

// String is "line 3, column 5: what is wrong".
func (p Problem) String() string {
	return fmt.Sprintf("line %d, column %d: %s", p.Line, p.Column, p.Message)
}

// Problems are an ErrInvalid's details, in document order.
type Problems struct {
	Problems []Problem `json:"problems"`
}

// Options say how strictly Decode reads. The zero Options ignore unknown keys and count lines from 1.
type Options struct {
	FirstLine   int  // the number, in its file, of the data's first line; zero is 1
	KnownFields bool // a key the target has no field for is a problem
	MaxBytes    int  // zero is DefaultMaxBytes
}

// Decode reads the single YAML document in data into the struct, map or slice that into points at. Keys come from `yaml:"…"` tags.
//
// It is strict: repeated keys at any depth, several documents, explicit tags, invalid UTF-8, control characters, values of another
// type and numbers that do not fit are problems, all reported at once as far as the syntax allows. Words like yes and on are text
// unless a bool is wanted. An empty document is a problem. On failure (always ErrInvalid) into may be partly filled.
func Decode(data []byte, into any, o Options) error {
	limit := o.MaxBytes
	if limit == 0 {
		limit = DefaultMaxBytes
	}
	if len(data) > limit {
		return o.invalid(Problem{Line: 1, Column: 1, Message: fmt.Sprintf("the document has %d bytes; %d are allowed", len(data), limit)})
	}
	if p, ok := unreadable(data); ok {
		return o.invalid(p)
	}
	var doc yaml.Node
	if err := yaml.Load(data, &doc, bounds()); err != nil {
		return o.invalid(o.problemsOf(err)...)
	}
	if found := inspect(&doc, nil); len(found) > 0 {
		return o.invalid(found...)
	}
	if err := doc.Load(into, bounds(), yaml.WithKnownFields(o.KnownFields)); err != nil {
		found := o.problemsOf(err)
		if o.KnownFields {
			name(found, &doc, into)
		}
		return o.invalid(found...)
	}
	return nil
}

func bounds() yaml.Option {
	return yaml.WithPlugin(loaderlimits.New(loaderlimits.DepthValue(MaxDepth), loaderlimits.AliasValue(maxAliases)))
}

// shift returns what a line number in the data lacks to one in the file.
func (o Options) shift() int { return max(o.FirstLine, 1) - 1 }

func (o Options) invalid(found ...Problem) error {
	more := len(found) - maxProblems
	found = found[:min(len(found), maxProblems)]
	texts := make([]string, len(found))
	for i := range found {
		if found[i].Line == unknownLine {
			found[i].Line, found[i].Column = 1, 1
		}
		found[i].Line += o.shift()
		texts[i] = found[i].String()
	}
	if more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return ErrInvalid.WithMessage("%s", strings.Join(texts, "; ")).WithDetails(Problems{found})
}

// unreadable finds the first place that cannot be in a YAML document at all. The library would refuse it too, but not say where.
func unreadable(data []byte) (Problem, bool) {
	line, column := 1, 1
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			return Problem{line, column, fmt.Sprintf("byte 0x%02x is not valid UTF-8", data[i])}, true
		case r == '\n':
			line, column = line+1, 0
		case r < ' ' && r != '\t' && r != '\r', r == 0x7f, r == 0xfeff && i == 0, r == 0xfffe, r == 0xffff:
			return Problem{line, column, fmt.Sprintf("character U+%04X is not allowed; write it as an escape in double quotes", r)}, true
		}
		column++
		i += n
	}
	return Problem{}, false
}

// inspect finds what the library lets pass: repeated keys below ignored ones, and explicit tags, which change how text is read.
func inspect(n *yaml.Node, found []Problem) []Problem {
	if n.Style&yaml.TaggedStyle != 0 {
		found = append(found, Problem{n.Line, n.Column, fmt.Sprintf("the tag %s is not supported; write the plain value", clip(n.Tag))})
	}
	if n.Kind == yaml.MappingNode {
		first := make(map[string]int, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			if key.Kind != yaml.ScalarNode {
				found = append(found, Problem{key.Line, key.Column, "a key must be a single word or text"})
				continue
			}
			if _, repeated := first[key.Value]; repeated {
				found = append(found, Problem{key.Line, key.Column, fmt.Sprintf("the key %q is given twice", clip(key.Value))})
			}
			first[key.Value] = key.Line
		}
	}
	for _, child := range n.Content {
		found = inspect(child, found)
	}
	return found
}

// problemsOf translates the library's errors: positions into numbers, Go's type names into words.
func (o Options) problemsOf(err error) []Problem {
	var many *yaml.LoadErrors
	if errors.As(err, &many) {
		found := make([]Problem, len(many.Errors))
		for i, e := range many.Errors {
			found[i] = o.problemOf(e)
		}
		return found
	}
	var one *yaml.LoadError
	if errors.As(err, &one) {
		return []Problem{o.problemOf(one)}
	}
	return []Problem{{Message: err.Error()}}
}

func (o Options) problemOf(e *yaml.LoadError) Problem {
	message := strings.TrimPrefix(e.Message, "yaml: ")
	if e.ContextMsg != "" {
		message = fmt.Sprintf("%s from line %d, column %d: %s", e.ContextMsg, e.ContextMark.Line+o.shift(), e.ContextMark.Column, message)
	}
	return Problem{e.Mark.Line, e.Mark.Column, inWords(message)}
}

// name gives problems with a document whose keys are all known the names of the keys: of the entry that is wrong, and of those that were meant.
func name(found []Problem, doc *yaml.Node, into any) {
	known := map[string][]string{}
	keysOf(reflect.TypeOf(into), known)
	for i, p := range found {
		if m := regexp.MustCompile("(?s)^field (.+) not found in type (.+)$").FindStringSubmatch(p.Message); m != nil {
			found[i].Message = fmt.Sprintf("unknown key %q", clip(m[1]))
			if near := spelling.Nearest(m[1], known[m[2]]); near != "" {
				found[i].Message += fmt.Sprintf("; did you mean %s?", near)
			} else if keys := known[m[2]]; len(keys) > 0 {
				found[i].Message += "; known here: " + strings.Join(keys, ", ")
			}
			continue
		}
		if key := keyAt(doc, p.Line, p.Column, ""); key != "" {
			found[i].Message = key + ": " + p.Message
		}
	}
}

// keysOf collects the keys of every struct that a type is made of, by the name that the library has for the struct.
func keysOf(t reflect.Type, known map[string][]string) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		keysOf(t.Elem(), known)
	case reflect.Struct:
		if known[t.String()] != nil {
			return
		}
		keys := []string{}
		known[t.String()] = keys
		for f := range t.Fields() {
			key, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
			if key == "" {
				key = strings.ToLower(f.Name)
			}
			if f.IsExported() && key != "-" {
				keys = append(keys, key)
				keysOf(f.Type, known)
			}
		}
		known[t.String()] = keys
	}
}

// keyAt returns the key, with those it stands below, whose value stands at a place; empty where none does.
func keyAt(n *yaml.Node, line, column int, above string) string {
	if n.Line == line && n.Column == column && above != "" && n.Kind != yaml.DocumentNode {
		return above
	}
	for i, child := range n.Content {
		below := above
		if n.Kind == yaml.MappingNode {
			if i%2 == 0 {
				continue
			}
			below = strings.TrimPrefix(above+"."+n.Content[i-1].Value, ".")
		}
		if key := keyAt(child, line, column, below); key != "" {
			return clip(key)
		}
	}
	return ""
}

// Line returns the line, from 1, of the value that a key holds, with those it stands below (notify.reminder); zero where the document has no such key.
func Line(data []byte, key string) int {
	at, err := Parse(data, Options{})
	if err != nil {
		return 0
	}
	for part := range strings.SplitSeq(key, ".") {
		fields := at.Fields()
		i := slices.IndexFunc(fields, func(f field) bool { return f.Key.Text() == part })
		if i < 0 {
			return 0
		}
		at = fields[i].Value
	}
	return at.Line()
}

// inWords rewrites "cannot construct !!str `x` into int".
func inWords(message string) string {
	m := mismatch(message)
	switch {
	case strings.Contains(message, "no documents in stream"):
		return "the document is empty"
	case strings.Contains(message, "expected single document"):
		return "more than one document"
	case m == nil:
		return message
	}
	got, into := m[1], m[3]
	if kind, known := map[string]string{"!!seq": "a list", "!!map": "a mapping"}[got]; known {
		got = kind
	} else if m[2] != "" {
		got = strconv.Quote(clip(m[2]))
	}
	return fmt.Sprintf("%s where %s is expected", got, expected(into))
}

func mismatch(message string) []string {
	return regexp.MustCompile("(?s)^cannot construct (!!\\w+)(?: `(.*)`)? into (.+)$").FindStringSubmatch(message)
}

func expected(goType string) string {
	goType = strings.TrimLeft(goType, "*")
	switch {
	case strings.HasPrefix(goType, "[]"):
		return "a list"
	case goType == "string":
		return "text"
	case goType == "bool":
		return "true or false"
	case strings.HasPrefix(goType, "int"):
		return "a whole number"
	case strings.HasPrefix(goType, "uint"):
		return "a whole number, not negative,"
	case strings.HasPrefix(goType, "float"):
		return "a number"
	}
	return "a mapping"
}

// clip shortens what a message repeats of a document.
func clip(s string) string {
	if len(s) <= maxQuoted {
		return s
	}
	return strings.ToValidUTF8(s[:maxQuoted], "") + "…"
}
