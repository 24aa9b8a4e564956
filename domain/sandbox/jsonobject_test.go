package sandbox_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/sandbox"
)

func TestOrderAndUnknownMembersStay(t *testing.T) {
	o, err := sandbox.ParseObject([]byte(` {"z":1.50,"a":{"deep":[1,2,{"x":null}]},"<k>":"a<b&c","n":null,"z":2} `))
	require.NoError(t, err)
	assert.Equal(t, []string{"z", "a", "<k>", "n"}, o.Keys())
	require.NoError(t, o.Put("a", map[string]int{"b": 1}))
	require.NoError(t, o.Put("new", "x<y"))
	o.Rename("n", "m")
	text, err := o.Text()
	require.NoError(t, err)
	assert.Equal(t, "{\n  \"z\": 2,\n  \"a\": {\n    \"b\": 1\n  },\n  \"<k>\": \"a<b&c\",\n  \"m\": null,\n  \"new\": \"x<y\"\n}\n", string(text))

	o.Rename("m", "z")
	assert.Equal(t, []string{"a", "<k>", "z", "new"}, o.Keys())
	o.Rename("gone", "a")
	o.Delete("z")
	o.Delete("z")
	assert.Equal(t, []string{"a", "<k>", "new"}, o.Keys())
}

func TestReading(t *testing.T) {
	o, err := sandbox.ParseObject([]byte(`{"n":null,"i":3,"o":{"k":"v"}}`))
	require.NoError(t, err)
	n := 7
	require.NoError(t, o.Read("missing", &n))
	require.NoError(t, o.Read("n", &n))
	assert.Equal(t, 7, n, "neither nothing nor null is a value")
	require.NoError(t, o.Read("i", &n))
	assert.Equal(t, 3, n)
	require.Error(t, o.Read("o", &n))
	assert.True(t, o.Has("n"))
	assert.True(t, o.IsNull("n"))
	assert.True(t, o.IsNull("missing"))
	assert.False(t, o.Has("I"), "case counts")

	child, err := o.Child("o")
	require.NoError(t, err)
	require.NoError(t, child.Put("k", "w"))
	assert.JSONEq(t, `{"k":"v"}`, string(o.Raw("o")), "a child is a copy")
	require.NoError(t, o.Put("o", child))
	assert.JSONEq(t, `{"k":"w"}`, string(o.Raw("o")))
	_, err = o.Child("i")
	require.Error(t, err)
	empty, err := o.Child("n")
	require.NoError(t, err)
	assert.Empty(t, empty.Keys())
	require.Error(t, o.Put("bad", func() {}))
}

func TestParseRefuses(t *testing.T) {
	for _, text := range []string{"", "null", "[]", `"x"`, "{", `{"a":}`, `{"a":1,}`, `{} {}`, `{"a":1}x`, "{'a':1}", `{"a":01}`, "\ufeff{}"} {
		_, err := sandbox.ParseObject([]byte(text))
		assert.Error(t, err, text)
	}
}

// FuzzParse: an object that is read and written again means the same.
func FuzzParse(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":1,"b":[{"c":"\u003c"}],"a":2}`, `{"":null}`, `{"\ud800":"x"}`, "{\"\xff\":1}", `[`, `{"a":{"b":{}}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		o, err := sandbox.ParseObject(text)
		var want map[string]any
		if err != nil {
			require.True(t, json.Unmarshal(text, &want) != nil || want == nil, "%q", text)
			return
		}
		require.NoError(t, json.Unmarshal(text, &want))
		out, err := o.Text()
		require.NoError(t, err)
		var got map[string]any
		require.NoError(t, json.Unmarshal(out, &got))
		require.Equal(t, want, got)
		again, err := sandbox.ParseObject(out)
		require.NoError(t, err)
		require.Equal(t, o.Keys(), again.Keys())
	})
}
