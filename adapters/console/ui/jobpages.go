package ui

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// withdrawer may be implemented by a Core, to withdraw the approval request of a cancelled job.
type withdrawer interface {
	CancelApproval(ctx context.Context, id string) error
}

// doneParam is the parameter that tells a page which job has just ended.
const doneParam = "done"

// Do starts a task from a page's form and redirects: back if it is done, to the page of the job if it asks, takes longer or has failed.
func (d *CallRunner) Do(w http.ResponseWriter, r *http.Request, v httpauth.Identity, t Task) {
	j := d.Begin(r.Context(), v, t)
	http.Redirect(w, r, j.next(), http.StatusSeeOther)
}

// next returns the path of the page that shows the result of the job.
func (j *Job) next() string {
	if now := j.Now(); j.Task.Queued && now.State == JobAsking {
		return "/approvals/" + url.PathEscape(now.Outcome.Request.ID)
	}
	if now := j.Now(); now.State != JobOver || now.Outcome.Err != nil || j.Task.Back == "" || j.Task.Show != nil {
		return "/work/" + j.ID
	}
	sep := "?"
	if strings.Contains(j.Task.Back, "?") {
		sep = "&"
	}
	return j.Task.Back + sep + doneParam + "=" + j.ID
}

// Notice returns the result of a task for the page that it went back to; nil if there is none.
func (d *CallRunner) Notice(r *http.Request) Node {
	j, ok := d.Find(r.URL.Query().Get(doneParam))
	if !ok {
		return nil
	}
	now := j.Now()
	if now.State != JobOver || now.Outcome.Err != nil {
		return nil
	}
	said := cmp.Or(j.Task.Done, j.Task.Title+": done.")
	if now.Outcome.DryRun {
		said = j.Task.Title + ": preview only, nothing was changed."
	}
	return Notice(Good, P(TextNode(said+" "), LinkTo("/work/"+j.ID, "View result")), late(now))
}

// Mount adds the pages of jobs to a mux, behind the authentication of users.
func (d *CallRunner) Mount(mux *http.ServeMux, person func(httpauth.Handler) http.Handler) {
	mux.Handle("GET /work/{id}", person(d.show))
	mux.Handle("POST /work/{id}/answer", person(d.answer))
	mux.Handle("POST /work/{id}/answer/"+Revealing, person(d.reveal))
	mux.Handle("POST /work/{id}/cancel", person(d.stop))
}

func (d *CallRunner) show(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	j, ok := d.seen(v, r.PathValue("id"))
	if !ok {
		Fail(w, v, "", http.StatusNotFound, fault.New(fault.NotFound, "work_not_found", "this result is no longer cached; see Activity for the call record"))
		return
	}
	now := j.Now()
	p := Page{Title: j.Task.Title, Crumbs: j.crumbs()}
	switch now.State {
	case JobAsking:
		p.Live = Decided()
		p.Body = j.question(v, now)
	case JobOver:
		p.Body = append([]Node{late(now)}, append(j.told(now.Outcome), back(j))...)
	default:
		p.Live = []string{"tick"}
		p.Body = []Node{Notice(Plain, P(TextNode("Running. You can leave this page; the call continues."))),
			progress(now.Progress), ActionForm(v, "/work/"+j.ID+"/cancel", "Cancel", j.Task.Title)}
		if j.Task.Watch != nil {
			p.Body = append(p.Body, j.Task.Watch(r.Context(), now.Progress))
		}
	}
	p.Write(w, http.StatusOK, v)
}

// Decided returns the kinds of events after which a page with approval requests reloads: one was created, decided or applied.
func Decided() []string {
	return []string{"ai-tool-confirmation", "ai-tool-confirmation-closed", "ai-tool-state", "ai-tool-result"}
}

func (j *Job) crumbs() []PageLink {
	if j.Task.Back == "" {
		return nil
	}
	return []PageLink{{Text: "Back", Href: j.Task.Back}}
}

