package adminpages

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

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// The paths of this section.
const (
	path      = "/activity"
	auditPath = "/audit"
)

// listed is the maximum number of calls, or audit records, on a page.
const listed = 50

// ActivityCore is the core: an *app.App.
type ActivityCore interface {
	runs
	AuditLog
	Confirmations(ctx context.Context, session string) ([]confirm.View, error)
	SessionGrants(ctx context.Context) ([]confirm.ListedGrant, error)
}

// runs reads the call records.
type runs interface {
	Calls(ctx context.Context, f app.RunFilter) ([]tool.Record, error)
	CallRecord(ctx context.Context, id string) (tool.Record, error)
}

// AuditLog reads and verifies the audit log.
type AuditLog interface {
	AuditSearch(ctx context.Context, f audit.Filter) ([]audit.Record, error)
	AuditTrail(ctx context.Context, after int64) iter.Seq2[audit.Record, error]
	AuditRemoved(ctx context.Context, seq int64) (by int64, err error)
	VerifyAudit(ctx context.Context) (int64, error)
}

// ActivitySection provides the activity pages and the audit log.
type ActivitySection struct {
	runner *ui.CallRunner
	core   ActivityCore
	check  check
}

// NewActivitySection returns the activity section of that core. When life ends, a running verification is cancelled.
func NewActivitySection(life context.Context, runner *ui.CallRunner, core ActivityCore) *ActivitySection {
	return &ActivitySection{runner: runner, core: core, check: check{life: life, core: core}}
}

// Mount adds the pages to a mux, behind the authentication of users.
func (s *ActivitySection) Mount(mux *http.ServeMux, person func(httpauth.Handler) http.Handler) {
	mux.Handle("GET "+path, person(s.list))
	mux.Handle("GET "+path+"/{id}", person(s.one))
	mux.Handle("GET "+auditPath, person(s.trail))
	mux.Handle("GET "+auditPath+"/export", person(s.export))
	mux.Handle("GET "+auditPath+"/{seq}", person(s.record))
	mux.Handle("POST "+auditPath+"/verify", person(s.verify))
}

func (s *ActivitySection) list(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	q := r.URL.Query()
	f := app.RunFilter{Tool: q.Get("tool"), Session: q.Get("session"), Limit: listed}
	if err := f.Status.UnmarshalText([]byte(q.Get("status"))); err != nil {
		s.fail(w, v, err)
		return
	}
	if at := q.Get("before"); at != "" {
		var err error
		if f.Before, err = time.Parse(time.RFC3339Nano, at); err != nil {
			s.fail(w, v, errMoment.WithMessage("invalid time %q; use a form such as 2026-03-01T09:00:00Z", ui.Printable(at)))
			return
		}
	}
	runs, err := s.core.Calls(r.Context(), f)
	if err != nil {
		s.fail(w, v, err)
		return
	}
	always, err := s.always(r.Context())
	if err != nil {
		s.fail(w, v, err)
		return
	}
	rows := make([]ui.Node, 0, len(runs))
	for _, run := range runs {
		rows = append(rows, row(v, run, always))
	}
	p := ui.Page{Title: "Activity", Section: path, Notice: s.runner.Notice(r)}
	if q.Get("before") == "" {
		p.Live = ui.Decided()
	}
	p.Body = []ui.Node{
		ui.P(ui.TextNode("Calls that change something, newest first. Read-only calls are in the "), ui.LinkTo(auditPath, "audit log"), ui.TextNode(".")),
		filter(f), ui.DataTable("Tool calls that change something", []string{"Requested", "Call", "Tool", "Status", "Client", "Decision", "Duration"}, rows,
			"No matching calls."), older(q, runs),
	}
	p.Write(w, http.StatusOK, v)
}

// errMoment is returned for an invalid time.
var errMoment = fault.New(fault.Invalid, "moment_invalid", "invalid time; use a form such as 2026-03-01T09:00:00Z")

