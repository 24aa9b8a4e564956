package yamlcodec

import (
	"bytes"
	"strings"

	"github.com/countersign-dev/countersign/domain/fault"
)

// ErrLayout reports a document that is written in a way that a change cannot be spliced into.
var ErrLayout = fault.New(fault.Invalid, "yaml_layout_unsupported", "the document is laid out in a way that cannot be changed here; edit it by hand")

func errPlace(n Node) error {
	return ErrLayout.WithMessage("line %d of the document is written in a way that cannot be changed around; edit it by hand", max(n.Line(), 1))
}

// Append adds an item to the end of the list that path leads to, key by key from the root, and leaves every other byte as it was. Keys
// that are missing, and those that are null or empty, are made. The item is text, or what yamlcodec.Encode takes, Pairs for instance.
// The new text follows the layout around it: block or flow, indentation, line ends, quoted keys, blank lines between items.
//
// It fails with yamlcodec.ErrInvalid for a document that Parse refuses and with ErrLayout for one it does not know how to change.
// Whoever needs to be sure reads the result again.
func Append(doc []byte, path []string, item any) ([]byte, error) {
	s, err := open(doc)
	if err != nil {
		return nil, err
	}
	at := s.root
	for i, key := range path {
		if at.Kind() != Mapping || at.Form() == alias {
			return nil, errPlace(at)
		}
		f, found := find(at, key)
		switch {
		case !found:
			return s.addField(at, key, chain(path[i+1:], item))
		case empty(f.Value):
			return s.fill(at, f, chain(path[i+1:], item))
		}
		at = f.Value
	}
	switch {
	case at.Kind() != List || at.Anchor() != "":
		return nil, errPlace(at)
	case at.Form() == flow:
		return s.addFlow(at, item)
	}
	return s.addBlock(at, item)
}

// Add puts a value where path leads to, key by key from the root, unless something is there. Keys that are missing, and those that are null or empty, are
// made. Otherwise it is as Append.
func Add(doc []byte, path []string, value any) ([]byte, error) {
	s, err := open(doc)
	if err != nil {
		return nil, err
	}
	below := func(keys []string) any {
		out := value
		for i := len(keys) - 1; i >= 0; i-- {
			out = Pairs{{Key: keys[i], Value: out}}
		}
		return out
	}
	at := s.root
	for i, key := range path {
		if at.Kind() != Mapping || at.Form() == alias {
			return nil, errPlace(at)
		}
		f, found := find(at, key)
		switch {
		case !found:
			return s.addField(at, key, below(path[i+1:]))
		case empty(f.Value):
			return s.fill(at, f, below(path[i+1:]))
		}
		at = f.Value
	}
	return doc, nil
}

// Remove takes the item of that index out of the list that path leads to, with the comment lines that stand right above it at its own
// indentation, and the blank lines that set it apart. A list that becomes empty is written []. Errors are those of Append.
func Remove(doc []byte, path []string, index int) ([]byte, error) {
	s, err := open(doc)
	if err != nil {
		return nil, err
	}
	f := field{Value: s.root}
	for _, name := range path {
		inner, found := find(f.Value, name)
		if !found {
			return nil, errPlace(f.Value)
		}
		f = inner
	}
	switch {
	case index < 0 || index >= len(f.Value.Items()) || f.Value.Anchor() != "" || implicit(f.Value.Items()[index]):
		return nil, errPlace(f.Value)
	case f.Value.Form() == flow:
		return s.removeFlow(f.Value.Items(), index)
	}
	return s.removeBlock(f, index)
}

// splicer is a parsed document that is about to be changed.
type splicer struct {
	text
	root Node
	eol  string
}

func open(doc []byte) (splicer, error) {
	root, err := Parse(doc, Options{})
	if err != nil {
		return splicer{}, err
	}
	if root.Kind() != Mapping {
		return splicer{}, ErrLayout.WithMessage("the document is %s where a mapping is expected", root.Say())
	}
	s := splicer{newText(doc), root, "\n"}
	if len(s.starts) > 1 && bytes.HasSuffix(doc[:s.starts[1]], []byte("\r\n")) {
		s.eol = "\r\n"
	}
	return s, nil
}

