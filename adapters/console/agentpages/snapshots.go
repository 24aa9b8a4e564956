package agentpages

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/app/deployments/planner"
)

// initial is the name of the state before the first deployment.
const initial = "initial"

type snapshotList struct {
	Snapshots []Snapshot `json:"snapshots"` // newest last
	Omitted   int        `json:"snapshots_omitted"`
}

func (s *Section) snapshots(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	p := placeOf(r.URL.Query())
	look := s.reading(r, v, p)
	body := []ui.Node{p.tabs("/snapshots")}
	if !look.serves("agents_snapshots_list") {
		body = append(body, unserved("Snapshots"), goBack(p))
	} else if list, err := read[snapshotList](look, "agents_snapshots_list", nil); err != nil {
		body = append(body, trouble(err))
	} else {
		body = append(body, warned(list.Warnings), p.history(list.Data))
		if prune := look.actionForm("prune", "", true, ui.NumberField("keep", "keep", "Newest snapshots to keep", "20")); prune != nil && len(list.Data.Snapshots) > 0 {
			body = append(body, ui.DangerPanel("Delete old snapshots", ui.P(ui.Text("You cannot roll back to a deleted snapshot.")), prune))
		}
	}
	s.Show(w, r, v, ui.Page{Title: "Snapshots", Crumbs: p.crumbs(), Body: body})
}

// goBack returns the form that asks for a snapshot, for servers that cannot list snapshots.
func goBack(p place) ui.Node {
	var hidden ui.Node
	if p.repo != "" {
		hidden = ui.Hidden("repo", p.repo)
	}
	return ui.Search(root+"/rollback", hidden, ui.Field("to", "to", "Snapshot (initial: before the first deployment)", initial), ui.SubmitButton("Preview rollback"))
}

// history returns the snapshots, newest first.
func (p place) history(l snapshotList) ui.Node {
	rows := make([]ui.Node, 0, len(l.Snapshots)+1)
	for _, snap := range slices.Backward(l.Snapshots) {
		rows = append(rows, ui.Row(ui.LinkTo(p.at("/snapshots/"+segment(snap.ID)), ui.Printable(snap.ID)), ui.When(snap.CreatedAt), ui.Text(snap.What()),
			ui.Text(ui.Printable(snap.Status)), ui.Text(ui.Printable(strings.Join(snap.Targets, ", "))), ui.Text(strconv.Itoa(snap.Changes)), ui.Text(strconv.Itoa(snap.Managed)),
			ui.A(ui.Href(p.at("/rollback", "to", snap.ID)), ui.Aria("label", "Roll back to "+ui.Printable(snap.ID)), ui.Text("Roll back"))))
	}
	if len(rows) > 0 {
		rows = append(rows, ui.Row(ui.Text(initial), ui.Text("–"), ui.Text("before the first deployment"), nil, nil, nil, nil,
			ui.A(ui.Href(p.at("/rollback", "to", initial)), ui.Aria("label", "Roll back to before the first deployment"), ui.Text("Roll back"))))
	}
	var more ui.Node
	if l.Omitted > 0 {
		more = ui.P(ui.Text(strconv.Itoa(l.Omitted) + " older snapshots are not listed."))
	}
	return ui.Group{ui.DataTable("Snapshots, newest first", []string{"Snapshot", "Created", "Operation", "Status", "Agents", "Changes", "Managed files", "Roll back"}, rows,
		"No deployments yet."), more}
}

