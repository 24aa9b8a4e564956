package tool

import "bytes"

// scan walks over JSON without storing it. Every start of a process checks every schema; encoding/json would take longer for that than everything
// else before the first answer.
type scan struct {
	text []byte
	at   int
	kind []byte // value of "type" in the outermost object
}

// objectSchema reports whether the JSON is an object whose type is "object".
func objectSchema(text []byte) bool {
	s := scan{text: text}
	return s.document() && string(s.kind) == `"object"`
}

func (s *scan) document() bool { return s.value(0) && s.next() == 0 && s.at == len(s.text) }

// next returns the next byte that is not white space; 0 at the end.
func (s *scan) next() byte {
	for ; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

// take skips the next byte if it is c.
func (s *scan) take(c byte) bool {
	if s.next() != c || s.at == len(s.text) {
		return false
	}
	s.at++
	return true
}

const maxDepth = 1000 // of nesting

func (s *scan) value(depth int) bool {
	switch c := s.next(); c {
	case '{':
		return depth < maxDepth && s.inside('{', '}', func() bool { return s.field(depth) })
	case '[':
		return depth < maxDepth && s.inside('[', ']', func() bool { return s.value(depth + 1) })
	case '"':
		return s.word()
	case 't':
		return s.literal("true")
	case 'f':
		return s.literal("false")
	case 'n':
		return s.literal("null")
	}
	return s.number()
}

func (s *scan) field(depth int) bool {
	s.next()
	key := s.at
	if !s.word() {
		return false
	}
	end := s.at
	if !s.take(':') {
		return false
	}
	s.next()
	from := s.at
	if !s.value(depth + 1) {
		return false
	}
	if depth == 0 && string(s.text[key:end]) == `"type"` {
		s.kind = s.text[from:s.at]
	}
	return true
}

// inside reads the items between two brackets, separated by commas.
func (s *scan) inside(open, closing byte, item func() bool) bool {
	if !s.take(open) {
		return false
	}
	if s.take(closing) {
		return true
	}
	for item() {
		if s.take(closing) {
			return true
		}
		if !s.take(',') {
			return false
		}
	}
	return false
}

func (s *scan) word() bool {
	if !s.take('"') {
		return false
	}
	for ; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; {
		case c == '"':
			s.at++
			return true
		case c < ' ':
			return false
		case c == '\\':
			if s.at++; !s.escape() {
				return false
			}
		}
	}
	return false
}

// escape reads the rest of an escape after the backslash and stops at its last byte.
func (s *scan) escape() bool {
	switch {
	case s.at >= len(s.text):
		return false
	case s.text[s.at] != 'u':
		return bytes.IndexByte([]byte(`"\/bfnrt`), s.text[s.at]) >= 0
	case s.at+4 >= len(s.text):
		return false
	}
	for range 4 {
		s.at++
		if c := s.text[s.at] | 0x20; (c < '0' || c > '9') && (c < 'a' || c > 'f') || s.text[s.at] < '0' {
			return false
		}
	}
	return true
}

func (s *scan) literal(text string) bool {
	if !bytes.HasPrefix(s.text[s.at:], []byte(text)) {
		return false
	}
	s.at += len(text)
	return true
}

func (s *scan) number() bool {
	if s.at < len(s.text) && s.text[s.at] == '-' {
		s.at++
	}
	whole := s.at
	if n := s.digits(); n == 0 || n > 1 && s.text[whole] == '0' {
		return false
	}
	if s.at < len(s.text) && s.text[s.at] == '.' {
		s.at++
		if s.digits() == 0 {
			return false
		}
	}
	if s.at < len(s.text) && s.text[s.at]|0x20 == 'e' {
		s.at++
		if s.at < len(s.text) && (s.text[s.at] == '+' || s.text[s.at] == '-') {
			s.at++
		}
		return s.digits() > 0
	}
	return true
}

// digits skips digits and counts them.
func (s *scan) digits() (n int) {
	for ; s.at < len(s.text) && s.text[s.at] >= '0' && s.text[s.at] <= '9'; s.at++ {
		n++
	}
	return n
}
