package redact

import "strings"

// Harmless is the contract's skip list: values that are clearly not secret, for every row in which something next to the value identifies it.
func Harmless(v string) bool {
	bare := strings.TrimRight(v, ".,;:!?)]}>")
	switch {
	case strings.TrimLeft(bare, "*xX.•-") == "":
		return true
	case hasAny(bare, 0, "true", "false", "null", "undefined", "none", "nil") == len(bare):
		return true
	}
	return reference(v) || version(bare) || filePath(v) || dotted(bare)
}

// reference reports a value that names the location of a secret instead of containing it: a variable, a format verb, the notation of a template or a
// package manager, a <placeholder>.
func reference(v string) bool {
	for _, prefix := range [...]string{"process.env", "os.environ", "{{", "#{", "<%", "workspace:", "file:", "link:", "npm:", "catalog:"} {
		if strings.HasPrefix(v, prefix) {
			return true
		}
	}
	if len(v) < 2 {
		return v != ""
	}
	switch next := v[1]; v[0] {
	case '$':
		return next == '{' || next == '(' || variable(v[1:])
	case '%':
		return (next == '(' || next == '[' || isLetter(next) && !isHex(next) || isHex(next) && (len(v) == 2 || !isHex(v[2]))) || next == '%'
	case '<':
		return strings.IndexByte(v, '>') > 0
	case '{':
		return strings.IndexByte(v, '}') > 0
	}
	return hasAny(v, 0, "your-", "your_", "your ", "<your", "my_secret", "xxxx", "****", "...") > 0
}

// variable reports whether v starts with the name of a shell variable. A password may start with $ too, but then mixes letters and digits.
func variable(v string) bool {
	end := run(v, 0, Alnum|underscore)
	name := v[:end]
	if name == "" || isDigit(name[0]) || end < len(v) && strings.IndexByte("/.:-@)}]&", v[end]) < 0 {
		return false
	}
	return run(name, 0, Upper|digit|underscore) == end || run(name, 0, Upper|Lower|hexLower|underscore) == end
}

// wholeReference reports a value that consists of one reference, such as ${TOKEN}: it is not a secret, whatever its name.
func wholeReference(v string) bool {
	if v == "Bearer <token>" { // in a header that is shown before its token exists
		return true
	}
	if len(v) < 2 || v[0] != '$' {
		return false
	}
	name := v[1:]
	if name[0] == '{' && name[len(name)-1] == '}' {
		name = strings.TrimPrefix(name[1:len(name)-1], "env:")
	}
	return name != "" && run(name, 0, Upper|digit|underscore) == len(name) && !isDigit(name[0])
}

// version reports a pure version number or range: ^1.2.3-beta.1.
func version(v string) bool {
	v = strings.TrimLeft(v, "~^v=<> ")
	dots := 0
	for i := range len(v) {
		switch c := v[i]; {
		case c == '.':
			dots++
		case isDigit(c):
		case (c == '-' || c == '+') && dots > 0 && dots < 4:
			return run(v, i+1, Alnum|dot|dash|plus) == len(v) && len(v) < 32
		default:
			return false
		}
	}
	return dots > 0 && dots < 4
}

