package packpages_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/console/packpages"
	"github.com/countersign-dev/countersign/adapters/console/ui"
)

func show(t testing.TB, source string) (page string, diagrams int) {
	t.Helper()
	s := packpages.RenderMarkdown(packpages.MarkdownText{Source: source, Below: 2, Label: "brief"})
	b := string(ui.HTML(s.Body))
	return strings.TrimSuffix(strings.TrimPrefix(b, "<div>"), "</div>"), s.Diagrams
}

func TestMarkdown(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ source, want string }{
		"words":       {"a *b* **c** ~~d~~ `e <f>`\ng  \nh", "<p>a <em>b</em> <strong>c</strong> <del>d</del> <code>e &lt;f&gt;</code>\ng<br>h</p>"},
		"entities":    {`&amp; &lt;b&gt; \* &#60;i&#62;`, "<p>&amp; &lt;b&gt; * &lt;i&gt;</p>"},
		"headings":    {"# a\n### b\n###### c\n# d", "<h3>a</h3><h4>b</h4><h5>c</h5><h3>d</h3>"},
		"lists":       {"- a\n- b\n\n3. c", `<ul><li>a</li><li>b</li></ul><ol start="3"><li>c</li></ol>`},
		"tasks":       {"- [x] a\n- [ ] b", `<ul><li><span aria-hidden="true">☑ </span><span class="visually-hidden">done: </span>a</li><li><span aria-hidden="true">☐ </span><span class="visually-hidden">to do: </span>b</li></ul>`},
		"quote":       {"> a\n\n---", "<blockquote><p>a</p></blockquote><hr>"},
		"link":        {`[a](https://x.example/?b=1&amp;c="d")`, `<p><a href="https://x.example/?b=1&amp;c=%22d%22" rel="noopener noreferrer nofollow">a</a></p>`},
		"bare links":  {"https://x.example and <me@x.example>", `<p><a href="https://x.example" rel="noopener noreferrer nofollow">https://x.example</a> and <a href="mailto:me@x.example" rel="noopener noreferrer nofollow">me@x.example</a></p>`},
		"reference":   {"[a]\n\n[a]: http://x.example", `<p><a href="http://x.example" rel="noopener noreferrer nofollow">a</a></p>`},
		"image":       {"![a](https://x.example/b.png)", `<p><a href="https://x.example/b.png" rel="noopener noreferrer nofollow">image: a</a></p>`},
		"script":      {"<script>alert(1)</script>", `<pre tabindex="0" role="group" aria-label="brief: block 1"><code><span class="hl-k">&lt;script&gt;</span>alert(1)<span class="hl-k">&lt;/script&gt;</span>`},
		"comment":     {"a <!-- ignore all rules --> b", "<p>a <code>&lt;!-- ignore all rules --&gt;</code> b</p>"},
		"javascript":  {"[a](javascript:alert(1)) [b](JavaScript&#58;alert) [c](<java\tscript:x>) <javascript:alert(1)>", "<p>a b c javascript:alert(1)</p>"},
		"data":        {"[a](data:text/html;base64,xx) ![b](data:image/png,x)", "<p>a image: b</p>"},
		"own paths":   {"[a](/logout) [b](//evil.example) [c](#d) [e](https:x)", "<p>a b c e</p>"},
		"code":        {"```go\nfunc a\n```", `<pre tabindex="0" role="group" aria-label="brief: block 1"><code><span class="hl-k">func</span> a` + "\n</code></pre>"},
		"indented":    {"    a <b>", `<pre tabindex="0" role="group" aria-label="brief: block 1"><code>a &lt;b&gt;` + "\n</code></pre>"},
		"direction":   {"a \u202eb", "<p>a ␣U+202Eb</p>"},
		"table":       {"|a|b|\n|-|:-|\n|`c`|<d>|", `<div class="wide" tabindex="0" role="group" aria-label="brief: table 1"><table><thead><tr><th scope="col">a</th><th scope="col">b</th></tr></thead><tbody><tr><td><code>c</code></td><td><code>&lt;d&gt;</code></td></tr></tbody></table></div>`},
		"nothing":     {"", ""},
		"line breaks": {"a\r\nb\rc", "<p>a\nb\nc</p>"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, diagrams := show(t, c.source)
			if name == "script" {
				got = got[:min(len(got), len(c.want))]
			}
			assert.Equal(t, c.want, got)
			assert.Zero(t, diagrams)
		})
	}
}

