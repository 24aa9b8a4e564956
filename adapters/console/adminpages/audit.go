package adminpages

import (
	"bufio"
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/fault"
)

// clipped is how much of a record's arguments the list shows, in bytes.
const clipped = 120

// errRecord is returned for an unknown record.
var errRecord = fault.New(fault.NotFound, "audit_record_not_found", "audit record not found")

// trail shows the audit log, newest first.
func (s *ActivitySection) trail(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	q := r.URL.Query()
	f := audit.Filter{Phase: audit.Phase(q.Get("phase")), Tool: q.Get("tool"), Code: q.Get("code"), Text: q.Get("text"), Failed: q.Get("failed") == "true",
		Unattended: q.Get("unattended") == "true", Limit: listed}
	if before := q.Get("before"); before != "" {
		n, err := strconv.ParseInt(before, 10, 64)
		if err != nil || n < 1 {
			s.fail(w, v, errRecord.WithMessage("invalid audit record number %q", ui.Printable(before)))
			return
		}
		f.Before = n
	}
	found, err := s.core.AuditSearch(r.Context(), f)
	if err != nil {
		s.fail(w, v, err)
		return
	}
	rows := make([]ui.Node, 0, len(found))
	for _, record := range found {
		rows = append(rows, auditRow(record))
	}
	chain, running := s.check.show(v)
	p := ui.Page{Title: "Audit log", Section: path, Crumbs: []ui.PageLink{{Text: "Activity", Href: path}}}
	switch {
	case running:
		p.Live = []string{"tick"}
	case r.URL.RawQuery == "":
		p.Live = []string{"audit"}
	}
	p.Body = []ui.Node{
		ui.P(ui.TextNode("Requests, decisions and results, newest first, hash-chained. "), ui.LinkTo(auditPath+"/export", "Export as JSON lines")),
		chain, auditFilter(f),
		ui.DataTable("Audit records", auditHeads(), rows, "No matching records."), earlier(f, found),
	}
	p.Write(w, http.StatusOK, v)
}

func auditFilter(f audit.Filter) ui.Node {
	return ui.Search(auditPath,
		ui.SelectField("phase", "phase", "Phase", string(f.Phase), ui.Choice{Value: "", Text: "any"}, ui.Choice{Value: string(audit.Intent), Text: "intent: start of a change"},
			ui.Choice{Value: string(audit.Outcome), Text: "outcome: result of a call"}, ui.Choice{Value: string(audit.Answer), Text: "answer: decision"}, ui.Choice{Value: string(audit.Asked), Text: "asked: approval request"},
			ui.Choice{Value: string(audit.Begun), Text: "begun: start of a background operation"}, ui.Choice{Value: string(audit.Ended), Text: "ended: end of a background operation"}),
		ui.Field("tool", "tool", "Tool", f.Tool), ui.Field("code", "code", "Error code", f.Code), ui.Field("text", "text", "Text", f.Text),
		ui.CheckboxField("failed", "failed", "Errors only", f.Failed),
		ui.CheckboxField("unattended", "unattended", "Without a person", f.Unattended), ui.SubmitButton("Filter"))
}

func earlier(f audit.Filter, found []audit.Record) ui.Node {
	if len(found) < listed {
		return nil
	}
	next := url.Values{"phase": {string(f.Phase)}, "tool": {f.Tool}, "code": {f.Code}, "text": {f.Text}, "before": {strconv.FormatInt(found[len(found)-1].Seq, 10)}}
	if f.Failed {
		next.Set("failed", "true")
	}
	if f.Unattended {
		next.Set("unattended", "true")
	}
	return ui.P(ui.LinkTo(auditPath+"?"+next.Encode(), "Older"))
}

func auditHeads() []string {
	return []string{"Number", "Time", "Phase", "Tool", "Verdict", "Status", "Arguments", "By"}
}

