package redact_test

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/redact"
)

// goroot is where the standard library's sources are; without the go command the test is skipped.
func goroot(t testing.TB) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Skip("go: not installed")
	}
	src := filepath.Join(strings.TrimSpace(string(out)), "src")
	if _, err := os.Stat(src); err != nil {
		t.Skip("the sources of the standard library are not installed")
	}
	return src
}

// Most code has no secret in it: of the lines of the standard library, tests and keys in them included, at most one in a thousand may change.
func TestTheStandardLibraryStaysAsItIs(t *testing.T) {
	src := goroot(t)
	r := redact.New(redact.Options{})
	lines, changed := 0, 0
	rules := map[string]int{}
	samples := map[string][]string{}
	var spent time.Duration
	size := 0
	require.NoError(t, filepath.WalkDir(src, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		in := strings.Split(string(text), "\n")
		start := time.Now()
		out, _ := r.Lines(in)
		spent += time.Since(start)
		size += len(text)
		require.Len(t, out, len(in), path)
		lines += len(in)
		for i := range in {
			if in[i] == out[i] {
				continue
			}
			changed++
			_, rule, _ := strings.Cut(out[i], "[REDACTED:")
			rule, _, _ = strings.Cut(rule, "]")
			rules[rule]++
			samples[rule] = append(samples[rule], strings.TrimPrefix(path, src)+": "+strings.TrimSpace(in[i]))
		}
		return nil
	}))
	t.Logf("%d of %d lines changed (%.4f %%), %.0f MB/s", changed, lines, 100*float64(changed)/float64(lines), float64(size)/1e6/spent.Seconds())
	for _, rule := range slices.Sorted(maps.Keys(rules)) {
		t.Logf("%s: %d", rule, rules[rule])
		for _, s := range samples[rule][:min(len(samples[rule]), 3)] {
			t.Log("    ", s[:min(len(s), 120)])
		}
	}
	require.LessOrEqual(t, float64(changed)/float64(lines), 0.001)
}

// harmless are lines that look a little like secrets, and are none.
var harmless = []string{
	// prose
	"The password is required and must not be empty.", "Bearer authentication-required for this endpoint", "Error: token expired", "token: invalid",
	"Your access token has expired, please sign in again.", "password: required", "secret: missing", "the API key is missing", "api_key: optional",
	"The author of the task-list wrote it at 12:34:56.", "Authorization: required", "authorization: none", "Cookie: required", "no secrets: none found",
	"see the task-list for sk-learn and risk-management-of-large-projects", "Set the --token flag", "use --password to log in", "--token <token>", "--secret=$SECRET",
	"credentials: development", "password = undefined", "Password: ********", "secret: <your-secret>", "token: %s", "passwords and tokens: see below",
	// the skip list
	"password: ${DB_PASSWORD}", "password=$DB_PASSWORD", "PASSWORD=$(pass show db)", "token: {{ secrets.GITHUB_TOKEN }}", "token: ${{ secrets.GITHUB_TOKEN }}",
	"apiKey: process.env.OPENAI_API_KEY,", "api_key = os.environ['API_KEY']", "token: true", "secret: null,", "password: undefined,", "TOKEN=false",
	"token: config.apiKey,", "password = settings.database.password", "const token = getToken(request)", "secret := os.Getenv(\"SECRET\")", "token = tokens[index]",
	`"@scope/token": "workspace:*"`, `"js-token": "npm:js-tokens@4"`, `"my-secret": "file:../my-secret"`, `"style-dictionary-token": "^4.1.2"`, "token: 1.2.3-rc.1",
	"https://user:$PASSWORD@example.com/", "https://user:${PASSWORD}@example.com/", "https://user:<password>@example.com/", "postgres://user:%s@host/db",
	"password=[REDACTED:assignment]", "Authorization: Bearer $TOKEN", "Authorization: Bearer ${token}", `"Authorization": "Bearer " + token`, "Authorization: Bearer <token>",
	"curl -u $USER:$PASSWORD https://example.com", "curl -u user:${PASSWORD} https://example.com",
	// code about secrets
	"func (p *Parser) token() token.Token {", "if token == nil || token.Kind != Kind {", "token := p.next()", "case token.IDENT:", "import \"go/token\"",
	"type Credentials struct {", "password, ok := r.BasicAuth()", "req.Header.Set(\"Authorization\", \"Bearer \"+token)", "tokenizer: new Tokenizer(input),",
	"secret: crypto.randomBytes(32)", "this.password = password;", "self._password = password", "const { password } = await request.json();", "token::Token",
	"@Column() password: string;", "password: Mapped[str] = mapped_column(String(255))", "export type Token = { kind: string };", "token=token,", "pwd=os.path.dirname(x)",
	"assert user.password != \"\"", "+\tif secret == \"\" {", "-  const secret = useSecret();", "http.Cookie{Name: \"sid\", Value: id}", "cookie := &http.Cookie{", "const cookie = req.cookies.get(name)",
	"author: Ann", "authors: [\"Ann\"]", "authenticate(user)", "keyboard: qwerty", "public_key: ed25519", "key_id: 12345678", "max_tokens: 4096", "token_count: 12", `"max_tokens": 4096,`, `"total_tokens": 123456789`,
	"monkey: banana12345", "primary_key: identifier", "token: <jwt>", "tokens: 1234567890",
	// numbers and names
	"12:34:56", "2026-01-02T03:04:05.678Z", "commit 3f2b8c1d4e5f60718293a4b5c6d7e8f901234567", "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
	"550e8400-e29b-41d4-a716-446655440000", "github.com/countersign-dev/countersign/domain/redact", "h1:uQ6q0GJ0WJ1n4WJ5C9CX1BZZ0Cz1h4o4r8M0w3q1c2E=", "127.0.0.1:8080", "http://localhost:8080/path@v1",
	"https://example.com/a:b@c", "ssh://git@github.com/a/b.git", "git@github.com:a/b.git", "mailto:ann@example.com", "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ",
	"integrity: sha512-9n6r1cpEDyv7FQpYtLAvGOtcRAmbXjR9nXjRXn6r1cpEDyv7FQ==", "at 12345678:short", "line 12345678: unexpected end of the file in this place",
	"npm_config_registry=https://registry.npmjs.org/", "npm_lifecycle_event", "SGVsbG8gd29ybGQ=", "hf_hub_download", "AKIAlowercase", "eyJ is how a JWT begins", "curl -sSfL https://example.com | sh",
	"curl --user-agent x:y https://example.com", "-----BEGIN CERTIFICATE-----", "-----BEGIN PUBLIC KEY-----", `strings.Contains(s, "-----BEGIN PRIVATE KEY-----")`, "hooks.slack.com", "https://hooks.slack.com/services/",
}

