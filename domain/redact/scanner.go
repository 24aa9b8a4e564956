package redact

import (
	"strings"
)

// Limits of how far a scanner reads for one value, so that no text makes it slow.
const (
	maxCommand = 1 << 10 // bytes between curl and its -u
	maxCookie  = 4 << 10 // bytes of a cookie header that are examined
)

// scanner collects the spans to redact in one text.
type scanner struct {
	s       string
	found   []span
	covered int    // end of the furthest span found by a field, so that fields within it are not examined again
	run     [2]int // the last unquoted value
	word    [2]int // the last command-line word
	pemEnd  int    // position of the last END line
	runs    runs
}

// Find returns the spans to redact in s, in the order of discovery; they may overlap. Clean text allocates nothing.
func (f *Detector) Find(s string) []span {
	m := scanner{s: s}
	for i, state := advance(f, s, 0, nothing); state != nothing; i, state = advance(f, s, i, state) {
		from := i - 3
		for c := candidates(state); c != 0; c &= c - 1 {
			words := f.bucket(c)
			for n := range words {
				if w := &words[n]; begins(s, from, w) {
					i = max(i, m.look(w, from, from+len(w.text)))
				}
			}
		}
		if i > from+3 {
			state = nothing
		}
	}
	return m.found
}

func (m *scanner) add(sp span) {
	m.found = append(m.found, sp)
	if sp.Rule >= authHeader {
		m.covered = max(m.covered, sp.To)
	}
}

// look examines the keyword at s[from:to] and returns up to where the text needs no further examination.
func (m *scanner) look(w *keyword, from, to int) int {
	var sp span
	ok := false
	switch w.kind {
	case tokenKind:
		sp, ok = tokenAt(&m.runs, m.s, from, to, w)
	case pemKind:
		if from -= len(dashes); has(m.s, from, dashes+w.text) {
			sp, ok = m.pem(from, to)
		}
		if ok {
			m.add(sp)
			return sp.To
		}
	case urlKind:
		sp, ok = credentialsAt(m.s, from, to)
		ok = ok && !command(m.s, sp.From, sp.To) && !detectorHarmless(m.s[sp.From:sp.To])
	case hookKind:
		sp, ok = hookAt(m.s, from, to)
	case botKind:
		sp, ok = botAt(&m.runs, m.s, to)
	case nameKind, unicodeKind:
	default:
		m.field(w, from, to)
	}
	if ok {
		m.add(sp)
	}
	return 0
}

// field examines a keyword whose secret is next to it (rows 15 to 20).
func (m *scanner) field(w *keyword, from, to int) {
	if from < m.covered {
		return
	}
	switch w.kind {
	case authKind:
		m.authorization(from, to)
	case bearerKind:
		m.bearer(from, to)
	case cookieKind:
		m.cookie(from, to)
	case curlKind:
		m.curl(from, to)
	case wholeKind:
		if name := nameStart(m.s, from); name == from && has(m.s, to, "=") {
			m.assignment(from, to)
		}
	default:
		m.assignment(from, to)
	}
}

const credentialSet = Alnum | dot | underscore | tilde | plus | slash | equals | dash

// credentialEnd returns where the credential at i ends. In a URL its + / and = are escaped.
func (m *scanner) credentialEnd(i int) int {
	s := m.s
	for {
		i = runEnd(&m.runs, s, i, credentialSet)
		if hasAny(s, i, "%2b", "%2f", "%3d", "%7e") == 0 {
			return i
		}
		i += 3
	}
}

// encoded reports whether a percent escape ends at i.
func encoded(s string, i int) bool { return i >= 3 && s[i-3] == '%' }

