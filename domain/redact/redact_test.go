package redact_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/redact"
)

var github = "gh" + "p_" + strings.Repeat("a1B2", 9)

func TestTextKeepsWhatTheRowSays(t *testing.T) {
	pass := "hunter2" + "hunter2"
	tests := map[string][2]string{
		"scheme, user and host":  {"postgres://app:" + pass + "@db:5432/x", "postgres://app:[REDACTED:url_credentials]@db:5432/x"},
		"a token for a user":     {"https://x7yz" + pass + "@git.example.com/a/b", "https://[REDACTED:url_credentials]@git.example.com/a/b"},
		"an @ in the password":   {"redis://:p@ss" + pass + "@cache", "redis://:[REDACTED:url_credentials]@cache"},
		"a URL in JSON of PHP":   {`https:\/\/bob:` + pass + `@host`, `https:\/\/bob:[REDACTED:url_credentials]@host`},
		"header and scheme":      {"Authorization: Basic " + pass, "Authorization: Basic [REDACTED:auth_header]"},
		"bearer":                 {"sent bearer " + pass + "xyz.", "sent bearer [REDACTED:bearer]"},
		"cookie header's name":   {"Set-Cookie: sid=" + pass + "; Path=/\nnext", "Set-Cookie: [REDACTED:cookie]\nnext"},
		"quotes around cookie":   {`curl -H 'Cookie: sid=` + pass + `' https://x.example`, `curl -H 'Cookie: [REDACTED:cookie]' https://x.example`},
		"flag":                   {"run --password " + pass + " --port 80", "run --password [REDACTED:cli_flag] --port 80"},
		"flag, quoted":           {`run --token="two words" x`, `run --token="[REDACTED:cli_flag]" x`},
		"flag in a list":         {`["--token", "` + pass + `"]`, `["--token", "[REDACTED:cli_flag]"]`},
		"command and user":       {"curl -s -u bob:" + pass + " https://x.example", "curl -s -u bob:[REDACTED:cli_user] https://x.example"},
		"key and double quotes":  {`password = "my cat's name"`, `password = "[REDACTED:assignment]"`},
		"key and single quotes":  {`'password' => '` + pass + `',`, `'password' => '[REDACTED:assignment]',`},
		"Go's :=":                {`apiKey := "` + pass + `"`, `apiKey := "[REDACTED:assignment]"`},
		"Python's bytes":         {`secret = b"` + pass + `"`, `secret = b"[REDACTED:assignment]"`},
		"subscript":              {`config["api_key"] = "` + pass + `"`, `config["api_key"] = "[REDACTED:assignment]"`},
		"escaped quotes":         {`{\"password\":\"` + pass + `\",\"n\":1}`, `{\"password\":\"[REDACTED:assignment]\",\"n\":1}`},
		"an escaped quote in it": {`"password": "a\"` + pass + `", "n": 1`, `"password": "[REDACTED:assignment]", "n": 1`},
		"YAML":                   {"password: " + pass + "\nport: 1", "password: [REDACTED:assignment]\nport: 1"},
		"YAML block":             {"password: |-\n  " + pass + "\nport: 1", "password: |-\n  [REDACTED:assignment]\nport: 1"},
		"URL query":              {"https://x.example/?token=" + pass + "&page=2", "https://x.example/?token=[REDACTED:assignment]&page=2"},
		"closing bracket":        {"(token=" + pass + ")", "(token=[REDACTED:assignment])"},
		"the specific name":      {"token=" + github, "token=[REDACTED:github_token]"},
		"cut off by a bound":     {`"password": "` + pass, `"password": "[REDACTED:assignment]`},
		"two secrets":            {github + " " + github, "[REDACTED:github_token] [REDACTED:github_token]"},
		"colour before a token":  {"\x1b[32m" + github + "\x1b[0m", "\x1b[32m[REDACTED:github_token]\x1b[0m"},
		"numeric password":       {"password=12345678", "password=[REDACTED:assignment]"},
	}
	r := redact.New(redact.Options{})
	for name, tt := range tests {
		got, n := r.Text(tt[0])
		assert.Equal(t, tt[1], got, name)
		assert.Equal(t, strings.Count(tt[1], "[REDACTED:"), n, name)
	}
}

