package ui_test

import (
	"html"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"

	"github.com/countersign-dev/countersign/adapters/console/ui"
)

func TestElementsAttributesAndText(t *testing.T) {
	for want, n := range map[string]ui.Node{
		`<p class="a &#34;b&#34;">1 &lt; 2 &amp; 3</p>`:        ui.P(ui.TextNode("1 < 2 & 3"), nil, ui.Class(`a "b"`)),
		`<input type="text" required>`:                         ui.Input(ui.Type("text"), ui.Required(), ui.TextNode("never")),
		`<li>a</li><li>b</li>`:                                 ui.Map([]string{"a", "b"}, func(s string) ui.Node { return ui.Li(ui.TextNode(s)) }),
		`<div id="x">y</div>`:                                  ui.Div(ui.Group{ui.Group{ui.ID("x")}, ui.TextNode("y")}),
		`<a href="/x?a=1&amp;b=2" aria-label="it&#39;s">z</a>`: ui.A(ui.Href("/x?a=1&b=2"), ui.Aria("label", "it's"), ui.TextNode("z")),
		`<!doctype html><html lang="en"></html>`:               ui.Doctype(ui.Html(ui.Lang("en"))),
		`<p></p>`:                                              ui.P(ui.If(false, ui.TextNode("no"))),
		"":                                                     nil,
	} {
		assert.Equal(t, want, string(ui.HTML(n)))
	}
}

var tags = regexp.MustCompile(`</?[a-z0-9]+( [a-z-]+="[^"]*")*>`)

// FuzzText: whatever is written as text and into an attribute, the page has the tags that were made and no other, and says that very text.
func FuzzText(f *testing.F) {
	for _, s := range []string{"", "<script>alert(1)</script>", `" onload="x`, "'", "&amp;", "\x00", "é\xff", "</p>"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		doc := string(ui.HTML(ui.P(ui.Class(s), ui.TextNode(s))))
		assert.Len(t, tags.FindAllString(doc, -1), 2, "%q", doc)
		if utf8.ValidString(s) && !strings.Contains(s, "\x00") {
			assert.Equal(t, s, html.UnescapeString(tags.ReplaceAllString(doc, "")))
		}
	})
}
