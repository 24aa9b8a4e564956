package target_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/deployment/target"
)

func TestParse(t *testing.T) {
	for text, says := range map[string]string{
		"":            "not a JSON object",
		"[]":          "not a JSON object",
		"null":        "null",
		`{"a":1} {}`:  "the file has text after its JSON object",
		`{"a":1}x`:    "the file has text after its JSON object",
		`{"a":}`:      "not a JSON object",
		"// a\n{}":    "not a JSON object",
		`"a"`:         "not a JSON object",
		`{"a": 1,}`:   "not a JSON object",
		"{\"a\":\"\n": "not a JSON object",
	} {
		_, err := target.ParseObject([]byte(text))
		if assert.ErrorIs(t, err, target.ErrEntry, "%q", text) {
			assert.ErrorContains(t, err, says, "%q", text)
		}
	}
	o, err := target.ParseObject([]byte(" {\"b\": 1.50, \"a\": [12345678901234567890, \"<&>\"]}\n"))
	require.NoError(t, err)
	v, err := target.EncodeValue(o)
	require.NoError(t, err)
	assert.Equal(t, `{"a":[12345678901234567890,"<&>"],"b":1.50}`, string(v), "sorted, with every digit as it was")
}

func TestHasNull(t *testing.T) {
	for text, want := range map[string]bool{`{}`: false, `{"a":[1,{"b":""}]}`: false, `{"a":null}`: true, `{"a":[{"b":[null]}]}`: true} {
		o, err := target.ParseObject([]byte(text))
		require.NoError(t, err)
		assert.Equal(t, want, target.HasNull(o), text)
	}
}

func TestServer(t *testing.T) {
	plain := target.Dialect{URL: "url", Headers: "headers", Env: "env"}
	typed := target.Dialect{Stdio: "stdio", HTTP: "http", SSE: "sse", URL: "url", Headers: "headers", Env: "env"}
	listed := target.Dialect{Stdio: "local", HTTP: "remote", SSE: "remote", URL: "url", Headers: "headers", Env: "environment", List: true}
	split := target.Dialect{URL: "httpUrl", Events: "url", Headers: "headers", Env: "env"}
	toml := target.Dialect{URL: "url", Headers: "http_headers", Env: "env", NoEvents: true}
	local := `{"command":"npx","args":["-y","x"],"env":{"A":"1"},"cwd":"/w"}`
	remote := `{"type":"streamable-http","url":"https://x","headers":{"K":"v"},"timeout":5}`
	events := `{"type":"sse","url":"https://x"}`
	for name, c := range map[string]struct {
		dialect  target.Dialect
		in, want string
	}{
		"plain local":   {plain, local, `{"args":["-y","x"],"command":"npx","cwd":"/w","env":{"A":"1"}}`},
		"plain remote":  {plain, remote, `{"headers":{"K":"v"},"timeout":5,"url":"https://x"}`},
		"typed local":   {typed, local, `{"args":["-y","x"],"command":"npx","cwd":"/w","env":{"A":"1"},"type":"stdio"}`},
		"typed remote":  {typed, remote, `{"headers":{"K":"v"},"timeout":5,"type":"http","url":"https://x"}`},
		"typed events":  {typed, events, `{"type":"sse","url":"https://x"}`},
		"listed local":  {listed, local, `{"command":["npx","-y","x"],"cwd":"/w","environment":{"A":"1"},"type":"local"}`},
		"listed remote": {listed, remote, `{"headers":{"K":"v"},"timeout":5,"type":"remote","url":"https://x"}`},
		"split remote":  {split, remote, `{"headers":{"K":"v"},"httpUrl":"https://x","timeout":5}`},
		"split events":  {split, events, `{"url":"https://x"}`},
		"toml remote":   {toml, remote, `{"http_headers":{"K":"v"},"timeout":5,"url":"https://x"}`},
		"no args":       {listed, `{"command":"x"}`, `{"command":["x"],"type":"local"}`},
		"said local":    {typed, `{"type":"local","command":"x"}`, `{"command":"x","type":"stdio"}`},
	} {
		o, err := target.ParseObject([]byte(c.in))
		require.NoError(t, err)
		got, err := c.dialect.Server(o)
		require.NoError(t, err, name)
		v, err := target.EncodeValue(got)
		require.NoError(t, err)
		assert.Equal(t, c.want, string(v), name)
	}
	o, err := target.ParseObject([]byte(events))
	require.NoError(t, err)
	_, err = toml.Server(o)
	require.ErrorIs(t, err, target.ErrDialect)
}

func TestServerRefuses(t *testing.T) {
	for text, says := range map[string]string{
		`{}`:                                         "either a command or a url",
		`{"command":"x","url":"y"}`:                  "either a command or a url",
		`{"command":""}`:                             "command must be non-empty text",
		`{"command":["x"]}`:                          "command must be non-empty text",
		`{"url":5}`:                                  "url must be non-empty text",
		`{"type":"carrier pigeon","url":"x"}`:        "carrier pigeon",
		`{"type":"stdio","url":"x"}`:                 "does not match its fields",
		`{"type":"http","command":"x"}`:              "does not match its fields",
		`{"command":"x","args":"y"}`:                 "args",
		`{"command":"x","args":[1]}`:                 "args",
		`{"command":"x","env":["A=1"]}`:              "env",
		`{"command":"x","env":{"A":1}}`:              `"A"`,
		`{"url":"x","headers":{"A":{"b":"c"}}}`:      "headers",
		`{"url":"x","headers":null}`:                 "headers",
		`{"type":null,"command":"x"}`:                "type",
		`{"command":"x","args":null,"env":{"A":""}}`: "args",
	} {
		o, err := target.ParseObject([]byte(text))
		require.NoError(t, err, text)
		_, err = target.Dialect{URL: "url", Headers: "headers", Env: "env"}.Server(o)
		if assert.ErrorIs(t, err, target.ErrEntry, text) {
			assert.ErrorContains(t, err, says, text)
		}
	}
}

// FuzzServer: every object gives a result, and every result a description that is understood again.
func FuzzServer(f *testing.F) {
	for _, s := range []string{`{"command":"x","args":["a"],"env":{"A":"b"}}`, `{"url":"x","headers":{}}`, `{"type":"sse","url":"x","type":"http"}`, `null`, `{"command":{}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		o, err := target.ParseObject(data)
		if err != nil {
			require.ErrorIs(t, err, target.ErrEntry)
			return
		}
		before, err := target.EncodeValue(o)
		require.NoError(t, err)
		d := target.Dialect{Stdio: "stdio", HTTP: "http", SSE: "sse", URL: "url", Headers: "headers", Env: "env"}
		server, err := d.Server(o)
		if err != nil {
			require.ErrorIs(t, err, target.ErrEntry)
			return
		}
		after, err := target.EncodeValue(o)
		require.NoError(t, err)
		require.Equal(t, string(before), string(after), "the description is not changed")
		again, err := d.Server(server)
		require.NoError(t, err)
		once, err := json.Marshal(server)
		require.NoError(t, err)
		twice, err := json.Marshal(again)
		require.NoError(t, err)
		require.Equal(t, string(once), string(twice))
	})
}