func filter(f app.RunFilter) ui.Node {
	status := []ui.Choice{{Value: "", Text: "any"}}
	for _, s := range tool.Statuses() {
		status = append(status, ui.Choice{Value: s.String(), Text: statusWord(s)})
	}
	return ui.Search(path, ui.SelectField("status", "status", "Status", f.Status.String(), status...), ui.Field("tool", "tool", "Tool", f.Tool),
		ui.Field("session", "session", "Session", f.Session), ui.SubmitButton("Filter"))
}

func statusWord(s tool.Status) string {
	return map[tool.Status]string{tool.StatusPendingConfirmation: "Waiting for approval", tool.StatusExecuting: "Running", tool.StatusCompleted: "Completed", tool.StatusFailed: "Failed",
		tool.StatusDenied: "Denied"}[s]
}

// always returns the approval requests with an active session grant.
func (s *ActivitySection) always(ctx context.Context) (map[string]confirm.ListedGrant, error) {
	all, err := s.core.SessionGrants(ctx)
	held := make(map[string]confirm.ListedGrant, len(all))
	for _, g := range all {
		held[g.ID] = g
	}
	return held, err
}

func row(v httpauth.Identity, r tool.Record, always map[string]confirm.ListedGrant) ui.Node {
	decided := ui.Group{ui.TextNode(ui.DecidedBy(r.Decision))}
	if held, ok := always[r.ConfirmationID]; ok {
		decided = append(decided, ui.TextNode(", session grant "), ui.ActionForm(v, "/settings/grants/"+url.PathEscape(r.ConfirmationID)+"/revoke", "Revoke", "session grant: "+ui.Printable(held.String())))
	}
	came := ui.Group{ui.CallStatus(r)}
	if why := ui.FailureReason(r); why != "" {
		came = append(came, ui.TextNode(" "+why))
	}
	return ui.Row(ui.When(r.At), ui.LinkTo(pathOf(r.CallID), cmp.Or(ui.Printable(r.What), ui.Printable(r.Tool))), ui.ToolName(r.Tool), came,
		ui.TextNode(ui.Printable(r.Client)), decided, ui.TextNode(took(r)))
}

// took returns how long the call ran; empty if it was not applied.
func took(r tool.Record) string {
	if r.StartedAt.IsZero() || r.EndedAt.IsZero() || r.Reason == tool.ReasonInterrupted {
		return ""
	}
	return r.EndedAt.Sub(r.StartedAt).Round(time.Millisecond).String()
}

// older links to the calls before those that are listed.
func older(q url.Values, runs []tool.Record) ui.Node {
	if len(runs) < listed {
		return nil
	}
	next := url.Values{"status": {q.Get("status")}, "tool": {q.Get("tool")}, "session": {q.Get("session")}, "before": {runs[len(runs)-1].At.Format(time.RFC3339Nano)}}
	return ui.P(ui.LinkTo(path+"?"+next.Encode(), "Older"))
}

func pathOf(id string) string { return path + "/" + url.PathEscape(id) }

func (s *ActivitySection) fail(w http.ResponseWriter, v httpauth.Identity, err error) {
	ui.Fail(w, v, path, present.HTTPStatus(fault.From(err).Kind), err)
}

// one shows everything about one call.
func (s *ActivitySection) one(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	rec, err := s.core.CallRecord(r.Context(), r.PathValue("id"))
	if err != nil {
		s.fail(w, v, err)
		return
	}
	p := ui.Page{Title: ui.Printable(cmp.Or(rec.What, rec.Tool)), Section: path, Crumbs: []ui.PageLink{{Text: "Activity", Href: path}}}
	if !rec.Status.Final() {
		p.Live = ui.Decided()
	}
	p.Body = []ui.Node{facts(rec, s.decided(r.Context(), rec)), s.plan(r.Context(), rec), ui.Part("Arguments", ui.JSONValue(rec.Args)), result(rec), s.records(r.Context(), rec)}
	p.Write(w, http.StatusOK, v)
}

