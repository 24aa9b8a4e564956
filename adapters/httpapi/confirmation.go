package httpapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// The errors of decisions on approval requests. Those of exchange.go apply to every request.
var (
	ErrPerson   = fault.New(fault.Denied, "approval_needs_person", "access tokens cannot approve; use the console or countersign approve")
	ErrAnswered = fault.New(fault.Conflict, "confirmation_answered", "this approval request was already decided")
	ErrClosed   = fault.New(fault.Conflict, "confirmation_closed", "this approval request is closed")
	ErrOutdated = fault.New(fault.Conflict, "confirmation_outdated", "the plan that was shown is out of date")
)

// pending is an approval request in this API: the user's view of it, and the call it belongs to.
type pending struct {
	confirm.View
	Call         string          `json:"callId,omitempty"`
	Conversation string          `json:"conversationId,omitempty"`
	Client       string          `json:"client,omitempty"` // name that the client gave itself
	Description  string          `json:"description,omitempty"`
	Context      json.RawMessage `json:"context,omitempty"` // what a dialog shows of the plan
	Lasting      bool            `json:"lasting"`           // a session grant can be given
	Own          bool            `json:"own"`               // this client's session has asked
}

// pendingList is the pending approval requests, oldest first.
type pendingList struct {
	Count         int       `json:"count"`
	Confirmations []pending `json:"confirmations"`
}

// waiting returns the requests that are pending or approved but unused and that this client may see.
func (a *API) waiting(x *Exchange) ([]pending, error) {
	views, err := a.App.Confirmations(x.R.Context(), "")
	if err != nil {
		return nil, err
	}
	found := []pending{}
	for _, v := range views {
		if !a.seen(x, v.Tool) {
			continue
		}
		spec, _ := a.App.Spec(tool.Name(v.Tool))
		p := pending{View: v, Conversation: v.Session, Description: spec.Description, Context: present.ContextOf(v.Plan), Lasting: v.AllowsSessionGrant(), Own: v.Session == x.Visitor.Session}
		rec, err := a.App.CallRecord(x.R.Context(), v.ID)
		if err != nil && !errors.Is(err, tool.ErrRecordUnknown) {
			return nil, err
		}
		p.Call, p.Client = rec.CallID, rec.Client
		found = append(found, p)
	}
	return found, nil
}

func (a *API) listConfirmations(x *Exchange) error {
	found, err := a.waiting(x)
	if err != nil {
		return err
	}
	x.Answer(http.StatusOK, pendingList{Count: len(found), Confirmations: found})
	return nil
}

// confirmation returns the request named in the path.
func (a *API) confirmation(x *Exchange) (pending, error) {
	found, err := a.waiting(x)
	if err != nil {
		return pending{}, err
	}
	for _, p := range found {
		if p.ID == x.Name {
			return p, nil
		}
	}
	return pending{}, confirm.ErrNotFound.WithMessage("approval request %s is not pending; GET %s/tool-calls/%s shows its call if there was one", Shorten(x.Name), Prefix, Shorten(x.Name))
}

func (a *API) showConfirmation(x *Exchange) error {
	p, err := a.confirmation(x)
	if err != nil {
		return err
	}
	x.Answer(http.StatusOK, p)
	return nil
}

// approval is the body of an approval. PlanHash is that of the plan the user saw.
type approval struct {
	PlanHash string `json:"plan_hash"`
	Typed    string `json:"typed_value"`
	Always   bool   `json:"always"`
}

