package packpages

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/domain/fault"
)

// Limits of a page: the number of chunks, and bytes of code, of formatted Markdown and of one diagram.
const (
	maxChunks  = 40
	maxCode    = 384 << 10
	maxLaidOut = 64 << 10
	maxDiagram = 48 << 10
)

// showing makes the document of a pack.
type showing struct {
	v        httpauth.Identity
	pack     Pack
	now      SourceDiff
	unknown  error // why the statuses of the anchors are unknown
	code     map[Chunk]Excerpt
	left     int // remaining bytes of code
	markdown int // remaining bytes of formatted Markdown
	diagrams int
}

// The tabs of a pack's page.
const (
	tabText     = "text"
	tabSettings = "settings"
)

func (s *section) show(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	p, err := s.load(r.Context(), v, r.PathValue("id"))
	if err != nil {
		s.unshown(w, v, r.PathValue("id"), err)
		return
	}
	diagrams := 0
	body := ui.Tabbed(r, "Parts of this pack", at(p.ID),
		ui.Tab{Text: "Document", Body: func() (shown ui.Node) {
			shown, diagrams = s.document(r, v, p)
			return shown
		}},
		ui.Tab{Key: tabText, Text: "Text", Body: func() ui.Node { return s.text(r.Context(), v, p) }},
		ui.Tab{Key: tabSettings, Text: "Settings", Body: func() ui.Node { return s.settings(r.Context(), v, p) }})
	s.Show(w, r, v, ui.Page{Title: p.Label(), Crumbs: []ui.PageLink{{Text: "Packs", Href: root}}, Diagrams: diagrams > 0, Body: []ui.Node{body}})
}

// text returns the pack as agents read it.
func (s *section) text(ctx context.Context, v httpauth.Identity, p Pack) ui.Node {
	links := ui.Div(ui.Class("buttons"), ui.ButtonLink(at(p.ID, "download"), "Download Markdown"), ui.ButtonLink(at(p.ID, "raw"), "View as plain text"))
	doc, err := s.whole(ctx, v, p.ID)
	if err != nil {
		return ui.Group{links, ui.Problem(fault.From(err))}
	}
	var cut ui.Node
	if len(doc) > MaxShown {
		doc = doc[:MaxShown]
		cut = ui.Notice(ui.Warn, ui.P(ui.Text("Truncated. Download the pack to read all of it.")))
	}
	return ui.Group{ui.P(ui.Class("quiet"), ui.Text("The pack as agents read it.")), links, cut, ui.CodeBlock("text of the pack", ui.Printable(doc))}
}

// settings returns the forms that change the whole pack. The one that deletes it is the last.
func (s *section) settings(ctx context.Context, v httpauth.Identity, p Pack) ui.Node {
	wanted := []string{"ttl", "reopen"}
	if p.Draft() {
		wanted = []string{"meta", "ttl", "finalize", "reanchor"}
	}
	out := ui.Group{s.Calls.PolicyNotice(ctx, v, "Change packs", input)}
	for _, path := range append(wanted, "delete") {
		for _, d := range packActions() {
			if d.path != path {
				continue
			}
			values := filled(d, p, nil)
			values.Set(revisionField, strconv.FormatUint(p.Revision, 10))
			panel := ui.Panel
			if d.danger {
				panel = ui.DangerPanel
			}
			out = append(out, panel(d.title, d.fieldsFor(v, p, values)))
		}
	}
	return out
}

