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
	cards := make(ui.Group, len(all.Tickets))
	for i, t := range all.Tickets {
		cards[i] = ticketCard(a, i, t)
	}
	if len(cards) == 0 {
		a.Add(ui.Empty("No tickets. Start one below."))
	} else {
		a.Add(ui.Div(ui.Class("grid"), cards))
	}
	if ui.Deref(all.Active) != "" {
		a.Add(ui.Part("Leave ticket", ui.P(ui.Text("Switches the repositories back to the manifest branches. The tickets are kept.")),
			a.ActionForm("ticket-switch", "Leave ticket", "of "+a.Name, ui.Hidden("ticket_id", "main"))))
	}
	a.Add(ui.Part("Start ticket", ui.P(ui.Text("Creates a branch and a worktree in every writable repository.")),
		a.ActionForm("ticket-start", "Start ticket", "of "+a.Name, ui.Field("ticket-id", "ticket_id", "Ticket ID (for example PROJ-12)", ""), RepoCheckboxes("ticket", "Start in", repoNames(d, true)))))
	a.Write("tickets", liveRuns, liveCalls)
}

// ticketCard returns a ticket with its repositories and its actions; what ends it is last.
func ticketCard(a *EcosystemPage, i int, t workspace.TicketItem) ui.Node {
	var badges ui.Group
	if t.Active {
		badges = append(badges, ui.Badge(ui.Good, "active"), ui.Text(" "))
	}
	if t.Phase != "" {
		badges = append(badges, ui.Badge(ui.Plain, t.Phase))
	}
	repos := ui.Map(t.Repos, func(r workspace.TicketRepo) ui.Node {
		tone := ui.Warn
		if r.Status == "ok" {
			tone = ui.Good
		}
		return ui.Li(said(r.Name+" "), mono(r.Branch), ui.Text(" "), WithNote(ui.Badge(tone, FirstNonEmpty(r.Status, r.Problem, "unknown")), r.Worktree))
	})
	var change ui.Node
	if !t.Active {
		change = a.ActionForm("ticket-switch", "Switch", "to "+t.ID, ui.Hidden("ticket_id", t.ID))
	}
	ticket, id := ui.Hidden("ticket_id", t.ID), "ticket-"+strconv.Itoa(i)
	return ui.Article(ui.Class("panel"), ui.H2(said(t.ID)), ui.P(badges), ui.P(ui.Class("quiet"), ui.Text("Started "), ui.When(t.CreatedAt)), ui.Ul(ui.Class("rows"), repos), change,
		ui.Disclosure("Update "+t.ID, false, a.ActionForm("ticket-sync", "Update", t.ID, ticket, ui.P(ui.Text("Brings new commits of the base branches into the ticket.")))),
		ui.Disclosure("Open pull requests for "+t.ID, false, a.ActionForm("ticket-pr", "Open pull requests", "for "+t.ID, ticket, ui.Field(id+"-title", "title", "Title (optional)", ""))),
		ui.Disclosure("Merge "+t.ID, false, a.ActionForm("ticket-merge", "Merge", t.ID, ticket, ui.Field(id+"-message", "message", "Commit message (optional)", ""),
			ui.CheckboxField(id+"-squash", "squash", "Squash into one commit per repository", false), ui.CheckboxField(id+"-push", "push", "Push the base branches afterwards", false),
			ui.CheckboxField(id+"-committed", "committed_only", "Leave uncommitted changes in the ticket", false))),
		ui.Disclosure("End "+t.ID, false, a.ActionForm("ticket-end", "End", t.ID, ticket,
			ui.SelectField(id, "cleanup", "Cleanup of "+t.ID, "none", ui.Choice{Value: "none", Text: "None"},
				ui.Choice{Value: "local", Text: "Local worktrees and branches"}, ui.Choice{Value: "all", Text: "Local and remote branches"}),
			ui.CheckboxField(id+"-force", "force", "End even with unsaved work (keeps a backup)", false))))
}
