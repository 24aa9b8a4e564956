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

// RootPath is the path of the section. Below it, "-" is not an ecosystem name.
const RootPath = "/ecosystems"

// The events after which these pages reload: the progress of a run, and the end of a call that changes something.
const (
	liveRuns  = "run-progress"
	liveCalls = "ai-tool-result"
)

// Base calls the tools of ecosystems. NewBase creates it.
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

// EcosystemPage builds a page about one ecosystem.
type EcosystemPage struct {
	Base
	W    http.ResponseWriter
	R    *http.Request
	V    httpauth.Identity
	Name string // of the ecosystem, from the address
	Gate gate
	body []ui.Node
}

// Open begins a page about the ecosystem of the address. If it reports false, it has answered with an error.
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

// Need calls Read. If that fails, Need answers with the error and reports false.
func (a *EcosystemPage) Need(name tool.Name, extra map[string]any, into any) bool {
	if err := a.Read(name, extra, into); err != nil {
		a.Fail(a.W, a.V, err)
		return false
	}
	return true
}

// Add puts parts on the page.
func (a *EcosystemPage) Add(nodes ...ui.Node) { a.body = append(a.body, nodes...) }

// part is one of the tabs of an ecosystem.
type part struct{ path, title string }

func parts() []part {
	return []part{{"", "Overview"}, {"tickets", "Tickets"}, {"runs", "Runs"}, {"releases", "Releases"}, {"environment", "Environment"},
		{"manifest", "Manifest"}, {"trash", "Archive and trash"}}
}

// place returns the path of a tab; empty is the overview.
func (a *EcosystemPage) place(part string) string {
	if part == "" {
		return PagePath(a.Name)
	}
	return PagePath(a.Name, part)
}

// Write answers with the page as a tab of the ecosystem (empty: the overview). live lists the events after which it reloads.
func (a *EcosystemPage) Write(in string, live ...string) {
	title, crumbs := ui.Printable(a.Name), []ui.PageLink{{Text: "Ecosystems", Href: RootPath}}
	var tabs []ui.PageLink
	for _, p := range parts() {
		tabs = append(tabs, ui.PageLink{Text: p.title, Href: a.place(p.path)})
		if p.path == in && in != "" {
			crumbs = append(crumbs, ui.PageLink{Text: title, Href: PagePath(a.Name)})
			title = p.title + " of " + title
		}
	}
	body := append([]ui.Node{ui.Tabs("Sections of "+a.Name, a.place(in), tabs...), a.Gate.Panel(a.V, a.place(in))}, a.body...)
	ui.Page{Title: title, Section: RootPath, Crumbs: crumbs, Notice: a.Came(a.R), Live: live, Body: body}.Write(a.W, http.StatusOK, a.V)
}

// Came returns the result of the last action from this page: the message of its tool, a link to its run, or the plan of a dry run; nil if there was
// no action.
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
		return ui.Group{ui.Notice(ui.Warn, ui.P(said(j.Task.Title+": preview only, nothing was changed."))), ui.Plan(now.Outcome.Value)}
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
	links := ui.LinkTo("/work/"+j.ID, "View result")
	if answer.RunID != "" && answer.Ecosystem != "" {
		links = ui.LinkTo(PagePath(answer.Ecosystem, "runs", answer.RunID), "Follow run "+ShortID(answer.RunID))
	}
	notice := ui.Notice(ui.Good, ui.P(said(j.Task.Title+": "+FirstNonEmpty(answer.Text.Summary, answer.Message, "done")+". "), links))
	if len(answer.Lines) > 0 {
		notice = ui.Group{notice, ui.Printed("Provisioner output", strings.Join(answer.Lines, "\n"))}
	}
	return notice
}
