package docedit

import (
	"slices"
)

// putInline sets a value in the inline table, or as the value, of a key. What is missing on the way is written with dots.
func (s TOMLSyntax) putInline(doc []byte, at Member, rest []string, e change) ([]byte, error) {
	value, err := writer{path: e.Path}.inline(e.Node)
	if err != nil {
		return nil, err
	}
	if len(rest) == 0 {
		return splice(doc, at.Value, at.End, value), nil
	}
	b, err := inlineAt(doc, at.Value)
	if err != nil {
		return nil, unsafe(e.Path)
	}
	if i := slices.IndexFunc(b.Members, func(m Member) bool { return within(rest, m.Key) }); i >= 0 {
		return s.putInline(doc, b.Members[i], rest[len(b.Members[i].Key):], e)
	}
	if slices.ContainsFunc(b.Members, func(m Member) bool { return within(m.Key, rest) }) { // written with dots, to be replaced
		if doc, err = s.dropInline(doc, at, rest, e.Path); err != nil {
			return nil, err
		}
		if b, err = inlineAt(doc, at.Value); err != nil {
			return nil, unsafe(e.Path)
		}
	}
	l := layout{Lines: b.Spread(doc, false), NL: lineEndOf(doc), Gap: " ", Outer: indentation(doc, b.Open-1)}
	l.Indent = l.Outer + "  "
	if n := len(b.Members); n > 0 && look(b.Before(doc, n-1)).Breaks {
		l.Indent = indentation(doc, b.Members[n-1].Start)
	}
	return b.Insert(doc, l, keyText(rest)+" = "+value), nil
}

// dropInline takes a key out of the inline table that a key has.
func (s TOMLSyntax) dropInline(doc []byte, at Member, rest, path []string) ([]byte, error) {
	for {
		b, err := inlineAt(doc, at.Value)
		if err != nil {
			return nil, unsafe(path)
		}
		i := slices.IndexFunc(b.Members, func(m Member) bool { return within(m.Key, rest) || within(rest, m.Key) })
		if i < 0 {
			return doc, nil
		}
		if m := b.Members[i]; len(m.Key) < len(rest) {
			return s.dropInline(doc, m, rest[len(m.Key):], path)
		}
		doc = b.Remove(doc, i)
	}
}

// inlineAt reads the inline table whose brace is at an offset.
func inlineAt(doc []byte, at int) (pair, error) {
	s := scanner{doc: doc, at: at}
	if s.peek() != '{' {
		return pair{}, errScan
	}
	return s.inline()
}
