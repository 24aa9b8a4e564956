package redact

import (
	"strings"
)

const (
	dashes  = "-----"
	pemEnd  = "-----END"
	maxHead = 96       // bytes of a BEGIN or END line
	maxBody = 64 << 10 // bytes of a key: the largest RSA keys in use need 13 KiB
)

// pem examines the -----BEGIN at s[from:to] and returns the whole private key (row 1), even if its end was cut off.
func (m *scanner) pem(from, to int) (span, bool) {
	s := m.s
	head := pemLine(s, to)
	if head < 0 {
		return span{}, false
	}
	if m.pemEnd < head {
		m.pemEnd = len(s)
		if i := strings.Index(s[head:], pemEnd); i >= 0 {
			m.pemEnd = head + i
		}
	}
	rest := s[head:min(len(s), head+maxBody)]
	literal := rest != "" && (isQuote(rest[0]) || strings.IndexByte(")<],", rest[0]) >= 0)
	body := keyLines(rest)
	if i := m.pemEnd - head; m.pemEnd < len(s) && (i <= body || i < len(rest) && !literal && !strings.Contains(rest[:i], "-----BEGIN")) {
		end := m.pemEnd + len(pemEnd)
		if tail := pemLine(s, end); tail > 0 {
			end = tail
		}
		return span{from, end, privateKey}, true
	}
	if literal && body == 0 {
		return span{}, false // the text only mentions keys
	}
	if strings.TrimSpace(rest[body:]) == "" {
		body = len(rest)
	}
	return span{from, head + body, privateKey}, true
}

// pemLine returns where the line "-----BEGIN … PRIVATE KEY …-----" ends whose label begins at i, or -1 if it is not that of a private key. Spaces may
// be URL-encoded.
func pemLine(s string, i int) int {
	line := s[i:min(len(s), i+maxHead)]
	n := strings.Index(line, dashes)
	if n < 0 {
		return -1
	}
	label := line[:n]
	if !strings.Contains(label, "PRIVATE") || !strings.Contains(label, "KEY") {
		return -1
	}
	for j := range len(label) {
		if c := label[j]; !isUpper(c) && !isDigit(c) && c != ' ' && c != '+' && c != '%' && c != '_' {
			return -1
		}
	}
	return i + n + len(dashes)
}

// keyLines returns how much of s, in whole lines, can be the body of a key: lines of base64, PEM headers, blank lines, with the prefixes and suffixes
// of a diff, a listing with line numbers, a string literal or an escaped string.
func keyLines(s string) int {
	end, seen := 0, false
	for i := 0; i < len(s); {
		next, width := nextLine(s, i)
		line := unwrap(s[i:next])
		switch {
		case seen && strings.HasPrefix(line, "-----END"):
			return next
		case line == "":
		case base64Line(line):
			end, seen = next, true
		case !seen && pemHeader(line):
			end = next
		case seen && line == "...":
		default:
			return end
		}
		i = next + width
	}
	return end
}

// nextLine returns where the line of s at i ends and how wide its line end is: a newline, or one written as \n or %0A.
func nextLine(s string, i int) (end, width int) {
	for ; i < len(s); i++ {
		switch {
		case s[i] == '\n':
			return i, 1
		case s[i] == '\\' && i+1 < len(s) && (s[i+1] == 'n' || s[i+1] == 'r'):
			return i, 2
		case s[i] == '%' && (has(s, i, "%0A") || has(s, i, "%0D")):
			return i, 3
		}
	}
	return i, 0
}

// unwrap removes what surrounds a key's line but is not part of it.
func unwrap(line string) string {
	const around = " \t\r\"'`+|>#*;,\\()"
	line = strings.Trim(line, around)
	if n := run(line, 0, digit); n > 0 && n < 7 && n+1 < len(line) && (line[n] == ':' || line[n] == '|' || isBlank(line[n])) {
		line = strings.Trim(line[n+1:], around)
	}
	if len(line) > 1 && line[0] == '-' && line[1] != '-' {
		line = strings.Trim(line[1:], around)
	}
	return line
}

// base64Line reports whether the line is base64, or space-separated pieces of it as after folded line breaks. A short line counts: keys end in one.
func base64Line(line string) bool {
	longest, width := 0, 0
	for i := range len(line) {
		switch c := line[i]; {
		case isBlank(c):
			width = 0
			continue
		case isWord(c) && c != '_' || c == '/' || c == '+' || c == '=' || c == '%':
		default:
			return false
		}
		width++
		longest = max(longest, width)
	}
	return longest == len(line) || longest >= 32
}

// pemHeader reports a header such as "Proc-Type: 4,ENCRYPTED".
func pemHeader(line string) bool {
	name, _, ok := strings.Cut(line, ":")
	return ok && name != "" && run(name, 0, Alnum|dash) == len(name) && isUpper(name[0])
}
