package packs_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/app/packs"
	"github.com/countersign-dev/countersign/domain/fault"
)

func parse(t testing.TB, raw string) packs.Args {
	t.Helper()
	a, err := packs.ParseArgs(json.RawMessage(raw))
	require.NoError(t, err)
	return a
}

// TestCoercions checks which values count as absent (context-pack contract §2).
func TestCoercions(t *testing.T) {
	for raw, want := range map[string]string{`" a b "`: "a b", `"\u00a0x\u2003"`: "x", `""`: "", `"  "`: "", `null`: "", `5`: "", `["x"]`: "", `{}`: ""} {
		assert.Equal(t, want, parse(t, `{"k":`+raw+`}`).Text("k"), raw)
	}
	for raw, want := range map[string]string{
		`0`: "0 true", `5`: "5 true", `18446744073709551615`: "18446744073709551615 true",
		`18446744073709551616`: "absent", `-1`: "absent", `-0`: "absent", `5.0`: "absent", `5e1`: "absent", `"5"`: "absent", `null`: "absent", `true`: "absent", `[5]`: "absent",
	} {
		n, ok := parse(t, `{"k":`+raw+`}`).Number("k")
		got := "absent"
		if ok {
			got = fmt.Sprint(n, ok)
		}
		assert.Equal(t, want, got, raw)
	}
	huge, ok := parse(t, `{"k":18446744073709551615}`).Count("k")
	assert.True(t, ok)
	assert.Equal(t, 1<<40, huge, "clipped, and still far beyond every bound")
	for raw, want := range map[string]bool{`true`: true, `false`: false, `null`: false, `"true"`: false, `1`: false} {
		assert.Equal(t, want, parse(t, `{"k":`+raw+`}`).Flag("k"), raw)
	}
	assert.Equal(t, "x", parse(t, `{"id":" ","name":" x "}`).Identifier())
	assert.Equal(t, "i", parse(t, `{"id":"i","name":"x"}`).Identifier())
	assert.Empty(t, parse(t, `{"id":5,"name":null}`).Identifier())
}

// TestTags: a key that is present must be an array of non-blank strings.
func TestTags(t *testing.T) {
	tags, err := parse(t, `{}`).Tags()
	require.NoError(t, err)
	assert.Nil(t, tags)
	tags, err = parse(t, `{"tags":[]}`).Tags()
	require.NoError(t, err)
	assert.Equal(t, []string{}, *tags)
	tags, err = parse(t, `{"tags":[" a ","a"]}`).Tags()
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "a"}, *tags, "trimmed; order and repeats stay")
	for _, raw := range []string{`null`, `"a"`, `[5]`, `[null]`, `[""]`, `[" "]`, `{}`, `[["a"]]`} {
		_, err := parse(t, `{"tags":`+raw+`}`).Tags()
		require.ErrorIs(t, err, packs.ErrArguments, raw)
	}
}

const schema = `{"type":"object","properties":{"text":{"type":"string"},"count":{"type":"integer"},"on":{"type":"boolean"},"list":{"type":"array"},"doc":{"type":"object"}}}`

// TestShapeReportsEverythingAtOnce: unknown names with the nearest known one, and wrong JSON types; null is absent.
func TestShapeReportsEverythingAtOnce(t *testing.T) {
	s := packs.NewShape(schema)
	require.NoError(t, s.Check(parse(t, `{"text":"","count":-1.5,"on":false,"list":[],"doc":{}}`)))
	require.NoError(t, s.Check(parse(t, `{"text":null,"count":null,"on":null,"list":null,"doc":null}`)))
	require.NoError(t, s.Check(parse(t, `{"count":"x"}`), "count"))
	err := s.Check(parse(t, `{"txet":1,"quite_other":1,"count":"5","list":{},"on":0,"doc":[],"text":true}`))
	require.ErrorIs(t, err, packs.ErrArguments)
	assert.Equal(t, "'count' must be of JSON type integer, not string; 'doc' must be of JSON type object, not array; 'list' must be of JSON type array, not object; "+
		"'on' must be of JSON type boolean, not integer; 'quite_other' is not supported; 'text' must be of JSON type string, not boolean; "+
		"'txet' is not supported; use 'text'", fault.From(err).Message)
	assert.Panics(t, func() { packs.NewShape("{") })
}

func TestClearing(t *testing.T) {
	got, err := parse(t, `{"clear":["title","tags"]}`).Cleared("title", "tags")
	require.NoError(t, err)
	assert.Equal(t, map[string]bool{"title": true, "tags": true}, got)
	for _, raw := range []string{`{"clear":["name"]}`, `{"clear":[5]}`, `{"clear":["title"],"title":"x"}`, `{"clear":["tags"],"tags":[]}`} {
		_, err := parse(t, raw).Cleared("title", "tags")
		require.ErrorIs(t, err, packs.ErrArguments, raw)
	}
	got, err = parse(t, `{"clear":["title"],"title":" "}`).Cleared("title")
	require.NoError(t, err, "a blank value is no value")
	assert.True(t, got["title"])
}

// FuzzArguments: for any object, every reader returns, and a message is one line.
func FuzzArguments(f *testing.F) {
	for _, s := range []string{`{}`, `{"tags":[null]}`, `{"count":1e999,"text":"\ud800"}`, `{"clear":"x","txt":{}}`, `[`, `{"a":1}{"b":2}`} {
		f.Add(s)
	}
	shape := packs.NewShape(schema)
	f.Fuzz(func(t *testing.T, raw string) {
		a, err := packs.ParseArgs(json.RawMessage(raw))
		if err != nil {
			require.ErrorIs(t, err, packs.ErrArguments)
			return
		}
		for _, k := range []string{"text", "count", "on", "list", "doc", "tags", "clear"} {
			require.Equal(t, strings.TrimSpace(a.Text(k)), a.Text(k))
			n, ok := a.Count(k)
			require.True(t, n >= 0 && (ok || n == 0))
			require.True(t, a.Has(k) || !a.Given(k))
			require.True(t, a.Given(k) || !a.Flag(k))
		}
		if tags, err := a.Tags(); err == nil && tags != nil {
			require.NotContains(t, *tags, "")
		}
		_, _ = a.Cleared("text")
		if err := shape.Check(a); err != nil {
			require.ErrorIs(t, err, packs.ErrArguments)
		}
	})
}

func TestReadsAreToldByTheirArguments(t *testing.T) {
	for args, want := range map[string]bool{
		``: true, `{}`: true, `{"action":null}`: true, `{"action":"list"}`: true, `{"id":"x","action":"get"}`: true, `{"action":"create"}`: false,
		`{"action":"List"}`: false, `{"action":5}`: false, `[]`: false, `{`: false,
	} {
		assert.Equal(t, want, packs.IsRead(json.RawMessage(args)), args)
	}
}
