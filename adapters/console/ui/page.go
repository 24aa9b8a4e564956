package ui

import (
	"context"
	"net/http"
	"strings"

	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/domain/fault"
)

// Page is one page. The zero Page is empty and has no section.
type Page struct {
	Title   string     // title of the document and its heading
	Section string     // path of its section ("/packs"), marked in the navigation
	Crumbs  []PageLink // the links from its section to it, without itself
	Notice  Node       // at the top: the result of the last action; may be nil
	// Live lists the kinds of events after which the page reloads; empty: never.
	Live []string
	// Diagrams says that the page may contain Mermaid diagrams (Diagram), which need inline styles.
	Diagrams bool
	Body     []Node
}

// PageLink is a text that links to a page of this server.
type PageLink struct{ Text, Href string }

// Sections returns the sections of the console in navigation order.
func Sections() []PageLink {
	return []PageLink{{"Home", "/"}, {"Approvals", "/approvals"}, {"Activity", "/activity"}, {"Projects", "/projects"}, {"Sandboxes", "/sandboxes"}, {"Ecosystems", "/ecosystems"},
		{"Packs", "/packs"}, {"Deployments", "/deployments"}, {"Tools", "/tools"}, {"Settings", "/settings"}}
}

// begins reports whether a group of sections begins with that one. The groups are what agents propose, what they work on, and the configuration.
func begins(section string) bool { return section == "/projects" || section == "/tools" }

// diagramPolicy is the content security policy of pages with diagrams: Mermaid writes inline styles. Scripts are still only those of this server.
const diagramPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; " +
	"font-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// Write answers with the page.
func (p Page) Write(w http.ResponseWriter, status int, v httpauth.Identity) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	if p.Diagrams {
		h.Set("Content-Security-Policy", diagramPolicy)
	}
	w.WriteHeader(status)
	_, _ = w.Write(HTML(p.document(v))) // the client may be gone
}

func (p Page) document(v httpauth.Identity) Node {
	return Doctype(Html(Lang("en"),
		Head(
			meta(charset("utf-8")),
			meta(Name("viewport"), Content("width=device-width, initial-scale=1")),
			meta(Name("color-scheme"), Content("light dark")),
			titleEl(TextNode(p.Title+" · Countersign")),
			link(Rel("icon"), Href("/assets/icon.svg"), Type("image/svg+xml")),
			link(Rel("stylesheet"), Href("/assets/style.css")),
			script(src("/assets/console.js"), Defer()),
			script(src("/assets/passkeys.js"), Defer()),
			script(src("/assets/notify.js"), Defer()),
			script(src("/assets/find.js"), Defer()),
			If(p.Section == "/approvals", script(src("/assets/keys.js"), Defer())),
			If(p.Diagrams, script(src("/assets/mermaid.js"), Defer())),
			If(p.Diagrams, script(src("/assets/diagrams.js"), Defer())),
		),
		body(If(len(p.Live) > 0, Data("live", strings.Join(p.Live, " "))),
			A(Class("skip"), Href("#main"), TextNode("Skip to main content")),
			p.header(v),
			main(ID("main"), TabIndex("-1"), p.crumbs(), h1(TextNode(p.Title)), p.Notice, Group(p.Body)),
			Div(ID("said"), Class("visually-hidden"), Role("status"), Aria("live", "polite")),
		),
	))
}

func (p Page) header(v httpauth.Identity) Node {
	return header(Class("top"),
		A(Class("brand"), Href("/"), TextNode("Countersign")),
		A(Class("find"), Href("/find"), Attr("aria-keyshortcuts", "Control+K Meta+K"), Data("shortcut", "Ctrl K"), TextNode("Search")),
		Nav(Aria("label", "Sections"), Ul(Map(Sections(), func(s PageLink) Node {
			return Li(If(begins(s.Href), Class("apart")), A(Href(s.Href), If(s.Href == p.Section, Aria("current", "page")), TextNode(s.Text),
				If(s.Href == "/approvals", Span(Class("count"), Data("count", "approvals")))))
		}))),
		PostForm(v, "/logout", SubmitButton("Log out")), unasked(v),
	)
}

// unasked returns the message above every page that approvals are disabled; nil if they are not.
func unasked(v httpauth.Identity) Node {
	if !v.Unasked {
		return nil
	}
	return P(ID("unasked"), Class("unasked"), Strong(TextNode("Approvals are disabled.")),
		TextNode(" Approval is set to caller: clients approve their own calls. "), LinkTo("/settings", "View policy"))
}

// Telling adds a message to the pages behind person while approvals are disabled. If that cannot be determined there is no message: the settings page
// shows the error.
func Telling(person func(httpauth.Handler) http.Handler, unasked func(ctx context.Context) (bool, error)) func(httpauth.Handler) http.Handler {
	return func(h httpauth.Handler) http.Handler {
		return person(func(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
			nobody, err := unasked(r.Context())
			v.Unasked = nobody && err == nil
			h(w, r, v)
		})
	}
}

func (p Page) crumbs() Node {
	if len(p.Crumbs) == 0 {
		return nil
	}
	return Nav(Class("crumbs"), Aria("label", "Breadcrumb"), Ol(Map(p.Crumbs, func(l PageLink) Node {
		return Li(A(Href(l.Href), TextNode(l.Text)))
	})))
}

// Fail answers with a page that shows the error and how to continue, with the HTTP status of the error's kind.
func Fail(w http.ResponseWriter, v httpauth.Identity, section string, status int, err error) {
	f := fault.From(err)
	Page{Title: "Error", Section: section, Body: []Node{Problem(f)}}.Write(w, status, v)
}