func (a *API) approve(x *Exchange) error {
	var sent approval
	if err := decide(x, &sent); err != nil {
		return err
	}
	shown, err := canon.Parse(sent.PlanHash)
	if err != nil {
		return ErrBody.WithMessage("plan_hash must be the hash of the plan that was shown: sha256: and 64 hex digits")
	}
	p, err := a.open(x)
	if err != nil && p.PlanHash == shown && own(x, p) { // a second click
		x.Answer(http.StatusOK, p.View)
		return nil
	}
	if err != nil {
		return err
	}
	if !x.Visitor.Reaches(a.specOf(p.Tool)) {
		return httpauth.ErrReach
	}
	if sent.Always && !p.Lasting {
		return ErrBody.WithMessage("always: %s cannot be always allowed; calls of this kind ask every time", p.ID)
	}
	return a.settle(x, p, confirm.Decision{ID: p.ID, Approve: true, Always: sent.Always, Typed: sent.Typed, Shown: shown, By: by(x), Proof: x.Visitor.Proof()})
}

// specOf returns the tool with that name. For a tool that another process serves it returns the least specific spec.
func (a *API) specOf(name string) tool.Spec {
	spec, ok := a.App.Spec(tool.Name(name))
	if !ok {
		spec = tool.Spec{Name: tool.Name(name), Class: policy.ClassDangerous, Effects: policy.Mutating}
	}
	return spec
}

// denial is the body of a denial.
type denial struct {
	Reason string `json:"reason"`
}

func (a *API) deny(x *Exchange) error {
	var sent denial
	if err := decide(x, &sent); err != nil {
		return err
	}
	if n := utf8.RuneCountInString(sent.Reason); n > confirm.MaxReason {
		return ErrBody.WithMessage("reason has %d characters, more than %d", n, confirm.MaxReason)
	}
	p, err := a.open(x)
	if err != nil {
		return err
	}
	return a.settle(x, p, confirm.Decision{ID: p.ID, Reason: sent.Reason, By: by(x), Proof: x.Visitor.Proof()})
}

// decide decodes a decision. It fails for clients other than users.
func decide(x *Exchange, into any) error {
	if !x.Visitor.Person {
		return ErrPerson.WithMessage("access tokens cannot decide; the user decides in the console, with countersign approve %s, or in the client's form", Shorten(x.Name))
	}
	return x.Decode(into)
}

// by returns the author of a decision for the audit log: browsers are identified by their credential.
func by(x *Exchange) string {
	if x.Visitor.Credential == "" {
		return "console"
	}
	return "console " + x.Visitor.Credential
}

// open returns the request named in the path if it is undecided.
func (a *API) open(x *Exchange) (pending, error) {
	p, err := a.confirmation(x)
	if err != nil {
		if past := a.past(x.R.Context(), x.Name); past != nil {
			err = past
		}
		return pending{}, err
	}
	if p.State != confirm.Pending.String() {
		first, _ := a.first(x.R.Context(), p.ID) // its record may not be written yet
		first.ApprovedBy = cmp.Or(first.ApprovedBy, p.Answerer)
		return p, answered(p.ID, p.State, first)
	}
	return p, nil
}

// own reports a request that this browser has approved.
func own(x *Exchange, p pending) bool {
	return p.State == confirm.Approved.String() && p.Answerer == by(x)
}

// settle applies the decision. If two users decide at once, the second is told that it was too late.
func (a *API) settle(x *Exchange, p pending, answer confirm.Decision) error {
	v, err := a.App.Answer(x.R.Context(), answer)
	switch {
	case errors.Is(err, confirm.ErrMismatch):
		return outdated(fault.From(err), answer.Shown, p.PlanHash)
	case errors.Is(err, confirm.ErrTyped):
		x.Answer(http.StatusUnprocessableEntity, Refusal{Error: Problem{Code: confirm.ErrTyped.Code, Message: fault.From(err).Message}})
		return nil
	case errors.Is(err, confirm.ErrAnswered) && answer.Approve && v.State == confirm.Approved.String() && v.Answerer == answer.By:
		x.Answer(http.StatusOK, v) // a second click
		return nil
	case errors.Is(err, confirm.ErrUnknown), errors.Is(err, confirm.ErrUsed), errors.Is(err, confirm.ErrDenied), errors.Is(err, confirm.ErrCanceled),
		errors.Is(err, confirm.ErrExpired), errors.Is(err, confirm.ErrBurnt), errors.Is(err, confirm.ErrAnswered):
		if past := a.past(x.R.Context(), answer.ID); past != nil {
			return past
		}
		return ErrClosed.WithMessage("%s", fault.From(err).Message)
	case err != nil:
		return err
	}
	x.Answer(http.StatusOK, v)
	return nil
}