// document returns the pack as a document, and the number of its diagrams.
func (s *section) document(r *http.Request, v httpauth.Identity, p Pack) (body ui.Node, diagrams int) {
	d := &showing{v: v, pack: p, left: maxCode, markdown: maxLaidOut, code: map[Chunk]Excerpt{}}
	d.now, d.unknown = s.compare(r.Context(), v, p.ID)
	all := Chunks(p)
	from, err := strconv.Atoi(r.URL.Query().Get("from"))
	if err != nil || from < 0 || from >= len(all) {
		from = 0
	}
	to := min(len(all), from+maxChunks)
	for begin := from; begin < to; {
		end := begin
		for end < to && all[end].Kind == AnchorChunk && all[end].Section == all[begin].Section {
			end++
		}
		if end > begin {
			for c, e := range s.excerpts(r.Context(), v, p, all[begin:end], begin) {
				d.code[c] = e
			}
		}
		begin = max(end, begin+1)
	}
	body = ui.Group{d.steps(), d.facts(), d.contents(all), d.sections(all, from, to), d.pages(all, from, to)}
	return body, d.diagrams
}

// unshown answers for a pack that cannot be shown. One that is only too long is available as text.
func (s *section) unshown(w http.ResponseWriter, v httpauth.Identity, id string, err error) {
	if !tooLong(err) {
		s.Fail(w, v, err)
		return
	}
	ui.Page{Title: "Pack too long", Section: root, Crumbs: []ui.PageLink{{Text: "Packs", Href: root}}, Body: []ui.Node{
		ui.Problem(fault.From(err)), ui.P(ui.LinkTo(at(id, "raw"), "View text"), ui.Text(" · "), ui.LinkTo(at(id, "download"), "Download")),
	}}.Write(w, present.HTTPStatus(fault.From(err).Kind), v)
}

// facts returns the brief, the details of the pack, and the statuses of its anchors.
func (d *showing) facts() ui.Node {
	p := d.pack
	anchors := d.now.Badges()
	var trouble ui.Node
	if d.unknown != nil {
		anchors, trouble = nil, ui.Problem(fault.From(d.unknown))
	}
	var masked ui.Node
	if d.now.Masked > 0 {
		masked = ui.Text(strconv.Itoa(d.now.Masked))
	}
	var brief ui.Node
	if p.Brief != "" {
		brief = ui.Section(ui.Aria("label", "Brief"), d.markdownOf("brief", p.Brief, 1))
	}
	return ui.Group{trouble, brief, ui.Panel("Details", ui.Facts(
		ui.Fact{Name: "Status", Value: status(p.Status)}, ui.Fact{Name: "Anchors", Value: anchors}, ui.Fact{Name: "Redacted secrets", Value: masked},
		ui.Fact{Name: "Expires", Value: ui.When(p.ExpiresAt)}),
		ui.Disclosure("More details", false, ui.Facts(ui.Fact{Name: "ID", Value: ui.InlineCode(p.ID)}, ui.Fact{Name: "Name", Value: ui.OptionalText(p.Name)},
			ui.Fact{Name: "Tags", Value: ui.OptionalText(strings.Join(p.Tags, ", "))}, ui.Fact{Name: "Revision", Value: ui.Text(strconv.FormatUint(p.Revision, 10))},
			ui.Fact{Name: "Changed", Value: ui.When(p.UpdatedAt)}, ui.Fact{Name: "Created", Value: ui.When(p.CreatedAt)})))}
}

// steps returns the links to the forms that add to the pack, or the one that reopens it.
func (d *showing) steps() ui.Node {
	p := d.pack
	if !p.Draft() {
		return ui.Nav(ui.Aria("label", "Actions"), ui.Div(ui.Class("buttons"), ui.ButtonLink(at(p.ID, "reopen"), "Reopen")))
	}
	return ui.Nav(ui.Aria("label", "Actions"), ui.Div(ui.Class("buttons"), ui.ButtonLink(at(p.ID, "section"), "Add section"), ui.ButtonLink(at(p.ID, "anchor"), "Add anchor"),
		ui.ButtonLink(at(p.ID, "diagram"), "Add diagram"), ui.ButtonLink(at(p.ID, "reanchor"), "Update anchors"), ui.ButtonLink(at(p.ID, "finalize"), "Finalize")))
}

