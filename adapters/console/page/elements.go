package page

import (
	"strings"
	"time"

	"maragu.dev/gomponents"
	"maragu.dev/gomponents/html"

	"github.com/countersign-dev/countersign/adapters/httpguard"
	"github.com/countersign-dev/countersign/domain/fault"
)

// Text is text, escaped.
func Text(s string) gomponents.Node { return gomponents.Text(s) }

// Part is a section of a page with a heading.
func Part(title string, body ...gomponents.Node) gomponents.Node {
	return html.Section(html.H2(gomponents.Text(title)), gomponents.Group(body))
}

// Card is a framed part of a page with a heading of the third rank.
func Card(title string, body ...gomponents.Node) gomponents.Node {
	return html.Article(html.Class("card"), html.H3(gomponents.Text(title)), gomponents.Group(body))
}

// Empty says that there is nothing to show, and what to do about it.
func Empty(text string) gomponents.Node { return html.P(html.Class("empty"), gomponents.Text(text)) }

// The tones of a Badge and a Notice.
const (
	Plain = "plain"
	Good  = "good"
	Warn  = "warn"
	Bad   = "bad"
)

// Badge is a short word with a tone. The word alone says everything; the tone only helps the eye.
func Badge(tone, word string) gomponents.Node {
	return html.Span(html.Class("badge "+tone), gomponents.Text(word))
}

// Risk is the badge of a risk ("low", "medium", "high"); nothing for none.
func Risk(word string) gomponents.Node {
	tone := map[string]string{"high": Bad, "medium": Warn, "low": Plain}[word]
	if word == "" || word == "none" {
		return nil
	}
	if tone == "" {
		tone = Plain
	}
	return Badge(tone, word+" risk")
}

// Notice is a message above a page's content, which screen readers are told of.
func Notice(tone string, body ...gomponents.Node) gomponents.Node {
	role := "status"
	if tone == Bad {
		role = "alert"
	}
	return html.Div(html.Class("notice "+tone), html.Role(role), gomponents.Group(body))
}

// Problem is an error for people: what was wrong, and its code.
func Problem(f *fault.Error) gomponents.Node {
	return Notice(Bad, html.P(gomponents.Text(f.Message)), html.P(html.Class("quiet"), gomponents.Text("code "+string(f.Code))))
}

// Table is a table with headings. A table without rows says empty instead.
func Table(caption string, heads []string, rows []gomponents.Node, empty string) gomponents.Node {
	if len(rows) == 0 {
		return Empty(empty)
	}
	return html.Div(html.Class("wide"), html.TabIndex("0"), html.Role("region"), html.Aria("label", caption), html.Table(
		html.Caption(html.Class("visually-hidden"), gomponents.Text(caption)),
		html.THead(html.Tr(gomponents.Map(heads, func(h string) gomponents.Node { return html.Th(html.Scope("col"), gomponents.Text(h)) }))),
		html.TBody(gomponents.Group(rows))))
}

// Row is a row of a Table.
func Row(cells ...gomponents.Node) gomponents.Node {
	return html.Tr(gomponents.Map(cells, func(c gomponents.Node) gomponents.Node { return html.Td(c) }))
}

// Fact is a name with what stands for it.
type Fact struct {
	Name  string
	Value gomponents.Node
}

// Facts is a list of names and values; those without a value are left out.
func Facts(facts ...Fact) gomponents.Node {
	var out gomponents.Group
	for _, f := range facts {
		if f.Value != nil {
			out = append(out, html.Div(html.Dt(gomponents.Text(f.Name)), html.Dd(f.Value)))
		}
	}
	return html.Dl(out)
}

// Code is text as it is in files and on command lines.
func Code(s string) gomponents.Node { return html.Code(gomponents.Text(s)) }

// Pre is a block of such text, which scrolls and can be reached by keyboard; label says what it is.
func Pre(label, s string) gomponents.Node {
	return html.Pre(html.TabIndex("0"), html.Role("region"), html.Aria("label", label), html.Code(gomponents.Text(s)))
}

// To is a link to a path of this server.
func To(href, text string) gomponents.Node { return html.A(html.Href(href), gomponents.Text(text)) }

// When is a moment, in UTC for everybody and as long ago for the eye; "never" for the zero time.
func When(t time.Time) gomponents.Node {
	if t.IsZero() {
		return gomponents.Text("never")
	}
	stamp := t.UTC().Format(time.RFC3339)
	return html.Time(html.DateTime(stamp), html.TitleAttr(stamp), gomponents.Text(t.UTC().Format("2006-01-02 15:04:05")))
}

// Form posts to a path of this server, carrying what shows that this browser's page sent it.
func Form(v httpguard.Visitor, action string, fields ...gomponents.Node) gomponents.Node {
	return html.Form(html.Method("post"), html.Action(action), Hidden(httpguard.FieldForm, v.Form), gomponents.Group(fields))
}

