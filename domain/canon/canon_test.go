package canon_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/canon"
)

func TestCanonicalForm(t *testing.T) {
	for in, want := range map[string]string{
		` null `:                    `null`,
		`true`:                      `true`,
		"\t[ false\n,\r{ } , [ ] ]": `[false,{},[]]`,
		`{"b":1,"a":2}`:             `{"a":2,"b":1}`,
		`{"b":{"d":1,"c":[{"z":0,"y":0}]},"a":[3,1,2]}`: `{"a":[3,1,2],"b":{"c":[{"y":0,"z":0}],"d":1}}`,
		`{"a":1,"A":2,"é":3,"aa":4,"":5}`:               `{"":5,"A":2,"a":1,"aa":4,"é":3}`,
		`{"\u0062":1,"a":2}`:                            `{"a":2,"b":1}`,
		`"\u0041\/\u003c>&"`:                            `"A/<>&"`,
		`"\u00e9é\ud83d\ude00"`:                         `"éé😀"`,
		`"\u0000\u001f\b\f\n\r\t\"\\"`:                  `"\u0000\u001f\b\f\n\r\t\"\\"`,
		`"\u000A"`:                                      `"\n"`,
		"\"\u2028\"":                                    `"\u2028"`,
		`-0`:                                            `0`,
		`[-0,-1,0]`:                                     `[0,-1,0]`,
		`123456789012345678901234567890`:                `123456789012345678901234567890`,
		`"1.5"`:                                         `"1.5"`,
	} {
		got, err := canon.Canonical([]byte(in))
		if assert.NoError(t, err, in) {
			assert.Equal(t, want, string(got), in)
		}
	}
}

func TestCanonicalRefuses(t *testing.T) {
	for in, says := range map[string]string{
		`1.5`:                 "1.5 is not an integer",
		`1.0`:                 "not an integer",
		`1e3`:                 "not an integer",
		`{"a":[{"b":-0.0}]}`:  "not an integer",
		`1E+2`:                "not an integer",
		``:                    "no canonical form",
		` `:                   "no canonical form",
		`{`:                   "no canonical form",
		`{"a":1}}`:            "no canonical form",
		`1]`:                  "no canonical form",
		`1 2`:                 "no canonical form",
		`[1,]`:                "no canonical form",
		`01`:                  "no canonical form",
		`NaN`:                 "no canonical form",
		"\ufeff{}":            "no canonical form",
		`{"a":1,"a":1}`:       `duplicate key "a"`,
		`{"a":1,"\u0061":2}`:  `duplicate key "a"`,
		`{"b":1,"a":2,"b":3}`: `duplicate key "b"`,
		strings.Repeat("[", canon.MaxDepth+1) + strings.Repeat("]", canon.MaxDepth+1): "deeper than 500",
	} {
		_, err := canon.Canonical([]byte(in))
		require.ErrorIs(t, err, canon.ErrForm, in)
		assert.Contains(t, err.Error(), says, in)
	}
	_, err := canon.Canonical([]byte(strings.Repeat("[", canon.MaxDepth) + strings.Repeat("]", canon.MaxDepth)))
	assert.NoError(t, err, "the depth's edge")
}

type broken struct{}

func (broken) MarshalJSON() ([]byte, error) { return nil, errors.New("no form today") }

func TestMarshal(t *testing.T) {
	got, err := canon.Marshal(struct {
		Zulu  string            `json:"zulu"`
		Alpha map[string]int    `json:"alpha"`
		Raw   json.RawMessage   `json:"raw"`
		Hash  canon.Hash        `json:"hash"`
		Omit  map[string]string `json:"omit,omitempty"`
	}{Zulu: "<a&b>", Alpha: map[string]int{"y": 2, "x": 1}, Raw: json.RawMessage("{ \"k\" : [ 1 , 2 ] , \"j\":0}")})
	require.NoError(t, err)
	assert.Equal(t, `{"alpha":{"x":1,"y":2},"hash":"","raw":{"j":0,"k":[1,2]},"zulu":"<a&b>"}`, string(got))

	for name, v := range map[string]any{"a float": 1.5, "a big float": 1e21, "a channel": make(chan int), "a failing value": broken{},
		"a repeated key": json.RawMessage(`{"a":1,"a":2}`), "a nested float": map[string]any{"a": []any{0.1}}} {
		_, err := canon.Marshal(v)
		assert.ErrorIs(t, err, canon.ErrForm, name)
		_, err = canon.Sum("x", v)
		assert.ErrorIs(t, err, canon.ErrForm, name)
	}
}

func TestSumIsOfTheMeaning(t *testing.T) {
	first, err := canon.Sum("a.v1", json.RawMessage(`{"a":1,"b":"é"}`))
	require.NoError(t, err)
	again, err := canon.Sum("a.v1", map[string]any{"b": "\u00e9", "a": 1})
	require.NoError(t, err)
	assert.Equal(t, first, again)

	pinned, err := canon.Sum("test.v1", map[string]int{"b": 2, "a": 1}) // SHA-256 of "7:test.v1\n" and {"a":1,"b":2}
	require.NoError(t, err)
	assert.Equal(t, "sha256:9a493a2b023c9e44179f106148cb88aae0ea87db42cf4867c7a242005cb0c2af", pinned.String(), "stored sums stay comparable")
}

func TestLabelsSeparateDomains(t *testing.T) {
	seen := map[canon.Hash]string{}
	for _, label := range []string{"", "a", "b", "ab", "a.v1", "a.v2", "1:a", "1:a\n", "0:\n"} {
		for _, body := range []string{"", "a", "b", "1:a\n", "\n", "{}"} {
			h := canon.SumBytes(label, []byte(body))
			name := fmt.Sprintf("%q over %q", label, body)
			assert.Empty(t, seen[h], name)
			seen[h] = name
		}
	}
}

