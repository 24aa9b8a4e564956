// Package page is how every page of the console looks: its frame, and the few elements that pages are made of.
//
// It refuses to know what is shown: it has no door, and makes no decision.
package page

import (
	"context"
	"net/http"
	"strings"

	"github.com/countersign-dev/countersign/adapters/console/markup"
	"github.com/countersign-dev/countersign/adapters/httpguard"
	"github.com/countersign-dev/countersign/domain/fault"
)

// Page is one page. The zero Page is an empty one of no section.
type Page struct {
	Title   string      // of the document and its heading
	Section string      // path of its section ("/packs"), marked in the navigation
	Crumbs  []Link      // the way to it from its section, without itself
	Notice  markup.Node // above everything: what came of the last thing that was done; may be nil
	// Live are the kinds of events (feed) after which the page looks anew by itself; empty never.
	Live []string
	// Diagrams says that the page may hold Mermaid diagrams (Diagram), which need styles of their own.
	Diagrams bool
	Body     []markup.Node
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
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	if p.Diagrams {
		h.Set("Content-Security-Policy", diagramPolicy)
	}
	w.WriteHeader(status)
	_, _ = w.Write(markup.HTML(p.document(v))) // whoever asked may be gone
}

func (p Page) document(v httpguard.Visitor) markup.Node {
	return markup.Doctype(markup.Html(markup.Lang("en"),
		markup.Head(
			markup.Meta(markup.Charset("utf-8")),
			markup.Meta(markup.Name("viewport"), markup.Content("width=device-width, initial-scale=1")),
			markup.Meta(markup.Name("color-scheme"), markup.Content("light dark")),
			markup.TitleEl(markup.Text(p.Title+" · Countersign")),
			markup.Link(markup.Rel("icon"), markup.Href("/assets/icon.svg"), markup.Type("image/svg+xml")),
			markup.Link(markup.Rel("stylesheet"), markup.Href("/assets/style.css")),
			markup.Script(markup.Src("/assets/console.js"), markup.Defer()),
			markup.Script(markup.Src("/assets/passkeys.js"), markup.Defer()),
			markup.Script(markup.Src("/assets/notify.js"), markup.Defer()),
			markup.If(p.Diagrams, markup.Script(markup.Src("/assets/mermaid.js"), markup.Defer())),
			markup.If(p.Diagrams, markup.Script(markup.Src("/assets/diagrams.js"), markup.Defer())),
		),
		markup.Body(markup.If(len(p.Live) > 0, markup.Data("live", strings.Join(p.Live, " "))),
			markup.A(markup.Class("skip"), markup.Href("#main"), markup.Text("Skip to the content")),
			p.header(v),
			markup.Main(markup.ID("main"), markup.TabIndex("-1"), p.crumbs(), markup.H1(markup.Text(p.Title)), p.Notice, markup.Group(p.Body)),
			markup.Div(markup.ID("said"), markup.Class("visually-hidden"), markup.Role("status"), markup.Aria("live", "polite")),
		),
	))
}

func (p Page) header(v httpguard.Visitor) markup.Node {
	return markup.Header(markup.Class("top"),
		markup.A(markup.Class("brand"), markup.Href("/"), markup.Text("Countersign")),
		markup.Nav(markup.Aria("label", "Sections"), markup.Ul(markup.Map(Sections(), func(s Link) markup.Node {
			return markup.Li(markup.A(markup.Href(s.Href), markup.If(s.Href == p.Section, markup.Aria("current", "page")), markup.Text(s.Text),
				markup.If(s.Href == "/approvals", markup.Span(markup.Class("count"), markup.Data("count", "approvals")))))
		}))),
		Form(v, "/logout", Button("Log out")), unasked(v),
	)
}

// unasked says, above every page, that no person is asked; nil where people are.
func unasked(v httpguard.Visitor) markup.Node {
	if !v.Unasked {
		return nil
	}
	return markup.P(markup.ID("unasked"), markup.Class("unasked"), markup.Strong(markup.Text("No person is asked.")),
		markup.Text(" Approval is set to caller: whoever calls a tool approves its own plan. "), To("/settings", "See who set that"))
}

// Telling has the pages behind person say so while no person is asked. Where that cannot be found out they say nothing: the settings' page says why.
func Telling(person func(httpguard.Handler) http.Handler, unasked func(ctx context.Context) (bool, error)) func(httpguard.Handler) http.Handler {
	return func(h httpguard.Handler) http.Handler {
		return person(func(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
			nobody, err := unasked(r.Context())
			v.Unasked = nobody && err == nil
			h(w, r, v)
		})
	}
}

func (p Page) crumbs() markup.Node {
	if len(p.Crumbs) == 0 {
		return nil
	}
	return markup.Nav(markup.Class("crumbs"), markup.Aria("label", "Where you are"), markup.Ol(markup.Map(p.Crumbs, func(l Link) markup.Node {
		return markup.Li(markup.A(markup.Href(l.Href), markup.Text(l.Text)))
	})))
}

// Fail answers with a page that says what went wrong and how to go on, with the status that belongs to the error's kind.
func Fail(w http.ResponseWriter, v httpguard.Visitor, section string, status int, err error) {
	f := fault.From(err)
	Page{Title: "That did not work", Section: section, Body: []markup.Node{Problem(f)}}.Write(w, status, v)
}
