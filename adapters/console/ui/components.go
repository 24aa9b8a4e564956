package ui

import (
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/domain/fault"
)

// Text returns an escaped text node.
func Text(s string) Node { return TextNode(s) }

// Part returns a section of a page with a heading.
func Part(title string, body ...Node) Node {
	return Section(H2(TextNode(title)), Group(body))
}

// Card returns a framed part of a page with a third-level heading.
func Card(title string, body ...Node) Node {
	return Article(Class("card"), H3(TextNode(title)), Group(body))
}

// Empty returns a message that there is nothing to show, and what to do about it.
func Empty(text string) Node { return P(Class("empty"), TextNode(text)) }

// The tones of a Badge and a Notice.
const (
	Plain = "plain"
	Good  = "good"
	Warn  = "warn"
	Bad   = "bad"
)

// Badge returns a short word with a tone. The word alone is sufficient; the tone is only visual.
func Badge(tone, word string) Node {
	return Span(Class("badge "+tone), TextNode(Printable(word)))
}

// Risk returns the badge of a risk ("low", "medium", "high"); nothing if it is empty.
func Risk(word string) Node {
	tone := map[string]string{"high": Bad, "medium": Warn, "low": Plain}[word]
	if word == "" || word == "none" {
		return nil
	}
	if tone == "" {
		tone = Plain
	}
	return Badge(tone, word+" risk")
}

// Notice returns a message above a page's content, which screen readers announce.
func Notice(tone string, body ...Node) Node {
	role := "status"
	if tone == Bad {
		role = "alert"
	}
	return Div(Class("notice "+tone), Role(role), Group(body))
}

// Problem returns an error for users: its message and its code.
func Problem(f *fault.Error) Node {
	return Notice(Bad, P(TextNode(f.Message)), P(Class("quiet"), TextNode("code "+string(f.Code))))
}

// DataTable returns a table with headings. Without rows it shows the text empty instead.
func DataTable(caption string, heads []string, rows []Node, empty string) Node {
	if len(rows) == 0 {
		return Empty(empty)
	}
	return Div(Class("wide"), TabIndex("0"), Role("group"), named(caption), Table(
		Caption(Class("visually-hidden"), TextNode(Printable(caption))),
		THead(Tr(Map(heads, head))),
		TBody(Group(rows))))
}

// head returns a column heading; columns of buttons have none.
func head(text string) Node {
	if text == "" {
		return Td()
	}
	return Th(Scope("col"), TextNode(text))
}

// Row returns a row of a Table.
func Row(cells ...Node) Node {
	return Tr(Map(cells, func(c Node) Node { return Td(c) }))
}

// Fact is a name with its value.
type Fact struct {
	Name  string
	Value Node
}

// Facts returns a list of names and values without those whose value is nil.
func Facts(facts ...Fact) Node {
	var out Group
	for _, f := range facts {
		if f.Value != nil {
			out = append(out, Div(dt(TextNode(f.Name)), dd(f.Value)))
		}
	}
	return dl(out)
}

// InlineCode returns text in code font.
func InlineCode(s string) Node { return Code(TextNode(s)) }

// named returns the label of an element for screen readers.
func named(label string) Node { return Aria("label", Printable(label)) }

// ToolName returns a name, such as that of a tool, that is not wrapped.
func ToolName(s string) Node {
	return Code(Class("name"), TextNode(Printable(s)))
}

// CodeBlock returns a block of code, which scrolls and can be focused by keyboard; label describes it.
func CodeBlock(label, s string) Node {
	return Pre(TabIndex("0"), Role("group"), named(label), Code(TextNode(s)))
}

// LinkTo returns a link to a path of this server.
func LinkTo(href, text string) Node { return A(Href(href), TextNode(text)) }

// When returns a time in UTC, which the console's script shows as the time from now; "never" for the zero time. Its title is the exact time.
func When(t time.Time) Node { return instant(t) }

// Deadline is When for a deadline: the script counts the seconds that are left.
func Deadline(t time.Time) Node { return instant(t, Data("until", t.UTC().Format(time.RFC3339))) }

