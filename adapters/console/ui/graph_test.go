package ui_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/countersign-dev/countersign/adapters/console/ui"
)

// TestGraph checks that a line is drawn to each box from those that it depends on directly, and that names are escaped and shortened.
func TestGraph(t *testing.T) {
	t.Parallel()
	doc := string(ui.HTML(ui.Graph("steps", []ui.GraphNode{
		{Text: "install", Tone: ui.Good}, {Text: "lint", After: []int{0}}, {Text: "test", After: []int{0}, Href: "/step?a&b"}, {Text: "publish <b> with a very long name", Note: "Failed", Tone: ui.Bad, After: []int{0, 1, 2}, Detail: "exit code 3"},
	})))
	assert.Equal(t, 2*4, strings.Count(doc, "<path "), "install to lint and test, lint and test to publish; in both directions")
	assert.Equal(t, 2, strings.Count(doc, `href="/step?a&amp;b"`))
	assert.Contains(t, doc, `aria-label="publish &lt;b&gt; with a very long name, Failed, exit code 3"`)
	assert.Contains(t, doc, ">publish &lt;b&gt; with a…<")
	assert.NotContains(t, doc, "<b>")
	assert.Nil(t, ui.Graph("none", nil))
}

func TestTabbed(t *testing.T) {
	t.Parallel()
	page := func(target string) string {
		return string(ui.HTML(ui.Tabbed(httptest.NewRequest("GET", target, nil), "Parts", "/x?of=a", ui.Tab{Key: "first", Text: "First", Body: func() ui.Node { return ui.Text("one") }},
			ui.Tab{Key: "none", Text: "None"}, ui.Tab{Key: "last", Text: "Last", Body: func() ui.Node { return ui.Text("two") }})))
	}
	for target, want := range map[string]string{"/x": "one", "/x?tab=first": "one", "/x?tab=last": "two", "/x?tab=%3Cb%3E": "one"} {
		got := page(target)
		assert.True(t, strings.HasSuffix(got, want), target)
		assert.Equal(t, want == "one", strings.Contains(got, `<a href="/x?of=a" aria-current="true">First`), target)
		assert.Contains(t, got, `href="/x?of=a&amp;tab=last"`)
		assert.NotContains(t, got, "None")
	}
}
