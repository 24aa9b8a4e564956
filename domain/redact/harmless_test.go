package redact_test

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/redact"
)

// TestHarmlessLines are lines that look a little like secrets and have to stay as they are.
func TestHarmlessLines(t *testing.T) {
	lines := []string{
		"a risk-free task-list of disk-usage-report-items-in-2026",
		"import sklearn as sk-learn-contrib-something",
		`const token = getToken(request, "x-token")`,
		`token := s.next()`,
		`password: config.database.password,`,
		`password = os.Getenv("DB_PASSWORD")`,
		`"password": process.env.DB_PASSWORD,`,
		`password: "${DB_PASSWORD}"`,
		`export TOKEN=$GITHUB_TOKEN`,
		`export TOKEN=$(cat /run/secrets/token)`,
		`PASSWORD=<your-password>`,
		`PWD=/home/somebody/projects/thing`,
		`OLDPWD=/home/somebody/projects`,
		`api_key: YOUR_API_KEY_HERE`,
		`secret: null`,
		`"token": "1.2.3",`,
		`"js-tokens": "^4.0.0",`,
		`"secret-handler": "workspace:*",`,
		`"@scope/token": "npm:other-package@^2.0.0",`,
		`func parseToken(token string, secret []byte) error {`,
		`if token == expectedToken {`,
		`type Token struct { Value string; Position int }`,
		`token: Optional[str] = None`,
		`case token.IDENT:`,
		`Invalid password: authentication failed for user postgres`,
		`error: password is required`,
		`"password": "Password is required"`,
		`placeholder="Enter your password"`,
		`PASSED: password reset spec`,
		`password: incorrect`,
		`max_tokens: 4096`,
		`"max_tokens": 40960000,`,
		`"token_count": 123456789,`,
		`author: somebody-with-a-long-name`,
		`keyboard = "qwertz-layout-105"`,
		`primary key: customer_order_id_2024`,
		`Bearer authentication-required`,
		`bearer of good news and other things`,
		`WWW-Authenticate: Bearer realm="example"`,
		`Authorization: Bearer <token>`,
		`Authorization: Bearer $TOKEN`,
		`Authorization: Bearer ${token}`,
		"headers.Authorization = `Bearer ${token}`",
		`Authorization: required`,
		`document.cookie = serialize(name)`,
		`cookie := http.Cookie{Name: name}`,
		`// Cookie: the name of a thing`,
		`https://example.com:8080/path?q=a@b.c`,
		`https://example.com:443?email=somebody@example.com`,
		`ssh://git@github.com:22/owner/repo.git`,
		`ssh://somebody-else@example.com/owner/repo.git`,
		`https://alice@example.com/owner/repo.git`,
		`https://example.com?email=somebody@example.com`,
		`https://${REGISTRY_TOKEN}@example.com/`,
		`git@github.com:owner/repo.git`,
		`https://user:${PASSWORD}@example.com/`,
		`postgres://app:%s@localhost:5432/main`,
		`postgres://app:****@localhost:5432/main`,
		`  --password string   the password to use`,
		`  --token TOKEN       authenticate with TOKEN`,
		`use --token to authenticate, or --password for the old way`,
		`curl -u $USER:$PASSWORD https://example.com`,
		`curl -sSfL https://example.com/install.sh`,
		`docker run -u 1000:1000 image`,
		`commit 3f2a9d0c5b7e8f1a2b3c4d5e6f708192a3b4c5d6`,
		`sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08`,
		`integrity sha512-abcDEF123/ghiJKL456+mnoPQR789==`,
		`550e8400-e29b-41d4-a716-446655440000`,
		`data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ`,
		`-----BEGIN CERTIFICATE-----`,
		`if strings.HasPrefix(s, "-----BEGIN ` + `PRIVATE KEY-----") {`,
		`const begin, end = "-----BEGIN ` + `PRIVATE KEY-----", "-----END ` + `PRIVATE KEY-----"`,
		`20240101:build-2024-number-one-two-three-four-five`,
		`[REDACTED:github_token]`,
		`token=[REDACTED:github_token]`,
		`Asia/Tokyo ASIA aida AIDA`,
		`pypi-server hf_hub npm_config_registry glpat- xoxb-`,
		"password:\n  description: the password\n  type: string",
		"token:\n    required: true",
	}
	r := redact.New(redact.Options{})
	for _, line := range lines {
		got, n := r.Text(line)
		assert.Equal(t, line, got)
		assert.Zero(t, n, line)
	}
}

// TestGoSources is the precision this package promises: of the Go standard library's sources, at most 0.1 % of the lines change.
func TestGoSources(t *testing.T) {
	if testing.Short() {
		t.Skip("reads all of GOROOT/src")
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Skip("go: not on the PATH")
	}
	src := filepath.Join(strings.TrimSpace(string(root)), "src")
	if _, err := os.Stat(src); err != nil {
		t.Skip("GOROOT/src: not installed")
	}
	r := redact.New(redact.Options{})
	changed, total := 0, 0
	var examples []string
	require.NoError(t, filepath.WalkDir(src, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil || bytes.IndexByte(text, 0) >= 0 {
			return err // binary
		}
		lines := strings.Split(string(text), "\n")
		masked, _ := r.Lines(lines)
		require.Len(t, masked, len(lines))
		total += len(lines)
		for i := range lines {
			if lines[i] != masked[i] {
				changed++
				if changed%25 == 1 || os.Getenv("REDACT_ALL") != "" {
					examples = append(examples, strings.TrimPrefix(path, src)+": "+masked[i])
				}
			}
		}
		return nil
	}))
	ratio := float64(changed) / float64(total)
	t.Logf("%d of %d lines changed: %.4f %%", changed, total, 100*ratio)
	assert.LessOrEqual(t, ratio, 0.001, strings.Join(examples, "\n"))
	if os.Getenv("REDACT_ALL") != "" {
		t.Log(strings.Join(examples, "\n"))
	}
}