func TestHarmlessLinesStayAsTheyAre(t *testing.T) {
	r := redact.New(redact.Options{})
	for _, line := range harmless {
		for _, in := range []string{line, "  " + line, "+" + line, "a line before\n" + line + "\na line after"} {
			out, n := r.Text(in)
			assert.Equal(t, in, out)
			assert.Zero(t, n, in)
		}
	}
}

func TestLongAndHostileTextIsMaskedInLinearTime(t *testing.T) {
	r := redact.New(redact.Options{})
	secret := "gh" + "p_" + strings.Repeat("x1", 20)
	out, n := r.Text(strings.Repeat("word ", 4000) + secret + strings.Repeat(" word", 4000))
	assert.Equal(t, 1, n)
	assert.NotContains(t, out, secret)
	out, _ = r.Text("password=" + strings.Repeat("a1/b(", 3000) + " next")
	assert.Equal(t, "password=[REDACTED:assignment] next", out, "a value is masked to its end, however long it is")
	for _, piece := range []string{"token=", "ey" + "J", "ey" + "J-", "eyJaaaaaa.", "sk-", "xox" + "b-", "curl -u ", "bearer+", "cookie: ", "https://", "https://a:", "-----BEGIN ", "token=\"", `token=\"`,
		"--token ", "1:", "authorization: bearer ", "password='", "password: |\n", "12345678:a", "-----END ", "-----BEGIN " + "PRIVATE KEY-----\"",
		"-----BEGIN " + "PRIVATE KEY-----\" -----END X-----", "authorization=process.env.", "curl/-ua:$x/", "token=$x.", "token=x(", "cookie: x ", "SG.aaaaaaaaaaaaaaaa."} {
		best := func(size int) time.Duration {
			text, least := strings.Repeat(piece, size/len(piece)), time.Hour
			for range 3 {
				start := time.Now()
				r.Text(text)
				least = min(least, time.Since(start))
			}
			return least
		}
		small := best(1 << 14)
		assert.Less(t, best(1<<17), 30*small+10*time.Millisecond, "eight times the text of %q costs about eight times as much; sixty-four would be square", piece)
	}
}

