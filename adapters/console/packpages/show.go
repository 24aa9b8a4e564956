package packpages

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/adapters/console/markup"
	"github.com/countersign-dev/countersign/adapters/console/packpages/highlight"
	"github.com/countersign-dev/countersign/adapters/console/packpages/markdown"
	"github.com/countersign-dev/countersign/adapters/console/packpages/packview"
	"github.com/countersign-dev/countersign/adapters/console/page"
	"github.com/countersign-dev/countersign/adapters/console/sectionpage"
	"github.com/countersign-dev/countersign/adapters/httpguard"
	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/domain/fault"
)

// How much of a pack one page shows, so that the largest pack is a page like any other: chunks, bytes of code, bytes of Markdown that are laid out, and
// bytes of one diagram.
const (
	maxChunks  = 40
	maxCode    = 384 << 10
	maxLaidOut = 64 << 10
	maxDiagram = 48 << 10
)

// showing is the page of a pack that is being made.
type showing struct {
	v        httpguard.Visitor
	pack     packview.Pack
	now      packview.Against
	unknown  error // why it is not known how the anchors stand
	code     map[packview.Chunk]packview.Excerpt
	left     int // bytes of code that still have room
	markdown int // likewise
	diagrams int
}

func (s *Section) show(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	p, err := s.load(r.Context(), v, r.PathValue("id"))
	if err != nil {
		s.unshown(w, v, r.PathValue("id"), err)
		return
	}
	d := &showing{v: v, pack: p, left: maxCode, markdown: maxLaidOut, code: map[packview.Chunk]packview.Excerpt{}}
	d.now, d.unknown = s.compare(r.Context(), v, p.ID)
	all := packview.Chunks(p)
	from, err := strconv.Atoi(r.URL.Query().Get("from"))
	if err != nil || from < 0 || from >= len(all) {
		from = 0
	}
	to := min(len(all), from+maxChunks)
	for begin := from; begin < to; {
		end := begin
		for end < to && all[end].Kind == packview.Anchor && all[end].Section == all[begin].Section {
			end++
		}
		if end > begin {
			for c, e := range s.excerpts(r.Context(), v, p, all[begin:end], begin) {
				d.code[c] = e
			}
		}
		begin = max(end, begin+1)
	}
	body := markup.Group{d.facts(), d.steps(), d.contents(all), d.sections(all, from, to), d.pages(all, from, to)}
	s.Show(w, r, v, page.Page{Title: p.Label(), Crumbs: []page.Link{{Text: "Packs", Href: root}}, Diagrams: d.diagrams > 0, Body: body})
}

// unshown is the page of a pack that cannot be shown. One that is only too long can still be had as text.
func (s *Section) unshown(w http.ResponseWriter, v httpguard.Visitor, id string, err error) {
	if !tooLong(err) {
		s.Fail(w, v, err)
		return
	}
	page.Page{Title: "A very long pack", Section: root, Crumbs: []page.Link{{Text: "Packs", Href: root}}, Body: []markup.Node{
		page.Problem(fault.From(err)), markup.P(page.To(at(id, "raw"), "Its text"), page.Text(" · "), page.To(at(id, "download"), "Download it")),
	}}.Write(w, present.HTTPStatus(fault.From(err).Kind), v)
}

// facts is what the pack says of itself, and how its anchors stand.
func (d *showing) facts() markup.Node {
	p := d.pack
	anchors := d.now.Badges()
	var trouble markup.Node
	if d.unknown != nil {
		anchors, trouble = nil, page.Problem(fault.From(d.unknown))
	}
	var masked markup.Node
	if d.now.Masked > 0 {
		masked = page.Text(strconv.Itoa(d.now.Masked))
	}
	var brief markup.Node
	if p.Brief != "" {
		brief = markup.Section(markup.Aria("label", "Brief"), d.text("brief", p.Brief, 1))
	}
	return markup.Group{trouble, brief, page.Facts(
		page.Fact{Name: "Id", Value: page.Code(p.ID)}, page.Fact{Name: "Name", Value: sectionpage.Text(p.Name)},
		page.Fact{Name: "Status", Value: status(p.Status)}, page.Fact{Name: "Revision", Value: page.Text(strconv.FormatUint(p.Revision, 10))},
		page.Fact{Name: "Tags", Value: sectionpage.Text(strings.Join(p.Tags, ", "))}, page.Fact{Name: "Anchors now", Value: anchors},
		page.Fact{Name: "Secrets not shown", Value: masked}, page.Fact{Name: "Changed", Value: page.When(p.UpdatedAt)},
		page.Fact{Name: "Expires", Value: page.When(p.ExpiresAt)}, page.Fact{Name: "Made", Value: page.When(p.CreatedAt)})}
}