// filePath reports whether v is the path of a file, judged by its prefix.
func filePath(v string) bool {
	for _, root := range [...]string{"./", "../", "~/", "/home/", "/Users/", "/etc/", "/usr/", "/var/", "/opt/", "/tmp/", "/run/", "/mnt/", "/root/",
		"/private/", "/srv/", "/app/", "/dev/", "/proc/", "/workspace", `C:\`} {
		if strings.HasPrefix(v, root) {
			return true
		}
	}
	return false
}

// dotted reports a chain of at least two identifiers without a digit: config.apiKey, request->token, Kind::Token.
func dotted(v string) bool {
	links := 0
	for i, word := 0, false; i < len(v); {
		switch c := v[i]; {
		case isLetter(c) || c == '_':
			i, word = i+1, true
			continue
		case !word:
			return false
		}
		n := hasAny(v, i, ".", "->", "::", "?.")
		if n == 0 {
			return false
		}
		i, word, links = i+n, false, links+1
	}
	return links > 0
}

// code reports whether the unquoted v, followed by next, is source code: a call, an index, a composite, an expression without a digit, or an
// identifier in a form that only source code uses.
func code(v string, next byte) bool {
	v = strings.TrimLeft(v, "&*!")
	if v == "" || strings.IndexByte("({[=|?<>:", v[0]) >= 0 || strings.HasPrefix(v, "//") || strings.HasPrefix(v, "/*") {
		return true
	}
	i := 0
	for i < len(v) && (isWord(v[i]) || v[i] == '$' || v[i] == '.' || i > 0 && has(v, i, "::") || has(v, i, "->") || has(v, i, "?.")) {
		i++
		if i < len(v) && (v[i] == ':' || v[i] == '>') {
			i++
		}
	}
	if !isDigit(v[0]) && i > 0 && (i < len(v) && strings.IndexByte("([{<", v[i]) >= 0 || i == len(v) && (next == '(' || next == '[')) {
		return true
	}
	mixed, punct := false, false
	for i := range len(v) {
		switch c := v[i]; {
		case isDigit(c):
			return false
		case isUpper(c):
			mixed = mixed || i > 0 && isLower(v[i-1])
		case isLower(c):
		case c == '_' || strings.IndexByte(".()[]{}<>&*:?|", c) >= 0:
			punct = true
		default:
			return false
		}
	}
	return mixed || punct
}

// plainWord reports a word that occurs in the position of a secret in prose, messages, declarations and labels.
func plainWord(v string) bool {
	if len(v) > 16 {
		return false
	}
	var buf [16]byte
	for i := range len(v) {
		buf[i] = v[i]
		if isUpper(v[i]) {
			buf[i] |= 0x20
		}
	}
	switch string(buf[:len(v)]) {
	case "required", "incorrect", "invalid", "missing", "optional", "production", "development", "disabled", "enabled", "expired", "unauthorized",
		"forbidden", "password", "passphrase", "secret", "token", "username", "example", "unknown", "default", "placeholder", "changed", "redacted",
		"description", "string", "number", "integer", "boolean", "object", "array", "bytes", "hidden", "visible", "received", "rejected", "accepted",
		"mismatch", "malformed", "revoked", "refresh", "provided", "supplied", "generated", "configured", "authentication", "authorization", "credentials",
		"credential", "bearer", "basic", "anonymous", "cookie", "cookies", "value", "values", "text", "type", "name", "flag", "option", "argument", "file", "from",
		"with", "that", "this", "must", "should", "will", "have", "been", "used", "when", "which", "return", "continue", "function", "unset", "empty", "test",
		"verified", "validated", "successful", "successfully", "failed", "failure", "error", "warning", "success", "update", "updated", "created", "deleted",
		"identifier", "expression", "literal", "operator", "keyword", "negotiate", "digest", "session", "header", "headers", "expecting", "expected", "unexpected":
		return true
	}
	return false
}

// command reports whether s[from:to], the value of a name, starts a program whose output is the value: $(program) or `program` in shell text. A user
// who approves it must see it. Between single quotes a shell starts nothing, and a single word between backticks may be a string of another language:
// these are redacted like other secrets.
func command[T text](s T, from, to int) bool {
	ticked := from > 0 && s[from-1] == '`'
	if from > 0 && s[from-1] == '\'' {
		return false
	}
	ticks := 0
	for i := from; i < min(to, from+maxJudged); i++ {
		switch c := s[i]; {
		case c == '`':
			ticks++
		case c == '$' && i+1 < len(s) && s[i+1] == '(', ticked && strings.IndexByte(" \t$<>|;&", c) >= 0:
			return true
		}
	}
	return ticks > 1 || ticks == 1 && s[from] == '`'
}

// prose reports a sentence: several words of letters, one of which occurs only in sentences.
func prose(v string) bool {
	if !strings.Contains(v, " ") || strings.ContainsAny(v, "0123456789") {
		return false
	}
	for word := range strings.FieldsSeq(v) {
		switch strings.ToLower(strings.Trim(word, ".,:;!?")) {
		case "the", "your", "a", "an", "is", "are", "to", "for", "of", "must", "not", "and", "or", "please", "enter", "with", "no", "in", "does", "was", "be", "from",
			"required", "invalid", "missing", "confirm", "forgot", "reset", "new":
			return true
		}
	}
	return false
}
