package redact

import (
	"strings"
)

// value is what stands where a secret would: s[from:to] without its quotes.
type value struct {
	from, to int
	quoted   bool
	fold     bool // it stands on a line below its name
	tight    bool // nothing but the separator between name and value
	sep      byte // the separator: '=', ':' or ' '
}

// assignment examines a keyword as a command's flag (row 18) and as the name of a value (row 20).
func (m *scanner) assignment(from, to int) {
	s := m.s
	name := nameStart(s, from)
	end := Suffix(s, to)
	if j := strings.LastIndex(s[name:from], "--"); j >= 0 && Boundary(s, name+j) && m.flag(end) {
		return
	}
	i, sep := Separator(s, end)
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
	m.add(Span{v.from, v.to, assignment})
}

// valueAt reads the value that begins behind a separator ending at i (row 20). within is & for one in a URL's query, % for an encoded one.
func (m *scanner) valueAt(i int, sep, within byte) (value, bool) {
	s := m.s
	start, fold := ValueStart(s, i)
	if within == '%' {
		start = Blanks(s, start)
	}
	v := value{tight: start == i, sep: sep, fold: fold}
	i = start
	if i+1 < len(s) && strings.IndexByte("bBrRuUfFL@", s[i]) >= 0 && IsQuote(s[i+1]) { // b"…" and the like
		i++
	}
	if from, to, ok := QuotedAt(s, i); ok {
		v.from, v.to, v.quoted = from, to, true
		return v, to-from >= 4 && (!v.fold || EndsLine(s, to))
	}
	v.from, v.to = i, m.bareEnd(i, within)
	return v, v.to-v.from >= 8 && (!v.fold || EndsLine(s, v.to))
}

// bareEnd is where the unquoted value that begins at i ends. The answer is kept, because names within one long run all ask for it.
func (m *scanner) bareEnd(i int, within byte) int {
	if within != 0 {
		return BareAt(m.s, i, within)
	}
	if i < m.run[0] || i >= m.run[1] {
		m.run = [2]int{i, BareAt(m.s, i, 0)}
	}
	return m.run[1]
}

// unlikely reports whether v, named by a keyword, is no secret, and cuts what does not belong to it.
func (m *scanner) unlikely(v *value, keyword string) bool {
	s := m.s
	whole := s[v.from:min(v.to, v.from+MaxJudged)]
	if m.dull(v.from, v.to) || number(s, v.from, v.to) && !strings.ContainsAny(keyword[:1], "pPsS") {
		return true
	}
	if Command(s, v.from, v.to) {
		return true // a program whose output is the value
	}
	if HasFold(keyword, 0, "pwd") && (strings.HasPrefix(whole, "/") || len(whole) > 2 && whole[1] == ':') {
		return true // the working directory
	}
	if v.quoted {
		return Prose(whole)
	}
	v.to = Trimmed(s, v.from, v.to)
	whole = s[v.from:min(v.to, v.from+MaxJudged)]
	next := byte('\n')
	if v.to < len(s) {
		next = s[v.to]
	}
	if len(whole) < 8 || HasFold(whole, 0, "0x") || Code(whole, next) || v.fold && (!hasDigit(whole) || strings.HasSuffix(whole, ":")) {
		return true
	}
	if hasDigit(whole) {
		return false
	}
	// A word of letters is a secret in NAME=word and in name: word, not in a sentence or a statement.
	tight := v.tight && v.sep == '='
	return !tight && (letters(whole) && v.sep == '=' || !EndsLine(s, v.to))
}

