package tool

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func schemas() map[string]bool {
	return map[string]bool{
		`{"type":"object"}`: true, " {\n\t\"properties\": {\"a\": {\"type\":\"string\",\"enum\":[\"x\",1,-0.5e+3,true,false,null,[],{}]}} ,\r\"type\" : \"object\" } ": true,
		`{"description":"\"\\\/\b\f\n\r\t\u00e4\uD83D é","type":"object"}`: true, `{"type":"string","type":"object"}`: true,
		`{"type":"object","type":"string"}`: false, `{}`: false, `{"type":"string"}`: false, `{"properties":{"type":"object"}}`: false, `{"type":["object"]}`: false,
		``: false, ` `: false, `"object"`: false, `[]`: false, `null`: false, `{"type":"object"`: false, `{"type":"object"}}`: false, `{"type":"object",}`: false,
		`{"type":"object" "a":1}`: false, `{type:"object"}`: false, `{"type":"object","a":01}`: false, `{"type":"object","a":1.}`: false, `{"type":"object","a":.5}`: false,
		`{"type":"object","a":-}`: false, `{"type":"object","a":1e}`: false, `{"type":"object","a":tru}`: false, `{"type":"object","a":"\x"}`: false, `{"type":"object","a":"\u12g4"}`: false,
		`{"type":"object","a":"\u12`: false, `{"type":"object","a":"\`: false, "{\"type\":\"object\",\"a\":\"\n\"}": false, `{"type":"object","a":[1,]}`: false, `{"type":"object"} x`: false,
		"{\"type\":\"object\"}\x00": false, `{"type":"object","a":` + strings.Repeat("[", 2000): false,
	}
}

func TestObjectSchema(t *testing.T) {
	for text, want := range schemas() {
		assert.Equal(t, want, objectSchema([]byte(text)), text)
	}
}

// FuzzObjectSchema: it is JSON to us exactly when it is to the library, and an object schema when the library reads that type.
func FuzzObjectSchema(f *testing.F) {
	for text := range schemas() {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if strings.Count(string(text), "[")+strings.Count(string(text), "{") > maxDepth {
			return
		}
		s := scan{text: text}
		require.Equal(t, json.Valid(text), s.document())
		if !objectSchema(text) {
			return
		}
		var doc map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(text, &doc))
		require.Equal(t, `"object"`, string(doc["type"]))
	})
}
