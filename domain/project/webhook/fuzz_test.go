package webhook_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/project/webhook"
)

// FuzzEndpoint: whatever is allowed without a list is https to a public address or to a plain name, as judged by package net, which our own code does
// not use; and what is sent means the same host to net/url.
func FuzzEndpoint(f *testing.F) {
	for _, seed := range []string{
		"https://hooks.example.com/x", "https://8.8.8.8", "https://[2606:4700::1111]:8443/", "https://127.0.0.1/", "https://[::ffff:10.0.0.1]/", "https://2130706433/",
		"https://0x7f.1/", "https://bücher.example./{{a}}?b={{c}}", "https://a@b/", "https://a\\@b/", "https://１２７.0.0.1/", "https://[::1%25lo]/", "https://localhost", "http://a/",
		"https://b%C3%BCcher.example/", "https://a:443:443/", "https://[2002:7f00:1::]/", "https://xn--/", "https://a.example:08443/",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		e, err := webhook.EgressRules{}.Endpoint(raw)
		if err != nil {
			return
		}
		assert.Equal(t, "https", e.Scheme)
		assert.Contains(t, []uint16{443, 8443}, e.Port)
		ip := net.ParseIP(e.Host)
		assert.Equal(t, ip != nil, e.Addr.IsValid())
		if ip != nil {
			harmful := ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast() || ip.IsLinkLocalMulticast() || ip.IsMulticast() || ip.IsUnspecified()
			assert.False(t, harmful || !ip.IsGlobalUnicast(), "%s passes", ip)
		} else {
			assert.Regexp(t, `^[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*$`, e.Host)
			assert.NotRegexp(t, `(^|\.)(0x[0-9a-f]*|[0-9]+)$`, e.Host, "a number in disguise")
			assert.NotRegexp(t, `(^|\.)(localhost|local|internal)$`, e.Host)
		}

		r, err := webhook.Config{URL: raw}.Build(webhook.Input{})
		if err != nil {
			return // a path that climbs, or cannot be read
		}
		u, err := url.Parse(r.URL)
		require.NoError(t, err)
		assert.Equal(t, e.Host, u.Hostname())
		again, err := webhook.EgressRules{}.Endpoint(r.URL)
		require.NoError(t, err)
		assert.Equal(t, e, again, "what is sent is judged like what was written")
	})
}

// FuzzURLVariables: no value changes host, port, number of path segments or names of parameters, and the receiver reads exactly the value.
func FuzzURLVariables(f *testing.F) {
	for _, seed := range []string{"main", "a/b", "../..", "@evil", "?x=1&y=2#z", "\r\nHost: evil", "{{b}}", "%2e%2e", "ü\x00\xff", "", "//", ";", "+ "} {
		f.Add(seed, "v")
		f.Add("v", seed)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		c := webhook.Config{URL: "https://hooks.example.com/x/{{a}}/y/{{unknown}}?p={{b}}&q=1"}
		r, err := c.Build(webhook.Input{Variables: map[string]string{"a": a, "b": b}})
		if err != nil {
			return
		}
		u, err := url.Parse(r.URL)
		require.NoError(t, err)
		assert.Equal(t, "https", u.Scheme)
		assert.Equal(t, "hooks.example.com", u.Host)
		assert.Nil(t, u.User)
		assert.Empty(t, u.Fragment)
		segments := strings.Split(u.EscapedPath(), "/")
		require.Len(t, segments, 5)
		plain, err := url.PathUnescape(segments[2])
		require.NoError(t, err)
		assert.Equal(t, a, plain)
		query, err := url.ParseQuery(u.RawQuery)
		require.NoError(t, err)
		assert.Equal(t, url.Values{"p": {b}, "q": {"1"}}, query)
	})
}

// shape returns a document with every scalar replaced by one mark, and names by their place.
func shape(v any) string {
	switch v := v.(type) {
	case map[string]any:
		var kinds []string
		for _, member := range v {
			kinds = append(kinds, shape(member))
		}
		return fmt.Sprintf("{%d %d}", len(v), len(strings.Join(kinds, "")))
	case []any:
		var b strings.Builder
		for _, element := range v {
			b.WriteString(shape(element) + ",")
		}
		return "[" + b.String() + "]"
	}
	return "x"
}