// late returns the message that another user had decided before; nil if that is not so.
func late(now JobSnapshot) Node {
	if now.Late == nil {
		return nil
	}
	return Notice(Warn, P(Text("This request was already decided. Your decision was not recorded.")))
}

func back(j *Job) Node {
	return P(LinkTo(cmp.Or(j.Task.Back, "/"), "Back"))
}

func (j *Job) question(v httpauth.Identity, now JobSnapshot) []Node {
	i := now.Outcome.Request
	view := confirm.View{ID: i.ID, Tool: string(i.Tool), Strength: i.Strength, Risk: i.Risk, Prompt: i.Prompt, Target: i.Target, PlanHash: i.PlanHash,
		Plan: i.Plan, Exhibit: i.Exhibit, Arguments: i.Args, IssuedAt: i.IssuedAt, ExpiresAt: i.ExpiresAt, Needs: i.Needs, Redacted: i.Redacted}
	return j.questionOf(v, view, now)
}

func (j *Job) questionOf(v httpauth.Identity, view confirm.View, now JobSnapshot) []Node {
	var wrong Node
	if now.Wrong != nil {
		wrong = Problem(fault.From(now.Wrong))
	}
	return []Node{wrong, Div(Class("decision"), Question(view, ""), Decide(v, "/work/"+j.ID+"/answer", view, false))}
}

// The fields of a decision form.
const (
	fieldDecision = "decision" // approve, always, until or deny
	fieldTyped    = "typed_value"
	fieldReason   = "reason"
	fieldPlan     = "plan_hash"
	fieldRevealed = "revealed"
)

// Decide returns the forms that decide an approval request: one to approve and one to deny, so that Enter in a field cannot trigger the other. Both
// contain the hash of the shown plan. always offers a session grant if the request allows one; more is what else can be decided.
func Decide(v httpauth.Identity, action string, c confirm.View, always bool, more ...Node) Node {
	if c.MustReveal && !c.Revealed {
		return Div(Class("decide"), reveal(v, action, c), Deny(v, action, c))
	}
	var typed, lasting Node
	if c.Strength >= policy.Typed {
		typed = Field("typed-"+c.ID, fieldTyped, "Type \""+c.Target+"\" to approve", "", Required())
	}
	var keyed Node
	if able := handles(v); len(able) > 0 && (confirm.Proof{Surface: confirm.SurfacePasskey}).Meets(c.Needs) {
		keyed = withPasskey(v, action, c, able, typed)
	}
	if !v.Proof().Meets(c.Needs) {
		if keyed == nil {
			return Div(Class("decide"), missing(v, c), Deny(v, action, c))
		}
		return Div(Class("decide"), reveal(v, action, c), keyed, Deny(v, action, c))
	}
	if keyed != nil && c.Strength >= policy.Typed { // the name is typed in one place only
		typed = Field("typed-plain-"+c.ID, fieldTyped, "Or type \""+c.Target+"\" to approve without a passkey", "", Required())
	}
	if always && c.AllowsSessionGrant() {
		label := Always(c)
		lasting = Disclosure("Allow in this session …", false, PostForm(v, action, Hidden(fieldPlan, c.PlanHash.String()), If(c.Revealed, Hidden(fieldRevealed, "yes")),
			Div(Class("buttons"), SubmitButton(label, Name(fieldDecision), Value("always"), Data("patience", patient), about(label, c)))))
	}
	return Div(Class("decide"), reveal(v, action, c), keyed,
		PostForm(v, action, Hidden(fieldPlan, c.PlanHash.String()), If(c.Revealed, Hidden(fieldRevealed, "yes")), typed, Div(Class("buttons"),
			SubmitButton("Approve", Name(fieldDecision), Value("approve"), Class("go"), Data("patience", patient), about("Approve", c)))),
		Deny(v, action, c), lasting, Group(more))
}

// Always returns the label of the button that gives a session grant: what the grant is bound to, and what not.
func Always(c confirm.View) string {
	return "Always allow in this session: " + Printable(c.AlwaysTerms())
}

