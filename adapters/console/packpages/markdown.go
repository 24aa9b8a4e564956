package packpages

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/countersign-dev/countersign/adapters/console/ui"
)

// MaxRendered is how many bytes of Markdown are laid out: the parser takes time that grows with the square of a hostile text. A longer one is shown as
// it was written, up to MaxShown bytes of it.
const (
	MaxRendered = 16 << 10
	MaxShown    = 256 << 10
)

// deepest is the maximum depth of nested elements. Deeper ones are replaced by a note.
const deepest = 48

// MarkdownText is Markdown to show. Below is the rank of the heading that it stands under (2 for a Part): its own headings come below that, whatever they are,
// and no rank is skipped. Label names its blocks for those who hear them.
type MarkdownText struct {
	Source string
	Below  int
	Label  string
}

// RenderedMarkdown is formatted Markdown and the number of its diagrams. A page with diagrams must set ui.Page.Diagrams.
type RenderedMarkdown struct {
	Body     ui.Node
	Diagrams int
}

// RenderMarkdown lays the text out. One that the parser stumbles over is shown as it was written.
func RenderMarkdown(t MarkdownText) (s RenderedMarkdown) {
	source := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(t.Source)
	if len(source) > MaxRendered {
		return RenderedMarkdown{Body: PlainMarkdown(t.Label, source)}
	}
	defer func() {
		if recover() != nil {
			s = RenderedMarkdown{Body: PlainMarkdown(t.Label, source)}
		}
	}()
	w := &walker{source: []byte(source), rank: t.Below, below: t.Below, label: t.Label}
	root := reader().Parse(text.NewReader(w.source))
	body := w.children(root)
	return RenderedMarkdown{Body: ui.Div(body), Diagrams: w.diagrams}
}

// PlainMarkdown returns a text as it was written, of a very long one the beginning.
func PlainMarkdown(label, source string) ui.Node {
	note := "This text is too long to format (" + strconv.Itoa((len(source)+1023)>>10) + " KB)"
	if len(source) > MaxShown {
		note += "; truncated"
		source = source[:MaxShown]
	}
	return ui.Group{ui.Notice(ui.Warn, ui.P(ui.Text(note+"."))), ui.CodeBlock(label, ui.Printable(source))}
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

// children returns the nodes within n, those next to each other in their order.
func (w *walker) children(n ast.Node) ui.Group {
	if w.depth >= deepest {
		if n.HasChildren() {
			return ui.Group{ui.TextNode("… (what is nested deeper is left out)")}
		}
		return nil
	}
	w.depth++
	var out ui.Group
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		out = append(out, w.node(c))
	}
	w.depth--
	return out
}

