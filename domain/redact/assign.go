package redact

import (
	"strings"
)

// value is the text in the position of a secret: s[from:to] without its quotes.
type value struct {
	from, to int
	quoted   bool
	fold     bool // it is on a line below its name
	tight    bool // there is only the separator between name and value
	sep      byte // the separator: '=', ':' or ' '
}

// assignment examines a keyword as a command's flag (row 18) and as the name of a value (row 20).
func (m *scanner) assignment(from, to int) {
	s := m.s
	name := nameStart(s, from)
	end := suffix(s, to)
	if j := strings.LastIndex(s[name:from], "--"); j >= 0 && boundary(s, name+j) && m.flag(end) {
		return
	}
	i, sep := separator(s, end)
	if i < 0 {
		return
	}
	within := byte(0)
	switch {
	case encoded(s, i):
		within = '%'
	case name > 0 && (s[name-1] == '?' || s[name-1] == '&'):
		within = '&'
	}
	v, ok := m.valueAt(i, sep, within)
	if !ok || m.unlikely(&v, s[from:to]) {
		return
	}
	m.add(span{v.from, v.to, assignment})
}

// valueAt reads the value after a separator that ends at i (row 20). within is & in a URL query, % in an encoded one.
func (m *scanner) valueAt(i int, sep, within byte) (value, bool) {
	s := m.s
	start, fold := valueStart(s, i)
	if within == '%' {
		start = blanks(s, start)
	}
	v := value{tight: start == i, sep: sep, fold: fold}
	i = start
	if i+1 < len(s) && strings.IndexByte("bBrRuUfFL@", s[i]) >= 0 && isQuote(s[i+1]) { // b"…" and the like
		i++
	}
	if from, to, ok := quotedAt(s, i); ok {
		v.from, v.to, v.quoted = from, to, true
		return v, to-from >= 4 && (!v.fold || endsLine(s, to))
	}
	v.from, v.to = i, m.bareEnd(i, within)
	return v, v.to-v.from >= 8 && (!v.fold || endsLine(s, v.to))
}

// bareEnd returns where the unquoted value at i ends. The result is cached, because all names within one long run ask for it.
func (m *scanner) bareEnd(i int, within byte) int {
	if within != 0 {
		return bareAt(m.s, i, within)
	}
	if i < m.run[0] || i >= m.run[1] {
		m.run = [2]int{i, bareAt(m.s, i, 0)}
	}
	return m.run[1]
}

// unlikely reports whether v, named by a keyword, is not a secret, and cuts off what does not belong to it.
func (m *scanner) unlikely(v *value, keyword string) bool {
	s := m.s
	whole := s[v.from:min(v.to, v.from+maxJudged)]
	if m.skipped(v.from, v.to) || number(s, v.from, v.to) && !strings.ContainsAny(keyword[:1], "pPsS") {
		return true
	}
	if command(s, v.from, v.to) {
		return true // a program whose output is the value
	}
	if hasFold(keyword, 0, "pwd") && (strings.HasPrefix(whole, "/") || len(whole) > 2 && whole[1] == ':') {
		return true // the working directory
	}
	if v.quoted {
		return prose(whole)
	}
	v.to = trimmed(s, v.from, v.to)
	whole = s[v.from:min(v.to, v.from+maxJudged)]
	next := byte('\n')
	if v.to < len(s) {
		next = s[v.to]
	}
	if len(whole) < 8 || hasFold(whole, 0, "0x") || code(whole, next) || v.fold && (!hasDigit(whole) || strings.HasSuffix(whole, ":")) {
		return true
	}
	if hasDigit(whole) {
		return false
	}
	// A word of letters is a secret in NAME=word and in name: word, but not in a sentence or a statement.
	tight := v.tight && v.sep == '='
	return !tight && (letters(whole) && v.sep == '=' || !endsLine(s, v.to))
}

// flag examines the value of a command's flag whose name ends at i: --password value, --password=value, and the two as neighbours in a
// list of quoted words.
func (m *scanner) flag(i int) bool {
	s := m.s
	start := i
	list := false
	if next, ok := element(s, i); ok { // "--password", "value"
		start, list = next, true
	} else if width, _ := quoteAt(s, i); width > 0 {
		return false
	} else if start = max(blanks(s, i), gap(s, i)); start == i {
		switch {
		case i < len(s) && s[i] == '=':
			start++
		case hasFold(s, i, "%3d"):
			start += 3
		default:
			return false
		}
	}
	spaced := start > i && s[i] != '='
	if from, to, ok := quotedAt(s, start); ok {
		if to > from && !command(s, from, to) && !m.skipped(from, to) && !(spaced && prose(s[from:to])) {
			m.add(span{from, to, cliFlag})
			return true
		}
		return false
	}
	end := m.wordEnd(start)
	if placeholderAt(s[start:end]) > 0 {
		return false
	}
	for j := start; j < end; j++ {
		if has(s, j, "%20") || s[i] == '%' && (s[j] == '+' || s[j] == '&') || list && (s[j] == ',' || s[j] == ']') {
			end = j
		}
	}
	end = trimmed(s, start, end)
	v := s[start:min(end, start+maxJudged)]
	if len(v) < 4 || v[0] == '-' || command(s, start, end) || m.skipped(start, end) || code(v, 0) {
		return false
	}
	if spaced && !hasDigit(v) && (list || folded(s[i:start]) || plainLetters(v)) {
		return false // a sentence about the flag
	}
	m.add(span{start, end, cliFlag})
	return true
}

