package webhook_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/project/webhook"
)

const address = "https://hooks.example.com/build"

func TestWhatAWebhookMayBe(t *testing.T) {
	yes, no := true, false
	headers := func(name, value string) webhook.Config {
		return webhook.Config{URL: address, Headers: map[string]string{name: value}}
	}
	for name, c := range map[string]webhook.Config{
		"least":             {URL: address},
		"most":              {URL: "https://hooks.example.com/{{a}}?b={{c}}", Method: "put", TimeoutMS: 60_000, RetryCount: 3, VerifySSL: &yes},
		"shortest":          {URL: address, TimeoutMS: 1},
		"header variable":   headers("X-Build", "n {{build}}"),
		"header with tab":   headers("X-Build", "a\tb"),
		"own idempotency":   headers("Idempotency-Key", "{{execution_id}}"),
		"text template":     {URL: address, Headers: map[string]string{"content-type": "text/plain"}, PayloadTemplate: "not {json"},
		"value outside":     {URL: address, PayloadTemplate: `{"n": {{count}}, "s": "{{name}}"}`},
		"names that differ": {URL: address, PayloadTemplate: `{"{{a}}": 1, "{{b}}": 2}`},
	} {
		assert.NoError(t, c.Validate(), name)
	}
	for name, c := range map[string]webhook.Config{
		"method":             {URL: address, Method: "TRACE"},
		"method connect":     {URL: address, Method: "CONNECT"},
		"method with break":  {URL: address, Method: "GET\r\n"},
		"timeout too long":   {URL: address, TimeoutMS: 60_001},
		"timeout negative":   {URL: address, TimeoutMS: -1},
		"retries":            {URL: address, RetryCount: 4},
		"retries negative":   {URL: address, RetryCount: -1},
		"certificates":       {URL: address, VerifySSL: &no},
		"get with payload":   {URL: address, Method: "GET", PayloadTemplate: "{}"},
		"no json":            {URL: address, PayloadTemplate: `{"a": }`},
		"two documents":      {URL: address, PayloadTemplate: `{} {}`},
		"variable escaped":   {URL: address, PayloadTemplate: `{"a": "\{{b}}"}`},
		"same names":         {URL: address, PayloadTemplate: `{"a": 1, "a": 2}`},
		"same names, nested": {URL: address, PayloadTemplate: `[{"x": {"a": 1, "\u0061": 2}}]`},
		"template too large": {URL: address, PayloadTemplate: `"` + strings.Repeat("x", webhook.MaxRequest) + `"`},
		"content type":       headers("content-type", "{{type}}"),
		"line break":         headers("X-A", "b\r\nHost: c"),
		"bare line feed":     headers("X-A", "b\nc"),
		"nul":                headers("X-A", "b\x00"),
		"no name":            headers("", "b"),
		"name with blank":    headers("X A", "b"),
		"name with colon":    headers("X-A:", "b"),
		"name with break":    headers("X-A\r\nY", "b"),
		"name with variable": headers("X-{{a}}", "b"),
		"twice":              {URL: address, Headers: map[string]string{"X-A": "1", "x-a": "2"}},
	} {
		assert.ErrorIs(t, c.Validate(), project.ErrArgument, name)
	}
	assert.ErrorContains(t, webhook.Config{URL: address, PayloadTemplate: `{"a": "\{{b}}"}`}.Validate(), "backslash")
	for _, name := range []string{
		"Host", "host", "Content-Length", "TRANSFER-ENCODING", "Connection", "Upgrade", "Proxy-Authorization", "proxy-connection", "Keep-Alive", "TE",
		"Trailer", "Expect", "HTTP2-Settings",
	} {
		assert.ErrorIs(t, headers(name, "x").Validate(), project.ErrArgument, name)
	}
	assert.ErrorIs(t, webhook.Config{URL: "https://{{host}}/"}.Validate(), project.ErrURLBlocked)
	assert.ErrorIs(t, webhook.Config{}.Validate(), project.ErrURLBlocked)
}

