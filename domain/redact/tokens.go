package redact

import ()

// span is a range of text to redact.
type span struct {
	From, To int
	Rule     rule
}

// tokenAt examines the beginning of a token at s[from:to] (rows 3 to 9 and 11 to 14).
func tokenAt[T text](c *runs, s T, from, to int, w *keyword) (span, bool) {
	if !boundary(s, from) && w.rule != slackToken { // xoxoxb-: only a token contains this
		return span{}, false
	}
	end := runEnd(c, s, to, w.set)
	switch w.rule {
	case openaiKey:
		return bareKey(s, from, to, end)
	case awsKeyID:
		if end-to != w.min || end < len(s) && isWord(s[end]) {
			return span{}, false
		}
	case jwt:
		return signed(c, s, from, end)
	case vendorToken:
		if w.text == "SG." {
			if end-to < w.min || !has(s, end, ".") {
				return span{}, false
			}
			to = end + 1
			end = runEnd(c, s, to, w.set)
		}
		if has(s, end, "%3D") { // the = before the checksum of an Atlassian token, in a URL
			end = run(s, end+3, w.set)
		}
	}
	return span{from, end, w.rule}, end-to >= w.min
}

// bareKey distinguishes keys that begin with sk-. OpenAI's must contain a digit: there are words like sk-learn-something.
func bareKey[T text](s T, from, to, end int) (span, bool) {
	if has(s, to, "ant-") && end-to >= len("ant-")+16 {
		return span{from, end, anthropicKey}, true
	}
	if end-to < 20 {
		return span{}, false
	}
	for i := to; i < min(end, to+maxJudged); i++ {
		if isDigit(s[i]) {
			return span{from, end, openaiKey}, true
		}
	}
	return span{}, false
}

// signed examines a JSON web token whose first part ends at end: header, claims, and a signature that may be empty.
func signed[T text](c *runs, s T, from, end int) (span, bool) {
	const set = Alnum | underscore | dash
	const least = len("eyJ") + 5
	if end-from < least || !has(s, end, ".eyJ") {
		return span{}, false
	}
	claims := end + 1
	if end = runEnd(c, s, claims, set); end-claims < least || !has(s, end, ".") {
		return span{}, false
	}
	return span{from, runEnd(c, s, end+1, set), jwt}, true
}

// botAt examines the token of a Telegram bot: eight to ten digits, the colon that ends at to, and 35 characters.
func botAt[T text](c *runs, s T, to int) (span, bool) {
	from := to - 1
	if s[from] != ':' {
		from = to - len("%3a")
	}
	colon := from
	for from > max(0, colon-11) && isDigit(s[from-1]) {
		from--
	}
	if n := colon - from; n < 8 || n > 10 || !boundary(s, from) {
		return span{}, false
	}
	end := runEnd(c, s, to, Alnum|underscore|dash)
	capital := run(s[:min(end, to+35)], to, digit|Lower|hexLower|underscore|dash) < end // all bot tokens have one, names after a date often have none
	return span{from, end, vendorToken}, end-to == 35 && capital
}

// hookAt examines a webhook address whose host name is s[from:to] (row 10).
func hookAt[T text](s T, from, to int) (span, bool) {
	const set = Alnum | underscore | dash | slash
	for _, sub := range [...]string{"canary.", "ptb."} {
		if hasFold(s, from-len(sub), sub) {
			from -= len(sub)
		}
	}
	n := 0
	for _, scheme := range [...]string{"https://", `https:\/\/`, "https%3a%2f%2f"} {
		if hasFold(s, from-len(scheme), scheme) {
			n = len(scheme)
		}
	}
	path := hasAny(s, to, "/services/", "/workflows/", "/api/webhooks/", `\/services\/`, `\/workflows\/`, `\/api\/webhooks\/`,
		"%2fservices%2f", "%2fworkflows%2f", "%2fapi%2fwebhooks%2f")
	if n == 0 || path == 0 {
		return span{}, false
	}
	end := run(s, to+path, set)
	for end < len(s) && (has(s, end, `\/`) || hasFold(s, end, "%2f")) {
		end = run(s, end+1, set)
	}
	return span{from - n, end, webhookURL}, end > to+path
}

// Length limits of a user name and a password in a URL.
const (
	maxUser     = 256
	maxPassword = 256
	minLone     = 8 // minimum length of a token without a colon before the @; shorter texts are user names
)

// credentialsAt examines what follows the :// at s[from:to]: user, colon, password, @ (row 2), or, over http, a token alone. The password ends at the
// last @ that can be its end.
func credentialsAt[T text](s T, from, to int) (span, bool) {
	if from < 2 || !isWord(s[from-1]) || !isWord(s[from-2]) || has(s, to, "[REDACTED:") { // the colon does not end a user name
		return span{}, false
	}
	encoded := s[from] == '%'
	colon, end := -1, -1
	for i := to; i < len(s); i++ {
		switch c := s[i]; {
		case isSpace(c) || c == '/' || c == '"' || c == '\'' || c == '\\':
			return span{colon, end, urlCredentials}, end > 0
		case encoded && hasFold(s, i, "%2f"):
			return span{colon, end, urlCredentials}, end > 0
		case colon < 0:
			switch {
			case c == '@' || encoded && hasFold(s, i, "%40"):
				return span{to, i, urlCredentials}, web(s, from) && i-to >= minLone
			case i-to > maxUser || c == '?' || c == '#':
				return span{}, false
			case c == ':':
				colon = i + 1
			case encoded && hasFold(s, i, "%3a"):
				colon = i + 3
				i += 2
			}
		case i-colon > maxPassword:
			return span{colon, end, urlCredentials}, end > 0
		case (c == '@' || encoded && hasFold(s, i, "%40")) && i > colon:
			end = i
		case c == '?' && end < 0 && number(s, colon, i):
			return span{}, false // a port
		}
	}
	return span{colon, end, urlCredentials}, end > 0
}

// number reports whether s[from:to] is all digits.
func number[T text](s T, from, to int) bool {
	return from < to && run(s[:to], from, digit) == to
}
