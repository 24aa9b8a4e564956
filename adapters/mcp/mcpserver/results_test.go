package mcpserver

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/present"
)

// TestResultIsTheSDKs: whichever of the two ways a call took, the client reads the same, and of what has an object also that it is not an error.
func TestResultIsTheSDKs(t *testing.T) {
	for name, doc := range map[string]present.Document{
		"text":            {Text: "a \"quoted\" <line>\n\u2028 and \xff"},
		"empty":           {},
		"failure":         {Text: "no", Fail: true},
		"text and object": {Text: "{}", Object: json.RawMessage(`{"a":[1,"<b>"]}`)},
		"stated":          {Text: "{}", Object: json.RawMessage(`{}`), States: true},
		"failing object":  {Text: "{}", Object: json.RawMessage(`{}`), Fail: true},
		"own meta":        {Text: "{}", Object: json.RawMessage(`{}`), Meta: json.RawMessage(`{"callId":"call_1","durationMs":150}`)},
	} {
		for _, added := range []bool{false, true} {
			want := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: doc.Text}}, IsError: doc.Fail}
			a := NewResult(doc)
			if doc.Meta != nil {
				want.Meta = mcp.Meta{"callId": "call_1", "durationMs": 150}
			}
			if added { // as the SDK names the server
				for _, r := range []mcp.Result{want, a} {
					meta := r.GetMeta()
					if meta == nil {
						meta = map[string]any{}
					}
					meta["k"] = "v"
					r.SetMeta(meta)
				}
			}
			if doc.Object != nil {
				want.StructuredContent = doc.Object
			}
			expected, err := json.Marshal(want)
			require.NoError(t, err)
			got, err := json.Marshal(a)
			require.NoError(t, err)
			if doc.States {
				expected = append(bytes.TrimSuffix(expected, []byte("}")), `,"isError":false}`...)
			}
			assert.JSONEq(t, string(expected), string(got), name)
		}
	}
}