func TestARequestIsBuilt(t *testing.T) {
	c := webhook.Config{
		URL:             "https://Hooks.Example.com:443/b/{{branch}}/{{gone}}?by={{who}}&x=%20",
		Headers:         map[string]string{"x-build": " {{n}} ", "authorization": "Bearer {{key}}"},
		PayloadTemplate: `{"branch":"{{branch}}","n":{{n}},"ok":{{ok}},"who":{{who}},"note":"{{gone}}"}`,
		TimeoutMS:       5000, RetryCount: 2,
	}
	r, err := c.Build(webhook.Input{Variables: map[string]string{"branch": `feat/"x"`, "n": "42", "ok": "true", "who": "Ann & Bob", "key": "k-1", "unused": "u"}})
	require.NoError(t, err)
	assert.Equal(t, webhook.Request{
		Method: "POST",
		URL:    "https://hooks.example.com/b/feat%2F%22x%22/%7B%7Bgone%7D%7D?by=Ann+%26+Bob&x=%20",
		Headers: []webhook.Header{
			{Name: "Authorization", Value: "Bearer k-1"}, {Name: "Content-Type", Value: "application/json"}, {Name: "X-Build", Value: "42"},
		},
		Body:    []byte(`{"branch":"feat/\"x\"","n":42,"ok":true,"who":"Ann & Bob","note":"{{gone}}"}`),
		Timeout: 5 * time.Second,
	}, r, "a POST without a key is not repeated, whatever retryCount says")
}

func TestAnExplicitPayloadTakesTheTemplatesPlace(t *testing.T) {
	c := webhook.Config{URL: address, PayloadTemplate: `{"from":"template {{a}}"}`, Headers: map[string]string{"content-type": "application/vnd.x+json"}}
	in := webhook.Input{Variables: map[string]string{"a": "b"}, Payload: json.RawMessage(`{"a": "{{a}}"}`)}
	r, err := c.Build(in)
	require.NoError(t, err)
	assert.Equal(t, `{"a": "{{a}}"}`, string(r.Body), "and is sent as it is")
	assert.Equal(t, []webhook.Header{{Name: "Content-Type", Value: "application/vnd.x+json"}}, r.Headers)

	for name, c := range map[string]webhook.Config{
		"get":  {URL: address, Method: "GET"},
		"text": {URL: address, Headers: map[string]string{"Content-Type": "text/plain"}},
	} {
		_, err := c.Build(in)
		assert.ErrorIs(t, err, project.ErrArgument, name)
	}
	for _, payload := range []string{`{`, `{"a":1,"a":2}`, `{}{}`, " "} {
		_, err := webhook.Config{URL: address}.Build(webhook.Input{Payload: json.RawMessage(payload)})
		assert.ErrorIs(t, err, project.ErrArgument, payload)
	}
	r, err = webhook.Config{URL: address, Method: "GET"}.Build(webhook.Input{})
	require.NoError(t, err)
	assert.Empty(t, r.Body)
	assert.Empty(t, r.Headers, "no body, no content type")
}

func TestRepeatingIsForThoseThatBearIt(t *testing.T) {
	for _, c := range []struct {
		method, key string
		want        int
	}{
		{"GET", "", 3}, {"HEAD", "", 3}, {"PUT", "", 3}, {"DELETE", "", 3}, {"POST", "", 0}, {"PATCH", "", 0},
		{"POST", "{{id}}", 3}, {"PATCH", "fixed", 3}, {"POST", "{{unknown}}", 0}, {"POST", "{{empty}}", 0},
	} {
		config := webhook.Config{URL: address, Method: c.method, RetryCount: 3}
		if c.key != "" {
			config.Headers = map[string]string{"idempotency-key": c.key}
		}
		r, err := config.Build(webhook.Input{Variables: map[string]string{"id": "e-1", "empty": ""}})
		require.NoError(t, err)
		assert.Equal(t, c.want, r.Retries, "%+v", c)
	}
}

