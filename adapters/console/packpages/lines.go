package packpages

import "strings"

// lines is a format whose lines are each of one class.
func (s *scanner) lines(class func(string) class) {
	for s.at < len(s.text) {
		n := s.line()
		if n > 0 {
			s.token(class(s.text[s.at:s.at+n]), n)
		}
		s.at = min(s.at+1, len(s.text))
	}
}

func diffLine(l string) class {
	switch {
	case strings.HasPrefix(l, "+++"), strings.HasPrefix(l, "---"), strings.HasPrefix(l, "diff "), strings.HasPrefix(l, "index "):
		return comment
	case strings.HasPrefix(l, "@@"):
		return Number
	case strings.HasPrefix(l, "+"):
		return String
	case strings.HasPrefix(l, "-"):
		return keyword
	}
	return Plain
}

// markdownLine returns a function that classifies lines of Markdown; it keeps track of fences.
func markdownLine() func(string) class {
	fenced := false
	return func(l string) class {
		t := strings.TrimLeft(l, " ")
		switch {
		case strings.HasPrefix(t, "```"), strings.HasPrefix(t, "~~~"):
			fenced = !fenced
			return String
		case fenced:
			return String
		case strings.HasPrefix(t, "#"):
			return keyword
		case strings.HasPrefix(t, ">"), strings.HasPrefix(t, "<!--"):
			return comment
		}
		return Plain
	}
}

// markup is HTML and what looks like it.
func (s *scanner) markup() {
	for s.at < len(s.text) {
		rest := s.rest()
		switch {
		case strings.HasPrefix(rest, "<!--"):
			s.token(comment, s.until(rest, "-->"))
		case rest[0] == '<' && len(rest) > 1 && (letter(rest[1]) || rest[1] == '/' || rest[1] == '!' || rest[1] == '?'):
			s.token(keyword, 2+s.word(rest[2:], false))
			s.tag()
		case rest[0] == '&':
			if n := 1 + s.word(rest[1:], false); n < len(rest) && rest[n] == ';' {
				s.token(Number, n+1)
			} else {
				s.at++
			}
		default:
			s.at++
		}
	}
}

// tag reads the rest of a tag, after its name.
func (s *scanner) tag() {
	for s.at < len(s.text) {
		switch c := s.text[s.at]; c {
		case '>':
			s.token(keyword, 1)
			return
		case '<': // it was never closed
			return
		case '"', '\'':
			s.token(String, 1+s.until(s.text[s.at+1:], string(rune(c))))
		default:
			s.at++
		}
	}
}
