package agentpages

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/adapters/console/agentpages/agentview"
	"github.com/countersign-dev/countersign/adapters/console/markup"
	"github.com/countersign-dev/countersign/adapters/console/page"
	"github.com/countersign-dev/countersign/adapters/console/sectionpage"
	"github.com/countersign-dev/countersign/adapters/console/work"
	"github.com/countersign-dev/countersign/adapters/httpguard"
)

// initial is where the way back ends: before the first deployment.
const initial = "initial"

type snapshotList struct {
	Snapshots []agentview.Snapshot `json:"snapshots"` // newest last
	Omitted   int                  `json:"snapshots_omitted"`
}

func (s *Section) snapshots(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	p := placeOf(r.URL.Query())
	look := s.reading(r, v, p)
	var body []markup.Node
	if !look.serves("agents_snapshots_list") {
		body = []markup.Node{unserved("Snapshots"), goBack(p)}
	} else if list, err := read[snapshotList](look, "agents_snapshots_list", nil); err != nil {
		body = []markup.Node{trouble(err)}
	} else {
		body = []markup.Node{warned(list.Warnings), p.history(list.Data)}
	}
	s.Show(w, r, v, page.Page{Title: "Snapshots", Crumbs: p.crumbs(), Body: body})
}

// goBack asks where to go back to, where snapshots cannot be listed.
func goBack(p place) markup.Node {
	var hidden markup.Node
	if p.repo != "" {
		hidden = page.Hidden("repo", p.repo)
	}
	return page.Search(root+"/rollback", hidden, page.Field("to", "to", "Snapshot to go back to (initial: before the first deployment)", initial), page.Button("See what that would change"))
}

// history is the snapshots, newest first.
func (p place) history(l snapshotList) markup.Node {
	rows := make([]markup.Node, 0, len(l.Snapshots)+1)
	for _, snap := range slices.Backward(l.Snapshots) {
		rows = append(rows, page.Row(page.To(p.at("/snapshots/"+segment(snap.ID)), page.Printable(snap.ID)), page.When(snap.Created), page.Text(snap.What()),
			page.Text(page.Printable(snap.Status)), page.Text(page.Printable(strings.Join(snap.Targets, ", "))), page.Text(strconv.Itoa(snap.Changes)), page.Text(strconv.Itoa(snap.Managed)),
			markup.A(markup.Href(p.at("/rollback", "to", snap.ID)), markup.Aria("label", "Go back to "+page.Printable(snap.ID)), page.Text("Go back"))))
	}
	if len(rows) > 0 {
		rows = append(rows, page.Row(page.Text(initial), page.Text("–"), page.Text("before the first deployment"), nil, nil, nil, nil,
			markup.A(markup.Href(p.at("/rollback", "to", initial)), markup.Aria("label", "Go back to before the first deployment"), page.Text("Go back"))))
	}
	var more markup.Node
	if l.Omitted > 0 {
		more = markup.P(page.Text(strconv.Itoa(l.Omitted) + " older ones are too many to be listed here."))
	}
	return markup.Group{page.Table("Snapshots, newest first", []string{"Snapshot", "Made", "What was done", "State", "Agents", "Changes", "Files after it", "Way back"}, rows,
		"Nothing was deployed yet."), more}
}

func (s *Section) snapshot(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	p := placeOf(r.URL.Query())
	look := s.reading(r, v, p)
	crumbs := p.crumbs(page.Link{Text: "Snapshots", Href: p.at("/snapshots")})
	if !look.serves("agents_snapshots_show") {
		s.Show(w, r, v, page.Page{Title: "Snapshot", Crumbs: crumbs, Body: []markup.Node{unserved("Snapshots")}})
		return
	}
	one, err := read[agentview.Whole](look, "agents_snapshots_show", arguments{"id": r.PathValue("id")})
	if err != nil {
		s.Fail(w, v, err)
		return
	}
	d := one.Data
	files := make([]markup.Node, len(d.Files))
	for i, f := range d.Files {
		files[i] = page.Row(page.Text(page.Printable(f.Target)), page.Code(page.Printable(f.Path)), page.Text(page.Printable(strings.Join(f.Modules, ", "))))
	}
	var more markup.Node
	if d.Omitted > 0 {
		more = page.Notice(page.Warn, markup.P(page.Text(strconv.Itoa(d.Omitted)+" more files are too many to be listed here.")))
	}
	s.Show(w, r, v, page.Page{Title: "Snapshot " + page.Printable(d.ID), Crumbs: crumbs, Body: []markup.Node{
		warned(one.Warnings),
		page.Facts(page.Fact{Name: "Made", Value: page.When(d.Created)}, page.Fact{Name: "What was done", Value: page.Text(d.What())}, page.Fact{Name: "State", Value: sectionpage.Text(d.Status)},
			page.Fact{Name: "Agents", Value: sectionpage.Text(strings.Join(d.Targets, ", "))}, page.Fact{Name: "Profile", Value: sectionpage.Text(d.Profile)},
			page.Fact{Name: "Project", Value: sectionpage.Code(d.Project)}),
		markup.P(page.To(p.at("/rollback", "to", d.ID), "See what going back to it would change")),
		page.Part("What was written", agentview.Of(d.FileChanges).Table("What was written", nil)),
		page.Part("What deployments owned after it", page.Table("Files that deployments owned after it", []string{"Agent", "File", "Modules"}, files, "Nothing.")), more,
	}})
}

// returning is the data of a rollback.
type returning struct {
	agentview.Plan
	To string `json:"rolled_back_to"`
}

func (s *Section) back(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	p := placeOf(r.URL.Query())
	_, shown, err := s.wayBack(r, v, p, r.URL.Query().Get("to"))
	if err != nil {
		s.Fail(w, v, err)
		return
	}
	s.Show(w, r, v, shown)
}

// wayBack is what a rollback would change now, and the page that shows it.
func (s *Section) wayBack(r *http.Request, v httpguard.Visitor, p place, to string) (returning, page.Page, error) {
	args := p.args("rollback").Set("to", to)
	args["yes"] = true
	out := s.Desk.Rehearse(r.Context(), v, "rollback", args)
	var would report[returning]
	if out.Err != nil {
		return would.Data, page.Page{}, out.Err
	}
	if err := json.Unmarshal(out.Value, &would); err != nil {
		return would.Data, page.Page{}, err
	}
	d := would.Data
	body := []markup.Node{warned(would.Warnings), markup.P(page.Text("Files become as they were after "), page.Code(page.Printable(to)),
		page.Text(". Edits made since are kept in a new snapshot.")), d.Table("What going back would change", nil)}
	if !d.Summary.Empty() {
		body = append(body, decision(v, root+"/rollback", "Go back: "+d.Summary.Words(), d.Mark(), p.hidden(), page.Hidden("to", to)))
	}
	return d, page.Page{Title: "Go back to " + page.Printable(to) + ": " + d.Summary.Words(), Crumbs: p.crumbs(page.Link{Text: "Snapshots", Href: p.at("/snapshots")}), Body: body}, nil
}

// rollback goes back, when that still changes what the page showed.
func (s *Section) rollback(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
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
	s.decided(w, r, v, work.Task{Title: "Go back to " + page.Printable(to), Tool: "rollback", Args: args, Back: p.at("/snapshots")}, marked[returning])
}
