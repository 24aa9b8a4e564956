package ui_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/domain/fault"
)

func render(t testing.TB, n ui.Node) string {
	t.Helper()
	b := string(ui.HTML(n))
	return b
}

func write(p ui.Page, status int, v httpauth.Identity) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	p.Write(w, status, v)
	return w
}

const evil = `"><script>alert('x')</script>&`

func TestTheFrame(t *testing.T) {
	w := write(ui.Page{Title: evil, Section: "/packs", Crumbs: []ui.PageLink{{Text: evil, Href: "/packs"}}, Notice: ui.Notice(ui.Good, ui.Text(evil)), Live: []string{"tick", "audit"},
		Body: []ui.Node{ui.Text(evil)}}, http.StatusTeapot, httpauth.Identity{Form: evil})
	body := w.Body.String()
	assert.Equal(t, http.StatusTeapot, w.Code)
	assert.Equal(t, "no-store", w.Header().Get("Cache-Control"))
	assert.Equal(t, "text/html; charset=utf-8", w.Header().Get("Content-Type"))
	assert.Empty(t, w.Header().Get("Content-Security-Policy"), "it is the guard's")
	assert.NotContains(t, body, "<script>alert")
	assert.Equal(t, 6, strings.Count(body, "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;"), "title, form, crumb, heading, notice and text say it as text")
	assert.Contains(t, body, `<body data-live="tick audit">`)
	assert.Equal(t, 1, strings.Count(body, `aria-current="page"`))
	assert.Contains(t, body, `<a href="/packs" aria-current="page">Packs</a>`)
	assert.Equal(t, 1, strings.Count(body, "<h1>"))
	assert.Contains(t, body, `<a class="skip" href="#main">`)
	for _, s := range ui.Sections() {
		assert.Contains(t, body, `href="`+s.Href+`"`)
	}
	assert.NotContains(t, body, "mermaid")
	assert.NotContains(t, write(ui.Page{Title: "x"}, 200, httpauth.Identity{}).Body.String(), "data-live")
}

func TestPagesWithDiagramsLoadWhatDraws(t *testing.T) {
	w := write(ui.Page{Title: "x", Diagrams: true, Body: []ui.Node{ui.Diagram("how", "graph TD; a-->b")}}, 200, httpauth.Identity{})
	policy := w.Header().Get("Content-Security-Policy")
	assert.Contains(t, policy, "script-src 'self';")
	assert.Contains(t, policy, "default-src 'none'")
	assert.NotContains(t, strings.ReplaceAll(policy, "style-src 'self' 'unsafe-inline'", ""), "unsafe", "styles alone")
	assert.Contains(t, w.Body.String(), "/assets/mermaid.js")
	assert.Contains(t, w.Body.String(), "graph TD; a--&gt;b", "its source is there without scripts")
}

func TestFailSaysWhatWasWrong(t *testing.T) {
	w := httptest.NewRecorder()
	ui.Fail(w, httpauth.Identity{}, "/tools", http.StatusNotFound, fault.New(fault.NotFound, "x_missing", "there is no "+evil))
	assert.Equal(t, http.StatusNotFound, w.Code)
	assert.Contains(t, w.Body.String(), "code x_missing")
	assert.Contains(t, w.Body.String(), `role="alert"`)
	assert.NotContains(t, w.Body.String(), "<script>alert")
}

