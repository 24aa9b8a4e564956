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

// ErrShown is returned for a decision about a plan that has changed.
var ErrShown = fault.New(fault.Conflict, "deployment_plan_changed", "the plan changed since you opened this page, and nothing was done; review the new plan and decide again")

// posted returns the fields of a form.
func posted(r *http.Request) url.Values {
	if err := r.ParseForm(); err != nil { // what cannot be read is not there
		return url.Values{}
	}
	return r.PostForm
}

// decision returns the form that applies exactly what the page shows: it contains the mark of that.
func decision(v httpauth.Identity, action, label, mark string, fields ...ui.Node) ui.Node {
	return bar(decisionForm(v, action, label, mark, fields...))
}

// bar returns the bar at the end of a page with the forms that decide about its plan.
func bar(forms ...ui.Node) ui.Node { return ui.Div(ui.Class("decide"), ui.Group(forms)) }

// decisionForm is decision without its bar, for a page with several decisions.
func decisionForm(v httpauth.Identity, action, label, mark string, fields ...ui.Node) ui.Node {
	return ui.PostForm(v, action, ui.Hidden(markField, mark), ui.Group(fields),
		ui.Div(ui.Class("buttons"), ui.SubmitButton(label, ui.Class("go"), ui.Data("patience", "700"))))
}

// again answers with a page again, with the error above it.
func again(w http.ResponseWriter, v httpauth.Identity, p ui.Page, err error) {
	p.Section, p.Notice = root, trouble(err)
	p.Write(w, present.HTTPStatus(fault.From(err).Kind), v)
}

// decided starts a task that the user decided on the page that showed its plan. If the task asks about the same plan, that decision is the answer;
// anything else is asked on its own page. markOf returns the mark of a plan that is asked about.
func (s *Section) decided(w http.ResponseWriter, r *http.Request, v httpauth.Identity, t ui.Task, markOf func(plan json.RawMessage) string) {
	shown := r.PostFormValue(markField)
	job := s.Calls.Begin(r.Context(), v, t)
	if now := job.Now(); now.State == ui.JobAsking {
		asked := now.Outcome.Request
		if mark := markOf(asked.Plan); mark != "" && mark == shown && asked.Strength < policy.Typed {
			job.Answer(r.Context(), confirm.Decision{Approve: true, By: ui.AnswererOf(v), Proof: v.Proof(), Shown: asked.PlanHash})
		}
	}
	http.Redirect(w, r, job.Next(), http.StatusSeeOther)
}

// marked returns the mark of the plan of an approval request.
func marked[T interface{ Mark() string }](plan json.RawMessage) string {
	var p planner.Report[T]
	if json.Unmarshal(plan, &p) != nil {
		return ""
	}
	return p.Data.Mark()
}
