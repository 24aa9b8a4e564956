package docedit

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
	"github.com/tailscale/hujson"
)

// TOMLSyntax edits TOML. It has no state.
type TOMLSyntax struct{}

// maxBrackets bounds the brackets of a TOML document: the library follows nesting with its stack, and keeps every path it is on.
const maxBrackets = 20_000

// Read returns what the document says. It fails with ErrFormat.
func (TOMLSyntax) Read(doc []byte) (m document, err error) {
	if bytes.Count(doc, []byte("["))+bytes.Count(doc, []byte("{")) > maxBrackets {
		return document{}, ErrValueFormat.WithMessage("the document has more than %d brackets, the maximum", maxBrackets)
	}
	if _, err := scan(doc); errors.Is(err, errDeep) {
		return document{}, ErrValueFormat.WithMessage("the document nests deeper than %d levels", valueMaxDepth)
	}
	defer func() {
		if p := recover(); p != nil { // the library panics on what it takes for its own defects
			m, err = document{}, ErrValueFormat.WithMessage("the document cannot be parsed as TOML").WithCause(fmt.Errorf("panic: %v", p))
		}
	}()
	root := map[string]any{}
	if _, err := toml.Decode(string(doc), &root); err != nil {
		var at toml.ParseError
		if !errors.As(err, &at) {
			return document{}, ErrValueFormat.WithMessage("the document is not TOML").WithCause(err)
		}
		return document{}, ErrValueFormat.WithMessage("the document is not TOML: line %d, column %d: %s; correct it and try again",
			at.Position.Line, max(at.Position.Col, 1), withoutQuotes(at.Message))
	}
	return document{Root: neutral(root).(map[string]any)}, nil
}

// neutral brings what the library decoded into the form of a meaning.
func neutral(v any) any {
	switch v := v.(type) {
	case map[string]any:
		table := make(map[string]any, len(v))
		for key, below := range v {
			table[key] = neutral(below)
		}
		return table
	case []map[string]any:
		array := make([]any, 0, len(v))
		for _, element := range v {
			array = append(array, neutral(element))
		}
		return array
	case []any:
		array := make([]any, 0, len(v))
		for _, element := range v {
			array = append(array, neutral(element))
		}
		return array
	case int64:
		return number(fmt.Sprint(v))
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return special(strings.ToLower(fmt.Sprint(v)))
		}
		return float(v)
	case time.Time:
		return special(moment(v))
	}
	return v
}

// moment returns a date or a time the way TOML writes it; the library marks the local kinds with locations of its own.
func moment(t time.Time) string {
	switch t.Location().String() {
	case "datetime-local":
		return t.Format("2006-01-02T15:04:05.999999999")
	case "date-local":
		return t.Format(time.DateOnly)
	case "time-local":
		return t.Format("15:04:05.999999999")
	}
	return t.Format(time.RFC3339Nano)
}

// Missing lists the containers that Put would make, and one that is there only by what is below it if Put would give it a header.
func (s TOMLSyntax) Missing(doc []byte, e change) ([][]string, error) {
	m, err := s.Read(doc)
	if err != nil {
		return nil, err
	}
	made := m.Absent(e.Path)
	statements, err := scan(doc)
	if err != nil {
		return nil, unsafe(e.Path)
	}
	parent := e.Path[:len(e.Path)-1]
	inline := slices.ContainsFunc(statements, func(st statement) bool { return st.holds(e.Path) })
	if !e.Table() && !inline && len(parent) > 0 && m.Has(parent) && slot(statements, parent) < 0 {
		made = append(made, slices.Clone(parent)) // it exists by what is below it, and gets a header
	}
	return made, nil
}

// holds reports whether the value of the statement is the one at path, or an inline table that path goes through.
func (st statement) holds(path []string) bool { return !st.header && within(path, st.Key) }

// Put sets a value at a path that is absent or has another one. It fails with ErrShape.
func (s TOMLSyntax) Put(doc []byte, e change) ([]byte, error) {
	statements, err := scan(doc)
	if err != nil {
		return nil, unsafe(e.Path)
	}
	if i := slices.IndexFunc(statements, func(st statement) bool { return st.holds(e.Path) }); i >= 0 {
		return s.putInline(doc, statements[i].Member, e.Path[len(statements[i].Key):], e)
	}
	m, err := s.Read(doc)
	if err != nil {
		return nil, unsafe(e.Path)
	}
	old, found, err := m.At(e.Path)
	if err != nil || !found {
		return s.insert(doc, statements, e)
	}
	was, wasTable := old.(map[string]any)
	if table, ok := e.Node.Value.(*hujson.Object); ok && wasTable {
		return s.merge(doc, was, table, e)
	}
	if doc, err = s.Drop(doc, e.Path); err != nil {
		return nil, err
	}
	if statements, err = scan(doc); err != nil {
		return nil, unsafe(e.Path)
	}
	return s.insert(doc, statements, e)
}

