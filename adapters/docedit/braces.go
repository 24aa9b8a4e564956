package docedit

import (
	"bytes"
	"slices"
	"strings"
)

// pair is an object of JSON or an inline table of TOML, as offsets into the document.
type pair struct {
	Open, Close int // the first byte after the opening brace, and the closing brace
	Members     []Member
}

// Member is a key and its value in braces, or a line of TOML.
type Member struct {
	Key   []string // one name, or several where TOML has dots between them
	Start int      // the key's first byte
	Value int      // the value's first byte
	End   int      // the byte after the value
	Comma int      // where the comma behind it stands; -1 if there is none
}

// layout is how a new member is set into braces.
type layout struct {
	Lines  bool   // a line each
	NL     string // the line end of the document
	Indent string // in front of a member that has a line of its own
	Outer  string // in front of the closing brace, likewise
	Gap    string // between a comma and a member on the same line
}

// gap is what stands between members: white space and comments.
type gap struct {
	Head   int  // how much of it there is up to the end of the last comment, without the line end
	Line   bool // that comment ends with its line
	Breaks bool // there is a line end outside /* */
}

// look reads a gap. In JSON # can only be inside a comment there, and in TOML / can.
func look(gap []byte) (g gap) {
	for i := 0; i < len(gap); {
		rest := gap[i:]
		switch {
		case rest[0] == '#' || bytes.HasPrefix(rest, []byte("//")):
			n := bytes.IndexByte(rest, '\n')
			if n < 0 {
				n = len(rest)
			}
			i += n
			g.Head, g.Line = len(bytes.TrimRight(gap[:i], "\r")), true
		case bytes.HasPrefix(rest, []byte("/*")):
			n := bytes.Index(rest[2:], []byte("*/"))
			if n < 0 {
				n = len(rest) - 4
			}
			i += n + 4
			g.Head, g.Line = i, false
		default:
			g.Breaks = g.Breaks || rest[0] == '\n'
			i++
		}
	}
	return g
}

// Before returns the gap in front of member i.
func (b pair) Before(doc []byte, i int) []byte {
	if i == 0 {
		return doc[b.Open:b.Members[0].Start]
	}
	return doc[b.Members[i-1].Comma+1 : b.Members[i].Start]
}

// After returns the gap behind the last member, or all there is between braces without any.
func (b pair) After(doc []byte) []byte {
	from := b.Open
	if n := len(b.Members); n > 0 {
		from = max(b.Members[n-1].End, b.Members[n-1].Comma+1)
	}
	return doc[from:b.Close]
}

// Spread reports whether the members stand on lines of their own; inherited says it for braces that have none.
func (b pair) Spread(doc []byte, inherited bool) bool {
	n := len(b.Members)
	if n == 0 {
		return inherited || look(b.After(doc)).Breaks
	}
	return look(b.Before(doc, n-1)).Breaks || look(b.After(doc)).Breaks
}

// Insert sets a member behind the last one, in such a way that Remove finds what was there before, byte for byte.
func (b pair) Insert(doc []byte, l layout, text string) []byte {
	if len(b.Members) == 0 {
		return b.first(doc, l, text)
	}
	last := b.Members[len(b.Members)-1]
	gap := b.After(doc)
	from, g := b.Close-len(gap), look(gap)
	switch {
	case g.Line:
		text = lineEnd(gap[g.Head:]) + l.Indent + text
	case l.Lines:
		text = l.NL + l.Indent + text
	default:
		text = l.Gap + text
	}
	if last.Comma >= 0 {
		return splice(doc, from+g.Head, from+g.Head, text+",")
	}
	doc = splice(doc, from+g.Head, from+g.Head, text)
	return splice(doc, last.End, last.End, ",")
}

// first sets a member into empty braces. White space that was there is kept behind it, where Remove tells it from what is added here.
func (b pair) first(doc []byte, l layout, text string) []byte {
	gap := b.After(doc)
	g := look(gap)
	tail := string(gap[g.Head:])
	switch {
	case g.Line:
		text = lineEnd(gap[g.Head:]) + l.Indent + text
	case g.Head > 0 && strings.Contains(tail, "\n"):
		text = l.NL + l.Indent + text
	case g.Head > 0 && tail == "":
		text = " " + text
	case g.Head > 0:
		text = tail + text
	case g.Breaks:
		text = l.NL + l.Indent + text + l.NL
	case tail == "" && l.Lines:
		text = l.NL + l.Indent + text + l.NL + l.Outer
	default:
		text = tail + text
	}
	return splice(doc, b.Open+g.Head, b.Open+g.Head, text)
}

// Remove takes member i out, with its comma and the white space in front of it. Comments stay, outside of the member itself.
func (b pair) Remove(doc []byte, i int) []byte {
	m, gap := b.Members[i], b.Before(doc, i)
	g := look(gap)
	from, to := m.Start-len(gap)+g.Head, max(m.End, m.Comma+1)
	if len(b.Members) == 1 && g.Head == 0 && g.Breaks { // as first wrote it
		rest, ended := bytes.CutPrefix(doc[to:b.Close], []byte(lineEnd(doc[to:])))
		switch {
		case ended && len(bytes.Trim(rest, " \t")) == 0:
			to = b.Close
		case ended:
			to = b.Close - len(rest)
		}
	}
	if rest := bytes.TrimLeft(doc[to:], " \t\r"); g.Line && !bytes.HasPrefix(rest, []byte("\n")) {
		from += bytes.IndexByte(doc[from:], '\n') + 1 // or the comment would go on
	}
	doc = splice(doc, from, to, "")
	if i > 0 && i == len(b.Members)-1 && m.Comma < 0 {
		comma := b.Members[i-1].Comma
		doc = splice(doc, comma, comma+1, "")
	}
	return doc
}

// splice is doc with text in place of what stands between two offsets.
func splice(doc []byte, from, to int, text string) []byte {
	return slices.Concat(doc[:from], []byte(text), doc[to:])
}

// lineEnd returns the line end that text begins with, or "\n".
func lineEnd(text []byte) string {
	if bytes.HasPrefix(text, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

// lineEndOf returns the line end of a document: its first one.
func lineEndOf(doc []byte) string {
	if i := bytes.IndexByte(doc, '\n'); i > 0 && doc[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// indentation returns the white space that the line of an offset begins with.
func indentation(doc []byte, at int) string {
	line := doc[bytes.LastIndexByte(doc[:at], '\n')+1 : at]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}