// contents returns links to the sections of a pack with several.
func (d *showing) contents(all []Chunk) ui.Node {
	if len(d.pack.Sections) < 2 {
		return nil
	}
	var items ui.Group
	seen := map[int]bool{}
	for i, c := range all {
		if seen[c.Section] {
			continue
		}
		seen[c.Section] = true
		sec := d.pack.Sections[c.Section]
		items = append(items, ui.Li(ui.LinkTo(at(d.pack.ID)+"?from="+strconv.Itoa(i-i%maxChunks)+"#"+url.PathEscape("section-"+sec.Key), line(sec.Title))))
	}
	return ui.Nav(ui.Class("panel contents"), ui.Aria("label", "Sections of this pack"), ui.H2(ui.Text("Contents")), ui.Ol(items))
}

// pages returns links to the other pages of a pack that is too large for one.
func (d *showing) pages(all []Chunk, from, to int) ui.Node {
	if from == 0 && to == len(all) {
		return nil
	}
	links := ui.Group{ui.Text("Showing parts " + strconv.Itoa(from+1) + " to " + strconv.Itoa(to) + " of " + strconv.Itoa(len(all)) + ". ")}
	if from > 0 {
		links = append(links, ui.LinkTo(d.from(max(0, from-maxChunks)), "Previous parts"), ui.Text(" "))
	}
	if to < len(all) {
		links = append(links, ui.LinkTo(d.from(to), "Next parts"))
	}
	return ui.Nav(ui.Aria("label", "Parts of this pack"), ui.P(links))
}

func (d *showing) from(chunk int) string { return at(d.pack.ID) + "?from=" + strconv.Itoa(chunk) }

// markdownOf returns Markdown of the pack, formatted while the page has room.
func (d *showing) markdownOf(label, source string, below int) ui.Node {
	if d.markdown -= len(source); d.markdown < 0 {
		return PlainMarkdown(label, source)
	}
	shown := RenderMarkdown(MarkdownText{Source: source, Below: below, Label: label})
	d.diagrams += shown.Diagrams
	return shown.Body
}

// sections returns the chunks of this page under the headings of their sections.
func (d *showing) sections(all []Chunk, from, to int) ui.Node {
	if len(all) == 0 {
		return ui.Empty("This pack is empty. Add a section, then anchors to lines of source code.")
	}
	var out ui.Group
	for i := from; i < to; {
		number := all[i].Section
		sec := d.pack.Sections[number]
		parts := ui.Group{d.sectionHead(sec, i == 0 || all[i-1].Section != number)}
		for ; i < to && all[i].Section == number; i++ {
			switch all[i].Kind {
			case AnchorChunk:
				parts = append(parts, d.anchor(sec, sec.Refs[all[i].Index], all[i], i))
			case DiagramChunk:
				parts = append(parts, d.drawing(sec, sec.Diagrams[all[i].Index]))
			}
		}
		out = append(out, ui.Section(ui.ID("section-"+sec.Key), ui.H2(ui.Text(line(sec.Title)+" "), ui.Span(ui.Class("quiet"), ui.Text(sec.Key))), parts))
	}
	return out
}

// sectionHead returns the text of a section that starts on this page, and links to its forms.
func (d *showing) sectionHead(sec ViewSection, begins bool) ui.Node {
	var text ui.Node
	if begins && sec.Description != "" {
		text = d.markdownOf(sec.Key, sec.Description, 2)
	} else if !begins {
		text = ui.P(ui.Class("quiet"), ui.Text("This section starts on a previous page."))
	}
	if !d.pack.Draft() {
		return text
	}
	about := url.Values{"section_key": {sec.Key}}
	return ui.Group{text, d.links(about, " of section "+line(sec.Title), "section", "Edit", "anchor", "Add anchor", "diagram", "Add diagram", "remove-section", "Remove")}
}

