package stdio

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/adapters/mcp/wire"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Whatever a client sends as params of initialize, the SDK gets what it takes.
func TestHandshakeIsAlwaysTaken(t *testing.T) {
	for _, params := range []string{
		``, `null`, `[]`, `{}`, `{"protocolVersion":7,"capabilities":7,"clientInfo":7}`, `{"capabilities":{"elicitation":7}}`,
		`{"clientInfo":{"name":{}}}`, `{"protocolVersion":"2026-07-28","capabilities":{"elicitation":{"form":{}}},"clientInfo":{"name":"n","version":"v","title":"t"}}`,
	} {
		version, settled, clean := handshake(json.RawMessage(params))
		var got mcp.InitializeParams
		require.NoError(t, json.Unmarshal(clean, &got), params)
		assert.Equal(t, settled, got.ProtocolVersion)
		assert.Equal(t, settled, version)
		assert.Contains(t, []string{defaultLegacy, newestLegacy}, version)
		require.NotNil(t, got.Capabilities)
		require.NotNil(t, got.ClientInfo)
	}
	version, settled, _ := handshake(json.RawMessage(`{"protocolVersion":"of my own"}`))
	assert.Equal(t, "of my own", version, "the client reads its own words")
	assert.Equal(t, newestLegacy, settled, "and the SDK a revision it knows")
	_, _, clean := handshake(json.RawMessage(`{"capabilities":{"elicitation":{"form":{}}},"clientInfo":{"name":"n","version":"v"}}`))
	var got mcp.InitializeParams
	require.NoError(t, json.Unmarshal(clean, &got))
	assert.NotNil(t, got.Capabilities.Elicitation.Form, "what is sound is kept")
	assert.Equal(t, "n", got.ClientInfo.Name)
}

// Only ids that the SDK gives back unchanged are handed through.
func TestKeptID(t *testing.T) {
	for raw, want := range map[string]any{
		`"a\n"`: "a\n", `7`: int64(7), `-7`: int64(-7), `4503599627370495`: int64(4503599627370495),
		`4503599627370496`: nil, `9007199254740993`: nil, `1.5`: nil, `1e3`: nil, `true`: nil, `{}`: nil, `null`: nil, ``: nil,
	} {
		id, ok := keptID(json.RawMessage(raw))
		assert.Equal(t, want != nil, ok, raw)
		assert.Equal(t, want, id.Raw(), raw)
	}
}

func TestIsModern(t *testing.T) {
	for params, want := range map[string]bool{
		``: false, `{}`: false, `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`: true,
		`{"_meta":{"io.modelcontextprotocol/protocolVersion":"2027-01-01"}}`:     true,
		`{"_meta":{"io.modelcontextprotocol/protocolVersion":"2025-11-25"}}`:     false,
		`{"_meta":{"io.modelcontextprotocol/protocolVersion":7}}`:                false,
		`{"arguments":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`: false,
		`{"arguments":"io.modelcontextprotocol/protocolVersion"}`:                false,
	} {
		assert.Equal(t, want, isModern(json.RawMessage(params)), params)
	}
}

// An answer on its way out holds up what comes behind all answers, from the moment the SDK has given it.
func TestTheLastAnswerIsBehindOneThatIsBeingWritten(t *testing.T) {
	var out bytes.Buffer
	c := New(Options{In: strings.NewReader(""), Out: &out, Drain: time.Hour}).conn
	ours, open := c.open(&call{id: json.RawMessage("1"), method: methodInitialize})
	require.True(t, open)
	k, open := c.take(ours)
	require.True(t, open)
	_, again := c.take(ours)
	assert.False(t, again, "one answer a call")

	c.answerLast(wire.Message{ID: json.RawMessage("2")}, reply{})
	assert.Empty(t, out.String())
	c.settle(k, wire.Result(k.id, nil))
	assert.Equal(t, `{"jsonrpc":"2.0","id":1,"result":null}`+"\n"+`{"jsonrpc":"2.0","id":2,"result":null}`+"\n", out.String())
	assert.Empty(t, c.calls)
}
