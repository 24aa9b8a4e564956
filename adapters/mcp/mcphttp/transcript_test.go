package mcphttp_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/resultschema"
)

// A session of the older era from the handshake to its end.
func TestTranscriptWithSessions(t *testing.T) {
	t.Parallel()
	for _, era := range eras[:4] {
		s := serve(t, newTown(t, false))
		c := s.as("ann")
		a := c.post(`{"jsonrpc":"2.0","id":"h","method":"initialize","params":{"protocolVersion":"` + era + `","capabilities":{},"clientInfo":{"name":"probe","version":"9"}}}`)
		require.Equal(t, 200, a.status)
		var hello struct {
			ProtocolVersion string
			ServerInfo      struct{ Name string }
			Capabilities    json.RawMessage
		}
		require.NoError(t, json.Unmarshal(a.last(t).Result, &hello))
		assert.Equal(t, era, hello.ProtocolVersion)
		assert.Equal(t, "countersign", hello.ServerInfo.Name)
		assert.JSONEq(t, `{"tools":{}}`, string(hello.Capabilities))
		c.session, c.version = a.header.Get("Mcp-Session-Id"), era
		assert.Regexp(t, "^[!-~]{16,}$", c.session)
		assert.Equal(t, 1, s.endpoint.Sessions())

		a = c.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		assert.Equal(t, 202, a.status)
		assert.Empty(t, a.body)
		assert.JSONEq(t, `{}`, string(c.do(c.ask("1", "ping", `{}`)).last(t).Result))
		a = c.do(c.ask("7", "no/such", `{}`))
		assert.Equal(t, 200, a.status, "that is an answer, and the session goes on")
		assert.EqualValues(t, -32601, a.last(t).Error.Code)
		var list struct{ Tools []struct{ Name string } }
		require.NoError(t, json.Unmarshal(c.do(c.ask("2", "tools/list", `{}`)).last(t).Result, &list))
		assert.Len(t, list.Tools, 14)
		text, failed := c.call("look", `{"name":"here"}`)
		assert.False(t, failed)
		assert.JSONEq(t, `{"name":"here"}`, text)
		text, _ = c.call("whoami", `{}`)
		assert.Contains(t, text, `"Client":"probe 9"`)
		assert.Contains(t, text, `"Principal":"token:ann"`)
		assert.NotContains(t, text, c.session, "the id of the session is nobody's business")

		a = c.do(c.request(http.MethodDelete, ""))
		assert.Equal(t, 204, a.status)
		assert.Contains(t, text, <-s.ended, "what it was granted is forgotten when that is answered")
		assert.Zero(t, s.endpoint.Sessions())
		for _, r := range []*http.Request{c.ask("3", "tools/call", toolCall("look", `{}`, "")), c.ask("4", "tools/list", "{}"), c.request(http.MethodDelete, ""), c.request(http.MethodGet, "")} {
			a = c.do(r)
			assert.Equal(t, 404, a.status)
			assert.Contains(t, a.header.Get("Content-Type"), "text/plain", "a JSON-RPC error would be taken for an answer in a session that goes on")
		}
	}
}

// The era without sessions knows no handshake; what a client is remembered by is its credential and its name.
func TestTranscriptWithoutSessions(t *testing.T) {
	t.Parallel()
	s := serve(t, newTown(t, false))
	c := s.as("ann").newer()
	var found struct {
		SupportedVersions []string
		ResultType        string
	}
	require.NoError(t, json.Unmarshal(c.do(c.ask("1", "server/discover", `{}`)).last(t).Result, &found))
	assert.Contains(t, found.SupportedVersions, modern)
	assert.Contains(t, found.SupportedVersions, "2025-11-25")
	assert.Equal(t, "complete", found.ResultType)
	var list struct{ Tools []struct{ Name string } }
	require.NoError(t, json.Unmarshal(c.do(c.ask("2", "tools/list", `{}`)).last(t).Result, &list))
	assert.Len(t, list.Tools, 14)
	me := func(c *caller) string {
		text, failed := c.call("whoami", `{}`)
		require.False(t, failed)
		var w who
		require.NoError(t, json.Unmarshal([]byte(text), &w))
		return w.Session
	}
	again, other, newName := s.as("ann").newer(), s.as("bob").newer(), s.as("ann").newer()
	newName.info = `{"name":"another","version":"9"}`
	assert.Equal(t, me(c), me(again), "a new connection of the same client")
	assert.NotEqual(t, me(c), me(other))
	assert.NotEqual(t, me(c), me(newName))
	newName.info = `{"name":"another","version":"10"}`
	assert.Equal(t, 3, s.endpoint.Sessions())
	me(newName)
	assert.Equal(t, 3, s.endpoint.Sessions(), "a version is no other client")

	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		a := c.do(c.request(method, ""))
		assert.Equal(t, 405, a.status, method)
		assert.Equal(t, "POST", a.header.Get("Allow"))
	}
	a := c.do(c.ask("1", "initialize", `{}`))
	assert.Equal(t, 404, a.status)
	assert.EqualValues(t, -32601, a.last(t).Error.Code)
	a = c.do(c.ask("1", "tools/call", toolCall("no_such", "{}", "")))
	assert.Equal(t, 400, a.status)
	assert.EqualValues(t, -32602, a.last(t).Error.Code)
}

