// Package markdown shows Markdown that somebody else wrote: CommonMark with tables, struck out text, task lists and bare links. Code is highlighted,
// Mermaid is a diagram. Every word of the text ends up on the page, escaped: raw HTML is shown as the text it is, so that nothing that an agent would
// read is hidden from a person.
//
// It refuses to carry anything of the text into a page but words: no HTML, no image, and no link but to http, https and mailto.
package markdown

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/countersign-dev/countersign/adapters/console/markup"
	"github.com/countersign-dev/countersign/adapters/console/packpages/highlight"
	"github.com/countersign-dev/countersign/adapters/console/page"
)

// MaxRendered is how many bytes of Markdown are laid out: the parser takes time that grows with the square of a hostile text. A longer one is shown as
// it was written, up to MaxShown bytes of it.
const (
	MaxRendered = 16 << 10
	MaxShown    = 256 << 10
)

// deepest is how far elements may stand within each other before the rest of them is left out, with a note.
const deepest = 48

// Text is Markdown to show. Below is the rank of the heading that it stands under (2 for a Part): its own headings come below that, whatever they are,
// and no rank is skipped. Label names its blocks for those who hear them.
type Text struct {
	Source string
	Below  int
	Label  string
}

// Shown is a text on a page, and how many diagrams are in it: a page with any says page.Page.Diagrams.
type Shown struct {
	Body     markup.Node
	Diagrams int
}

// Show lays the text out. One that the parser stumbles over is shown as it was written.
func Show(t Text) (s Shown) {
	source := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(t.Source)
	if len(source) > MaxRendered {
		return Shown{Body: Plain(t.Label, source)}
	}
	defer func() {
		if recover() != nil {
			s = Shown{Body: Plain(t.Label, source)}
		}
	}()
	w := &walker{source: []byte(source), rank: t.Below, below: t.Below, label: t.Label}
	root := reader().Parse(text.NewReader(w.source))
	body := w.children(root)
	return Shown{Body: markup.Div(body), Diagrams: w.diagrams}
}

// Plain is a text as it was written, of a very long one the beginning.
func Plain(label, source string) markup.Node {
	note := "This text is shown as it was written, and not laid out (" + strconv.Itoa((len(source)+1023)>>10) + " KB)"
	if len(source) > MaxShown {
		note += "; only its beginning is shown"
		source = source[:MaxShown]
	}
	return markup.Group{page.Notice(page.Warn, markup.P(page.Text(note+"."))), page.Pre(label, page.Printable(source))}
}

func reader() parser.Parser {
	inline := append(parser.DefaultInlineParsers(), util.Prioritized(extension.NewStrikethroughParser(), 500),
		util.Prioritized(extension.NewTaskCheckBoxParser(), 0), util.Prioritized(extension.NewLinkifyParser(), 999))
	return parser.NewParser(parser.WithBlockParsers(parser.DefaultBlockParsers()...), parser.WithInlineParsers(inline...),
		parser.WithParagraphTransformers(append(parser.DefaultParagraphTransformers(), util.Prioritized(extension.NewTableParagraphTransformer(), 200))...))
}

// walker turns a parsed text into nodes of a page.
type walker struct {
	source   []byte
	below    int // rank of the heading above the text
	rank     int // of the last heading in it
	label    string
	blocks   int
	diagrams int
	depth    int
}

// children are the nodes within n, those next to each other in their order.
func (w *walker) children(n ast.Node) markup.Group {
	if w.depth >= deepest {
		if n.HasChildren() {
			return markup.Group{markup.Text("… (what is nested deeper is left out)")}
		}
		return nil
	}
	w.depth++
	var out markup.Group
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		out = append(out, w.node(c))
	}
	w.depth--
	return out
}

// node is one element of the text: a block, or a run within one.
func (w *walker) node(n ast.Node) markup.Node {
	switch n := n.(type) {
	case *ast.Paragraph:
		return markup.P(w.children(n))
	case *ast.TextBlock:
		return w.children(n)
	case *ast.Heading:
		return w.heading(n)
	case *ast.ThematicBreak:
		return markup.Hr()
	case *ast.CodeBlock:
		return w.code("", w.lines(n))
	case *ast.FencedCodeBlock:
		return w.code(string(n.Language(w.source)), w.lines(n))
	case *ast.Blockquote:
		return markup.BlockQuote(w.children(n))
	case *ast.List:
		if n.IsOrdered() {
			return markup.Ol(markup.If(n.Start != 1, markup.Attr("start", strconv.Itoa(n.Start))), w.children(n))
		}
		return markup.Ul(w.children(n))
	case *ast.ListItem:
		return markup.Li(w.children(n))
	case *ast.HTMLBlock:
		source := w.lines(n)
		if n.HasClosure() {
			source += string(n.ClosureLine.Value(w.source))
		}
		return w.code("html", source)
	case *ast.LinkReferenceDefinition:
		return nil
	}
	return w.run(n)
}