// Search is a form that asks for the same page with other parameters.
func Search(action string, fields ...gomponents.Node) gomponents.Node {
	return html.Form(html.Method("get"), html.Action(action), html.Class("filter"), html.Role("search"), gomponents.Group(fields))
}

// Hidden is a field of a form that nobody sees.
func Hidden(name, value string) gomponents.Node {
	return html.Input(html.Type("hidden"), html.Name(name), html.Value(value))
}

// Field is a labelled line of text in a form. id is unique on the page.
func Field(id, name, label, value string, more ...gomponents.Node) gomponents.Node {
	return html.Div(html.Class("field"), html.Label(html.For(id), gomponents.Text(label)),
		html.Input(html.Type("text"), html.ID(id), html.Name(name), html.Value(value), html.AutoComplete("off"), gomponents.Attr("spellcheck", "false"), gomponents.Group(more)))
}

// Area is a labelled text of several lines in a form.
func Area(id, name, label, value string) gomponents.Node {
	return html.Div(html.Class("field"), html.Label(html.For(id), gomponents.Text(label)),
		html.Textarea(html.ID(id), html.Name(name), html.Rows("6"), gomponents.Attr("spellcheck", "false"), gomponents.Text(value)))
}

// Check is a labelled box to tick, worth "true" when it is ticked.
func Check(id, name, label string, ticked bool) gomponents.Node {
	return html.Div(html.Class("check"), html.Input(html.Type("checkbox"), html.ID(id), html.Name(name), html.Value("true"), gomponents.If(ticked, html.Checked())),
		html.Label(html.For(id), gomponents.Text(label)))
}

// Choice is one of a Select: its value, and the words for it.
type Choice struct{ Value, Text string }

// Select is a labelled choice in a form.
func Select(id, name, label, chosen string, choices ...Choice) gomponents.Node {
	return html.Div(html.Class("field"), html.Label(html.For(id), gomponents.Text(label)), html.Select(html.ID(id), html.Name(name),
		gomponents.Map(choices, func(c Choice) gomponents.Node {
			return html.Option(html.Value(c.Value), gomponents.If(c.Value == chosen, html.Selected()), gomponents.Text(c.Text))
		})))
}

// Button sends its form.
func Button(label string, more ...gomponents.Node) gomponents.Node {
	return html.Button(html.Type("submit"), gomponents.Group(more), gomponents.Text(label))
}

// Danger is a button for what cannot simply be taken back.
func Danger(label string, more ...gomponents.Node) gomponents.Node {
	return Button(label, html.Class("danger"), gomponents.Group(more))
}

// Deed is a form of one button that does one thing; context says of what, for those who hear only the button.
func Deed(v httpguard.Visitor, action, label, context string, fields ...gomponents.Node) gomponents.Node {
	return Form(v, action, gomponents.Group(fields), Button(label, gomponents.If(context != "", html.Aria("label", label+" "+context))))
}

// Fold hides a body behind a line that opens it.
func Fold(line string, open bool, body ...gomponents.Node) gomponents.Node {
	return html.Details(gomponents.If(open, gomponents.Attr("open")), html.Summary(gomponents.Text(line)), gomponents.Group(body))
}

// Diff is a unified diff, line by line, with signs that are there without colour too.
func Diff(label, text string) gomponents.Node {
	var lines gomponents.Group
	for line := range strings.Lines(text) {
		class := ""
		switch {
		case strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"), strings.HasPrefix(line, "diff "):
			class = "file"
		case strings.HasPrefix(line, "@@"):
			class = "hunk"
		case strings.HasPrefix(line, "+"):
			class = "added"
		case strings.HasPrefix(line, "-"):
			class = "removed"
		}
		lines = append(lines, html.Span(gomponents.If(class != "", html.Class(class)), gomponents.Text(line)))
	}
	return html.Pre(html.Class("diff"), html.TabIndex("0"), html.Role("region"), html.Aria("label", label), html.Code(lines))
}

// Diagram is a Mermaid diagram; its source is what is seen until, and unless, it is drawn. The page says Diagrams.
func Diagram(label, source string) gomponents.Node {
	return html.Figure(html.Class("diagram"), html.Pre(html.Class("mermaid"), html.TabIndex("0"), html.Role("region"), html.Aria("label", label), gomponents.Text(source)))
}

// Stream is a block of text to which the console's script adds what events bring: from url, of that kind, the named field of their data.
func Stream(label, url, kind, field, sofar string) gomponents.Node {
	return html.Pre(html.Class("log"), html.TabIndex("0"), html.Role("log"), html.Aria("label", label), html.Data("stream", url), html.Data("event", kind),
		html.Data("field", field), html.Code(gomponents.Text(sofar)))
}