// authorization redacts what follows the scheme of an Authorization header (row 15).
func (m *scanner) authorization(from, to int) {
	s := m.s
	if !boundary(s, from) && s[from-1] != '_' {
		return
	}
	i, _ := separator(s, to)
	if i < 0 {
		return
	}
	start, fold := valueStart(s, i)
	if encoded(s, i) {
		start = blanks(s, start)
	}
	n, _ := quoteAt(s, start)
	start += n
	scheme := false
	if n := hasAny(s, start, "bearer", "basic", "token", "apikey", "api-key", "key", "dpop", "negotiate", "bot", "jwt", "oauth"); n > 0 {
		if j := max(blanks(s, start+n), gap(s, start+n)); j > start+n {
			start, scheme = j, true
		}
	}
	end := m.credentialEnd(start)
	v := s[start:min(end, start+maxJudged)]
	if len(v) < 8 || m.skipped(start, end) || fold && !hasDigit(v) || plainLetters(v) || !scheme && end < len(s) && code(v, s[end]) {
		return
	}
	m.add(span{start, end, authHeader})
}

// bearer redacts a bearer token that contains a digit (row 16).
func (m *scanner) bearer(from, to int) {
	if !boundary(m.s, from) {
		return
	}
	start := max(blanks(m.s, to), gap(m.s, to))
	end := m.credentialEnd(start)
	if start > to && end-start >= 16 && hasDigit(m.s[start:min(end, start+maxJudged)]) {
		m.add(span{start, end, bearer})
	}
}

// cookie redacts a Cookie header up to the end of its line or of its string (row 17). After = only cookie pairs count: programs assign to variables
// named cookie.
func (m *scanner) cookie(from, to int) {
	s := m.s
	if !boundary(s, from) && s[from-1] != '_' {
		return
	}
	i, sep := separator(s, to)
	if i < 0 {
		return
	}
	start, fold := valueStart(s, i)
	stop := byte('"')
	if n, quote := quoteAt(s, start); n > 0 {
		start, stop = start+n, quote
	} else if name := nameStart(s, from); name > 0 && isQuote(s[name-1]) {
		stop = s[name-1]
	}
	inside := func(c byte) bool { return c != '\n' && c != '\r' && c != '"' && c != stop && c != '\\' }
	end := start
	for end < min(len(s), start+maxCookie) && inside(s[end]) {
		end++
	}
	v := strings.TrimRight(s[start:end], " \t")
	end = start + len(v)
	pair := strings.IndexByte(v, '=')
	encoded := strings.Contains(v, "%3D") || strings.Contains(v, "%3d")
	if len(v) < 8 || m.skipped(start, end) || code(v, 0) || pair < 0 && !encoded && !hasDigit(v) || strings.HasPrefix(v, "=") {
		return
	}
	if name := run(v, 0, Alnum|underscore|dash|dot); !encoded && (sep == '=' || fold) && (name == 0 || name != pair || len(v)-name < 9) {
		return
	}
	for len(v) == maxCookie && end < len(s) && inside(s[end]) {
		end++
	}
	m.add(span{start, end, cookie})
}

// detectorHarmless reports a value that is already redacted or on the skip list.
func detectorHarmless(v string) bool { return redacted(v) || Harmless(v) }

// skipped reports whether s[from:to] is on the skip list.
func (m *scanner) skipped(from, to int) bool {
	v := m.s[from:min(to, from+maxJudged)]
	return detectorHarmless(v) || plainWord(strings.TrimRight(v, ".,;:!?)]}"))
}

// nameStart returns where the name begins that contains a keyword at i.
func nameStart(s string, i int) int {
	least := max(0, i-maxName)
	for i > least && (isWord(s[i-1]) || s[i-1] == '-' || s[i-1] == '.') {
		i--
	}
	return i
}

func hasDigit(s string) bool { return strings.ContainsAny(s, "0123456789") }

// plainLetters reports whether s is a word of letters in one case.
func plainLetters(s string) bool {
	return letters(s) && (strings.ToLower(s) == s || strings.ToUpper(s) == s)
}

func letters(s string) bool { return run(s, 0, Upper|Lower|hexLower) == len(s) }