// links returns links to forms for a part of the pack: pairs of a path and a label. of names the part for screen readers.
func (d *showing) links(about url.Values, of string, pairs ...string) ui.Node {
	var out ui.Group
	for i := 0; i+1 < len(pairs); i += 2 {
		if i > 0 {
			out = append(out, ui.Text(" · "))
		}
		out = append(out, ui.A(ui.Href(at(d.pack.ID, pairs[i])+"?"+about.Encode()), ui.Aria("label", pairs[i+1]+of), ui.Text(pairs[i+1])))
	}
	return ui.P(out)
}

// anchor returns an anchor beside its current code.
func (d *showing) anchor(sec ViewSection, r Ref, c Chunk, number int) ui.Node {
	e := d.code[c]
	now := d.now.Of(sec.Key, r.Key)
	if d.unknown != nil {
		now = ChangedAnchor{Standing: e.Standing, Note: e.Note}
	}
	name := r.Key
	if r.Title != "" {
		name = line(r.Title)
	}
	var steps ui.Node
	if d.pack.Draft() {
		about := url.Values{"section_key": {sec.Key}, "ref_key": {r.Key}}
		pairs := []string{"anchor", "Edit", "remove-anchor", "Remove"}
		if now.Standing != Exact && now.Standing != "" {
			pairs = append(pairs, "reanchor", "Accept current lines")
		}
		steps = d.links(about, " of anchor "+name, pairs...)
	}
	var how ui.Node
	if now.Standing != "" {
		how = now.Standing.Badge()
	}
	return ui.Card(name, ui.Div(ui.Class("beside"),
		ui.Div(ui.Facts(ui.Fact{Name: "Lines", Value: ui.InlineCode(ui.Printable(r.Path) + ":" + strconv.Itoa(r.Lines.Start) + "-" + strconv.Itoa(r.Lines.End))},
			ui.Fact{Name: "Status", Value: how}, ui.Fact{Name: "Reason", Value: ui.OptionalText(r.Why)}, ui.Fact{Name: "Key", Value: ui.InlineCode(r.Key)},
			ui.Fact{Name: "Group", Value: ui.OptionalText(r.Group)}, ui.Fact{Name: "Source root", Value: ui.OptionalCode(r.Root)},
			ui.Fact{Name: "Commit", Value: ui.OptionalCode(r.Commit)}), steps),
		ui.Div(now.Node(name), d.excerpt(name, e, number))))
}

// excerpt returns the code of an anchor, while the page has room.
func (d *showing) excerpt(name string, e Excerpt, number int) ui.Node {
	switch {
	case e.Missing != "":
		return ui.P(ui.Class("quiet"), ui.Text("No code to show: "+ui.Printable(e.Missing)))
	case len(e.Text) > d.left && d.left < maxCode:
		return ui.Notice(ui.Warn, ui.P(ui.Text("This code is left out because the page is full. "), ui.LinkTo(d.from(number), "Start a page with it")))
	}
	d.left -= len(e.Text)
	text, cut := e.Text, ui.Node(nil)
	if len(text) > maxCode {
		text = text[:maxCode]
		cut = ui.Notice(ui.Warn, ui.P(ui.Text("Code truncated: it has "+strconv.Itoa(len(e.Text)>>10)+" KB.")))
	}
	return ui.Group{cut, block(name+": code", HighlightNumbered(e.Language, ui.Printable(strings.TrimSuffix(text, "\n")), e.First))}
}

// drawing returns a diagram.
func (d *showing) drawing(sec ViewSection, g ViewDiagram) ui.Node {
	name := line(g.Title)
	var steps ui.Node
	if d.pack.Draft() {
		steps = d.links(url.Values{"section_key": {sec.Key}, "diagram_key": {g.Key}}, " of diagram "+name, "diagram", "Edit", "remove-diagram", "Remove")
	}
	var why, body ui.Node
	if g.Why != "" {
		why = ui.P(ui.Text(ui.Printable(g.Why)))
	}
	if len(g.Mermaid) <= maxDiagram {
		d.diagrams++
		body = diagram(name, g.Mermaid)
	} else {
		body = PlainMarkdown(name, g.Mermaid)
	}
	return ui.Card(name, why, body, steps)
}
