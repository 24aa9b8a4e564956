package detect

import "strings"

// findURL finds the password in a URL (row 2).
func findURL(s string, at, end int) (int, int, bool) {
	colon, to, ok := userInfo(s, end)
	if !ok || at == 0 || !isWord(s[at-1]) && s[at-1] != '+' && s[at-1] != '-' && s[at-1] != '.' {
		return 0, 0, false
	}
	v := s[colon+1 : to]
	if n, links, digit := identifiers(v); Skipped(v, true) || call(v) || n == len(v) && links > 0 && !digit {
		return 0, 0, false
	}
	return colon + 1, to, true
}

// spaces is where the spaces end that begin at i; encoded ones count when coded is set.
func spaces(s string, i int, coded bool) int {
	for i < len(s) {
		switch {
		case s[i] == ' ' || s[i] == '\t' || coded && s[i] == '+':
			i++
		case coded && strings.HasPrefix(s[i:], "%20"):
			i += 3
		default:
			return i
		}
	}
	return i
}

// quote is where the quotation mark at i, escaped as often as it may be, ends; i itself when there is none.
func quote(s string, i int) int {
	j := i
	for j < len(s) && s[j] == '\\' {
		j++
	}
	if j < len(s) && (s[j] == '"' || s[j] == '\'' || s[j] == '`' && j == i) {
		return j + 1
	}
	if strings.HasPrefix(s[i:], "%22") || strings.HasPrefix(s[i:], "%27") {
		return i + 3
	}
	return i
}

// separator reads what stands between a name that ends at i and its value: quotes, a bracket, spaces, a separator, spaces. It returns
// where the value begins and how many bytes the separator itself has; none is 0.
func separator(s string, i int) (start, size int) {
	if q := quote(s, i); q > i {
		if i = q; i < len(s) && s[i] == ']' {
			i++
		}
	}
	i = spaces(s, i, false)
	for _, sep := range [...]string{":=", "=>", "=", ":", "%3D", "%3A", "%3d", "%3a"} {
		if !strings.HasPrefix(s[i:], sep) {
			continue
		}
		i += len(sep)
		if i < len(s) && (s[i] == '=' || sep == ":" && s[i] == ':' || sep == "=" && s[i] == '~') {
			return i, 0
		}
		return spaces(s, i, sep[0] == '%'), len(sep)
	}
	return i, 0
}

// nextLine is where the value begins when it was put on the line after i: after nothing, a YAML block sign or a shell's backslash.
func nextLine(s string, i int) (start int, ok bool) {
	for _, sign := range [...]string{"|-", ">-", "|", ">", `\`} {
		if rest, found := strings.CutPrefix(s[i:], sign); found && (strings.HasPrefix(rest, "\n") || strings.HasPrefix(rest, "\r\n")) {
			i += len(sign)
			break
		}
	}
	if i < len(s) && s[i] == '\r' {
		i++
	}
	if i >= len(s) || s[i] != '\n' {
		return i, false
	}
	i = spaces(s, i+1, false)
	if i+1 < len(s) && (s[i] == '+' || s[i] == '-') && s[i+1] == ' ' { // a line of a diff, an item of a list
		i = spaces(s, i+1, false)
	}
	return i, true
}

// unquoted are the bytes of a value without quotes.
var unquoted = func() *charset {
	var c charset
	for b := range c {
		c[b] = b > ' ' && b != 0x7f && !strings.ContainsRune("\"'\\,;`", rune(b)) || b >= 0x80
	}
	return &c
}()

// read is the value at i: in quotes to the quote that closes them on the same line or, if the text ends before, to its end; without
// quotes as long as it has the bytes of one, and cut for the decision at maxHead.
func read(s string, i int) (value, bool) {
	start := quote(s, i)
	if start == i || s[start-1] != '"' && s[start-1] != '\'' && s[start-1] != '`' {
		end := unquoted.end(s[:min(len(s), start+maxHead)], start)
		return value{from: start, to: end, cut: end == start+maxHead}, end > start
	}
	mark, escapes := s[start-1], start-1-i
	for j, slashes := start, 0; j <= len(s); j++ {
		switch {
		case j == len(s):
			return value{from: start, to: j, quoted: true}, j > start
		case s[j] == '\n':
			return value{}, false
		case s[j] == '\\':
			slashes++
			continue
		case s[j] == mark && (slashes <= escapes || escapes == 0 && slashes%2 == 0):
			return value{from: start, to: j - min(slashes, escapes), quoted: true}, j > start
		}
		slashes = 0
	}
	return value{}, false
}

// whole is the end of a value that is to be masked.
func (v value) whole(s string) int {
	if v.cut {
		return unquoted.end(s, v.to)
	}
	return v.to
}

var headerValue = chars("A-Za-z0-9._~+/=-")

// findAuth finds the credentials of an Authorization header (row 15).
func findAuth(s string, _, end int) (int, int, bool) {
	i, size := separator(s, end)
	if size == 0 {
		return 0, 0, false
	}
	if next, crossed := nextLine(s, i); crossed {
		i = next
	}
	i = quote(s, i)
	start := i
	for _, scheme := range [...]string{"bearer", "basic", "token", "digest", "negotiate", "apikey"} {
		if len(s) > i+len(scheme) && strings.EqualFold(s[i:i+len(scheme)], scheme) {
			if after := spaces(s, i+len(scheme), true); after > i+len(scheme) {
				start = after
			}
		}
	}
	to := headerValue.end(s[:min(len(s), start+maxHead)], start)
	v := s[start:to]
	_, links, digit := identifiers(v)
	switch {
	case len(v) < 8 || Skipped(v, true) || call(s[start:min(len(s), to+1)]) || plain(v):
		return 0, 0, false
	case chain(v) && (start == i || links > 0 && !digit || strings.ToLower(v[1:]) == v[1:]): // prose or code; a scheme's value mixes cases
		return 0, 0, false
	}
	return start, headerValue.end(s, to), true
}

