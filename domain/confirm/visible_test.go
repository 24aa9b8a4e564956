package confirm_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/confirm"
)

// TestNothingIsHidden: the ranges of the packageflow-security contract §4.2, and what else nobody sees.
func TestNothingIsHidden(t *testing.T) {
	for in, want := range map[string]string{
		"plain text, tabs\tand\r\nlines": "plain text, tabs\tand\r\nlines",
		"Grüße 日本 🙂 naïve":               "Grüße 日本 🙂 naïve",
		"rm\u202e txt.exe":               "rm␣U+202E txt.exe",
		"a\u200bb\u200fc":                "a␣U+200Bb␣U+200Fc",
		"\u2066x\u2069":                  "␣U+2066x␣U+2069",
		"\ufeffx\ufffb":                  "␣U+FEFFx␣U+FFFB",
		"x\U000e0041":                    "x␣U+E0041",
		"x\u2060\u2064\u00ad\u061c":      "x␣U+2060␣U+2064␣U+00AD␣U+061C",
		"a\u2028b\u2800c\u3164":          "a␣U+2028b␣U+2800c␣U+3164",
		"\x1b[31mred\x7f\u009b":          "␣U+001B[31mred␣U+007F␣U+009B",
		"":                               "",
	} {
		assert.Equal(t, want, confirm.Visible(in), "%q", in)
	}
	assert.Equal(t, "\xffx", confirm.Visible("\xffx"), "broken bytes are no hidden characters")
}

func TestNothingIsHiddenInJSON(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":"plain \"\\u\" \n"}`:             `{"a":"plain \"\\u\" \n"}`,
		"{\"a\u200b\":\"x\u202ey\"}":           `{"a␣U+200B":"x␣U+202Ey"}`,
		`{"a":"x\u202Ey\u200b"}`:               `{"a":"x␣U+202Ey␣U+200B"}`,
		`["\udb40\udc41 \ud83d\ude42 \u001b"]`: `["␣U+E0041 \ud83d\ude42 ␣U+001B"]`,
		`["\ud83d alone \\u202e \u000a"]`:      `["\ud83d alone \\u202e \u000a"]`,
		`broken \u20`:                          `broken \u20`,
		`\`:                                    `\`,
	} {
		assert.Equal(t, want, string(confirm.VisibleJSON(json.RawMessage(in))), in)
	}
}

// FuzzVisibleJSON: a document stays one, has the same shape, and nothing in it is hidden any more, however often it is read.
func FuzzVisibleJSON(f *testing.F) {
	f.Add(`{"a":"\u202e","b":["\u200b\udb40\udc01","\\u202e"],"c":1}`)
	f.Add("{\"a\":\"\u202e\u2066\"}")
	f.Add(`"\\\u200b"`)
	f.Fuzz(func(t *testing.T, doc string) {
		var before any
		if json.Unmarshal([]byte(doc), &before) != nil {
			return
		}
		shown := confirm.VisibleJSON(json.RawMessage(doc))
		var after any
		require.NoError(t, json.Unmarshal(shown, &after), "%s became %s", doc, shown)
		assert.Equal(t, shown, confirm.VisibleJSON(shown), "it is visible now")
		if text, ok := after.(string); ok {
			assert.False(t, strings.ContainsFunc(text, func(r rune) bool { return unicode.Is(unicode.Cf, r) }), "%q", text)
			assert.Equal(t, confirm.Visible(before.(string)), text)
		}
	})
}