func TestElementsEscape(t *testing.T) {
	v := httpauth.Identity{Form: evil}
	all := ui.Group{
		ui.Part(evil, ui.Text(evil)), ui.Card(evil), ui.Empty(evil), ui.Badge(ui.Good, evil), ui.Risk(evil), ui.Notice(ui.Bad, ui.Text(evil)),
		ui.Problem(fault.New(fault.Invalid, "x", evil)), ui.DataTable(evil, []string{evil}, []ui.Node{ui.Row(ui.Text(evil))}, evil), ui.DataTable(evil, nil, nil, evil),
		ui.Facts(ui.Fact{Name: evil, Value: ui.Text(evil)}, ui.Fact{Name: "left out"}), ui.InlineCode(evil), ui.CodeBlock(evil, evil), ui.LinkTo("/"+evil, evil),
		ui.PostForm(v, evil), ui.Search(evil), ui.Hidden(evil, evil), ui.Field(evil, evil, evil, evil), ui.TextareaField(evil, evil, evil, evil), ui.CheckboxField(evil, evil, evil, true),
		ui.SelectField(evil, evil, evil, evil, ui.Choice{Value: evil, Text: evil}), ui.InlineSelect(evil, evil, evil, evil, ui.Choice{Value: evil, Text: evil}), ui.SubmitButton(evil),
		ui.Danger(evil), ui.ActionForm(v, evil, evil, evil), ui.Disclosure(evil, true, ui.Text(evil)), ui.Diff(evil, evil), ui.Diagram(evil, evil), ui.Stream(evil, evil, evil, evil, evil),
		ui.JSONValue(json.RawMessage(`{"` + `<script>alert(1)</script>` + `":"<script>alert(2)</script>","n":{"a":[1,true,null,"<b>"]}}`)), ui.Printed(evil, evil),
	}
	html := render(t, all)
	assert.NotContains(t, html, "<script>")
	assert.NotContains(t, html, "<b>")
	assert.NotContains(t, html, `""`+`>`)
	assert.NotContains(t, html, "left out")
	assert.NotContains(t, html, " style=")
	assert.NotContains(t, html, "onclick")
}

func TestBadgesAndLabelsHideNothing(t *testing.T) {
	html := render(t, ui.Group{ui.Badge(ui.Good, "a\u202eb\x1b"), ui.CodeBlock("a\u202eb", "x"), ui.Diff("a\x1bb", "x"), ui.DataTable("a\u202eb", []string{"h"}, []ui.Node{ui.Row()}, "")})
	assert.NotContains(t, html, "\u202e")
	assert.NotContains(t, html, "\x1b")
}

func TestRisks(t *testing.T) {
	for word, want := range map[string]string{"high": `<span class="badge bad">high risk</span>`, "medium": `<span class="badge warn">medium risk</span>`, "low": `<span class="badge plain">low risk</span>`,
		"odd": `<span class="badge plain">odd risk</span>`} {
		assert.Equal(t, want, render(t, ui.Risk(word)))
	}
	assert.Nil(t, ui.Risk("none"))
	assert.Nil(t, ui.Risk(""))
}

func TestMoments(t *testing.T) {
	at := time.Date(2026, 3, 1, 9, 0, 0, 0, time.FixedZone("east", 2*3600))
	assert.Equal(t, `<time datetime="2026-03-01T07:00:00Z" title="2026-03-01T07:00:00Z">2026-03-01 07:00:00 UTC</time>`, render(t, ui.When(at)))
	assert.Equal(t, "never", render(t, ui.When(time.Time{})))
}

// classes returns the classes of a diff's lines, in order.
func classes(html string) string {
	var out []string
	for _, span := range strings.Split(html, "<span")[1:] {
		switch {
		case strings.HasPrefix(span, ` class="added"`):
			out = append(out, "+")
		case strings.HasPrefix(span, ` class="removed"`):
			out = append(out, "-")
		case strings.HasPrefix(span, ` class="hunk"`):
			out = append(out, "@")
		case strings.HasPrefix(span, ` class="file"`):
			out = append(out, "f")
		case strings.HasPrefix(span, ` class="pair"`), strings.HasPrefix(span, ` class="half"`): // what stands side by side
		default:
			out = append(out, ".")
		}
	}
	return strings.Join(out, "")
}

func TestDiffsAreReadByTheirStructure(t *testing.T) {
	for diff, want := range map[string]string{
		"--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n same\n-old\n+new\n":                                "ff@.-+",
		"--- a/q.sql\n+++ b/q.sql\n@@ -1,2 +1,2 @@\n--- an old comment\n+++ a counter\n same\n": "ff@-+.",
		"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n\\ No newline at end of file\n+new\n":             "ff@-.+",
		"@@ -1,3 +0,0 @@\n-a\n-\n-c\n--- a/y\n+++ b/y\n@@ -0,0 +1 @@ func x()\n+@@ -9 +9 @@\n":  "@---ff@+",
		"diff --git a/x b/x\nindex 1..2\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n\n-a\n+b\n":         "f.ff@.-+",
		"+ no hunk\n- at all\n": "+-",
		"@@ odd @@\n+x\n":       "@+",
		"@@ -a,b +c,d @@\n+x":   "@+",
		"":                      "",
	} {
		got := render(t, ui.Diff("d", diff))
		assert.Equal(t, want, classes(got), diff)
	}
}