func find(mapping Node, name string) (f field, found bool) {
	for _, f := range mapping.Fields() {
		if f.Key.Text() == name {
			return f, true
		}
	}
	return field{}, false
}

// empty reports null, {} and [].
func empty(n Node) bool {
	return n.Form() != alias && (!n.Given() || n.Form() == flow && len(n.Fields())+len(n.Items()) == 0)
}

// chain is the item in a list, below the keys that are left.
func chain(keys []string, item any) any {
	value := any([]any{item})
	for i := len(keys) - 1; i >= 0; i-- {
		value = Pairs{{Key: keys[i], Value: value}}
	}
	return value
}

// replace is the document with one range of it exchanged.
func (s splicer) replace(from, to int, with string) []byte {
	return bytes.Join([][]byte{s.data[:from], []byte(with), s.data[to:]}, nil)
}

// insertBelow puts lines below the one in which something ends.
func (s splicer) insertBelow(end int, lines string) []byte {
	at := s.lineEnd(s.line(end))
	return s.replace(at, at, s.eol+lines)
}

// appendBelow is insertBelow for lines with that indentation, which stand at the end of what they are added to: comments in what ends before them, which are
// indented deeper, stay there.
func (s splicer) appendBelow(end, indent int, lines string) []byte {
	last := s.line(end)
	for i := last + 1; i < len(s.starts) && (s.blank(i) || s.indent(i) > indent && bytes.HasPrefix(s.content(i)[s.indent(i):], []byte("#"))); i++ {
		if !s.blank(i) {
			last = i
		}
	}
	at := s.lineEnd(last)
	return s.replace(at, at, s.eol+lines)
}

// block is v as lines with an indentation and the document's line ends, none at the end.
func (s splicer) block(v any, indent int) (string, error) {
	block, err := encodeBlock(v)
	if err != nil {
		return "", err
	}
	lines := strings.Split(strings.TrimSuffix(block, "\n"), "\n")
	for i, line := range lines {
		if line != "" {
			lines[i] = strings.Repeat(" ", indent) + line
		}
	}
	return strings.Join(lines, s.eol), nil
}

// flow is v in one line; a document whose first key is quoted is JSON, and stays it.
func (s splicer) flow(v any) (string, error) {
	return encodeFlow(v, s.root.Fields()[0].Key.Form() == doubleQuoted)
}

// addField adds a key to a mapping that lacks it.
func (s splicer) addField(m Node, key string, value any) ([]byte, error) {
	fields, pair := m.Fields(), Pairs{{Key: key, Value: value}}
	if len(fields) == 0 { // only the root gets here; anything else that is empty is filled
		return nil, errPlace(m)
	}
	last, indent := fields[len(fields)-1], fields[0].Key.Column()-1
	if m.Form() == flow {
		indent = -1
	}
	end, err := s.fieldEnd(last, indent)
	if err != nil {
		return nil, err
	}
	if m.Form() == flow {
		flow, err := s.flow(pair)
		return s.replace(end, end, s.separator(m, last.Key)+strings.TrimSuffix(strings.TrimPrefix(flow, "{"), "}")), err
	}
	lines, err := s.block(pair, indent)
	return s.appendBelow(end, indent, lines), err
}

// fill exchanges an empty value for one that is not. What else stands in the key's line, a comment, stays there.
func (s splicer) fill(m Node, f field, value any) ([]byte, error) {
	indent := f.Key.Column() - 1
	if m.Form() == flow {
		indent = -1
	}
	colon, err := s.colon(f.Key, indent)
	if err != nil || !s.is(colon-1, ':') {
		return nil, errPlace(f.Key)
	}
	end, err := s.fieldEnd(f, indent)
	if err != nil {
		return nil, err
	}
	if m.Form() == flow {
		flow, err := s.flow(value)
		return s.replace(colon, end, " "+flow), err
	}
	lines, err := s.block(Pairs{{Key: "k", Value: value}}, indent)
	if err != nil {
		return nil, err
	}
	first, rest, more := strings.Cut(lines, s.eol)
	out := s.replace(colon, end, strings.TrimPrefix(strings.TrimLeft(first, " "), "k:"))
	if !more {
		return out, nil
	}
	s.text = newText(out)
	return s.insertBelow(colon, rest), nil
}

