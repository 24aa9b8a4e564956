package deployment

import (
	"strings"
)

// line is one line of a text.
type line struct {
	text   string // with its line ending
	number int    // from 1
	offset int    // of its first byte in the text
}

// prose returns the lines of text outside fenced code, and the number of the first line that opens a fence that is never closed, or 0. Such a line
// opens nothing here: otherwise everything after it would be code, and one forgotten line would hide every mark.
func prose(text string) (free []line, unclosed int) {
	var all []line
	var closers []closer
	offset := 0
	for l := range strings.Lines(text) {
		if f, ok := closes(l); ok {
			closers = append(closers, closer{fence: f, line: len(all)})
		}
		all = append(all, line{text: l, number: len(all) + 1, offset: offset})
		offset += len(l)
	}
	endless := map[byte]int{} // by character: the shortest fence that is known not to be closed below, to avoid searching again
	for i := 0; i < len(all); i++ {
		if f, ok := opens(all[i].text); ok {
			for len(closers) > 0 && closers[0].line <= i {
				closers = closers[1:]
			}
			shortest, known := endless[f.char]
			if !known || f.length < shortest {
				if end := f.end(closers); end > 0 {
					i = end
					continue
				}
				endless[f.char] = f.length
			}
			if unclosed == 0 {
				unclosed = all[i].number
			}
		}
		free = append(free, all[i])
	}
	return free, unclosed
}

// fence is what opens fenced code: a run of at least three backticks or tildes (CommonMark §4.5).
type fence struct {
	char   byte
	length int
}

// container returns the length of what may precede a fence: any indentation, since that depends on the surrounding lists, quotes and list items: ([
// \t>]|[-*+][ \t]|[0-9]{1,9}[.)][ \t])*. (A regular expression would be compiled at every start.)
func container(text string) int {
	is := func(at int, set string) bool { return at < len(text) && strings.IndexByte(set, text[at]) >= 0 }
	for at := 0; ; {
		behind := at
		for behind < at+9 && is(behind, "0123456789") {
			behind++
		}
		switch {
		case is(at, " \t>"):
			at++
		case is(at, "-*+") && is(at+1, " \t"):
			at += 2
		case behind > at && is(behind, ".)") && is(behind+1, " \t"):
			at = behind + 2
		default:
			return at
		}
	}
}

func opens(text string) (f fence, ok bool) {
	if !strings.Contains(text, "```") && !strings.Contains(text, "~~~") {
		return fence{}, false
	}
	f, rest := run(text[container(text):])
	return f, f.length >= 3 && (f.char == '~' || !strings.Contains(rest, "`"))
}

// closer is a line that closes a fence of its character that is not longer.
type closer struct {
	fence
	line int // its index
}

func closes(text string) (f fence, ok bool) {
	f, rest := run(strings.TrimLeft(text, " \t>"))
	return f, f.length >= 3 && strings.TrimSpace(rest) == ""
}

// end returns the index of the line that closes f, the first suitable one below it, or 0.
func (f fence) end(below []closer) int {
	for _, c := range below {
		if c.char == f.char && c.length >= f.length {
			return c.line
		}
	}
	return 0
}

// run returns the fence characters that text begins with, and the rest.
func run(text string) (f fence, rest string) {
	if text == "" || text[0] != '`' && text[0] != '~' {
		return fence{}, text
	}
	rest = strings.TrimLeft(text, text[:1])
	return fence{char: text[0], length: len(text) - len(rest)}, rest
}
