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
		a.Add(ui.Notice(ui.Plain, ui.P(ui.Text("Not installed, so there are no tickets. "), ui.LinkTo(PagePath(a.Name), "Install the ecosystem"))))
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
	a.Add(ui.Part("Tickets", ui.DataTable("Tickets", []string{"Ticket", "Started", "Repositories", "Actions"}, rows, "No tickets. Start one below.")))
	if ui.Deref(all.Active) != "" {
		a.Add(ui.Part("Leave ticket", ui.P(ui.Text("Switches the repositories back to the manifest branches. The tickets are kept.")),
			a.ActionForm("ticket-switch", "Leave ticket", "of "+a.Name, ui.Hidden("ticket_id", "main"))))
	}
	a.Add(ui.Part("Start ticket", ui.P(ui.Text("Creates a branch and a worktree in every writable repository.")),
		a.ActionForm("ticket-start", "Start ticket", "of "+a.Name, ui.Field("ticket-id", "ticket_id", "Ticket ID (for example PROJ-12)", ""), RepoCheckboxes("ticket", "Start in", repoNames(d, true)))))
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
		ui.SelectField(id, "cleanup", "Cleanup of "+t.ID, "none", ui.Choice{Value: "none", Text: "None"},
			ui.Choice{Value: "local", Text: "Local worktrees and branches"}, ui.Choice{Value: "all", Text: "Local and remote branches"}),
		ui.CheckboxField(id+"-force", "force", "End even with unsaved work (keeps a backup)", false)))
	requests := ui.Disclosure("Open pull requests for "+t.ID, false, a.ActionForm("ticket-pr", "Open pull requests", "for "+t.ID, ui.Hidden("ticket_id", t.ID), ui.Field(id+"-title", "title", "Title (optional)", "")))
	return ui.Row(name, ui.When(t.CreatedAt), ui.Ul(repos), ui.Group{change, requests, end})
}