// steps are the ways to what can be done with the whole pack.
func (d *showing) steps() markup.Node {
	p := d.pack
	links := []page.Link{{Text: "Time to live", Href: at(p.ID, "ttl")}}
	if p.Draft() {
		links = append(links, page.Link{Text: "Title, brief and tags", Href: at(p.ID, "meta")}, page.Link{Text: "Add a section or note", Href: at(p.ID, "section")},
			page.Link{Text: "Add an anchor", Href: at(p.ID, "anchor")}, page.Link{Text: "Add a diagram", Href: at(p.ID, "diagram")},
			page.Link{Text: "Have anchors follow the code", Href: at(p.ID, "reanchor")}, page.Link{Text: "Finalize", Href: at(p.ID, "finalize")})
	} else {
		links = append(links, page.Link{Text: "Open it for changes", Href: at(p.ID, "reopen")})
	}
	links = append(links, page.Link{Text: "As agents read it", Href: at(p.ID, "raw")}, page.Link{Text: "Download", Href: at(p.ID, "download")},
		page.Link{Text: "Delete", Href: at(p.ID, "delete")})
	var out markup.Group
	for i, l := range links {
		if i > 0 {
			out = append(out, page.Text(" · "))
		}
		out = append(out, page.To(l.Href, l.Text))
	}
	return markup.Nav(markup.Aria("label", "What you can do with this pack"), markup.P(out))
}

// contents leads to the sections of a pack that has several.
func (d *showing) contents(all []packview.Chunk) markup.Node {
	if len(d.pack.Sections) < 2 {
		return nil
	}
	var items markup.Group
	seen := map[int]bool{}
	for i, c := range all {
		if seen[c.Section] {
			continue
		}
		seen[c.Section] = true
		sec := d.pack.Sections[c.Section]
		items = append(items, markup.Li(page.To(at(d.pack.ID)+"?from="+strconv.Itoa(i-i%maxChunks)+"#"+url.PathEscape("section-"+sec.Key), packview.Line(sec.Title))))
	}
	return markup.Nav(markup.Aria("label", "Sections of this pack"), markup.Ol(items))
}

// pages leads to the rest of a pack that is too large for one page.
func (d *showing) pages(all []packview.Chunk, from, to int) markup.Node {
	if from == 0 && to == len(all) {
		return nil
	}
	links := markup.Group{page.Text("This page shows parts " + strconv.Itoa(from+1) + " to " + strconv.Itoa(to) + " of " + strconv.Itoa(len(all)) + ". ")}
	if from > 0 {
		links = append(links, page.To(d.from(max(0, from-maxChunks)), "Earlier parts"), page.Text(" "))
	}
	if to < len(all) {
		links = append(links, page.To(d.from(to), "Next parts"))
	}
	return markup.Nav(markup.Aria("label", "Parts of this pack"), markup.P(links))
}

func (d *showing) from(chunk int) string { return at(d.pack.ID) + "?from=" + strconv.Itoa(chunk) }

// text is Markdown of the pack, laid out as long as there is room.
func (d *showing) text(label, source string, below int) markup.Node {
	if d.markdown -= len(source); d.markdown < 0 {
		return markdown.Plain(label, source)
	}
	shown := markdown.Show(markdown.Text{Source: source, Below: below, Label: label})
	d.diagrams += shown.Diagrams
	return shown.Body
}

// sections are the chunks of a page under the headings of their sections.
func (d *showing) sections(all []packview.Chunk, from, to int) markup.Node {
	if len(all) == 0 {
		return page.Empty("There is nothing in this pack yet. Add a section, and anchors to lines of source code.")
	}
	var out markup.Group
	for i := from; i < to; {
		number := all[i].Section
		sec := d.pack.Sections[number]
		parts := markup.Group{d.sectionHead(sec, i == 0 || all[i-1].Section != number)}
		for ; i < to && all[i].Section == number; i++ {
			switch all[i].Kind {
			case packview.Anchor:
				parts = append(parts, d.anchor(sec, sec.Refs[all[i].Index], all[i], i))
			case packview.Drawing:
				parts = append(parts, d.drawing(sec, sec.Diagrams[all[i].Index]))
			}
		}
		out = append(out, markup.Section(markup.ID("section-"+sec.Key), markup.H2(page.Text(packview.Line(sec.Title)+" "), markup.Span(markup.Class("quiet"), page.Text(sec.Key))), parts))
	}
	return out
}

