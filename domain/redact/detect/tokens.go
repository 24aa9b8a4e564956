package detect

import "strings"

// charset is a set of bytes.
type charset [256]bool

// chars is the set a regular expression's class of the same text would be.
func chars(of string) *charset {
	var c charset
	for i := 0; i < len(of); i++ {
		if i+2 < len(of) && of[i+1] == '-' {
			for b := int(of[i]); b <= int(of[i+2]); b++ {
				c[b] = true
			}
			i += 2
			continue
		}
		c[of[i]] = true
	}
	return &c
}

// end is where the run of the set's bytes that begins at i ends.
func (c *charset) end(s string, i int) int {
	for i < len(s) && c[s[i]] {
		i++
	}
	return i
}

// tokenForm is a token with a tell-tale beginning (rows 3 to 9, 11, 12, 14): one of some prefixes, then at least min bytes of a set.
type tokenForm struct {
	row      Row
	prefixes string // separated by spaces
	set      string
	min      int
	exact    bool // exactly min bytes
	digit    bool // a digit has to be in it
	inner    bool // it may begin inside of a word
}

const (
	alnum     = "A-Za-z0-9"
	alnumDash = "A-Za-z0-9_-"
)

func tokenForms() []tokenForm {
	return []tokenForm{
		{row: AnthropicKey, prefixes: "sk-ant-", set: alnumDash, min: 16},
		{row: OpenAIKey, prefixes: "sk-", set: alnumDash, min: 20, digit: true},
		{row: StripeKey, prefixes: "sk_live_ sk_test_ pk_live_ pk_test_ rk_live_ rk_test_", set: alnum, min: 10},
		{row: StripeKey, prefixes: "whsec_", set: alnum, min: 16},
		{row: GitHubToken, prefixes: "ghp_ gho_ ghu_ ghs_ ghr_", set: alnum, min: 20},
		{row: GitHubToken, prefixes: "github_pat_", set: alnum + "_", min: 20},
		{row: GitLabToken, prefixes: "glpat- gldt- glrt- glptt- glcbt- glsoat- gloas-", set: alnumDash, min: 16},
		{row: NPMToken, prefixes: "npm_", set: alnum, min: 20},
		{row: SlackToken, prefixes: "xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs-", set: alnum + "-", min: 8, inner: true},
		{row: AWSKeyID, prefixes: "AKIA ASIA AGPA AROA AIDA ANPA ANVA AIPA", set: "0-9A-Z", min: 16, exact: true},
		{row: GoogleKey, prefixes: "AIza", set: alnumDash, min: 35},
		{row: GoogleKey, prefixes: "ya29.", set: alnumDash, min: 20},
		{row: VendorToken, prefixes: "hf_ lin_api_", set: alnum, min: 20},
		{row: VendorToken, prefixes: "dop_v1_", set: "a-f0-9", min: 40},
		{row: VendorToken, prefixes: "pypi- hvs. dckr_pat_", set: alnumDash, min: 16},
		{row: VendorToken, prefixes: "ATATT", set: alnumDash + "=", min: 16},
		{row: VendorToken, prefixes: "AGE-SECRET-KEY-1", set: "A-Z0-9", min: 30},
	}
}

// maxHead is how much of a run is looked at to decide; what is then masked may be longer.
const maxHead = 512

// keyword is how the form's tokens with this prefix are found.
func (t tokenForm) keyword(prefix string) keyword {
	set, guard := chars(t.set), startsWord[[]byte]
	if t.inner {
		guard = nil
	}
	return keyword{text: strings.ToLower(prefix), row: t.row, guard: guard,
		find: func(s string, at, end int) (int, int, bool) {
			if s[at:end] != prefix || !t.inner && !startsWord(s, at, end) {
				return 0, 0, false
			}
			if set.end(s[:min(len(s), end+t.min)], end) < end+t.min || t.exact && end+t.min < len(s) && isWord(s[end+t.min]) ||
				t.digit && !strings.ContainsAny(s[end:set.end(s[:min(len(s), end+maxHead)], end)], digits) {
				return 0, 0, false
			}
			return at, wordEnd(s, set.end(s, end)), true
		}}
}

