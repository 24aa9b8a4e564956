package agentpages

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/countersign-dev/countersign/adapters/console/agentpages/agentview"
	"github.com/countersign-dev/countersign/adapters/console/markup"
	"github.com/countersign-dev/countersign/adapters/console/page"
	"github.com/countersign-dev/countersign/adapters/console/sectionpage"
	"github.com/countersign-dev/countersign/adapters/console/work"
	"github.com/countersign-dev/countersign/adapters/httpguard"
	"github.com/countersign-dev/countersign/adapters/present/answers"
	"github.com/countersign-dev/countersign/domain/fault"
)

// ErrAdopt reports a deployment that would overwrite somebody's own work, and nobody has said that it may.
var ErrAdopt = fault.New(fault.Invalid, "deployment_adopt_unticked", "some of the files were not written by a deployment, or were edited since; tick the box that lets them be overwritten, "+
	"or take the edits back into the config repository first. Nothing was done")

// ErrFile reports a file that a deployment would not change.
var ErrFile = fault.New(fault.NotFound, "deployment_file_unchanged", "a deployment would not change this file; go back to the plan and look at it as it is now")

func (s *Section) plan(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	p := placeOf(r.URL.Query())
	if file := r.URL.Query().Get("file"); file != "" {
		s.alone(w, r, v, p, file)
		return
	}
	_, shown, err := s.planned(r, v, p)
	if err != nil {
		s.Show(w, r, v, page.Page{Title: "Plan", Crumbs: p.crumbs(), Body: []markup.Node{p.form("/plan"), trouble(err)}})
		return
	}
	s.Show(w, r, v, shown)
}

// planned is what a deployment would change now, and the page that shows every line of it.
func (s *Section) planned(r *http.Request, v httpguard.Visitor, p place) (agentview.Plan, page.Page, error) {
	look := s.reading(r, v, p)
	plan, err := read[agentview.Plan](look, "plan", nil)
	if err != nil {
		return plan.Data, page.Page{}, err
	}
	preview, err := read[agentview.Preview](look, "preview", arguments{"diff": true})
	if err != nil {
		return plan.Data, page.Page{}, err
	}
	explained, _ := read[agentview.Explained](look, "explain", arguments{"kind": "plan"}) // without it, only the modules are not named
	d := plan.Data
	return d, page.Page{Title: "Plan: " + d.Summary.Words(), Crumbs: p.crumbs(), Body: []markup.Node{
		p.form("/plan"), warned(plan.Warnings, preview.Warnings),
		page.Facts(page.Fact{Name: "Profile", Value: sectionpage.Text(d.Profile)}),
		d.Table("What a deployment would change", explained.Data.Origins()),
		page.Part("Every line", look.lines(d, preview.Data)),
		look.deploying(d),
	}}, nil
}

// lines are every line of a plan.
func (r reading) lines(d agentview.Plan, preview agentview.Preview) markup.Node {
	if len(d.Changes) == 0 {
		return page.Empty("There is nothing to change.")
	}
	return d.Lines(preview.Diffs(d.Changes), func(c answers.Change) markup.Node {
		return markup.A(markup.Href(r.at.at("/plan", "file", c.Key())), markup.Aria("label", "Show the lines of "+page.Printable(c.Path)), page.Text("Show its lines"))
	})
}

// alone is the page of one file of the plan, where there are too many lines for one page.
func (s *Section) alone(w http.ResponseWriter, r *http.Request, v httpguard.Visitor, p place, file string) {
	preview, err := read[agentview.Preview](s.reading(r, v, p), "preview", arguments{"diff": true})
	if err != nil {
		s.Fail(w, v, err)
		return
	}
	changes := preview.Data.Diff.Changes
	i := slices.IndexFunc(changes, func(c answers.Change) bool { return c.Key() == file })
	if i < 0 {
		s.Fail(w, v, ErrFile)
		return
	}
	one := agentview.Of(changes[i : i+1])
	s.Show(w, r, v, page.Page{Title: "Plan of one file", Crumbs: p.crumbs(page.Link{Text: "Plan", Href: p.at("/plan")}), Body: []markup.Node{
		one.Table("What a deployment would change", nil), agentview.Diff(changes[i], preview.Data.Diffs(changes))}})
}

// deploying is the form in which a person deploys what the page shows.
func (r reading) deploying(d agentview.Plan) markup.Node {
	var adopt markup.Node
	if n := len(d.Adoptions()); n > 0 {
		adopt = markup.Group{
			page.Notice(page.Bad, markup.P(page.Text(sectionpage.Count(n, "file is", "files are")+" somebody's own work: not written by a deployment, or edited since. "),
				page.To(r.at.at("/evolve"), "Take edits back into the config repository instead"))),
			page.Check("adopt", "adopt", "Overwrite or delete "+sectionpage.Count(n, "file that is somebody's own work", "files that are somebody's own work"), false),
		}
	}
	if d.Summary.Empty() {
		return nil
	}
	return page.Part("Deploy", markup.P(page.Text("Exactly what this page shows is done, whole or not at all, and kept in a snapshot that you can go back to.")),
		decision(r.v, root+"/deploy", "Deploy: "+d.Summary.Words(), d.Mark(), r.at.hidden(), adopt))
}

// deploy carries out what the page of the plan showed: the token for it comes from the tool deploy, which makes the plan once more.
func (s *Section) deploy(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	p := placeOf(posted(r))
	plan, shown, err := s.planned(r, v, p)
	adopt := r.PostFormValue("adopt") == "true"
	switch {
	case err != nil:
		s.Fail(w, v, err)
		return
	case plan.Mark() != r.PostFormValue(markField):
		again(w, v, shown, ErrShown)
		return
	case len(plan.Adoptions()) > 0 && !adopt:
		again(w, v, shown, ErrAdopt)
		return
	}
	out := s.Desk.OutcomeWide(r.Context(), v, "deploy", p.args("deploy"))
	if out.Err != nil {
		again(w, v, shown, out.Err)
		return
	}
	var offered report[agentview.Plan]
	if err := json.Unmarshal(out.Value, &offered); err != nil || offered.Data.Mark() != plan.Mark() {
		again(w, v, shown, ErrShown)
		return
	}
	args := p.args("deploy_apply")
	args["yes"], args["adopt"] = true, adopt
	if out.Issued != nil && !out.Issued.Token.IsZero() {
		args["confirm_token"] = out.Issued.Token.Reveal()
	}
	s.decided(w, r, v, work.Task{Title: "Deploy: " + plan.Summary.Words(), Tool: "deploy_apply", Args: args, Back: p.at("")}, marked[agentview.Plan])
}
