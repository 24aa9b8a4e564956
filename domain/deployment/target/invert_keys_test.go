package target_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/target"
)

// TestKeysAreTracedBack: whichever agent's dialect a server or a setting was changed in, the change of the module's file gives exactly that value
// again.
func TestKeysAreTracedBack(t *testing.T) {
	servers := map[string][2]string{ // neutral, before and after
		"env":            {`{"command":"npx","args":["-y","x"],"env":{"A":"1"}}`, `{"command":"npx","args":["-y","x"],"env":{"A":"2","B":"3"}}`},
		"args":           {`{"command":"npx","args":["-y","x"]}`, `{"command":"npx","args":["-y","x@2","--fast"]}`},
		"no args":        {`{"command":"x"}`, `{"command":"y"}`},
		"args gone":      {`{"command":"x","args":["a"]}`, `{"command":"x","args":[]}`},
		"env gone":       {`{"command":"x","env":{"A":"1"}}`, `{"command":"x"}`},
		"stdio is said":  {`{"type":"stdio","command":"x"}`, `{"type":"stdio","command":"y"}`},
		"address":        {`{"url":"https://a","headers":{"K":"v"}}`, `{"url":"https://b","headers":{"K":"w"}}`},
		"its own member": {`{"command":"x","timeout":5}`, `{"command":"x","timeout":7}`},
		"old events":     {`{"type":"sse","url":"https://a"}`, `{"type":"sse","url":"https://b"}`},
		"another kind":   {`{"command":"x"}`, `{"type":"http","url":"https://a"}`},
	}
	agents := 0
	for _, agent := range target.TargetNames() {
		scope := target.TargetScopes(agent)[0]
		for name, c := range servers {
			key := func(text string) (sample, deployment.Desired, deployment.Key, bool) {
				s := with([]target.Module{module("mcp:m", deployment.ModuleMCP, "x.json", text)}).set(agent, scope)
				if agent == "export_dir" {
					return s, deployment.Desired{}, deployment.Key{}, false
				}
				for _, f := range s.render(t).Files {
					return s, f, f.Part.Keys[0], true
				}
				return s, deployment.Desired{}, deployment.Key{}, false
			}
			s, file, was, ok := key(c[0])
			_, _, now, also := key(c[1])
			if !ok || !also {
				continue // the agent has no servers, or none of this kind
			}
			agents++
			change, err := target.InvertKey(s.Input, file, was, now.Value)
			require.NoError(t, err)
			require.Empty(t, change.Reason, "%s %s: %s", agent, name, change.Message)
			assert.Equal(t, "x.json", change.Path)
			object, err := target.ParseObject([]byte(c[0]))
			require.NoError(t, err)
			for _, k := range change.Remove {
				delete(object, k.Path[0])
			}
			for _, k := range change.Set {
				var v any
				require.NoError(t, json.Unmarshal(k.Value, &v))
				object[k.Path[0]] = v
			}
			text, err := target.EncodeValue(object)
			require.NoError(t, err)
			_, _, again, _ := key(string(text))
			assert.JSONEq(t, string(now.Value), string(again.Value), "%s %s from %s", agent, name, text)
			if name == "its own member" {
				assert.Len(t, change.Set, 1, "nothing else changes")
				assert.Empty(t, change.Remove)
			}
		}
	}
	assert.Greater(t, agents, 5*len(servers), "so many agents have servers")

	s := with([]target.Module{module("settings:s", deployment.ModuleSettings, "codex.json", `{"a":1,"b":2}`)}).set("codex", deployment.ScopeUser)
	file := s.render(t).Files[0]
	change, err := target.InvertKey(s.Input, file, file.Part.Keys[1], json.RawMessage(`3`))
	require.NoError(t, err)
	assert.Equal(t, target.KeyChange{Path: "codex.json", Set: []deployment.Key{{Path: []string{"b"}, Value: json.RawMessage(`3`)}}}, change)
}

// TestKeysThatCannotBeTracedBack checks that they are reported with the reason.
func TestKeysThatCannotBeTracedBack(t *testing.T) {
	s := with([]target.Module{module("mcp:m", deployment.ModuleMCP, "x.json", `{"command":"x"}`)}).set("cursor", deployment.ScopeProject)
	file := s.render(t).Files[slices.IndexFunc(s.render(t).Files, func(f deployment.Desired) bool { return f.Part != nil })]
	key := file.Part.Keys[0]
	for value, reason := range map[string]target.Reason{`"off"`: target.ReasonUnsupported, `{"command":"x","url":"https://a"}`: target.ReasonUnsupported, `{}`: target.ReasonUnsupported} {
		change, err := target.InvertKey(s.Input, file, key, json.RawMessage(value))
		require.NoError(t, err)
		assert.Equal(t, reason, change.Reason, value)
	}
	key.Module = "mcp:gone"
	change, err := target.InvertKey(s.Input, file, key, json.RawMessage(`{}`))
	require.NoError(t, err)
	assert.Equal(t, target.ReasonUnrelated, change.Reason)
}