func TestLinesKeepsTheirNumber(t *testing.T) {
	r := redact.New(redact.Options{})
	key := []string{"a", "-----BEGIN " + "PRIVATE KEY-----", "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC", "BKcwggSjAgEAAoIBAQ==", "-----END " + "PRIVATE KEY-----", "b"}
	out, n := r.Lines(key)
	m := "[REDACTED:private_key]"
	assert.Equal(t, []string{"a", m, m, m, m, "b"}, out)
	assert.Equal(t, 1, n)
	out, n = r.Lines([]string{"password: |", "  hunter22!", "x\ny", "token: abcdef123456"})
	assert.Len(t, out, 4, "a line with a newline in it stays one")
	assert.Equal(t, "token: [REDACTED:assignment]", out[3])
	assert.Positive(t, n)
	clean := []string{"a", "b"}
	out, n = r.Lines(clean)
	assert.Equal(t, clean, out)
	assert.Zero(t, n)
	out, n = r.Lines(nil)
	assert.Empty(t, out)
	assert.Zero(t, n)
}

func TestUnfinishedPrivateKeysAreMaskedToTheEnd(t *testing.T) {
	r := redact.New(redact.Options{})
	for _, rest := range []string{"\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nBKcw", "\r\nMIIEvQIBADANBgkqhkiG9w0", `\nMIIEvQIBADANBgkqhkiG9w0`, "\nProc-Type: 4,ENCRYPTED\n", ""} {
		out, n := r.Text("key: -----BEGIN " + "RSA PRIVATE KEY-----" + rest)
		assert.Equal(t, "key: [REDACTED:private_key]", out)
		assert.Equal(t, 1, n)
	}
}

func TestSecretKey(t *testing.T) {
	r := redact.New(redact.Options{})
	for _, name := range []string{"password", "Password", "PASSWORD", "dbPassword", "DB_PASSWORD", "db.password", "db-password", "passwd", "passphrase", "pwd", "secret", "clientSecret",
		"client_secret", "token", "accessToken", "ACCESS_TOKEN", "next_page_token", "X-Auth-Token", "credential", "credentials", "awsCredentials", "authorization", "Proxy-Authorization", "cookie",
		"Set-Cookie", "api_key", "apiKey", "APIKey", "api-key", "apikey", "X-Api-Key", "OPENAI_API_KEY", "private_key", "privateKey", "accessKey", "AWS_SECRET_ACCESS_KEY", "AWSSecretKey", "account_key",
		"signing_key", "encryptionKey", "connection_string", "connectionString", "auth", "AUTH", "dsn", "DATABASE_URL", "databaseUrl", "redis_url", "npm_config__auth", "netrc", "pin", "cardPin"} {
		assert.True(t, redact.SecretKey(name), name)
		doc, n, err := r.JSON([]byte(`{"` + name + `":"x","n":{"\"":"{\"` + name + `\":[\"y\"]}"}}`))
		require.NoError(t, err)
		assert.Equal(t, 2, n, "%s", doc)
		env, _ := r.Text(strings.ToUpper(strings.NewReplacer("-", "_", ".", "_").Replace(name)) + "=q8Rf!x02kLm")
		assert.False(t, strings.Contains(env, "q8Rf") && !slices.Contains([]string{"auth", "AUTH", "pin", "cardPin", "cookie", "Set-Cookie", "authorization", "Proxy-Authorization",
			"connectionString", "databaseUrl", "APIKey", "AWSSecretKey"}, name), env)
	}
	for _, name := range []string{"", "_", "key", "keys", "public_key", "key_id", "keyboard", "author", "authors", "authored", "authentication", "max_tokens", "maxTokens", "token_count", "tokenCount", "total_tokens",
		"tokenizer", "passwordless", "secretary", "cookies_enabled", "monkey", "url", "base_url", "name", "shipping", "spin", "dsn_name", "auth_type", "oauth", "password_hint", "primary_key", "foreign_key"} {
		assert.False(t, redact.SecretKey(name), name)
		_, n, err := r.JSON([]byte(`{"` + name + `":"x"}`))
		require.NoError(t, err)
		assert.Zero(t, n, name)
	}
}

