package redact

import ()

// Span is a piece of text to mask.
type Span struct {
	From, To int
	Rule     Rule
}

// tokenAt examines a token's beginning at s[from:to] (rows 3 to 9 and 11 to 14).
func tokenAt[T Text](c *Runs, s T, from, to int, w *keyword) (Span, bool) {
	if !Boundary(s, from) && w.rule != slackToken { // xoxoxb-: nothing but a token has this in it
		return Span{}, false
	}
	end := RunEnd(c, s, to, w.set)
	switch w.rule {
	case openaiKey:
		return bareKey(s, from, to, end)
	case awsKeyID:
		if end-to != w.min || end < len(s) && IsWord(s[end]) {
			return Span{}, false
		}
	case jwt:
		return signed(c, s, from, end)
	case vendorToken:
		if w.text == "SG." {
			if end-to < w.min || !Has(s, end, ".") {
				return Span{}, false
			}
			to = end + 1
			end = RunEnd(c, s, to, w.set)
		}
		if Has(s, end, "%3D") { // the = before the checksum of an Atlassian token, in a URL
			end = Run(s, end+3, w.set)
		}
	}
	return Span{from, end, w.rule}, end-to >= w.min
}

// bareKey tells the keys that begin with sk- apart. OpenAI's has to hold a digit: there are words like sk-learn-something.
func bareKey[T Text](s T, from, to, end int) (Span, bool) {
	if Has(s, to, "ant-") && end-to >= len("ant-")+16 {
		return Span{from, end, anthropicKey}, true
	}
	if end-to < 20 {
		return Span{}, false
	}
	for i := to; i < min(end, to+MaxJudged); i++ {
		if IsDigit(s[i]) {
			return Span{from, end, openaiKey}, true
		}
	}
	return Span{}, false
}

// signed examines a JSON web token whose first part ends at end: header, claims, and a signature that may be empty.
func signed[T Text](c *Runs, s T, from, end int) (Span, bool) {
	const set = Alnum | Underscore | Dash
	const least = len("eyJ") + 5
	if end-from < least || !Has(s, end, ".eyJ") {
		return Span{}, false
	}
	claims := end + 1
	if end = RunEnd(c, s, claims, set); end-claims < least || !Has(s, end, ".") {
		return Span{}, false
	}
	return Span{from, RunEnd(c, s, end+1, set), jwt}, true
}

// botAt examines the token of a Telegram bot: eight to ten digits, the colon that ends at to, and 35 characters.
func botAt[T Text](c *Runs, s T, to int) (Span, bool) {
	from := to - 1
	if s[from] != ':' {
		from = to - len("%3a")
	}
	colon := from
	for from > max(0, colon-11) && IsDigit(s[from-1]) {
		from--
	}
	if n := colon - from; n < 8 || n > 10 || !Boundary(s, from) {
		return Span{}, false
	}
	end := RunEnd(c, s, to, Alnum|Underscore|Dash)
	capital := Run(s[:min(end, to+35)], to, Digit|Lower|HexLower|Underscore|Dash) < end // every one has, names behind a date often have not
	return Span{from, end, vendorToken}, end-to == 35 && capital
}

// hookAt examines a webhook's address whose host name is s[from:to] (row 10).
func hookAt[T Text](s T, from, to int) (Span, bool) {
	const set = Alnum | Underscore | Dash | Slash
	for _, sub := range [...]string{"canary.", "ptb."} {
		if HasFold(s, from-len(sub), sub) {
			from -= len(sub)
		}
	}
	n := 0
	for _, scheme := range [...]string{"https://", `https:\/\/`, "https%3a%2f%2f"} {
		if HasFold(s, from-len(scheme), scheme) {
			n = len(scheme)
		}
	}
	path := HasAny(s, to, "/services/", "/workflows/", "/api/webhooks/", `\/services\/`, `\/workflows\/`, `\/api\/webhooks\/`,
		"%2fservices%2f", "%2fworkflows%2f", "%2fapi%2fwebhooks%2f")
	if n == 0 || path == 0 {
		return Span{}, false
	}
	end := Run(s, to+path, set)
	for end < len(s) && (Has(s, end, `\/`) || HasFold(s, end, "%2f")) {
		end = Run(s, end+1, set)
	}
	return Span{from - n, end, webhookURL}, end > to+path
}

// What a user name and a password in a URL may measure.
const (
	maxUser     = 256
	maxPassword = 256
	minLone     = 8 // of what stands alone before the @: a token, where shorter ones are people's names
)

// credentialsAt examines what follows the :// that is s[from:to]: user, colon, password, @ (row 2), or, over http, a token alone. The password ends at the last @
// that can be one.
func credentialsAt[T Text](s T, from, to int) (Span, bool) {
	if from < 2 || !IsWord(s[from-1]) || !IsWord(s[from-2]) || Has(s, to, "[REDACTED:") { // whose colon ends no user's name
		return Span{}, false
	}
	encoded := s[from] == '%'
	colon, end := -1, -1
	for i := to; i < len(s); i++ {
		switch c := s[i]; {
		case IsSpace(c) || c == '/' || c == '"' || c == '\'' || c == '\\':
			return Span{colon, end, urlCredentials}, end > 0
		case encoded && HasFold(s, i, "%2f"):
			return Span{colon, end, urlCredentials}, end > 0
		case colon < 0:
			switch {
			case c == '@' || encoded && HasFold(s, i, "%40"):
				return Span{to, i, urlCredentials}, Web(s, from) && i-to >= minLone
			case i-to > maxUser || c == '?' || c == '#':
				return Span{}, false
			case c == ':':
				colon = i + 1
			case encoded && HasFold(s, i, "%3a"):
				colon = i + 3
				i += 2
			}
		case i-colon > maxPassword:
			return Span{colon, end, urlCredentials}, end > 0
		case (c == '@' || encoded && HasFold(s, i, "%40")) && i > colon:
			end = i
		case c == '?' && end < 0 && number(s, colon, i):
			return Span{}, false // a port
		}
	}
	return Span{colon, end, urlCredentials}, end > 0
}

// number reports whether s[from:to] is all digits.
func number[T Text](s T, from, to int) bool {
	return from < to && Run(s[:to], from, Digit) == to
}
