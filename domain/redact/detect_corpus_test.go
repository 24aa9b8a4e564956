package redact_test

import (
	"encoding/base64"
	"encoding/json"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/redact"
)

// The corpus: every row of the contract's table in ten shapes, each with several secrets that are made up at run time from a fixed seed,
// so that no scanner of repositories takes one of them for real.

const (
	lower  = "abcdefghijklmnopqrstuvwxyz"
	upper  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	figure = "0123456789"
	word   = lower + upper + figure
)

type detectorMaker struct{ *rand.Rand }

// of makes n characters of an alphabet; one of them is a digit if the alphabet has any.
func (m detectorMaker) of(alphabet string, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[m.IntN(len(alphabet))]
	}
	if at := strings.IndexByte(alphabet, '7'); at >= 0 {
		b[n/2] = '7'
	}
	return string(b)
}

func (m detectorMaker) pick(from ...string) string { return from[m.IntN(len(from))] }

// specimen is a secret and how it is written down: what must not be seen any more, and the text that carries it.
type specimen struct{ secret, core string }

var detectorShapes = []string{"quoted", "unquoted", "json", "yaml", "env", "header", "url", "diff", "multi-line", "escaped"}

// inline returns the ten shapes of a secret that needs nothing beside it.
func inline(shape, core string) []string {
	switch shape {
	case "quoted":
		return []string{`the value is "` + core + `" here`, `x = '` + core + `'`, "see `" + core + "`."}
	case "unquoted":
		return []string{"got " + core + " from the store", core, "(" + core + ")"}
	case "json":
		return []string{object("value", core), `["` + core + `"]`}
	case "yaml":
		return []string{"settings:\n  value: " + core + "\n  other: 1", "- " + core}
	case "env":
		return []string{"SETTING=" + core, `export SETTING="` + core + `"`}
	case "header":
		return []string{"X-Setting: " + core + "\r\nAccept: text/html"}
	case "url":
		return []string{"https://example.com/a?setting=" + url.QueryEscape(core) + "&page=2", "GET /a?page=2&setting=" + strings.ReplaceAll(url.QueryEscape(core), "+", "%20")}
	case "diff":
		return []string{"@@ -1 +1 @@\n-" + core + "\n+nothing", "@@ -1 +1 @@\n-  value: x\n+  value: " + core}
	case "multi-line":
		return []string{"first line\n" + core + "\nlast line", "value: |\n  " + core + "\nlast: line"}
	}
	return []string{`{\"value\":\"` + core + `\"}`, `line one\n` + core + `\nline two`, quote(object("value", core))}
}

func object(name, value string) string { return `{"` + name + `":` + quote(value) + `,"n":1}` }

func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// named returns the ten shapes of a secret that its name gives away.
func named(name string) func(shape, core string) []string {
	env := strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
	return func(shape, core string) []string {
		switch shape {
		case "quoted":
			return []string{name + ` = "` + core + `"`, name + `: '` + core + `',`, `cfg["` + name + `"] = "` + core + `";`}
		case "unquoted":
			return []string{name + "=" + core, name + " = " + core, name + ": " + core}
		case "json":
			return []string{object(name, core), `{"a":[` + object("my_"+name, core) + `]}`, `{"body":` + quote(object(name, core)) + `}`}
		case "yaml":
			return []string{"settings:\n  " + name + ": " + core + "\n  other: 1", "- " + name + `: "` + core + `"`}
		case "env":
			return []string{"MY_" + env + "=" + core, "export " + env + `="` + core + `"`, env + "=" + core + "\nOTHER=1"}
		case "header":
			return []string{"X-" + name + ": " + core + "\r\nAccept: text/html"}
		case "url":
			return []string{"https://example.com/a?" + name + "=" + url.QueryEscape(core) + "&page=2", "/cb?page=2&" + name + "=" + core}
		case "diff":
			return []string{"@@ -1 +1 @@\n-" + env + "=" + core + "\n+" + env + "=", "@@ -1 +1 @@\n+  " + name + ": " + core}
		case "multi-line":
			return []string{name + ": |\n  " + core + "\nlast: line", name + ":\n  \"" + core + "\"\n", name + " = \\\n  " + core + "\n", name + ":\n  " + core + "\n"}
		}
		return []string{`{\"` + name + `\":\"` + core + `\"}`, `{\\\"` + name + `\\\": \\\"` + core + `\\\"}`, `a\n` + name + `=` + core + `\nb`}
	}
}