// element returns where the next list element begins if one ends at i: after a quote and a comma, a comma, or on a YAML line with its own dash.
func element(s string, i int) (int, bool) {
	width, quote := quoteAt(s, i)
	next := gap(s, i+width)
	switch {
	case next < len(s) && s[next] == ',':
		next = gap(s, next+1)
	case folded(s[i:next]) && has(s, next, "- "):
		next = gap(s, next+2)
	default:
		return 0, false
	}
	if _, q := quoteAt(s, next); width > 0 && q != quote && s[next-1] != ' ' {
		return 0, false
	}
	return next, next < len(s)
}

// wordEnd returns where the command-line word at i ends: at a space, a quote, or a backslash that escapes one. The result is cached.
func (m *scanner) wordEnd(i int) int {
	if i >= m.word[0] && i < m.word[1] {
		return m.word[1]
	}
	s, end := m.s, i
	for end < len(s) && !isSpace(s[end]) && !isQuote(s[end]) {
		if n := backslashes(s, end); n > 0 && (end+n >= len(s) || strings.IndexByte("\"'nrt\n", s[end+n]) >= 0) {
			break
		}
		end++
	}
	m.word = [2]int{i, end}
	return end
}

// curl masks the password in curl -u user:password (row 19).
func (m *scanner) curl(from, to int) {
	s := m.s
	if !boundary(s, from) || to < len(s) && isWord(s[to]) {
		return
	}
	for i := to; i < min(len(s), to+maxCommand); i++ {
		switch c := s[i]; {
		case c == '|' || c == ';' || c == '\n' && s[i-1] != '\\' && !has(s, gap(s, i), "- "):
			return
		case c == '-' && s[i-1] != '-' && boundary(s, i):
			if start, ok := userFlag(s, i); ok {
				m.userPassword(start)
				return
			}
		}
	}
}

// userFlag returns where the argument of a -u or --user at i begins.
func userFlag(s string, i int) (int, bool) {
	n := hasAny(s, i, "--user")
	if n == 0 {
		n = run(s[:min(len(s), i+6)], i+1, Lower|hexLower|Upper) - i
		if s[i+n-1] != 'u' {
			if !has(s, i, "-u") {
				return 0, false
			}
			n = len("-u")
		}
	}
	i += n
	if n > 2 && i < len(s) && (s[i] == '-' || isWord(s[i])) {
		return 0, false // --user-agent
	}
	if next, ok := element(s, i); ok {
		i = next
	}
	i = max(blanks(s, i), gap(s, i))
	if i < len(s) && s[i] == '=' {
		i++
	}
	width, _ := quoteAt(s, i)
	return i + width, true
}

// userPassword masks the password of user:password at i.
func (m *scanner) userPassword(i int) {
	s := m.s
	colon := i
	for colon < min(len(s), i+maxUser) && s[colon] != ':' && !hasFold(s, colon, "%3a") {
		if isSpace(s[colon]) || isQuote(s[colon]) || s[colon] == '\\' {
			return
		}
		colon++
	}
	if colon == i || colon >= len(s) || colon == i+maxUser {
		return
	}
	from, stop := colon+1, ",]"
	if s[colon] == '%' {
		from, stop = colon+3, "+&"
	} else if s[i-1] == '"' || s[i-1] == '\'' {
		stop = ""
	}
	end := m.wordEnd(from)
	if placeholderAt(s[from:end]) > 0 {
		return
	}
	if n := strings.IndexAny(s[from:min(end, from+maxJudged)], stop); n > 0 && (stop == "+&" || !isWord(s[min(from+n+1, len(s)-1)])) {
		end = from + n
	}
	if end == from || command(s, from, end) || strings.HasPrefix(s[from:end], "//") || detectorHarmless(s[from:min(end, from+maxJudged)]) {
		return
	}
	m.add(span{from, end, cliUser})
}
