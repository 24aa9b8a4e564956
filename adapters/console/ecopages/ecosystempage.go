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

// RootPath is the path of the section. Below it, "-" can be no ecosystem's name.
const RootPath = "/ecosystems"

// The events after which these pages look anew: a run got on, and a call ended that wanted to change something.
const (
	liveRuns  = "run-progress"
	liveCalls = "ai-tool-result"
)

// Base calls the tools of ecosystems. New makes it.
type Base struct{ ui.SectionBase }

// NewBase returns a Base for the ecosystem pages.
func NewBase(base *ui.CallRunner) Base {
	return Base{ui.SectionBase{Calls: base, Path: RootPath, Title: "Ecosystems", Toolset: "ecosystems", Probe: "amof_list_ecosystems"}}
}

// PagePath returns the path of a page about an ecosystem.
func PagePath(name string, parts ...string) string {
	path := RootPath + "/" + url.PathEscape(name)
	for _, p := range parts {
		path += "/" + url.PathEscape(p)
	}
	return path
}

// EcosystemPage is a page about one ecosystem that is being made.
type EcosystemPage struct {
	Base
	W    http.ResponseWriter
	R    *http.Request
	V    httpauth.Identity
	Name string // of the ecosystem, as the address has it
	Gate gate
	body []ui.Node
}

// Open begins a page about the ecosystem of the address. Without it, an answer was given.
func (d Base) Open(w http.ResponseWriter, r *http.Request, v httpauth.Identity) (*EcosystemPage, bool) {
	g, err := d.Gate(r, v)
	if err != nil {
		d.Fail(w, v, err)
		return nil, false
	}
	return &EcosystemPage{Base: d, W: w, R: r, V: v, Name: r.PathValue("name"), Gate: g}, true
}

// Read calls a tool about this ecosystem that only reads; extra may be nil.
func (a *EcosystemPage) Read(name tool.Name, extra map[string]any, into any) error {
	args := map[string]any{"ecosystem": a.Name}
	maps.Copy(args, extra)
	return a.Base.Calls.Read(a.R.Context(), a.V, name, args, into)
}

// Need is Read of what there is no page without: where it fails, that is the answer.
func (a *EcosystemPage) Need(name tool.Name, extra map[string]any, into any) bool {
	if err := a.Read(name, extra, into); err != nil {
		a.Fail(a.W, a.V, err)
		return false
	}
	return true
}

// Add puts parts on the page.
func (a *EcosystemPage) Add(nodes ...ui.Node) { a.body = append(a.body, nodes...) }

// part is one of the pages about an ecosystem.
type part struct{ path, title string }

func parts() []part {
	return []part{{"", "Overview"}, {"tickets", "Tickets"}, {"runs", "Runs"}, {"releases", "Releases"}, {"environment", "Environment"}, {"trash", "Archive and trash"}}
}

// place returns the path of that part; empty is the overview.
func (a *EcosystemPage) place(part string) string {
	if part == "" {
		return PagePath(a.Name)
	}
	return PagePath(a.Name, part)
}

// Write answers with the page, as that part of the pages about the ecosystem (empty: the overview). live are the events after which it looks anew.
func (a *EcosystemPage) Write(in string, live ...string) {
	title, crumbs := ui.Printable(a.Name), []ui.PageLink{{Text: "Ecosystems", Href: RootPath}}
	var tabs ui.Group
	for _, p := range parts() {
		tabs = append(tabs, ui.Li(ui.A(ui.Href(a.place(p.path)), ui.If(p.path == in, ui.Aria("current", "page")), ui.Text(p.title))))
		if p.path == in && in != "" {
			crumbs = append(crumbs, ui.PageLink{Text: title, Href: PagePath(a.Name)})
			title = p.title + " of " + title
		}
	}
	body := append([]ui.Node{ui.Nav(ui.Class("parts"), ui.Aria("label", "Parts of "+ui.Printable(a.Name)), ui.Ul(tabs)), a.Gate.Panel(a.V, a.place(in))}, a.body...)
	ui.Page{Title: title, Section: RootPath, Crumbs: crumbs, Notice: a.Came(a.R), Live: live, Body: body}.Write(a.W, http.StatusOK, a.V)
}

// Came tells what came of the last thing that was done from this page: what its tool says, the run that carries it out, and the preview that a dry
// run is; nil when nothing was done.
func (d Base) Came(r *http.Request) ui.Node {
	j, ok := d.Calls.Find(r.URL.Query().Get("done"))
	if !ok {
		return nil
	}
	now := j.Now()
	if now.State != ui.JobOver || now.Outcome.Err != nil {
		return nil
	}
	if now.Outcome.DryRun {
		return ui.Group{ui.Notice(ui.Warn, ui.P(said(j.Task.Title+": nothing was changed. This is what would be done."))), ui.Plan(now.Outcome.Value)}
	}
	var answer struct {
		RunID     string                   `json:"run_id"`
		Ecosystem string                   `json:"ecosystem"`
		Message   string                   `json:"message"`
		Lines     []string                 `json:"lines"` // of a provisioner that was asked
		Text      struct{ Summary string } `json:"_text"`
	}
	if json.Unmarshal(now.Outcome.Value, &answer) != nil {
		return d.Calls.Notice(r)
	}
	links := ui.LinkTo("/work/"+j.ID, "See what came of it")
	if answer.RunID != "" && answer.Ecosystem != "" {
		links = ui.LinkTo(PagePath(answer.Ecosystem, "runs", answer.RunID), "Follow run "+ShortID(answer.RunID))
	}
	notice := ui.Notice(ui.Good, ui.P(said(j.Task.Title+": "+FirstNonEmpty(answer.Text.Summary, answer.Message, "done")+". "), links))
	if len(answer.Lines) > 0 {
		notice = ui.Group{notice, ui.Printed("what the provisioner said", strings.Join(answer.Lines, "\n"))}
	}
	return notice
}