func TestPrivateKeys(t *testing.T) {
	line := strings.Repeat("MIIE"+"vQIB", 8)
	key := "-----BEGIN " + "RSA PRIVATE KEY-----\n" + line + "\n" + line + "\n-----END " + "RSA PRIVATE KEY-----"
	r := redact.New(redact.Options{})
	tests := map[string][2]string{
		"whole":           {"a\n" + key + "\nb", "a\n[REDACTED:private_key]\nb"},
		"cut off":         {"a\n" + key[:80], "a\n[REDACTED:private_key]"},
		"cut by a marker": {key[:80] + "\n[cut: the result is longer]\nnext", "[REDACTED:private_key]\n[cut: the result is longer]\nnext"},
		"escaped":         {`"` + strings.ReplaceAll(key, "\n", `\n`) + `"`, `"[REDACTED:private_key]"`},
		"concatenated":    {strings.ReplaceAll(key, "\n", "\\n\" +\n\t\""), "[REDACTED:private_key]"},
		"two":             {key + "\n" + key, "[REDACTED:private_key]\n[REDACTED:private_key]"},
		"PGP":             {strings.ReplaceAll(key, "RSA PRIVATE KEY", "PGP PRIVATE KEY BLOCK"), "[REDACTED:private_key]"},
	}
	for name, tt := range tests {
		got, _ := r.Text(tt[0])
		assert.Equal(t, tt[1], got, name)
	}
	public := strings.ReplaceAll(key, "RSA PRIVATE", "PUBLIC")
	got, n := r.Text(public)
	assert.Equal(t, public, got)
	assert.Zero(t, n)
}

func TestLinesKeepTheirNumber(t *testing.T) {
	body := strings.Repeat("MIIE"+"vQIB", 8)
	lines := []string{"first", "x := `-----BEGIN " + "PRIVATE KEY-----", body, "", body, "-----END " + "PRIVATE KEY-----` // end", "token=" + github, "last"}
	r := redact.New(redact.Options{Known: []string{"one two\nthree four"}})
	got, n := r.Lines(append(lines, "say one two", "three four."))
	const key = "[REDACTED:private_key]"
	assert.Equal(t, []string{"first", "x := `" + key, key, "", key, key + "` // end", "token=[REDACTED:github_token]", "last",
		"say [REDACTED:known_value]", "[REDACTED:known_value]."}, got)
	assert.Equal(t, 3, n)

	clean := []string{"a", "b"}
	got, n = r.Lines(clean)
	assert.Same(t, &clean[0], &got[0], "clean lines are returned themselves")
	assert.Zero(t, n)
	got, _ = r.Lines(nil)
	assert.Empty(t, got)
}

func TestKnownValuesInEveryForm(t *testing.T) {
	const secret = "pä$$ \"word\"/<x>&1"
	r := redact.New(redact.Options{Known: []string{secret, "short"}})
	plain, _ := json.Marshal(secret)
	nested, _ := json.Marshal(string(plain))
	forms := map[string]string{
		"plain": secret, "JSON": string(plain), "JSON in JSON": string(nested), "query": "p%C3%A4%24%24+%22word%22%2F%3Cx%3E%261",
		"query, lower case": "p%c3%a4%24%24+%22word%22%2f%3cx%3e%261", "base64": "cMOkJCQgIndvcmQiLzx4PiYx", "basic": "Ym9iOnDDpCQkICJ3b3JkIi88eD4mMQ==",
	}
	for name, form := range forms {
		got, n := r.Text("value " + form + " end")
		assert.Contains(t, got, "[REDACTED:known_value]", name)
		assert.Equal(t, 1, n, name)
	}
	got, n := r.Text("a short text")
	assert.Equal(t, "a short text", got)
	assert.Zero(t, n)

	more := r.With("another secret value")
	_, n = r.Text("another secret value")
	assert.Zero(t, n, "With leaves the original alone")
	_, n = more.Text("another secret value and " + secret)
	assert.Equal(t, 2, n)

	odd := redact.New(redact.Options{Known: []string{"REDACTED:known", "github_token"}})
	got, _ = odd.Text("github_token is " + github)
	assert.Equal(t, "[REDACTED:known_value] is [REDACTED:github_token]", got, "placeholders are never masked")
}

