package ecopages

import (
	"net/http"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/app/ecosystems"
	"github.com/countersign-dev/countersign/app/ecosystems/runs"
	"github.com/countersign-dev/countersign/app/ecosystems/workspace"
)

// item is an ecosystem in the list with its numbers of tickets and runs.
type item struct {
	ecosystems.EcosystemItem
	tickets int // open tickets; negative: not counted
	running int // running and queued runs
}

// mostCounted is the maximum number of ecosystems whose tickets are counted, because counting reads their worktrees.
const mostCounted = 24

// list shows the ecosystems of the workspace.
func (s *section) list(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	retired := r.URL.Query().Get("retired") == "true"
	var all ecosystems.EcosystemList
	if err := s.base.Calls.Read(r.Context(), v, ecosystems.List.Name, map[string]any{"include_retired": retired}, &all); err != nil {
		s.base.Fail(w, v, err)
		return
	}
	var active runs.RunList
	g, err := s.base.Gate(r, v)
	if err == nil {
		err = s.base.Calls.Read(r.Context(), v, runs.Active.Name, map[string]any{"limit": 200}, &active)
	}
	if err != nil {
		s.base.Fail(w, v, err)
		return
	}
	items := make([]item, len(all.Ecosystems))
	for i, e := range all.Ecosystems {
		items[i].EcosystemItem = e
		for _, run := range active.Runs {
			if run.Ecosystem == e.Name {
				items[i].running++
			}
		}
	}
	s.countTickets(r, v, items)
	body := []ui.Node{g.Panel(v, RootPath),
		ui.P(ui.Text("Workspace "), mono(all.Root), ui.Text(". "), ui.LinkTo(RootPath+"?retired="+strconv.FormatBool(!retired), map[bool]string{false: "Show retired ecosystems", true: "Hide retired ecosystems"}[retired])),
		ui.DataTable("Ecosystems", []string{"Ecosystem", "Status", "Repositories", "Open tickets", "Active runs", "Provisioner", "Description"},
			ui.Map(items, item.row), "No ecosystems. Create one below."),
		ui.Part("Active runs", runTable(active.Runs, nil, "No active runs.")),
		ui.Disclosure("New ecosystem …", len(items) == 0, g.CreateForm(v))}
	ui.Page{Title: "Ecosystems", Section: RootPath, Notice: s.base.Came(r), Live: []string{liveRuns}, Body: body}.Write(w, http.StatusOK, v)
}

func (i item) row() ui.Node {
	name := ui.Group{ui.LinkTo(PagePath(i.Name), i.Name)}
	if i.Selected {
		name = append(name, ui.Text(" "), ui.Badge(ui.Plain, "selected"))
	}
	is := ui.Badge(ui.Plain, "not installed")
	switch {
	case i.Problem != "":
		is = WithNote(ui.Badge(ui.Bad, "has problems"), i.Problem)
	case i.Installed:
		is = ui.Badge(ui.Good, "installed")
	}
	if i.Retired {
		is = ui.Group{is, ui.Text(" "), ui.Badge(ui.Warn, "retired")}
	}
	tickets := "–"
	if i.tickets >= 0 {
		tickets = strconv.Itoa(i.tickets)
	}
	if active := ui.Deref(i.ActiveTicket); active != "" {
		tickets += ", " + active + " active"
	}
	return ui.Row(name, is, WithNote(said(strconv.Itoa(len(i.Repos))), strings.Join(i.Repos, ", ")), said(tickets), said(strconv.Itoa(i.running)), said(ui.Deref(i.Provisioner)), said(i.Description))
}

// countTickets counts the tickets of installed ecosystems concurrently.
func (s *section) countTickets(r *http.Request, v httpauth.Identity, all []item) {
	var g errgroup.Group
	g.SetLimit(4)
	for i := range all {
		all[i].tickets = 0
		if !all[i].Installed {
			continue
		}
		if all[i].tickets = -1; i >= mostCounted {
			continue
		}
		g.Go(func() error {
			var found workspace.TicketList
			if s.base.Calls.Read(r.Context(), v, workspace.ListTickets.Name, map[string]any{"ecosystem": all[i].Name}, &found) == nil {
				all[i].tickets = found.Count
			}
			return nil // a failed count leaves the number unknown
		})
	}
	_ = g.Wait() // its functions return no errors
}
