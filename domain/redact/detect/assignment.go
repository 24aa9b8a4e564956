package detect

import "strings"

// findAssignment finds a value that is assigned to a name of a secret (row 20): in code, settings, environments, headers and queries.
func findAssignment(s string, at, end int) (int, int, bool) {
	end = nameEnd(s, end)
	start, size := separator(s, end)
	if size == 0 {
		return 0, 0, false
	}
	next, crossed := nextLine(s, start)
	if crossed {
		start = next
	}
	v, ok := read(s, start)
	if !ok || v.quoted && v.to-v.from < 4 || !v.quoted && v.to-v.from < 8 {
		return 0, 0, false
	}
	text := s[v.from:v.to]
	if v.quoted {
		if plain(text) || Skipped(text, true) {
			return 0, 0, false
		}
		return v.from, v.to, true
	}
	name := nameStart(s, at)
	if name > 0 && (s[name-1] == '?' || s[name-1] == '&') {
		if i := strings.IndexByte(text, '&'); i >= 0 { // the other parameters of a query may be read
			v.to, v.cut, text = v.from+i, false, text[:i]
		}
	}
	switch {
	case len(text) < 8 || plain(text) || crossed && !alone(s, v, text):
		return 0, 0, false
	case s[start-1] == '=' && start == end+1 && shouted(s[name:end]): // NAME=value is an environment's: there a word of letters is a value and not code
		if strings.Contains(text, marked) || Variable(text) || literal(text) || version(text) || call(text) {
			return 0, 0, false
		}
	case Skipped(text, false) || strings.ContainsAny(text[:1], "=({[)]}|&") || strings.HasPrefix(text, "//") || strings.HasPrefix(text, "/*"):
		return 0, 0, false
	}
	return v.from, v.whole(s), true
}

// findVariable finds an environment variable whose whole name makes its value secret; the keyword is the name and its equals sign.
func findVariable(s string, at, end int) (int, int, bool) {
	if at > 0 && (isWord(s[at-1]) || s[at-1] == '-' || s[at-1] == '.') || !shouted(s[at:end]) {
		return 0, 0, false
	}
	v, ok := read(s, end)
	if text := s[v.from:v.to]; !ok || len(text) < 4 || plain(text) || Skipped(text, true) {
		return 0, 0, false
	}
	return v.from, v.whole(s), true
}

// nameEnd takes in what may follow the word that makes a name secret: token_value, secret-id.
func nameEnd(s string, end int) int {
	if end+1 < len(s) && (s[end] == '_' || s[end] == '-') {
		for _, suffix := range [...]string{"key", "token", "secret", "value", "id"} {
			if to := end + 1 + len(suffix); to <= len(s) && strings.EqualFold(s[end+1:to], suffix) {
				return to
			}
		}
	}
	return end
}

// nameStart is where the name begins that holds the byte at i.
func nameStart(s string, i int) int {
	for limit := max(0, i-128); i > limit && (isWord(s[i-1]) || s[i-1] == '-' || s[i-1] == '.'); i-- {
	}
	return i
}

// shouted reports a name in capitals, as environments have them.
func shouted(name string) bool {
	return !strings.ContainsFunc(name, func(c rune) bool { return c >= 'a' && c <= 'z' })
}

// alone reports whether a value on the line after its name fills that line and is no plain word.
func alone(s string, v value, text string) bool {
	rest := strings.TrimLeft(s[v.to:min(len(s), v.to+2)], ",; \t\r")
	return v.cut || (rest == "" || rest[0] == '\n') && strings.ContainsAny(text, digits) && !strings.ContainsAny(text, "(){}[]:=")
}
