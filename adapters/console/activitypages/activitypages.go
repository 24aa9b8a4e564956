// Package activitypages shows what was done: the calls that wanted to change something with what came of each, and the audit with its chain.
//
// It refuses to change any of it.
package activitypages

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/adapters/console/markup"
	"github.com/countersign-dev/countersign/adapters/console/page"
	"github.com/countersign-dev/countersign/adapters/console/planpage"
	"github.com/countersign-dev/countersign/adapters/console/runview"
	"github.com/countersign-dev/countersign/adapters/console/work"
	"github.com/countersign-dev/countersign/adapters/httpguard"
	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/toolrun"
)

// The paths of this section.
const (
	path      = "/activity"
	auditPath = "/audit"
)

// listed is how many runs, or records, a page has.
const listed = 50

// Door is what is asked: an *app.App.
type Door interface {
	Runs
	Trail
	Confirmations(ctx context.Context, session string) ([]confirm.View, error)
	AlwaysAllowed(ctx context.Context) ([]confirm.Always, error)
}

// Runs are the calls that wanted to change something.
type Runs interface {
	Runs(ctx context.Context, f app.RunFilter) ([]toolrun.Record, error)
	RunRecord(ctx context.Context, id string) (toolrun.Record, error)
}

// Trail is the audit.
type Trail interface {
	AuditSearch(ctx context.Context, f audit.Filter) ([]audit.Record, error)
	AuditTrail(ctx context.Context, after int64) iter.Seq2[audit.Record, error]
	VerifyAudit(ctx context.Context) (int64, error)
}

// Section is the section activity, with the audit.
type Section struct {
	desk  *work.Desk
	door  Door
	check check
}

// New is the section over that door. A check of the chain ends with life.
func New(life context.Context, desk *work.Desk, door Door) *Section {
	return &Section{desk: desk, door: door, check: check{life: life, door: door}}
}

// Mount adds the pages to a mux, through what lets people in.
func (s *Section) Mount(mux *http.ServeMux, person func(httpguard.Handler) http.Handler) {
	mux.Handle("GET "+path, person(s.list))
	mux.Handle("GET "+path+"/{id}", person(s.one))
	mux.Handle("GET "+auditPath, person(s.trail))
	mux.Handle("GET "+auditPath+"/export", person(s.export))
	mux.Handle("GET "+auditPath+"/{seq}", person(s.record))
	mux.Handle("POST "+auditPath+"/verify", person(s.verify))
}

func (s *Section) list(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	q := r.URL.Query()
	f := app.RunFilter{Tool: q.Get("tool"), Session: q.Get("session"), Limit: listed}
	if err := f.Status.UnmarshalText([]byte(q.Get("status"))); err != nil {
		s.fail(w, v, err)
		return
	}
	if at := q.Get("before"); at != "" {
		var err error
		if f.Before, err = time.Parse(time.RFC3339Nano, at); err != nil {
			s.fail(w, v, errMoment.Sayf("%q is no moment; use 2026-03-01T09:00:00Z", page.Printable(at)))
			return
		}
	}
	runs, err := s.door.Runs(r.Context(), f)
	if err != nil {
		s.fail(w, v, err)
		return
	}
	always, err := s.always(r.Context())
	if err != nil {
		s.fail(w, v, err)
		return
	}
	rows := make([]markup.Node, 0, len(runs))
	for _, run := range runs {
		rows = append(rows, row(v, run, always))
	}
	p := page.Page{Title: "Activity", Section: path, Notice: s.desk.Notice(r)}
	if q.Get("before") == "" {
		p.Live = work.Decided()
	}
	p.Body = []markup.Node{
		markup.P(markup.Text("The calls that wanted to change something, newest first. What was only looked at is in the "), page.To(auditPath, "audit"), markup.Text(".")),
		filter(f), page.Table("Calls that wanted to change something", []string{"Asked at", "What", "Tool", "Came to", "Asked by", "Decided by", "Took"}, rows,
			"There is no such call."), older(q, runs),
	}
	p.Write(w, http.StatusOK, v)
}

