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
var ErrAdopt = fault.New(fault.Invalid, "deployment_adopt_unticked", "the plan overwrites unmanaged or modified files, so nothing was deployed; tick the box that allows it, "+
	"or propose the edits to the config repository first")

// ErrFile is returned for a file that is not in the plan.
var ErrFile = fault.New(fault.NotFound, "deployment_file_unchanged", "the plan does not change this file; open the current plan")

func (s *Section) plan(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	p := placeOf(r.URL.Query())
	if file := r.URL.Query().Get("file"); file != "" {
		s.alone(w, r, v, p, file)
		return
	}
	_, shown, err := s.planned(r, v, p)
	if err != nil {
		s.Show(w, r, v, ui.Page{Title: "Plan", Crumbs: p.crumbs(), Body: []ui.Node{p.tabs("/plan"), p.form("/plan"), trouble(err)}})
		return
	}
	s.Show(w, r, v, shown)
}

// planned returns the current plan and the page that shows it with every diff.
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
		p.tabs("/plan"), s.Calls.PolicyNotice(r.Context(), v, "Deploy", "deploy_apply"), p.form("/plan"), warned(plan.Warnings, preview.Warnings),
		ui.Facts(ui.Fact{Name: "Profile", Value: ui.OptionalText(d.Profile)}),
		d.Table("Planned changes", origins(explained.Data)),
		ui.Part("Diffs", look.lines(d, preview.Data)),
		look.deploying(d),
	}}, nil
}

// lines returns the diffs of a plan.
func (r reading) lines(d Plan, preview Preview) ui.Node {
	if len(d.Changes) == 0 {
		return ui.Empty("No changes.")
	}
	return d.Lines(preview.Diffs(d.Changes), func(c present.Change) ui.Node {
		return ui.A(ui.Href(r.at.at("/plan", "file", c.Key())), ui.Aria("label", "Show the diff of "+ui.Printable(c.Path)), ui.Text("Show diff"))
	})
}

// alone shows one file of a plan that is too long for one page.
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
		one.Table("Planned changes", nil), diff(changes[i], preview.Data.Diffs(changes))}})
}

// deploying returns the form that deploys the shown plan.
func (r reading) deploying(d Plan) ui.Node {
	if d.Summary.Empty() {
		return nil
	}
	var about, adopt ui.Node
	if n := len(d.Adoptions()); n > 0 {
		about = ui.Notice(ui.Bad, ui.P(ui.Text(ui.Count(n, "file is", "files are")+" unmanaged, or edited since the last deployment. "),
			ui.LinkTo(r.at.at("/evolve"), "Propose edits to the config repository instead")))
		adopt = ui.CheckboxField("adopt", "adopt", "Overwrite or delete "+ui.Count(n, "unmanaged or modified file", "unmanaged or modified files"), false)
	}
	skip, rest := r.leaving(d)
	return ui.Part("Deploy", ui.P(ui.Text("Applies exactly this plan, all or nothing, and takes a snapshot to roll back to.")), about, skip,
		bar(decisionForm(r.v, root+"/deploy", "Deploy: "+d.Files().Words(), d.Mark(), r.at.hidden(), adopt), rest))
}

// leaving returns the form that deploys what the page shows except unmanaged and modified files, if anything else remains, and what it does.
func (r reading) leaving(d Plan) (about, form ui.Node) {
	rest := d.Unedited()
	if len(rest.Changes) == 0 || len(d.Adoptions()) == 0 || d.Omitted > 0 || !r.serves("agents_deploy_unedited") {
		return nil, nil
	}
	return ui.P(ui.Text("Or skip " + ui.Count(len(d.Adoptions()), "unmanaged or modified file", "unmanaged or modified files") + " and deploy the other files.")),
		decisionForm(r.v, root+"/deploy-unedited", "Deploy other files: "+rest.Files().Words(), rest.Mark(), r.at.hidden())
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
	s.decided(w, r, v, ui.Task{Title: "Deploy other files: " + rest.Files().Words(), Tool: "agents_deploy_unedited", Args: args, Back: p.at("")}, marked[Plan])
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
