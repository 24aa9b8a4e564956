package ecopages

import (
	"net/http"
	"strconv"
	"time"

	"github.com/countersign-dev/countersign/adapters/console/ecopages/ecodesk"
	"github.com/countersign-dev/countersign/adapters/console/markup"
	"github.com/countersign-dev/countersign/adapters/console/page"
	"github.com/countersign-dev/countersign/adapters/console/sectionpage"
	"github.com/countersign-dev/countersign/adapters/httpguard"
)

// ticket is a feature branch across repositories.
type ticket struct {
	ID      string    `json:"ticket_id"`
	Active  bool      `json:"active"`
	Phase   string    `json:"phase"`
	Created time.Time `json:"created_at"`
	Repos   []struct {
		Name     string `json:"name"`
		Branch   string `json:"branch"`
		Worktree string `json:"worktree"`
		Status   string `json:"status"`
		Problem  string `json:"problem"`
	} `json:"repos"`
}

func (s *Section) tickets(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	a, ok := s.desk.Open(w, r, v)
	if !ok {
		return
	}
	var all struct {
		Active  *string  `json:"active_ticket"`
		Tickets []ticket `json:"tickets"`
	}
	var d description
	if !a.Need("amof_describe_ecosystem", nil, &d) {
		return
	}
	if !d.Installed {
		a.Add(page.Notice(page.Plain, markup.P(page.Text("It is not installed, so there are no tickets. "), page.To(ecodesk.At(a.Name), "Install it first"))))
		a.Write("tickets", ecodesk.LiveRuns)
		return
	}
	if !a.Need("amof_ticket_list", nil, &all) {
		return
	}
	var rows []markup.Node
	for i, t := range all.Tickets {
		rows = append(rows, ticketRow(a, i, t))
	}
	a.Add(page.Part("Tickets", page.Table("Tickets", []string{"Ticket", "Started", "Repositories", "What can be done"}, rows, "There is no ticket. The form below starts one.")))
	if sectionpage.Deref(all.Active) != "" {
		a.Add(page.Part("Leave tickets", markup.P(page.Text("The repositories go back to the branches of the manifest; the tickets stay.")),
			a.Act("ticket-switch", "Leave tickets", "of "+a.Name, page.Hidden("ticket_id", "main"))))
	}
	a.Add(page.Part("Start a ticket", markup.P(page.Text("Makes its branch in a worktree of every repository that may be written to.")),
		a.Act("ticket-start", "Start", "the ticket", page.Field("ticket-id", "ticket_id", "Ticket, for example PROJ-12", ""), ecodesk.Which("ticket", "Start in", d.names(true)))))
	a.Write("tickets", ecodesk.LiveRuns, ecodesk.LiveCalls)
}

func ticketRow(a *ecodesk.About, i int, t ticket) markup.Node {
	name := markup.Group{ecodesk.Said(t.ID)}
	if t.Active {
		name = append(name, page.Text(" "), page.Badge(page.Good, "active"))
	}
	if t.Phase != "" {
		name = append(name, page.Text(" "), page.Badge(page.Plain, t.Phase))
	}
	var repos markup.Group
	for _, r := range t.Repos {
		tone := page.Warn
		if r.Status == "ok" {
			tone = page.Good
		}
		repos = append(repos, markup.Li(ecodesk.Said(r.Name+" "), ecodesk.Mono(r.Branch), page.Text(" "), ecodesk.Under(page.Badge(tone, ecodesk.First(r.Status, r.Problem, "unknown")), r.Worktree)))
	}
	var change markup.Node
	if !t.Active {
		change = page.Deed(a.V, ecodesk.At(a.Name, "ticket-switch"), "Switch", "to "+t.ID, page.Hidden("ticket_id", t.ID))
	}
	id := "end-" + strconv.Itoa(i)
	end := page.Fold("End "+t.ID, false, a.Act("ticket-end", "End", t.ID, page.Hidden("ticket_id", t.ID),
		page.Select(id, "cleanup", "What goes with "+t.ID, "none", page.Choice{Value: "none", Text: "nothing"},
			page.Choice{Value: "local", Text: "worktrees and branches here"}, page.Choice{Value: "all", Text: "branches at the remotes, too"}),
		page.Check(id+"-force", "force", "Also with work that is nowhere else (it is kept under refs)", false)))
	return page.Row(name, page.When(t.Created), markup.Ul(repos), markup.Group{change, end})
}