type contractRow struct {
	name string
	make func(m detectorMaker) specimen
	in   func(shape, core string) []string
}

func detectorWhole(f func(m detectorMaker) string) func(m detectorMaker) specimen {
	return func(m detectorMaker) specimen { s := f(m); return specimen{s, s} }
}

func around(before, after, alphabet string, n int) func(m detectorMaker) specimen {
	return func(m detectorMaker) specimen {
		s := m.of(alphabet, n+m.IntN(12))
		return specimen{s, before + s + after}
	}
}

func both(fs ...func(shape, core string) []string) func(shape, core string) []string {
	return func(shape, core string) (out []string) {
		for _, f := range fs {
			out = append(out, f(shape, core)...)
		}
		return out
	}
}

// arguments returns the shapes of a command: as one text, and as a list.
func arguments(shape, core string) []string {
	list := strings.Fields(core)
	switch shape {
	case "json":
		b, _ := json.Marshal(list)
		return append(inline(shape, core), `{"args":`+string(b)+`}`)
	case "escaped":
		b, _ := json.Marshal(list)
		return append(inline(shape, core), quote(string(b)))
	case "yaml":
		return append(inline(shape, core), "args: ["+strings.Join(list, ", ")+"]", "args:\n  - "+strings.Join(list, "\n  - "))
	case "multi-line":
		return append(inline(shape, core), "run \\\n  "+strings.Join(list, " \\\n  ")+" \\\n  x")
	}
	return inline(shape, core)
}

