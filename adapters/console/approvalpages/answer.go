package approvalpages

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"

	"github.com/countersign-dev/countersign/adapters/console/markup"
	"github.com/countersign-dev/countersign/adapters/console/page"
	"github.com/countersign-dev/countersign/adapters/console/runview"
	"github.com/countersign-dev/countersign/adapters/console/work"
	"github.com/countersign-dev/countersign/adapters/httpguard"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/enrolled"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/domain/toolrun"
)

// answeredParam is the parameter that tells the list which confirmation was just answered on it.
const answeredParam = "answered"

// answer takes what a person decided.
func (s *Section) answer(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	id := r.PathValue("id")
	if job, own := s.desk.Asking(id); own {
		http.Redirect(w, r, "/work/"+url.PathEscape(job.ID), http.StatusSeeOther)
		return
	}
	a, err := work.Answer(r, v)
	if err != nil {
		s.fail(w, v, err)
		return
	}
	c, waits, err := s.waiting(r.Context(), id)
	switch {
	case err != nil:
		s.fail(w, v, err)
		return
	case waits && a.Approve && !s.desk.Decides(v, tool.Name(c.Tool)):
		s.fail(w, v, httpguard.ErrReach)
		return
	}
	a.ID, a.Always = id, a.Always && c.Session != v.Session
	if c.Session == v.Session {
		a.Until = nil
	}
	settled, err := s.door.Answer(r.Context(), a)
	switch f := fault.From(err); {
	case errors.Is(err, confirm.ErrAnswered) && settled.State == confirm.Approved.String():
		s.taken(w, r, v, settled)
	case errors.Is(err, confirm.ErrAnswered):
		s.late(w, r, v, err)
	case err == nil:
		http.Redirect(w, r, path+"?"+answeredParam+"="+url.QueryEscape(id), http.StatusSeeOther)
	case (errors.Is(err, confirm.ErrTyped) || errors.Is(err, confirm.ErrProof) || errors.Is(err, enrolled.ErrUnproven) || errors.Is(err, confirm.ErrUngrantable)) && waits:
		s.question(w, v, s.sheet(r.Context(), v, c), http.StatusUnprocessableEntity, page.Problem(f))
	case errors.Is(err, confirm.ErrMismatch):
		s.outdated(w, v, c, f)
	case f.Kind == fault.Unconfirmed || errors.Is(err, confirm.ErrDenied):
		s.late(w, r, v, err)
	default:
		s.fail(w, v, err)
	}
}

// taken says that somebody else has approved it first.
func (s *Section) taken(w http.ResponseWriter, r *http.Request, v httpguard.Visitor, c confirm.View) {
	who := cmp.Or(runview.Answered(s.first(r.Context(), c.ID, "approve")), runview.By(c.Answerer))
	page.Page{Title: "Approved already", Section: path, Crumbs: crumbs(), Body: []markup.Node{
		page.Notice(page.Warn, markup.P(markup.Text(page.Printable(c.Prompt)+": "+who+" approved it before you. Your answer changed nothing."))),
		markup.P(page.To(pathOf(c.ID), "What has become of it")),
	}}.Write(w, http.StatusConflict, v)
}

// outdated says that what would be done is not what was shown any more, where the two differ, and what to do about it.
func (s *Section) outdated(w http.ResponseWriter, v httpguard.Visitor, c confirm.View, f *fault.Error) {
	changed, differs := f.Details.(app.Changed)
	why := page.Printable(f.Message)
	if differs {
		why = "what would be done now is not what you were shown"
	}
	body := []markup.Node{
		page.Notice(page.Bad, markup.P(markup.Text(page.Printable(c.Prompt))), markup.P(markup.Text("Nothing was approved: "+why+"."))),
		markup.P(markup.Text("The question was withdrawn. The agent is told, and asks again for what it would do now; that appears under "), page.To(path, "Approvals"), markup.Text(".")),
	}
	if len(changed.Differences) > 0 {
		rows := make([]markup.Node, 0, len(changed.Differences))
		for _, d := range changed.Differences {
			rows = append(rows, page.Row(page.Code(page.Printable(d.Path)), side(d.Before), side(d.After)))
		}
		body = append(body, page.Part("What has changed", page.Table("differences between the plan that was shown and the one there is now",
			[]string{"Where", "As it was shown", "As it is now"}, rows, "")))
	}
	page.Page{Title: "The plan has changed", Section: path, Crumbs: crumbs(), Body: body}.Write(w, http.StatusConflict, v)
}