func TestHashText(t *testing.T) {
	h := canon.SumBytes("x", []byte("y"))
	assert.Regexp(t, `^sha256:[0-9a-f]{64}$`, h.String())
	assert.Equal(t, "sha256:"+h.Hex(), h.String())
	assert.False(t, h.IsZero())
	assert.True(t, canon.Hash{}.IsZero())

	parsed, err := canon.Parse(h.String())
	require.NoError(t, err)
	assert.Equal(t, h, parsed)

	type doc struct{ Hash canon.Hash }
	for _, want := range []canon.Hash{h, {}} {
		text, err := json.Marshal(doc{want})
		require.NoError(t, err)
		got := doc{canon.SumBytes("another", nil)}
		require.NoError(t, json.Unmarshal(text, &got))
		assert.Equal(t, want, got.Hash)
	}
}

func TestHashTextRefuses(t *testing.T) {
	good := canon.SumBytes("x", nil).String()
	for _, bad := range []string{"", "sha256:", good[7:], strings.ToUpper(good), "sha256:" + strings.ToUpper(good[7:]), good + "0", good[:70],
		good[:70] + "g", "SHA256" + good[6:], "sha512:" + good[7:], " " + good, good + "\n"} {
		h, err := canon.Parse(bad)
		require.ErrorIs(t, err, canon.ErrHash, "%q", bad)
		assert.True(t, h.IsZero())
	}
	kept := canon.SumBytes("x", nil)
	require.ErrorIs(t, kept.UnmarshalText([]byte("sha256:no")), canon.ErrHash)
	assert.Equal(t, good, kept.String(), "a refused text leaves the value alone")
}

// oracle returns the slow way to the same form: decode into a tree, encode that again.
func oracle(raw []byte) (out []byte, float bool) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var tree any
	if dec.Decode(&tree) != nil {
		return nil, false
	}
	tree = walk(tree, &float)
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if enc.Encode(tree) != nil {
		return nil, float
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), float
}

func walk(v any, float *bool) any {
	switch v := v.(type) {
	case json.Number:
		*float = *float || strings.ContainsAny(v.String(), ".eE")
		if v == "-0" {
			return json.Number("0")
		}
	case []any:
		for i := range v {
			v[i] = walk(v[i], float)
		}
	case map[string]any:
		for k := range v {
			v[k] = walk(v[k], float)
		}
	}
	return v
}

// escaped writes every string of a canonical document with \u escapes only, and indents it: the same meaning in other bytes.
func escaped(t *testing.T, doc []byte) []byte {
	var out bytes.Buffer
	for at := 0; at < len(doc); at++ {
		if doc[at] != '"' {
			out.WriteByte(doc[at])
			continue
		}
		end := at + 1
		for ; doc[end] != '"'; end++ {
			if doc[end] == '\\' {
				end++
			}
		}
		var s string
		require.NoError(t, json.Unmarshal(doc[at:end+1], &s))
		out.WriteByte('"')
		for _, r := range s {
			if r > 0xffff {
				r -= 0x10000
				fmt.Fprintf(&out, `\u%04X\u%04x`, 0xd800+(r>>10), 0xdc00+(r&0x3ff))
				continue
			}
			fmt.Fprintf(&out, `\u%04x`, r)
		}
		out.WriteByte('"')
		at = end
	}
	var wide bytes.Buffer
	require.NoError(t, json.Indent(&wide, out.Bytes(), "\r", " \t"))
	return wide.Bytes()
}

// FuzzCanonical: the form is valid, idempotent, means what the document means, and does not depend on key order, white space or escapes.
func FuzzCanonical(f *testing.F) {
	for _, s := range []string{
		`{"b":[1,-0,{"d":null,"c":"\u00e9\u2028<"}],"a":{}}`, `[1.5]`, `{"a":1,"a":2}`, `1]`, "\"\xff\"", `"\ud800"`, `{"\u0061":1,"":0}`,
		`[[[[]]]]`, ` {} `, `-`, `1e5`, `{"é":"😀","e":"\t"}`, `"\/"`, `tru`, `falsey`, `{"a":{"b":1,"a":{"b":1,"a":0}},"A":[]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := canon.Canonical(raw)
		want, float := oracle(raw)
		if err != nil {
			require.ErrorIs(t, err, canon.ErrForm)
			ours := errors.Is(err, canon.ErrForm) && (strings.Contains(err.Error(), "duplicate key") || strings.Contains(err.Error(), "deeper"))
			require.True(t, float || ours || !json.Valid(raw), "refused without a reason: %v", err)
			return
		}
		require.False(t, float, "a float went through: %s", raw)
		require.True(t, json.Valid(got))
		require.Equal(t, string(want), string(got))

		again, err := canon.Canonical(got)
		require.NoError(t, err)
		require.Equal(t, string(got), string(again), "canonical form is its own canonical form")

		variant, err := canon.Canonical(escaped(t, got))
		require.NoError(t, err)
		require.Equal(t, string(got), string(variant), "escapes and white space mean nothing")

		marshaled, err := canon.Marshal(json.RawMessage(raw))
		require.NoError(t, err)
		require.Equal(t, string(got), string(marshaled))
	})
}

// FuzzHashText: whatever parses is written back as it was.
func FuzzHashText(f *testing.F) {
	f.Add(canon.SumBytes("x", nil).String())
	f.Add("sha256:")
	f.Fuzz(func(t *testing.T, s string) {
		if h, err := canon.Parse(s); err == nil {
			require.Equal(t, s, h.String())
		}
	})
}
