package wire_test

import (
	"strings"
	"testing"

	"github.com/countersign-dev/countersign/adapters/mcp/wire"
	"github.com/stretchr/testify/assert"
)

// A body is one message, or says what it is instead.
func TestWhole(t *testing.T) {
	for text, want := range map[string]string{
		request(7): "m#7", " \r\n" + request(7) + "\n\t ": "m#7", "\uFEFF" + request(7): "m#7", `{"method":"n"}`: "n", `{"id":1,"result":{}}`: "~1",
		"[" + request(1) + "," + request(2) + "]": "[m#1 m#2]",
		"": "-32700", " \n": "-32700", "x": "-32700", "{": "-32700", `{"id":1`: "-32700", `{"id":1,}`: "-32700", `"text"`: "-32700", "7": "-32700", "[]": "-32700",
		request(1) + request(2): "-32700", request(1) + " x": "-32700", request(1) + "]": "-32700", `{"id":4,"method":7}`: "-32700",
	} {
		assert.Equal(t, want, word(wire.Whole([]byte(text))), "%q", text)
	}
	long := strings.Repeat(" ", wire.MaxMessage) + request(1)
	assert.Equal(t, "m#1", word(wire.Whole([]byte(long))), "how long it may be is not decided here")
	assert.True(t, wire.Whole([]byte(request(1))).Stated)
	for _, version := range []string{"", `"jsonrpc":"1.0",`, `"jsonrpc":"2.0 ",`} {
		assert.False(t, wire.Whole([]byte("{"+version+`"id":1,"method":"m"}`)).Stated, version)
	}
}