func (s *Section) snapshot(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	p := placeOf(r.URL.Query())
	look := s.reading(r, v, p)
	crumbs := p.crumbs(ui.PageLink{Text: "Snapshots", Href: p.at("/snapshots")})
	if !look.serves("agents_snapshots_show") {
		s.Show(w, r, v, ui.Page{Title: "Snapshot", Crumbs: crumbs, Body: []ui.Node{unserved("Snapshots")}})
		return
	}
	one, err := read[whole](look, "agents_snapshots_show", ui.Args{"id": r.PathValue("id")})
	if err != nil {
		s.Fail(w, v, err)
		return
	}
	d := one.Data
	files := make([]ui.Node, len(d.Files))
	for i, f := range d.Files {
		files[i] = ui.Row(ui.Text(ui.Printable(f.Target)), ui.InlineCode(ui.Printable(f.Path)), ui.Text(ui.Printable(strings.Join(f.Modules, ", "))))
	}
	var more ui.Node
	if d.Omitted > 0 {
		more = ui.Notice(ui.Warn, ui.P(ui.Text(strconv.Itoa(d.Omitted)+" more files are not listed.")))
	}
	s.Show(w, r, v, ui.Page{Title: "Snapshot " + ui.Printable(d.ID), Crumbs: crumbs, Body: []ui.Node{
		warned(one.Warnings),
		ui.Facts(ui.Fact{Name: "Created", Value: ui.When(d.CreatedAt)}, ui.Fact{Name: "Operation", Value: ui.Text(d.What())}, ui.Fact{Name: "Status", Value: ui.OptionalText(d.Status)},
			ui.Fact{Name: "Agents", Value: ui.OptionalText(strings.Join(d.Targets, ", "))}, ui.Fact{Name: "Profile", Value: ui.OptionalText(d.Profile)},
			ui.Fact{Name: "Project", Value: ui.OptionalCode(d.Project)}),
		ui.P(ui.LinkTo(p.at("/rollback", "to", d.ID), "Preview rollback to this snapshot")),
		ui.Part("Changed files", NewPlan(d.FileChanges).Table("Changed files", nil)),
		ui.Part("Managed files", ui.DataTable("Managed files after this operation", []string{"Agent", "File", "Modules"}, files, "No managed files.")), more,
	}})
}

// returning is the data of a rollback.
type returning struct {
	Plan
	To string `json:"rolled_back_to"`
}

func (s *Section) back(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	p := placeOf(r.URL.Query())
	_, shown, err := s.wayBack(r, v, p, r.URL.Query().Get("to"))
	if err != nil {
		s.Fail(w, v, err)
		return
	}
	s.Show(w, r, v, shown)
}

// wayBack returns the current plan of a rollback and the page that shows it.
func (s *Section) wayBack(r *http.Request, v httpauth.Identity, p place, to string) (returning, ui.Page, error) {
	args := p.args("rollback").Set("to", to)
	args["yes"] = true
	out := s.Calls.Rehearse(r.Context(), v, "rollback", args)
	var would planner.Report[returning]
	if out.Err != nil {
		return would.Data, ui.Page{}, out.Err
	}
	if err := json.Unmarshal(out.Value, &would); err != nil {
		return would.Data, ui.Page{}, err
	}
	d := would.Data
	body := []ui.Node{warned(would.Warnings), ui.P(ui.Text("Restores the files of snapshot "), ui.InlineCode(ui.Printable(to)),
		ui.Text(". Edits made since then are kept in a new snapshot.")), d.Table("Planned changes", nil)}
	if !d.Summary.Empty() {
		body = append(body, decision(v, root+"/rollback", "Roll back: "+d.Files().Words(), d.Mark(), p.hidden(), ui.Hidden("to", to)))
	}
	return d, ui.Page{Title: "Roll back to " + ui.Printable(to) + ": " + d.Files().Words(), Crumbs: p.crumbs(ui.PageLink{Text: "Snapshots", Href: p.at("/snapshots")}), Body: body}, nil
}

// rollback rolls back if the plan is still the shown one.
func (s *Section) rollback(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	p := placeOf(posted(r))
	to := r.PostFormValue("to")
	would, shown, err := s.wayBack(r, v, p, to)
	switch {
	case err != nil:
		s.Fail(w, v, err)
		return
	case would.Mark() != r.PostFormValue(markField):
		again(w, v, shown, ErrShown)
		return
	}
	args := p.args("rollback").Set("to", to)
	args["yes"] = true
	s.decided(w, r, v, ui.Task{Title: "Roll back to " + ui.Printable(to), Tool: "rollback", Args: args, Back: p.at("/snapshots")}, marked[returning])
}
