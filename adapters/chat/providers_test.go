package chat_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/chat"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/internal/testkit/golden"
)

// TestDefinitions keeps the tools as each provider gets them, with a project and without.
func TestDefinitions(t *testing.T) {
	h := open(t).chat(t)
	for name, defs := range map[string]any{
		"openai": h.OpenAI(""), "openai_project": h.OpenAI("/w/my \"shop\""), "anthropic": h.Anthropic(""), "anthropic_project": h.Anthropic("/w/shop"),
		"gemini": h.Gemini(""), "gemini_project": h.Gemini("/w/shop"), "available": h.Available(t.Context(), "/w/shop"),
	} {
		golden.JSON(t, name, defs)
	}
	assert.Equal(t, h.OpenAI(""), h.OpenAI(""), "asking with a project changes nothing for the next")
}

// TestGeminiSubset: nothing that Gemini refuses is left anywhere in a schema, and a property may be called like a keyword.
func TestGeminiSubset(t *testing.T) {
	for name, c := range map[string]struct{ schema, want string }{
		"keywords": {`{"$schema":"s","type":"object","additionalProperties":false,"properties":{"default":{"type":"string","default":"x","format":"uri"},"n":{"type":"integer","exclusiveMinimum":0,"maximum":5,"format":"int32"}},"required":["default"]}`,
			`{"type":"object","properties":{"default":{"type":"string"},"n":{"type":"integer","maximum":5,"format":"int32"}},"required":["default"]}`},
		"nested": {`{"type":"object","properties":{"a":{"type":"array","items":{"type":"object","properties":{"b":{"type":["string","null"]}},"additionalProperties":{"type":"string"},"required":["b","gone"]}}}}`,
			`{"type":"object","properties":{"a":{"type":"array","items":{"type":"object","properties":{"b":{"type":"string","nullable":true}},"required":["b"]}}}}`},
		"enums":  {`{"type":"object","properties":{"w":{"type":"string","enum":["a"]},"n":{"type":"integer","enum":[1,2]}}}`, `{"type":"object","properties":{"w":{"type":"string","enum":["a"]},"n":{"type":"integer"}}}`},
		"choice": {`{"type":"object","properties":{"c":{"oneOf":[{"type":"string"},{"type":"number","default":1}]},"any":true}}`, `{"type":"object","properties":{"c":{"anyOf":[{"type":"string"},{"type":"number"}]},"any":{"type":"string"}}}`},
		"free":   {`{"type":"object","properties":{"payload":{"type":"object","additionalProperties":true,"properties":{},"required":["x"]}}}`, `{"type":"object","properties":{"payload":{"type":"object"}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.want, string(chat.Subset(json.RawMessage(c.schema))))
		})
	}
}

// FuzzGeminiSubset: whatever object comes in, an object comes out, and once is enough.
func FuzzGeminiSubset(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"type":["string","null"],"enum":["x"],"default":1}},"required":["a"]}`)
	f.Add(`{"anyOf":[{"type":"string"},true],"items":{"properties":{"properties":{}}}}`)
	f.Add(`{"type":[],"required":null,"enum":{}}`)
	f.Fuzz(func(t *testing.T, text string) {
		once := chat.Subset(json.RawMessage(text))
		require.True(t, json.Valid(once), "%q gives %q", text, once)
		assert.JSONEq(t, string(once), string(chat.Subset(once)))
	})
}

// turn returns an assistant's turn of two calls, and what is answered: the second one failed.
func turn(t *testing.T, calls []chat.Call) []chat.Result {
	t.Helper()
	h := open(t).chat(t)
	require.Len(t, calls, 2)
	assert.Equal(t, "list_projects", calls[0].Name)
	assert.JSONEq(t, `{"query":"sh"}`, string(calls[0].Arguments))
	assert.Equal(t, "run_script", calls[1].Name)
	first := h.Execute(t.Context(), calls[0])
	require.NotNil(t, h.Execute(t.Context(), calls[1]).Pending)
	return []chat.Result{first, h.Deny(t.Context(), calls[1].ID, "")}
}

func assertJSON(t *testing.T, want string, got any) {
	t.Helper()
	doc, err := json.Marshal(got)
	require.NoError(t, err)
	assert.JSONEq(t, want, string(doc))
}

const (
	listed = `"{\"projects\":[\"shop\"],\"query\":\"sh\",\"total\":1}"`
	no     = `"{\"success\":false,\"error\":\"Denied by user\",\"code\":\"USER_CANCELLED\",\"hint\":\"the user denied this call; do not repeat it, ask what they want instead\"}"`
)

func TestOpenAIRoundTrip(t *testing.T) {
	calls, err := chat.OpenAICalls(json.RawMessage(`{"role":"assistant","content":null,"tool_calls":[
		{"id":"call_aaa","type":"function","function":{"name":"list_projects","arguments":"{\"query\":\"sh\"}"}},
		{"id":"call_bbb","type":"function","function":{"name":"run_script","arguments":"{\"script_name\":\"build\",\"project_path\":\"/w/shop\"}"}}],"refusal":null}`))
	require.NoError(t, err)
	assertJSON(t, `[{"role":"tool","tool_call_id":"call_aaa","content":`+listed+`},{"role":"tool","tool_call_id":"call_bbb","content":`+no+`}]`,
		chat.OpenAIResults(turn(t, calls)...))

	ollama, err := chat.OpenAICalls(json.RawMessage(`{"role":"assistant","content":"","tool_calls":[{"function":{"name":"list_projects","arguments":{"query":"sh"}}},{"function":{"name":"run_script","arguments":null}}]}`))
	require.NoError(t, err)
	require.Len(t, ollama, 2)
	assert.JSONEq(t, `{"query":"sh"}`, string(ollama[0].Arguments))
	assert.Nil(t, ollama[1].Arguments)
	assert.NotEqual(t, ollama[0].ID, ollama[1].ID)

	broken, err := chat.OpenAICalls(json.RawMessage(`{"tool_calls":[{"id":"c","function":{"name":"list_projects","arguments":"{\"query\":"}}]}`))
	require.NoError(t, err, "a model's mistake has a result, like every call")
	assert.Equal(t, "INVALID_ARGUMENT", why(t, open(t).chat(t).Execute(t.Context(), broken[0])))
}

func TestAnthropicRoundTrip(t *testing.T) {
	calls, err := chat.AnthropicCalls(json.RawMessage(`{"id":"msg_1","type":"message","role":"assistant","stop_reason":"tool_use","content":[
		{"type":"text","text":"I'll look."},
		{"type":"tool_use","id":"toolu_aaa","name":"list_projects","input":{"query":"sh"}},
		{"type":"tool_use","id":"toolu_bbb","name":"run_script","input":{"script_name":"build","project_path":"/w/shop"}}]}`))
	require.NoError(t, err)
	assertJSON(t, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_aaa","content":`+listed+`},
		{"type":"tool_result","tool_use_id":"toolu_bbb","content":`+no+`,"is_error":true}]}`, chat.AnthropicResults(turn(t, calls)...))

	calls, err = chat.AnthropicCalls(json.RawMessage(`{"role":"assistant","content":"only words"}`))
	require.NoError(t, err)
	assert.Empty(t, calls)
}

func TestGeminiRoundTrip(t *testing.T) {
	calls, err := chat.GeminiCalls(json.RawMessage(`{"role":"model","parts":[{"text":"Looking."},
		{"functionCall":{"name":"list_projects","args":{"query":"sh"}},"thoughtSignature":"abc"},
		{"functionCall":{"id":"fc_1","name":"run_script","args":{"script_name":"build","project_path":"/w/shop"}}}]}`))
	require.NoError(t, err)
	results := turn(t, calls)
	assertJSON(t, `{"role":"user","parts":[
		{"functionResponse":{"name":"list_projects","response":{"output":{"projects":["shop"],"query":"sh","total":1}}}},
		{"functionResponse":{"id":"fc_1","name":"run_script","response":{"error":{"success":false,"error":"Denied by user","code":"USER_CANCELLED",
			"hint":"the user denied this call; do not repeat it, ask what they want instead"}}}}]}`, chat.GeminiResults(results...))
	results[0].Output = "# words"
	assertJSON(t, `{"output":"# words"}`, chat.GeminiResults(results...).Parts[0].Response.Response)
}

func TestMessagesThatAreNone(t *testing.T) {
	for name, read := range map[string]func(json.RawMessage) ([]chat.Call, error){
		"openai": chat.OpenAICalls, "anthropic": chat.AnthropicCalls, "gemini": chat.GeminiCalls,
	} {
		for _, text := range []string{``, `nonsense`, `[]`, `"text"`, `{"tool_calls":1,"content":[1],"parts":{}}`} {
			_, err := read(json.RawMessage(text))
			require.Error(t, err, "%s %s", name, text)
			assert.Equal(t, fault.Invalid, fault.From(err).Kind)
		}
		calls, err := read(json.RawMessage(`{}`))
		require.NoError(t, err)
		assert.Empty(t, calls)
	}
}

func TestWhatIsOffered(t *testing.T) {
	s := open(t)
	names := func(h *chat.Handler) (out []string) {
		for _, t := range h.Anthropic("") {
			out = append(out, t.Name)
		}
		return out
	}
	assert.Equal(t, []string{"list_background_processes", "list_projects", "run_script", "trigger_webhook"}, names(s.chat(t)))
	only := s.chat(t, func(o *chat.Options) { o.Toolsets = []string{"control"} })
	assert.Contains(t, names(only), "list_confirmations")
	assert.NotContains(t, names(only), "run_script")
	assert.Equal(t, "UNKNOWN_TOOL", why(t, only.Execute(t.Context(), build("a"))), "what is not offered is not carried out")
	_, err := chat.New(s.App, chat.Options{Toolsets: []string{"projects", "nothing"}})
	require.ErrorIs(t, err, app.ErrWiring)
	assert.Contains(t, err.Error(), `"nothing"`)
}
