package ecopages

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/domain/tool"
)

// Root is the path of the section. Below it, "-" can be no ecosystem's name.
const Root = "/ecosystems"

// The events after which these pages look anew: a run got on, and a call ended that wanted to change something.
const (
	LiveRuns  = "run-progress"
	LiveCalls = "ai-tool-result"
)

// Desk calls the tools of ecosystems. New makes it.
type Desk struct{ ui.SectionSection }

// NewWorkspace is the desk of ecosystems over a desk for all tools.
func NewWorkspace(desk *ui.Desk) Desk {
	return Desk{ui.SectionSection{Desk: desk, Path: Root, Title: "Ecosystems", Toolset: "ecosystems", Probe: "amof_list_ecosystems"}}
}

// At is the path of a page about an ecosystem.
func At(name string, parts ...string) string {
	path := Root + "/" + url.PathEscape(name)
	for _, p := range parts {
		path += "/" + url.PathEscape(p)
	}
	return path
}

// About is a page about one ecosystem that is being made.
type About struct {
	Desk
	W    http.ResponseWriter
	R    *http.Request
	V    httpauth.Visitor
	Name string // of the ecosystem, as the address has it
	Gate Gate
	body []ui.Node
}

// Open begins a page about the ecosystem of the address. Without it, an answer was given.
func (d Desk) Open(w http.ResponseWriter, r *http.Request, v httpauth.Visitor) (*About, bool) {
	g, err := d.Gate(r, v)
	if err != nil {
		d.Fail(w, v, err)
		return nil, false
	}
	return &About{Desk: d, W: w, R: r, V: v, Name: r.PathValue("name"), Gate: g}, true
}

// Read calls a tool about this ecosystem that only reads; extra may be nil.
func (a *About) Read(name tool.Name, extra map[string]any, into any) error {
	args := map[string]any{"ecosystem": a.Name}
	maps.Copy(args, extra)
	return a.Desk.Desk.Read(a.R.Context(), a.V, name, args, into)
}

// Need is Read of what there is no page without: where it fails, that is the answer.
func (a *About) Need(name tool.Name, extra map[string]any, into any) bool {
	if err := a.Read(name, extra, into); err != nil {
		a.Fail(a.W, a.V, err)
		return false
	}
	return true
}

// Add puts parts on the page.
func (a *About) Add(nodes ...ui.Node) { a.body = append(a.body, nodes...) }

// part is one of the pages about an ecosystem.
type part struct{ path, title string }

func parts() []part {
	return []part{{"", "Overview"}, {"tickets", "Tickets"}, {"runs", "Runs"}, {"releases", "Releases"}, {"environment", "Environment"}, {"trash", "Archive and trash"}}
}

// place is the path of that part; empty is the overview.
func (a *About) place(part string) string {
	if part == "" {
		return At(a.Name)
	}
	return At(a.Name, part)
}

// Write answers with the page, as that part of the pages about the ecosystem (empty: the overview). live are the events after which it looks anew.
func (a *About) Write(in string, live ...string) {
	title, crumbs := ui.Printable(a.Name), []ui.PageLink{{Text: "Ecosystems", Href: Root}}
	var tabs ui.Group
	for _, p := range parts() {
		tabs = append(tabs, ui.Li(ui.A(ui.Href(a.place(p.path)), ui.If(p.path == in, ui.Aria("current", "page")), ui.PageText(p.title))))
		if p.path == in && in != "" {
			crumbs = append(crumbs, ui.PageLink{Text: title, Href: At(a.Name)})
			title = p.title + " of " + title
		}
	}
	body := append([]ui.Node{ui.Nav(ui.Class("parts"), ui.Aria("label", "Parts of "+ui.Printable(a.Name)), ui.Ul(tabs)), a.Gate.Panel(a.V, a.place(in))}, a.body...)
	ui.Page{Title: title, Section: Root, Crumbs: crumbs, Notice: a.Came(a.R), Live: live, Body: body}.Write(a.W, http.StatusOK, a.V)
}

// Came tells what came of the last thing that was done from this page: what its tool says, the run that carries it out, and the preview that a dry
// run is; nil when nothing was done.
func (d Desk) Came(r *http.Request) ui.Node {
	j, ok := d.Desk.Find(r.URL.Query().Get("done"))
	if !ok {
		return nil
	}
	now := j.Now()
	if now.State != ui.Over || now.Outcome.Err != nil {
		return nil
	}
	if now.Outcome.DryRun {
		return ui.Group{ui.Notice(ui.Warn, ui.P(Said(j.Task.Title+": nothing was changed. This is what would be done."))), ui.Plan(now.Outcome.Value)}
	}
	var answer struct {
		RunID     string                   `json:"run_id"`
		Ecosystem string                   `json:"ecosystem"`
		Message   string                   `json:"message"`
		Lines     []string                 `json:"lines"` // of a provisioner that was asked
		Text      struct{ Summary string } `json:"_text"`
	}
	if json.Unmarshal(now.Outcome.Value, &answer) != nil {
		return d.Desk.Notice(r)
	}
	links := ui.To("/work/"+j.ID, "See what came of it")
	if answer.RunID != "" && answer.Ecosystem != "" {
		links = ui.To(At(answer.Ecosystem, "runs", answer.RunID), "Follow run "+Brief(answer.RunID))
	}
	notice := ui.Notice(ui.Good, ui.P(Said(j.Task.Title+": "+First(answer.Text.Summary, answer.Message, "done")+". "), links))
	if len(answer.Lines) > 0 {
		notice = ui.Group{notice, ui.Printed("what the provisioner said", strings.Join(answer.Lines, "\n"))}
	}
	return notice
}