// decided returns who decided on the call, and on which surface: from the audit log, else from the call record.
func (s *ActivitySection) decided(ctx context.Context, rec tool.Record) string {
	if rec.ConfirmationID != "" && rec.Reason != tool.ReasonExpired {
		found, err := s.core.AuditSearch(ctx, audit.Filter{Phase: audit.Answer, Call: rec.ConfirmationID, Limit: audit.MaxListed})
		for _, r := range slices.Backward(found) { // the first decision counts
			if err == nil && r.Event.Code == "" && (r.Event.Verdict == "approve" || r.Event.Verdict == "deny") {
				return map[string]string{"approve": "approved by ", "deny": "denied by "}[r.Event.Verdict] + ui.AnsweredBy(r.Event)
			}
		}
	}
	return ui.DecidedBy(rec.Decision)
}

func facts(r tool.Record, decided string) ui.Node {
	word := func(s string) ui.Node {
		if s == "" {
			return nil
		}
		return ui.TextNode(ui.Printable(s))
	}
	moment := func(t time.Time) ui.Node {
		if t.IsZero() {
			return nil
		}
		return ui.When(t)
	}
	return ui.Facts(ui.Fact{Name: "Status", Value: ui.CallStatus(r)}, ui.Fact{Name: "Reason", Value: word(ui.FailureReason(r))},
		ui.Fact{Name: "Tool", Value: ui.InlineCode(ui.Printable(r.Tool))}, ui.Fact{Name: "Risk", Value: ui.Risk(r.Risk.String())},
		ui.Fact{Name: "Client", Value: word(r.Client)}, ui.Fact{Name: "Session", Value: word(r.Session)}, ui.Fact{Name: "Principal", Value: word(r.Principal)},
		ui.Fact{Name: "Decision", Value: word(decided)}, ui.Fact{Name: "Requested", Value: moment(r.At)}, ui.Fact{Name: "Started", Value: moment(r.StartedAt)},
		ui.Fact{Name: "Finished", Value: moment(r.EndedAt)}, ui.Fact{Name: "Duration", Value: word(took(r))}, ui.Fact{Name: "Call ID", Value: ui.InlineCode(ui.Printable(r.CallID))},
		ui.Fact{Name: "Approval ID", Value: word(r.ConfirmationID)})
}

// plan returns the plan of a pending call: it is not kept longer.
func (s *ActivitySection) plan(ctx context.Context, rec tool.Record) ui.Node {
	if rec.Status != tool.StatusPendingConfirmation {
		return nil
	}
	views, err := s.core.Confirmations(ctx, "")
	for _, c := range views {
		if err == nil && c.ID == rec.ConfirmationID {
			return ui.Part("Plan", ui.Plan(c.Plan), ui.P(ui.LinkTo("/approvals/"+url.PathEscape(c.ID), "Review")))
		}
	}
	return nil
}

func result(r tool.Record) ui.Node {
	if r.Result == nil {
		return nil
	}
	body := ui.Group{}
	if r.Result.Error != "" {
		body = append(body, ui.Notice(ui.Bad, ui.P(ui.TextNode(ui.Printable(r.Result.Error))), ui.P(ui.TextNode("code "+ui.Printable(r.Result.Code)))))
	}
	switch out := r.Result.Output; {
	case strings.HasPrefix(out, "{") && json.Valid([]byte(out)):
		body = append(body, ui.JSONValue(json.RawMessage(out)))
	case out != "":
		body = append(body, ui.Printed("result", out))
	}
	if len(body) == 0 {
		body = append(body, ui.Empty("No output."))
	}
	return ui.Part("Result", body)
}

// records returns the audit records of the call and of its approval request.
func (s *ActivitySection) records(ctx context.Context, rec tool.Record) ui.Node {
	var found []audit.Record
	for _, id := range []string{rec.ConfirmationID, rec.CallID, rec.Redeemed} {
		if id == "" {
			continue
		}
		more, err := s.core.AuditSearch(ctx, audit.Filter{Call: id, Limit: listed})
		if err != nil {
			return ui.Part("Audit records", ui.Problem(fault.From(err)))
		}
		found = append(found, more...)
	}
	rows := make([]ui.Node, 0, len(found))
	for _, r := range inOrder(found) {
		rows = append(rows, auditRow(r))
	}
	return ui.Part("Audit records", ui.DataTable("Audit records of this call", auditHeads(), rows, "No audit records."))
}
