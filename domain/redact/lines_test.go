package redact_test

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/redact"
)

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
		start := worked(t)
		r.Text(strings.Repeat(piece, 1<<18/len(piece)))
		assert.Less(t, worked(t)-start, 2*time.Second, piece)
	}
}

// worked returns how long this process was on a processor: what others do on the machine does not count.
func worked(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