// errMoment reports a parameter that is no moment.
var errMoment = fault.New(fault.Invalid, "moment_invalid", "that is no moment")

func filter(f app.RunFilter) markup.Node {
	status := []page.Choice{{Value: "", Text: "any"}}
	for _, s := range toolrun.Statuses() {
		status = append(status, page.Choice{Value: s.String(), Text: statusWord(s)})
	}
	return page.Search(path, page.Select("status", "status", "Came to", f.Status.String(), status...), page.Field("tool", "tool", "Tool", f.Tool),
		page.Field("session", "session", "Session", f.Session), page.Button("Filter"))
}

func statusWord(s toolrun.Status) string {
	return map[toolrun.Status]string{toolrun.PendingConfirmation: "waits for a person", toolrun.Executing: "runs", toolrun.Completed: "done", toolrun.Failed: "failed",
		toolrun.Denied: "not done"}[s]
}

// always is which confirmations were answered with an "always" that still holds.
func (s *Section) always(ctx context.Context) (map[string]bool, error) {
	all, err := s.door.AlwaysAllowed(ctx)
	ids := make(map[string]bool, len(all))
	for _, g := range all {
		ids[g.ID] = true
	}
	return ids, err
}

func row(v httpguard.Visitor, r toolrun.Record, always map[string]bool) markup.Node {
	decided := markup.Group{markup.Text(runview.By(r.Decision))}
	if always[r.ConfirmationID] {
		decided = append(decided, markup.Text(", always "), page.Deed(v, "/settings/grants/"+url.PathEscape(r.ConfirmationID)+"/revoke", "Revoke", "what is always allowed of "+r.Tool))
	}
	came := markup.Group{runview.State(r)}
	if why := runview.Why(r); why != "" {
		came = append(came, markup.Text(" "+why))
	}
	return page.Row(page.When(r.At), page.To(pathOf(r.CallID), cmp.Or(page.Printable(r.What), page.Printable(r.Tool))), page.Name(r.Tool), came,
		markup.Text(page.Printable(r.Client)), decided, markup.Text(took(r)))
}

// took is how long it was carried out; empty for what was not.
func took(r toolrun.Record) string {
	if r.StartedAt.IsZero() || r.EndedAt.IsZero() || r.Reason == toolrun.Interrupted {
		return ""
	}
	return r.EndedAt.Sub(r.StartedAt).Round(time.Millisecond).String()
}

// older leads to the runs before those that are listed.
func older(q url.Values, runs []toolrun.Record) markup.Node {
	if len(runs) < listed {
		return nil
	}
	next := url.Values{"status": {q.Get("status")}, "tool": {q.Get("tool")}, "session": {q.Get("session")}, "before": {runs[len(runs)-1].At.Format(time.RFC3339Nano)}}
	return markup.P(page.To(path+"?"+next.Encode(), "Older ones"))
}

func pathOf(id string) string { return path + "/" + url.PathEscape(id) }

func (s *Section) fail(w http.ResponseWriter, v httpguard.Visitor, err error) {
	page.Fail(w, v, path, present.HTTPStatus(fault.From(err).Kind), err)
}

// one is everything about one call.
func (s *Section) one(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	rec, err := s.door.RunRecord(r.Context(), r.PathValue("id"))
	if err != nil {
		s.fail(w, v, err)
		return
	}
	p := page.Page{Title: page.Printable(cmp.Or(rec.What, rec.Tool)), Section: path, Crumbs: []page.Link{{Text: "Activity", Href: path}}}
	if !rec.Status.Final() {
		p.Live = work.Decided()
	}
	p.Body = []markup.Node{facts(rec, s.decided(r.Context(), rec)), s.plan(r.Context(), rec), page.Part("Arguments", page.Value(rec.Args)), result(rec), s.records(r.Context(), rec)}
	p.Write(w, http.StatusOK, v)
}

