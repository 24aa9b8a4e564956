package redact

import (
	"strings"
)

// rule is a row of the PackageFlow security contract §4.2. The order is the contract's: of two rules that match the same bytes, the first names the
// placeholder.
type rule uint8

const (
	privateKey rule = iota + 1
	urlCredentials
	anthropicKey
	openaiKey
	stripeKey
	githubToken
	gitlabToken
	npmToken
	slackToken
	webhookURL
	awsKeyID
	googleKey
	jwt
	vendorToken
	authHeader
	bearer
	cookie
	cliFlag // a flag of a command
	cliUser // curl -u
	assignment
	knownValue    // an exact value known to the process
	SecretKeyRule // the key-name rule of JSON
	noSuchRule
)

const openMark, closeMark = "[REDACTED:", "]"

// name returns the rule's name in the placeholder.
func (r rule) name() string {
	return [noSuchRule]string{"", "private_key", "url_credentials", "anthropic_key", "openai_key", "stripe_key", "github_token",
		"gitlab_token", "npm_token", "slack_token", "webhook_url", "aws_key_id", "google_key", "jwt", "vendor_token", "auth_header",
		"bearer", "cookie", "cli_flag", "cli_user", "assignment", "known_value", "secret_key"}[r]
}

// Placeholder returns the text that replaces a secret.
func (r rule) Placeholder() string { return openMark + r.name() + closeMark }

// placeholderAt returns the length of the placeholder at the start of s, or 0.
func placeholderAt(s string) int {
	if !strings.HasPrefix(s, openMark) {
		return 0
	}
	end := strings.Index(s[:min(len(s), len(openMark)+32)], closeMark)
	if end < 0 {
		return 0
	}
	for r := privateKey; r < noSuchRule; r++ {
		if s[len(openMark):end] == r.name() {
			return end + len(closeMark)
		}
	}
	return 0
}

// redacted reports whether v contains only placeholders and punctuation.
func redacted(v string) bool {
	if !strings.Contains(v, openMark) {
		return false
	}
	for len(v) > 0 {
		if n := placeholderAt(v); n > 0 {
			v = v[n:]
			continue
		}
		if isWord(v[0]) || v[0] >= 0x80 {
			return false
		}
		v = v[1:]
	}
	return true
}

// insidePlaceholder reports whether the byte at i of s is within a placeholder.
func insidePlaceholder(s string, i int) bool {
	from := max(0, i-len(openMark)-32)
	at := strings.LastIndex(s[from:min(len(s), i+len(openMark))], openMark)
	return at >= 0 && from+at <= i && i < from+at+placeholderAt(s[from+at:])
}

// kind determines how the text around a keyword is examined.
type kind uint8

const (
	tokenKind   kind = iota // a token with a distinctive prefix: the keyword itself, case-sensitive
	pemKind                 // a private key's first line
	urlKind                 // user:password@ after ://
	hookKind                // a webhook's address
	botKind                 // eight digits and a colon
	authKind                // an Authorization header
	bearerKind              // a bearer token
	cookieKind              // a Cookie header
	curlKind                // curl -u user:password
	assignKind              // a name that marks its value as secret
	wholeKind               // the same, if it is the whole name of an environment variable
	nameKind                // the end of a quoted name: used only for JSON
	unicodeKind             // an ASCII character written \u00xx: used only for JSON
)

// keyword is a text that triggers a closer examination. For a token, set and min describe what must follow it.
type keyword struct {
	text string
	kind kind
	rule rule
	set  set
	min  int
}

// keywords returns everything that the filter finds. None is shorter than three bytes.
func keywords() []keyword {
	words := []keyword{
		{text: "BEGIN", kind: pemKind},
		{text: "://", kind: urlKind}, {text: `:\/\/`, kind: urlKind}, {text: "%3A%2F%2F", kind: urlKind},
		{text: "hooks.slack.com", kind: hookKind}, {text: "discord.com", kind: hookKind}, {text: "discordapp.com", kind: hookKind},
		{text: "00:", kind: botKind}, {text: "00%3A", kind: botKind},
		{text: "authorization", kind: authKind}, {text: "bearer", kind: bearerKind}, {text: "cookie", kind: cookieKind},
		{text: "curl", kind: curlKind}, {text: `\u00`, kind: unicodeKind},
	}
	for _, w := range strings.Fields("secret password passwd passphrase pwd token credential connection_string connection-string connectionstring") {
		words = append(words, keyword{text: w, kind: assignKind})
	}
	for _, w := range strings.Fields("api private access account signing encryption") {
		words = append(words, keyword{text: w + "key", kind: assignKind}, keyword{text: w + "_key", kind: assignKind},
			keyword{text: w + "-key", kind: assignKind})
	}
	for _, w := range strings.Fields("dsn database_url redis_url npm_config__auth netrc") {
		words = append(words, keyword{text: w, kind: wholeKind})
	}
	for _, w := range strings.Fields("key auth dsn url netrc string pin") {
		words = append(words, keyword{text: w + `"`, kind: nameKind}, keyword{text: w + `\`, kind: nameKind})
	}
	return append(words, tokens()...)
}

// tokens returns the keywords of rows 3 to 9 and 11 to 14. The set is the characters of the token; the minimum counts the bytes after the keyword.
func tokens() []keyword {
	var words []keyword
	add := func(r rule, set set, minimum int, list string) {
		for _, w := range strings.Fields(list) {
			words = append(words, keyword{text: w, rule: r, set: set, min: minimum})
		}
	}
	add(openaiKey, Alnum|underscore|dash, 16, "sk-") // and anthropicKey: see token
	add(stripeKey, Alnum, 10, "sk_live_ sk_test_ pk_live_ pk_test_ rk_live_ rk_test_")
	add(stripeKey, Alnum, 16, "whsec_")
	add(githubToken, Alnum, 20, "ghp_ gho_ ghu_ ghs_ ghr_")
	add(githubToken, Alnum|underscore, 20, "github_pat_")
	add(gitlabToken, Alnum|underscore|dash, 16, "glpat- gldt- glrt- glptt- glcbt- glsoat- gloas-")
	add(npmToken, Alnum, 20, "npm_")
	add(slackToken, Alnum|dash, 8, "xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs-")
	add(awsKeyID, digit|Upper, 16, "AKIA ASIA AGPA AROA AIDA ANPA ANVA AIPA")
	add(googleKey, Alnum|underscore|dash, 35, "AIza")
	add(googleKey, Alnum|underscore|dash, 20, "ya29.")
	add(jwt, Alnum|underscore|dash, 5, "eyJ")
	add(vendorToken, Alnum, 20, "hf_ lin_api_")
	add(vendorToken, digit|hexLower, 40, "dop_v1_")
	add(vendorToken, Alnum|underscore|dash, 16, "SG. pypi- hvs. dckr_pat_")
	add(vendorToken, Alnum|underscore|dash|equals, 16, "ATATT")
	add(vendorToken, digit|Upper, 30, "AGE-SECRET-KEY-1")
	return words
}