// side is one side of a difference.
func side(doc json.RawMessage) markup.Node {
	if len(doc) == 0 {
		return markup.Span(markup.Class("quiet"), markup.Text("was not there"))
	}
	return page.Value(doc)
}

// late says that it was decided before this answer came, by whom and how, or that it has run out.
func (s *Section) late(w http.ResponseWriter, r *http.Request, v httpguard.Visitor, cause error) {
	rec, err := s.door.RunRecord(r.Context(), r.PathValue("id"))
	if err != nil { // it left no record: what the ledger says is all there is
		s.fail(w, v, cause)
		return
	}
	notice := page.Notice(page.Bad, markup.P(markup.Text("Your answer came too late and changed nothing.")))
	s.told(w, v, http.StatusConflict, ending{rec, s.answerer(r.Context(), r.PathValue("id"), rec)}, notice)
}

// answerer is who settled the confirmation, and how, as the audit has it: the first who said what came of it. What settled nothing has a code.
func (s *Section) answerer(ctx context.Context, id string, rec toolrun.Record) audit.Event {
	verdict := "approve"
	switch {
	case rec.Reason == toolrun.UserDenied:
		verdict = "deny"
	case rec.Status == toolrun.Denied:
		verdict = "cancel"
	}
	return s.first(ctx, id, verdict)
}

// first is the first answer of that word which settled the confirmation.
func (s *Section) first(ctx context.Context, id, verdict string) audit.Event {
	found, err := s.door.AuditSearch(ctx, audit.Filter{Phase: audit.Answer, Call: id, Limit: audit.AtMost})
	for _, r := range slices.Backward(found) {
		if err == nil && r.Event.Verdict == verdict && r.Event.Code == "" {
			return r.Event
		}
	}
	return audit.Event{}
}

// over is the page of a confirmation that does not wait any more.
func (s *Section) over(w http.ResponseWriter, v httpguard.Visitor, rec toolrun.Record, by audit.Event) {
	s.told(w, v, http.StatusOK, ending{rec, by})
}

// ending is what has become of a confirmation, and the answer that did it.
type ending struct {
	toolrun.Record
	by audit.Event
}

// state is how it stands: what is approved waits for its call, not for a person.
func state(e ending) markup.Node {
	if e.Status == toolrun.PendingConfirmation && e.by.Verdict == "approve" {
		return page.Badge(page.Good, "approved; waits for its call")
	}
	return runview.State(e.Record)
}

// told says what has become of a confirmation, and by whose answer.
func (s *Section) told(w http.ResponseWriter, v httpguard.Visitor, status int, e ending, above ...markup.Node) {
	rec, by := e.Record, e.by
	verb := map[string]string{"approve": "approved it", "deny": "denied it", "cancel": "withdrew it"}[by.Verdict]
	who := runview.Answered(by)
	switch by.ApprovedBy {
	case "client":
		who = "the agent's client"
	case "changed", "superseded":
		who = "Countersign"
	}
	var decided markup.Node
	if verb != "" && who != "" {
		decided = markup.Group{markup.Text(who + " " + verb + ", at "), page.When(by.Time)}
	}
	var why markup.Node
	if words := runview.Why(rec); words != "" {
		why = markup.Text(words)
	}
	body := append(above, markup.P(markup.Class("prompt"), markup.Text(page.Printable(cmp.Or(rec.What, rec.Tool)))),
		page.Facts(page.Fact{Name: "Now", Value: state(e)}, page.Fact{Name: "Because", Value: why}, page.Fact{Name: "Decided", Value: decided}),
		markup.P(record(rec)), markup.P(page.To(path, "What waits now")))
	page.Page{Title: "Decided already", Section: path, Crumbs: crumbs(), Body: body}.Write(w, status, v)
}

// came tells, on the list, what came of the confirmation that was just answered there; nil when none was.
func (s *Section) came(r *http.Request) markup.Node {
	id := r.URL.Query().Get(answeredParam)
	if id == "" {
		return nil
	}
	rec, err := s.door.RunRecord(r.Context(), id)
	if err != nil {
		return nil
	}
	tone, words := page.Good, ""
	switch rec.Status {
	case toolrun.PendingConfirmation:
		words = "approved; it is carried out when the agent looks again, which it does at once where its call still waits"
	case toolrun.Executing:
		words = "approved, and being carried out"
	case toolrun.Completed:
		words = "approved, and done"
	default:
		tone, words = page.Plain, runview.Why(rec)
	}
	return page.Notice(tone, markup.P(markup.Text(page.Printable(cmp.Or(rec.What, rec.Tool))+": "+words+". "), record(rec)))
}