func corpus() []contractRow {
	token := func(prefixes []string, alphabet string, n int) func(m detectorMaker) specimen {
		return detectorWhole(func(m detectorMaker) string { return m.pick(prefixes...) + m.of(alphabet, n+m.IntN(12)) })
	}
	exactly := func(prefixes []string, alphabet string, n int) func(m detectorMaker) specimen {
		return detectorWhole(func(m detectorMaker) string { return m.pick(prefixes...) + m.of(alphabet, n) })
	}
	part := func(m detectorMaker, begin string, n int) string { return begin + m.of(word+"_-", n+m.IntN(30)) }
	return []contractRow{
		{"private_key", func(m detectorMaker) specimen {
			kind := m.pick("", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED ") + "PRIVATE" + " KEY"
			body := m.of(word+"+/", 64)
			return specimen{body, "-----BEGIN " + kind + "-----\n" + body + "\n" + m.of(word, 40) + "==\n-----END " + kind + "-----"}
		}, func(shape, core string) []string {
			flat := strings.ReplaceAll(core, "\n", `\n`)
			switch shape {
			case "quoted", "env", "header":
				return inline(shape, flat)
			case "escaped":
				return []string{`{\"key\":\"` + flat + `\"}`, `"` + strings.ReplaceAll(flat, `\`, `\\`) + `"`, quote(object("k", core))}
			case "yaml":
				return []string{"key: |\n  " + strings.ReplaceAll(core, "\n", "\n  ") + "\nother: 1"}
			case "diff":
				return []string{"@@ -1,4 +0,0 @@\n-" + strings.ReplaceAll(core, "\n", "\n-")}
			case "multi-line":
				return []string{core, "before\r\n" + strings.ReplaceAll(core, "\n", "\r\n") + "\r\nafter", core[:len(core)-40]}
			case "json":
				return []string{object("value", core)}
			}
			return inline(shape, core)
		}},
		{"url_credentials", func(m detectorMaker) specimen {
			s := m.of(word+"!$*._~", 9) + m.of(word, 3)
			return specimen{s, m.pick("postgres", "https", "redis", "mongodb+srv", "amqp") + "://" + m.pick("", "app", "user%40corp") + ":" + s + "@db.example.com:5432/app"}
		}, func(shape, core string) []string {
			if shape == "url" {
				return []string{core, core + "?sslmode=disable&x=1", strings.ReplaceAll(core, "/", `\/`)}
			}
			return inline(shape, core)
		}},
		{"anthropic_key", token([]string{"sk-" + "ant-", "sk-" + "ant-api03-"}, word+"_-", 24), inline},
		{"openai_key", token([]string{"sk-", "sk-" + "proj-", "sk-" + "svcacct-", "sk-" + "admin-"}, word+"_-", 24), inline},
		{"stripe_key", token([]string{"sk_" + "live_", "pk_" + "test_", "rk_" + "live_", "wh" + "sec_"}, word, 24), inline},
		{"github_token", token([]string{"gh" + "p_", "gh" + "o_", "gh" + "u_", "gh" + "s_", "gh" + "r_", "github" + "_pat_"}, word, 36), inline},
		{"gitlab_token", token([]string{"gl" + "pat-", "gl" + "dt-", "gl" + "rt-", "gl" + "ptt-", "gl" + "cbt-", "gl" + "soat-", "gl" + "oas-"}, word+"_-", 20), inline},
		{"npm_token", token([]string{"np" + "m_"}, word, 36), inline},
		{"slack_token", token([]string{"xo" + "xb-", "xo" + "xp-", "xo" + "xoxo" + "xb-", "xo" + "xe-"}[:2], word+"-", 24), inline},
		{"webhook_url", detectorWhole(func(m detectorMaker) string {
			return m.pick("https://hooks.slack.com/services/T"+m.of(upper+figure, 8)+"/B"+m.of(upper+figure, 8)+"/",
				"https://discord.com/api/webhooks/"+m.of(figure, 18)+"/", "https://canary.discordapp.com/api/webhooks/"+m.of(figure, 18)+"/") + m.of(word+"_-", 30)
		}), func(shape, core string) []string {
			if shape == "url" {
				return []string{core, "<" + core + ">", core + "?wait=true", "https://example.com/?to=" + url.QueryEscape(core)}
			}
			return inline(shape, core)
		}},
		{"aws_key_id", exactly([]string{"AK" + "IA", "AS" + "IA", "AR" + "OA", "AI" + "DA"}, upper+figure, 16), inline},
		{"google_key", exactly([]string{"AI" + "za"}, word+"_-", 35), inline},
		{"google_key", token([]string{"ya" + "29."}, word+"_-", 40), inline},
		{"jwt", detectorWhole(func(m detectorMaker) string {
			return part(m, "ey"+"J", 20) + "." + part(m, "ey"+"J", 30) + "." + m.of(word+"_-", 43)
		}), inline},
		{"vendor_token", token([]string{"h" + "f_", "dckr" + "_pat_", "py" + "pi-", "hv" + "s.", "lin" + "_api_", "ATA" + "TT"}, word, 34), inline},
		{"vendor_token", token([]string{"dop" + "_v1_"}, "abcdef"+figure, 64), inline},
		{"vendor_token", token([]string{"AGE-" + "SECRET-KEY-1"}, upper+figure, 58), inline},
		{"vendor_token", detectorWhole(func(m detectorMaker) string { return "S" + "G." + m.of(word+"_-", 22) + "." + m.of(word+"_-", 43) }), inline},
		{"vendor_token", func(m detectorMaker) specimen {
			s := m.of(word+"_-", 34) + m.of(word, 1)
			return specimen{s, m.of(figure, 9) + ":" + s}
		}, func(shape, core string) []string {
			if shape == "url" {
				return []string{"https://api.telegram.org/bot?id=" + core, "https://example.com/?t=" + core + "&x=1"}
			}
			return inline(shape, core)
		}},
		{"auth_header", func(m detectorMaker) specimen {
			s := m.of(word+"._~+/-", 20) + m.of(word, 4)
			return specimen{s, m.pick("Bearer ", "Basic ", "token ", "") + s}
		}, named("Authorization")},
		{"bearer", around("Bearer ", "", word+"._~-", 20), inline},
		{"cookie", around("sid=", "; theme=dark", word, 16), func(shape, core string) []string {
			if shape == "url" {
				return []string{"https://example.com/?cookie=" + url.QueryEscape(core) + "&x=1"}
			}
			return both(named("Cookie"), named("Set-Cookie"))(shape, core)
		}},
		{"cli_flag", func(m detectorMaker) specimen {
			s := m.of(word+"!_.", 12)
			return specimen{s, "--" + m.pick("password", "token", "api-key", "apikey", "secret", "client-secret", "auth-token", "access-key") + m.pick("=", " ") + s}
		}, both(arguments, func(shape, core string) []string { return arguments(shape, "deploy "+core+" now") })},
		{"cli_user", around("curl -sS -u admin:", " https://example.com/", word+"!_.", 12), arguments},
		{"cli_user", around("curl --user admin:", " https://example.com/", word+"!_.", 12), arguments},
		{"assignment", around("", "", word+"!_.+/", 12), both(named("api_key"), named("apiKey"), named("password"), named("client_secret"), named("access-token"),
			named("passphrase"), named("private_key"), named("credentials"), named("signing_key"), named("db.pwd"), named("secret_access_key"))},
	}
}

// masked returns the outputs in which the secret must not be seen: as text always, and as JSON where the carrier is some.
func masked(t *testing.T, r *redact.Redactor, carrier string) []string {
	text, _ := r.Text(carrier)
	lines, _ := r.Lines(strings.Split(carrier, "\n"))
	out := []string{text, strings.Join(lines, "\n")}
	if json.Valid([]byte(carrier)) {
		doc, _, err := r.JSON([]byte(carrier))
		require.NoError(t, err)
		require.True(t, json.Valid(doc), "%s", doc)
		out = append(out, string(doc))
	}
	return out
}

// Each row in each shape is masked in at least 95 of 100 texts.
func TestEveryRowIsMaskedInEveryShape(t *testing.T) {
	m := detectorMaker{rand.New(rand.NewPCG(4, 2))}
	r := redact.New(redact.Options{})
	all, hit := map[string]int{}, map[string]int{}
	for _, row := range corpus() {
		for _, shape := range detectorShapes {
			var missed []string
			tried := 0
			for range 20 {
				s := row.make(m)
				for _, carrier := range row.in(shape, s.core) {
					tried++
					for _, out := range masked(t, r, carrier) {
						if strings.Contains(out, s.secret) {
							missed = append(missed, carrier)
							break
						}
					}
				}
			}
			all[row.name], hit[row.name] = all[row.name]+tried, hit[row.name]+tried-len(missed)
			assert.LessOrEqual(t, float64(len(missed)), 0.05*float64(tried), "%s, %s: %s", row.name, shape, strings.Join(missed[:min(len(missed), 6)], "\n"))
			if len(missed) > 0 {
				t.Logf("missed %s, %s: %d of %d, as %q", row.name, shape, len(missed), tried, missed[0])
			}
		}
	}
	for name, n := range all {
		t.Logf("%-16s %6.2f %% of %d", name, 100*float64(hit[name])/float64(n), n)
	}
}

// Row 21: values the process knows are masked wherever they stand, in the encodings they travel in.
func TestKnownValuesAreMaskedInEveryEncoding(t *testing.T) {
	m := detectorMaker{rand.New(rand.NewPCG(2, 1))}
	for range 20 {
		simple, odd := m.of(lower, 12), m.of(word, 6)+`"/ `+m.of(lower, 6)
		for _, r := range []*redact.Redactor{redact.New(redact.Options{Known: []string{simple, odd}}), redact.New(redact.Options{}).With(simple).With(odd)} {
			for _, shape := range detectorShapes {
				for _, carrier := range inline(shape, simple) {
					for _, out := range masked(t, r, carrier) {
						assert.NotContains(t, out, simple)
					}
				}
			}
			for _, form := range []string{odd, url.QueryEscape(odd), url.PathEscape(odd), strings.Trim(quote(odd), `"`),
				base64.StdEncoding.EncodeToString([]byte(odd)), base64.RawURLEncoding.EncodeToString([]byte(odd))} {
				out, n := r.Text("it is " + form + ".")
				assert.Equal(t, "it is [REDACTED:known_value].", strings.Replace(out, "]=", "]", 2))
				assert.Equal(t, 1, n)
			}
			doc, n, err := r.JSON([]byte(object("value", odd)))
			require.NoError(t, err)
			assert.Equal(t, `{"value":"[REDACTED:known_value]","n":1}`, string(doc))
			assert.Equal(t, 1, n)
		}
	}
}

func TestShortKnownValuesAreNotMasked(t *testing.T) {
	out, n := redact.New(redact.Options{Known: []string{"main", ""}}).Text("the main branch")
	assert.Equal(t, "the main branch", out)
	assert.Zero(t, n)
}

// Row 22.
func TestPathsHidesTheHomeDirectory(t *testing.T) {
	r := redact.New(redact.Options{Home: "/home/ann/"})
	for in, want := range map[string]string{
		"open /home/ann/x/y: no such file": "open ~/x/y: no such file", "/home/ann": "~", `"/home/ann","/home/ann/b"`: `"~","~/b"`,
		"/home/anna/x": "/home/anna/x", "/home/ann-old/x": "/home/ann-old/x", "/mnt/home/ann/x": "/mnt/home/ann/x",
		"file:///home/ann/x": "file://~/x", "nothing": "nothing", "/home/ann/home/ann": "~/home/ann", "": "", "A=/home/ann:/home/ann/bin": "A=~:~/bin",
	} {
		assert.Equal(t, want, r.Paths(in))
	}
	text, _ := r.Text("/home/ann/x")
	assert.Equal(t, "/home/ann/x", text, "results need real paths")
	assert.Equal(t, "/home/ann", redact.New(redact.Options{}).Paths("/home/ann"))
}

// The name in a mark is that of the first row that claims the secret.
func TestMarksNameTheRow(t *testing.T) {
	r := redact.New(redact.Options{Known: []string{"tulip-mania-1637"}})
	gh := "gh" + "p_" + strings.Repeat("a1", 18)
	for in, want := range map[string]string{
		"token=" + gh:                                 "token=[REDACTED:github_token]",
		"Authorization: Bearer " + gh:                 "Authorization: Bearer [REDACTED:github_token]",
		"Authorization: Basic dXNlcjpwYXNzd29yZA==":   "Authorization: Basic [REDACTED:auth_header]",
		"sent Bearer abcdefgh12345678 on":             "sent Bearer [REDACTED:bearer] on",
		`password: "hunter22!"`:                       `password: "[REDACTED:assignment]"`,
		"git clone https://bob:s3cr3t@example.com/x":  "git clone https://bob:[REDACTED:url_credentials]@example.com/x",
		"login --password hunter22 -v":                "login --password [REDACTED:cli_flag] -v",
		"curl -u bob:hunter22 https://example.com":    "curl -u bob:[REDACTED:cli_user] https://example.com",
		"Cookie: sid=abc123def":                       "Cookie: [REDACTED:cookie]",
		"the tulip-mania-1637 bulb":                   "the [REDACTED:known_value] bulb",
		"/cb?token=abcdef123456&page=2":               "/cb?token=[REDACTED:assignment]&page=2",
		"a xo" + "xo" + "xb-12345678-abc":             "a xo[REDACTED:slack_token]",
		`x\n` + "sk-" + "ant-" + `0123456789abcdef\n`: `x\n[REDACTED:anthropic_key]\n`,
	} {
		out, _ := r.Text(in)
		assert.Equal(t, want, out)
		again, n := r.Text(out)
		assert.Equal(t, out, again)
		assert.Zero(t, n, again)
	}
}