func parse(t *testing.T, doc []byte) any {
	var v any
	decoder := json.NewDecoder(bytes.NewReader(doc))
	decoder.UseNumber()
	require.NoError(t, decoder.Decode(&v), string(doc))
	return v
}

// FuzzJSONValues: in a template with a variable in every possible place, no value changes the structure, and a string holds exactly the inserted
// text.
func FuzzJSONValues(f *testing.F) {
	for _, seed := range []string{`","admin":true,"x":"`, `"`, `\`, `\"`, "1", "1e400", "-", "true", "nul", "[]", "{}", " 1", "1,2", "\x00", "\xff", "{{v}}", `\u0022`, "\u2028", `"}`, "//", "1/*"} {
		f.Add(seed)
	}
	const template = `{"s":"a{{v}}b","bare":{{v}},"list":[{{v}},"{{v}}{{v}}"],"deep":{"n":{"v":"\\{{v}}"}},"known":true}`
	f.Fuzz(func(t *testing.T, value string) {
		c := webhook.Config{URL: address, PayloadTemplate: template}
		r, err := c.Build(webhook.Input{Variables: map[string]string{"v": value}})
		if err != nil {
			assert.Greater(t, len(value), 1<<10, "only size keeps a value out: %v", err)
			return
		}
		have, ok := parse(t, r.Body).(map[string]any)
		require.True(t, ok)
		text := strings.ToValidUTF8(value, "\ufffd")
		if text == value { // runs of broken bytes are replaced one by one there, and as one here
			assert.Equal(t, "a"+text+"b", have["s"])
			assert.Equal(t, `\`+text, have["deep"].(map[string]any)["n"].(map[string]any)["v"])
			assert.Equal(t, text+text, have["list"].([]any)[1])
		}
		assert.Equal(t, true, have["known"])
		assert.Len(t, have, 5)
		assert.Equal(t, "x", shape(have["bare"]), "a value stays a value")
		assert.Equal(t, "[x,x,]", shape(have["list"]))
	})
}

// FuzzJSONTemplates: for any template, two values give documents of the same structure, or the webhook is rejected.
func FuzzJSONTemplates(f *testing.F) {
	for _, seed := range []string{`{"a":"{{v}}"}`, `{"a":{{v}}}`, `"\{{v}}"`, `"\\{{v}}"`, `"\u{{v}}"`, `{"{{v}}":{"a":1}}`, `[{{v}}{{v}}]`, `{{v}}.5`, `-{{v}}`, `{{{v}}}`, `"{{v"`, `{"a":"x",{{v}}}`} {
		f.Add(seed, `","b":{},"c":"`)
		f.Add(seed, `0022`)
		f.Add(seed, `1`)
	}
	f.Fuzz(func(t *testing.T, template, value string) {
		c := webhook.Config{URL: address, PayloadTemplate: template}
		one, err := c.Build(webhook.Input{Variables: map[string]string{"v": value}})
		if err != nil || len(one.Body) == 0 {
			return
		}
		two, err := c.Build(webhook.Input{Variables: map[string]string{"v": "0"}})
		if err != nil {
			return // for example a name that is there already
		}
		assert.Equal(t, shape(parse(t, two.Body)), shape(parse(t, one.Body)))
	})
}

// FuzzHeaderVariables: no value adds a second header.
func FuzzHeaderVariables(f *testing.F) {
	f.Add("a\r\nb: c")
	f.Add("\u2028")
	f.Add("\t\x0b")
	f.Fuzz(func(t *testing.T, value string) {
		c := webhook.Config{URL: address, Method: "GET", Headers: map[string]string{"X-A": "{{v}}"}}
		r, err := c.Build(webhook.Input{Variables: map[string]string{"v": value}})
		if err == nil {
			require.Len(t, r.Headers, 1)
			assert.False(t, strings.ContainsAny(r.Headers[0].Value, "\r\n\x00"))
		}
	})
}
