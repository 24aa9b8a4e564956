package work

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/adapters/console/markup"
	"github.com/countersign-dev/countersign/adapters/console/page"
	"github.com/countersign-dev/countersign/adapters/console/planpage"
	"github.com/countersign-dev/countersign/adapters/httpguard"
	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/domain/canon"
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
	if now := j.Now(); now.State != Over || now.Outcome.Err != nil || j.Task.Back == "" || j.Task.Show != nil {
		return "/work/" + j.ID
	}
	sep := "?"
	if strings.Contains(j.Task.Back, "?") {
		sep = "&"
	}
	return j.Task.Back + sep + doneParam + "=" + j.ID
}

// Notice tells, on the page that a task went back to, what came of it; nil when none did.
func (d *Desk) Notice(r *http.Request) markup.Node {
	j, ok := d.Find(r.URL.Query().Get(doneParam))
	if !ok {
		return nil
	}
	now := j.Now()
	if now.State != Over || now.Outcome.Err != nil {
		return nil
	}
	said := cmp.Or(j.Task.Done, j.Task.Title+": done.")
	if now.Outcome.DryRun {
		said = j.Task.Title + ": nothing was changed: this is what would be done."
	}
	return page.Notice(page.Good, markup.P(markup.Text(said+" "), page.To("/work/"+j.ID, "See what came of it")), late(now))
}

// Mount adds the pages of work to a mux, through what lets people in.
func (d *Desk) Mount(mux *http.ServeMux, person func(httpguard.Handler) http.Handler) {
	mux.Handle("GET /work/{id}", person(d.show))
	mux.Handle("POST /work/{id}/answer", person(d.answer))
	mux.Handle("POST /work/{id}/answer/"+Revealing, person(d.reveal))
	mux.Handle("POST /work/{id}/cancel", person(d.stop))
}

func (d *Desk) show(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	j, ok := d.seen(v, r.PathValue("id"))
	if !ok {
		page.Fail(w, v, "", http.StatusNotFound, fault.New(fault.NotFound, "work_not_found", "this work is not remembered any more; the activity page has its record"))
		return
	}
	now := j.Now()
	p := page.Page{Title: j.Task.Title, Crumbs: j.crumbs()}
	switch now.State {
	case Asking:
		p.Live = Decided()
		p.Body = j.question(v, now)
	case Over:
		p.Body = append([]markup.Node{late(now)}, append(j.told(now.Outcome), back(j))...)
	default:
		p.Live = []string{"tick"}
		p.Body = []markup.Node{page.Notice(page.Plain, markup.P(markup.Text("It runs. This page follows it; it goes on when you leave."))),
			progress(now.Progress), page.Deed(v, "/work/"+j.ID+"/cancel", "Cancel", j.Task.Title)}
		if j.Task.Watch != nil {
			p.Body = append(p.Body, j.Task.Watch(r.Context(), now.Progress))
		}
	}
	p.Write(w, http.StatusOK, v)
}

// Decided are the kinds of events after which a page that shows questions looks anew: one was asked, answered, or carried out.
func Decided() []string {
	return []string{"ai-tool-confirmation", "ai-tool-confirmation-closed", "ai-tool-state", "ai-tool-result"}
}

func (j *Job) crumbs() []page.Link {
	if j.Task.Back == "" {
		return nil
	}
	return []page.Link{{Text: "Back", Href: j.Task.Back}}
}

// late says that somebody else had decided before; nil when nobody had.
func late(now View) markup.Node {
	if now.Late == nil {
		return nil
	}
	return page.Notice(page.Warn, markup.P(page.Text("Your answer came second and changed nothing: "+fault.From(now.Late).Message+".")))
}

func back(j *Job) markup.Node {
	return markup.P(page.To(cmp.Or(j.Task.Back, "/"), "Back"))
}

func (j *Job) question(v httpguard.Visitor, now View) []markup.Node {
	i := now.Outcome.Issued
	view := confirm.View{ID: i.ID, Tool: string(i.Tool), Strength: i.Strength, Risk: i.Risk, Prompt: i.Prompt, Target: i.Target, PlanHash: i.PlanHash,
		Plan: i.Plan, Exhibit: i.Exhibit, Arguments: i.Args, IssuedAt: i.IssuedAt, ExpiresAt: i.ExpiresAt, Needs: i.Needs, Veil: i.Veil}
	return j.questionOf(v, view, now)
}

