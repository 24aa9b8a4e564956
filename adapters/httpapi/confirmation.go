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

// The ways an answer to a confirmation is refused. Those of package exchange are for every request.
var (
	ErrPerson   = fault.New(fault.Denied, "approval_needs_person", "only a person's browser may do that; programs do not decide for people")
	ErrAnswered = fault.New(fault.Conflict, "confirmation_answered", "somebody has answered that already")
	ErrClosed   = fault.New(fault.Conflict, "confirmation_closed", "that waits for nobody any more")
	ErrOutdated = fault.New(fault.Conflict, "confirmation_outdated", "what was shown is not what there is now")
)

// pending is a confirmation as this API shows it: the view that users have, and whose call it is.
type pending struct {
	confirm.View
	Call         string          `json:"callId,omitempty"`
	Conversation string          `json:"conversationId,omitempty"`
	Client       string          `json:"client,omitempty"` // as it calls itself
	Description  string          `json:"description,omitempty"`
	Context      json.RawMessage `json:"context,omitempty"` // what a dialog shows of the plan
	Lasting      bool            `json:"lasting"`           // "always" may be answered
	Own          bool            `json:"own"`               // this visitor's session has asked
}

// pendingList is what waits, oldest first.
type pendingList struct {
	Count         int       `json:"count"`
	Confirmations []pending `json:"confirmations"`
}

// waiting returns the confirmations that wait or are approved and not yet used, as far as this visitor may see them.
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
		p := pending{View: v, Conversation: v.Session, Description: spec.Description, Context: present.ContextOf(v.Plan), Lasting: v.Lasting(), Own: v.Session == x.Visitor.Session}
		rec, err := a.App.RunRecord(x.R.Context(), v.ID)
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

// confirmation returns the one that the path names.
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
	return pending{}, confirm.ErrNotFound.Sayf("no confirmation %s waits; GET %s/tool-calls/%s tells what became of its call, if it was there", Shorten(x.Name), Prefix, Shorten(x.Name))
}

func (a *API) showConfirmation(x *Exchange) error {
	p, err := a.confirmation(x)
	if err != nil {
		return err
	}
	x.Answer(http.StatusOK, p)
	return nil
}

// approval is what the user sends to approve. PlanHash is that of the plan the user saw.
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
		return ErrBody.Sayf("plan_hash has to be that of the plan that was shown: sha256: and 64 hex digits")
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
		return ErrBody.Sayf("always: %s is of a kind that is asked about every time", p.ID)
	}
	return a.settle(x, p, confirm.Answer{ID: p.ID, Approve: true, Always: sent.Always, Typed: sent.Typed, Shown: shown, By: by(x), Proof: x.Visitor.Proof()})
}

// specOf returns the tool of that name. As little is known of one that another process serves as may be.
func (a *API) specOf(name string) tool.Spec {
	spec, ok := a.App.Spec(tool.Name(name))
	if !ok {
		spec = tool.Spec{Name: tool.Name(name), Class: policy.ClassDangerous, Effects: policy.Mutating}
	}
	return spec
}

// denial is what the user sends to deny.
type denial struct {
	Reason string `json:"reason"`
}

func (a *API) deny(x *Exchange) error {
	var sent denial
	if err := decide(x, &sent); err != nil {
		return err
	}
	if n := utf8.RuneCountInString(sent.Reason); n > confirm.MaxReason {
		return ErrBody.Sayf("reason has %d characters, more than %d", n, confirm.MaxReason)
	}
	p, err := a.open(x)
	if err != nil {
		return err
	}
	return a.settle(x, p, confirm.Answer{ID: p.ID, Reason: sent.Reason, By: by(x), Proof: x.Visitor.Proof()})
}

// decide reads what the user sends. Nobody else decides.
func decide(x *Exchange, into any) error {
	if !x.Visitor.Person {
		return ErrPerson.Sayf("a confirmation is answered by a person: in the console, with countersign approve %s, or in a form of the client", Shorten(x.Name))
	}
	return x.Decode(into)
}

// by returns who answers, as the audit has it: browsers differ by what let them in.
func by(x *Exchange) string {
	if x.Visitor.Credential == "" {
		return "console"
	}
	return "console " + x.Visitor.Credential
}

