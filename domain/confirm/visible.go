package confirm

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Visible is text as a person is shown it before deciding: characters that cannot be seen, or that change the order in which others are
// read, stand there by their number, as ␣U+202E (packageflow-security contract §4.2). Line ends and tabs stay.
func Visible(s string) string {
	at := strings.IndexFunc(s, hidden)
	if at < 0 {
		return s
	}
	var b strings.Builder
	b.WriteString(s[:at])
	for _, r := range s[at:] {
		if hidden(r) {
			fmt.Fprintf(&b, "␣U+%04X", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// hidden reports a character that a reader does not see for what it is. Bytes that are no UTF-8 are seen as such.
func hidden(r rune) bool {
	switch {
	case r == '\n' || r == '\t' || r == '\r':
		return false
	case unicode.IsControl(r), unicode.Is(unicode.Cf, r), unicode.Is(unicode.Zl, r), unicode.Is(unicode.Zp, r):
		return true
	case r >= 0xE0000 && r <= 0xE0FFF: // tags, and what may become some
		return true
	}
	switch r { // letters and marks without a shape
	case '\u034f', '\u115f', '\u1160', '\u17b4', '\u17b5', '\u2065', '\u2800', '\u3164', '\uffa0':
		return true
	}
	return r >= '\u180b' && r <= '\u180f'
}

// VisibleJSON is a document whose strings, names included, are Visible however they are written. What is no JSON is treated as text.
func VisibleJSON(doc json.RawMessage) json.RawMessage {
	s := string(doc)
	if !strings.Contains(s, `\`) {
		if shown := Visible(s); shown != s {
			return json.RawMessage(shown)
		}
		return doc
	}
	var b strings.Builder
	for len(s) > 0 {
		at := strings.IndexByte(s, '\\')
		if at < 0 {
			break
		}
		b.WriteString(Visible(s[:at]))
		r, n := escaped(s[at:])
		if hidden(r) {
			fmt.Fprintf(&b, "␣U+%04X", r)
		} else {
			b.WriteString(s[at : at+n])
		}
		s = s[at+n:]
	}
	b.WriteString(Visible(s))
	return json.RawMessage(b.String())
}

// escaped is the character that the escape at the beginning of s stands for, a blank for those that are seen, and how long it is.
func escaped(s string) (r rune, length int) {
	first, ok := unit(s)
	switch _, n := utf8.DecodeRuneInString(s[1:]); {
	case strings.HasPrefix(s, `\b`):
		return '\b', 2
	case strings.HasPrefix(s, `\f`):
		return '\f', 2
	case !ok:
		return ' ', 1 + n
	}
	if second, ok := unit(s[6:]); ok && first >= 0xD800 && first < 0xDC00 && second >= 0xDC00 && second < 0xE000 {
		return (first-0xD800)<<10 | (second - 0xDC00) + 0x10000, 12
	}
	return first, 6
}

// unit is the number in a \uXXXX at the beginning of s.
func unit(s string) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(s[2:6], 16, 16)
	return rune(n), err == nil
}
