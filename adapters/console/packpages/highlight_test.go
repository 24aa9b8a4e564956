package packpages_test

import (
	"html"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/console/packpages"
	"github.com/countersign-dev/countersign/adapters/console/ui"
)

// marked is text with letters around what has a class.
func marked(language, text string) string {
	var b strings.Builder
	for _, s := range packpages.HighlightSpans(language, text) {
		if s.Class == packpages.Plain {
			b.WriteString(s.Text)
		} else {
			b.WriteString(strings.ToUpper(strings.TrimPrefix(string(s.Class), "hl-")) + "⟨" + s.Text + "⟩")
		}
	}
	return b.String()
}

func TestLanguages(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ language, text, want string }{
		"go":            {"go", "func f() int { return 0x1f } // \"no\"", "K⟨func⟩ f() K⟨int⟩ { K⟨return⟩ N⟨0x1f⟩ } C⟨// \"no\"⟩"},
		"go raw":        {"go", "x := `a\\` + \"b\\\"c\" + 'd'", "x := S⟨`a\\`⟩ + S⟨\"b\\\"c\"⟩ + S⟨'d'⟩"},
		"comment":       {"go", "a /* x\ny */ b", "a C⟨/* x\ny */⟩ b"},
		"open string":   {"go", "a := \"open\nfunc", "a := S⟨\"open⟩\nK⟨func⟩"},
		"in a word":     {"go", "format functional", "format functional"},
		"typescript":    {"TypeScript", "const a: string = `x\n${y}`", "K⟨const⟩ a: K⟨string⟩ = S⟨`x\n${y}`⟩"},
		"info string":   {"ts title=x", "let a", "K⟨let⟩ a"},
		"python":        {"python", "def f():\n  \"\"\"a\n'b'\"\"\" # c", "K⟨def⟩ f():\n  S⟨\"\"\"a\n'b'\"\"\"⟩ C⟨# c⟩"},
		"rust":          {"rust", "fn f<'a>(c: &'a str) { 'x'; '\\''; r#\"a\"b\"# }", "K⟨fn⟩ f<'a>(c: &'a K⟨str⟩) { S⟨'x'⟩; S⟨'\\''⟩; S⟨r#\"a\"b\"#⟩ }"},
		"java":          {"java", "@Override public void f()", "K⟨@Override⟩ K⟨public⟩ K⟨void⟩ f()"},
		"c":             {"c", "#include <a.h>\nint x = 'a';", "K⟨#include⟩ <a.h>\nK⟨int⟩ x = S⟨'a'⟩;"},
		"shell":         {"bash", "echo $# \"a\nb\" # c", "K⟨echo⟩ $# S⟨\"a\nb\"⟩ C⟨# c⟩"},
		"json":          {"json", `{"a": [1.5, true]}`, `{S⟨"a"⟩: [N⟨1.5⟩, K⟨true⟩]}`},
		"yaml":          {"yaml", "a: 'b' # c\nurl: x#y", "a: S⟨'b'⟩ C⟨# c⟩\nurl: x#y"},
		"toml":          {"toml", "a = 'b\\' # c", "a = S⟨'b\\'⟩ C⟨# c⟩"},
		"sql":           {"sql", "SELECT 'a''b' FROM t -- c", "K⟨SELECT⟩ S⟨'a''b'⟩ K⟨FROM⟩ t C⟨-- c⟩"},
		"html":          {"html", `<a href="x>y">&amp; & <!-- <b> --></a>`, `K⟨<a⟩ href=S⟨"x>y"⟩K⟨>⟩N⟨&amp;⟩ & C⟨<!-- <b> -->⟩K⟨</a>⟩`},
		"css":           {"css", "@media print { a { color: none } } /* x */", "K⟨@media⟩ print { a { color: K⟨none⟩ } } C⟨/* x */⟩"},
		"markdown":      {"markdown", "# a\nb\n```\n# c\n```\n> d", "K⟨# a⟩\nb\nS⟨```⟩\nS⟨# c⟩\nS⟨```⟩\nC⟨> d⟩"},
		"diff":          {"diff", "--- a\n+++ b\n@@ 1 @@\n-x\n+y\n z", "C⟨--- a⟩\nC⟨+++ b⟩\nN⟨@@ 1 @@⟩\nK⟨-x⟩\nS⟨+y⟩\n z"},
		"unknown":       {"klingon", "if 1 \"a\"", "if 1 \"a\""},
		"none":          {"", "func 1", "func 1"},
		"empty":         {"go", "", ""},
		"an identifier": {"go", "größe1 := 2", "größe1 := N⟨2⟩"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, c.want, marked(c.language, c.text))
		})
	}
}

func TestNumberedLines(t *testing.T) {
	t.Parallel()
	out := rendered(t, packpages.HighlightNumbered("go", "/* a\nb */\n<c>", 9))
	assert.Equal(t, `<span class="quiet"> 9  </span><span class="hl-c">/* a</span>`+"\n"+
		`<span class="quiet">10  </span><span class="hl-c">b */</span>`+"\n"+
		`<span class="quiet">11  </span>&lt;c&gt;`+"\n", out)
}

func rendered(t testing.TB, n ui.Node) string {
	t.Helper()
	b := string(ui.HTML(n))
	return b
}

func languages() []string {
	return []string{"go", "js", "ts", "python", "rust", "java", "c", "cpp", "sh", "json", "yaml", "toml", "sql", "html", "css", "markdown", "diff", "none"}
}

// TestOnePass: however hostile the text, no byte of it is looked at again and again.
func TestOnePass(t *testing.T) {
	t.Parallel()
	for _, piece := range []string{"\"", "'", "`", "/*", "<", "<a ", "\\", "&", "&amp", "\"\"\"", "r#\"", "#", "@", "```\n", "'a", "a", "1", "é", "<!--", "\x80"} {
		text := strings.Repeat(piece, 16<<10/len(piece))
		for _, l := range languages() {
			assert.LessOrEqual(t, packpages.Ahead(l, text), 2*len(text), "%q in %s", piece, l)
		}
	}
}

func FuzzNothingIsLostAndNothingGetsOut(f *testing.F) {
	for _, l := range languages() {
		f.Add(l, "a <b> \"c\" 'd' `e` /* f */ // g\n# h\n-- i <!-- j --> &amp; 1.2 \x00 \xff\r\n</script>")
	}
	tags := regexp.MustCompile(`</?span[^>]*>`)
	shape := regexp.MustCompile(`^(?:[^<>"]|<span class="hl-[kscn]">|</span>)*$`)
	f.Fuzz(func(t *testing.T, language, text string) {
		var joined strings.Builder
		for _, s := range packpages.HighlightSpans(language, text) {
			require.NotEmpty(t, s.Text)
			joined.WriteString(s.Text)
			if utf8.ValidString(text) {
				require.True(t, utf8.ValidString(s.Text), "no letter is cut in two")
			}
		}
		require.Equal(t, text, joined.String())
		out := rendered(t, packpages.HighlightNodes(language, text))
		require.Regexp(t, shape, out)
		require.Equal(t, strings.ReplaceAll(text, "\x00", "\uFFFD"), html.UnescapeString(tags.ReplaceAllString(out, "")))
		numbered := rendered(t, packpages.HighlightNumbered(language, text, 1))
		require.Equal(t, strings.Count(text, "\n")+1, strings.Count(numbered, "\n"))
	})
}