// outdated returns the error for approving a plan that has changed, with the differences as far as they are known.
func outdated(f *fault.Error, shown, waits canon.Hash) error {
	refused := ErrOutdated.WithMessage("%s", f.Message)
	if f.Details == nil {
		return refused.WithDetails(app.PlanChange{Current: waits, Confirmed: shown})
	}
	return refused.WithDetails(f.Details)
}

// outcomeOf is how an approval request ended, for late decisions.
type outcomeOf struct {
	State      string      `json:"state"`
	AnsweredBy string      `json:"answered_by,omitempty"`
	Surface    string      `json:"surface,omitempty"` // terminal, console or form
	AnsweredAt time.Time   `json:"answered_at,omitzero"`
	Call       string      `json:"callId,omitempty"`
	Status     tool.Status `json:"status,omitzero"`
	Reason     tool.Reason `json:"reason,omitempty"`
}

func answered(id, state string, first audit.Event) error {
	return ErrAnswered.WithMessage("%s was already decided: %s by %s", id, state, first.ApprovedBy).
		WithDetails(outcomeOf{State: state, AnsweredBy: first.ApprovedBy, Surface: first.Surface, AnsweredAt: first.Time})
}

// past returns the error for deciding a request that has ended, or nil if none is known.
func (a *API) past(ctx context.Context, id string) error {
	first, answeredOnce := a.first(ctx, id)
	rec, err := a.App.CallRecord(ctx, id)
	switch {
	case err == nil && rec.ConfirmationID != id, err != nil && !answeredOnce:
		return nil
	case err != nil:
		return answered(id, verdictWord(first.Verdict), first)
	}
	how := outcomeOf{State: "ended", Call: rec.CallID, Status: rec.Status, Reason: rec.Reason}
	if answeredOnce {
		how.State, how.AnsweredBy, how.Surface, how.AnsweredAt = verdictWord(first.Verdict), first.ApprovedBy, first.Surface, first.Time
		return ErrAnswered.WithMessage("%s was already decided: %s by %s", id, how.State, first.ApprovedBy).WithDetails(how)
	}
	said := rec.Status.String()
	if rec.Reason != "" {
		said += " (" + string(rec.Reason) + ")"
	}
	return ErrClosed.WithMessage("%s is closed; its call is %s", id, said).WithDetails(how)
}

// verdictWord returns the status of the request after a decision in the audit log.
func verdictWord(verdict string) string {
	switch verdict {
	case "approve":
		return "approved"
	case "deny":
		return "denied"
	}
	return "withdrawn"
}

// first returns the first recorded decision on a request.
func (a *API) first(ctx context.Context, id string) (found audit.Event, ok bool) {
	records, err := a.App.AuditSearch(ctx, audit.Filter{Phase: audit.Answer, Call: id})
	if err != nil {
		a.Log.Warn("the author of a decision could not be looked up", "confirmation", id, "cause", err.Error())
	}
	for _, r := range records { // the newest first
		if r.Event.Code == "" {
			found, ok = r.Event, true
		}
	}
	return found, ok
}

// cancelTool is the tool with which a session withdraws its own request; the tool checks that it is the session's own.
const cancelTool = "cancel_confirm"

func (a *API) cancel(x *Exchange) error {
	if err := x.Decode(&struct{}{}); err != nil {
		return err
	}
	args, err := tool.Encode(map[string]string{"id": x.Name})
	if err != nil {
		return err
	}
	show(x, a.Caller.Call(x.R.Context(), x.Visitor.Call(cancelTool, args)))
	return nil
}