func TestJSONMasksLeavesAndKeepsTheRest(t *testing.T) {
	r := redact.New(redact.Options{Known: []string{"tulip-mania-1637"}})
	gh := "gh" + "p_" + strings.Repeat("a1", 18)
	for in, want := range map[string]string{
		`{"b":1.50,"a":"x","token":"abc","c":1e400}`:               `{"b":1.50,"a":"x","token":"[REDACTED:secret_key]","c":1e400}`,
		` { "text" : "see ` + gh + `" , "n" : [ 1 , 2 ] } `:        ` { "text" : "see [REDACTED:github_token]" , "n" : [ 1 , 2 ] } `,
		`{"password":12345,"pin":1234,"secret":true,"pwd":null}`:   `{"password":"[REDACTED:secret_key]","pin":"[REDACTED:secret_key]","secret":"[REDACTED:secret_key]","pwd":null}`,
		`{"token":12345,"api_key":false}`:                          `{"token":12345,"api_key":false}`,
		`{"credentials":{"user":"ann","n":1,"list":["x",{}]}}`:     `{"credentials":{"user":"[REDACTED:secret_key]","n":1,"list":["[REDACTED:secret_key]",{}]}}`,
		`{"body":"{\"token\":\"abc\",\"n\":1.0}"}`:                 `{"body":"{\"token\":\"[REDACTED:secret_key]\",\"n\":1.0}"}`,
		`{"body":"\"{\\\"pin\\\":1234}\""}`:                        `{"body":"\"{\\\"pin\\\":\\\"[REDACTED:secret_key]\\\"}\""}`,
		`{"\u0074oken":"abc"}`:                                     `{"\u0074oken":"[REDACTED:secret_key]"}`,
		`{"x":"\u0067` + gh[1:] + `"}`:                             `{"x":"[REDACTED:github_token]"}`,
		`["--token","abc","-u","x"]`:                               `["--token","[REDACTED:secret_key]","-u","x"]`,
		`["curl","-u","bob:hunter22","https://example.com"]`:       `["curl","-u","bob:[REDACTED:cli_user]","https://example.com"]`,
		`["--token","--verbose"]`:                                  `["--token","--verbose"]`,
		`{"url":"https:\/\/bob:s3cr3t@example.com\/x"}`:            `{"url":"https://bob:[REDACTED:url_credentials]@example.com/x"}`,
		`{"t":"a <b> & tulip-mania-1637"}`:                         `{"t":"a <b> & [REDACTED:known_value]"}`,
		`{"token":"","secret":"${SECRET}","password":" "}`:         `{"token":"","secret":"${SECRET}","password":" "}`,
		`{"token":"[REDACTED:secret_key]","a":{"author":"Ann"}}`:   `{"token":"[REDACTED:secret_key]","a":{"author":"Ann"}}`,
		`"password=hunter22!"`:                                     `"password=[REDACTED:assignment]"`,
		`12`:                                                       `12`,
		`{"max_tokens":4096,"key":"k","token_count":12,"key2":{}}`: `{"max_tokens":4096,"key":"k","token_count":12,"key2":{}}`,
	} {
		out, n, err := r.JSON([]byte(in))
		require.NoError(t, err)
		assert.Equal(t, want, string(out))
		assert.Equal(t, in != want, n > 0)
		again, n, err := r.JSON(out)
		require.NoError(t, err)
		assert.Equal(t, want, string(again))
		assert.Zero(t, n)
	}
	_, _, err := r.JSON([]byte(`{"token":"abc"`))
	require.ErrorIs(t, err, redact.ErrJSON)
}

