package docedit

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// AddItems puts values behind those of the list at a path, without the ones that it has, and makes the list where there is none. Every other byte stays as
// it is, except that a list within an inline table of TOML is written anew. It fails with ErrFormat, and with ErrShape where something else than a list is there.
func (e Editor) AddItems(format string, doc []byte, path []string, items []json.RawMessage) ([]byte, error) {
	have, there, err := e.list(format, doc, path)
	if err != nil {
		return nil, err
	}
	if !there && len(items) > 0 {
		return e.Set(format, doc, []Entry{{Path: path, Value: listOf(items)}})
	}
	for _, item := range items {
		c, err := newChange(path, item)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(have, func(v any) bool { return SameValue(v, c.Value) }) {
			continue
		}
		text := string(c.Node.Pack())
		if format == TOML {
			if text, err = (writer{path: path}).inline(c.Node); err != nil {
				return nil, err
			}
		}
		have = append(have, c.Value)
		if doc, err = e.splice(format, doc, path, have, func(a array) []byte { return a.behind(text) }); err != nil {
			return nil, err
		}
	}
	return doc, nil
}

// RemoveItems takes values out of the list at a path; those that it has not are no error. The list stays, also an empty one. It fails as AddItems does.
func (e Editor) RemoveItems(format string, doc []byte, path []string, items []json.RawMessage) ([]byte, error) {
	have, there, err := e.list(format, doc, path)
	if err != nil || !there {
		return doc, err
	}
	for _, item := range slices.Backward(items) {
		c, err := newChange(path, item)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(have, func(v any) bool { return SameValue(v, c.Value) })
		if i < 0 {
			continue
		}
		have = slices.Delete(slices.Clone(have), i, i+1)
		if doc, err = e.splice(format, doc, path, have, func(a array) []byte { return a.without(i) }); err != nil {
			return nil, err
		}
	}
	return doc, nil
}

// HasItem reports whether the list at a path has a value. It fails as AddItems does.
func (e Editor) HasItem(format string, doc []byte, path []string, item json.RawMessage) (bool, error) {
	have, _, err := e.list(format, doc, path)
	if err != nil {
		return false, err
	}
	c, err := newChange(path, item)
	return err == nil && slices.ContainsFunc(have, func(v any) bool { return SameValue(v, c.Value) }), err
}

func listOf(items []json.RawMessage) json.RawMessage {
	texts := make([]string, len(items))
	for i, item := range items {
		texts[i] = string(item)
	}
	return json.RawMessage("[" + strings.Join(texts, ",") + "]")
}

// list is the list at a path, and whether there is one.
func (Editor) list(format string, doc []byte, path []string) ([]any, bool, error) {
	work, err := openPaths(format, doc, [][]string{path})
	if err != nil {
		return nil, false, err
	}
	value, there, err := work.before.At(path)
	if err != nil || !there {
		return nil, false, err
	}
	list, ok := value.([]any)
	if !ok {
		return nil, true, ErrShape.WithMessage("%s is %s, not a list; make it a list, or remove it", keyText(path), kind(value))
	}
	return list, true, nil
}

// splice changes the text of one list, which is to mean want then. Where its text cannot be changed so, the list is written anew.
func (e Editor) splice(format string, doc []byte, path []string, want []any, change func(array) []byte) ([]byte, error) {
	find, syntax := arrayAt, syntax(JSONSyntax{})
	if format == TOML {
		find, syntax = tomlArrayAt, TOMLSyntax{}
	}
	mark, text := cutMark(doc)
	if a, ok := find(text, path); ok {
		after := change(a)
		work, err := openPaths(format, after, [][]string{path})
		if before, readErr := syntax.Read(text); err == nil && readErr == nil && work.before.Says(before.With(path, want)) {
			return slices.Concat(mark, after), nil
		}
	}
	value, err := canonical(want)
	if err != nil {
		return nil, err
	}
	return e.Set(format, doc, []Entry{{Path: path, Value: value}})
}

// array is a list in the text of a document.
type array struct {
	doc   []byte
	start int // of its bracket
	of    []element
}

// element is a value in the text of a list: where it begins and ends, and what stands between it and the comma or bracket before.
type element struct {
	start, end int
	before     string
}

func arrayAt(doc []byte, path []string) (array, bool) {
	t, err := parse(doc)
	if err != nil {
		return array{}, false
	}
	value := hujson.Value{Value: t.root}
	for _, key := range path {
		object, ok := value.Value.(*hujson.Object)
		if !ok {
			return array{}, false
		}
		i := slices.IndexFunc(object.Members, func(m hujson.ObjectMember) bool { return Text(m.Name) == key })
		if i < 0 {
			return array{}, false
		}
		value = object.Members[i].Value
	}
	of, ok := value.Value.(*hujson.Array)
	if !ok {
		return array{}, false
	}
	a := array{doc: doc, start: value.StartOffset}
	for _, e := range of.Elements {
		a.of = append(a.of, element{e.StartOffset, e.EndOffset, string(e.BeforeExtra)})
	}
	return a, true
}

// tomlArrayAt is the same in TOML, of a key that has a line of its own.
func tomlArrayAt(doc []byte, path []string) (array, bool) {
	statements, err := scan(doc)
	i := slices.IndexFunc(statements, func(st statement) bool { return !st.header && slices.Equal(st.Key, path) })
	if err != nil || i < 0 {
		return array{}, false
	}
	s := scanner{doc: doc, at: statements[i].Value}
	a := array{doc: doc, start: s.at}
	if s.peek() != '[' {
		return array{}, false
	}
	s.at++
	from := s.at
	for s.space(); s.peek() != ']'; s.space() {
		e := element{start: s.at, before: string(doc[from:s.at])}
		if s.skipValue() != nil {
			return array{}, false
		}
		e.end = s.at
		a.of = append(a.of, e)
		if s.space(); s.peek() == ',' {
			s.at++
		}
		from = s.at
	}
	return a, true
}

// behind is the document with a value behind the last one, set off as that is.
func (a array) behind(value string) []byte {
	n := len(a.of)
	if n == 0 {
		return slices.Concat(a.doc[:a.start+1], []byte(value), a.doc[a.start+1:])
	}
	last := a.of[n-1]
	before := last.before
	if i := strings.LastIndexByte(before, '\n'); i >= 0 {
		if before = before[i:]; i > 0 && last.before[i-1] == '\r' {
			before = "\r" + before
		}
	}
	if strings.TrimSpace(before) != "" || before == "" && n == 1 {
		before = " "
	}
	return slices.Concat(a.doc[:last.end], []byte(","+before+value), a.doc[last.end:])
}

// without is the document without one of the values.
func (a array) without(i int) []byte {
	e := a.of
	switch {
	case i > 0:
		return slices.Concat(a.doc[:e[i-1].end], a.doc[e[i].end:])
	case len(e) > 1:
		return slices.Concat(a.doc[:e[0].start], a.doc[e[1].start:])
	}
	return slices.Concat(a.doc[:a.start+1], a.doc[e[0].end:])
}