const digits = "0123456789"

// text is what guards read: a document or a string.
type text interface{ string | []byte }

// startsWord reports whether a token may begin at i: after no word byte, or after one that is the end of an escape (\n, %3D).
func startsWord[T text](s T, i, _ int) bool {
	switch {
	case i == 0 || !isWord(s[i-1]):
		return true
	case i >= 2 && s[i-2] == '\\' && (s[i-1] == 'n' || s[i-1] == 'r' || s[i-1] == 't' || s[i-1] == 'b' || s[i-1] == 'f'):
		return true
	case i >= 3 && s[i-3] == '%' && isHex(s[i-2]) && isHex(s[i-1]):
		return true
	case i >= 6 && s[i-6] == '\\' && s[i-5] == 'u':
		return true
	}
	return false
}

// wordEnd is where the word around i ends: a token is masked with all of its word.
func wordEnd(s string, i int) int {
	for i < len(s) && isWord(s[i]) {
		i++
	}
	return i
}

func isWord(b byte) bool  { return b == '_' || isDigit(b) || b|0x20 >= 'a' && b|0x20 <= 'z' }
func isDigit(b byte) bool { return b >= '0' && b <= '9' }
func isHex(b byte) bool   { return isDigit(b) || b|0x20 >= 'a' && b|0x20 <= 'f' }
func isSpace(b byte) bool { return b == ' ' || b >= '\t' && b <= '\r' }

// botToken reports digits before a colon and a long key after it (a Telegram bot's token, row 14).
func botToken[T text](s T, _, end int) bool {
	n := 0
	for i := end - 2; i >= 0 && isDigit(s[i]); i-- {
		if n++; n > 10 {
			return false
		}
	}
	if n < 8 || end+35 > len(s) {
		return false
	}
	for i := end; i < end+35; i++ {
		if !isWord(s[i]) && s[i] != '-' {
			return false
		}
	}
	return true
}

func findBotToken(s string, at, end int) (int, int, bool) {
	if !botToken(s, at, end) {
		return 0, 0, false
	}
	for at > 0 && isDigit(s[at-1]) {
		at--
	}
	if !startsWord(s, at, end) {
		return 0, 0, false
	}
	for to := end + 35; ; to++ {
		if to == len(s) || !isWord(s[to]) && s[to] != '-' {
			return at, to, true
		}
	}
}

// dashed is the alphabet of base64url.
var dashed = chars(alnumDash)

// findJWT finds a JSON web token (row 13): two parts that begin like JSON objects in base64, and a signature, which may be empty.
func findJWT(s string, at, end int) (int, int, bool) {
	if s[at:end] != "eyJ" || !startsWord(s, at, end) {
		return 0, 0, false
	}
	dot := dashed.end(s, end)
	if dot-end < 5 || !strings.HasPrefix(s[dot:], ".eyJ") {
		return 0, dot, false // a run that is no header is none from any of its bytes
	}
	payload := dashed.end(s, dot+1)
	if payload-dot < 9 || payload == len(s) || s[payload] != '.' {
		return 0, dot, false
	}
	return at, dashed.end(s, payload+1), true
}

// findSendGrid finds SG.<part>.<part> (row 14).
func findSendGrid(s string, at, end int) (int, int, bool) {
	if s[at:end] != "SG." || !startsWord(s, at, end) {
		return 0, 0, false
	}
	dot := dashed.end(s, end)
	if dot-end < 16 || dot == len(s) || s[dot] != '.' {
		return 0, 0, false
	}
	to := dashed.end(s, dot+1)
	if to-dot <= 16 {
		return 0, 0, false
	}
	return at, to, true
}

var webhookPath = chars(alnum + `/_\%` + "-")

// findWebhook finds the URL of an incoming webhook (row 10), whose path is the secret; the keyword is its host and first path element.
func findWebhook(s string, at, end int) (int, int, bool) {
	to := webhookPath.end(s, end)
	from := max(0, at-24)
	if scheme := strings.LastIndex(strings.ToLower(s[from:at]), "https"); to > end+1 && scheme >= 0 {
		return from + scheme, to, true
	}
	return 0, 0, false
}