func (j *Job) questionOf(v httpguard.Visitor, view confirm.View, now View) []markup.Node {
	var wrong markup.Node
	if now.Wrong != nil {
		wrong = page.Problem(fault.From(now.Wrong))
	}
	return []markup.Node{wrong, planpage.Question(view, ""), planpage.Exhibit(view.Exhibit), Decide(v, "/work/"+j.ID+"/answer", view, false)}
}

// The fields of a decision's form.
const (
	FieldDecision = "decision" // approve, always, until or deny
	FieldTyped    = "typed_value"
	FieldReason   = "reason"
	FieldPlan     = "plan_hash"
	FieldRevealed = "revealed"
)

// Decide is how a person decides about a confirmation: a form to approve and one to deny, so that Enter in a field never does the other thing. Both
// carry the hash of the plan that is shown. always offers "always allow" where the confirmation may be answered so.
func Decide(v httpguard.Visitor, action string, c confirm.View, always bool) markup.Node {
	if c.MustReveal && !c.Revealed {
		return markup.Div(markup.Class("decide"), Reveal(v, action, c), Deny(v, action, c))
	}
	var typed, lasting markup.Node
	if c.Strength >= policy.Typed {
		typed = page.Field("typed-"+c.ID, FieldTyped, "Type \""+c.Target+"\" to approve", "", markup.Required())
	}
	var keyed markup.Node
	if able := handles(v); len(able) > 0 && (confirm.Proof{Surface: confirm.SurfacePasskey}).Meets(c.Needs) {
		keyed = withPasskey(v, action, c, able, typed)
	}
	if !v.Proof().Meets(c.Needs) {
		if keyed == nil {
			return markup.Div(markup.Class("decide"), missing(v, c), Deny(v, action, c))
		}
		return markup.Div(markup.Class("decide"), Reveal(v, action, c), keyed, Deny(v, action, c))
	}
	if keyed != nil && c.Strength >= policy.Typed { // the name is typed in one place
		typed = page.Field("typed-plain-"+c.ID, FieldTyped, "Or type \""+c.Target+"\" to approve without a passkey", "", markup.Required())
	}
	if always && c.Lasting() {
		label := Always(c)
		lasting = page.Button(label, markup.Name(FieldDecision), markup.Value("always"), markup.Data("patience", patient), about(label, c))
	}
	return markup.Div(markup.Class("decide"), Reveal(v, action, c), keyed,
		page.Form(v, action, page.Hidden(FieldPlan, c.PlanHash.String()), markup.If(c.Revealed, page.Hidden(FieldRevealed, "yes")), typed, markup.Div(markup.Class("buttons"),
			page.Button("Approve", markup.Name(FieldDecision), markup.Value("approve"), markup.Class("go"), markup.Data("patience", patient), about("Approve", c)), lasting)),
		Deny(v, action, c))
}

// Always is the button that approves for the rest of a session: what is bound then, and what is not.
func Always(c confirm.View) string {
	if _, one := confirm.OwnScope(c.Scope, c.PlanHash); one {
		return "Always allow in this session: " + page.Printable(c.Tool) + " with these arguments and this plan, however often"
	}
	if c.Scope == "" {
		return "Always allow in this session: " + page.Printable(c.Tool) + " with any arguments"
	}
	about, _, exact := strings.Cut(c.Scope, "@") // behind it stands the sum of a command with its arguments
	if exact {
		return "Always allow in this session: " + page.Printable(c.Tool) + " of " + page.Printable(about) + ", as it reads now, with any contents of other files"
	}
	return "Always allow in this session: " + page.Printable(c.Tool) + " of " + page.Printable(about) + ", with any other arguments and contents"
}