// flag examines the value of a command's flag whose name ends at i: --password value, --password=value, and the two as neighbours in a
// list of quoted words.
func (m *scanner) flag(i int) bool {
	s := m.s
	start := i
	list := false
	if next, ok := element(s, i); ok { // "--password", "value"
		start, list = next, true
	} else if width, _ := QuoteAt(s, i); width > 0 {
		return false
	} else if start = max(Blanks(s, i), Gap(s, i)); start == i {
		switch {
		case i < len(s) && s[i] == '=':
			start++
		case HasFold(s, i, "%3d"):
			start += 3
		default:
			return false
		}
	}
	spaced := start > i && s[i] != '='
	if from, to, ok := QuotedAt(s, start); ok {
		if to > from && !Command(s, from, to) && !m.dull(from, to) && !(spaced && Prose(s[from:to])) {
			m.add(Span{from, to, CLIFlag})
			return true
		}
		return false
	}
	end := m.wordEnd(start)
	if placeholderAt(s[start:end]) > 0 {
		return false
	}
	for j := start; j < end; j++ {
		if Has(s, j, "%20") || s[i] == '%' && (s[j] == '+' || s[j] == '&') || list && (s[j] == ',' || s[j] == ']') {
			end = j
		}
	}
	end = Trimmed(s, start, end)
	v := s[start:min(end, start+MaxJudged)]
	if len(v) < 4 || v[0] == '-' || Command(s, start, end) || m.dull(start, end) || Code(v, 0) {
		return false
	}
	if spaced && !hasDigit(v) && (list || Folded(s[i:start]) || plainLetters(v)) {
		return false // a sentence about the flag
	}
	m.add(Span{start, end, CLIFlag})
	return true
}

// element is where the next element of a list begins whose element ends at i: after a quote and a comma, a comma, or on a YAML line with
// a dash of its own.
func element(s string, i int) (int, bool) {
	width, quote := QuoteAt(s, i)
	next := Gap(s, i+width)
	switch {
	case next < len(s) && s[next] == ',':
		next = Gap(s, next+1)
	case Folded(s[i:next]) && Has(s, next, "- "):
		next = Gap(s, next+2)
	default:
		return 0, false
	}
	if _, q := QuoteAt(s, next); width > 0 && q != quote && s[next-1] != ' ' {
		return 0, false
	}
	return next, next < len(s)
}

// wordEnd is where the word of a command line that begins at i ends: at a blank, a quote, or a backslash that escapes one. The answer
// is kept.
func (m *scanner) wordEnd(i int) int {
	if i >= m.word[0] && i < m.word[1] {
		return m.word[1]
	}
	s, end := m.s, i
	for end < len(s) && !IsSpace(s[end]) && !IsQuote(s[end]) {
		if n := Backslashes(s, end); n > 0 && (end+n >= len(s) || strings.IndexByte("\"'nrt\n", s[end+n]) >= 0) {
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
	if !Boundary(s, from) || to < len(s) && IsWord(s[to]) {
		return
	}
	for i := to; i < min(len(s), to+maxCommand); i++ {
		switch c := s[i]; {
		case c == '|' || c == ';' || c == '\n' && s[i-1] != '\\' && !Has(s, Gap(s, i), "- "):
			return
		case c == '-' && s[i-1] != '-' && Boundary(s, i):
			if start, ok := userFlag(s, i); ok {
				m.userPassword(start)
				return
			}
		}
	}
}

// userFlag is where the argument of a -u or --user at i begins.
func userFlag(s string, i int) (int, bool) {
	n := HasAny(s, i, "--user")
	if n == 0 {
		n = Run(s[:min(len(s), i+6)], i+1, Lower|HexLower|Upper) - i
		if s[i+n-1] != 'u' {
			if !Has(s, i, "-u") {
				return 0, false
			}
			n = len("-u")
		}
	}
	i += n
	if n > 2 && i < len(s) && (s[i] == '-' || IsWord(s[i])) {
		return 0, false // --user-agent
	}
	if next, ok := element(s, i); ok {
		i = next
	}
	i = max(Blanks(s, i), Gap(s, i))
	if i < len(s) && s[i] == '=' {
		i++
	}
	width, _ := QuoteAt(s, i)
	return i + width, true
}

// userPassword masks the password of user:password at i.
func (m *scanner) userPassword(i int) {
	s := m.s
	colon := i
	for colon < min(len(s), i+maxUser) && s[colon] != ':' && !HasFold(s, colon, "%3a") {
		if IsSpace(s[colon]) || IsQuote(s[colon]) || s[colon] == '\\' {
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
	if n := strings.IndexAny(s[from:min(end, from+MaxJudged)], stop); n > 0 && (stop == "+&" || !IsWord(s[min(from+n+1, len(s)-1)])) {
		end = from + n
	}
	if end == from || Command(s, from, end) || strings.HasPrefix(s[from:end], "//") || detectorHarmless(s[from:min(end, from+MaxJudged)]) {
		return
	}
	m.add(Span{from, end, CLIUser})
}