func TestValues(t *testing.T) {
	for doc, want := range map[string]string{
		`"text"`: "text", `""`: "–", `null`: "–", `12345678901234567890`: "12345678901234567890", `true`: "yes", `[]`: "none", `{}`: "nothing", `1.50`: "1.50",
		`["a",{"b_c":false}]`:         `<ul><li>a</li><li><dl><div><dt>b c</dt><dd>no</dd></div></dl></li></ul>`,
		`{`:                           `<pre tabindex="0" role="group" aria-label="value"><code>{</code></pre>`,
		`"a\nb"`:                      `<pre tabindex="0" role="group" aria-label="text"><code>a` + "\n" + `b</code></pre>`,
		`[[[[[[[1]]]]]]]`:             `<ul><li><ul><li><ul><li><ul><li><ul><li><ul><li><code>[1]</code></li></ul></li></ul></li></ul></li></ul></li></ul></li></ul>`,
		`"--- a\n+++ b\n@@ -1 +1 @@"`: `<pre class="diff" tabindex="0" role="group" aria-label="diff"><code><span class="file">--- a</span><span class="file">+++ b</span><span class="hunk">@@ -1 +1 @@</span></code></pre>`,
	} {
		assert.Equal(t, want, render(t, ui.JSONValue(json.RawMessage(doc))), doc)
	}
}

func TestDeedsSayOfWhat(t *testing.T) {
	html := render(t, ui.ActionForm(httpauth.Identity{Form: "f"}, "/x", "Stop", "server 1", ui.Hidden("a", "b")))
	assert.Equal(t, `<form method="post" action="/x"><input type="hidden" name="form_token" value="f"><input type="hidden" name="a" value="b"><button type="submit" aria-label="Stop server 1">Stop</button></form>`, html)
}

// TestWhatDiffersInALineIsMarked: whole words, and nothing where lines have nothing in common.
func TestWhatDiffersInALineIsMarked(t *testing.T) {
	got := render(t, ui.Diff("d", "@@ -1,2 +1,2 @@\n-port: 8080, open\n-old\n+port: 9080, open\n+new\n"))
	assert.Contains(t, got, `<span class="removed">-port: <mark>8080</mark>, open</span>`)
	assert.Contains(t, got, `<span class="added">+port: <mark>9080</mark>, open</span>`)
	assert.Contains(t, got, `<span class="removed">-old</span>`)
	assert.Contains(t, render(t, ui.Diff("d", "@@ -1 +1 @@\n-one\n+one more\n")), `<span class="added">+one<mark> more</mark></span>`)
}

func FuzzValue(f *testing.F) {
	f.Add(`{"a":[1,{"b":"<x>"}]}`)
	f.Add(`"--- a"`)
	f.Fuzz(func(t *testing.T, doc string) {
		if html := render(t, ui.JSONValue(json.RawMessage(doc))); strings.Contains(html, "<script") {
			t.Fatal(html)
		}
	})
}

func FuzzDiff(f *testing.F) {
	f.Add("--- a\n+++ b\n@@ -1,2 +1 @@\n x\n-y\n")
	f.Add("@@ -9999999999999999999 +1 @@\n")
	f.Fuzz(func(t *testing.T, diff string) {
		html := render(t, ui.Diff("d", diff))
		sides := strings.Count(html, `<span class="pair">`) + strings.Count(html, `<span class="half">`) // hold lines
		if strings.Count(html, "<span")-sides != strings.Count(diff, "\n")+map[bool]int{true: 1, false: 0}[diff != "" && !strings.HasSuffix(diff, "\n")] {
			t.Fatal("a line is missing")
		}
	})
}
