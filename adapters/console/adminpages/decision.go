package adminpages

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/enrolled"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// answeredParam is the parameter that tells the list which request was just decided on it.
const answeredParam = "answered"

// queueParam is the parameter of a request that the queue opened: once it is decided, the queue opens the next one.
const queueParam = "queue"

// elsewhereParam is the parameter that tells the queue which shown request was decided by another user.
const elsewhereParam = "elsewhere"

// answer handles the user's decision.
func (s *approvalSection) answer(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	id := r.PathValue("id")
	if job, own := s.runner.Asking(id); own {
		http.Redirect(w, r, "/work/"+url.PathEscape(job.ID), http.StatusSeeOther)
		return
	}
	a, err := ui.Answer(r, v)
	if err != nil {
		s.fail(w, v, err)
		return
	}
	c, waits, err := s.waiting(r.Context(), id)
	switch {
	case err != nil:
		s.fail(w, v, err)
		return
	case waits && a.Approve && !s.runner.Decides(v, tool.Name(c.Tool)):
		s.fail(w, v, httpauth.ErrReach)
		return
	}
	a.ID, a.Always = id, a.Always && c.Session != v.Session
	if c.Session == v.Session {
		a.Until = nil
	}
	settled, err := s.core.Answer(r.Context(), a)
	switch f := fault.From(err); {
	case errors.Is(err, confirm.ErrAnswered) && settled.State == confirm.Approved.String():
		s.taken(w, r, v, settled)
	case errors.Is(err, confirm.ErrAnswered):
		s.late(w, r, v, err)
	case err == nil:
		http.Redirect(w, r, approvalPath+"?"+answeredParam+"="+url.QueryEscape(id), http.StatusSeeOther)
	case (errors.Is(err, confirm.ErrTyped) || errors.Is(err, confirm.ErrProof) || errors.Is(err, enrolled.ErrUnproven) || errors.Is(err, confirm.ErrUngrantable)) && waits:
		s.question(w, v, s.approvalSheet(r.Context(), v, c), http.StatusUnprocessableEntity, ui.Problem(f))
	case errors.Is(err, confirm.ErrMismatch):
		s.outdated(w, v, c, f)
	case f.Kind == fault.Unconfirmed || errors.Is(err, confirm.ErrDenied):
		s.late(w, r, v, err)
	default:
		s.fail(w, v, err)
	}
}

// taken answers that another user approved the request first.
func (s *approvalSection) taken(w http.ResponseWriter, r *http.Request, v httpauth.Identity, c confirm.View) {
	who := cmp.Or(ui.AnsweredBy(s.first(r.Context(), c.ID, "approve")), ui.DecidedBy(c.Answerer))
	ui.Page{Title: "Already approved", Section: approvalPath, Crumbs: crumbs(), Body: []ui.Node{
		ui.Notice(ui.Warn, ui.P(ui.TextNode(ui.Printable(c.Prompt)+": already approved by "+who+". Your decision was not recorded."))),
		ui.P(ui.LinkTo(approvalPathOf(c.ID), "View call")),
	}}.Write(w, http.StatusConflict, v)
}

// outdated answers that the plan changed since it was shown, with the differences and the next step.
func (s *approvalSection) outdated(w http.ResponseWriter, v httpauth.Identity, c confirm.View, f *fault.Error) {
	changed, differs := f.Details.(app.PlanChange)
	why := ui.Printable(f.Message)
	if differs {
		why = "the plan changed since you saw it"
	}
	body := []ui.Node{
		ui.Notice(ui.Bad, ui.P(ui.TextNode(ui.Printable(c.Prompt))), ui.P(ui.TextNode("Nothing was approved: "+why+"."))),
		ui.P(ui.TextNode("The plan changed, so the request was cancelled. If the agent retries, a new request appears under "), ui.LinkTo(approvalPath, "Approvals"), ui.TextNode(".")),
	}
	if len(changed.Differences) > 0 {
		rows := make([]ui.Node, 0, len(changed.Differences))
		for _, d := range changed.Differences {
			rows = append(rows, ui.Row(ui.InlineCode(ui.Printable(d.Path)), side(d.Before), side(d.After)))
		}
		body = append(body, ui.Part("Changes", ui.DataTable("differences between the shown plan and the current plan",
			[]string{"Field", "Shown", "Current"}, rows, "")))
	}
	ui.Page{Title: "Plan changed", Section: approvalPath, Crumbs: crumbs(), Body: body}.Write(w, http.StatusConflict, v)
}

// side returns one side of a difference.
func side(doc json.RawMessage) ui.Node {
	if len(doc) == 0 {
		return ui.Span(ui.Class("quiet"), ui.TextNode("absent"))
	}
	return ui.JSONValue(doc)
}

