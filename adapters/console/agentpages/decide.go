package agentpages

import (
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/app/deployments/planner"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
)

// markField carries the mark of the plan that a page showed.
const markField = "shown"

// ErrShown reports a decision about a plan that is not the one there is now.
var ErrShown = fault.New(fault.Conflict, "deployment_plan_changed", "what would be done is not what this page showed before; nothing was done. Look at it as it is now, and decide again")

// posted is the fields of a form.
func posted(r *http.Request) url.Values {
	if err := r.ParseForm(); err != nil { // what cannot be read is not there
		return url.Values{}
	}
	return r.PostForm
}

// decision is the form in which a person lets what the page shows happen, and exactly that: it carries the mark of what is shown.
func decision(v httpauth.Visitor, action, label, mark string, fields ...ui.Node) ui.Node {
	return ui.Div(ui.Class("decide"), ui.PostForm(v, action, ui.Hidden(markField, mark), ui.Group(fields),
		ui.Div(ui.Class("buttons"), ui.SubmitButton(label, ui.Class("go"), ui.Data("patience", "700")))))
}

// again answers with a page anew, on top of it why nothing was done.
func again(w http.ResponseWriter, v httpauth.Visitor, p ui.Page, err error) {
	p.Section, p.Notice = root, trouble(err)
	p.Write(w, present.HTTPStatus(fault.From(err).Kind), v)
}

// decided begins a task that a person has decided about on the page that showed what it does. Where it asks about the very same thing, that decision is
// the answer; about anything else it asks on a page of its own. markOf is the mark of a plan that is asked about.
func (s *Section) decided(w http.ResponseWriter, r *http.Request, v httpauth.Visitor, t ui.Task, markOf func(plan json.RawMessage) string) {
	shown := r.PostFormValue(markField)
	job := s.Calls.Begin(r.Context(), v, t)
	if now := job.Now(); now.State == ui.JobAsking {
		asked := now.Outcome.Issued
		if mark := markOf(asked.Plan); mark != "" && mark == shown && asked.Strength < policy.Typed {
			job.Answer(r.Context(), confirm.Answer{Approve: true, By: ui.AnswererOf(v), Proof: v.Proof(), Shown: asked.PlanHash})
		}
	}
	http.Redirect(w, r, job.Next(), http.StatusSeeOther)
}

// marked reads a plan that is asked about, and gives the mark of its data.
func marked[T interface{ Mark() string }](plan json.RawMessage) string {
	var p planner.Report[T]
	if json.Unmarshal(plan, &p) != nil {
		return ""
	}
	return p.Data.Mark()
}
