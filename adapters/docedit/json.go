package docedit

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// JSONSyntax edits JSON. It has no state.
type JSONSyntax struct{}

// text is a document that was read.
type text struct {
	doc  []byte
	root *hujson.Object
	tree hujson.Value
}

// blank reports a document that says nothing, not even {}.
func blank(doc []byte) bool { return len(bytes.TrimSpace(doc)) == 0 }

func parse(doc []byte) (text, error) {
	if nesting(doc) > valueMaxDepth {
		return text{}, ErrValueFormat.WithMessage("the document nests deeper than %d levels", valueMaxDepth)
	}
	tree, err := hujson.Parse(append(bytes.Clone(doc), '\n')) // a comment on the last line may end with the document
	if err != nil {
		why := withoutQuotes(strings.TrimPrefix(err.Error(), "hujson: "))
		return text{}, ErrValueFormat.WithMessage("the document is not JSON: %s; correct it and try again", why)
	}
	root, ok := tree.Value.(*hujson.Object)
	if !ok {
		return text{}, ErrValueShape.WithMessage("the document is JSON, but not an object; make it an object")
	}
	return text{doc: doc, root: root, tree: tree}, nil
}

// Read returns what the document says. It fails with ErrFormat, or ErrShape for one that is no object.
func (s JSONSyntax) Read(doc []byte) (document, error) {
	if blank(doc) {
		return document{Root: map[string]any{}}, nil
	}
	t, err := parse(doc)
	if err != nil {
		return document{}, err
	}
	return NewDocument(t.root), nil
}

// Missing lists the containers that Put would make.
func (s JSONSyntax) Missing(doc []byte, e change) ([][]string, error) {
	m, err := s.Read(doc)
	if err != nil {
		return nil, err
	}
	made := m.Absent(e.Path)
	if blank(doc) {
		made = append([][]string{{}}, made...)
	}
	return made, nil
}

// Put sets a value at a path that is absent or has another one.
func (s JSONSyntax) Put(doc []byte, e change) ([]byte, error) {
	if blank(doc) {
		doc = append([]byte("{}"+lineEndOf(doc)), doc...)
	}
	t, err := parse(doc)
	if err != nil {
		return nil, err
	}
	b, lines, depth := t.descend(e.Path)
	l := t.layout(b, lines)
	key := e.Path[depth]
	raw := string(e.Node.Pack())
	if i := index(b, key); i >= 0 {
		m := b.Members[i]
		l.Indent = indentation(doc, m.Start)
		return splice(doc, m.Value, m.End, t.render(raw, l)), nil
	}
	for i := len(e.Path) - 1; i > depth; i-- {
		raw = "{" + quoted(e.Path[i]) + ":" + raw + "}"
	}
	return b.Insert(doc, l, quoted(key)+":"+t.space(l)+t.render(raw, l)), nil
}

// Drop takes out a key that is there.
func (s JSONSyntax) Drop(doc []byte, path []string) ([]byte, error) {
	t, err := parse(doc)
	if err != nil {
		return nil, err
	}
	b, _, depth := t.descend(path)
	i := index(b, path[depth])
	if i < 0 || depth != len(path)-1 {
		return nil, unsafe(path)
	}
	return b.Remove(doc, i), nil
}

// Discard takes out a container that was made, if it is there and nothing is in it, not even a comment.
func (s JSONSyntax) Discard(doc []byte, made []string) ([]byte, error) {
	if blank(doc) {
		return doc, nil
	}
	t, err := parse(doc)
	if err != nil {
		return nil, err
	}
	if len(made) == 0 {
		rest := doc[t.tree.EndOffset:]
		if t.tree.StartOffset > 0 || t.tree.EndOffset != len("{}") || !blank(rest) {
			return doc, nil
		}
		return bytes.TrimPrefix(rest, []byte(lineEnd(rest))), nil
	}
	b, _, depth := t.descend(append(made[:len(made):len(made)], ""))
	if depth != len(made) || len(b.Members) > 0 || look(b.After(doc)).Head > 0 {
		return doc, nil
	}
	return s.Drop(doc, made)
}