func TestPaths(t *testing.T) {
	r := redact.New(redact.Options{Home: "/home/bob/"})
	for in, want := range map[string]string{
		"/home/bob": "~", "open /home/bob/x: denied": "open ~/x: denied", "/home/bobby/x": "/home/bobby/x", "/mnt/home/bob/x": "/mnt/home/bob/x",
		"file:///home/bob/a": "file://~/a", `{"p":"\/home\/bob\/a"}`: `{"p":"~\/a"}`, "p=%2Fhome%2Fbob%2Fa": "p=~%2Fa", "cc -I/home/bob/inc": "cc -I~/inc",
		"/home/bob.": "~.", "/home/bob.old/x": "/home/bob.old/x", `"/home/bob","/home/bob/y"`: `"~","~/y"`, "": "",
	} {
		assert.Equal(t, want, r.Paths(in))
	}
	windows := redact.New(redact.Options{Home: `C:\Users\bob`})
	assert.Equal(t, `~\x and "~\\x"`, windows.Paths(`C:\Users\bob\x and "C:\\Users\\bob\\x"`))
	for _, home := range []string{"", "/", `C:\`} {
		assert.Equal(t, "/home/bob/x", redact.New(redact.Options{Home: home}).Paths("/home/bob/x"))
	}
}

func TestSecretKey(t *testing.T) {
	for _, name := range strings.Fields("password PASSWORD dbPassword DB_PASSWORD user.passwd passphrase pwd clientSecret secret token accessToken X-Auth-Token " +
		"credential credentials awsCredentials Authorization Proxy-Authorization cookie Set-Cookie apiKey api_key X-Api-Key APIKey apikey privateKey ssh-private-key " +
		"access_key AWS_SECRET_ACCESS_KEY accountKey signing_key ENCRYPTION_KEY SECRET_KEY connectionString auth dsn database_url DATABASE_URL redisUrl " +
		"npm_config__auth _auth netrc pin //registry.npmjs.org/:_authToken confirm_token") {
		assert.True(t, redact.IsSecretKey(name), name)
	}
	for _, name := range strings.Fields("tokens max_tokens token_count author authors key public_key publicKey key_id access_key_id keyboard secretary passwords_changed " +
		"password_hash_count monkey url name spin pinned dsnName my_dsn tokenizer cookies") {
		assert.False(t, redact.IsSecretKey(name), name)
	}
	assert.False(t, redact.IsSecretKey(""))
	assert.True(t, redact.IsSecretKey(strings.Repeat("very_", 40)+"secret"))
}

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"plain\ttext\r\n": "plain\ttext\r\n", "\x1b[1;31mred\x1b[0m": "red", "\x1b]0;title\x07text": "text", "\x1b]8;;https://x\x1b\\link\x1b]8;;\x1b\\": "link",
		"a\u202Eb\u200Bc\uFEFFd\U000E0041e": "abcde", "\u009b31mx": "x", "\x1b(Bx": "x", "\x1b": "", "\x1b\x1b[0m[31m": "[31m", "a\bb\x00": "ab",
		"\x1b]never ends\nnext": "\nnext", "\x1bP1$q\x1b\\x": "x", "naïve 日本語 🙂": "naïve 日本語 🙂", "bad\xff": "bad\uFFFD", "\u2066x\u2069": "x",
	} {
		assert.Equal(t, want, redact.StripControl(in), "%q", in)
	}
}

func TestJSON(t *testing.T) {
	tests := map[string][2]string{
		"key-name rule":       {`{"password":"x","note":"y"}`, `{"password":"[REDACTED:secret_key]","note":"y"}`},
		"camel case":          {`{"clientSecret": "x"}`, `{"clientSecret": "[REDACTED:secret_key]"}`},
		"in arrays":           {`{"Authorization":["a","b"]}`, `{"Authorization":["[REDACTED:secret_key]","[REDACTED:secret_key]"]}`},
		"in objects":          {`{"credentials":{"user":"bob","n":[1,"x"]},"b":"x"}`, `{"credentials":{"user":"[REDACTED:secret_key]","n":[1,"[REDACTED:secret_key]"]},"b":"x"}`},
		"numbers stay":        {`{"token":12.50,"max_tokens":1e3,"x":"token=` + github + `"}`, `{"token":12.50,"max_tokens":1e3,"x":"token=[REDACTED:github_token]"}`},
		"numbers of a PIN":    {`{"pin":1234,"password":null,"secret":true}`, `{"pin":"[REDACTED:secret_key]","password":null,"secret":"[REDACTED:secret_key]"}`},
		"order and layout":    {"{ \"b\" : 1 ,\n \"a\":\t\"" + github + "\" }", "{ \"b\" : 1 ,\n \"a\":\t\"[REDACTED:github_token]\" }"},
		"JSON in a string":    {`{"body":"{\"n\": 1.0, \"token\": \"x\"}"}`, `{"body":"{\"n\": 1.0, \"token\": \"[REDACTED:secret_key]\"}"}`},
		"and once more":       {`{"a":"{\"b\":\"{\\\"token\\\":\\\"x\\\"}\"}"}`, `{"a":"{\"b\":\"{\\\"token\\\":\\\"[REDACTED:secret_key]\\\"}\"}"}`},
		"written as escapes":  {`{"p\u0061ssword":"x","t":"\u0067hp_` + github[4:] + `"}`, `{"p\u0061ssword":"[REDACTED:secret_key]","t":"[REDACTED:github_token]"}`},
		"behind an escape":    {`{"log":"a\n` + github + `\tb"}`, `{"log":"a\n[REDACTED:github_token]\tb"}`},
		"flag in a list":      {`["run","--password","x7yz"]`, `["run","--password","[REDACTED:cli_flag]"]`},
		"curl in a list":      {`["curl","-u","bob:x7yz"]`, `["curl","-u","bob:[REDACTED:cli_user]"]`},
		"name and value":      {`[{"name":"DB_PASSWORD","value":"x"},{"name":"PORT","value":"80"}]`, `[{"name":"DB_PASSWORD","value":"[REDACTED:secret_key]"},{"name":"PORT","value":"80"}]`},
		"a bare string":       {`"` + github + `"`, `"[REDACTED:github_token]"`},
		"escapes are kept":    {`{"a":"` + github + ` <b> \u00e9 \"q\" \\ \u0001"}`, `{"a":"[REDACTED:github_token] <b> é \"q\" \\ \u0001"}`},
		"secret in a URL":     {`{"u":"https:\/\/bob:` + "x7yz" + `@h\/"}`, `{"u":"https://bob:[REDACTED:url_credentials]@h/"}`},
		"header with a quote": {`{"h":"Cookie: sid=abcdef12345; x=\"1\""}`, `{"h":"Cookie: [REDACTED:cookie]\"1\""}`},
	}
	r := redact.New(redact.Options{})
	for name, tt := range tests {
		got, n, err := r.JSON([]byte(tt[0]))
		require.NoError(t, err, name)
		assert.Equal(t, tt[1], string(got), name)
		assert.Equal(t, strings.Count(tt[1], "[REDACTED:"), n, name)
	}
}

func TestJSONLeavesAlone(t *testing.T) {
	r := redact.New(redact.Options{})
	for _, doc := range []string{
		`{}`, `[]`, `null`, `12`, `"x"`, `{"author":"x","key":"y","max_tokens":5,"pwd":"/home/bob"}`, `{"token":"${GITHUB_TOKEN}","secret":""}`,
		`{"password":"[REDACTED:secret_key]"}`, `{"properties":{"token":{"type":"string","description":"The token to use."}}}`,
		`{"text":"if token == nil {\n\treturn errToken\n}"}`, `{"a":"\u003cb\u003e"}`,
	} {
		got, n, err := r.JSON([]byte(doc))
		require.NoError(t, err)
		assert.Equal(t, doc, string(got))
		assert.Zero(t, n)
	}
	doc := []byte(`{"a":1}`)
	got, _, _ := r.JSON(doc)
	assert.Same(t, &doc[0], &got[0], "a clean document is returned itself")
}

func TestJSONRefusesWhatItCannotRead(t *testing.T) {
	r := redact.New(redact.Options{})
	for _, doc := range []string{`{"password":"x"`, `{"password":x}`, `password="hunter2hunter2"`, `{"token":"a` + "\n" + `b"}`} {
		got, _, err := r.JSON([]byte(doc))
		assert.ErrorIs(t, err, redact.ErrJSON, doc)
		assert.Empty(t, got, "nothing unread is returned")
	}
}
