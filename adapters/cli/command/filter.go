package command

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/template"

	"github.com/itchyny/gojq"
	"github.com/spf13/pflag"

	"github.com/countersign-dev/countersign/domain/tool"
)

// Filter prints what the user selected of a JSON answer, instead of all of it.
type filter struct {
	flag  string // the flag that made it, without its hyphens
	apply func(ctx context.Context, w io.Writer, answer any) error
}

// filterFlag is --jq or --template: it also requests JSON.
type filterFlag struct {
	s       *Shell
	name    string
	kind    string
	text    string
	compile func(text string) (func(ctx context.Context, w io.Writer, answer any) error, error)
}

// AddFilterFlags adds --jq and --template, which request JSON and print a part of it.
func (s *Shell) AddFilterFlags(flags *pflag.FlagSet) {
	flags.Var(&filterFlag{s: s, name: "jq", kind: "expression", compile: jq}, "jq", "print the parts of the JSON output that a jq expression selects")
	flags.Var(&filterFlag{s: s, name: "template", kind: "string", compile: goTemplate}, "template", "format the JSON output with a Go template")
}

// String returns the expression or template.
func (f *filterFlag) String() string { return f.text }

// Type returns the word for the flag's value in help texts.
func (f *filterFlag) Type() string { return f.kind }

// Set compiles the expression or template.
func (f *filterFlag) Set(text string) error {
	if f.s.filter != nil && f.s.filter.flag != f.name {
		return fmt.Errorf("--%s and --%s exclude each other", f.s.filter.flag, f.name)
	}
	apply, err := f.compile(text)
	if err != nil {
		return err
	}
	f.text, f.s.JSON, f.s.filter = text, true, &filter{f.name, apply}
	return nil
}

// jq compiles a jq expression. Texts are printed as they are, and other values as one line of JSON each.
func jq(text string) (func(context.Context, io.Writer, any) error, error) {
	query, err := gojq.Parse(text)
	if err != nil {
		return nil, err
	}
	code, err := gojq.Compile(query) // without environment, modules and further inputs
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, w io.Writer, answer any) error {
		for results := code.RunWithContext(ctx, answer); ; {
			v, more := results.Next()
			if !more {
				return nil
			}
			if err, failed := v.(error); failed {
				if halt, ok := err.(*gojq.HaltError); ok && halt.Value() == nil {
					return nil
				}
				return err
			}
			line, isText := v.(string)
			if !isText {
				doc, err := gojq.Marshal(v)
				if err != nil {
					return err
				}
				line = string(doc)
			}
			if _, err := fmt.Fprintln(w, line); err != nil {
				return err
			}
		}
	}, nil
}

// goTemplate compiles a template of text/template, with the functions json and join.
func goTemplate(text string) (func(context.Context, io.Writer, any) error, error) {
	t, err := template.New("template").Funcs(template.FuncMap{"json": jsonOf, "join": join}).Parse(text)
	if err != nil {
		return nil, err
	}
	return func(_ context.Context, w io.Writer, answer any) error {
		var out bytes.Buffer
		if err := t.Execute(&out, answer); err != nil {
			return err
		}
		if out.Len() > 0 && !bytes.HasSuffix(out.Bytes(), []byte("\n")) {
			out.WriteByte('\n')
		}
		_, err := out.WriteTo(w)
		return err
	}, nil
}

// jsonOf is the function json of templates: a value as JSON.
func jsonOf(v any) (string, error) {
	doc, err := tool.Encode(v)
	return string(doc), err
}

// join is the function join of templates: the texts of a list with a separator between them.
func join(separator string, list []any) string {
	words := make([]string, len(list))
	for i, v := range list {
		words[i] = fmt.Sprint(v)
	}
	return strings.Join(words, separator)
}

// Filtered reports whether the user selected a part of the answer: failures are then not written as JSON.
func (s *Shell) Filtered() bool { return s.filter != nil }

// PrintDocument writes a JSON document to the output: all of it, or what --jq or --template selects.
func (s *Shell) PrintDocument(doc []byte) error {
	if s.filter == nil {
		s.Line("%s", doc)
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(doc))
	decoder.UseNumber()
	var answer any
	if err := decoder.Decode(&answer); err != nil {
		return err
	}
	var out bytes.Buffer
	err := s.filter.apply(context.Background(), &out, answer)
	text := out.String()
	if s.Drawn() {
		text = Block(text)
	}
	fmt.Fprint(s.Out, text)
	if err != nil {
		return ErrUsage.WithMessage("--%s does not match this output: %v", s.filter.flag, err).WithDetails(Hint(shapeOf(answer)))
	}
	return nil
}

// shapeOf says what an answer has, for the user of an expression that does not fit it.
func shapeOf(answer any) string {
	fields, isObject := answer.(map[string]any)
	if !isObject {
		return "the output is a list; to see it: --json"
	}
	names := make([]string, 0, len(fields))
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names)
	return "the output has " + strings.Join(names, ", ") + "; to see all of it: --json"
}
