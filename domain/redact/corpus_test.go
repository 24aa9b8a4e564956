package redact_test

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/redact"
)

// maker makes fake secrets out of random pieces at run time, so that no scanner finds one in this file.
type maker struct{ *rand.Rand }

const (
	lowerDigits = "abcdefghijklmnopqrstuvwxyz0123456789"
	letters     = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	alnum       = letters + "0123456789"
	urlSafe     = alnum + "_-"
	std64       = alnum + "+/"
)

// of returns n characters of set, the first a letter and with a digit and letters among them, as nearly every random secret has.
func (m maker) of(set string, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = set[m.Intn(len(set))]
	}
	for i, c := range "k7Q2" {
		if at := i * 2; at < n && strings.ContainsRune(set, c) {
			b[at] = byte(c)
		}
	}
	if last := b[n-1]; last == '-' || last == '_' {
		b[n-1] = 'x'
	}
	return string(b)
}

// sample is one secret with the words around it that its rule needs: text holds secret, which must not survive in any part.
type sample struct{ text, secret string }

func whole(s string) sample { return sample{s, s} }

// rows make a sample of each row of the contract's table that Text masks.
func rows(m maker) map[string]func(i int) sample {
	pick := func(i int, of ...string) string { return of[i%len(of)] }
	return map[string]func(i int) sample{
		"private_key": func(i int) sample {
			label := pick(i, "PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY", "OPENSSH PRIVATE KEY", "ENCRYPTED PRIVATE KEY")
			body := m.of(std64, 64) + "\n" + m.of(std64, 64) + "\n" + m.of(std64, 22) + "=="
			return sample{"-----BEGIN " + label + "-----\n" + body + "\n-----END " + label + "-----", body}
		},
		"url_credentials": func(i int) sample {
			p := m.of(alnum+"!.*~-", 14)
			return sample{pick(i, "postgres", "mysql", "redis", "mongodb+srv", "https", "amqp") + "://" + pick(i, "app", "root", "", "svc_1") + ":" + p + "@db.example.com:5432/main", p}
		},
		"anthropic_key": func(int) sample { return whole("sk-" + "ant-api03-" + m.of(urlSafe, 80)) },
		"openai_key": func(i int) sample {
			return whole("sk-" + pick(i, "", "proj-", "svcacct-", "admin-") + m.of(urlSafe, 48))
		},
		"stripe_key": func(i int) sample {
			return whole(pick(i, "sk_", "pk_", "rk_", "whsec") + pick(i, "live_", "test_", "live_", "_") + m.of(alnum, 24))
		},
		"github_token": func(i int) sample {
			return whole(pick(i, "gh"+"p_", "gh"+"o_", "gh"+"s_", "github_"+"pat_", "gh"+"u_", "gh"+"r_") + m.of(alnum, 36))
		},
		"gitlab_token": func(i int) sample {
			return whole("gl" + pick(i, "pat", "dt", "rt", "ptt", "cbt", "soat", "oas") + "-" + m.of(urlSafe, 20))
		},
		"npm_token": func(int) sample { return whole("npm" + "_" + m.of(alnum, 36)) },
		"slack_token": func(i int) sample {
			return whole("xo" + "x" + pick(i, "b", "p", "a", "s") + "-" + m.of("0123456789", 11) + "-" + m.of(alnum, 24))
		},
		"webhook_url": func(i int) sample {
			id := m.of(alnum, 24)
			return sample{"https://" + pick(i, "hooks.slack.com/services/T0AB/B0CD/", "discord.com/api/webhooks/1234/", "ptb.discord.com/api/webhooks/99/",
				"hooks.slack.com/workflows/T1/", "discordapp.com/api/webhooks/7/") + id, id}
		},
		"aws_key_id": func(i int) sample {
			return whole(pick(i, "AK"+"IA", "AS"+"IA", "AR"+"OA", "AI"+"DA") + m.of("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16))
		},
		"google_key": func(i int) sample { return whole(pick(i, "AI"+"za"+m.of(urlSafe, 35), "ya"+"29."+m.of(urlSafe, 60))) },
		"jwt": func(i int) sample {
			return whole("ey" + "JhbGciOi" + m.of(urlSafe, 20) + ".ey" + "Jzd" + m.of(urlSafe, 60) + "." + pick(i, m.of(urlSafe, 43), m.of(urlSafe, 86)))
		},
		"vendor_token": func(i int) sample {
			return whole(pick(i, "hf"+"_"+m.of(alnum, 34), "dop"+"_v1_"+m.of("abcdef0123456789", 64), "SG"+"."+m.of(urlSafe, 22)+"."+m.of(urlSafe, 43),
				"pypi"+"-"+m.of(urlSafe, 60), "hv"+"s."+m.of(urlSafe, 24), "ATA"+"TT3x"+m.of(urlSafe, 40)+"="+m.of("ABCDEF0123456789", 8), "lin"+"_api_"+m.of(alnum, 40),
				"dckr"+"_pat_"+m.of(urlSafe, 27), "AGE-"+"SECRET-KEY-1"+m.of("ABCDEFGHJKLMNPQRSTUVWXYZ0123456789", 58), "71234"+"56789:"+m.of(urlSafe, 35)))
		},
		"auth_header": func(i int) sample {
			v := m.of(std64, 30)
			return sample{pick(i, "Authorization: Bearer ", "authorization: Basic ", "Authorization: token ", "Proxy-Authorization: Basic ", "Authorization: ") + v, v}
		},
		"bearer": func(i int) sample {
			v := m.of(urlSafe+".", 40)
			return sample{pick(i, "Bearer ", "bearer ", "BEARER ") + v, v}
		},
		"cookie": func(i int) sample {
			v := m.of(alnum, 26)
			return sample{pick(i, "Cookie: session=", "Set-Cookie: sid=", "cookie: theme=dark; auth=") + v + pick(i, "", "; Path=/; HttpOnly", "; b=c"), v}
		},
		"cli_flag": func(i int) sample {
			v := m.of(alnum+"!-_", 16)
			return sample{"deploy " + pick(i, "--password ", "--token=", "--api-key ", "--secret=", "--client-secret ", "--access-key=", "--auth-token ", "--passwd=") + v, v}
		},
		"cli_user": func(i int) sample {
			v := m.of(alnum, 14)
			return sample{"curl " + pick(i, "-u ", "--user ", "-s -u ", "-fsS -X POST --user=", "-u") + "admin:" + v, v}
		},
		"assignment": func(i int) sample {
			v := m.of(alnum+"!^*_-", 18)
			return sample{pick(i, "password", "api_key", "DB_PASSWORD", "client_secret", "aws_secret_access_key", "app.token", "privateKey", "passphrase") + pick(i, "=", ": ", "=", " = ") + v, v}
		},
		"known_value": func(i int) sample { return whole(knownValues()[i%len(knownValues())]) },
	}
}

func knownValues() []string {
	return []string{"tango/bravo+golf&hotel", "seven wide oceans", "pa\"ss\\word#quoted", "zażółć-gęślą-jaźń", "oscar.lima.quebec"}
}

// shapes wrap a sample in the ten surroundings of the corpus.
func shapes() map[string]func(s sample) string {
	inJSON := func(s string) string { b, _ := json.Marshal(s); return string(b) }
	return map[string]func(s sample) string{
		"quoted":   func(s sample) string { return "run(" + strconv.Quote(s.text) + ") // as seen in a program" },
		"unquoted": func(s sample) string { return "2026-11-21T10:11:12Z INFO worker 17 got " + s.text + " and went on" },
		"json":     func(s sample) string { return `{"level":"info","note":` + inJSON(s.text) + `,"count":12}` },
		"yaml": func(s sample) string {
			return "service:\n  replicas: 2\n  note: " + strings.ReplaceAll(s.text, "\n", "\n    ") + "\n  port: 80\n"
		},
		"env": func(s sample) string { return "PORT=8080\nexport NOTE=" + s.text + "\nDEBUG=1\n" },
		"header": func(s sample) string {
			return "GET / HTTP/1.1\r\nHost: example.com\r\nX-Note: " + s.text + "\r\nAccept: */*\r\n\r\n"
		},
		"url": func(s sample) string {
			return "https://api.example.com/v1/cb?page=2&note=" + url.QueryEscape(s.text) + "&sort=asc"
		},
		"diff": func(s sample) string {
			return "@@ -1,3 +1,3 @@\n context\n-old\n+" + strings.ReplaceAll(s.text, "\n", "\n+") + "\n context\n"
		},
		"multi-line": func(s sample) string {
			return "first line\nsecond line\n\n" + breakLine(s) + "\nthe line after\n"
		},
		"escaped": func(s sample) string {
			b := inJSON(`{"log":` + inJSON("before\n"+s.text+"\nafter") + `}`)
			return `msg=` + b + ` done`
		},
	}
}

// breakLine puts the secret on a line below the words that go before it, where the notation of the time allows that.
func breakLine(s sample) string {
	before, _, ok := strings.Cut(s.text, s.secret)
	switch {
	case !ok || before == "" || strings.Contains(before, "-----"):
		return s.text
	case strings.HasSuffix(before, ": ") && !strings.Contains(before, " "+"Basic"):
		return strings.Replace(s.text, s.secret, "\n  "+s.secret, 1)
	case strings.HasPrefix(before, "curl "):
		return "curl \\\n  " + s.text[len("curl "):]
	case strings.HasSuffix(before, " ") && strings.Contains(before, "--"):
		return strings.Replace(s.text, s.secret, "\\\n  "+s.secret, 1)
	}
	return s.text
}

// leaks reports whether eight bytes of the secret in a row stand in the masked text, plain or encoded as the shape did it.
func leaks(masked, secret string) bool {
	const piece = 8
	for line := range strings.Lines(secret) {
		line = strings.TrimSpace(line)
		for i := 0; i+piece <= len(line); i++ {
			if strings.Contains(masked, line[i:i+piece]) || strings.Contains(masked, url.QueryEscape(line[i:i+piece])) {
				return true
			}
		}
	}
	return false
}

// TestCorpus is the recall this package promises: of every row in every shape, at least 95 % masked.
func TestCorpus(t *testing.T) {
	const each, least = 40, 0.95
	m := maker{rand.New(rand.NewSource(20261121))}
	r := redact.New(redact.Options{Known: knownValues()})
	for row, make := range rows(m) {
		masked, total := 0, 0
		var missed []string
		for shape, wrap := range shapes() {
			for i := range each {
				s := make(i)
				text := wrap(s)
				require.True(t, leaks(text, s.secret) || row == "known_value", "the sample shows its secret: %q", text)
				got, n := r.Text(text)
				total++
				if n == 0 || leaks(got, s.secret) {
					missed = append(missed, fmt.Sprintf("%s: %q became %q", shape, text, got))
					continue
				}
				masked++
				again, more := r.Text(got)
				assert.Equal(t, got, again, "masking is idempotent")
				assert.Zero(t, more)
			}
		}
		rate := float64(masked) / float64(total)
		t.Logf("%-16s %.1f %% of %d", row, 100*rate, total)
		assert.GreaterOrEqual(t, rate, least, "row %s, for example:\n%s", row, strings.Join(missed[:min(len(missed), 12)], "\n"))
	}
}
