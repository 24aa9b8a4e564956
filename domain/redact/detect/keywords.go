package detect

import "strings"

// keywords are the texts that call for a closer look.
func keywords() []keyword {
	list := []keyword{
		{text: "-----begin", row: PrivateKey, find: findPrivateKey},
		{text: "://", row: URLCredentials, find: findURL, guard: hasPassword[[]byte]}, {text: `:\/\/`, row: URLCredentials, find: findURL, guard: hasPassword[[]byte]},
		{text: "eyj", row: JWT, find: findJWT, guard: startsWord[[]byte]},
		{text: "sg.", row: VendorToken, find: findSendGrid, guard: startsWord[[]byte]},
		{text: "authorization", row: AuthHeader, find: findAuth, guard: valueFollows[[]byte]},
		{text: "bearer", row: Bearer, find: findBearer, guard: spaceFollows[[]byte]},
		{text: "cookie", row: Cookie, find: findCookie, guard: valueFollows[[]byte]},
		{text: "curl", row: CLIUser, find: findUser, guard: startsWord[[]byte]},
	}
	for _, host := range []string{"hooks.slack.com", "discord.com/api", "discordapp.com/api"} {
		for _, path := range []string{"/services/", "/workflows/", "/webhooks/"} {
			for _, slash := range []string{"/", `\/`, "%2f"} {
				list = append(list, keyword{text: strings.ReplaceAll(host+path, "/", slash), row: WebhookURL, find: findWebhook})
			}
		}
	}
	for _, form := range tokenForms() {
		for prefix := range strings.FieldsSeq(form.prefixes) {
			list = append(list, form.keyword(prefix))
		}
	}
	for i := range len(digits) {
		list = append(list, keyword{text: digits[i:i+1] + ":", row: VendorToken, find: findBotToken, guard: botToken[[]byte]})
	}
	for flag := range strings.FieldsSeq("password passwd token secret apikey api-key accesskey access-key client-secret auth-token") {
		list = append(list, keyword{text: "--" + flag, row: CLIFlag, find: findFlag})
	}
	for name := range strings.FieldsSeq("secret password passwd passphrase pwd token credential credentials") {
		list = append(list, keyword{text: name, row: Assignment, find: findAssignment, guard: valueFollows[[]byte]})
	}
	for kind := range strings.FieldsSeq("api private access account signing encryption") {
		for _, sep := range []string{"", "_", "-"} {
			list = append(list, keyword{text: kind + sep + "key", row: Assignment, find: findAssignment, guard: valueFollows[[]byte]})
		}
	}
	for name := range strings.FieldsSeq("database_url redis_url connection_string npm_config__auth dsn netrc") {
		list = append(list, keyword{text: name + "=", row: Assignment, find: findVariable})
	}
	// what only the key-name rule of JSON cares about
	for name := range strings.FieldsSeq(`auth" auth\ dsn" dsn\ pin" pin\ netrc npm_config__auth database_url databaseurl database-url database.url
		redis_url redisurl redis-url redis.url connection_string connectionstring connection-string connection.string api.key private.key
		access.key account.key signing.key encryption.key`) {
		list = append(list, keyword{text: name})
	}
	return list
}

func spaceFollows[T text](s T, _, end int) bool {
	return end < len(s) && (s[end] == ' ' || s[end] == '\t' || s[end] == '+' || s[end] == '%')
}

// valueFollows reports whether a separator comes soon after a name, with nothing but the name's end, quotes and spaces between.
func valueFollows[T text](s T, _, end int) bool {
	for i := end; i < len(s) && i < end+32; i++ {
		switch c := s[i]; {
		case c == ':' || c == '=' || c == '%':
			return true
		case isWord(c) || isSpace(c) || c == '-' || c == '.' || c == '\\' || c == '"' || c == '\'' || c == ']':
		default:
			return false
		}
	}
	return false
}

// hasPassword reports user:password@ after a scheme.
func hasPassword[T text](s T, _, end int) bool {
	_, _, ok := userInfo(s, end)
	return ok
}

// userInfo finds user:password@ at s[at:]: where its colon and its last @ are. The password may hold @ and :, the user neither.
func userInfo[T text](s T, at int) (colon, end int, ok bool) {
	colon = -1
	limit := min(len(s), at+600)
	for i := at; i < limit; i++ {
		switch c := s[i]; {
		case c == '/' || c == '"' || c == '\'' || c == '\\' || c == '?' && colon < 0 || c == '#' && colon < 0 || c <= ' ':
			return colon, end, ok
		case c == ':' && colon < 0:
			colon = i
		case c == '@' && colon < 0:
			return 0, 0, false
		case c == '@' && i > colon+1 && i-colon <= 257:
			end, ok = i, true
		}
	}
	return colon, end, ok
}
