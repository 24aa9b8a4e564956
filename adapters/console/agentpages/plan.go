package agentpages

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/app/deployments"
	"github.com/countersign-dev/countersign/app/deployments/planner"
	"github.com/countersign-dev/countersign/domain/fault"
)

// ErrAdopt is returned for a deployment that would overwrite unmanaged or modified files without permission.
var ErrAdopt = fault.New(fault.Invalid, "deployment_adopt_unticked", "some of the files were not written by a deployment, or were edited since; tick the box that lets them be overwritten, "+
	"or take the edits back into the config repository first. Nothing was done")

// ErrFile reports a file that a deployment would not change.
var ErrFile = fault.New(fault.NotFound, "deployment_file_unchanged", "a deployment would not change this file; go back to the plan and look at it as it is now")

func (s *Section) plan(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	p := placeOf(r.URL.Query())
	if file := r.URL.Query().Get("file"); file != "" {
		s.alone(w, r, v, p, file)
		return
	}
	_, shown, err := s.planned(r, v, p)
	if err != nil {
		s.Show(w, r, v, ui.Page{Title: "Plan", Crumbs: p.crumbs(), Body: []ui.Node{p.form("/plan"), trouble(err)}})
		return
	}
	s.Show(w, r, v, shown)
}

// planned is what a deployment would change now, and the page that shows every line of it.
func (s *Section) planned(r *http.Request, v httpauth.Identity, p place) (Plan, ui.Page, error) {
	look := s.reading(r, v, p)
	plan, err := read[Plan](look, "plan", nil)
	if err != nil {
		return plan.Data, ui.Page{}, err
	}
	preview, err := read[Preview](look, "preview", ui.Args{"diff": true})
	if err != nil {
		return plan.Data, ui.Page{}, err
	}
	explained, _ := read[deployments.ExplainData](look, deployments.Explain.Name, ui.Args{"kind": "plan"}) // without it, only the modules are not named
	d := plan.Data
	return d, ui.Page{Title: "Plan: " + d.Files().Words(), Crumbs: p.crumbs(), Body: []ui.Node{
		p.form("/plan"), warned(plan.Warnings, preview.Warnings),
		ui.Facts(ui.Fact{Name: "Profile", Value: ui.OptionalText(d.Profile)}),
		d.Table("What a deployment would change", origins(explained.Data)),
		ui.Part("Every line", look.lines(d, preview.Data)),
		look.deploying(d),
	}}, nil
}

// lines are every line of a plan.
func (r reading) lines(d Plan, preview Preview) ui.Node {
	if len(d.Changes) == 0 {
		return ui.Empty("There is nothing to change.")
	}
	return d.Lines(preview.Diffs(d.Changes), func(c present.Change) ui.Node {
		return ui.A(ui.Href(r.at.at("/plan", "file", c.Key())), ui.Aria("label", "Show the lines of "+ui.Printable(c.Path)), ui.Text("Show its lines"))
	})
}

// alone is the page of one file of the plan, where there are too many lines for one page.
func (s *Section) alone(w http.ResponseWriter, r *http.Request, v httpauth.Identity, p place, file string) {
	preview, err := read[Preview](s.reading(r, v, p), "preview", ui.Args{"diff": true})
	if err != nil {
		s.Fail(w, v, err)
		return
	}
	changes := preview.Data.Diff.Changes
	i := slices.IndexFunc(changes, func(c present.Change) bool { return c.Key() == file })
	if i < 0 {
		s.Fail(w, v, ErrFile)
		return
	}
	one := NewPlan(changes[i : i+1])
	s.Show(w, r, v, ui.Page{Title: "Plan of one file", Crumbs: p.crumbs(ui.PageLink{Text: "Plan", Href: p.at("/plan")}), Body: []ui.Node{
		one.Table("What a deployment would change", nil), diff(changes[i], preview.Data.Diffs(changes))}})
}

// deploying is the form in which a person deploys what the page shows.
func (r reading) deploying(d Plan) ui.Node {
	var adopt ui.Node
	if n := len(d.Adoptions()); n > 0 {
		adopt = ui.Group{
			ui.Notice(ui.Bad, ui.P(ui.Text(ui.Count(n, "file is", "files are")+" somebody's own work: not written by a deployment, or edited since. "),
				ui.LinkTo(r.at.at("/evolve"), "Take edits back into the config repository instead"))),
			ui.CheckboxField("adopt", "adopt", "Overwrite or delete "+ui.Count(n, "file that is somebody's own work", "files that are somebody's own work"), false),
		}
	}
	if d.Summary.Empty() {
		return nil
	}
	return ui.Part("Deploy", ui.P(ui.Text("Exactly what this page shows is done, whole or not at all, and kept in a snapshot that you can go back to.")),
		decision(r.v, root+"/deploy", "Deploy: "+d.Files().Words(), d.Mark(), r.at.hidden(), adopt), r.leaving(d))
}

// leaving returns the form that deploys what the page shows except unmanaged and modified files, if anything else remains.
func (r reading) leaving(d Plan) ui.Node {
	rest := d.Unedited()
	if len(rest.Changes) == 0 || len(d.Adoptions()) == 0 || d.Omitted > 0 || !r.serves("agents_deploy_unedited") {
		return nil
	}
	return ui.Group{ui.P(ui.Text("Or leave " + ui.Count(len(d.Adoptions()), "file that is somebody's own work as it is", "files that are somebody's own work as they are") + ", and do the rest.")),
		decision(r.v, root+"/deploy-unedited", "Deploy the rest: "+rest.Files().Words(), rest.Mark(), r.at.hidden())}
}

// deployUnedited applies what the plan page showed, except for unmanaged and modified files.
func (s *Section) deployUnedited(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	p := placeOf(posted(r))
	plan, shown, err := s.planned(r, v, p)
	rest := plan.Unedited()
	switch {
	case err != nil:
		s.Fail(w, v, err)
		return
	case rest.Mark() != r.PostFormValue(markField):
		again(w, v, shown, ErrShown)
		return
	}
	args := p.args("agents_deploy_unedited")
	args["yes"] = true
	s.decided(w, r, v, ui.Task{Title: "Deploy the rest: " + rest.Files().Words(), Tool: "agents_deploy_unedited", Args: args, Back: p.at("")}, marked[Plan])
}

// deploy applies what the plan page showed: its token comes from the tool deploy, which computes the plan again.
func (s *Section) deploy(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
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
	out := s.Calls.OutcomeWide(r.Context(), v, "deploy", p.args("deploy"))
	if out.Err != nil {
		again(w, v, shown, out.Err)
		return
	}
	var offered planner.Report[Plan]
	if err := json.Unmarshal(out.Value, &offered); err != nil || offered.Data.Mark() != plan.Mark() {
		again(w, v, shown, ErrShown)
		return
	}
	args := p.args("deploy_apply")
	args["yes"], args["adopt"] = true, adopt
	if out.Request != nil && !out.Request.Token.IsZero() {
		args["confirm_token"] = out.Request.Token.Reveal()
	}
	s.decided(w, r, v, ui.Task{Title: "Deploy: " + plan.Files().Words(), Tool: "deploy_apply", Args: args, Back: p.at("")}, marked[Plan])
}
