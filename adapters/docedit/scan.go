package docedit

import (
	"bytes"
	"errors"
	"slices"

	"github.com/BurntSushi/toml"
)

// errScan reports text the scanner cannot follow. The library judged the document before, so its author never sees it.
var errScan = errors.New("docedit: the scanner is in an invalid state")

// errDeep reports a value that nests beyond meaning.MaxDepth.
var errDeep = errors.New("docedit: too many levels")

// statement is a [header] or a key of a TOML document, with the whole lines it stands on. The key of a statement is its full path.
type statement struct {
	Member
	header  bool
	array   bool // [[header]]
	section int  // the header it stands under, as an index; -1 at the top
	table   int  // how many keys of the path come from that header
	from    int  // where its first line begins
	to      int  // where the line behind it begins
}

// scanner finds where things are in TOML that is valid.
type scanner struct {
	doc   []byte
	at    int
	depth int
}

// scan lists the statements of a document in order.
func scan(doc []byte) ([]statement, error) {
	s := scanner{doc: doc}
	var found []statement
	section := -1
	for s.at < len(doc) {
		st := statement{from: s.at, section: section}
		s.blanks()
		st.Start = s.at
		switch c := s.peek(); c {
		case 0, '\n', '\r', '#':
			if err := s.endLine(); err != nil {
				return nil, err
			}
			continue
		case '[':
			if err := s.head(&st); err != nil {
				return nil, err
			}
			section = len(found)
			st.section = section
		default:
			if err := s.pair(&st.Member, '='); err != nil {
				return nil, err
			}
			if section >= 0 {
				st.table = len(found[section].Key)
				st.Key = slices.Concat(found[section].Key, st.Key)
			}
		}
		if err := s.endLine(); err != nil {
			return nil, err
		}
		st.to = s.at
		found = append(found, st)
	}
	return found, nil
}

// peek returns the next byte, 0 at the end.
func (s *scanner) peek() byte {
	if s.at < len(s.doc) {
		return s.doc[s.at]
	}
	return 0
}

func (s *scanner) blanks() {
	for s.peek() == ' ' || s.peek() == '\t' {
		s.at++
	}
}

// endLine passes blanks, a comment and the line end.
func (s *scanner) endLine() error {
	s.blanks()
	if s.peek() == '\r' {
		s.at++
	}
	switch s.peek() {
	case '#':
		s.comment()
	case '\n':
	default:
		if s.at < len(s.doc) {
			return errScan
		}
	}
	s.at = min(s.at+1, len(s.doc))
	return nil
}

// comment passes a comment up to its line end.
func (s *scanner) comment() {
	if n := bytes.IndexByte(s.doc[s.at:], '\n'); n >= 0 {
		s.at += n
	} else {
		s.at = len(s.doc)
	}
}

// space passes everything between the values of a list or an inline table.
func (s *scanner) space() {
	for {
		switch s.peek() {
		case ' ', '\t', '\r', '\n':
			s.at++
		case '#':
			s.comment()
		default:
			return
		}
	}
}

func (s *scanner) head(st *statement) (err error) {
	st.header = true
	s.at++
	if st.array = s.peek() == '['; st.array {
		s.at++
	}
	if st.Key, err = s.key(); err != nil {
		return err
	}
	for range 2 {
		if s.peek() == ']' {
			s.at++
		}
		if !st.array {
			break
		}
	}
	st.End = s.at
	return nil
}

// pair passes a key, the sign behind it and a value.
func (s *scanner) pair(m *Member, sign byte) (err error) {
	m.Comma, m.Start = -1, s.at
	if m.Key, err = s.key(); err != nil {
		return err
	}
	if s.peek() != sign {
		return errScan
	}
	s.at++
	s.blanks()
	m.Value = s.at
	err = s.skipValue()
	m.End = s.at
	return err
}

// key reads one name, or several with dots between them.
func (s *scanner) key() (names []string, err error) {
	for {
		s.blanks()
		from := s.at
		var name string
		switch c := s.peek(); c {
		case '"', '\'':
			s.quoted(c)
			if name, err = unquote(s.doc[from:s.at]); err != nil {
				return nil, err
			}
		default:
			for c := s.peek(); c != 0 && bytes.IndexByte([]byte(" \t.=]\r\n#"), c) < 0; c = s.peek() {
				s.at++
			}
			if name = string(s.doc[from:s.at]); name == "" {
				return nil, errScan
			}
		}
		names = append(names, name)
		s.blanks()
		if s.peek() != '.' {
			return names, nil
		}
		s.at++
	}
}

// unquote returns the text of a quoted key. Those with escapes are left to the library.
func unquote(quoted []byte) (string, error) {
	if n := len(quoted); n > 1 && (quoted[0] == '\'' || bytes.IndexByte(quoted, '\\') < 0) {
		return string(quoted[1 : n-1]), nil
	}
	var one struct {
		K string `toml:"k"`
	}
	err := toml.Unmarshal(slices.Concat([]byte("k = "), quoted), &one)
	return one.K, err
}

// quoted passes a string that quote begins, of one line or of several.
func (s *scanner) quoted(quote byte) {
	fence := bytes.Repeat([]byte{quote}, 3)
	if !bytes.HasPrefix(s.doc[s.at:], fence) {
		fence = fence[:1]
	}
	for s.at += len(fence); s.at < len(s.doc); s.at++ {
		if s.doc[s.at] == '\\' && quote == '"' {
			s.at++
			continue
		}
		if !bytes.HasPrefix(s.doc[s.at:], fence) {
			continue
		}
		s.at += len(fence)
		for extra := 0; extra < 2 && len(fence) == 3 && s.peek() == quote; extra++ { // quotes that belong to the text
			s.at++
		}
		return
	}
	s.at = len(s.doc)
}

func (s *scanner) skipValue() error {
	if s.depth++; s.depth > valueMaxDepth {
		return errDeep
	}
	defer func() { s.depth-- }()
	switch c := s.peek(); c {
	case '"', '\'':
		s.quoted(c)
		return nil
	case '{':
		_, err := s.inline()
		return err
	case '[':
		s.at++
		for s.space(); s.peek() != ']'; s.space() {
			if err := s.skipValue(); err != nil {
				return err
			}
			if s.space(); s.peek() == ',' {
				s.at++
			}
		}
		s.at++
		return nil
	}
	from := s.at
	for c := s.peek(); c != 0 && bytes.IndexByte([]byte(",]}#\r\n"), c) < 0; c = s.peek() {
		s.at++
	}
	s.at = from + len(bytes.TrimRight(s.doc[from:s.at], " \t"))
	if s.at == from {
		return errScan
	}
	return nil
}

// inline reads an inline table.
func (s *scanner) inline() (b pair, err error) {
	s.at++
	b.Open = s.at
	for s.space(); s.peek() != '}'; s.space() {
		var m Member
		if err := s.pair(&m, '='); err != nil {
			return b, err
		}
		if s.space(); s.peek() == ',' {
			m.Comma = s.at
			s.at++
		}
		b.Members = append(b.Members, m)
	}
	b.Close = s.at
	s.at++
	return b, nil
}