// open returns the confirmation that the path names, as long as nobody has answered it.
func (a *API) open(x *Exchange) (pending, error) {
	p, err := a.confirmation(x)
	if err != nil {
		if past := a.past(x.R.Context(), x.Name); past != nil {
			err = past
		}
		return pending{}, err
	}
	if p.State != confirm.Pending.String() {
		first, _ := a.first(x.R.Context(), p.ID) // it may be on its way there
		first.ApprovedBy = cmp.Or(first.ApprovedBy, p.Answerer)
		return p, answered(p.ID, p.State, first)
	}
	return p, nil
}

// own reports a confirmation that this very browser has approved.
func own(x *Exchange, p pending) bool {
	return p.State == confirm.Approved.String() && p.Answerer == by(x)
}

// settle gives the answer. Of two users who approve at once, the one whose answer came second is told so.
func (a *API) settle(x *Exchange, p pending, answer confirm.Answer) error {
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
		return ErrClosed.Sayf("%s", fault.From(err).Message)
	case err != nil:
		return err
	}
	x.Answer(http.StatusOK, v)
	return nil
}

// outdated is the refusal of an approval of another plan than there is now, with where the two differ, as far as that is known.
func outdated(f *fault.Error, shown, waits canon.Hash) error {
	refused := ErrOutdated.Sayf("%s", f.Message)
	if f.Details == nil {
		return refused.With(app.PlanChange{Current: waits, Confirmed: shown})
	}
	return refused.With(f.Details)
}

// outcomeOf is how a confirmation ended, for whoever comes too late.
type outcomeOf struct {
	State      string      `json:"state"`
	AnsweredBy string      `json:"answered_by,omitempty"`
	Surface    string      `json:"surface,omitempty"` // where: terminal, console, form
	AnsweredAt time.Time   `json:"answered_at,omitzero"`
	Call       string      `json:"callId,omitempty"`
	Status     tool.Status `json:"status,omitzero"`
	Reason     tool.Reason `json:"reason,omitempty"`
}

func answered(id, state string, first audit.Event) error {
	return ErrAnswered.Sayf("%s was answered already: %s by %s", id, state, first.ApprovedBy).
		With(outcomeOf{State: state, AnsweredBy: first.ApprovedBy, Surface: first.Surface, AnsweredAt: first.Time})
}

// past is the refusal of an answer to a confirmation that has ended, or nil when there never was one, as far as is known.
func (a *API) past(ctx context.Context, id string) error {
	first, answeredOnce := a.first(ctx, id)
	rec, err := a.App.RunRecord(ctx, id)
	switch {
	case err == nil && rec.ConfirmationID != id, err != nil && !answeredOnce:
		return nil
	case err != nil:
		return answered(id, verdictWord(first.Verdict), first)
	}
	how := outcomeOf{State: "ended", Call: rec.CallID, Status: rec.Status, Reason: rec.Reason}
	if answeredOnce {
		how.State, how.AnsweredBy, how.Surface, how.AnsweredAt = verdictWord(first.Verdict), first.ApprovedBy, first.Surface, first.Time
		return ErrAnswered.Sayf("%s was answered already: %s by %s", id, how.State, first.ApprovedBy).With(how)
	}
	said := rec.Status.String()
	if rec.Reason != "" {
		said += " (" + string(rec.Reason) + ")"
	}
	return ErrClosed.Sayf("%s waits for nobody any more: its call is %s", id, said).With(how)
}

// verdictWord returns what an answer in the audit made of its confirmation.
func verdictWord(verdict string) string {
	switch verdict {
	case "approve":
		return "approved"
	case "deny":
		return "denied"
	}
	return "withdrawn"
}

// first returns the first answer that a confirmation had, as the audit has it.
func (a *API) first(ctx context.Context, id string) (found audit.Event, ok bool) {
	records, err := a.App.AuditSearch(ctx, audit.Filter{Phase: audit.Answer, Call: id})
	if err != nil {
		a.Log.Warn("who answered a confirmation could not be looked up", "confirmation", id, "cause", err.Error())
	}
	for _, r := range records { // the newest first
		if r.Event.Code == "" {
			found, ok = r.Event, true
		}
	}
	return found, ok
}

// cancelTool is the tool with which a session withdraws its own question: that it is the session's own is checked there.
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
