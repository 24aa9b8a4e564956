package work

import (
	"cmp"
	"context"
	"net/http"
	"strconv"
	"strings"

	"maragu.dev/gomponents"
	"maragu.dev/gomponents/html"

	"github.com/countersign-dev/countersign/adapters/console/page"
	"github.com/countersign-dev/countersign/adapters/console/planpage"
	"github.com/countersign-dev/countersign/adapters/httpguard"
	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// Withdrawer may be implemented by a Door: the question of work that was cancelled is withdrawn.
type Withdrawer interface {
	Withdraw(ctx context.Context, id string) error
}

// doneParam is the parameter that tells a page which work has just ended.
const doneParam = "done"

// Do begins a task that a page's form asked for and answers with where to go: back, when it is done, and to its own page, when it asks, takes
// longer or has failed.
func (d *Desk) Do(w http.ResponseWriter, r *http.Request, v httpguard.Visitor, t Task) {
	j := d.Begin(r.Context(), v, t)
	http.Redirect(w, r, j.next(), http.StatusSeeOther)
}

// next is the path of the page that shows what has become of the job.
func (j *Job) next() string {
	if now := j.Now(); now.State != Over || now.Outcome.Err != nil || j.Task.Back == "" {
		return "/work/" + j.ID
	}
	sep := "?"
	if strings.Contains(j.Task.Back, "?") {
		sep = "&"
	}
	return j.Task.Back + sep + doneParam + "=" + j.ID
}

// Notice tells, on the page that a task went back to, what came of it; nil when none did.
func (d *Desk) Notice(r *http.Request) gomponents.Node {
	j, ok := d.Find(r.URL.Query().Get(doneParam))
	if !ok {
		return nil
	}
	now := j.Now()
	if now.State != Over || now.Outcome.Err != nil {
		return nil
	}
	said := "done"
	if now.Outcome.DryRun {
		said = "nothing was changed: this is what would be done"
	}
	return page.Notice(page.Good, html.P(gomponents.Text(j.Task.Title+": "+said+". "), page.To("/work/"+j.ID, "See what came of it")))
}

// Mount adds the pages of work to a mux, through what lets people in.
func (d *Desk) Mount(mux *http.ServeMux, person func(httpguard.Handler) http.Handler) {
	mux.Handle("GET /work/{id}", person(d.show))
	mux.Handle("POST /work/{id}/answer", person(d.answer))
	mux.Handle("POST /work/{id}/cancel", person(d.stop))
}

func (d *Desk) show(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	j, ok := d.Find(r.PathValue("id"))
	if !ok {
		page.Fail(w, v, "", http.StatusNotFound, fault.New(fault.NotFound, "work_not_found", "this work is not remembered any more; the activity page has its record"))
		return
	}
	now := j.Now()
	p := page.Page{Title: j.Task.Title, Crumbs: j.crumbs()}
	switch now.State {
	case Asking:
		p.Body = j.question(v, now)
	case Over:
		p.Body = append(outcome(now.Outcome), back(j))
	default:
		p.Live = []string{"tick"}
		p.Body = []gomponents.Node{page.Notice(page.Plain, html.P(gomponents.Text("It runs. This page follows it; it goes on when you leave."))),
			progress(now.Progress), page.Deed(v, "/work/"+j.ID+"/cancel", "Cancel", j.Task.Title)}
	}
	p.Write(w, http.StatusOK, v)
}

func (j *Job) crumbs() []page.Link {
	if j.Task.Back == "" {
		return nil
	}
	return []page.Link{{Text: "Back", Href: j.Task.Back}}
}

func back(j *Job) gomponents.Node {
	return html.P(page.To(cmp.Or(j.Task.Back, "/"), "Back"))
}

func (j *Job) question(v httpguard.Visitor, now View) []gomponents.Node {
	i := now.Outcome.Issued
	view := confirm.View{ID: i.ID, Tool: string(i.Tool), Strength: i.Strength, Risk: i.Risk, Prompt: i.Prompt, Target: i.Target, PlanHash: i.PlanHash,
		Plan: i.Plan, Arguments: i.Args, IssuedAt: i.IssuedAt, ExpiresAt: i.ExpiresAt}
	var wrong gomponents.Node
	if now.Wrong != nil {
		wrong = page.Problem(fault.From(now.Wrong))
	}
	return []gomponents.Node{wrong, planpage.Question(view, ""), Decide(v, "/work/"+j.ID+"/answer", view, false)}
}

// The fields of a decision's form.
const (
	FieldDecision = "decision" // approve, always or deny
	FieldTyped    = "typed_value"
	FieldReason   = "reason"
	FieldPlan     = "plan_hash"
)

// Decide is the form in which a person decides about a confirmation. It carries the hash of the plan that is shown. always offers "always allow"
// where the confirmation may be answered so.
func Decide(v httpguard.Visitor, action string, c confirm.View, always bool) gomponents.Node {
	var typed, lasting gomponents.Node
	if c.Strength >= policy.Typed {
		typed = page.Field("typed-"+c.ID, FieldTyped, "Type "+c.Target+" to approve", "", html.Data("typed", c.Target))
	}
	if always && c.Lasting() {
		lasting = page.Button("Always allow in this session", html.Name(FieldDecision), html.Value("always"))
	}
	return html.Div(html.Class("decide"), page.Form(v, action, page.Hidden(FieldPlan, c.PlanHash.String()), typed,
		page.Field("reason-"+c.ID, FieldReason, "Reason, when you deny (may be empty)", "", html.MaxLength("500")),
		html.Div(html.Class("buttons"),
			page.Danger("Deny", html.Name(FieldDecision), html.Value("deny"), gomponents.If(c.Strength < policy.Typed, html.AutoFocus())),
			page.Button("Approve", html.Name(FieldDecision), html.Value("approve"), html.Class("go"), html.Data("patience", "700")), lasting)))
}

// Answer is what a person said in the form of Decide. What is not an approval denies.
func Answer(r *http.Request) confirm.Answer {
	word := r.PostFormValue(FieldDecision)
	return confirm.Answer{Approve: word == "approve" || word == "always", Always: word == "always", Typed: r.PostFormValue(FieldTyped),
		Reason: r.PostFormValue(FieldReason), By: By}
}

func (d *Desk) answer(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	j, ok := d.Find(r.PathValue("id"))
	if !ok {
		d.show(w, r, v)
		return
	}
	if now := j.Now(); now.State == Asking && r.PostFormValue(FieldPlan) == now.Outcome.Issued.PlanHash.String() {
		j.Answer(r.Context(), Answer(r))
	}
	http.Redirect(w, r, j.next(), http.StatusSeeOther)
}

func (d *Desk) stop(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	if j, ok := d.Find(r.PathValue("id")); ok {
		j.Cancel()
		j.settle(r.Context())
	}
	http.Redirect(w, r, "/work/"+r.PathValue("id"), http.StatusSeeOther)
}

func progress(said []tool.Progress) gomponents.Node {
	if len(said) == 0 {
		return nil
	}
	last := said[len(said)-1]
	var bar gomponents.Node
	if last.Total > 0 {
		bar = html.Progress(html.Max(number(last.Total)), html.Value(number(last.Done)), html.Aria("label", "progress"))
	}
	var lines strings.Builder
	for _, p := range said {
		if p.Message != "" {
			lines.WriteString(p.Message + "\n")
		}
	}
	return gomponents.Group{bar, page.Pre("reports", lines.String())}
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

// outcome is what came of work that is over.
func outcome(o tool.Outcome) []gomponents.Node {
	var body []gomponents.Node
	switch {
	case o.Err != nil:
		f := fault.From(o.Err)
		body = append(body, page.Problem(f))
		if details, err := tool.Encode(f.Details); err == nil && f.Details != nil {
			body = append(body, page.Part("What it says about that", page.Value(details)))
		}
		if o.Explained {
			body = append(body, page.Part("What it would do", planpage.Plan(o.Value)))
		}
		return body
	case o.DryRun:
		body = append(body, page.Notice(page.Warn, html.P(gomponents.Text("Nothing was changed: the mode is plan. This is what would be done."))), planpage.Plan(o.Value))
	default:
		body = append(body, page.Notice(page.Good, html.P(gomponents.Text("Done."))))
		if doc := present.For(o.Spec.Contract)(o); o.Text != "" || len(o.Value) == 0 {
			body = append(body, page.Pre("result", doc.Text))
		} else {
			body = append(body, page.Value(o.Value))
		}
	}
	for _, w := range o.Warnings {
		body = append(body, page.Notice(page.Warn, html.P(gomponents.Text(w))))
	}
	return body
}
