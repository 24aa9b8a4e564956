package packpages

import (
	"github.com/countersign-dev/countersign/adapters/console/ui"
	"strings"
	"unicode/utf8"
)

// class is the CSS class of a span.
type class string

// The classes. Plain text has none.
const (
	Plain   class = ""
	keyword class = "hl-k"
	String  class = "hl-s"
	comment class = "hl-c"
	Number  class = "hl-n"
)

// span is a run of text of one class.
type span struct {
	Class class
	Text  string
}

// HighlightSpans is text as spans, none of them empty. The language is an info string of Markdown ("go", "typescript", "yaml"), in any case; of one that is
// not known everything is plain.
func HighlightSpans(language, text string) []span { return scan(language, text).spans }

func scan(language, text string) *scanner {
	name, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(language)), " ")
	s := &scanner{text: text}
	switch name {
	case "diff", "patch":
		s.lines(diffLine)
	case "md", "markdown", "mdx":
		s.lines(markdownLine())
	case "html", "htm", "xml", "svg", "vue":
		s.markup()
	default:
		if l, known := languageOf(name); known {
			s.code(l)
		}
	}
	s.emit(Plain, len(text))
	return s
}

// HighlightNodes is text as escaped spans of a page.
func HighlightNodes(language, text string) ui.Node { return nodes(HighlightSpans(language, text)) }

// HighlightNumbered is text as escaped spans of a page, each line of it behind its number; the first is first.
func HighlightNumbered(language, text string, first int) ui.Node {
	var out ui.Group
	digits := len(itoa(first + strings.Count(text, "\n")))
	for i, line := range byLine(HighlightSpans(language, text)) {
		n := itoa(first + i)
		out = append(out, ui.Span(ui.Class("quiet"), ui.TextNode(strings.Repeat(" ", digits-len(n))+n+"  ")), nodes(line), ui.TextNode("\n"))
	}
	return out
}

func nodes(spans []span) ui.Node {
	out := make(ui.Group, len(spans))
	for i, s := range spans {
		out[i] = ui.TextNode(s.Text)
		if s.Class != Plain {
			out[i] = ui.Span(ui.Class(string(s.Class)), out[i])
		}
	}
	return out
}

// byLine is spans cut at line breaks, which are left out.
func byLine(spans []span) [][]span {
	out := [][]span{nil}
	for _, s := range spans {
		for i, part := range strings.Split(s.Text, "\n") {
			if i > 0 {
				out = append(out, nil)
			}
			if part != "" {
				out[len(out)-1] = append(out[len(out)-1], span{s.Class, part})
			}
		}
	}
	return out
}

func itoa(n int) string {
	if n < 10 {
		return string(rune('0' + max(n, 0)))
	}
	return itoa(n/10) + string(rune('0'+n%10))
}

// scanner walks over text once. What stands before done is in spans; ahead is how many bytes it looked at before it took them, which has to stay
// in proportion to the text.
type scanner struct {
	text            string
	at, done, ahead int
	spans           []span
}

// emit adds the text from done to to as a span.
func (s *scanner) emit(c class, to int) {
	if to <= s.done {
		return
	}
	if n := len(s.spans); n > 0 && s.spans[n-1].Class == c {
		start := s.done - len(s.spans[n-1].Text)
		s.spans[n-1].Text = s.text[start:to]
	} else {
		s.spans = append(s.spans, span{c, s.text[s.done:to]})
	}
	s.done, s.at = to, to
}

// token adds the text before at as plain, and the next n bytes as a span of class c.
func (s *scanner) token(c class, n int) {
	s.emit(Plain, s.at)
	s.emit(c, s.at+n)
}

func (s *scanner) rest() string { return s.text[s.at:] }

// looked counts n bytes as looked at.
func (s *scanner) looked(n int) int {
	s.ahead += n
	return n
}

// until returns how many bytes lie before the end of stop in text, or in all of text when there is none.
func (s *scanner) until(text, stop string) int {
	if i := strings.Index(text, stop); i >= 0 {
		return s.looked(i + len(stop))
	}
	return s.looked(len(text))
}

// line returns how many bytes lie before the end of the line, without it.
func (s *scanner) line() int {
	if i := strings.IndexByte(s.rest(), '\n'); i >= 0 {
		return s.looked(i)
	}
	return s.looked(len(s.rest()))
}

// code is a language of words, strings and comments.
func (s *scanner) code(l language) {
	words := map[string]bool{}
	for _, w := range strings.Fields(l.words) {
		words[w] = true
	}
	for s.at < len(s.text) {
		c := s.text[s.at]
		switch {
		case s.comment(l) || s.quoted(l):
		case c >= '0' && c <= '9':
			s.token(Number, s.word(s.rest(), true))
		case letter(c):
			n := s.word(s.rest(), false)
			w := s.text[s.at : s.at+n]
			if l.fold {
				w = strings.ToLower(w)
			}
			if words[w] {
				s.token(keyword, n)
			} else {
				s.at += n
			}
		case c == '@' && l.at || c == '#' && l.hash:
			s.token(keyword, 1+s.word(s.text[s.at+1:], false))
		default:
			s.at++
		}
	}
}

// comment takes a comment that begins here.
func (s *scanner) comment(l language) bool {
	for _, mark := range l.line {
		// A # within a word begins nothing.
		if strings.HasPrefix(s.rest(), mark) && (mark != "#" || s.at == 0 || strings.IndexByte(" \t\n;({[", s.text[s.at-1]) >= 0) {
			s.token(comment, s.line())
			return true
		}
	}
	for _, b := range l.blocks {
		if rest, ok := strings.CutPrefix(s.rest(), b[0]); ok {
			s.token(comment, len(b[0])+s.until(rest, b[1]))
			return true
		}
	}
	return false
}

// quoted takes a string that begins here.
func (s *scanner) quoted(l language) bool {
	for _, q := range l.quotes {
		rest, ok := strings.CutPrefix(s.rest(), q.open)
		if !ok {
			continue
		}
		n, closed := q.length(rest)
		s.looked(n)
		if q.short && !closed { // a lifetime, an apostrophe
			continue
		}
		s.token(String, len(q.open)+n)
		return true
	}
	return false
}

// letter reports a byte that a word begins with; letters beyond ASCII are several of them.
func letter(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c == '$' || c >= utf8.RuneSelf
}

// word returns how long the word is that text begins with; a number may have a point in it.
func (s *scanner) word(text string, number bool) int {
	n := 0
	for n < len(text) && (letter(text[n]) || text[n] >= '0' && text[n] <= '9' || number && text[n] == '.') {
		n++
	}
	return s.looked(n)
}

// block is such nodes as a block of code that scrolls and can be reached by keyboard; label says what it is.
func block(label string, code ui.Node) ui.Node {
	return ui.Pre(ui.TabIndex("0"), ui.Role("group"), ui.Aria("label", label), ui.Code(code))
}