// descend goes down path as far as objects are there, at most to the one that holds the last key. lines says whether what holds the
// innermost object is spread over lines.
func (t text) descend(path []string) (b pair, lines bool, depth int) {
	b, lines = inside(t.root, t.tree.EndOffset, t.tree.StartOffset), true
	object := t.root
	for depth = 0; depth < len(path)-1; depth++ {
		i := index(b, path[depth])
		if i < 0 {
			return b, lines, depth
		}
		v := object.Members[i].Value
		below, ok := v.Value.(*hujson.Object)
		if !ok {
			return b, lines, depth
		}
		lines = b.Spread(t.doc, lines)
		object, b = below, inside(below, v.EndOffset, v.StartOffset)
	}
	return b, lines, depth
}

// inside finds where the members of an object are, and their commas.
func inside(object *hujson.Object, end, start int) pair {
	b := pair{Open: start + 1, Close: end - 1}
	for i, m := range object.Members {
		comma := -1
		if i < len(object.Members)-1 || m.Value.AfterExtra != nil {
			comma = m.Value.EndOffset + len(m.Value.AfterExtra)
		}
		b.Members = append(b.Members, Member{Key: []string{Text(m.Name)}, Start: m.Name.StartOffset,
			Value: m.Value.StartOffset, End: m.Value.EndOffset, Comma: comma})
	}
	return b
}

// index returns the member with that name, or -1.
func index(b pair, key string) int {
	return slices.IndexFunc(b.Members, func(m Member) bool { return m.Key[0] == key })
}

// layout returns how the object is set out, so that a new member looks like the others.
func (t text) layout(b pair, inherited bool) layout {
	l := layout{Lines: b.Spread(t.doc, inherited), NL: lineEndOf(t.doc), Outer: indentation(t.doc, b.Open-1)}
	l.Indent = l.Outer + t.unit()
	n := len(b.Members)
	if n > 0 && look(b.Before(t.doc, n-1)).Breaks {
		l.Indent = indentation(t.doc, b.Members[n-1].Start)
	}
	l.Gap = t.space(l)
	if n > 1 {
		if gap := b.Before(t.doc, n-1); len(bytes.Trim(gap, " \t")) == 0 {
			l.Gap = string(gap)
		}
	}
	return l
}

// space returns what stands between a colon and its value: on lines of their own always a space, elsewhere what the document has.
func (t text) space(l layout) string {
	if !l.Lines && len(t.root.Members) > 0 && len(t.root.Members[0].Value.BeforeExtra) == 0 {
		return ""
	}
	return " "
}

// unit returns one step of indentation: the first that the document shows, or two spaces.
func (t text) unit() string {
	for v := range t.tree.All() {
		var gap []byte
		var at int
		switch c := v.Value.(type) {
		case *hujson.Object:
			if len(c.Members) > 0 {
				gap, at = c.Members[0].Name.BeforeExtra, c.Members[0].Name.StartOffset
			}
		case *hujson.Array:
			if len(c.Elements) > 0 {
				gap, at = c.Elements[0].BeforeExtra, c.Elements[0].StartOffset
			}
		}
		if !look(gap).Breaks {
			continue
		}
		if step, deeper := strings.CutPrefix(indentation(t.doc, at), indentation(t.doc, v.StartOffset)); deeper && step != "" {
			return step
		}
	}
	return "  "
}

// render writes a value the way the document is written.
func (t text) render(raw string, l layout) string {
	var out bytes.Buffer
	if l.Lines {
		_ = json.Indent(&out, []byte(raw), l.Indent, t.unit()) // it is valid JSON: newChange checked it
		return strings.ReplaceAll(out.String(), "\n", l.NL)
	}
	_ = json.Compact(&out, []byte(raw))
	if t.space(l) == "" {
		return out.String()
	}
	return spaced(out.String())
}

// spaced sets a space behind every colon and comma of compact JSON.
func spaced(compact string) string {
	var out strings.Builder
	quoted := false
	for i := 0; i < len(compact); i++ {
		c := compact[i]
		out.WriteByte(c)
		switch {
		case quoted && c == '\\':
			i++
			out.WriteByte(compact[i])
		case c == '"':
			quoted = !quoted
		case !quoted && (c == ':' || c == ','):
			out.WriteByte(' ')
		}
	}
	return out.String()
}
