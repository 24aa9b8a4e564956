package markup_test

import (
	"html"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"

	"github.com/countersign-dev/countersign/adapters/console/markup"
)

func TestElementsAttributesAndText(t *testing.T) {
	for want, n := range map[string]markup.Node{
		`<p class="a &#34;b&#34;">1 &lt; 2 &amp; 3</p>`:        markup.P(markup.Text("1 < 2 & 3"), nil, markup.Class(`a "b"`)),
		`<input type="text" required>`:                         markup.Input(markup.Type("text"), markup.Required(), markup.Text("never")),
		`<li>a</li><li>b</li>`:                                 markup.Map([]string{"a", "b"}, func(s string) markup.Node { return markup.Li(markup.Text(s)) }),
		`<div id="x">y</div>`:                                  markup.Div(markup.Group{markup.Group{markup.ID("x")}, markup.Text("y")}),
		`<a href="/x?a=1&amp;b=2" aria-label="it&#39;s">z</a>`: markup.A(markup.Href("/x?a=1&b=2"), markup.Aria("label", "it's"), markup.Text("z")),
		`<!doctype html><html lang="en"></html>`:               markup.Doctype(markup.Html(markup.Lang("en"))),
		`<p></p>`:                                              markup.P(markup.If(false, markup.Text("no"))),
		"":                                                     nil,
	} {
		assert.Equal(t, want, string(markup.HTML(n)))
	}
}

var tags = regexp.MustCompile(`</?[a-z0-9]+( [a-z-]+="[^"]*")*>`)

// FuzzText: whatever is written as text and into an attribute, the page has the tags that were made and no other, and says that very text.
func FuzzText(f *testing.F) {
	for _, s := range []string{"", "<script>alert(1)</script>", `" onload="x`, "'", "&amp;", "\x00", "é\xff", "</p>"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		doc := string(markup.HTML(markup.P(markup.Class(s), markup.Text(s))))
		assert.Len(t, tags.FindAllString(doc, -1), 2, "%q", doc)
		if utf8.ValidString(s) && !strings.Contains(s, "\x00") {
			assert.Equal(t, s, html.UnescapeString(tags.ReplaceAllString(doc, "")))
		}
	})
}
