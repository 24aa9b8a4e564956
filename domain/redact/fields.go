package redact

import "strings"

// Limits of how far a scanner reads for one value, so that no text makes it slow.
const (
	maxQuoted = 16 << 10 // bytes up to the closing quote
	maxName   = 64       // bytes of a name before its keyword
	maxJudged = 1 << 10  // bytes of a value that are judged
)

// gap returns where the white space at i ends, plain or escaped (\n, %20, a shell's backslash before a line end). A diff marker after a line end
// belongs to it.
func gap(s string, i int) int {
	for i < len(s) {
		switch n := backslashes(s, i); {
		case s[i] == '\n':
			i++
			if i+1 < len(s) && (s[i] == '+' || s[i] == '-') && isBlank(s[i+1]) {
				i++
			}
		case isSpace(s[i]):
			i++
		case n > 0 && i+n < len(s) && strings.IndexByte("nrt\n", s[i+n]) >= 0:
			i += n + 1
		case hasAny(s, i, "%20", "%09", "%0a", "%0d") > 0:
			i += 3
		default:
			return i
		}
	}
	return i
}

// blanks returns gap without line ends, and with + as the space in URLs.
func blanks(s string, i int) int {
	for i < len(s) {
		switch {
		case isBlank(s[i]) || s[i] == '+':
			i++
		case hasFold(s, i, "%20"):
			i += 3
		default:
			return i
		}
	}
	return i
}

// folded reports whether the gap s contains a line end.
func folded(s string) bool {
	return strings.IndexByte(s, '\n') >= 0 || strings.Contains(s, `\n`) || strings.Contains(s, "%0")
}

// backslashes counts the backslashes at i.
func backslashes(s string, i int) int {
	n := 0
	for i+n < len(s) && s[i+n] == '\\' {
		n++
	}
	return n
}

// quoteAt returns the width of the quote at i with its escapes (\" or \\\" or %22), and the quote; 0 if there is none.
func quoteAt(s string, i int) (width int, quote byte) {
	switch n := backslashes(s, i); {
	case i+n < len(s) && isQuote(s[i+n]):
		return n + 1, s[i+n]
	case has(s, i, "%22"):
		return 3, '%'
	case has(s, i, "%27"):
		return 3, '%'
	}
	return 0, 0
}

// suffix returns where a name ends whose keyword ends at i: after a plural s, then _key, Token and similar suffixes.
func suffix[T text](s T, i int) int {
	if i < len(s) && s[i]|0x20 == 's' && s[i-1]|0x20 == 'l' {
		i++ // credentials
	}
	j := i
	if j < len(s) && (s[j] == '_' || s[j] == '-') {
		j++
	}
	n := hasAny(s, j, "key", "token", "secret", "value", "id")
	if n == 0 || j == i && !isUpper(s[j]) || j+n < len(s) && isWord(s[j+n]) && !boundary(s, j+n) {
		return i
	}
	return j + n
}

// separator examines what follows a name at i: its closing quote or bracket and = : := => in any notation. It returns where the separator ends and
// the separator; -1 if there is none.
func separator(s string, i int) (end int, sep byte) {
	n, _ := quoteAt(s, i)
	i += n
	if n > 0 && i < len(s) && s[i] == ']' {
		i++
	}
	for i < len(s) && (isBlank(s[i]) || s[i] == '+' && (has(s, i+1, "%3") || has(s, i+1, "+"))) {
		i++
	}
	switch {
	case i >= len(s):
		return -1, 0
	case has(s, i, ":=") || has(s, i, "=>"):
		return i + 2, '='
	case s[i] == '=' && !has(s, i, "==") && !has(s, i, "=~"):
		return i + 1, '='
	case s[i] == ':' && !has(s, i, "::"):
		return i + 1, ':'
	case hasFold(s, i, "%3d"):
		return i + 3, '='
	case hasFold(s, i, "%3a"):
		return i + 3, ':'
	}
	return -1, 0
}

// quotedAt reads the quoted text whose opening quote is at i. A closing quote has as many backslashes as the opening one; with more it is part of the
// text. A text without a closing quote was cut off and counts as a whole.
func quotedAt(s string, i int) (from, to int, ok bool) {
	width, quote := quoteAt(s, i)
	if width == 0 {
		return 0, 0, false
	}
	from = i + width
	if quote == '%' {
		if n := strings.Index(s[from:min(len(s), from+maxQuoted)], s[i:from]); n >= 0 {
			return from, from + n, true
		}
		return 0, 0, false
	}
	level, run := width-1, 0
	for j := from; j < min(len(s), from+maxQuoted); j++ {
		switch c := s[j]; {
		case c == '\n' && quote != '`':
			return 0, 0, false
		case c == '\\':
			run++
			continue
		case c == quote && (run <= level || (run-level)%(2*(level+1)) == 0):
			return from, j - min(run, level), true
		}
		run = 0
	}
	return from, len(s), len(s)-from < maxQuoted && len(s) > from
}

// bareAt returns where the unquoted value at i ends. In a URL query it ends with its parameter, at & or its encoding.
func bareAt(s string, i int, within byte) int {
	for ; i < len(s); i++ {
		switch c := s[i]; {
		case isSpace(c) || isQuote(c) || c == '\\' || c == ',' || c == ';':
			return i
		case within != 0 && (c == '&' || c == '#'):
			return i
		case within == '%' && (c == '+' || hasAny(s, i, "%26", "%20", "%22", "%27", "%0a", "%0d") > 0):
			return i
		}
	}
	return i
}

// trimmed returns to without trailing punctuation and closing brackets that the value does not open itself.
func trimmed(s string, from, to int) int {
	for least := max(from, to-8); to > least; {
		switch c := s[to-1]; {
		case c == '.' || c == '>' && strings.IndexByte(s[from:to], '<') < 0:
		case c == ')' && strings.IndexByte(s[from:to], '(') < 0:
		case c == ']' && strings.IndexByte(s[from:to], '[') < 0:
		case c == '}' && strings.IndexByte(s[from:to], '{') < 0:
		default:
			return to
		}
		to--
	}
	return to
}

// valueStart returns where the value after a separator that ends at i begins: on the same line, on the next, or in a YAML block. fold says that it is
// not on the line of its name.
func valueStart(s string, i int) (start int, fold bool) {
	start = gap(s, i)
	fold = folded(s[i:start])
	if fold || start >= len(s) || s[start] != '|' && s[start] != '>' {
		return start, fold
	}
	j := start + 1
	for j < len(s) && (s[j] == '-' || s[j] == '+' || isDigit(s[j])) {
		j++
	}
	if k := gap(s, j); folded(s[j:k]) {
		return k, true
	}
	return start, false
}

// endsLine reports whether only punctuation follows on the line of s at i.
func endsLine(s string, i int) bool {
	for most := i + maxJudged; i < min(len(s), most) && s[i] != '\n'; i++ {
		if s[i] == '\\' && i+1 < len(s) && (s[i+1] == 'n' || s[i+1] == 'r') {
			return true
		}
		if isWord(s[i]) || s[i] >= 0x80 {
			return false
		}
	}
	return true
}
