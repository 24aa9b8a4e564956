// Package page is how every page of the console looks: its frame, and the few elements that pages are made of.
//
// It refuses to know what is shown: it has no door, and makes no decision.
package page

import (
	"bytes"
	"net/http"
	"strings"

	"maragu.dev/gomponents"
	"maragu.dev/gomponents/html"

	"github.com/countersign-dev/countersign/adapters/httpguard"
	"github.com/countersign-dev/countersign/domain/fault"
)

// Page is one page. The zero Page is an empty one of no section.
type Page struct {
	Title   string          // of the document and its heading
	Section string          // path of its section ("/packs"), marked in the navigation
	Crumbs  []Link          // the way to it from its section, without itself
	Notice  gomponents.Node // above everything: what came of the last thing that was done; may be nil
	// Live are the kinds of events (feed) after which the page looks anew by itself; empty never.
	Live []string
	// Diagrams says that the page may hold Mermaid diagrams (Diagram), which need styles of their own.
	Diagrams bool
	Body     []gomponents.Node
}

// Link is a word that leads somewhere on this server.
type Link struct{ Text, Href string }

// Sections are the parts of the console, in the order of the navigation.
func Sections() []Link {
	return []Link{{"Approvals", "/approvals"}, {"Activity", "/activity"}, {"Tools", "/tools"}, {"Settings", "/settings"}, {"Packs", "/packs"},
		{"Deployments", "/deployments"}, {"Projects", "/projects"}, {"Sandboxes", "/sandboxes"}, {"Ecosystems", "/ecosystems"}}
}

// diagramPolicy is the content security policy of pages with diagrams: Mermaid writes styles into what it draws. Scripts stay this server's own.
const diagramPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; " +
	"font-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// Write answers with the page.
func (p Page) Write(w http.ResponseWriter, status int, v httpguard.Visitor) {
	var b bytes.Buffer
	if err := p.document(v).Render(&b); err != nil { // it is written into memory
		http.Error(w, "the page cannot be shown", http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	if p.Diagrams {
		h.Set("Content-Security-Policy", diagramPolicy)
	}
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // whoever asked may be gone
}

func (p Page) document(v httpguard.Visitor) gomponents.Node {
	return html.Doctype(html.HTML(html.Lang("en"),
		html.Head(
			html.Meta(html.Charset("utf-8")),
			html.Meta(html.Name("viewport"), html.Content("width=device-width, initial-scale=1")),
			html.Meta(html.Name("color-scheme"), html.Content("light dark")),
			html.TitleEl(gomponents.Text(p.Title+" · Countersign")),
			html.Link(html.Rel("icon"), html.Href("/assets/icon.svg"), html.Type("image/svg+xml")),
			html.Link(html.Rel("stylesheet"), html.Href("/assets/style.css")),
			html.Script(html.Src("/assets/console.js"), html.Defer()),
			gomponents.If(p.Diagrams, html.Script(html.Src("/assets/mermaid.js"), html.Defer())),
			gomponents.If(p.Diagrams, html.Script(html.Src("/assets/diagrams.js"), html.Defer())),
		),
		html.Body(gomponents.If(len(p.Live) > 0, html.Data("live", strings.Join(p.Live, " "))),
			html.A(html.Class("skip"), html.Href("#main"), gomponents.Text("Skip to the content")),
			p.header(v),
			html.Main(html.ID("main"), html.TabIndex("-1"), p.crumbs(), html.H1(gomponents.Text(p.Title)), p.Notice, gomponents.Group(p.Body)),
			html.Div(html.ID("said"), html.Class("visually-hidden"), html.Role("status"), html.Aria("live", "polite")),
		),
	))
}

func (p Page) header(v httpguard.Visitor) gomponents.Node {
	return html.Header(html.Class("top"),
		html.A(html.Class("brand"), html.Href("/"), gomponents.Text("Countersign")),
		html.Nav(html.Aria("label", "Sections"), html.Ul(gomponents.Map(Sections(), func(s Link) gomponents.Node {
			return html.Li(html.A(html.Href(s.Href), gomponents.If(s.Href == p.Section, html.Aria("current", "page")), gomponents.Text(s.Text),
				gomponents.If(s.Href == "/approvals", html.Span(html.Class("count"), html.Data("count", "approvals")))))
		}))),
		Form(v, "/logout", Button("Log out")),
	)
}

func (p Page) crumbs() gomponents.Node {
	if len(p.Crumbs) == 0 {
		return nil
	}
	return html.Nav(html.Class("crumbs"), html.Aria("label", "Where you are"), html.Ol(gomponents.Map(p.Crumbs, func(l Link) gomponents.Node {
		return html.Li(html.A(html.Href(l.Href), gomponents.Text(l.Text)))
	})))
}

// Fail answers with a page that says what went wrong and how to go on, with the status that belongs to the error's kind.
func Fail(w http.ResponseWriter, v httpguard.Visitor, section string, status int, err error) {
	f := fault.From(err)
	Page{Title: "That did not work", Section: section, Body: []gomponents.Node{Problem(f)}}.Write(w, status, v)
}
