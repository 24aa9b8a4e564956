package inspection

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/countersign-dev/countersign/domain/visible"
)

// asRead returns a text as an agent reads it, for searching words: in lower case, with look-alike letters replaced, without invisible characters.
func asRead(text string) string {
	if ascii(text) {
		return strings.ToLower(text)
	}
	return strings.ToLower(visible.Latin(norm.NFKD.String(text))) // decomposed, so that diacritics can be removed
}

func ascii(text string) bool {
	for i := range len(text) {
		if text[i] >= 0x80 {
			return false
		}
	}
	return true
}

// unquote removes quotation marks and emphasis from a text, which neither a shell nor a reader takes for part of a word.
func unquote(text string) string {
	if !strings.ContainsAny(text, marks) {
		return text
	}
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(marks, r) {
			return -1
		}
		return r
	}, text)
}

// fold appends a text in the form in which words are searched: as an agent reads it, without the marks that unquote removes, and with words joined
// that continue in the next line. Whatever is found in a line or a passage has its words there. It also reports whether a URL may be in the text.
func fold(out []byte, text string) (folded []byte, urls bool) {
	if !ascii(text) {
		text = asRead(text)
	}
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case 'A' <= c && c <= 'Z':
			c += 'a' - 'A'
		case 'a' <= c || c == ' ': // most of a text
		case c == '-' && strings.HasPrefix(text[i+1:], "\n"):
			i++
			continue
		case c == '-' && strings.HasPrefix(text[i+1:], "\r\n"):
			i += 2
			continue
		case strings.IndexByte(marks, c) >= 0:
			continue
		}
		out = append(out, c)
	}
	return out, strings.Contains(text, "://")
}

// marks are what unquote removes.
const marks = "\"'`*\\"

// emphasis is underscores around words.
var emphasis = regexp.MustCompile(`(^|[^\w])_+|_+([^\w]|$)`)

// bare returns a line without marks in and around its words.
func bare(line string) string {
	line = unquote(line)
	if strings.Contains(line, "_") {
		line = emphasis.ReplaceAllString(line, "$1$2")
	}
	return line
}

// passage is several lines of a file that are read as one.
type passage struct {
	first int      // counted from 1
	lines []string // as in the file
	prose bool     // a paragraph; otherwise a command that continues in the next line
}

// passages returns the paragraphs and the commands of a text that take several lines. In a program, and in fenced code, each line is a command by
// itself unless it says that it continues.
func passages(name, text string) (out []passage) {
	code := slices.Contains(programs, strings.ToLower(path.Ext(name)))
	fence := ""
	var open passage
	flush := func() {
		if len(open.lines) > 1 {
			out = append(out, open)
		}
		open = passage{}
	}
	number := 0
	for line := range strings.Lines(text) {
		number++
		trimmed := strings.TrimSpace(line)
		if mark := strings.TrimLeft(trimmed, "`~"); len(trimmed)-len(mark) >= 3 && (fence == "" || strings.HasPrefix(trimmed, fence)) {
			if flush(); fence == "" {
				fence = trimmed[:3]
			} else {
				fence = ""
			}
			continue
		}
		before := ""
		if n := len(open.lines); n > 0 {
			before = strings.TrimSpace(open.lines[n-1])
		}
		var goesOn bool
		if code || fence != "" {
			goesOn = before != "" && (strings.HasSuffix(before, `\`) || strings.HasSuffix(before, "|") || strings.HasSuffix(before, "&&") || strings.HasPrefix(trimmed, "|") || strings.HasPrefix(trimmed, "&&"))
		} else {
			goesOn = before != "" && trimmed != "" && !begins(trimmed) && !strings.HasPrefix(before, "#")
		}
		if !goesOn {
			flush()
		}
		if trimmed == "" {
			continue
		}
		if len(open.lines) == 0 {
			open.first, open.prose = number, !code && fence == ""
		}
		open.lines = append(open.lines, line)
	}
	flush()
	return out
}

// item matches the beginning of a list item, of a heading, or of a table row.
var item = regexp.MustCompile(`^([-*+]\s|\d+[.)]\s|#{1,6}\s|\|.*\|$)`)

// begins reports whether a line of Markdown starts something new: a list item, a heading, a table row.
func begins(trimmed string) bool { return item.MatchString(trimmed) }

// joined returns a passage in one line as an agent reads it, and where each line begins in it.
func (p passage) joined() (text string, starts []int) {
	var b strings.Builder
	for i, line := range p.lines {
		line = strings.TrimSpace(line)
		if i > 0 {
			line = strings.TrimSpace(strings.TrimLeft(line, ">/#")) // quoted lines, and comments
		}
		line = strings.TrimSuffix(bare(asRead(line)), " ")
		starts = append(starts, b.Len())
		hyphen := p.prose && strings.HasSuffix(line, "-") && i < len(p.lines)-1
		b.WriteString(strings.TrimSuffix(line, "-"))
		switch {
		case hyphen: // the word continues
		case strings.HasSuffix(line, "-"):
			b.WriteString("- ")
		default:
			b.WriteByte(' ')
		}
	}
	return b.String(), starts
}
