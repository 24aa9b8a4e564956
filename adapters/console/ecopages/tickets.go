package ecopages

import (
	"net/http"
	"strconv"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/app/ecosystems"
	"github.com/countersign-dev/countersign/app/ecosystems/workspace"
)

func (s *section) tickets(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	a, ok := s.base.Open(w, r, v)
	if !ok {
		return
	}
	var all workspace.TicketList
	var d ecosystems.Description
	if !a.Need(ecosystems.Describe.Name, nil, &d) {
		return
	}
	if !d.Installed {
		a.Add(ui.Notice(ui.Plain, ui.P(ui.Text("It is not installed, so there are no tickets. "), ui.LinkTo(PagePath(a.Name), "Install it first"))))
		a.Write("tickets", liveRuns)
		return
	}
	if !a.Need(workspace.ListTickets.Name, nil, &all) {
		return
	}
	var rows []ui.Node
	for i, t := range all.Tickets {
		rows = append(rows, ticketRow(a, i, t))
	}
	a.Add(ui.Part("Tickets", ui.DataTable("Tickets", []string{"Ticket", "Started", "Repositories", "Actions"}, rows, "There is no ticket. The form below starts one.")))
	if ui.Deref(all.Active) != "" {
		a.Add(ui.Part("Leave tickets", ui.P(ui.Text("The repositories go back to the branches of the manifest; the tickets stay.")),
			a.ActionForm("ticket-switch", "Leave tickets", "of "+a.Name, ui.Hidden("ticket_id", "main"))))
	}
	a.Add(ui.Part("Start a ticket", ui.P(ui.Text("Makes its branch in a worktree of every repository that may be written to.")),
		a.ActionForm("ticket-start", "Start", "the ticket", ui.Field("ticket-id", "ticket_id", "Ticket, for example PROJ-12", ""), RepoCheckboxes("ticket", "Start in", repoNames(d, true)))))
	a.Write("tickets", liveRuns, liveCalls)
}

func ticketRow(a *EcosystemPage, i int, t workspace.TicketItem) ui.Node {
	name := ui.Group{said(t.ID)}
	if t.Active {
		name = append(name, ui.Text(" "), ui.Badge(ui.Good, "active"))
	}
	if t.Phase != "" {
		name = append(name, ui.Text(" "), ui.Badge(ui.Plain, t.Phase))
	}
	var repos ui.Group
	for _, r := range t.Repos {
		tone := ui.Warn
		if r.Status == "ok" {
			tone = ui.Good
		}
		repos = append(repos, ui.Li(said(r.Name+" "), mono(r.Branch), ui.Text(" "), WithNote(ui.Badge(tone, FirstNonEmpty(r.Status, r.Problem, "unknown")), r.Worktree)))
	}
	var change ui.Node
	if !t.Active {
		change = ui.ActionForm(a.V, PagePath(a.Name, "ticket-switch"), "Switch", "to "+t.ID, ui.Hidden("ticket_id", t.ID))
	}
	id := "end-" + strconv.Itoa(i)
	end := ui.Disclosure("End "+t.ID, false, a.ActionForm("ticket-end", "End", t.ID, ui.Hidden("ticket_id", t.ID),
		ui.SelectField(id, "cleanup", "What goes with "+t.ID, "none", ui.Choice{Value: "none", Text: "nothing"},
			ui.Choice{Value: "local", Text: "worktrees and branches here"}, ui.Choice{Value: "all", Text: "branches at the remotes, too"}),
		ui.CheckboxField(id+"-force", "force", "Also with work that is nowhere else (it is kept under refs)", false)))
	requests := ui.Disclosure("Open requests for "+t.ID, false, a.ActionForm("ticket-pr", "Open requests", "for "+t.ID, ui.Hidden("ticket_id", t.ID), ui.Field(id+"-title", "title", "Title (may be empty)", "")))
	return ui.Row(name, ui.When(t.CreatedAt), ui.Ul(repos), ui.Group{change, requests, end})
}
