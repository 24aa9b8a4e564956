package redact

// Text is what can be scanned: the engine is written once for both.
type Text interface{ string | []byte }

// Set is a set of ASCII bytes, made of the classes below.
type Set uint16

// The classes.
const (
	Digit Set = 1 << iota
	HexLower
	Lower // the rest of the lower-case letters
	Upper
	Underscore
	Dash
	Dot
	Slash
	Plus
	Equals
	Tilde

	Alnum = Digit | HexLower | Lower | Upper
)

// has reports whether c is in the set.
func (set Set) has(c byte) bool {
	switch {
	case c >= '0' && c <= '9':
		return set&Digit != 0
	case c >= 'a' && c <= 'f':
		return set&HexLower != 0
	case c > 'f' && c <= 'z':
		return set&Lower != 0
	case c >= 'A' && c <= 'Z':
		return set&Upper != 0
	}
	switch c {
	case '_':
		return set&Underscore != 0
	case '-':
		return set&Dash != 0
	case '.':
		return set&Dot != 0
	case '/':
		return set&Slash != 0
	case '+':
		return set&Plus != 0
	case '=':
		return set&Equals != 0
	case '~':
		return set&Tilde != 0
	}
	return false
}

// Run is where the run of bytes in set that begins at i ends.
func Run[T Text](s T, i int, set Set) int {
	for i < len(s) && set.has(s[i]) {
		i++
	}
	return i
}

// IsDigit reports 0 to 9.
func IsDigit(c byte) bool { return c >= '0' && c <= '9' }

// IsUpper reports A to Z.
func IsUpper(c byte) bool { return c >= 'A' && c <= 'Z' }

// IsLower reports a to z.
func IsLower(c byte) bool { return c >= 'a' && c <= 'z' }

// IsLetter reports an ASCII letter.
func IsLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// IsWord reports what \b of a regular expression takes for part of a word.
func IsWord(c byte) bool { return c == '_' || IsDigit(c) || IsLetter(c) }

// IsHex reports a hexadecimal digit.
func IsHex(c byte) bool { return IsDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }

// IsQuote reports a quotation mark: double, single or backquote.
func IsQuote(c byte) bool { return c == '"' || c == '\'' || c == '`' }

// IsBlank reports a blank or a tab.
func IsBlank(c byte) bool { return c == ' ' || c == '\t' }

// IsSpace reports ASCII white space, line ends included.
func IsSpace(c byte) bool { return IsBlank(c) || c == '\n' || c == '\r' || c == '\v' || c == '\f' }

// Runs remembers where runs end, so that a text full of beginnings is not read to its end from each of them.
type Runs struct {
	set      [12]Set
	from, to [12]int
	n        int
}

// RunEnd is run with memory.
func RunEnd[T Text](c *Runs, s T, i int, set Set) int {
	j := 0
	for j < c.n && c.set[j] != set {
		j++
	}
	if j < c.n && c.from[j] <= i && i <= c.to[j] {
		return c.to[j]
	}
	end := Run(s, i, set)
	if c.n = max(c.n, min(j+1, len(c.set))); j < c.n {
		c.set[j], c.from[j], c.to[j] = set, i, end
	}
	return end
}

// Has reports whether s has exactly word at i.
func Has[T Text](s T, i int, word string) bool {
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

// HasFold reports whether s has word, given in lower case, at i in any case.
func HasFold[T Text](s T, i int, word string) bool {
	if i < 0 || len(s)-i < len(word) {
		return false
	}
	for j := range len(word) {
		c := s[i+j]
		if IsUpper(c) {
			c |= 0x20
		}
		if c != word[j] {
			return false
		}
	}
	return true
}

// HasAny is the length of the first of words that s has at i in any case, or 0.
func HasAny[T Text](s T, i int, words ...string) int {
	for _, w := range words {
		if HasFold(s, i, w) {
			return len(w)
		}
	}
	return 0
}

// Boundary reports whether a word may begin at i: after anything that is no word byte, or after the last byte of an escape that
// stands for one (a written-out \n, %3D, \u0022, a terminal's colour).
func Boundary[T Text](s T, i int) bool {
	if i == 0 || !IsWord(s[i-1]) {
		return true
	}
	switch c := s[i-1]; {
	case i >= 2 && s[i-2] == '\\' && (c == 'n' || c == 'r' || c == 't' || c == 'b' || c == 'f'):
		return true
	case i >= 3 && s[i-3] == '%' && IsHex(s[i-2]) && IsHex(c):
		return true
	case i >= 6 && s[i-6] == '\\' && s[i-5] == 'u':
		return true
	case c == 'm':
		j := i - 2
		for j > 0 && (IsDigit(s[j]) || s[j] == ';') {
			j--
		}
		return j > 0 && s[j] == '[' && s[j-1] == 0x1b
	}
	return false
}

// Web reports whether http or https ends at i, in any case: the schemes where what stands alone before the @ may be a token.
func Web[T Text](s T, i int) bool {
	return i >= 4 && HasFold(s, i-4, "http") || i >= 5 && HasFold(s, i-5, "https")
}