func TestMermaidIsADiagram(t *testing.T) {
	t.Parallel()
	got, diagrams := show(t, "~~~mermaid\ngraph TD\n  a[\"</pre><b>\"] --> b\n~~~")
	assert.Equal(t, 1, diagrams)
	assert.Contains(t, got, `<pre class="mermaid" tabindex="0" role="group" aria-label="brief: block 1">graph TD`)
	assert.Equal(t, 2, strings.Count(got, "&lt;/pre&gt;&lt;b&gt;"), "its source can be read, too")
}

// TestLongTexts: they are shown as source, the longest truncated.
func TestLongTexts(t *testing.T) {
	t.Parallel()
	got, _ := show(t, strings.Repeat("# a <b>\n", packpages.MaxRendered/8+1))
	assert.Contains(t, got, "too long to format (17 KB)")
	assert.NotContains(t, got, "KB); truncated")
	assert.Contains(t, got, "# a &lt;b&gt;\n# a")
	got, _ = show(t, strings.Repeat("é", 1<<20))
	assert.Contains(t, got, "KB); truncated")
	assert.Less(t, len(got), packpages.MaxShown+1000)
}

// TestDeepAndHostile: what is nested too deeply is left out with a note, and no text of the size that is laid out makes much of itself: neither a long
// page, nor more than a few allocations a byte. The parser may still read such a text more than once, which MaxRendered bounds and nothing here measures.
func TestDeepAndHostile(t *testing.T) {
	for _, piece := range []string{">", "> ", "- ", "1. ", "[", "![", "[a](", "*", "**a ", "*a_ ", "`", "<a ", "<!--", "&", "\\", "|", "|a|\n", "~~", "[a]: b\n", "```\n", "(", "<a@", "http://a.b/(", "www.a.", "\t", "> - "} {
		source := strings.Repeat(piece, packpages.MaxRendered/len(piece))
		var got string
		made := testing.AllocsPerRun(1, func() { got, _ = show(t, source) })
		assert.Less(t, made, 10.0*packpages.MaxRendered, "%q", piece)
		assert.Less(t, len(got), 40*packpages.MaxRendered, "%q", piece)
	}
	got, _ := show(t, strings.Repeat("> ", 5000)+"deep")
	assert.Contains(t, got, "what is nested deeper is left out")
	assert.Less(t, strings.Count(got, "<blockquote>"), 60)
}

func FuzzNothingGetsOut(f *testing.F) {
	for _, s := range []string{"# a <b onclick='x'>", "[a](javascript:x)", "<script>", "![x](data:,y)", "|a|\n|-|\n|<i>|", "```mermaid\n</pre>\n```", "<a\nhref='x'>", "&lt;script&gt;", "<!--\n-->"} {
		f.Add(s)
	}
	element := regexp.MustCompile(`^</?(p|div|h[2-6]|hr|pre|code|span|details|summary|blockquote|ol|ul|li|figure|em|strong|del|a|br|table|thead|tbody|tr|th|td)( (class|tabindex|role|aria-label|start|href|rel|aria-hidden|scope)(="[^"]*")?)*>$`)
	f.Fuzz(func(t *testing.T, source string) {
		got, _ := show(t, source)
		for _, tag := range regexp.MustCompile(`<[^>]*>`).FindAllString(got, -1) {
			require.Regexp(t, element, tag)
			if _, href, ok := strings.Cut(tag, `href="`); ok {
				require.Regexp(t, `^(https?://|mailto:)`, strings.ToLower(href))
			}
		}
	})
}
