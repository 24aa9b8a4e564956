package agentpages

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/adapters/present"
)

// edits selects the edits to propose to the config repository and their overlay scope and branch.
type edits struct {
	place
	module, scope, branch string
}

func editsOf(q url.Values) edits {
	e := edits{placeOf(q), strings.TrimSpace(q.Get("module_id")), q.Get("scope"), strings.TrimSpace(q.Get("branch"))}
	if e.scope == "" {
		e.scope = "global"
	}
	return e
}

// proposing returns the arguments of evolve_propose.
func (e edits) proposing() ui.Args {
	return e.args("evolve_propose").Set("module_id", e.module).Set("scope", e.scope).Set("branch", e.branch)
}

func (e edits) restoring() ui.Args { return e.args("evolve_restore").Set("module_id", e.module) }

// hidden returns the selection as hidden form fields.
func (e edits) hidden() ui.Node {
	return ui.Group{e.place.hidden(), ui.Hidden("module_id", e.module), ui.Hidden("scope", e.scope), ui.Hidden("branch", e.branch)}
}

func (s *Section) evolve(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	s.Show(w, r, v, s.evolving(r, v, editsOf(r.URL.Query())))
}

// evolving returns the page of edits to propose and missing files to recreate.
func (s *Section) evolving(r *http.Request, v httpauth.Identity, e edits) ui.Page {
	look := s.reading(r, v, e.place)
	return ui.Page{Title: "Edits of deployed files", Crumbs: e.crumbs(), Body: []ui.Node{
		e.tabs("/evolve"), s.Calls.PolicyNotice(r.Context(), v, "Propose edits", "evolve_propose"), e.form("/evolve", ui.Field("module_id", "module_id", "Module (default: all)", e.module),
			ui.SelectField("scope", "scope", "Overlay scope", e.scope, ui.Choice{Value: "global", Text: "Global"}, ui.Choice{Value: "machine", Text: "This machine"},
				ui.Choice{Value: "project", Text: "This project"}),
			ui.Field("branch", "branch", "Branch (default: new)", e.branch)),
		ui.Part("Edits", look.proposal(e)),
		ui.Part("Missing files", look.restoration(e)),
	}}
}

// proposal returns the edits to propose with their diffs, and the form that proposes them.
func (r reading) proposal(e edits) ui.Node {
	would, err := read[Proposal](r, "evolve_propose", with(e.proposing(), "dry_run"))
	if err != nil {
		return trouble(err)
	}
	d := would.Data
	rows := make([]ui.Node, len(d.Candidates))
	for i, c := range d.Candidates {
		rows[i] = ui.Row(ui.InlineCode(ui.Printable(c.Module)), ui.Text(ui.Printable(c.Target)), c.What(), stateBadge(c.State))
	}
	out := ui.Group{warned(would.Warnings), ui.DataTable("Edits to propose", []string{"Module", "Agent", "File", "Status"}, rows, "No edits to propose."), more(d.Omitted)}
	if len(rows) > 0 {
		out = append(out, d.lines(), decision(r.v, root+"/propose", "Propose "+ui.Count(len(rows)+d.Omitted, "edit", "edits")+" on a new branch", d.Mark(), e.hidden()))
	}
	if len(d.Skipped) > 0 {
		left := make([]ui.Node, len(d.Skipped))
		for i, sk := range d.Skipped {
			modules := sk.ModuleIDs
			if sk.ModuleID != "" {
				modules = []string{sk.ModuleID}
			}
			left[i] = ui.Row(ui.Text(ui.Printable(strings.Join(modules, ", "))), ui.Text(ui.Printable(sk.Target)), ui.InlineCode(ui.Printable(sk.Path)), stateBadge(string(sk.State)), ui.Text(ui.Printable(sk.ReasonMessage)))
		}
		out = append(out, ui.Disclosure("Drift that cannot be proposed ("+strconv.Itoa(len(left)+d.Left)+")", true,
			ui.DataTable("Drift that cannot be proposed", []string{"Modules", "Agent", "File", "Status", "Reason"}, left, ""), more(d.Left)))
	}
	return out
}

// lines returns the diffs of the edits for the files of the modules.
func (p Proposal) lines() ui.Node {
	var out ui.Group
	for _, c := range p.Candidates {
		if c.Unified != "" {
			out = append(out, ui.Disclosure("Diff of "+ui.Printable(c.Module)+" from the edits in "+ui.Printable(c.Path), false,
				diff(present.Change{Target: c.Target, Op: "update", Path: c.Path}, map[string]File{present.Change{Target: c.Target, Path: c.Path}.Key(): {Op: "update", Unified: &c.Unified}})))
		}
	}
	return out
}

// restoration returns the missing deployed files, and the form that recreates them.
func (r reading) restoration(e edits) ui.Node {
	would, err := read[Restoration](r, "evolve_restore", with(e.restoring(), "dry_run"))
	if err != nil {
		return trouble(err)
	}
	d := would.Data
	rows := make([]ui.Node, len(d.Restored))
	for i, f := range d.Restored {
		rows[i] = ui.Row(ui.InlineCode(ui.Printable(strings.Join(f.Modules, ", "))), ui.Text(ui.Printable(f.Target)), ui.InlineCode(ui.Printable(f.Path)))
	}
	out := ui.Group{warned(would.Warnings), ui.DataTable("Missing files", []string{"Modules", "Agent", "File"}, rows, "No missing files."), more(d.Omitted)}
	if len(rows) > 0 {
		out = append(out, decision(r.v, root+"/restore", "Recreate "+ui.Count(len(rows)+d.Omitted, "missing file", "missing files"), d.Mark(), e.hidden()))
	}
	return out
}

func more(n int) ui.Node {
	if n == 0 {
		return nil
	}
	return ui.P(ui.Text(strconv.Itoa(n) + " more are not listed."))
}

// with sets the named argument to true and returns the arguments.
func with(a ui.Args, name string) ui.Args {
	a[name] = true
	return a
}

// propose commits the edits that the page showed to a branch.
func (s *Section) propose(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	e := editsOf(posted(r))
	now, err := read[Proposal](s.reading(r, v, e.place), "evolve_propose", with(e.proposing(), "dry_run"))
	switch {
	case err != nil:
		s.Fail(w, v, err)
	case now.Data.Mark() != r.PostFormValue(markField):
		again(w, v, s.evolving(r, v, e), ErrShown)
	default:
		s.decided(w, r, v, ui.Task{Title: "Propose edits on a new branch", Tool: "evolve_propose", Args: with(e.proposing(), "yes"), Back: e.at("/evolve")}, marked[Proposal])
	}
}

// restore recreates the missing files that the page showed.
func (s *Section) restore(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	e := editsOf(posted(r))
	now, err := read[Restoration](s.reading(r, v, e.place), "evolve_restore", with(e.restoring(), "dry_run"))
	switch {
	case err != nil:
		s.Fail(w, v, err)
	case now.Data.Mark() != r.PostFormValue(markField):
		again(w, v, s.evolving(r, v, e), ErrShown)
	default:
		s.decided(w, r, v, ui.Task{Title: "Recreate missing files", Tool: "evolve_restore", Args: with(e.restoring(), "yes"), Back: e.at("/evolve")}, marked[Restoration])
	}
}