// node returns one element of the text: a block, or a run within one.
func (w *walker) node(n ast.Node) ui.Node {
	switch n := n.(type) {
	case *ast.Paragraph:
		return ui.P(w.children(n))
	case *ast.TextBlock:
		return w.children(n)
	case *ast.Heading:
		return w.heading(n)
	case *ast.ThematicBreak:
		return ui.Hr()
	case *ast.CodeBlock:
		return w.code("", w.lines(n))
	case *ast.FencedCodeBlock:
		return w.code(string(n.Language(w.source)), w.lines(n))
	case *ast.Blockquote:
		return ui.BlockQuote(w.children(n))
	case *ast.List:
		if n.IsOrdered() {
			return ui.Ol(ui.If(n.Start != 1, ui.Attr("start", strconv.Itoa(n.Start))), w.children(n))
		}
		return ui.Ul(w.children(n))
	case *ast.ListItem:
		return ui.Li(w.children(n))
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

// run returns an element within a line.
func (w *walker) run(n ast.Node) ui.Node {
	switch n := n.(type) {
	case *ast.Text:
		return w.text(n)
	case *ast.String:
		return markdownWords(n.Value)
	case *ast.CodeSpan:
		return ui.InlineCode(ui.Printable(strings.ReplaceAll(w.raw(n), "\n", " ")))
	case *ast.Emphasis:
		if n.Level > 1 {
			return ui.Strong(w.children(n))
		}
		return ui.Em(w.children(n))
	case *ast.Link:
		return link(n.Destination, w.children(n))
	case *ast.Image:
		return link(n.Destination, append(ui.Group{ui.TextNode("image: ")}, w.children(n)...))
	case *ast.AutoLink:
		url := n.URL(w.source)
		if n.AutoLinkType == ast.AutoLinkEmail && !bytes.HasPrefix(bytes.ToLower(url), []byte("mailto:")) {
			url = append([]byte("mailto:"), url...)
		}
		return link(url, ui.TextNode(ui.Printable(string(n.Label(w.source)))))
	case *ast.RawHTML:
		var b strings.Builder
		for i := range n.Segments.Len() {
			s := n.Segments.At(i)
			b.Write(s.Value(w.source))
		}
		return ui.InlineCode(ui.Printable(b.String()))
	}
	if node := w.more(n); node != nil {
		return node
	}
	return w.children(n) // of an element that is not known, its words
}

// heading returns a heading one rank below the one before it at most, so that none is skipped.
func (w *walker) heading(n *ast.Heading) ui.Node {
	w.rank = min(w.below+n.Level, w.rank+1, 6)
	inner := w.children(n)
	switch w.rank {
	case 1, 2:
		return ui.H2(inner)
	case 3:
		return ui.H3(inner)
	case 4:
		return ui.H4(inner)
	case 5:
		return ui.H5(inner)
	}
	return ui.H6(inner)
}

// code returns a block of code, or a diagram.
func (w *walker) code(language, source string) ui.Node {
	w.blocks++
	label := w.label + ": block " + strconv.Itoa(w.blocks)
	if strings.EqualFold(language, "mermaid") {
		w.diagrams++
		return diagram(label, source)
	}
	return block(label, HighlightNodes(language, ui.Printable(source)))
}

// diagram returns a Mermaid diagram with its source, which can contain more than is drawn.
func diagram(label, source string) ui.Node {
	return ui.Group{ui.Diagram(label, ui.Printable(source)),
		ui.Disclosure("Source", false, block(label+", source", HighlightNodes("", ui.Printable(source))))}
}

// lines returns the content of a block of code.
func (w *walker) lines(n ast.Node) string {
	var b strings.Builder
	for i := range n.Lines().Len() {
		s := n.Lines().At(i)
		b.Write(s.Value(w.source))
	}
	return b.String()
}

// raw returns the text within n, as it was written.
func (w *walker) raw(n ast.Node) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			b.Write(t.Segment.Value(w.source))
		}
	}
	return b.String()
}

func (w *walker) text(n *ast.Text) ui.Node {
	value := n.Segment.Value(w.source)
	node := markdownWords(value)
	if n.IsRaw() {
		node = ui.TextNode(ui.Printable(string(value)))
	}
	switch {
	case n.HardLineBreak():
		return ui.Group{node, ui.Br()}
	case n.SoftLineBreak():
		return ui.Group{node, ui.TextNode("\n")}
	}
	return node
}

// markdownWords is text with its escapes and entities resolved.
func markdownWords(value []byte) ui.Node {
	value = util.ResolveEntityNames(util.ResolveNumericReferences(util.UnescapePunctuations(value)))
	return ui.TextNode(ui.Printable(string(value)))
}

// link returns a link if its destination is http, https or mailto, and otherwise only its text.
func link(destination []byte, words ...ui.Node) ui.Node {
	to := string(util.URLEscape(destination, true))
	scheme, rest, _ := strings.Cut(to, ":")
	switch scheme = strings.ToLower(scheme); {
	case scheme == "mailto" && rest != "", (scheme == "http" || scheme == "https") && strings.HasPrefix(rest, "//"):
		return ui.A(ui.Href(to), ui.Rel("noopener noreferrer nofollow"), ui.Group(words))
	}
	return ui.Group(words)
}
