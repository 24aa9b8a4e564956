package redact

// text is the type of scannable input: the engine is written once for both.
type text interface{ string | []byte }

// set is a set of ASCII bytes, composed of the classes below.
type set uint16

// The classes.
const (
	digit set = 1 << iota
	hexLower
	Lower // the rest of the lower-case letters
	Upper
	underscore
	dash
	dot
	slash
	plus
	equals
	tilde

	Alnum = digit | hexLower | Lower | Upper
)

// has reports whether c is in the set.
func (set set) has(c byte) bool {
	switch {
	case c >= '0' && c <= '9':
		return set&digit != 0
	case c >= 'a' && c <= 'f':
		return set&hexLower != 0
	case c > 'f' && c <= 'z':
		return set&Lower != 0
	case c >= 'A' && c <= 'Z':
		return set&Upper != 0
	}
	switch c {
	case '_':
		return set&underscore != 0
	case '-':
		return set&dash != 0
	case '.':
		return set&dot != 0
	case '/':
		return set&slash != 0
	case '+':
		return set&plus != 0
	case '=':
		return set&equals != 0
	case '~':
		return set&tilde != 0
	}
	return false
}

// run returns where the run of bytes in set that starts at i ends.
func run[T text](s T, i int, set set) int {
	for i < len(s) && set.has(s[i]) {
		i++
	}
	return i
}

// isDigit reports 0 to 9.
func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// isUpper reports A to Z.
func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }

// isLower reports a to z.
func isLower(c byte) bool { return c >= 'a' && c <= 'z' }

// isLetter reports an ASCII letter.
func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// isWord reports whether \b of a regular expression counts c as part of a word.
func isWord(c byte) bool { return c == '_' || isDigit(c) || isLetter(c) }

// isHex reports a hexadecimal digit.
func isHex(c byte) bool { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }

// isQuote reports a quotation mark: double, single or backquote.
func isQuote(c byte) bool { return c == '"' || c == '\'' || c == '`' }

// isBlank reports a blank or a tab.
func isBlank(c byte) bool { return c == ' ' || c == '\t' }

// isSpace reports ASCII white space, line ends included.
func isSpace(c byte) bool { return isBlank(c) || c == '\n' || c == '\r' || c == '\v' || c == '\f' }

// runs caches where runs end, so that a text with many candidate starts is not read to its end from each of them.
type runs struct {
	set      [12]set
	from, to [12]int
	n        int
}

// runEnd returns run with a cache.
func runEnd[T text](c *runs, s T, i int, set set) int {
	j := 0
	for j < c.n && c.set[j] != set {
		j++
	}
	if j < c.n && c.from[j] <= i && i <= c.to[j] {
		return c.to[j]
	}
	end := run(s, i, set)
	if c.n = max(c.n, min(j+1, len(c.set))); j < c.n {
		c.set[j], c.from[j], c.to[j] = set, i, end
	}
	return end
}

// has reports whether s has exactly word at i.
func has[T text](s T, i int, word string) bool {
	if i < 0 || len(s)-i < len(word) {
		return false
	}
	for j := range len(word) {
		if s[i+j] != word[j] {
			return false
		}
	}
	return true
}

// hasFold reports whether s has word, given in lower case, at i in any case.
func hasFold[T text](s T, i int, word string) bool {
	if i < 0 || len(s)-i < len(word) {
		return false
	}
	for j := range len(word) {
		c := s[i+j]
		if isUpper(c) {
			c |= 0x20
		}
		if c != word[j] {
			return false
		}
	}
	return true
}

// hasAny returns the length of the first of words that s has at i in any case, or 0.
func hasAny[T text](s T, i int, words ...string) int {
	for _, w := range words {
		if hasFold(s, i, w) {
			return len(w)
		}
	}
	return 0
}

// boundary reports whether a word may begin at i: after any non-word byte, or after the last byte of an escape that stands for one (a written-out \n,
// %3D, \u0022, a terminal colour).
func boundary[T text](s T, i int) bool {
	if i == 0 || !isWord(s[i-1]) {
		return true
	}
	switch c := s[i-1]; {
	case i >= 2 && s[i-2] == '\\' && (c == 'n' || c == 'r' || c == 't' || c == 'b' || c == 'f'):
		return true
	case i >= 3 && s[i-3] == '%' && isHex(s[i-2]) && isHex(c):
		return true
	case i >= 6 && s[i-6] == '\\' && s[i-5] == 'u':
		return true
	case c == 'm':
		j := i - 2
		for j > 0 && (isDigit(s[j]) || s[j] == ';') {
			j--
		}
		return j > 0 && s[j] == '[' && s[j-1] == 0x1b
	}
	return false
}

// web reports whether http or https ends at i, in any case: with these schemes, text without a colon before the @ may be a token.
func web[T text](s T, i int) bool {
	return i >= 4 && hasFold(s, i-4, "http") || i >= 5 && hasFold(s, i-5, "https")
}