// decided is who decided about the call, and on which surface: as the audit has the answer, else as the record has it.
func (s *Section) decided(ctx context.Context, rec toolrun.Record) string {
	if rec.ConfirmationID != "" && rec.Reason != toolrun.Expired {
		found, err := s.door.AuditSearch(ctx, audit.Filter{Phase: audit.Answer, Call: rec.ConfirmationID, Limit: audit.AtMost})
		for _, r := range slices.Backward(found) { // the first answer counts
			if err == nil && r.Event.Code == "" && (r.Event.Verdict == "approve" || r.Event.Verdict == "deny") {
				return map[string]string{"approve": "approved by ", "deny": "denied by "}[r.Event.Verdict] + runview.Answered(r.Event)
			}
		}
	}
	return runview.By(rec.Decision)
}

func facts(r toolrun.Record, decided string) markup.Node {
	word := func(s string) markup.Node {
		if s == "" {
			return nil
		}
		return markup.Text(page.Printable(s))
	}
	moment := func(t time.Time) markup.Node {
		if t.IsZero() {
			return nil
		}
		return page.When(t)
	}
	return page.Facts(page.Fact{Name: "Came to", Value: runview.State(r)}, page.Fact{Name: "Because", Value: word(runview.Why(r))},
		page.Fact{Name: "Tool", Value: page.Code(page.Printable(r.Tool))}, page.Fact{Name: "Risk", Value: page.Risk(r.Risk.String())},
		page.Fact{Name: "Asked by", Value: word(r.Client)}, page.Fact{Name: "Session", Value: word(r.Session)}, page.Fact{Name: "On behalf of", Value: word(r.Principal)},
		page.Fact{Name: "Decided by", Value: word(decided)}, page.Fact{Name: "Asked at", Value: moment(r.At)}, page.Fact{Name: "Begun at", Value: moment(r.StartedAt)},
		page.Fact{Name: "Ended at", Value: moment(r.EndedAt)}, page.Fact{Name: "Took", Value: word(took(r))}, page.Fact{Name: "Call", Value: page.Code(page.Printable(r.CallID))},
		page.Fact{Name: "Confirmation", Value: word(r.ConfirmationID)})
}

// plan is what the call would do, as long as it waits: it is not kept longer.
func (s *Section) plan(ctx context.Context, rec toolrun.Record) markup.Node {
	if rec.Status != toolrun.PendingConfirmation {
		return nil
	}
	views, err := s.door.Confirmations(ctx, "")
	for _, c := range views {
		if err == nil && c.ID == rec.ConfirmationID {
			return page.Part("What it would do", planpage.Plan(c.Plan), markup.P(page.To("/approvals/"+url.PathEscape(c.ID), "Decide about it")))
		}
	}
	return nil
}

func result(r toolrun.Record) markup.Node {
	if r.Result == nil {
		return nil
	}
	body := markup.Group{}
	if r.Result.Error != "" {
		body = append(body, page.Notice(page.Bad, markup.P(markup.Text(page.Printable(r.Result.Error))), markup.P(markup.Text("code "+page.Printable(r.Result.Code)))))
	}
	switch out := r.Result.Output; {
	case strings.HasPrefix(out, "{") && json.Valid([]byte(out)):
		body = append(body, page.Value(json.RawMessage(out)))
	case out != "":
		body = append(body, page.Printed("result", out))
	}
	if len(body) == 0 {
		body = append(body, page.Empty("It said nothing."))
	}
	return page.Part("Result", body)
}

// records are what the audit has of the call and of its confirmation.
func (s *Section) records(ctx context.Context, rec toolrun.Record) markup.Node {
	var found []audit.Record
	for _, id := range []string{rec.ConfirmationID, rec.CallID, rec.Redeemed} {
		if id == "" {
			continue
		}
		more, err := s.door.AuditSearch(ctx, audit.Filter{Call: id, Limit: listed})
		if err != nil {
			return page.Part("In the audit", page.Problem(fault.From(err)))
		}
		found = append(found, more...)
	}
	rows := make([]markup.Node, 0, len(found))
	for _, r := range inOrder(found) {
		rows = append(rows, auditRow(r))
	}
	return page.Part("In the audit", page.Table("Audit records of this call", auditHeads(), rows, "The audit has no record of it."))
}
