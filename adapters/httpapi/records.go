package httpapi

import (
	"context"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// The default and maximum number of records in a list.
const (
	callsListed = 50
	callsAtMost = 200
	auditListed = 100
)

// callList is the calls that asked to change something, newest first (packageflow contract, ToolExecutionState).
type callList struct {
	Count     int           `json:"count"`
	ToolCalls []tool.Record `json:"toolCalls"`
	Next      string        `json:"next,omitempty"` // value of before for the next page
}

// sees reports whether the client may see the records of a tool.
func (a *API) sees(v httpauth.Identity, name string) bool {
	if len(v.Within) == 0 {
		return true
	}
	s, ok := a.App.Spec(tool.Name(name))
	return ok && tool.Covered(v.Within, s)
}

func (a *API) listCalls(x *Exchange) error {
	q := x.R.URL.Query()
	f := app.RunFilter{Tool: q.Get("tool"), Session: q.Get("conversationId")}
	var err error
	if f.Limit, err = number(q, "limit", callsListed, 1, callsAtMost); err != nil {
		return err
	}
	if err := f.Status.UnmarshalText([]byte(q.Get("status"))); err != nil {
		return ErrQuery.WithMessage("%s", fault.From(err).Message)
	}
	if before := q.Get("before"); before != "" {
		if f.Before, err = time.Parse(time.RFC3339Nano, before); err != nil {
			return ErrQuery.WithMessage("invalid before %q; use a time such as 2026-01-02T15:04:05Z", Shorten(before))
		}
	}
	found, err := a.App.Calls(x.R.Context(), f)
	if err != nil {
		return err
	}
	list := callList{ToolCalls: []tool.Record{}}
	if len(found) == f.Limit {
		list.Next = found[len(found)-1].At.UTC().Format(time.RFC3339Nano)
	}
	list.ToolCalls = append(list.ToolCalls, slices.DeleteFunc(found, func(r tool.Record) bool { return !a.sees(x.Visitor, r.Tool) })...)
	list.Count = len(list.ToolCalls)
	x.Answer(http.StatusOK, list)
	return nil
}

func (a *API) showCall(x *Exchange) error {
	rec, err := a.App.CallRecord(x.R.Context(), x.Name)
	if err == nil && !a.sees(x.Visitor, rec.Tool) {
		err = tool.UnknownRecordError(Shorten(x.Name))
	}
	if err != nil {
		return err
	}
	x.Answer(http.StatusOK, rec)
	return nil
}

// auditList is audit records, oldest first.
type auditList struct {
	Count   int            `json:"count"`
	Records []audit.Record `json:"records"`
	Next    int64          `json:"next"` // value of after for the next page
}

// listAudit lists the records after a given one, or the last ones without it, filtered by the rest of the query.
func (a *API) listAudit(x *Exchange) error {
	q := x.R.URL.Query()
	f := audit.Filter{Phase: audit.Phase(q.Get("phase")), Call: q.Get("callId"), Tool: q.Get("tool"), Code: q.Get("code"), Text: q.Get("text"), Failed: q.Get("failed") == "true",
		Unattended: q.Get("unattended") == "true"}
	var err error
	if f.Limit, err = number(q, "limit", auditListed, 1, audit.MaxListed); err != nil {
		return err
	}
	before, err := number(q, "before", 0, 1, math.MaxInt)
	if err != nil {
		return err
	}
	after, err := number(q, "after", -1, 0, math.MaxInt)
	if err != nil {
		return err
	}
	f.Before = int64(before)
	list := auditList{Records: []audit.Record{}, Next: max(int64(after), 0)}
	if after < 0 {
		records, err := a.App.AuditSearch(x.R.Context(), f)
		if err != nil {
			return err
		}
		slices.Reverse(records)
		list.keep(records...)
	} else if err := a.after(x.R.Context(), int64(after), f, &list); err != nil {
		return err
	}
	list.Records = slices.DeleteFunc(list.Records, func(r audit.Record) bool { return !a.sees(x.Visitor, r.Event.Tool) })
	list.Count = len(list.Records)
	x.Answer(http.StatusOK, list)
	return nil
}

func (l *auditList) keep(records ...audit.Record) {
	for _, r := range records {
		l.Records, l.Next = append(l.Records, r), r.Seq
	}
}

// looked is the maximum number of records searched per request for those after a given one; the next request continues.
const looked = 20_000

// after adds the records after a given one that the filter selects.
func (a *API) after(ctx context.Context, after int64, f audit.Filter, list *auditList) error {
	n := 0
	for r, err := range a.App.AuditTrail(ctx, after) {
		if err != nil {
			return err
		}
		if list.Next = r.Seq; f.Matches(&r) {
			list.keep(r)
		}
		if n++; len(list.Records) == f.Limit || n == looked {
			break
		}
	}
	return nil
}

// number returns an integer of the query within its bounds.
func number(q url.Values, name string, otherwise, least, most int) (int, error) {
	text := q.Get(name)
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		return 0, ErrQuery.WithMessage("invalid %s %q; use a whole number from %d to %d", name, Shorten(text), least, most)
	}
	return n, nil
}

// verified is the result of verifying the whole audit log.
type verified struct {
	Intact bool `json:"intact"`
	audit.Report
	Error *Problem `json:"error,omitempty"` // the most serious problem
}

// verifyAudit verifies the audit log, for one request at a time. A problem of the log is a result, not an error.
func (a *API) verifyAudit(x *Exchange) error {
	if err := a.verifying.Acquire(x.R.Context(), 1); err != nil {
		return fault.From(err)
	}
	defer a.verifying.Release(1)
	report, err := a.App.CheckAudit(x.R.Context())
	if err != nil {
		return err
	}
	f := fault.From(report.Err())
	v := verified{Intact: f == nil || f.Code == audit.ErrUnchecked.Code, Report: report}
	if f != nil {
		v.Error = &Problem{Code: f.Code, Message: f.Message}
	}
	x.Answer(http.StatusOK, v)
	return nil
}

// exportAudit writes every record as a line of JSON. On an error it aborts the connection, so that a partial export cannot pass for a complete one.
func (a *API) exportAudit(x *Exchange) error {
	after, err := number(x.R.URL.Query(), "after", 0, 0, math.MaxInt)
	if err != nil {
		return err
	}
	if x.R.Method == http.MethodHead {
		export(x)
		return nil
	}
	begun := false
	for r, err := range a.App.AuditTrail(x.R.Context(), int64(after)) {
		if err != nil && !begun {
			return err
		}
		if err != nil {
			a.Log.Error("an export of the audit log was interrupted", "cause", err.Error())
			panic(http.ErrAbortHandler)
		}
		if !begun {
			begun = true
			export(x)
		}
		if !a.sees(x.Visitor, r.Event.Tool) {
			continue
		}
		line, err := tool.Encode(r)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		if _, err := x.W.Write(append(line, '\n')); err != nil {
			return nil //nolint:nilerr // the client that asked is gone
		}
	}
	if !begun {
		export(x)
	}
	return nil
}

// export starts a body of JSON lines.
func export(x *Exchange) {
	h := x.W.Header()
	h.Set("Content-Type", "application/x-ndjson")
	h.Set("Content-Disposition", `attachment; filename="countersign-audit.jsonl"`)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	x.W.WriteHeader(http.StatusOK)
}