// merge changes a table that has its own lines key by key, so that what stays the same keeps its place and its comments.
func (s TOMLSyntax) merge(doc []byte, was map[string]any, table *hujson.Object, e change) ([]byte, error) {
	now := e.Value.(map[string]any)
	for _, member := range table.Members {
		key := Text(member.Name)
		m, err := s.Read(doc)
		if err != nil {
			return nil, unsafe(e.Path)
		}
		below := change{Path: append(slices.Clip(e.Path), key), Node: member.Value, Value: now[key]}
		if old, found, _ := m.At(below.Path); found && SameValue(old, below.Value) {
			continue
		}
		if doc, err = s.Put(doc, below); err != nil {
			return nil, err
		}
	}
	for _, key := range slices.Sorted(maps.Keys(was)) {
		if _, stays := now[key]; stays {
			continue
		}
		var err error
		if doc, err = s.Drop(doc, append(slices.Clip(e.Path), key)); err != nil {
			return nil, err
		}
	}
	if len(now) > 0 {
		return doc, nil
	}
	m, err := s.Read(doc)
	if err != nil || m.Has(e.Path) {
		return doc, err
	}
	statements, err := scan(doc) // it was there only by what was in it
	if err != nil {
		return nil, unsafe(e.Path)
	}
	return s.insert(doc, statements, e)
}

// insert writes a key that is not there and is in no inline table: a table as a section of its own, anything else as a line.
func (s TOMLSyntax) insert(doc []byte, statements []statement, e change) ([]byte, error) {
	w := writer{nl: lineEndOf(doc), path: e.Path}
	if table, ok := e.Node.Value.(*hujson.Object); ok {
		text, err := w.section(e.Path, table)
		if err != nil {
			return nil, err
		}
		return addSection(doc, statements, e.Path, text), nil
	}
	value, err := w.inline(e.Node)
	if err != nil {
		return nil, err
	}
	last := len(e.Path) - 1
	if i := slot(statements, e.Path[:last]); i >= 0 {
		st, indent := statements[i], ""
		if st.header {
			last = len(st.Key)
		} else {
			last, indent = st.table, indentation(doc, st.Start)
		}
		return addLines(doc, st.to, indent+keyText(e.Path[last:])+" = "+value), nil
	}
	line := keyText(e.Path[last:]) + " = " + value
	if last == 0 {
		return addFirst(doc, statements, line), nil
	}
	return addSection(doc, statements, e.Path[:last], "["+keyText(e.Path[:last])+"]"+w.nl+line), nil
}

// Drop takes out a key that is there, with every line that is about it.
func (s TOMLSyntax) Drop(doc []byte, path []string) ([]byte, error) {
	for {
		statements, err := scan(doc)
		if err != nil {
			return nil, unsafe(path)
		}
		i := len(statements) - 1
		for ; i >= 0; i-- {
			st := statements[i]
			if within(st.Key, path) && (st.header || st.table < len(path)) {
				break
			}
			if st.holds(path) {
				return s.dropInline(doc, st.Member, path[len(st.Key):], path)
			}
		}
		switch {
		case i < 0:
			return doc, nil
		case statements[i].header:
			doc = cutSection(doc, statements, i)
		default:
			doc = cutLine(doc, statements, i)
		}
	}
}

// Discard takes out a container that was made, if it is there and nothing is in it, and a header it does not need.
func (s TOMLSyntax) Discard(doc []byte, made []string) ([]byte, error) {
	m, err := s.Read(doc)
	if err != nil {
		return nil, unsafe(made)
	}
	v, found, err := m.At(made)
	table, ok := v.(map[string]any)
	if len(made) == 0 || err != nil || !found || !ok {
		return doc, nil
	}
	if len(table) == 0 {
		return s.Drop(doc, made)
	}
	statements, err := scan(doc)
	if err != nil {
		return nil, unsafe(made)
	}
	i := slices.IndexFunc(statements, func(st statement) bool { return st.header && !st.array && slices.Equal(st.Key, made) })
	if i < 0 || sectionEnd(statements, i) != i {
		return doc, nil
	}
	return cutSection(doc, statements, i), nil // the header alone: the table lives on by what is below it
}