// late answers that the request was already decided, by whom and how, or that it has expired.
func (s *approvalSection) late(w http.ResponseWriter, r *http.Request, v httpauth.Identity, cause error) {
	rec, err := s.core.CallRecord(r.Context(), r.PathValue("id"))
	if err != nil { // without a call record, only the error is known
		s.fail(w, v, cause)
		return
	}
	notice := ui.Notice(ui.Bad, ui.P(ui.TextNode("This request was already decided. Your decision was not recorded.")))
	s.told(w, v, http.StatusConflict, ending{rec, s.answerer(r.Context(), r.PathValue("id"), rec)}, notice)
}

// answerer returns who decided the request, and how: the first decision in the audit log that had an effect. Decisions without effect have a code.
func (s *approvalSection) answerer(ctx context.Context, id string, rec tool.Record) audit.Event {
	verdict := "approve"
	switch {
	case rec.Reason == tool.ReasonUserDenied:
		verdict = "deny"
	case rec.Status == tool.StatusDenied:
		verdict = "cancel"
	}
	return s.first(ctx, id, verdict)
}

// first returns the first decision with that verdict that took effect for the request.
func (s *approvalSection) first(ctx context.Context, id, verdict string) audit.Event {
	found, err := s.core.AuditSearch(ctx, audit.Filter{Phase: audit.Answer, Call: id, Limit: audit.MaxListed})
	for _, r := range slices.Backward(found) {
		if err == nil && r.Event.Verdict == verdict && r.Event.Code == "" {
			return r.Event
		}
	}
	return audit.Event{}
}

// over is the page of a request that is no longer pending.
func (s *approvalSection) over(w http.ResponseWriter, v httpauth.Identity, rec tool.Record, by audit.Event) {
	s.told(w, v, http.StatusOK, ending{rec, by})
}

// ending is the result of a request, and the decision behind it.
type ending struct {
	tool.Record
	by audit.Event
}

// state returns the status: an approved request waits for its call, not for the user.
func state(e ending) ui.Node {
	if e.Status == tool.StatusPendingConfirmation && e.by.Verdict == "approve" {
		return ui.Badge(ui.Good, "Approved; waiting for the client")
	}
	return ui.CallStatus(e.Record)
}

// told shows the result of a request, and whose decision it was.
func (s *approvalSection) told(w http.ResponseWriter, v httpauth.Identity, status int, e ending, above ...ui.Node) {
	rec, by := e.Record, e.by
	verb := map[string]string{"approve": "Approved by ", "deny": "Denied by ", "cancel": "Cancelled by "}[by.Verdict]
	who := ui.AnsweredBy(by)
	switch by.ApprovedBy {
	case "client":
		who = "the client"
	case "changed", "superseded":
		who = "Countersign"
	}
	var decided ui.Node
	if verb != "" && who != "" {
		decided = ui.Group{ui.TextNode(verb + who + ", "), ui.When(by.Time)}
	}
	var why ui.Node
	if words := ui.FailureReason(rec); words != "" {
		why = ui.TextNode(words)
	}
	body := append(above, ui.P(ui.Class("prompt"), ui.TextNode(ui.Printable(cmp.Or(rec.What, rec.Tool)))),
		ui.Facts(ui.Fact{Name: "Status", Value: state(e)}, ui.Fact{Name: "Reason", Value: why}, ui.Fact{Name: "Decision", Value: decided}),
		ui.P(record(rec)), ui.P(ui.LinkTo(approvalPath, "Pending approvals")))
	p := ui.Page{Title: "Already decided", Section: approvalPath, Crumbs: crumbs(), Body: body}
	if status == http.StatusOK && (rec.Status == tool.StatusPendingConfirmation || rec.Status == tool.StatusExecuting) {
		p.Live = ui.Decided() // the result is not known yet
	}
	p.Write(w, status, v)
}

// came returns the result of the request that was just decided in the queue, or decided by another user; nil for none.
func (s *approvalSection) came(r *http.Request) ui.Node {
	id := cmp.Or(r.URL.Query().Get(answeredParam), r.URL.Query().Get(elsewhereParam))
	if id == "" {
		return nil
	}
	rec, err := s.core.CallRecord(r.Context(), id)
	if err != nil {
		return nil
	}
	tone, words, who := ui.Good, "", ""
	if r.URL.Query().Has(elsewhereParam) {
		if who = ui.AnsweredBy(s.answerer(r.Context(), id, rec)); who != "" {
			who = " (decided by " + who + ")"
		}
	}
	switch rec.Status {
	case tool.StatusPendingConfirmation:
		words = "approved; runs when the client continues or retries the call"
	case tool.StatusExecuting:
		words = "approved, now running"
	case tool.StatusCompleted:
		words = "approved and completed"
	default:
		tone, words = ui.Plain, ui.FailureReason(rec)
	}
	return ui.Notice(tone, ui.P(ui.TextNode(ui.Printable(cmp.Or(rec.What, rec.Tool))+": "+words+who+". "), record(rec)))
}
