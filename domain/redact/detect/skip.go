package detect

import "strings"

// value is a place in a text that may hold a secret.
type value struct {
	from, to int  // without quotes; to is cut at maxHead bytes when cut is set
	quoted   bool // it stood in quotes
	cut      bool
}

// Skipped is the contract's skip list: what plainly is no secret, or has been masked. Without quotes a value may be code.
func Skipped(v string, quoted bool) bool {
	return v == "" || strings.Contains(v, marked) || Variable(v) || literal(v) || version(v) || !quoted && (call(v) || chain(v))
}

// Variable reports a reference to a value that stands elsewhere, or the place for one.
func Variable(v string) bool {
	if v == "" {
		return false
	}
	next := byte(0)
	if len(v) > 1 {
		next = v[1]
	}
	switch v[0] {
	case '$':
		return next == '{' || next == '(' || isWord(next) && !isDigit(next) && !mixed(v[1:wordEnd(v, 1)])
	case '%':
		return next == '%' || isWord(next) && !(len(v) > 2 && isHex(next) && isHex(v[2])) || next == '+'
	case '<':
		i := strings.IndexByte(v, '>')
		return i < 0 || i == len(v)-1
	case '{':
		return next == '{'
	case '*':
		return strings.Trim(v, "*") == ""
	}
	for _, prefix := range [...]string{"process.env", "os.environ", "os.getenv", "os.Getenv", "import.meta.env", "workspace:", "file:", "link:", "npm:", "catalog:"} {
		if strings.HasPrefix(v, prefix) {
			return true
		}
	}
	return strings.HasPrefix(v, marked)
}

// mixed reports capitals, small letters and digits in one word: more likely made at random than a name.
func mixed(v string) bool {
	return strings.ContainsAny(v, digits) && strings.ContainsFunc(v, func(c rune) bool { return c >= 'a' && c <= 'z' }) &&
		strings.ContainsFunc(v, func(c rune) bool { return c >= 'A' && c <= 'Z' })
}

const maxWord = 16 // no word of the lists is longer

// word is v without the punctuation around it, in lower case; nothing if it is longer than any word of the lists.
func word(v string, buf *[maxWord]byte) []byte {
	v = strings.Trim(v, ".,;:!?()[]{}<>`*&|")
	if len(v) > maxWord {
		return nil
	}
	for i := range len(v) {
		buf[i] = v[i]
		if v[i] >= 'A' && v[i] <= 'Z' {
			buf[i] |= 0x20
		}
	}
	return buf[:len(v)]
}

func literal(v string) bool {
	var buf [maxWord]byte
	switch string(word(v, &buf)) {
	case "true", "false", "null", "undefined", "none", "nil":
		return true
	}
	return false
}

// version reports 1.2, ^1.2.3, v1.2.3-rc.1: two to four numbers joined by dots.
func version(v string) bool {
	v = strings.TrimLeft(v, "~^v=<> ")
	if len(v) > 40 {
		return false
	}
	v, _, _ = strings.Cut(v, "-")
	v, _, _ = strings.Cut(v, "+")
	parts := 0
	for part := range strings.SplitSeq(v, ".") {
		if part == "" || strings.Trim(part, digits) != "" {
			return false
		}
		parts++
	}
	return parts >= 2 && parts <= 4
}

// identifiers is how long the chain of identifiers is with which v begins (config.apiKey, p->token, Kind::Token), how many it joins,
// and whether a digit is in it.
func identifiers(v string) (n, links int, digit bool) {
	for n < len(v) {
		switch {
		case isDigit(v[n]):
			digit = true
			n++
		case isWord(v[n]):
			n++
		case n > 0 && v[n] == '.' && n+1 < len(v) && isWord(v[n+1]):
			links, n = links+1, n+1
		case n > 0 && n+2 < len(v) && (v[n:n+2] == "::" || v[n:n+2] == "->" || v[n:n+2] == "?.") && isWord(v[n+2]):
			links, n = links+1, n+2
		default:
			return n, links, digit
		}
	}
	return n, links, digit
}

const operators = "&*!(-+["

// call reports code: identifiers that are called, indexed or composed.
func call(v string) bool {
	v = strings.TrimLeft(v, operators)
	n, _, _ := identifiers(v)
	return n > 0 && n < len(v) && !isDigit(v[0]) && (v[n] == '(' || v[n] == '[' || v[n] == '{')
}

// chain reports identifiers without a digit and nothing else.
func chain(v string) bool {
	v = strings.TrimRight(strings.TrimLeft(v, operators), ")]}.:?!`*&|>")
	n, _, digit := identifiers(v)
	return n == len(v) && !digit
}

// plain are words that stand where a secret would, in prose and in messages.
func plain(v string) bool {
	var buf [maxWord]byte
	switch string(word(v, &buf)) {
	case "required", "incorrect", "invalid", "missing", "optional", "production", "development", "disabled", "enabled", "expired",
		"unauthorized", "forbidden", "password", "passphrase", "username", "example", "unknown", "default", "placeholder", "changeme",
		"redacted", "description", "string", "number", "integer", "boolean", "object", "array", "hidden", "visible", "received", "rejected",
		"accepted", "mismatch", "malformed", "revoked", "refresh", "provided", "supplied", "generated", "configured", "unset", "empty",
		"secret", "token", "bearer", "basic":
		return true
	}
	return false
}