func TestVariablesStayInTheirPlace(t *testing.T) {
	build := func(c webhook.Config, value string) (webhook.Request, error) {
		return c.Build(webhook.Input{Variables: map[string]string{"v": value}})
	}
	for _, value := range []string{"a\r\nX-Evil: 1", "a\nb", "a\x00b", "\x7f"} {
		_, err := build(webhook.Config{URL: address, Headers: map[string]string{"X-A": "{{v}}"}}, value)
		assert.ErrorIs(t, err, project.ErrArgument, "%q in a header", value)
		assert.NotContains(t, err.Error(), "Evil", "the value is not repeated")
	}
	path := webhook.Config{URL: "https://hooks.example.com/a/{{v}}/c"}
	for _, value := range []string{"..", ".", "../admin", "x/../../admin", `..\admin`, "%2e%2e", "%2E.", "%252e%252e", "%25252e.", "%zz/%2e%2e"} {
		_, err := build(path, value)
		assert.ErrorIs(t, err, project.ErrURLBlocked, "%q in the path", value)
	}
	for value, want := range map[string]string{
		"b": "b", "b/c": "b%2Fc", "b?x=1": "b%3Fx=1", "b#c": "b%23c", "//evil.example": "%2F%2Fevil.example", "@evil.example": "@evil.example", "ü": "%C3%BC",
		"..b": "..b", "a b": "a%20b", "100%": "100%25", "{{w}}": "%7B%7Bw%7D%7D",
	} {
		r, err := build(path, value)
		require.NoError(t, err, value)
		assert.Equal(t, "https://hooks.example.com/a/"+want+"/c", r.URL, value)
	}
	r, err := build(webhook.Config{URL: "https://hooks.example.com?q={{v}}&raw=ü<"}, "a&b=c#d e")
	require.NoError(t, err)
	assert.Equal(t, "https://hooks.example.com/?q=a%26b%3Dc%23d+e&raw=%C3%BC%3C", r.URL)

	form := webhook.Config{URL: address, Headers: map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, PayloadTemplate: "a={{v}}&b=1"}
	r, err = build(form, "x&admin=1")
	require.NoError(t, err)
	assert.Equal(t, "a=x%26admin%3D1&b=1", string(r.Body))

	markup := webhook.Config{URL: address, Headers: map[string]string{"Content-Type": "application/xml; charset=utf-8"}, PayloadTemplate: `<a b="{{v}}"/>`}
	r, err = build(markup, `"/><x y='&`)
	require.NoError(t, err)
	assert.Equal(t, `<a b="&#34;/&gt;&lt;x y=&#39;&amp;"/>`, string(r.Body))

	text := webhook.Config{URL: address, Headers: map[string]string{"Content-Type": "text/plain"}, PayloadTemplate: "{{v}} {{v}} {{}} {{ v }} {{1}} {{v"}
	r, err = build(text, "{{v}}")
	require.NoError(t, err)
	assert.Equal(t, "{{v}} {{v}} {{}} {{ v }} {{1}} {{v", string(r.Body), "values are not looked through again")
}

func TestSizesAreBounded(t *testing.T) {
	text := map[string]string{"Content-Type": "text/plain"}
	for name, c := range map[string]webhook.Config{
		"body":    {URL: address, Headers: text, PayloadTemplate: strings.Repeat("{{v}}", 300)},
		"headers": {URL: address, Headers: map[string]string{"X-A": strings.Repeat("{{v}}", 300)}},
		"json":    {URL: address, PayloadTemplate: `"` + strings.Repeat("{{v}}", 300) + `"`},
		"sum":     {URL: address, Headers: map[string]string{"X-A": strings.Repeat("a", 200<<10), "Content-Type": "text/plain"}, PayloadTemplate: strings.Repeat("a", 100<<10)},
	} {
		_, err := c.Build(webhook.Input{Variables: map[string]string{"v": strings.Repeat("x", 1024)}})
		assert.ErrorIs(t, err, project.ErrArgument, name)
	}
	_, err := webhook.Config{URL: address + "/{{v}}"}.Build(webhook.Input{Variables: map[string]string{"v": strings.Repeat("x", webhook.MaxURL)}})
	assert.ErrorIs(t, err, project.ErrURLBlocked)

	fits := webhook.MaxRequest - len("POST") - len(address) - len("Content-Type") - len("application/json") - 4
	payload := func(n int) webhook.Input { return webhook.Input{Payload: []byte(`"` + strings.Repeat("x", n-2) + `"`)} }
	_, err = webhook.Config{URL: address}.Build(payload(fits))
	assert.NoError(t, err, "exactly as much as may be")
	_, err = webhook.Config{URL: address}.Build(payload(fits + 1))
	assert.ErrorIs(t, err, project.ErrArgument)
}