func instant(t time.Time, more ...Node) Node {
	if t.IsZero() {
		return TextNode("never")
	}
	stamp := t.UTC().Format(time.RFC3339)
	return Time(dateTime(stamp), titleAttr(stamp), Group(more), TextNode(t.UTC().Format("2006-01-02 15:04:05 UTC")))
}

// PostForm returns a form that posts to a path of this server, with the token that proves that this browser's page sent it.
func PostForm(v httpauth.Identity, action string, fields ...Node) Node {
	return form(method("post"), Action(action), Hidden(httpauth.FieldForm, v.Form), Group(fields))
}

// Search returns a form that requests the same page with other parameters.
func Search(action string, fields ...Node) Node {
	return form(method("get"), Action(action), Class("filter"), Role("search"), Group(fields))
}

// Hidden returns a hidden form field.
func Hidden(name, value string) Node {
	return Input(Type("hidden"), Name(name), Value(value))
}

// Field returns a labelled single-line form field. id is unique on the page.
func Field(id, name, label, value string, more ...Node) Node {
	return Div(Class("field"), Label(For(id), TextNode(label)),
		Input(Type("text"), ID(id), Name(name), Value(value), autoComplete("off"), Attr("spellcheck", "false"), Group(more)))
}

// TextareaField returns a labelled multi-line form field.
func TextareaField(id, name, label, value string) Node {
	return Div(Class("field"), Label(For(id), TextNode(label)),
		textarea(ID(id), Name(name), rows("6"), Attr("spellcheck", "false"), TextNode(value)))
}

// CheckboxField returns a labelled checkbox, whose value is "true" if ticked.
func CheckboxField(id, name, label string, ticked bool) Node {
	return Div(Class("check"), Input(Type("checkbox"), ID(id), Name(name), Value("true"), If(ticked, checked())),
		Label(For(id), TextNode(label)))
}

// Choice is an option of a SelectField: its value and its text.
type Choice struct{ Value, Text string }

// SelectField returns a labelled selection field.
func SelectField(id, name, label, chosen string, choices ...Choice) Node {
	return Div(Class("field"), Label(For(id), TextNode(label)), Select(ID(id), Name(name),
		Map(choices, func(c Choice) Node {
			return Option(Value(c.Value), If(c.Value == chosen, selected()), TextNode(c.Text))
		})))
}

// SubmitButton returns a button that submits its form.
func SubmitButton(label string, more ...Node) Node {
	return Button(Type("submit"), Group(more), TextNode(label))
}

// Primary returns a button for what a page is there for; a page has one.
func Primary(label string, more ...Node) Node {
	return Button(Class("primary"), Group(more), TextNode(label))
}

// ButtonLink returns a link to a path of this server that looks like a button.
func ButtonLink(href, text string) Node {
	return A(Class("button"), Href(href), TextNode(text))
}

// Panel returns a framed part of a page with a second-level heading.
func Panel(title string, body ...Node) Node {
	return Section(Class("panel"), H2(TextNode(title)), Group(body))
}

// Tabs returns links to the parts of one thing; the link to the path here is the current one. name describes them.
func Tabs(name, here string, links ...PageLink) Node {
	return Nav(Class("parts"), named(name), Ul(Map(links, func(l PageLink) Node {
		return Li(A(Href(l.Href), If(l.Href == here, Aria("current", "true")), TextNode(l.Text)))
	})))
}

// Key returns the name of a key.
func Key(s string) Node { return el("kbd", TextNode(s)) }

// Danger returns a button for an action that is hard to undo.
func Danger(label string, more ...Node) Node {
	return SubmitButton(label, Class("danger"), Group(more))
}

// ActionForm returns a form with one button; context names its object, for users of screen readers.
func ActionForm(v httpauth.Identity, action, label, context string, fields ...Node) Node {
	return PostForm(v, action, Group(fields), SubmitButton(label, If(context != "", named(label+" "+context))))
}

// Disclosure returns a body collapsed behind a line that opens it.
func Disclosure(line string, open bool, body ...Node) Node {
	return details(If(open, Attr("open")), summary(TextNode(line)), Group(body))
}