// findBearer finds the token of a bearer scheme (row 16); a digit tells it from prose.
func findBearer(s string, at, end int) (int, int, bool) {
	start := spaces(s, end, true)
	if start == end || !startsWord(s, at, end) {
		return 0, 0, false
	}
	to := headerValue.end(s[:min(len(s), start+maxHead)], start)
	if to-start < 16 || !strings.ContainsAny(s[start:to], digits) || strings.HasPrefix(s[start:to], "http") {
		return 0, 0, false
	}
	return start, headerValue.end(s, to), true
}

// findCookie finds what a cookie header carries (row 17): the rest of its line, or of the string it stands in.
func findCookie(s string, _, end int) (int, int, bool) {
	start, size := separator(s, end)
	if size == 0 {
		return 0, 0, false
	}
	assigned := s[start-1] != ' ' && s[start-1] != ':'
	if next, crossed := nextLine(s, start); crossed {
		start = next
	}
	stops := "\r\n\"\\`"
	if assigned {
		stops = "\r\n\"\\`' &"
	}
	if q := quote(s, start); q > start {
		if start = q; s[q-1] == '\'' {
			stops = "\r\n\"\\`'"
		}
	}
	limit := min(len(s), start+maxHead)
	to := before(s[:limit], start, stops)
	v := s[start:to]
	pair := strings.Contains(v, "=") && !strings.HasPrefix(v, "=") || strings.Contains(v, "%3D")
	if len(v) < 8 || !pair || strings.HasPrefix(v, marked) || Variable(v) || call(v) {
		return 0, 0, false
	}
	return start, before(s, to, stops), true
}

// before is where the first of some characters stands from i on, or the end.
func before(s string, i int, stops string) int {
	if n := strings.IndexAny(s[i:], stops); n >= 0 {
		return i + n
	}
	return len(s)
}

// findFlag finds the value of a command's flag (row 18), beside it or as the next item of a list.
func findFlag(s string, at, end int) (int, int, bool) {
	removed := at == 1 || at > 1 && s[at-2] == '\n' // a line that a diff takes away
	if at > 0 && (isWord(s[at-1]) && !startsWord(s, at, end) || s[at-1] == '-' && !removed) {
		return 0, 0, false
	}
	i := end
	if q := quote(s, i); q > i { // "--token", "value"
		if i = spaces(s, q, false); i == len(s) || s[i] != ',' {
			return 0, 0, false
		}
		i++
	} else if i < len(s) && (s[i] == '=' || s[i] == ',') { // also [--token, value]
		i++
	} else if strings.HasPrefix(s[i:], "%3D") {
		i += 3
	} else if spaces(s, i, true) == i && !strings.HasPrefix(s[i:], "\n") && !strings.HasPrefix(s[i:], "\r\n") {
		return 0, 0, false
	}
	i = spaces(s, i, true)
	if next, crossed := nextLine(s, i); crossed {
		i = next
	}
	v, ok := read(s, i)
	if !ok || !v.quoted && (v.to-v.from < 4 || s[v.from] == '-') || Skipped(s[v.from:v.to], v.quoted) {
		return 0, 0, false
	}
	return v.from, v.whole(s), true
}

// findUser finds the password in curl's -u user:password (row 19).
func findUser(s string, at, end int) (int, int, bool) {
	if !startsWord(s, at, end) || end == len(s) || isWord(s[end]) {
		return 0, 0, false
	}
	i := end
	for ; i < min(len(s), end+maxHead) && s[i] != '|' && s[i] != ';'; i++ {
		if s[i] == '\n' && s[i-1] != '\\' && !strings.HasPrefix(s[spaces(s, i+1, false):], "- ") { // neither continued nor a list
			break
		}
		j := i + len("-u")
		if strings.HasPrefix(s[i:], "--user") {
			j = i + len("--user")
		} else if !strings.HasPrefix(s[i:], "-u") {
			continue
		}
		if isWord(s[i-1]) && !startsWord(s, i, i) || s[i-1] == '-' {
			continue
		}
		if from, to, ok := password(s, j); ok {
			return from, to, true
		}
	}
	return 0, min(i, end+maxHead/2), false // what one curl did not have, the next would not find either
}

// password finds the part behind the colon of the user:password that follows a flag which ends at i.
func password(s string, i int) (from, to int, ok bool) {
	if q := quote(s, i); q > i && q < len(s) && s[q] == ',' { // "-u", "user:password"
		i = q
	}
	i = spaces(s, i, true)
	if i < len(s) && (s[i] == '=' || s[i] == ',') {
		i = spaces(s, i+1, false)
	}
	if next, crossed := nextLine(s, i); crossed {
		i = next
	}
	user := quote(s, i)
	for from = user; from < len(s) && from < user+128; from++ {
		if coded := strings.HasPrefix(s[from:], "%3A"); coded || s[from] == ':' && from > user {
			if from++; coded {
				from += 2
			}
			to = unquoted.end(s[:min(len(s), from+maxHead)], from)
			for _, stop := range [...]string{"+", "&", "%20"} {
				if i := strings.Index(s[from:to], stop); coded && i >= 0 {
					to = from + i
				}
			}
			if head := s[from:to]; Skipped(head, true) || strings.HasPrefix(head, "//") {
				return 0, 0, false
			}
			if !coded {
				to = unquoted.end(s, to)
			}
			return from, to, true
		}
		if !unquoted[s[from]] {
			break
		}
	}
	return 0, 0, false
}
