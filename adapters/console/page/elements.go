package page

import (
	"strconv"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/adapters/console/markup"
	"github.com/countersign-dev/countersign/adapters/httpguard"
	"github.com/countersign-dev/countersign/domain/fault"
)

// Text is text, escaped.
func Text(s string) markup.Node { return markup.Text(s) }

// Part is a section of a page with a heading.
func Part(title string, body ...markup.Node) markup.Node {
	return markup.Section(markup.H2(markup.Text(title)), markup.Group(body))
}

// Card is a framed part of a page with a heading of the third rank.
func Card(title string, body ...markup.Node) markup.Node {
	return markup.Article(markup.Class("card"), markup.H3(markup.Text(title)), markup.Group(body))
}

// Empty says that there is nothing to show, and what to do about it.
func Empty(text string) markup.Node { return markup.P(markup.Class("empty"), markup.Text(text)) }

// The tones of a Badge and a Notice.
const (
	Plain = "plain"
	Good  = "good"
	Warn  = "warn"
	Bad   = "bad"
)

// Badge is a short word with a tone. The word alone says everything; the tone only helps the eye.
func Badge(tone, word string) markup.Node {
	return markup.Span(markup.Class("badge "+tone), markup.Text(Printable(word)))
}

// Risk is the badge of a risk ("low", "medium", "high"); nothing for none.
func Risk(word string) markup.Node {
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
func Notice(tone string, body ...markup.Node) markup.Node {
	role := "status"
	if tone == Bad {
		role = "alert"
	}
	return markup.Div(markup.Class("notice "+tone), markup.Role(role), markup.Group(body))
}

// Problem is an error for people: what was wrong, and its code.
func Problem(f *fault.Error) markup.Node {
	return Notice(Bad, markup.P(markup.Text(f.Message)), markup.P(markup.Class("quiet"), markup.Text("code "+string(f.Code))))
}

// Table is a table with headings. A table without rows says empty instead.
func Table(caption string, heads []string, rows []markup.Node, empty string) markup.Node {
	if len(rows) == 0 {
		return Empty(empty)
	}
	return markup.Div(markup.Class("wide"), markup.TabIndex("0"), markup.Role("group"), named(caption), markup.Table(
		markup.Caption(markup.Class("visually-hidden"), markup.Text(Printable(caption))),
		markup.THead(markup.Tr(markup.Map(heads, head))),
		markup.TBody(markup.Group(rows))))
}

// head is what stands above a column; above buttons stands nothing.
func head(text string) markup.Node {
	if text == "" {
		return markup.Td()
	}
	return markup.Th(markup.Scope("col"), markup.Text(text))
}

// Row is a row of a Table.
func Row(cells ...markup.Node) markup.Node {
	return markup.Tr(markup.Map(cells, func(c markup.Node) markup.Node { return markup.Td(c) }))
}

// Fact is a name with what stands for it.
type Fact struct {
	Name  string
	Value markup.Node
}

// Facts is a list of names and values; those without a value are left out.
func Facts(facts ...Fact) markup.Node {
	var out markup.Group
	for _, f := range facts {
		if f.Value != nil {
			out = append(out, markup.Div(markup.Dt(markup.Text(f.Name)), markup.Dd(f.Value)))
		}
	}
	return markup.Dl(out)
}

// Code is text as it is in files and on command lines.
func Code(s string) markup.Node { return markup.Code(markup.Text(s)) }

// named is the label of an element, for those who hear it.
func named(label string) markup.Node { return markup.Aria("label", Printable(label)) }

// Name is the name of a tool or the like, which stays on one line.
func Name(s string) markup.Node {
	return markup.Code(markup.Class("name"), markup.Text(Printable(s)))
}

// Pre is a block of such text, which scrolls and can be reached by keyboard; label says what it is.
func Pre(label, s string) markup.Node {
	return markup.Pre(markup.TabIndex("0"), markup.Role("group"), named(label), markup.Code(markup.Text(s)))
}

// To is a link to a path of this server.
func To(href, text string) markup.Node { return markup.A(markup.Href(href), markup.Text(text)) }

// When is a moment, in UTC for everybody; "never" for the zero time.
func When(t time.Time) markup.Node {
	if t.IsZero() {
		return markup.Text("never")
	}
	stamp := t.UTC().Format(time.RFC3339)
	return markup.Time(markup.DateTime(stamp), markup.TitleAttr(stamp), markup.Text(t.UTC().Format("2006-01-02 15:04:05 UTC")))
}

// Form posts to a path of this server, carrying what shows that this browser's page sent it.
func Form(v httpguard.Visitor, action string, fields ...markup.Node) markup.Node {
	return markup.Form(markup.Method("post"), markup.Action(action), Hidden(httpguard.FieldForm, v.Form), markup.Group(fields))
}

// Search is a form that asks for the same page with other parameters.
func Search(action string, fields ...markup.Node) markup.Node {
	return markup.Form(markup.Method("get"), markup.Action(action), markup.Class("filter"), markup.Role("search"), markup.Group(fields))
}

// Hidden is a field of a form that nobody sees.
func Hidden(name, value string) markup.Node {
	return markup.Input(markup.Type("hidden"), markup.Name(name), markup.Value(value))
}

// Field is a labelled line of text in a form. id is unique on the page.
func Field(id, name, label, value string, more ...markup.Node) markup.Node {
	return markup.Div(markup.Class("field"), markup.Label(markup.For(id), markup.Text(label)),
		markup.Input(markup.Type("text"), markup.ID(id), markup.Name(name), markup.Value(value), markup.AutoComplete("off"), markup.Attr("spellcheck", "false"), markup.Group(more)))
}

// Area is a labelled text of several lines in a form.
func Area(id, name, label, value string) markup.Node {
	return markup.Div(markup.Class("field"), markup.Label(markup.For(id), markup.Text(label)),
		markup.Textarea(markup.ID(id), markup.Name(name), markup.Rows("6"), markup.Attr("spellcheck", "false"), markup.Text(value)))
}

// Check is a labelled box to tick, worth "true" when it is ticked.
func Check(id, name, label string, ticked bool) markup.Node {
	return markup.Div(markup.Class("check"), markup.Input(markup.Type("checkbox"), markup.ID(id), markup.Name(name), markup.Value("true"), markup.If(ticked, markup.Checked())),
		markup.Label(markup.For(id), markup.Text(label)))
}

// Choice is one of a Select: its value, and the words for it.
type Choice struct{ Value, Text string }

// Select is a labelled choice in a form.
func Select(id, name, label, chosen string, choices ...Choice) markup.Node {
	return markup.Div(markup.Class("field"), markup.Label(markup.For(id), markup.Text(label)), markup.Select(markup.ID(id), markup.Name(name),
		markup.Map(choices, func(c Choice) markup.Node {
			return markup.Option(markup.Value(c.Value), markup.If(c.Value == chosen, markup.Selected()), markup.Text(c.Text))
		})))
}

// Button sends its form.
func Button(label string, more ...markup.Node) markup.Node {
	return markup.Button(markup.Type("submit"), markup.Group(more), markup.Text(label))
}

// Danger is a button for what cannot simply be taken back.
func Danger(label string, more ...markup.Node) markup.Node {
	return Button(label, markup.Class("danger"), markup.Group(more))
}

// Deed is a form of one button that does one thing; context says of what, for those who hear only the button.
func Deed(v httpguard.Visitor, action, label, context string, fields ...markup.Node) markup.Node {
	return Form(v, action, markup.Group(fields), Button(label, markup.If(context != "", named(label+" "+context))))
}

// Fold hides a body behind a line that opens it.
func Fold(line string, open bool, body ...markup.Node) markup.Node {
	return markup.Details(markup.If(open, markup.Attr("open")), markup.Summary(markup.Text(line)), markup.Group(body))
}

// Diff is a unified diff, line by line, with signs that are there without colour too. Lines within a hunk are what their sign says, whatever else
// they look like.
func Diff(label, text string) markup.Node {
	var lines markup.Group
	old, fresh := 0, 0 // lines of the hunk that are still to come, before and after
	for line := range strings.Lines(text) {
		class := ""
		switch inside := old > 0 || fresh > 0; {
		case inside && strings.HasPrefix(line, "+"):
			class, fresh = "added", fresh-1
		case inside && strings.HasPrefix(line, "-"):
			class, old = "removed", old-1
		case inside && strings.HasPrefix(line, `\`): // no newline at the end of the file
		case inside && (strings.HasPrefix(line, " ") || strings.TrimRight(line, "\r\n") == ""):
			old, fresh = old-1, fresh-1
		case strings.HasPrefix(line, "@@"):
			class = "hunk"
			old, fresh = hunk(line)
		case strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"), strings.HasPrefix(line, "diff "):
			class = "file"
		case strings.HasPrefix(line, "+"):
			class = "added"
		case strings.HasPrefix(line, "-"):
			class = "removed"
		}
		lines = append(lines, markup.Span(markup.If(class != "", markup.Class(class)), markup.Text(strings.TrimRight(line, "\r\n"))))
	}
	return markup.Pre(markup.Class("diff"), markup.TabIndex("0"), markup.Role("group"), named(label), markup.Code(lines))
}

// hunk is how many lines a hunk has before and after, as its head says: @@ -1,2 +1,3 @@.
func hunk(head string) (old, fresh int) {
	words := strings.Fields(head)
	if len(words) < 3 {
		return 0, 0
	}
	return length(words[1]), length(words[2])
}

// length is how many lines "-1,2" has; one, when it does not say.
func length(part string) int {
	_, count, said := strings.Cut(part, ",")
	if !said {
		return 1
	}
	n, err := strconv.Atoi(count)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// Diagram is a Mermaid diagram; its source is what is seen until, and unless, it is drawn. The page says Diagrams.
func Diagram(label, source string) markup.Node {
	return markup.Figure(markup.Class("diagram"), markup.Pre(markup.Class("mermaid"), markup.TabIndex("0"), markup.Role("group"), named(label), markup.Text(source)))
}

// Stream is a block of text to which the console's script adds what events bring: from url, of that kind, the named field of their data.
func Stream(label, url, kind, field, sofar string) markup.Node {
	return markup.Pre(markup.Class("log"), markup.TabIndex("0"), markup.Role("log"), named(label), markup.Data("stream", url), markup.Data("event", kind),
		markup.Data("field", field), markup.Code(markup.Text(sofar)))
}

// Pick is a Select whose label is only heard: where a table's heading says what it is about.
func Pick(id, name, label, chosen string, choices ...Choice) markup.Node {
	return markup.Group{markup.Label(markup.For(id), markup.Class("visually-hidden"), markup.Text(Printable(label))), markup.Select(markup.ID(id), markup.Name(name),
		markup.Map(choices, func(c Choice) markup.Node {
			return markup.Option(markup.Value(c.Value), markup.If(c.Value == chosen, markup.Selected()), markup.Text(c.Text))
		}))}
}