// Deny returns the form that denies an approval request, with an optional reason.
func Deny(v httpauth.Identity, action string, c confirm.View) Node {
	return PostForm(v, action, Hidden(fieldPlan, c.PlanHash.String()),
		Field("reason-"+c.ID, fieldReason, "Reason (optional; sent to the client)", "", MaxLength(strconv.Itoa(confirm.MaxReason))),
		Div(Class("buttons"), Danger("Deny", Name(fieldDecision), Value("deny"), about("Deny", c))))
}

// patient is how long an approving button ignores presses after it became visible, in milliseconds.
const patient = "700"

// about returns the label of a button for screen readers.
func about(label string, c confirm.View) Node {
	return Aria("label", label+": "+c.Prompt)
}

// Answer returns the decision in the form of Decide, for the plan that the form showed. It fails for a value that Decide does not offer, or without a
// plan hash.
func Answer(r *http.Request, v httpauth.Identity) (confirm.Decision, error) {
	a := confirm.Decision{Typed: r.PostFormValue(fieldTyped), Reason: r.PostFormValue(fieldReason), By: AnswererOf(v), Revealed: r.PostFormValue(fieldRevealed) == "yes"}
	switch r.PostFormValue(fieldDecision) {
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
	if a.Shown, err = canon.Parse(r.PostFormValue(fieldPlan)); err != nil || a.Shown.IsZero() {
		return a, ErrDecision
	}
	return a, nil
}

// ErrDecision is returned for a form without a complete decision.
var ErrDecision = fault.New(fault.Invalid, "decision_incomplete", "the form has no decision or no plan hash; go back to the approval request and decide there")

func (d *CallRunner) answer(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	j, ok := d.seen(v, r.PathValue("id"))
	if !ok {
		d.show(w, r, v)
		return
	}
	a, err := Answer(r, v)
	if err != nil {
		Fail(w, v, "", http.StatusBadRequest, err)
		return
	}
	j.Answer(r.Context(), a)
	http.Redirect(w, r, j.next(), http.StatusSeeOther)
}

func (d *CallRunner) stop(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	if j, ok := d.seen(v, r.PathValue("id")); ok {
		j.Cancel(r.Context())
	}
	http.Redirect(w, r, "/work/"+url.PathEscape(r.PathValue("id")), http.StatusSeeOther)
}

func progress(said []tool.Progress) Node {
	if len(said) == 0 {
		return nil
	}
	last := said[len(said)-1]
	var bar Node
	if last.Total > 0 {
		bar = Progress(Max(number(last.Total)), Value(number(last.Done)), Aria("label", "progress"))
	}
	var lines strings.Builder
	for _, p := range said {
		if p.Message != "" {
			lines.WriteString(p.Message + "\n")
		}
	}
	return Group{bar, CodeBlock("reports", lines.String())}
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

// told returns the result of the job, shown by its task if that has a function for it.
func (j *Job) told(o tool.Outcome) []Node {
	if j.Task.Show != nil && !o.DryRun {
		if n := j.Task.Show(o); n != nil {
			return []Node{n}
		}
	}
	return outcome(o)
}

// outcome returns the result of a completed job.
func outcome(o tool.Outcome) []Node {
	var body []Node
	switch {
	case o.Err != nil:
		f := fault.From(o.Err)
		body = append(body, Problem(f))
		if details, err := tool.Encode(f.Details); err == nil && f.Details != nil {
			body = append(body, Part("Error details", JSONValue(details)))
		}
		if o.Explained {
			body = append(body, Part("Plan", Plan(o.Value)))
		}
		return body
	case o.DryRun:
		body = append(body, Notice(Warn, P(TextNode("Preview only (mode: plan). Nothing was changed."))), Plan(o.Value))
	default:
		body = append(body, Notice(Good, P(TextNode("Done."))))
		if doc := present.For(o.Spec.Contract)(o); o.Text != "" || len(o.Value) == 0 {
			body = append(body, CodeBlock("result", doc.Text))
		} else {
			body = append(body, JSONValue(o.Value))
		}
	}
	for _, w := range o.Warnings {
		body = append(body, Notice(Warn, P(TextNode(w))))
	}
	return body
}