func TestCleanAndVisible(t *testing.T) {
	for _, c := range []struct{ in, clean, visible string }{
		{"plain, ünïcödé\n\ttext", "plain, ünïcödé\n\ttext", "plain, ünïcödé\n\ttext"},
		{"\x1b[31mred\x1b[0m", "red", "\x1b[31mred\x1b[0m"},
		{"a\x1b[2K\x1b[1;31;4mb\x1b[?25lc", "abc", "\x00"},
		{"\x1b]0;title\x07x\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\", "xlink", "\x00"},
		{"\x1bPdata\x1b\\x\x1b(By\x1b7z\x1b", "xyz", "\x00"},
		{"\u009b31mred\x1b]unfinished", "red", "\x00"},
		{"\x1b\x1b[31mx\x1b[", "x", "\x00"},
		{"a\u200bb\u202ec\ufeffd\u2060e\U000e0041f\ufff9g", "abcdefg", "a␣U+200Bb␣U+202Ec␣U+FEFFd␣U+2060e␣U+E0041f␣U+FFF9g"},
	} {
		assert.Equal(t, c.clean, redact.Clean(c.in), "%q", c.in)
		if c.visible != "\x00" {
			assert.Equal(t, c.visible, redact.Visible(c.in))
		}
	}
}

// document is a JSON document of about size bytes without a secret in it.
func document(size int) []byte {
	var b strings.Builder
	b.WriteString(`{"items":[`)
	for i := 0; b.Len() < size-120; i++ {
		fmt.Fprintf(&b, `{"id":%d,"name":"item %d","path":"src/pkg/file_%d.go","url":"https://example.com/a/%d","at":"2026-01-02T03:04:05Z","ok":true},`, i, i, i, i)
	}
	b.WriteString(`{"id":0}]}`)
	return []byte(b.String())
}

func TestWhatIsCleanCostsNoAllocation(t *testing.T) {
	r := redact.New(redact.Options{Known: []string{"tulip-mania-1637"}})
	doc, text := document(4<<10), strings.Join(harmless, "\n")
	assert.Zero(t, testing.AllocsPerRun(100, func() { r.Text(text) }))
	assert.Zero(t, testing.AllocsPerRun(100, func() { r.JSON(doc) }))
	assert.Zero(t, testing.AllocsPerRun(100, func() { redact.Clean("plain text"); redact.Visible("plain text") }))
}

func TestOneRedactorServesMany(t *testing.T) {
	r := redact.New(redact.Options{Known: []string{"tulip-mania-1637"}, Home: "/home/ann"})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 50 {
				out, _ := r.With(fmt.Sprintf("known-value-%d", i)).Text(fmt.Sprintf("token=abcdef123456 tulip-mania-1637 known-value-%d", i))
				assert.Equal(t, "token=[REDACTED:assignment] [REDACTED:known_value] [REDACTED:known_value]", out)
				doc, _, err := r.JSON([]byte(`{"token":"abc","p":"/home/ann"}`))
				assert.NoError(t, err)
				assert.Equal(t, `{"token":"[REDACTED:secret_key]","p":"~"}`, r.Paths(string(doc)))
			}
		})
	}
	wg.Wait()
	_, n := r.Text("known-value-7")
	assert.Zero(t, n, "With leaves its receiver alone")
}

// mixed is size bytes of code, prose and logs in which one line in some hundred holds a secret.
func mixed(size int) string {
	gh := "gh" + "p_" + strings.Repeat("a1", 18)
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		switch i % 97 {
		case 13:
			fmt.Fprintf(&b, "2026-01-02T03:04:05Z INFO pushed with token=%s to https://bob:s3cr3t%d@example.com/x\n", gh, i)
		case 40:
			fmt.Fprintf(&b, "\treq.Header.Set(\"Authorization\", \"Bearer \"+token) // line %d\n", i)
		default:
			fmt.Fprintf(&b, "2026-01-02T03:04:%02d.123Z DEBUG [worker-%d] handled GET https://example.com/items/%d?page=%d in 12.5ms status=200 author=ann\n", i%60, i%8, i, i)
			b.WriteString("\tfor i, line := range strings.Split(text, \"\\n\") {\n\t\tif err := parse(line, options); err != nil {\n\t\t\treturn fmt.Errorf(\"line %d: %w\", i+1, err)\n")
		}
	}
	return b.String()
}

func BenchmarkText(b *testing.B) {
	r := redact.New(redact.Options{})
	text := mixed(10 << 20)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		r.Text(text)
	}
}

func BenchmarkTextClean(b *testing.B) {
	r := redact.New(redact.Options{})
	text := strings.ReplaceAll(string(document(1<<20)), "},", "},\n")
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		r.Text(text)
	}
}

func BenchmarkJSONClean4K(b *testing.B) {
	r := redact.New(redact.Options{})
	doc := document(4 << 10)
	b.SetBytes(int64(len(doc)))
	b.ReportAllocs()
	for b.Loop() {
		r.JSON(doc)
	}
}

func BenchmarkJSONWithASecret256K(b *testing.B) {
	r := redact.New(redact.Options{})
	doc := []byte(strings.Replace(string(document(256<<10)), `{"id":0}`, `{"token":"abc"}`, 1))
	b.SetBytes(int64(len(doc)))
	b.ReportAllocs()
	for b.Loop() {
		r.JSON(doc)
	}
}

func BenchmarkNew(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		redact.New(redact.Options{})
	}
}