// Diff returns a unified diff, line by line, with visible signs besides colour. Lines within a hunk are classified by their sign only. Lines that replace
// others stand beside them where there is room, and what differs in a replaced line is marked.
func Diff(label, text string) Node {
	var lines Group
	var gone, come []string // lines of the replacement that is being read
	flush := func() {
		lines = append(lines, replaced(gone, come))
		gone, come = nil, nil
	}
	old, fresh := 0, 0 // remaining lines of the hunk, old and new
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
		line = strings.TrimRight(line, "\r\n")
		switch {
		case class == "removed" && len(come) == 0:
			gone = append(gone, line)
		case class == "added":
			come = append(come, line)
		default:
			flush()
			if class == "removed" {
				gone = append(gone, line)
				continue
			}
			lines = append(lines, Span(If(class != "", Class(class)), TextNode(line)))
		}
	}
	flush()
	return Pre(Class("diff"), TabIndex("0"), Role("group"), named(label), Code(lines))
}

// replaced returns removed lines and the added ones that take their place.
func replaced(gone, come []string) Node {
	was, is := make(Group, len(gone)), make(Group, len(come))
	for i, line := range gone {
		was[i] = Span(Class("removed"), TextNode(line))
	}
	for i, line := range come {
		is[i] = Span(Class("added"), TextNode(line))
	}
	if len(gone) == 0 || len(come) == 0 {
		return Group{was, is}
	}
	if len(gone) == len(come) {
		for i := range gone {
			before, after := differing(gone[i], come[i])
			was[i], is[i] = Span(Class("removed"), before), Span(Class("added"), after)
		}
	}
	return Span(Class("pair"), Span(Class("half"), was), Span(Class("half"), is))
}

// differing returns two lines, each after its sign, with what differs between them marked; unmarked if they have nothing in common.
func differing(a, b string) (before, after Node) {
	x, y := []rune(a), []rune(b)
	head := 1 // the sign
	for head < min(len(x), len(y)) && x[head] == y[head] {
		head++
	}
	tail := 0
	for tail < min(len(x), len(y))-head && x[len(x)-1-tail] == y[len(y)-1-tail] {
		tail++
	}
	inWord := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }
	at := func(line []rune, i int) bool { return i >= 0 && i < len(line) && inWord(line[i]) }
	for head > 1 && inWord(x[head-1]) && (at(x, head) || at(y, head)) { // whole words
		head--
	}
	for tail > 0 && inWord(x[len(x)-tail]) && (at(x, len(x)-tail-1) || at(y, len(y)-tail-1)) {
		tail--
	}
	if strings.TrimSpace(string(x[1:head])+string(x[len(x)-tail:])) == "" {
		return TextNode(a), TextNode(b)
	}
	marked := func(line []rune) Node {
		if head == len(line)-tail {
			return TextNode(string(line))
		}
		return Group{TextNode(string(line[:head])), el("mark", TextNode(string(line[head:len(line)-tail]))), TextNode(string(line[len(line)-tail:]))}
	}
	return marked(x), marked(y)
}

// hunk returns the numbers of old and new lines from a hunk header: @@ -1,2 +1,3 @@.
func hunk(head string) (old, fresh int) {
	words := strings.Fields(head)
	if len(words) < 3 {
		return 0, 0
	}
	return length(words[1]), length(words[2])
}

// length returns the number of lines in "-1,2"; 1 if it is omitted.
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

// Diagram returns a Mermaid diagram; its source is shown until it is drawn. The page must set Diagrams.
func Diagram(label, source string) Node {
	return figure(Class("diagram"), Pre(Class("mermaid"), TabIndex("0"), Role("group"), named(label), TextNode(source)))
}

// Stream returns a block of text to which the console's script appends event data: from url, of that kind, the named field.
func Stream(label, url, kind, field, sofar string) Node {
	return Pre(Class("log"), TabIndex("0"), Role("log"), named(label), Data("stream", url), Data("event", kind),
		Data("field", field), Code(TextNode(sofar)))
}

// InlineSelect returns a SelectField whose label is only for screen readers, because a table heading describes it.
func InlineSelect(id, name, label, chosen string, choices ...Choice) Node {
	return Group{Label(For(id), Class("visually-hidden"), TextNode(Printable(label))), Select(ID(id), Name(name),
		Map(choices, func(c Choice) Node {
			return Option(Value(c.Value), If(c.Value == chosen, selected()), TextNode(c.Text))
		}))}
}
