package pack_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/pack"
)

const whole = `{"title":" T ","brief":"","tags":[" a "],"sections":[{"key":"flow","title":" Flow ","description":"d\n",
"refs":[{"key":"one","path":"a\\b.go","line_start":2,"line_end":3,"why":" w ","root":"api","commit":"0123abc"}],
"diagrams":[{"key":"dd","title":"D","mermaid":" graph TD\n"}]}]}`

func TestContentIsTrimmedAndTyped(t *testing.T) {
	d, err := pack.ParseDocument(json.RawMessage(whole))
	require.NoError(t, err)
	c, err := d.Content([]pack.Root{"api"})
	require.NoError(t, err)
	assert.Equal(t, pack.Content{Title: "T", Tags: []string{"a"}, Sections: []pack.Section{{
		Key: "flow", Title: "Flow", Description: "d",
		Refs:     []pack.Ref{{Key: "one", Path: "a/b.go", Lines: pack.LineRange{Start: 2, End: 3}, Why: "w", Root: "api", Commit: "0123abc"}},
		Diagrams: []pack.Diagram{{Key: "dd", Title: "D", Mermaid: "graph TD"}},
	}}}, c)
}

func TestFirstBadValueIsPlaced(t *testing.T) {
	for change, want := range map[string]string{
		`"key":"flow"|"key":"Flow"`:       "document.sections[0]: key",
		`"key":"one"|"key":"o"`:           "document.sections[0]: refs[0]: ref_key",
		`a\\b.go|../x`:                    "document.sections[0]: refs[0]: the path",
		`"line_end":3|"line_end":1`:       "document.sections[0]: refs[0]: line_end",
		`"root":"api"|"root":"web"`:       `document.sections[0]: refs[0]: root "web" is not configured; there is the default root (leave root out), api`,
		`"commit":"0123abc"|"commit":"x"`: "document.sections[0]: refs[0]: commit",
		`"key":"dd"|"key":"d d"`:          "document.sections[0]: diagrams[0]: key",
	} {
		from, to, _ := strings.Cut(change, "|")
		d, err := pack.ParseDocument(json.RawMessage(strings.Replace(whole, from, to, 1)))
		require.NoError(t, err, change)
		_, err = d.Content([]pack.Root{"api"})
		require.ErrorIs(t, err, pack.ErrValue, change)
		assert.Contains(t, err.Error(), want)
	}
	for raw, want := range map[string]string{
		`{"nmae":"x"}`:                                 "'nmae' is not supported in 'document'",
		`{"sections":[{"refs":[{"id":1}]}]}`:           "'id' is not supported in 'document'",
		`{"tags":"x"}`:                                 "'document.tags' cannot hold a JSON string",
		`{"sections":[{"refs":[{"line_start":1.5}]}]}`: "line_start' cannot hold a JSON number 1.5",
	} {
		_, err := pack.ParseDocument(json.RawMessage(raw))
		require.ErrorIs(t, err, pack.Err, raw)
		assert.Contains(t, fault.From(err).Message, want)
	}
}
