package ui

import (
	"bytes"
	"fmt"
	"strings"
)

// Node is a part of a document: an element, an attribute of the element around it, a text, or a Group of them. A nil Node is nothing.
type Node interface {
	// attributes and content write the node's part within the tag, and after it.
	attributes(b *bytes.Buffer)
	content(b *bytes.Buffer)
}

// HTML returns the node as a document or a part of one.
func HTML(n Node) []byte {
	var b bytes.Buffer
	if n != nil {
		n.content(&b)
	}
	return b.Bytes()
}

// Group is nodes side by side.
type Group []Node

func (g Group) attributes(b *bytes.Buffer) {
	for _, n := range g {
		if n != nil {
			n.attributes(b)
		}
	}
}

func (g Group) content(b *bytes.Buffer) {
	for _, n := range g {
		if n != nil {
			n.content(b)
		}
	}
}

type element struct {
	name string
	of   Group
}

func (*element) attributes(*bytes.Buffer) {}

func (e *element) content(b *bytes.Buffer) {
	b.WriteByte('<')
	b.WriteString(e.name)
	e.of.attributes(b)
	b.WriteByte('>')
	switch e.name {
	case "br", "hr", "input", "link", "meta": // void elements
		return
	}
	e.of.content(b)
	b.WriteString("</")
	b.WriteString(e.name)
	b.WriteByte('>')
}

type attribute struct {
	name, value string
	bare        bool
}

func (a attribute) attributes(b *bytes.Buffer) {
	b.WriteByte(' ')
	b.WriteString(a.name)
	if !a.bare {
		b.WriteString(`="`)
		escape(b, a.value)
		b.WriteByte('"')
	}
}

func (attribute) content(*bytes.Buffer) {}

type text string

func (text) attributes(*bytes.Buffer) {}

func (t text) content(b *bytes.Buffer) { escape(b, string(t)) }

type document struct{ root Node }

func (document) attributes(*bytes.Buffer) {}

func (d document) content(b *bytes.Buffer) {
	b.WriteString("<!doctype html>")
	if d.root != nil {
		d.root.content(b)
	}
}

// escape writes s as plain text, for elements and attributes. HTML cannot contain NUL, so U+FFFD replaces it.
func escape(b *bytes.Buffer, s string) {
	for {
		i := strings.IndexAny(s, "&<>\"'\x00")
		if i < 0 {
			b.WriteString(s)
			return
		}
		b.WriteString(s[:i])
		switch s[i] {
		case '&':
			b.WriteString("&amp;")
		case '<':
			b.WriteString("&lt;")
		case '>':
			b.WriteString("&gt;")
		case '"':
			b.WriteString("&#34;")
		case '\'':
			b.WriteString("&#39;")
		default:
			b.WriteString("\uFFFD")
		}
		s = s[i+1:]
	}
}

// el returns an element of that name, which is a constant of the program. Attributes among its nodes are its own, wherever they stand.
//
//go:noinline
func el(name string, of ...Node) Node { return &element{name, of} }

// Attr returns an attribute of that name, which is a constant of the program, with a value or without one.
//
//go:noinline
func Attr(name string, value ...string) Node {
	if len(value) == 0 {
		return attribute{name: name, bare: true}
	}
	return attribute{name: name, value: value[0]}
}

// TextNode is text.
//
//go:noinline
func TextNode(s string) Node { return text(s) }

// Textf returns a text formatted as by fmt.Sprintf.
func Textf(format string, args ...any) Node { return TextNode(fmt.Sprintf(format, args...)) }

// If returns the node if the condition holds, and nothing otherwise. The node is created in both cases.
func If(condition bool, n Node) Node {
	if condition {
		return n
	}
	return nil
}

// Map returns a node for each of the values.
func Map[T any](values []T, of func(T) Node) Group {
	g := make(Group, len(values))
	for i, v := range values {
		g[i] = of(v)
	}
	return g
}

// Doctype returns a whole document with that root.
func Doctype(root Node) Node { return document{root} }
