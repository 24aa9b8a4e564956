package gateway

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
)

func TestMessageOf(t *testing.T) {
	m, ok := messageOf(json.RawMessage(`{"info":{"id":"msg_1","role":"assistant","modelID":"m","providerID":"p","finish":"stop","cost":0.25,
		"error":{"name":"ProviderAuthError","data":{"message":"no key"}}},
		"parts":[{"type":"step-start"},{"type":"reasoning","text":"hm"},{"type":"text","text":"one"},{"type":"tool","tool":"bash","state":{"status":"error","error":"exit 1","output":"x"}},
		{"type":"text","text":"two"},{"type":"later-kind","x":[1]}]}`))
	assert.True(t, ok)
	assert.Equal(t, Message{ID: "msg_1", Role: "assistant", Model: "p/m", Text: "one\n\ntwo", Finish: "stop", Error: "ProviderAuthError: no key",
		Tools: []ToolUse{{Tool: "bash", Status: "error", Error: "exit 1"}}}, m)
	for _, other := range []string{``, `null`, `[]`, `{}`, `{"parts":[]}`, `{"info":7}`, `"text"`} {
		_, ok := messageOf(json.RawMessage(other))
		assert.False(t, ok, "%q is shown as it is", other)
	}
	for _, other := range []string{``, `{}`, `[{}]`, `[7]`} {
		_, ok := messagesOf(json.RawMessage(other))
		assert.False(t, ok, other)
	}
	all, ok := messagesOf(json.RawMessage(`[]`))
	assert.True(t, ok)
	assert.Empty(t, all)
}

func TestMessagesAreCut(t *testing.T) {
	long, _ := json.Marshal(strings.Repeat("ü", maxListed))
	all, ok := messagesOf(json.RawMessage(`[{"info":{"id":"m"},"parts":[{"type":"text","text":` + string(long) + `}]}]`))
	assert.True(t, ok)
	assert.True(t, all[0].Cut)
	assert.LessOrEqual(t, len(all[0].Text), maxListed)
	assert.True(t, utf8.ValidString(all[0].Text))
}
