package redact

import (
	"bytes"
	"slices"
	"strings"
)

// Suspicious reports whether a JSON document must be searched for secrets. It may have false positives, never false negatives.
func (f *Detector) Suspicious(doc []byte) bool {
	var memory runs
	for i, state := advance(f, doc, 0, nothing); state != nothing; i, state = advance(f, doc, i, state) {
		for c := candidates(state); c != 0; c &= c - 1 {
			words := f.bucket(c)
			for n := range words {
				if w := &words[n]; begins(doc, i-3, w) && hint(&memory, doc, i-3, i-3+len(w.text), w) {
					return true
				}
			}
		}
	}
	return false
}

// hint reports whether the keyword doc[from:to] may belong to a secret. Tokens contain nothing that JSON escapes, so they are matched in place; for
// fields it is enough that a separator follows.
func hint(memory *runs, doc []byte, from, to int, w *keyword) bool {
	ok := true
	switch w.kind {
	case tokenKind:
		_, ok = tokenAt(memory, doc, from, to, w)
	case botKind:
		_, ok = botAt(memory, doc, to)
	case hookKind:
		_, ok = hookAt(doc, from, to)
	case urlKind:
		_, ok = credentialsAt(doc, from, to)
	case nameKind:
		ok = nameHint(doc, from, to)
	case unicodeKind:
		ok = escapeHint(doc, to)
	case bearerKind:
		ok = to < len(doc) && (isSpace(doc[to]) || bytes.IndexByte([]byte(`\+%`), doc[to]) >= 0)
	case authKind, cookieKind, assignKind:
		ok = separatorHint(doc, to) || from > 0 && doc[from-1] == '-'
	}
	return ok
}

// separatorHint reports whether = or : follows at i, or the end of a list element, possibly after a suffix, quotes and spaces.
func separatorHint(doc []byte, i int) bool {
	i = suffix(doc, i)
	for _, c := range doc[i:min(len(doc), i+32)] {
		switch {
		case c == '=' || c == ':' || c == ',' || c == '%':
			return true
		case c == '\\' || c == '"' || c == '\'' || c == '`' || c == ']' || c == '+' || isSpace(c):
		default:
			return false
		}
	}
	return false
}

// nameHint reports whether the quote or backslash before i ends a secret name whose last word starts at word.
func nameHint(doc []byte, word, i int) bool {
	if c := doc[word]; word == 0 || doc[word-1] == '"' && (c == 'k' || c == 'u' || c == 's') {
		return false // key, url and string alone are not secret
	}
	end := i - 1
	for i < len(doc) && (doc[i] == '\\' || doc[i] == '"' || isSpace(doc[i])) {
		i++
	}
	if i >= len(doc) || doc[i] != ':' && doc[i] != ',' {
		return false
	}
	from := end
	for from > 0 && end-from <= maxName && doc[from-1] != '"' {
		from--
	}
	return end-from > maxName || IsSecretKey(string(doc[from:end]))
}

// escapeHint reports whether the character written \u00xx, whose digits begin at i, can be part of a keyword or a separator. The escapes that
// encoders generate by themselves (< > & and controls) cannot.
func escapeHint(doc []byte, i int) bool {
	if i+2 > len(doc) {
		return true
	}
	hex := string(doc[i : i+2])
	return hex[0] >= '2' && hex[0] <= '7' && !strings.Contains("3c 3C 3e 3E 26", hex)
}

// Wanted reports whether s contains a keyword; without one, nothing in s is found.
func (f *Detector) Wanted(s string) bool {
	for i, state := advance(f, s, 0, nothing); state != nothing; i, state = advance(f, s, i, state) {
		for c := candidates(state); c != 0; c &= c - 1 {
			if slices.ContainsFunc(f.bucket(c), func(w keyword) bool { return begins(s, i-3, &w) }) {
				return true
			}
		}
	}
	return false
}