func TestJSONStaysJSON(t *testing.T) {
	for _, c := range []struct{ template, value, want string }{
		{`{"a":"{{v}}"}`, `","admin":true,"x":"`, `{"a":"\",\"admin\":true,\"x\":\""}`},
		{`{"a":"{{v}}"}`, "\\", `{"a":"\\"}`},
		{`{"a":"\\{{v}}"}`, `"`, `{"a":"\\\""}`},
		{`{"a":"{{v}}"}`, "\x00\n\u2028<&>", `{"a":"\u0000\n\u2028<&>"}`},
		{`{"a":"{{v}}"}`, "\xff", `{"a":"\ufffd"}`},
		{`{"a":{{v}}}`, "1.5e3", `{"a":1.5e3}`},
		{`{"a":{{v}}}`, "-0", `{"a":-0}`},
		{`{"a":{{v}}}`, "null", `{"a":null}`},
		{`{"a":{{v}}}`, "01", `{"a":"01"}`},
		{`{"a":{{v}}}`, "NaN", `{"a":"NaN"}`},
		{`{"a":{{v}}}`, "1,2", `{"a":"1,2"}`},
		{`{"a":{{v}}}`, " 1", `{"a":" 1"}`},
		{`{"a":{{v}}}`, `{"b":1}`, `{"a":"{\"b\":1}"}`},
		{`{"a":{{v}}}`, `[1]`, `{"a":"[1]"}`},
		{`{"a":{{v}}}`, `"b"`, `{"a":"\"b\""}`},
		{`{"a":{{v}}}`, ``, `{"a":""}`},
		{`{"a":{{v}}}`, `1,"admin":true`, `{"a":"1,\"admin\":true"}`},
		{`[{{v}},"{{v}}"]`, `x`, `["x","x"]`},
		{`{{v}}`, `7`, `7`},
		{`{"{{v}}":1}`, `k`, `{"k":1}`},
		{`{"a":"{{{v}}}"}`, `x`, `{"a":"{x}"}`},
	} {
		r, err := webhook.Config{URL: address, PayloadTemplate: c.template}.Build(webhook.Input{Variables: map[string]string{"v": c.value}})
		if assert.NoError(t, err, "%s with %q", c.template, c.value) {
			assert.Equal(t, c.want, string(r.Body), "%s with %q", c.template, c.value)
		}
	}
	for _, c := range []struct{ template, value string }{
		{`{"admin":false,"{{v}}":true}`, "admin"}, // would hide the other
		{`{"{{v}}":true,"admin":false}`, "admin"},
		{`{{{v}}:1}`, "1"},
		{`[{{v}}{{v}}]`, "x"},
	} {
		_, err := webhook.Config{URL: address, PayloadTemplate: c.template}.Build(webhook.Input{Variables: map[string]string{"v": c.value}})
		assert.ErrorIs(t, err, project.ErrArgument, "%s with %q", c.template, c.value)
	}
	_, err := webhook.Config{URL: address, PayloadTemplate: `{"n":{{n}}}`}.Build(webhook.Input{})
	assert.ErrorIs(t, err, project.ErrArgument, "outside strings a variable needs a value")
}