func (s splicer) addFlow(list Node, item any) ([]byte, error) {
	flow, err := s.flow(item)
	if err != nil {
		return nil, err
	}
	end, err := s.membersEnd(list, 0)
	if err != nil {
		return nil, err
	}
	items := list.Items()
	return s.replace(end, end, s.separator(list, items[len(items)-1])+flow), nil
}

func (s splicer) addBlock(list Node, item any) ([]byte, error) {
	end, err := s.end(list, 0)
	if err != nil {
		return nil, err
	}
	lines, err := s.block([]any{item}, list.Column()-1)
	if err != nil {
		return nil, err
	}
	if last := len(list.Items()) - 1; last > 0 {
		if head, err := s.head(list, last); err == nil && head > 0 && s.blank(head-1) {
			lines = s.eol + lines
		}
	}
	return s.appendBelow(end, list.Column()-1, lines), nil
}

// separator stands before one more member of a flow collection: on a line of its own where the last one is.
func (s splicer) separator(collection, last Node) string {
	at, err := s.offset(last)
	if err != nil || last.Line() == collection.Line() {
		return ", "
	}
	if lead := s.data[s.starts[s.line(at)]:at]; len(bytes.TrimSpace(lead)) == 0 {
		return "," + s.eol + string(lead)
	}
	return ", "
}

// head is the first line of a block list's item, the comments above it included.
func (s splicer) head(list Node, index int) (int, error) {
	dash, item := list.Column()-1, list.Items()[index]
	i := item.Line() - 1
	for ; i >= 0; i-- {
		if s.indent(i) == dash && bytes.HasPrefix(s.content(i)[dash:], []byte("-")) {
			break
		}
	}
	if i < 0 {
		return 0, errPlace(item)
	}
	for i > 0 && s.indent(i-1) == dash && bytes.HasPrefix(s.content(i - 1)[dash:], []byte("#")) {
		i--
	}
	return i, nil
}

func (s splicer) removeBlock(f field, index int) ([]byte, error) {
	items, dash := f.Value.Items(), f.Value.Column()-1
	head, err := s.head(f.Value, index)
	if err != nil {
		return nil, err
	}
	end, err := s.end(items[index], dash)
	if err != nil {
		return nil, err
	}
	tail := s.line(end)
	switch {
	case len(items) == 1:
		colon, err := s.colon(f.Key, dash)
		if err != nil || s.line(colon) >= head || !s.is(colon-1, ':') {
			return nil, errPlace(f.Key)
		}
		out := s.cut(head, tail)
		return bytes.Join([][]byte{out[:colon], []byte(" []"), out[colon:]}, nil), nil
	case index == 0:
		for tail+1 < len(s.starts) && s.blank(tail+1) {
			tail++
		}
	default:
		before, err := s.end(items[index-1], dash)
		if err != nil {
			return nil, err
		}
		for head-1 > s.line(before) && s.blank(head-1) {
			head--
		}
	}
	return s.cut(head, tail), nil
}

// cut takes lines out. Where the document does not end in a line break, it does not afterwards.
func (s splicer) cut(first, last int) []byte {
	if last+1 < len(s.starts) {
		return s.replace(s.starts[first], s.starts[last+1], "")
	}
	from := s.starts[first]
	if first > 0 {
		from = s.lineEnd(first - 1)
	}
	return s.replace(from, len(s.data), "")
}

func (s splicer) removeFlow(items []Node, index int) ([]byte, error) {
	from, err := s.offset(items[index])
	if err != nil {
		return nil, err
	}
	to, err := s.end(items[index], -1)
	if err != nil {
		return nil, err
	}
	if index > 0 {
		before, err := s.end(items[index-1], -1)
		if err != nil {
			return nil, err
		}
		if !bytes.ContainsRune(s.data[before:from], '#') {
			return s.replace(before, to, ""), nil
		}
	}
	if comma := s.skipBlank(to); s.is(comma, ',') { // the one after it goes, so that comments before it stay whole
		to = comma + 1
	}
	if index == 0 && len(items) > 1 {
		next, err := s.offset(items[1])
		if err != nil {
			return nil, err
		}
		if !bytes.ContainsRune(s.data[to:next], '#') {
			to = next
		}
	}
	return s.replace(from, to, ""), nil
}