// A session is of no use to anybody but the credential that opened it, and cannot be told from one that is not there.
func TestStolenSession(t *testing.T) {
	t.Parallel()
	s := serve(t, newTown(t, false))
	ann, thief := s.as("ann").connect("2025-11-25", "{}"), s.as("bob").connect("2025-11-25", "{}")
	own := thief.session
	for _, session := range []string{ann.session, "NOSUCHSESSION", own + "x"} {
		thief.session = session
		for _, r := range []*http.Request{
			thief.ask("1", "tools/call", toolCall("whoami", "{}", "")), thief.ask("2", "tools/call", toolCall("whoami", "{}", `{"progressToken":1}`)),
			thief.ask("3", "tools/list", "{}"), thief.request(http.MethodGet, ""), thief.request(http.MethodDelete, ""),
			thief.request(http.MethodPost, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`),
			thief.request(http.MethodPost, `{"jsonrpc":"2.0","id":1,"result":{}}`),
		} {
			a := thief.do(r)
			assert.Equal(t, 404, a.status, "%s %s", r.Method, session)
			assert.Equal(t, "session not found\n", string(a.body))
		}
	}
	_, failed := ann.call("whoami", "{}")
	assert.False(t, failed, "the session is still its owner's")
}

// Whatever cannot be read is answered with a JSON-RPC error, and harms nobody.
func TestMalformed(t *testing.T) {
	t.Parallel()
	s := serve(t, newTown(t, false))
	older, newer, nobody := s.as("ann").connect("2025-11-25", "{}"), s.as("ann").newer(), s.as("ann")
	for body, code := range map[string]int64{
		"": -32700, "  \n": -32700, "garbage": -32700, "{": -32700, `{"jsonrpc":"2.0","id":1,"method":"ping"} x`: -32700, `{"jsonrpc":"2.0","id":1,"method":"ping"}{}`: -32700,
		`"ping"`: -32700, `7`: -32700, `{"id":1}`: -32700, `{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`: -32700, `[]`: -32700,
		`{"jsonrpc":"2.0","id":1,"method":"ping","params":` + strings.Repeat("[", 2000) + strings.Repeat("]", 2000) + `}`: -32600,
		`{"jsonrpc":"1.0","id":1,"method":"ping"}`: -32600, `{"jsonrpc":"2.0","id":true,"method":"ping"}`: -32600,
		`{"jsonrpc":"2.0","id":1,"method":7}`: -32700,
	} {
		for _, c := range []*caller{older, newer, nobody} {
			a := c.post(body)
			assert.Equal(t, 400, a.status, "%.60s: %s", body, a.body)
			assert.Equal(t, "application/json", a.header.Get("Content-Type"), "%.60s", body)
			m := a.last(t)
			if assert.NotNil(t, m.Error, "%.60s", body) {
				assert.Equal(t, code, m.Error.Code, "%.60s: %s", body, m.Error.Message)
			}
			assert.NotContains(t, string(a.body), `"id":null`, "an error whose request is not known has no id (MCP schema)")
		}
	}
	_, failed := older.call("look", `{}`)
	assert.False(t, failed)
}

// Requests whose headers are wrong are refused, as JSON-RPC.
func TestHeaders(t *testing.T) {
	t.Parallel()
	s := serve(t, newTown(t, false))
	older, newer := s.as("ann").connect("2025-11-25", "{}"), s.as("ann").newer()
	for name, c := range map[string]struct {
		who    *caller
		change func(h http.Header)
		status int
		code   int64
	}{
		"an unknown version":              {older, func(h http.Header) { h.Set("Mcp-Protocol-Version", "2023-01-01") }, 400, -32600},
		"a version to come":               {newer, func(h http.Header) { h.Set("Mcp-Protocol-Version", "2027-01-01") }, 400, -32020},
		"no version where one is":         {newer, func(h http.Header) { h.Del("Mcp-Protocol-Version") }, 400, -32020},
		"an older version in the header":  {newer, func(h http.Header) { h.Set("Mcp-Protocol-Version", "2025-11-25") }, 400, -32022},
		"no JSON":                         {older, func(h http.Header) { h.Set("Content-Type", "text/plain") }, 415, -32600},
		"no JSON, newer":                  {newer, func(h http.Header) { h.Set("Content-Type", "application/xml") }, 415, -32600},
		"a client that takes no stream":   {older, func(h http.Header) { h.Set("Accept", "application/json") }, 400, -32600},
		"a client that takes no document": {newer, func(h http.Header) { h.Set("Accept", "text/event-stream") }, 400, -32600},
		"a place in a stream":             {older, func(h http.Header) { h.Set("Last-Event-ID", "x_1") }, 400, -32600},
		"no method":                       {newer, func(h http.Header) { h.Del("Mcp-Method") }, 400, -32020},
		"another method":                  {newer, func(h http.Header) { h.Set("Mcp-Method", "tools/list") }, 400, -32020},
		"no name":                         {newer, func(h http.Header) { h.Del("Mcp-Name") }, 400, -32020},
		"another name":                    {newer, func(h http.Header) { h.Set("Mcp-Name", "whoami") }, 400, -32020},
		"another case":                    {newer, func(h http.Header) { h.Set("Mcp-Method", "Tools/Call") }, 400, -32020},
	} {
		r := c.who.ask("5", "tools/call", toolCall("look", `{"name":"x"}`, ""))
		c.change(r.Header)
		a := c.who.do(r)
		assert.Equal(t, c.status, a.status, "%s: %s", name, a.body)
		m := a.last(t)
		if assert.NotNil(t, m.Error, name) {
			assert.Equal(t, c.code, m.Error.Code, "%s: %s", name, m.Error.Message)
		}
	}
	r := newer.ask("1", "tools/call", toolCall("look", `{"name":"x"}`, ""))
	r.Header.Set("Accept", "text/*, application/*;q=0.5")
	r.Header.Set("Content-Type", "application/json; charset=utf-8")
	assert.Equal(t, 200, newer.do(r).status)
	a := newer.do(func() *http.Request {
		r := newer.request(http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"look","_meta":{"io.modelcontextprotocol/protocolVersion":"2027-01-01","io.modelcontextprotocol/clientCapabilities":{}}}}`)
		r.Header["Mcp-Protocol-Version"], r.Header["Mcp-Method"], r.Header["Mcp-Name"] = []string{"2027-01-01"}, []string{"tools/call"}, []string{"look"}
		return r
	}())
	assert.Equal(t, 400, a.status)
	assert.EqualValues(t, -32022, a.last(t).Error.Code, "it says which versions there are: %s", a.body)
	assert.Contains(t, string(a.last(t).Error.Data), modern)
}

// TestArrays were input in revision 2025-03-26 alone; a notification among the requests holds nothing up.
func TestArrays(t *testing.T) {
	t.Parallel()
	s := serve(t, newTown(t, false))
	c := s.as("ann").connect("2025-03-26", "{}")
	a := c.post(`[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/initialized"},{"jsonrpc":"2.0","id":"b","method":"tools/call","params":{"name":"look","arguments":{"name":"x"}}}]`)
	require.Equal(t, 200, a.status, "%s", a.body)
	var got []string
	for _, e := range a.events {
		var m message
		require.NoError(t, json.Unmarshal(e, &m))
		got = append(got, string(m.ID))
	}
	assert.ElementsMatch(t, []string{"1", `"b"`}, got)
	assert.Equal(t, 202, c.post(`[{"jsonrpc":"2.0","method":"notifications/initialized"}]`).status)
	for _, body := range []string{`[1]`, `[{"jsonrpc":"2.0","id":1,"method":"ping"},{}]`} {
		a = c.post(body)
		assert.Equal(t, 400, a.status)
		assert.NotNil(t, a.last(t).Error)
	}
	for _, c := range []*caller{s.as("ann").connect("2025-06-18", "{}"), s.as("ann").newer(), s.as("ann")} {
		a = c.post(`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`)
		assert.Equal(t, 400, a.status)
		assert.EqualValues(t, -32600, a.last(t).Error.Code)
	}
}

// Whether a call is answered directly or by the SDK, the client reads the same.
func TestBothWaysAnswerAlike(t *testing.T) {
	t.Parallel()
	s := serve(t, newTown(t, false))
	for _, era := range eras {
		c := s.as("ann").in(era)
		for _, call := range [][2]string{{"look", `{"name":"a \"quoted\" <name>\u2028"}`}, {"look", `{"nmae":1}`}, {"panics", `{}`}, {"big", `{"ms":300000}`}, {"list_toolsets", `{}`}, {"no_such", `{}`}} {
			direct, sdk := c.do(c.ask("7", "tools/call", toolCall(call[0], call[1], ""))), c.do(c.ask("7", "tools/call", toolCall(call[0], call[1], `{"progressToken":"t"}`)))
			assert.Equal(t, sdk.status, direct.status)
			if call[0] != "no_such" {
				assert.Equal(t, "application/json", direct.header.Get("Content-Type"), call[0])
				assert.Equal(t, "text/event-stream", sdk.header.Get("Content-Type"))
			}
			m, n := direct.last(t), sdk.last(t)
			if n.Error != nil {
				assert.Equal(t, n.Error, m.Error)
				continue
			}
			assert.JSONEq(t, string(n.ID), string(m.ID))
			assert.JSONEq(t, string(n.Result), string(m.Result), "%s %s", era, call)
		}
	}
}

// Whatever a tool answers in either era, and whichever way, is what tools/list publishes for it.
func TestStructuredContentIsWhatIsPublished(t *testing.T) {
	t.Parallel()
	s := serve(t, newTown(t, false))
	for _, era := range eras {
		c := s.as("ann").in(era)
		var listed struct {
			Tools []struct {
				Name         string
				OutputSchema json.RawMessage
			}
		}
		require.NoError(t, json.Unmarshal(c.do(c.ask("1", "tools/list", `{}`)).last(t).Result, &listed))
		published := map[string]json.RawMessage{}
		for _, tool := range listed.Tools {
			published[tool.Name] = tool.OutputSchema
		}
		for _, call := range [][2]string{{"look", `{"name":"x"}`}, {"list_toolsets", `{}`}, {"get_policy", `{}`}, {"list_confirmations", `{}`}, {"set_mode", `{"mode":"plan"}`}} {
			require.NotEmpty(t, published[call[0]], "%s %s", era, call[0])
			for _, meta := range []string{"", `{"progressToken":"t"}`} {
				var r struct{ StructuredContent json.RawMessage }
				a := c.do(c.ask("7", "tools/call", toolCall(call[0], call[1], meta))).last(t)
				require.NoError(t, json.Unmarshal(a.Result, &r), "%s", a.Error)
				require.NotEmpty(t, r.StructuredContent, "%s %s: %s", era, call, a.Result)
				resultschema.Valid(t, tool.Name(call[0]), published[call[0]], r.StructuredContent)
			}
		}
	}
}

// TestIDs come back as they were sent, whichever way.
func TestIDs(t *testing.T) {
	t.Parallel()
	s := serve(t, newTown(t, false))
	for _, era := range []string{"2025-11-25", modern} {
		c := s.as("ann").in(era)
		for _, id := range []string{`"a\"b\u00e9"`, `""`, "0", "-7", "123456789012345"} {
			a := c.do(c.ask(id, "tools/call", toolCall("look", "{}", "")))
			assert.Equal(t, 200, a.status)
			assert.JSONEq(t, id, string(a.last(t).ID))
		}
	}
}