func auditRow(r audit.Record) ui.Node {
	e := r.Event
	if e.Phase == "" {
		return ui.Row(ui.LinkTo(auditPath+"/"+strconv.FormatInt(r.Seq, 10), strconv.FormatInt(r.Seq, 10)), nil, ui.Badge(ui.Bad, "unreadable"), nil, nil, nil, nil, nil)
	}
	return ui.Row(ui.LinkTo(auditPath+"/"+strconv.FormatInt(r.Seq, 10), strconv.FormatInt(r.Seq, 10)), ui.When(e.Time), ui.TextNode(ui.Printable(string(e.Phase))),
		ui.ToolName(e.Tool), ui.TextNode(ui.Printable(e.Verdict)), ended(e), ui.InlineCode(ui.Printable(clip(string(e.Args)))), ui.TextNode(by(e)))
}

// ended returns the result of the call, and its duration.
func ended(e audit.Event) ui.Node {
	switch {
	case e.Code != "":
		return ui.Badge(ui.Bad, e.Code)
	case e.Phase == audit.Outcome:
		return ui.Group{ui.Badge(ui.Good, "ok"), ui.TextNode(" " + (time.Duration(e.DurationUS) * time.Microsecond).Round(10*time.Microsecond).String())}
	}
	return nil
}

func by(e audit.Event) string {
	if e.Unattended() {
		return ui.Printable(strings.TrimSpace("without a person: " + cmp.Or(ui.DecidedBy(e.ApprovedBy), "rule "+e.Rule) + " " + e.Grant))
	}
	return ui.Printable(cmp.Or(ui.AnsweredBy(e), e.Client))
}

func clip(s string) string {
	if len(s) <= clipped {
		return s
	}
	return s[:clipped] + "…"
}

// record shows one complete record.
func (s *ActivitySection) record(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	seq, err := strconv.ParseInt(r.PathValue("seq"), 10, 64)
	var found []audit.Record
	if err == nil && seq > 0 {
		if found, err = s.core.AuditSearch(r.Context(), audit.Filter{Before: seq + 1, Limit: 1}); err != nil {
			s.fail(w, v, err)
			return
		}
	}
	if len(found) == 0 || found[0].Seq != seq {
		if by, err := s.core.AuditRemoved(r.Context(), seq); err == nil && seq > 0 && by > seq {
			s.fail(w, v, errRecord.WithMessage("audit record %d was a read that retention removed; see record %d", seq, by))
			return
		}
		s.fail(w, v, errRecord.WithMessage("audit record %s not found", ui.Printable(r.PathValue("seq"))))
		return
	}
	doc, err := json.Marshal(found[0])
	if err != nil {
		s.fail(w, v, err)
		return
	}
	p := ui.Page{Title: "Audit record " + strconv.FormatInt(seq, 10), Section: path, Crumbs: []ui.PageLink{{Text: "Activity", Href: path}, {Text: "Audit log", Href: auditPath}}}
	body := ui.Group{ui.JSONValue(doc)}
	if id := found[0].Event.CallID; id != "" {
		if rec, err := s.core.CallRecord(r.Context(), id); err == nil {
			body = append(body, ui.P(ui.LinkTo(pathOf(rec.CallID), "View call")))
		}
	}
	p.Body = []ui.Node{body}
	p.Write(w, http.StatusOK, v)
}

// export sends every record as a line of JSON, oldest first. On an error it aborts the answer: a partial export must not look complete.
func (s *ActivitySection) export(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	out, begun := bufio.NewWriterSize(w, 64<<10), false
	for record, err := range s.core.AuditTrail(r.Context(), 0) {
		if err != nil && !begun {
			s.fail(w, v, err)
			return
		}
		if !begun {
			h := w.Header()
			h.Set("Content-Type", "application/x-ndjson")
			h.Set("Content-Disposition", `attachment; filename="countersign-audit.jsonl"`)
			h.Set("Cache-Control", "no-store")
			begun = true
		}
		line, problem := json.Marshal(record)
		if err != nil || problem != nil {
			panic(http.ErrAbortHandler)
		}
		if _, err := out.Write(append(line, '\n')); err != nil {
			return // the client is gone
		}
	}
	if !begun {
		w.Header().Set("Content-Type", "application/x-ndjson")
	}
	_ = out.Flush() // the client may be gone
}

// inOrder returns the records in order, without duplicates.
func inOrder(records []audit.Record) []audit.Record {
	slices.SortFunc(records, func(a, b audit.Record) int { return cmp.Compare(a.Seq, b.Seq) })
	return slices.CompactFunc(records, func(a, b audit.Record) bool { return a.Seq == b.Seq })
}
