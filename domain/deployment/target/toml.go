package target

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// basic returns text as a TOML basic string of one line.
func basic(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		if r == '"' {
			b.WriteString(`\"`)
			continue
		}
		escape(&b, r, "")
	}
	b.WriteByte('"')
	return b.String()
}

// multiline returns text as a TOML string of several lines: literal if possible, so that people read what they wrote.
func multiline(text string) string {
	if literal(text) {
		return "'''\n" + text + "'''"
	}
	var b strings.Builder
	b.WriteString("\"\"\"\n")
	quoted := false // the last thing written is a bare quote, and a second one could begin the end of the string
	for i, r := range text {
		if r == '"' {
			if quoted = !quoted && i+1 < len(text); !quoted {
				b.WriteByte('\\')
			}
			b.WriteByte('"')
			continue
		}
		quoted = false
		escape(&b, r, "\n\t")
	}
	b.WriteString(`"""`)
	return b.String()
}

// literal reports whether text can stand unchanged in a literal string of several lines. A carriage return cannot: readers may remove it.
func literal(text string) bool {
	return !strings.Contains(text, "'''") && !strings.HasSuffix(text, "'") &&
		!strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\t' && r != '\n' || r == 0x7f })
}

// escape writes one character other than a quote; the characters of raw are written as they are.
func escape(b *strings.Builder, r rune, raw string) {
	switch {
	case strings.ContainsRune(raw, r):
		b.WriteRune(r)
	case r == '\\':
		b.WriteString(`\\`)
	case r == '\n':
		b.WriteString(`\n`)
	case r == '\t':
		b.WriteString(`\t`)
	case r == '\r':
		b.WriteString(`\r`)
	case r < ' ' || r == 0x7f:
		fmt.Fprintf(b, `\u%04X`, r)
	default:
		b.WriteRune(r)
	}
}

// reader reads the part of TOML that commands use: bare keys with strings, comments and blank lines.
type reader struct {
	text string
	line int
}

// parse returns the keys of a TOML document and their strings. It fails with ErrText on everything else, naming the line.
func parse(text string) (map[string]string, error) {
	r := &reader{text: text, line: 1}
	values := map[string]string{}
	for {
		r.blank(" \t\r\n")
		if strings.HasPrefix(r.text, "#") {
			r.comment()
			continue
		}
		if r.text == "" {
			return values, nil
		}
		key := r.take(strings.IndexFunc(r.text, func(c rune) bool { return !bare(c) }))
		r.blank(" \t")
		if key == "" || !strings.HasPrefix(r.text, "=") {
			return nil, r.fail("is not a key with a string value or a comment")
		}
		r.take(1)
		r.blank(" \t")
		value, err := r.value()
		if err != nil {
			return nil, err
		}
		if _, twice := values[key]; twice {
			return nil, r.fail("repeats the key " + key)
		}
		values[key] = value
		r.blank(" \t\r")
		r.comment()
		if r.text != "" && r.text[0] != '\n' {
			return nil, r.fail("has text after its value")
		}
	}
}

func bare(c rune) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

func (r *reader) fail(what string) error {
	return ErrText.WithMessage("line %d of the command %s", r.line, what)
}

// take returns the next n bytes, or all of them when n is negative.
func (r *reader) take(n int) string {
	if n < 0 {
		n = len(r.text)
	}
	out := r.text[:n]
	r.text, r.line = r.text[n:], r.line+strings.Count(out, "\n")
	return out
}

func (r *reader) blank(chars string) { r.take(len(r.text) - len(strings.TrimLeft(r.text, chars))) }

func (r *reader) comment() {
	if strings.HasPrefix(r.text, "#") {
		r.take(strings.IndexByte(r.text, '\n'))
	}
}

// value returns the string that comes next, in any of the four styles.
func (r *reader) value() (string, error) {
	for _, mark := range []string{`"""`, "'''", `"`, "'"} {
		if !strings.HasPrefix(r.text, mark) {
			continue
		}
		r.take(len(mark))
		if len(mark) == 3 {
			if rest := strings.TrimPrefix(r.text, "\r"); strings.HasPrefix(rest, "\n") {
				r.take(len(r.text) - len(rest) + 1)
			}
		}
		end := closing(r.text, mark)
		if end < 0 || len(mark) == 1 && strings.Contains(r.text[:end], "\n") {
			return "", r.fail("begins a string that does not end")
		}
		text := r.text[:end]
		if mark[0] == '"' {
			plain, err := r.unescape(text, len(mark) == 3)
			if err != nil {
				return "", err
			}
			r.take(end + len(mark))
			return plain, nil
		}
		r.take(end + len(mark))
		return text, nil
	}
	return "", r.fail("has a key whose value is not a string")
}

// closing returns where the text that mark closes ends; up to two quotes before a mark of three belong to the text.
func closing(text, mark string) int {
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\' && mark[0] == '"':
			i++
		case strings.HasPrefix(text[i:], mark):
			for n := 0; n < 2 && len(mark) == 3 && strings.HasPrefix(text[i+1:], mark); n++ {
				i++
			}
			return i
		}
	}
	return -1
}

// unescape reads the escapes of a basic string.
func (r *reader) unescape(text string, lines bool) (string, error) {
	var b strings.Builder
	for {
		plain, rest, found := strings.Cut(text, `\`)
		b.WriteString(plain)
		if !found {
			return b.String(), nil
		}
		if trimmed := strings.TrimLeft(rest, " \t\r"); lines && strings.HasPrefix(trimmed, "\n") {
			text = strings.TrimLeft(trimmed, " \t\r\n")
			continue
		}
		c, size := character(rest)
		if size == 0 {
			return "", r.fail("has an escape that TOML does not support")
		}
		b.WriteRune(c)
		text = rest[size:]
	}
}

// character returns the character of an escape, and its length without the backslash; 0 if there is no such escape.
func character(text string) (rune, int) {
	if text == "" {
		return 0, 0
	}
	if i := strings.IndexByte(`btnfr"\`, text[0]); i >= 0 {
		return rune("\b\t\n\f\r\"\\"[i]), 1
	}
	digits := map[byte]int{'u': 4, 'U': 8}[text[0]]
	if digits == 0 || len(text) <= digits {
		return 0, 0
	}
	code, err := strconv.ParseUint(text[1:1+digits], 16, 32)
	if err != nil || code > utf8.MaxRune || !utf8.ValidRune(rune(code)) {
		return 0, 0
	}
	return rune(code), digits + 1
}