// run is an element within a line.
func (w *walker) run(n ast.Node) markup.Node {
	switch n := n.(type) {
	case *ast.Text:
		return w.text(n)
	case *ast.String:
		return words(n.Value)
	case *ast.CodeSpan:
		return page.Code(page.Printable(strings.ReplaceAll(w.raw(n), "\n", " ")))
	case *ast.Emphasis:
		if n.Level > 1 {
			return markup.Strong(w.children(n))
		}
		return markup.Em(w.children(n))
	case *ast.Link:
		return link(n.Destination, w.children(n))
	case *ast.Image:
		return link(n.Destination, append(markup.Group{markup.Text("image: ")}, w.children(n)...))
	case *ast.AutoLink:
		url := n.URL(w.source)
		if n.AutoLinkType == ast.AutoLinkEmail && !bytes.HasPrefix(bytes.ToLower(url), []byte("mailto:")) {
			url = append([]byte("mailto:"), url...)
		}
		return link(url, markup.Text(page.Printable(string(n.Label(w.source)))))
	case *ast.RawHTML:
		var b strings.Builder
		for i := range n.Segments.Len() {
			s := n.Segments.At(i)
			b.Write(s.Value(w.source))
		}
		return page.Code(page.Printable(b.String()))
	}
	if node := w.more(n); node != nil {
		return node
	}
	return w.children(n) // of an element that is not known, its words
}

// heading is a heading one rank below the one before it at most, so that none is skipped.
func (w *walker) heading(n *ast.Heading) markup.Node {
	w.rank = min(w.below+n.Level, w.rank+1, 6)
	inner := w.children(n)
	switch w.rank {
	case 1, 2:
		return markup.H2(inner)
	case 3:
		return markup.H3(inner)
	case 4:
		return markup.H4(inner)
	case 5:
		return markup.H5(inner)
	}
	return markup.H6(inner)
}

// code is a block of code, or a diagram.
func (w *walker) code(language, source string) markup.Node {
	w.blocks++
	label := w.label + ": block " + strconv.Itoa(w.blocks)
	if strings.EqualFold(language, "mermaid") {
		w.diagrams++
		return Diagram(label, source)
	}
	return highlight.Block(label, highlight.Nodes(language, page.Printable(source)))
}

// Diagram is a Mermaid diagram, with its source, in which more may be said than is drawn.
func Diagram(label, source string) markup.Node {
	return markup.Group{page.Diagram(label, page.Printable(source)),
		page.Fold("As it was written", false, highlight.Block(label+", as it was written", highlight.Nodes("", page.Printable(source))))}
}

// lines is what a block of code holds.
func (w *walker) lines(n ast.Node) string {
	var b strings.Builder
	for i := range n.Lines().Len() {
		s := n.Lines().At(i)
		b.Write(s.Value(w.source))
	}
	return b.String()
}

// raw is the text within n, as it was written.
func (w *walker) raw(n ast.Node) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			b.Write(t.Segment.Value(w.source))
		}
	}
	return b.String()
}

func (w *walker) text(n *ast.Text) markup.Node {
	value := n.Segment.Value(w.source)
	node := words(value)
	if n.IsRaw() {
		node = markup.Text(page.Printable(string(value)))
	}
	switch {
	case n.HardLineBreak():
		return markup.Group{node, markup.Br()}
	case n.SoftLineBreak():
		return markup.Group{node, markup.Text("\n")}
	}
	return node
}

// words is text with its escapes and entities resolved.
func words(value []byte) markup.Node {
	value = util.ResolveEntityNames(util.ResolveNumericReferences(util.UnescapePunctuations(value)))
	return markup.Text(page.Printable(string(value)))
}

// link leads somewhere only when that is another place of the web, or somebody's mailbox; otherwise only its words are left.
func link(destination []byte, words ...markup.Node) markup.Node {
	to := string(util.URLEscape(destination, true))
	scheme, rest, _ := strings.Cut(to, ":")
	switch scheme = strings.ToLower(scheme); {
	case scheme == "mailto" && rest != "", (scheme == "http" || scheme == "https") && strings.HasPrefix(rest, "//"):
		return markup.A(markup.Href(to), markup.Rel("noopener noreferrer nofollow"), markup.Group(words))
	}
	return markup.Group(words)
}
