package overlay

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// stampForm matches the time that diff tools write after a path, if its tab was lost.
const stampForm = ` +[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?( [+-][0-9]{2}:?[0-9]{2})?$`

// stamp returns the position of that time, nil if there is none. Few paths have a colon, so the expression is compiled when it is needed.
func stamp(path string) []int {
	if !strings.Contains(path, ":") {
		return nil
	}
	return regexp.MustCompile(stampForm).FindStringIndex(path)
}

// blanks end an unquoted path. A plain blank does not: git writes paths with blanks unquoted.
const blanks = "\t\r\n\v\f"

// pathIn returns the path in the rest of a header line, as git reads it: quoted, or up to a tab, a time or the end of the line.
func pathIn(rest string) (path, problem string) {
	if strings.HasPrefix(rest, `"`) {
		path, behind, ok := unquote(rest[1:])
		if !ok || behind != "" && !strings.ContainsAny(behind[:1], blanks+" ") {
			return "", "the quoted path is not closed, or has an unknown escape"
		}
		rest = path
	} else {
		if i := strings.IndexAny(rest, blanks); i >= 0 {
			rest = rest[:i]
		}
		if at := stamp(rest); at != nil {
			rest = rest[:at[0]]
		}
	}
	if rest == "" {
		return "", "the header line has no path"
	}
	return rest, ""
}

// escapes are the letters of C escapes and, at the same index, the bytes they stand for.
const (
	escapes = `abtnvfr"\`
	escaped = "\a\b\t\n\v\f\r\"\\"
)

// unquote reads git's C-style quoting up to the closing quote and returns the rest after it.
func unquote(s string) (path, behind string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return b.String(), s[i+1:], true
		case c != '\\':
			b.WriteByte(c)
		case i+1 == len(s):
			return "", "", false
		case strings.IndexByte(escapes, s[i+1]) >= 0:
			b.WriteByte(escaped[strings.IndexByte(escapes, s[i+1])])
			i++
		default:
			code, fits := octal(s[i+1:])
			if !fits {
				return "", "", false
			}
			b.WriteByte(code)
			i += 3
		}
	}
	return "", "", false
}

// octal reads one byte as three octal digits.
func octal(s string) (code byte, ok bool) {
	if len(s) < 3 || s[0] > '3' {
		return 0, false
	}
	for _, c := range []byte(s[:3]) {
		if c < '0' || c > '7' {
			return 0, false
		}
		code = code<<3 | (c - '0')
	}
	return code, true
}

// quote returns path in a form that pathIn reads back: unchanged if possible, else in git's C style.
func quote(path string) string {
	plain := utf8.ValidString(path) && path != "" && !strings.ContainsFunc(path, func(r rune) bool { return r < ' ' || r == 0x7f || r == '"' || r == '\\' })
	if plain && stamp(path) == nil {
		return path
	}
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(path) {
		switch c := path[i]; {
		case strings.IndexByte(escaped, c) >= 0:
			b.WriteByte('\\')
			b.WriteByte(escapes[strings.IndexByte(escaped, c)])
		case c < ' ' || c >= 0x7f:
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
