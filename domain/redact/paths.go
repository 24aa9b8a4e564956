package redact

import (
	"net/url"
	"strings"
)

// homeForms returns the forms of a home directory in a text, longest first. The root directory has none.
func homeForms(home string) []string {
	home = strings.TrimRight(home, `/\`)
	if len(home) < 2 || strings.HasSuffix(home, ":") {
		return nil
	}
	query := url.QueryEscape(home)
	forms := []string{query, lowerEscapes(query), strings.ReplaceAll(home, "/", `\/`), strings.ReplaceAll(home, `\`, `\\`), home}
	if strings.Contains(home, `\`) {
		forms = append(forms, strings.ReplaceAll(home, `\`, "/"))
	}
	return forms
}

// Paths shows the home directory as ~, for errors, logs and exports; results keep real paths, because callers use them (row 22).
func (r *Redactor) Paths(s string) string {
	for _, form := range r.home {
		if !strings.Contains(s, form) {
			continue
		}
		var b strings.Builder
		done := 0
		for i := 0; ; {
			n := strings.Index(s[i:], form)
			if n < 0 {
				break
			}
			from := i + n
			i = from + len(form)
			if pathStarts(s, from) && pathEnds(s, i) {
				b.WriteString(s[done:from])
				b.WriteByte('~')
				done = i
			}
		}
		b.WriteString(s[done:])
		s = b.String()
	}
	return s
}

// pathStarts reports whether an absolute path can begin at i: not in the middle of a longer one, but after a compiler's -I.
func pathStarts(s string, i int) bool {
	if boundary(s, i) {
		return i == 0 || s[i-1] != '.' && s[i-1] != '-' && s[i-1] != '~'
	}
	return i > 1 && s[i-2] == '-' && (i == 2 || isSpace(s[i-3]) || isQuote(s[i-3]))
}

// pathEnds reports whether a path's component ends at i.
func pathEnds(s string, i int) bool {
	if i >= len(s) {
		return true
	}
	switch c := s[i]; {
	case c == '.' || c == '-':
		return i+1 >= len(s) || !isWord(s[i+1])
	default:
		return !isWord(c) && c < 0x80
	}
}