// sectionHead is a section's text, when it begins here, and what can be done with it.
func (d *showing) sectionHead(sec packview.Section, begins bool) markup.Node {
	var text markup.Node
	if begins && sec.Description != "" {
		text = d.text(sec.Key, sec.Description, 2)
	} else if !begins {
		text = markup.P(markup.Class("quiet"), page.Text("This section begins on an earlier page."))
	}
	if !d.pack.Draft() {
		return text
	}
	about := url.Values{"section_key": {sec.Key}}
	return markup.Group{text, d.links(about, " of section "+packview.Line(sec.Title), "section", "Edit", "anchor", "Add an anchor", "diagram", "Add a diagram", "remove-section", "Remove")}
}

// links leads to steps about a part of the pack: pairs of a path and a word for it. of says of which part, for those who hear only the link.
func (d *showing) links(about url.Values, of string, pairs ...string) markup.Node {
	var out markup.Group
	for i := 0; i+1 < len(pairs); i += 2 {
		if i > 0 {
			out = append(out, page.Text(" · "))
		}
		out = append(out, markup.A(markup.Href(at(d.pack.ID, pairs[i])+"?"+about.Encode()), markup.Aria("label", pairs[i+1]+of), page.Text(pairs[i+1])))
	}
	return markup.P(out)
}

// anchor is an anchor with the code it shows now.
func (d *showing) anchor(sec packview.Section, r packview.Ref, c packview.Chunk, number int) markup.Node {
	e := d.code[c]
	now := d.now.Of(sec.Key, r.Key)
	if d.unknown != nil {
		now = packview.Drifted{Standing: e.Standing, Note: e.Note}
	}
	name := r.Key
	if r.Title != "" {
		name = packview.Line(r.Title)
	}
	var steps markup.Node
	if d.pack.Draft() {
		about := url.Values{"section_key": {sec.Key}, "ref_key": {r.Key}}
		pairs := []string{"anchor", "Edit", "remove-anchor", "Remove"}
		if now.Standing != packview.Exact && now.Standing != "" {
			pairs = append(pairs, "reanchor", "Take it as it is now")
		}
		steps = d.links(about, " of anchor "+name, pairs...)
	}
	var how markup.Node
	if now.Standing != "" {
		how = now.Standing.Badge()
	}
	return page.Card(name,
		page.Facts(page.Fact{Name: "Lines", Value: page.Code(page.Printable(r.Path) + ":" + strconv.Itoa(r.Lines.Start) + "-" + strconv.Itoa(r.Lines.End))},
			page.Fact{Name: "Now", Value: how}, page.Fact{Name: "Why", Value: sectionpage.Text(r.Why)}, page.Fact{Name: "Key", Value: page.Code(r.Key)},
			page.Fact{Name: "Group", Value: sectionpage.Text(r.Group)}, page.Fact{Name: "Source root", Value: sectionpage.Code(r.Root)},
			page.Fact{Name: "Commit", Value: sectionpage.Code(r.Commit)}),
		now.Node(name), d.excerpt(name, e, number), steps)
}

// excerpt is the code of an anchor, as long as there is room on the page.
func (d *showing) excerpt(name string, e packview.Excerpt, number int) markup.Node {
	switch {
	case e.Missing != "":
		return markup.P(markup.Class("quiet"), page.Text("There is no code to show: "+page.Printable(e.Missing)))
	case len(e.Text) > d.left && d.left < maxCode:
		return page.Notice(page.Warn, markup.P(page.Text("This page is full, so that this code is left out. "), page.To(d.from(number), "Begin a page with it")))
	}
	d.left -= len(e.Text)
	text, cut := e.Text, markup.Node(nil)
	if len(text) > maxCode {
		text = text[:maxCode]
		cut = page.Notice(page.Warn, markup.P(page.Text("Only the beginning of this code is shown: "+strconv.Itoa(len(e.Text)>>10)+" KB are too much for a page.")))
	}
	return markup.Group{cut, highlight.Block(name+": code", highlight.Numbered(e.Language, page.Printable(strings.TrimSuffix(text, "\n")), e.First))}
}

// drawing is a diagram.
func (d *showing) drawing(sec packview.Section, g packview.Diagram) markup.Node {
	name := packview.Line(g.Title)
	var steps markup.Node
	if d.pack.Draft() {
		steps = d.links(url.Values{"section_key": {sec.Key}, "diagram_key": {g.Key}}, " of diagram "+name, "diagram", "Edit", "remove-diagram", "Remove")
	}
	var why, body markup.Node
	if g.Why != "" {
		why = markup.P(page.Text(page.Printable(g.Why)))
	}
	if len(g.Mermaid) <= maxDiagram {
		d.diagrams++
		body = markdown.Diagram(name, g.Mermaid)
	} else {
		body = markdown.Plain(name, g.Mermaid)
	}
	return page.Card(name, why, body, steps)
}