// Deny is the form in which a person denies a confirmation, and may say why.
func Deny(v httpguard.Visitor, action string, c confirm.View) markup.Node {
	return page.Form(v, action, page.Hidden(FieldPlan, c.PlanHash.String()),
		page.Field("reason-"+c.ID, FieldReason, "Why not (may be empty; whoever asked is told)", "", markup.MaxLength(strconv.Itoa(confirm.MaxReason))),
		markup.Div(markup.Class("buttons"), page.Danger("Deny", markup.Name(FieldDecision), markup.Value("deny"), about("Deny", c))))
}

// patient is how long a button that lets something happen takes no press after it came into sight, in milliseconds.
const patient = "700"

// about names a button for those who hear it alone.
func about(label string, c confirm.View) markup.Node {
	return markup.Aria("label", label+": "+c.Prompt)
}

// Answer is what a person said in the form of Decide, about the plan that the form showed. It fails where it said nothing that Decide offers, or
// names no plan: then it is nobody's decision.
func Answer(r *http.Request, v httpguard.Visitor) (confirm.Answer, error) {
	a := confirm.Answer{Typed: r.PostFormValue(FieldTyped), Reason: r.PostFormValue(FieldReason), By: Who(v), Revealed: r.PostFormValue(FieldRevealed) == "yes"}
	switch r.PostFormValue(FieldDecision) {
	case "always":
		a.Approve, a.Always = true, true
	case "until":
		var err error
		if a.Until, err = until(r); err != nil {
			return a, err
		}
		a.Approve = true
	case "approve":
		a.Approve = true
	case "deny":
	default:
		return a, ErrDecision
	}
	var err error
	if a.Proof, err = proof(v, r.PostFormValue(FieldSigned)); err != nil {
		return a, err
	}
	if a.Shown, err = canon.Parse(r.PostFormValue(FieldPlan)); err != nil || a.Shown.IsZero() {
		return a, ErrDecision
	}
	return a, nil
}

// ErrDecision reports a form that decides nothing.
var ErrDecision = fault.New(fault.Invalid, "decision_incomplete", "the form says neither approve nor deny, or not about which plan; go back to the question and answer there")

func (d *Desk) answer(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	j, ok := d.seen(v, r.PathValue("id"))
	if !ok {
		d.show(w, r, v)
		return
	}
	a, err := Answer(r, v)
	if err != nil {
		page.Fail(w, v, "", http.StatusBadRequest, err)
		return
	}
	j.Answer(r.Context(), a)
	http.Redirect(w, r, j.next(), http.StatusSeeOther)
}

func (d *Desk) stop(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	if j, ok := d.seen(v, r.PathValue("id")); ok {
		j.Cancel(r.Context())
	}
	http.Redirect(w, r, "/work/"+url.PathEscape(r.PathValue("id")), http.StatusSeeOther)
}

func progress(said []tool.Progress) markup.Node {
	if len(said) == 0 {
		return nil
	}
	last := said[len(said)-1]
	var bar markup.Node
	if last.Total > 0 {
		bar = markup.Progress(markup.Max(number(last.Total)), markup.Value(number(last.Done)), markup.Aria("label", "progress"))
	}
	var lines strings.Builder
	for _, p := range said {
		if p.Message != "" {
			lines.WriteString(p.Message + "\n")
		}
	}
	return markup.Group{bar, page.Pre("reports", lines.String())}
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

// told is what came of the job, in its task's own way where it has one.
func (j *Job) told(o tool.Outcome) []markup.Node {
	if j.Task.Show != nil && !o.DryRun {
		if n := j.Task.Show(o); n != nil {
			return []markup.Node{n}
		}
	}
	return outcome(o)
}

// outcome is what came of work that is over.
func outcome(o tool.Outcome) []markup.Node {
	var body []markup.Node
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
		body = append(body, page.Notice(page.Warn, markup.P(markup.Text("Nothing was changed: the mode is plan. This is what would be done."))), planpage.Plan(o.Value))
	default:
		body = append(body, page.Notice(page.Good, markup.P(markup.Text("Done."))))
		if doc := present.For(o.Spec.Contract)(o); o.Text != "" || len(o.Value) == 0 {
			body = append(body, page.Pre("result", doc.Text))
		} else {
			body = append(body, page.Value(o.Value))
		}
	}
	for _, w := range o.Warnings {
		body = append(body, page.Notice(page.Warn, markup.P(markup.Text(w))))
	}
	return body
}
